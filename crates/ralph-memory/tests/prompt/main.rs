//! Tests of the prompt of an iteration: exact texts by scenario, and invariants.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod attempts;
mod features;
mod hostile;
mod knowledge;
mod knowledge_base;
mod learnings;
mod past;
mod rules;
mod scenarios;
mod status;
#[path = "../support/mod.rs"]
mod support;
mod verify;

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil::date;
use ralph_memory::inject::Origins;
use ralph_memory::inject::prompt::{AttemptNumber, MemoryShare, Prompt, PromptRequest, compose};
use ralph_memory::recall::RelevantLearning;
use ralph_model::config::Config;
use ralph_model::{
    JournalRow, Learning, LearningKind, LearningSource, NewJournalRow, NoteFileKind, NoteKind, Priority, RunId, Task,
    TaskId, TaskKind, TaskStatus, TaskType,
};
use ralph_testkit::{journal_row, run_learning};
use support::Files;

pub(crate) const MEMORIES: &str = "# Memories

## Patterns

### mem-1737372000-a1b2
> Run the tests before you say that something is done.
<!-- tags: testing | created: 2025-01-20 -->

## Fixes

### mem-1737372060-a1b3
> ECONNREFUSED on 5432: start docker first.
<!-- tags: docker | created: 2025-01-21 -->
";

pub(crate) const GUARDRAILS: &str = "# Guardrails

## Decisions

### decision-1737372000-b1b2
> Dates are ISO 8601,
>
> nothing else.
<!-- tags:  | created: 2025-01-20 -->
";

pub(crate) fn moment() -> Timestamp {
    "2025-01-22T10:00:00Z".parse().unwrap()
}

pub(crate) fn task(number: u64, title: &str, description: &str) -> Task {
    Task {
        id: TaskId::new(number),
        title: title.to_owned(),
        description: description.to_owned(),
        status: TaskStatus::InProgress,
        unverified: None,
        kind: TaskKind::Once,
        priority: Priority::default(),
        parent: None,
        feature: None,
        after: Vec::new(),
        retries_used: 0,
        max_retries: None,
        attempts: 1,
        claimed_by: None,
        checks: Vec::new(),
        proposal: None,
        created_at: moment(),
        updated_at: moment(),
    }
}

pub(crate) fn row(id: i64, run: u64, notes: Option<&str>) -> JournalRow {
    JournalRow {
        id,
        prompt_sha256: None,
        row: NewJournalRow {
            task: Some(TaskId::new(0x000a)),
            task_title: "Read dates".to_owned(),
            model: Some("sonnet".to_owned()),
            duration_ms: 42_049,
            files_modified: vec!["src/main.rs".to_owned(), "src/lib.rs".to_owned()],
            notes: notes.map(str::to_owned),
            ..journal_row(RunId::new(run), u32::try_from(id).unwrap())
        },
    }
}

pub(crate) fn learning(content: &str) -> Learning {
    Learning {
        category: "pitfall".to_owned(),
        task_type: None,
        confidence: 0.5,
        success_rate: 0.5,
        first_success_rate: 1.0,
        source: LearningSource::Human,
        source_loops: Vec::new(),
        created_at: moment(),
        updated_at: moment(),
        ..run_learning(1, LearningKind::Antipattern, TaskType::General, content)
    }
}

/// A learning that belongs to a task.
pub(crate) fn relevant(content: &str) -> RelevantLearning {
    RelevantLearning::of(learning(content), 1.0, false)
}

/// A minimal prompt request for a task, which tests extend.
pub(crate) fn request<'a>(task: &'a Task, config: &'a Config) -> PromptRequest<'a> {
    PromptRequest {
        attempts: &[],
        earlier_attempts: 0,
        suggestion: None,
        learnings: &[],
        known: &[],
        settled: &[],
        track_record: ralph_model::TrackRecord::default(),
        iteration_info: None,
        task,
        parent: None,
        prerequisites: &[],
        feature: None,
        attempt: AttemptNumber::of_all(1, 4),
        last_reason: None,
        red_gates: &[],
        broken_gates: &[],
        in_checkout: false,
        gates: &[],
        scratchpad: "",
        recent: &[],
        related: &[],
        recent_files: &[],
        config,
        today: date(2025, 1, 22),
        share: MemoryShare::Whole,
        origins: leaked(Origins::default()),
    }
}

/// Leaks a value, so that requests can borrow from it.
pub(crate) fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

pub(crate) fn project(memories: &str, guardrails: &str) -> Files {
    let files = Files::new();
    files.write(NoteFileKind::Memories, memories.as_bytes());
    files.write(NoteFileKind::Guardrails, guardrails.as_bytes());
    files
}

pub(crate) fn composed(files: &Files, request: &PromptRequest<'_>) -> Prompt {
    compose(&files.note_index_with_knowledge(), request).unwrap()
}

/// The text between two headings, without the fixed texts.
pub(crate) fn between<'a>(prompt: &'a Prompt, from: &str, to: &str) -> &'a str {
    let (_, rest) = prompt.text.split_once(from).unwrap();
    rest.split(to).next().unwrap()
}

pub(crate) fn decisions(prompt: &Prompt) -> String {
    let mut lines = String::new();
    for injection in &prompt.injections {
        let score = injection.score.map_or("-", |_| "scored");
        writeln!(
            lines,
            "{} {}: {} {} {} tokens, {score}, {}",
            injection.section, injection.rank, injection.kind, injection.id, injection.tokens, injection.reason
        )
        .unwrap();
    }
    lines
}

/// Notes of four types, most of them irrelevant.
pub(crate) fn many_notes() -> String {
    let mut text = String::new();
    for kind in NoteKind::ALL {
        writeln!(text, "## {}\n", kind.section()).unwrap();
        for number in 0..60 {
            // Near-duplicates would be left out.
            let about = match (number, kind) {
                (3, NoteKind::Pattern) => "dates are parsed with care",
                (3, NoteKind::Decision) => "dates are parsed with zone",
                (3, NoteKind::Fix) => "dates are parsed with test",
                (3, NoteKind::Context) => "dates are parsed with loop",
                _ => "nothing that matters here",
            };
            writeln!(
                text,
                "### mem-17373{:02}{number:03}-{:04x}\n> {} {number}: {about}, said at some length\n<!-- tags:  | created: 2025-01-{:02} -->\n",
                kind.section().len(),
                kind.section().len(),
                kind.word(),
                1 + number % 20,
            )
            .unwrap();
        }
    }
    text
}
