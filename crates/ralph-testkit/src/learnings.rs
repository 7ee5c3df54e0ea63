//! Learnings as runs and imports leave them, inserted directly into a database.

use std::path::Path;

use jiff::Timestamp;
use ralph_model::{
    Facts, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskType, format_timestamp,
};
use rusqlite::{Connection, named_params};

/// An active learning extracted from a run; tests override the fields they care about.
#[must_use]
pub fn run_learning(number: u64, kind: LearningKind, task_type: TaskType, content: &str) -> Learning {
    let created_at: Timestamp = "2025-01-20T12:00:00Z".parse().expect("a timestamp");
    let success_rate = kind.first_success_rate();
    Learning {
        id: LearningId::new(number),
        kind,
        category: kind.word().to_owned(),
        task_type: Some(task_type),
        content: content.to_owned(),
        tags: Vec::new(),
        confidence: 0.8,
        success_rate,
        first_success_rate: success_rate,
        use_count: 0,
        first_use_count: 0,
        successes: 0,
        source: LearningSource::Extracted,
        source_loops: vec!["run-00000001".to_owned()],
        task: None,
        journal: None,
        status: LearningStatus::Promoted,
        reason: None,
        superseded_by: None,
        examples: Vec::new(),
        facts: None,
        foreign_id: None,
        last_used_at: None,
        created_at,
        updated_at: created_at,
    }
}

/// A warning of the form `Avoid: ERROR - REMEDY` that was extracted from failures.
#[must_use]
pub fn extracted_warning(number: u64, task_type: TaskType, content: &str) -> Learning {
    let error = content.trim_start_matches("Avoid: ").split(" - ").next();
    Learning {
        facts: Some(Facts::Antipattern {
            occurrences: 2,
            impact: "medium".to_owned(),
            error: error.map(str::to_owned),
        }),
        ..run_learning(number, LearningKind::Antipattern, task_type, content)
    }
}

/// Inserts learnings into an existing database.
///
/// # Panics
/// When the insert fails.
#[expect(clippy::disallowed_methods, reason = "ralph itself would not write these rows")]
pub fn put_learnings<'l>(database: &Path, learnings: impl IntoIterator<Item = &'l Learning>) {
    let mut connection = Connection::open(database).expect("a database");
    let transaction = connection.transaction().expect("a transaction");
    for learning in learnings {
        let json = |texts: &[String]| serde_json::to_string(texts).expect("a list");
        transaction
            .prepare_cached(
                "INSERT INTO learnings (id, kind, category, task_type, content, tags, confidence, success_rate,
                     first_success_rate, use_count, first_use_count, successes, source, source_loops, status, superseded_by,
                     examples, facts, created_at, updated_at, normalized)
                 VALUES (:id, :kind, :category, :task_type, :content, :tags, :confidence, :success_rate,
                     :first_success_rate, :use_count, :first_use_count, :successes, :source, :source_loops, :status,
                     :superseded_by, :examples, :facts, :at, :at, :learning)",
            )
            .expect("a statement")
            .execute(named_params! {
                ":id": learning.id.as_str(),
                ":kind": learning.kind.word(),
                ":category": learning.category,
                ":task_type": learning.task_type.map(TaskType::word),
                ":content": learning.content,
                ":tags": json(&learning.tags),
                ":confidence": learning.confidence,
                ":success_rate": learning.success_rate,
                ":first_success_rate": learning.first_success_rate,
                ":use_count": learning.use_count,
                ":first_use_count": learning.first_use_count,
                ":successes": learning.successes,
                ":source": learning.source.word(),
                ":source_loops": json(&learning.source_loops),
                ":status": learning.status.word(),
                ":superseded_by": learning.superseded_by.as_ref().map(LearningId::as_str),
                ":examples": json(&learning.examples),
                ":facts": learning.facts.as_ref().map(|facts| serde_json::to_string(facts).expect("facts")),
                ":at": format_timestamp(learning.created_at),
                ":learning": words_of(&learning.content),
            })
            .expect("a new learning");
    }
    transaction.commit().expect("a commit");
}

/// The normalized text by which duplicates of a plain learning are found.
fn words_of(content: &str) -> String {
    let words = content.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join(" ")
}
