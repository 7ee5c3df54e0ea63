//! What the search index needs of the facts: which learnings and journal entries changed after a revision, and the
//! texts that find them.

use jiff::Timestamp;
use ralph_model::{LearningId, ReportOrigin};
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use super::columns::{from_json, time_at, word_at};
use crate::StoreError;

/// The kinds of facts that can be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    Journal,
    Learning,
}

impl FactKind {
    const ALL: [Self; 2] = [Self::Journal, Self::Learning];

    const fn word(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Learning => "learning",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// The state of the searchable facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    /// Identifies the database; a restored backup has another one.
    pub epoch: i64,
    /// Grows with every change.
    pub number: i64,
}

/// The last change of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedFact {
    pub revision: i64,
    pub kind: FactKind,
    pub row: i64,
}

/// What finds a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchText {
    pub row: i64,
    pub id: String,
    pub created_at: Timestamp,
    /// Near-duplicates have the same: the category of learnings, the task and outcome of iterations.
    pub topic: String,
    pub text: String,
    pub tags: Vec<String>,
    /// Whether a text that contains one of its tags may get it into a prompt.
    pub is_matched_by_tags: bool,
}

impl Store {
    /// The current revision of the searchable facts.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn revision(&self) -> Result<Revision, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT value, (SELECT coalesce(max(revision), 0) FROM fact_changes) FROM epoch")
            .and_then(|mut statement| {
                statement.query_row([], |row| {
                    Ok(Revision {
                        epoch: row.get(0)?,
                        number: row.get(1)?,
                    })
                })
            });
        self.sql(found)
    }

    /// The first facts that changed after a revision, in the order of their last changes.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn facts_changed_after(&self, revision: i64, most: usize) -> Result<Vec<ChangedFact>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let found = self
            .connection
            .prepare_cached(
                "SELECT revision, kind, row FROM fact_changes WHERE revision > ?1 ORDER BY revision LIMIT ?2",
            )
            .and_then(|mut statement| {
                let changes = statement.query_map(params![revision, most], |row| {
                    Ok(ChangedFact {
                        revision: row.get("revision")?,
                        kind: word_at(row, "kind", FactKind::parse)?,
                        row: row.get("row")?,
                    })
                })?;
                changes.collect()
            });
        self.sql(found)
    }

    /// What finds these facts, in their order. Deleted ones are left out, and so are learnings that a search does not
    /// return: rejected, retired and superseded ones.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn search_texts(&self, kind: FactKind, rows: &[i64]) -> Result<Vec<SearchText>, StoreError> {
        let (question, read): (&str, fn(&Row<'_>) -> rusqlite::Result<SearchText>) = match kind {
            FactKind::Journal => (
                "SELECT id, created_at, coalesce(task_id, '') || ' ' || task_title || ' ' || outcome AS topic, task_title, notes, quoted, what_tried, why_failed, origin, error_output, suggestion
                 FROM journal LEFT JOIN failure_reports ON failure_reports.journal = id WHERE id = ?1",
                read_journal,
            ),
            FactKind::Learning => (
                "SELECT seq, id, created_at, category, content, examples, tags,
                        status = 'promoted' AND source IN ('sigil', 'human') AS matched
                 FROM learnings
                 WHERE seq = ?1 AND status IN ('promoted', 'validated', 'pending') AND superseded_by IS NULL",
                read_learning,
            ),
        };
        let texts = self.begin_read().and_then(|snapshot| {
            let mut statement = snapshot.prepare_cached(question)?;
            let found = rows.iter().map(|row| statement.query_row([row], read).optional());
            found.collect::<rusqlite::Result<Vec<Option<SearchText>>>>()
        });
        Ok(self.sql(texts)?.into_iter().flatten().collect())
    }
}

/// The text of a journal entry: its subject, its notes, and why it failed. ralph's own sentences are the same in many
/// entries, so matching their words would be meaningless.
fn read_journal(row: &Row<'_>) -> rusqlite::Result<SearchText> {
    let text = |column: &str| row.get::<_, Option<String>>(column);
    let is_agents = text("origin")?.as_deref() == Some(ReportOrigin::Agent.word());
    let texts = [
        text("task_title")?,
        text("notes")?,
        text("quoted")?,
        text("what_tried")?,
        text("why_failed")?.filter(|_| is_agents),
        text("error_output")?,
        text("suggestion")?,
    ];
    let number: i64 = row.get("id")?;
    Ok(SearchText {
        row: number,
        id: number.to_string(),
        created_at: time_at(row, "created_at")?,
        topic: row.get("topic")?,
        text: texts.into_iter().flatten().collect::<Vec<_>>().join("\n"),
        tags: Vec::new(),
        is_matched_by_tags: false,
    })
}

/// The text of a learning, and the other wordings of it.
fn read_learning(row: &Row<'_>) -> rusqlite::Result<SearchText> {
    let list = |column: &str| -> rusqlite::Result<Vec<String>> { from_json(&row.get::<_, String>(column)?, column) };
    let mut texts = vec![row.get::<_, String>("content")?];
    texts.extend(list("examples")?);
    Ok(SearchText {
        row: row.get("seq")?,
        id: word_at(row, "id", LearningId::parse)?.to_string(),
        created_at: time_at(row, "created_at")?,
        topic: row.get("category")?,
        text: texts.join("\n"),
        tags: list("tags")?,
        is_matched_by_tags: row.get("matched")?,
    })
}
