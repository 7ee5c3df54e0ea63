//! A default journal entry.

use ralph_model::{Evidence, NewJournalRow, Outcome, RunId, StopReason, Usage};

/// The entry of a successful iteration without notes; tests override the fields they care about.
#[must_use]
pub fn journal_row(run: RunId, iteration: u32) -> NewJournalRow {
    NewJournalRow {
        run,
        iteration,
        task: None,
        task_title: String::new(),
        task_type: ralph_model::TaskType::General,
        tags: Vec::new(),
        feature: None,
        attempt: 1,
        outcome: Outcome::Done,
        stop: StopReason::TaskDone,
        reason: String::new(),
        model: None,
        model_rationale: String::new(),
        duration_ms: 0,
        usage: Usage::default(),
        files_modified: Vec::new(),
        changed_nothing: false,
        evidence: Evidence::Gates,
        notes: None,
        difficulty: None,
        error_category: None,
        malformed_sigils: 0,
        denials: Vec::new(),
        created_at: "2025-01-20T10:00:00Z".parse().unwrap(),
    }
}
