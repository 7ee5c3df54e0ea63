//! Reads what an iteration left beside its journal entry.

use ralph_model::{CapturedKnowledge, CapturedLearning, FailureReport, Signature};
use rusqlite::OptionalExtension;
use serde::Serialize;

use super::Store;
use super::attempts::read_kept_report;
use super::columns::from_json;
use crate::StoreError;

/// What an agent reported for later use in one iteration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RowCaptures {
    pub report: Option<FailureReport>,
    /// Equal for failures that are the same.
    pub signature: Option<Signature>,
    pub suggestion: Option<String>,
    /// Its learnings, including known ones; as stored, with the tags from all sources.
    pub learnings: Vec<CapturedLearning>,
    /// Its knowledge entries, written or not.
    pub knowledge: Vec<CapturedKnowledge>,
}

impl Store {
    /// What the agent reported in the iteration of a journal entry.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn captures(&self, journal: i64) -> Result<RowCaptures, StoreError> {
        self.sql(self.read_captures(journal))
    }

    fn read_captures(&self, journal: i64) -> rusqlite::Result<RowCaptures> {
        let connection = &self.connection;
        let report = connection
            .prepare_cached("SELECT * FROM failure_reports WHERE journal = ?1")?
            .query_row([journal], read_kept_report)
            .optional()?;
        let (report, signature, suggestion) = match report {
            Some(kept) => (Some(kept.report), kept.signature, kept.suggestion),
            None => (None, None, None),
        };
        let learnings = connection
            .prepare_cached(
                "SELECT category, tags, content FROM learning_sources JOIN learnings ON seq = learning
                 WHERE learning_sources.journal = ?1 AND NOT drawn ORDER BY seq",
            )?
            .query_map([journal], |row| {
                Ok(CapturedLearning {
                    category: row.get("category")?,
                    tags: from_json(&row.get::<_, String>("tags")?, "tags")?,
                    content: row.get("content")?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        let knowledge = connection
            .prepare_cached("SELECT payload FROM outbox WHERE journal = ?1 ORDER BY id")?
            .query_map([journal], |row| from_json(&row.get::<_, String>("payload")?, "payload"))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(RowCaptures {
            report,
            signature,
            suggestion,
            learnings,
            knowledge,
        })
    }
}
