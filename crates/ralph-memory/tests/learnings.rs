//! Lessons among the notes that are found for a question.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod support;

use ralph_memory::recall::{Answer, Found, LongNotes, Question, Reach, Wanted, recall_with_learnings};
use ralph_model::{CapturedLearning, LearningId, NoteKind, Outcome, RunId, Shelf, Tags};
use ralph_store::{Settlement, Store};
use ralph_testkit::journal_row;
use support::Files;

struct Project {
    files: Files,
    store: Store,
    told: u32,
}

impl Project {
    fn new(memories: &[&str]) -> Self {
        let files = Files::new();
        let mut text = String::from("## Fixes\n");
        for (number, memory) in memories.iter().enumerate() {
            text.push_str(&format!("\n### mem-{}-aaaa\n> {memory}\n", 1_700_000_000 + number));
        }
        files.write(Shelf::Memories, text.as_bytes());
        let store = Store::open_or_create(&files.folder().join("progress.db")).unwrap();
        Self { files, store, told: 0 }
    }

    fn told(mut self, outcome: Outcome, tag: &str, content: &str) -> Self {
        self.told += 1;
        let mut row = journal_row(RunId::new(1), self.told);
        row.outcome = outcome;
        let mut settlement = Settlement::new(row, 0);
        let learning = CapturedLearning {
            category: "pitfall".to_owned(),
            tags: vec![tag.to_owned()],
            content: content.to_owned(),
        };
        settlement.learnings = vec![(LearningId::new(u64::from(self.told)), learning)];
        self.store.settle(&settlement).unwrap();
        self
    }

    fn asked(&self, text: &str, wanted: &Wanted) -> Answer {
        let question = Question {
            text,
            shelves: &[Shelf::Memories],
            knowledge: LongNotes::Left,
            wanted,
            reach: Reach::Best(10),
        };
        recall_with_learnings(&self.files.catalogue(), Some(&self.store), &question).unwrap()
    }

    #[track_caller]
    fn check(&self, text: &str, expected: &[&str]) {
        let answer = self.asked(text, &Wanted::default());
        let found: Vec<&str> = answer.hits.iter().map(|hit| hit.item.content()).collect();
        assert_eq!(found, expected, "{text}");
        assert_eq!(answer.without_learnings, None);
    }
}

#[test]
fn the_best_stands_first_whatever_it_is() {
    let mut memories: Vec<String> = (0..40).map(|number| format!("Topic{number}x has a parser.")).collect();
    memories.push("The websocket reconnects after a timeout.".to_owned());
    let memories: Vec<&str> = memories.iter().map(String::as_str).collect();
    let project = Project::new(&memories)
        .told(
            Outcome::Done,
            "websocket",
            "A websocket that reconnects needs its backoff reset.",
        )
        .told(Outcome::Done, "cache", "The cache is warm after a timeout.");
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
fn what_waits_is_found_and_what_is_rejected_is_not() {
    let project =
        Project::new(&[])
            .told(Outcome::Failed, "lexer", "Waiting lexer.")
            .told(Outcome::Done, "lexer", "!!!");
    project.check("lexer", &["Waiting lexer."]);
    let hits = project.asked("lexer", &Wanted::default()).hits;
    assert!(matches!(&hits[0].item, Found::Learning(learning) if learning.id == LearningId::new(1)));
    let json = serde_json::to_string(&hits[0].item).unwrap();
    assert_eq!(
        json,
        r#"{"id":"learn-00000001","memory_type":"learning","content":"Waiting lexer.","tags":["lexer"],"created":"2025-01-20","category":"pitfall","status":"validated"}"#
    );
}

#[test]
fn a_slip_of_the_pen_is_forgiven_where_only_a_lesson_holds_the_word() {
    let project = Project::new(&["Nothing of it."]).told(Outcome::Done, "x", "Kubernetes restarts pods.");
    let answer = project.asked("kuberntes", &Wanted::default());
    assert_eq!(answer.hits.len(), 1);
    assert_eq!(answer.forgiven.len(), 1);
    // And where both hold it, both are found.
    let project =
        Project::new(&["Kubernetes is slow."]).told(Outcome::Done, "x", "Kubernetes restarts pods at midnight.");
    assert_eq!(project.asked("kuberntes", &Wanted::default()).hits.len(), 2);
}

#[test]
fn lessons_are_filtered_as_notes_are() {
    let project = Project::new(&["A lexer note."]).told(Outcome::Done, "lexer", "A lexer lesson.");
    let found = |wanted: &Wanted| {
        let answer = project.asked("lexer", wanted);
        let found: Vec<String> = answer.hits.iter().map(|hit| hit.item.content().to_owned()).collect();
        found
    };
    let tagged = Wanted {
        tags: Tags::parse("LEXER").unwrap(),
        ..Wanted::default()
    };
    assert_eq!(found(&tagged), ["A lexer lesson."]);
    let fixes = Wanted {
        kinds: vec![NoteKind::Fix],
        ..Wanted::default()
    };
    assert_eq!(found(&fixes), ["A lexer note."]);
    let since = |day: &str| Wanted {
        since: Some(day.parse().unwrap()),
        ..Wanted::default()
    };
    assert_eq!(found(&since("2025-01-20")), ["A lexer lesson."]);
    assert_eq!(found(&since("2025-01-21")), [""; 0]);
    let except = Wanted {
        except: vec!["learn-00000001".to_owned()],
        ..Wanted::default()
    };
    assert_eq!(found(&except), ["A lexer note."]);
}
