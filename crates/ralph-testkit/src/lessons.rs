//! Lessons as runs and other stores leave them, put into a database as they are.

use std::path::Path;

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskType, moment_text};
use rusqlite::{Connection, named_params};

/// A lesson that a run taught and that holds; tests set what they are about.
#[must_use]
pub fn known_lesson(number: u64, kind: LearningKind, task_type: TaskType, content: &str) -> Learning {
    let created_at: Timestamp = "2025-01-20T12:00:00Z".parse().expect("a moment");
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

/// Puts lessons into a database that exists, each with the words that it is found by, as the database keeps them.
///
/// # Panics
/// When that fails.
#[expect(
    clippy::disallowed_methods,
    reason = "what other stores and versions have left is in no database that this one would write"
)]
pub fn put_lessons<'l>(database: &Path, lessons: impl IntoIterator<Item = (&'l Learning, String)>) {
    let mut connection = Connection::open(database).expect("a database");
    let transaction = connection.transaction().expect("a transaction");
    for (learning, terms) in lessons {
        let json = |texts: &[String]| serde_json::to_string(texts).expect("a list");
        transaction
            .prepare_cached(
                "INSERT INTO learnings (id, kind, category, task_type, content, tags, confidence, success_rate,
                     first_success_rate, use_count, first_use_count, successes, source, source_loops, status, superseded_by,
                     examples, facts, created_at, updated_at, terms, lesson)
                 VALUES (:id, :kind, :category, :task_type, :content, :tags, :confidence, :success_rate,
                     :first_success_rate, :use_count, :first_use_count, :successes, :source, :source_loops, :status,
                     :superseded_by, :examples, :facts, :at, :at, :terms, :lesson)",
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
                ":at": moment_text(learning.created_at),
                ":terms": terms,
                ":lesson": words_of(&learning.content),
            })
            .expect("a lesson that is new");
    }
    transaction.commit().expect("lessons on disk");
}

/// What is the same in every telling of a lesson of plain words.
fn words_of(content: &str) -> String {
    let words = content.split(|sign: char| !sign.is_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join(" ")
}
