//! Learnings in search results.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod support;

use ralph_memory::recall::{Answer, Found, KnowledgeSearch, NoteFilter, Question, Reach, recall_with_learnings};
use ralph_model::{CapturedLearning, LearningId, NoteFileKind, NoteKind, Outcome, RunId, Tags};
use ralph_search::{SearchIndex, Sources};
use ralph_store::{Settlement, Store};
use ralph_testkit::journal_row;
use support::Files;

struct Project {
    files: Files,
    store: Store,
    with_learning: u32,
}

impl Project {
    fn new(memories: &[&str]) -> Self {
        Self::in_files(Files::new(), memories)
    }

    fn in_files(files: Files, memories: &[&str]) -> Self {
        let store = Store::open_or_create(&files.folder().join("progress.db")).unwrap();
        let project = Self {
            files,
            store,
            with_learning: 0,
        };
        project.write(memories);
        project
    }

    fn write(&self, memories: &[impl AsRef<str>]) {
        let mut text = String::from("## Fixes\n");
        for (number, memory) in memories.iter().enumerate() {
            let memory = memory.as_ref();
            text.push_str(&format!("\n### mem-{}-aaaa\n> {memory}\n", 1_700_000_000 + number));
        }
        self.files.write(NoteFileKind::Memories, text.as_bytes());
    }

    fn with_learning(mut self, outcome: Outcome, tag: &str, content: &str) -> Self {
        self.with_learning += 1;
        let mut row = journal_row(RunId::new(1), self.with_learning);
        row.outcome = outcome;
        let mut settlement = Settlement::new(row, 0);
        let learning = CapturedLearning {
            category: "pitfall".to_owned(),
            tags: vec![tag.to_owned()],
            content: content.to_owned(),
        };
        settlement.learnings = vec![(LearningId::new(u64::from(self.with_learning)), learning)];
        self.store.settle(&settlement).unwrap();
        self
    }

    fn asked(&self, text: &str, wanted: &NoteFilter) -> Answer {
        let question = Question {
            text,
            file_kinds: &[NoteFileKind::Memories],
            knowledge: KnowledgeSearch::Exclude,
            wanted,
            reach: Reach::Best(10),
        };
        let sources = Sources::NOTES.and_facts(&self.store);
        let index = SearchIndex::open(&self.files.place(), sources).unwrap();
        recall_with_learnings(&index, Some(&self.store), &question).unwrap()
    }

    #[track_caller]
    fn check(&self, text: &str, expected: &[&str]) {
        let answer = self.asked(text, &NoteFilter::default());
        let found: Vec<&str> = answer.hits.iter().map(|hit| hit.item.content()).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn notes_and_learnings_are_ranked_together() {
    let mut memories: Vec<String> = (0..40).map(|number| format!("Topic{number}x has a parser.")).collect();
    memories.push("The websocket reconnects after a timeout.".to_owned());
    let memories: Vec<&str> = memories.iter().map(String::as_str).collect();
    let project = Project::new(&memories)
        .with_learning(
            Outcome::Done,
            "websocket",
            "A websocket that reconnects needs its backoff reset.",
        )
        .with_learning(Outcome::Done, "cache", "The cache is warm after a timeout.");
    project.check(
        "websocket backoff",
        &[
            "A websocket that reconnects needs its backoff reset.",
            "The websocket reconnects after a timeout.",
        ],
    );
    project.check(
        "websocket reconnects after timeout",
        &[
            "The websocket reconnects after a timeout.",
            "A websocket that reconnects needs its backoff reset.",
            "The cache is warm after a timeout.",
        ],
    );
    project.check("zebra", &[]);
}

#[test]
fn proposed_learning_is_found_and_rejected_is_not() {
    let project = Project::new(&[])
        .with_learning(Outcome::Failed, "lexer", "Waiting lexer.")
        .with_learning(Outcome::Done, "lexer", "!!!");
    project.check("lexer", &["Waiting lexer."]);
    let hits = project.asked("lexer", &NoteFilter::default()).hits;
    assert!(matches!(&hits[0].item, Found::Learning(learning) if learning.id == LearningId::new(1)));
    let json = serde_json::to_string(&hits[0].item).unwrap();
    assert_eq!(
        json,
        r#"{"id":"learn-00000001","memory_type":"learning","content":"Waiting lexer.","tags":["lexer"],"created":"2025-01-20","category":"pitfall","status":"validated"}"#
    );
}

#[test]
fn typo_is_corrected_to_a_word_of_a_learning() {
    let project = Project::new(&["Nothing of it."]).with_learning(Outcome::Done, "x", "Kubernetes restarts pods.");
    let answer = project.asked("kuberntes", &NoteFilter::default());
    assert_eq!(answer.hits.len(), 1);
    assert_eq!(answer.corrected.len(), 1);
    // If both contain it, both are found.
    let project = Project::new(&["Kubernetes is slow."]).with_learning(
        Outcome::Done,
        "x",
        "Kubernetes restarts pods at midnight.",
    );
    assert_eq!(project.asked("kuberntes", &NoteFilter::default()).hits.len(), 2);
}

#[test]
fn learnings_are_filtered_like_notes() {
    let project = Project::new(&["A lexer note."]).with_learning(Outcome::Done, "lexer", "A lexer learning.");
    let found = |wanted: &NoteFilter| {
        let answer = project.asked("lexer", wanted);
        let found: Vec<String> = answer.hits.iter().map(|hit| hit.item.content().to_owned()).collect();
        found
    };
    let tagged = NoteFilter {
        tags: Tags::parse("LEXER").unwrap(),
        ..NoteFilter::default()
    };
    assert_eq!(found(&tagged), ["A lexer learning."]);
    let fixes = NoteFilter {
        kinds: vec![NoteKind::Fix],
        ..NoteFilter::default()
    };
    assert_eq!(found(&fixes), ["A lexer note."]);
    let since = |day: &str| NoteFilter {
        since: Some(day.parse().unwrap()),
        ..NoteFilter::default()
    };
    assert_eq!(found(&since("2025-01-20")), ["A lexer learning."]);
    assert_eq!(found(&since("2025-01-21")), [""; 0]);
    let except = NoteFilter {
        except: vec!["learn-00000001".to_owned()],
        ..NoteFilter::default()
    };
    assert_eq!(found(&except), ["A lexer note."]);
}

/// Notes and facts are indexed in turns, and neither replaces the other.
#[test]
fn notes_added_after_facts_are_found_after_more_facts() {
    let mut project = Project::in_files(Files::with_index(), &[]);
    let mut notes = Vec::new();
    for number in 1..4 {
        let (learning, note) = (format!("Learned lexer {number}."), format!("Noted lexer {number}."));
        project = project.with_learning(Outcome::Done, "x", &learning);
        assert_eq!(
            project.asked("lexer", &NoteFilter::default()).hits.len(),
            2 * number - 1
        );
        notes.push(note);
        project.write(&notes);
        assert_eq!(project.asked("lexer", &NoteFilter::default()).hits.len(), 2 * number);
    }
}
