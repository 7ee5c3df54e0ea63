//! Tests of journal and knowledge in a prompt, from the database to the text.

use std::collections::BTreeSet;

use ralph_memory::inject::prompt::{IterationInfo, KNOWLEDGE_BASE, Materials, MemoryShare, Prompt, PromptContext};
use ralph_memory::inject::{FeatureTexts, prompt::PromptRequest};
use ralph_memory::recall::{Relevance, RunLearning};
use ralph_model::config::{Config, Inject};
use ralph_model::{NewJournalRow, Outcome, RunId, Signature, Task, TaskId, TaskKind, TaskStatus, Tokens, TrackRecord};
use ralph_search::SearchIndex;
use ralph_store::{Settlement, Store};
use ralph_testkit::journal_row;

use crate::attempts::{attempt, report};
use crate::support::Files;
use crate::{GUARDRAILS, MEMORIES, composed, learning, moment, project, relevant, request, row, task};

/// A database with entries of these runs, and the context of a task in run 1.
struct Past {
    _folder: tempfile::TempDir,
    store: Store,
}

impl Past {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self { _folder: folder, store }
    }

    fn with(mut self, run: u64, iteration: u32, change: impl FnOnce(&mut NewJournalRow)) -> Self {
        let mut row = journal_row(RunId::new(run), iteration);
        change(&mut row);
        self.store.settle(&Settlement::new(row, 0)).unwrap();
        self
    }

    /// An attempt at a task, with the agent's report if it failed.
    fn attempt(mut self, task: u64, (iteration, outcome): (u32, Outcome), why: &str) -> Self {
        let row = NewJournalRow {
            task: Some(TaskId::new(task)),
            outcome,
            attempt: iteration,
            ..journal_row(RunId::new(1), iteration)
        };
        let mut settlement = Settlement::new(row, 0);
        let failed = outcome.is_failure() == Some(true);
        settlement.report = failed.then(|| report("something", why).report);
        settlement.signature = failed.then(|| Signature::new(9));
        self.store.settle(&settlement).unwrap();
        self
    }

    fn prompt(&self, files: &Files, task: Task) -> Prompt {
        let materials = Materials::gather(
            (&SearchIndex::of_facts(&self.store).unwrap(), &self.store),
            task,
            Some(&RunId::new(1)),
            moment(),
        )
        .unwrap();
        let config = Config::default();
        let request = materials.request(&PromptContext {
            iteration_info: None,
            feature: None,
            red_gates: &[],
            broken_gates: &[],
            in_checkout: false,
            scratchpad: "",
            config: &config,
            today: jiff::civil::date(2025, 1, 22),
            share: MemoryShare::Whole,
        });
        composed(files, &request)
    }
}

fn headings(prompt: &Prompt) -> Vec<&str> {
    prompt.parts.iter().map(|part| part.heading.as_str()).collect()
}

/// Rule: the last five iterations of this run in chronological order, then up to five of other runs whose notes are
/// relevant; no duplicates.
#[test]
fn journal_has_five_recent_and_five_related_entries() {
    let mut past = Past::new();
    for iteration in 1..=7 {
        past = past.with(1, iteration, |row| {
            row.notes = Some(format!("here: the lexer {iteration}"));
        });
        past = past.with(2, iteration, |row| {
            row.notes = Some(format!("there: the lexer {iteration}"));
        });
        past = past.with(3, iteration, |row| {
            row.notes = Some(format!("of the docker daemon {iteration}"));
        });
    }
    let prompt = past.prompt(&Files::new(), task(0xabc, "Mend it", "It is the lexer that is broken."));
    let notes: Vec<&str> = prompt
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("- **Notes**: (by agent) "))
        .collect();
    let (recent, related) = notes.split_at(5);
    let last: Vec<String> = (3..=7)
        .map(|iteration| format!("here: the lexer {iteration}"))
        .collect();
    assert_eq!(recent, last);
    let distinct: BTreeSet<&str> = related.iter().copied().collect();
    assert_eq!((related.len(), distinct.len()), (5, 5), "{related:?}");
    assert!(
        related.iter().all(|notes| notes.starts_with("there: the lexer")),
        "{related:?}"
    );
    assert_eq!(
        prompt.text.matches("- **Run**: ").count(),
        5,
        "only what is of another run says so"
    );
}

/// Rule: without earlier iterations and relevant entries of other runs there is no journal.
#[test]
fn first_iteration_has_no_journal() {
    let past = Past::new().with(2, 1, |row| row.notes = Some("of the docker daemon".to_owned()));
    let prompt = past.prompt(&Files::new(), task(0xabc, "Mend the lexer", ""));
    assert!(!headings(&prompt).contains(&"Run Journal"), "{}", prompt.text);
}

/// Rule: a prompt has the attempts at its own task since it was last done. Interrupted ones are omitted.
#[test]
fn only_current_attempts_at_the_task_are_included() {
    let past = Past::new()
        .attempt(0xabc, (1, Outcome::Failed), "Before it was done.")
        .attempt(0xabc, (2, Outcome::Done), "")
        .attempt(0xabc, (3, Outcome::Failed), "The first.")
        .attempt(0xdef, (4, Outcome::Failed), "Of another task.")
        .attempt(0xabc, (5, Outcome::Interrupted), "")
        .attempt(0xabc, (6, Outcome::Retried), "The second.");
    let failures = |number, title| {
        let prompt = past.prompt(&Files::new(), task(number, title, ""));
        let failures = prompt.text.lines();
        let failures = failures.filter_map(|line| line.strip_prefix("- **Why it failed**: (by agent) "));
        failures.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(failures(0xabc, "Parse dates"), ["The first.", "The second."]);
    assert_eq!(failures(0xdef, "Mend the lexer"), ["Of another task."]);
    assert_eq!(failures(0x123, "Make tea"), [""; 0]);
    let prompt = past.prompt(&Files::new(), task(0xabc, "Parse dates", ""));
    assert!(
        prompt.text.contains("tried 2 times and is not done.")
            && prompt.text.contains("Attempts 3 and 6 failed the same way."),
        "{}",
        prompt.text
    );
    assert!(!headings(&prompt).contains(&"Stuck Loop Warning"));
}

/// Rule: attempt numbers are never reused. If the counted number differs, both are shown.
#[test]
fn attempt_number_continues_after_a_reset() {
    use Outcome::{Done, Failed, Interrupted};
    let check = |outcomes: &[Outcome], (status, retries_used): (TaskStatus, u32), expected: &str| {
        let mut past = Past::new();
        for (number, outcome) in (1..).zip(outcomes) {
            past = past.attempt(0xabc, (number, *outcome), "It did not work.");
        }
        let mut task = task(0xabc, "Parse dates", "");
        let claimed = u32::from(status == TaskStatus::InProgress);
        (task.status, task.retries_used) = (status, retries_used);
        task.attempts = u32::try_from(outcomes.len()).unwrap() + claimed;
        let materials = Materials::gather(
            (&SearchIndex::of_facts(&past.store).unwrap(), &past.store),
            task,
            Some(&RunId::new(1)),
            moment(),
        )
        .unwrap();
        assert_eq!(materials.attempt(&Config::default()).to_string(), expected);
    };
    check(&[Failed], (TaskStatus::InProgress, 1), "2 of 4");
    check(&[Failed], (TaskStatus::Pending, 1), "2 of 4");
    check(&[Failed; 4], (TaskStatus::Failed, 4), "4 of 4");
    let after_reset = "5 (1 of 4 since it was reset)";
    check(&[Failed; 4], (TaskStatus::InProgress, 0), after_reset);
    check(&[Failed; 4], (TaskStatus::Pending, 0), after_reset);
    check(
        &[Failed; 5],
        (TaskStatus::InProgress, 1),
        "6 (2 of 4 since it was reset)",
    );
    check(
        &[Failed, Done, Failed],
        (TaskStatus::InProgress, 1),
        "4 (2 of 4 since it was reset)",
    );
    check(
        &[Interrupted, Failed],
        (TaskStatus::InProgress, 1),
        "3 (2 of 4 that count)",
    );
}

/// Rule: after three consecutive failures an attempt is warned, regardless of interruptions and other tasks.
#[test]
fn only_the_fourth_attempt_is_warned() {
    let mut past = Past::new().attempt(0xdef, (1, Outcome::Failed), "Of another task.");
    let mut warned = Vec::new();
    for (iteration, outcome) in (2..).zip([
        Outcome::Failed,
        Outcome::Interrupted,
        Outcome::Retried,
        Outcome::Blocked,
        Outcome::Done,
    ]) {
        past = past.attempt(0xabc, (iteration, outcome), "It did not work.");
        let prompt = past.prompt(&Files::new(), task(0xabc, "Parse dates", ""));
        warned.push(headings(&prompt).contains(&"Stuck Loop Warning"));
    }
    assert_eq!(warned, [false, false, false, true, false]);
}

/// Rule: seconds with one decimal; the cost follows with four, unless it is unknown.
#[test]
fn zero_cost_is_omitted() {
    let config = Config::default();
    let task = task(0xabc, "Parse dates", "");
    for (cost, line) in [
        (0.0, "- **Duration**: 42.0s\n"),
        (1.1155, "- **Duration**: 42.0s | **Cost**: $1.1155\n"),
        (0.00004, "- **Duration**: 42.0s | **Cost**: $0.0000\n"),
    ] {
        let mut row = row(1, 1, None);
        row.row.usage.cost_usd = cost;
        let recent = [row];
        let prompt = composed(
            &Files::new(),
            &PromptRequest {
                recent: &recent,
                ..request(&task, &config)
            },
        );
        assert!(prompt.text.contains(line), "{cost}: {}", prompt.text);
    }
}

/// Rule: recent files are those of the latest iteration of any run.
#[test]
fn knowledge_is_found_by_recent_files() {
    let files = Files::new();
    for (name, tag) in [("of-the-last.md", "lexer"), ("of-an-older.md", "parser")] {
        let text = format!("---\ntitle: {tag}\ntags: [{tag}]\n---\n\nAbout the {tag}.\n");
        files.write_knowledge(name, text.as_bytes());
    }
    let past = Past::new()
        .with(1, 1, |row| row.files_modified = vec!["src/parser.rs".to_owned()])
        .with(2, 1, |row| row.files_modified = vec!["src/lexer.rs".to_owned()]);
    let prompt = past.prompt(&files, task(0xabc, "Mend it", ""));
    assert!(prompt.text.contains("About the lexer."), "{}", prompt.text);
    assert!(!prompt.text.contains("About the parser."), "{}", prompt.text);
}

fn everything() -> (Files, FeatureTexts) {
    let files = project(MEMORIES, GUARDRAILS);
    files.write_knowledge("dates.md", b"---\ntitle: Dates\ntags: [dates]\n---\n\nThey are ISO.\n");
    let texts = FeatureTexts {
        name: "calendar".to_owned(),
        folder: "f".to_owned(),
        spec: Some("# Spec\n".to_owned()),
        plan: Some("# Plan\n".to_owned()),
        ..FeatureTexts::default()
    };
    (files, texts)
}

/// Rule: background comes before the task, and how to record something is always last.
#[test]
fn sections_are_in_order() {
    let (files, texts) = everything();
    let config = Config::default();
    let task = task(0xabc, "Parse dates", "");
    let recent = [row(1, 1, Some("Chose jiff."))];
    let attempts = [attempt(1, None, Outcome::Failed)];
    let learnings = [relevant("Look first.")];
    let taught = learning("Parse dates with jiff.");
    let known = [RunLearning {
        relevance: Some(Relevance::of(&taught, None, 0, moment())),
        learning: taught,
        by_file: true,
    }];
    let request = PromptRequest {
        attempts: &attempts,
        learnings: &learnings,
        known: &known,
        track_record: TrackRecord {
            consecutive_failures: 3,
            ..TrackRecord::default()
        },
        iteration_info: Some(IterationInfo {
            iteration: 1,
            of: None,
            model: None,
            rationale: "",
        }),
        feature: Some(&texts),
        last_reason: Some("A gate refused."),
        scratchpad: "now",
        recent: &recent,
        ..request(&task, &config)
    };
    let all = [
        "Memories",
        "Using Memories",
        "Instructions",
        "Guardrails",
        "Scratchpad",
        "Assigned Task",
        "Previous Attempts",
        "Learnings from Previous Iterations",
        "Loop Status",
        "Stuck Loop Warning",
        "Feature Specification",
        "Feature Plan",
        "Retry Information",
        "Run Journal",
        "Project Knowledge",
        KNOWLEDGE_BASE,
        "Memory",
    ];
    let prompt = composed(&files, &request);
    assert_eq!(headings(&prompt), all);
    let places: Vec<usize> = all
        .iter()
        .map(|heading| prompt.text.find(&format!("# {heading}\n")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}

/// Rule: journal, knowledge and the recording instructions cannot be turned off. A budget of 0 is unlimited.
#[test]
fn journal_knowledge_and_memory_cannot_be_disabled() {
    let (files, _) = everything();
    let mut task = task(0xabc, "Parse dates", "");
    let recent = [row(1, 1, Some("Chose jiff."))];
    let mut config = Config::default();
    config.memories.enabled = false;
    config.memories.inject = Inject::None;
    config.guardrails.enabled = false;
    config.context.journal = Tokens(0);
    config.context.knowledge = Tokens(0);
    let memory = ["Run Journal", "Project Knowledge", "Memory"];
    for kind in [TaskKind::Once, TaskKind::PromptLoop] {
        task.kind = kind;
        let prompt = composed(
            &files,
            &PromptRequest {
                recent: &recent,
                ..request(&task, &config)
            },
        );
        let found: Vec<&str> = headings(&prompt).into_iter().filter(|it| memory.contains(it)).collect();
        assert_eq!(found, memory, "{kind}");
    }
    // A comparison without memory keeps the recording instructions.
    let prompt = composed(
        &files,
        &PromptRequest {
            recent: &recent,
            share: MemoryShare::None,
            ..request(&task, &config)
        },
    );
    assert_eq!(headings(&prompt).last(), Some(&"Memory"));
    assert!(prompt.text.contains("<journal>") && prompt.text.contains("<knowledge tags="));
}
