//! Deduplication: finds the known learning that has the same words as a new one, or that a caller has identified as a
//! paraphrase.

use ralph_model::{EligibilityRule, Learning, LearningId, LearningKind, LearningStatus, MAX_EXAMPLES, TaskType};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::Store;
use super::learning_changes::{fetch, resolve_merged};
use super::learning_reading::read_learning;
use super::normalized;
use crate::StoreError;

/// Condition for a learning with the same words and kind. Texts without any words are compared literally.
const SAME_WORDS: &str = "normalized = ?1 AND kind = ?2 AND (?1 <> '' OR content = ?3)";

/// Result of the search for a learning that a new one paraphrases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paraphrase {
    /// That learning, if any, and its text at the time of the comparison, as [`normalized`] writes it.
    other: Option<(Which, String)>,
    as_of: Option<LearningsState>,
}

/// A stamp that changes when learnings are added or removed. Changed ones are checked again when they are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearningsState {
    newest: i64,
    number: i64,
}

impl LearningsState {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        connection
            .prepare_cached(
                "SELECT (SELECT coalesce(max(seq), 0) FROM learnings),
                        (SELECT coalesce(sum(entries), 0) FROM learning_totals)",
            )?
            .query_row([], |row| {
                Ok(Self {
                    newest: row.get(0)?,
                    number: row.get(1)?,
                })
            })
    }
}

/// Whether learnings were added or removed since the incoming ones were compared. All compared ones have the same
/// stamp, but some may not have been compared.
pub(super) fn is_outdated<'r>(
    transaction: &Transaction<'_>,
    coming_in: impl IntoIterator<Item = &'r Paraphrase>,
) -> rusqlite::Result<bool> {
    match coming_in.into_iter().find_map(|paraphrase| paraphrase.as_of) {
        Some(as_of) => Ok(as_of != LearningsState::of(transaction)?),
        None => Ok(false),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    Known(LearningId),
    Earlier(usize),
}

impl Paraphrase {
    /// A known learning with this content.
    #[must_use]
    pub fn known(id: LearningId, content: &str) -> Self {
        Self {
            other: Some((Which::Known(id), normalized(content))),
            as_of: None,
        }
    }

    /// An earlier learning of the same batch, by its index, with this content.
    #[must_use]
    pub fn earlier(place: usize, content: &str) -> Self {
        Self {
            other: Some((Which::Earlier(place), normalized(content))),
            as_of: None,
        }
    }

    /// Limits the result to this state: it is not used once learnings were added or removed.
    #[must_use]
    pub fn as_of(self, state: LearningsState) -> Self {
        Self {
            as_of: Some(state),
            ..self
        }
    }

    /// Makes the result valid whatever learnings were added since.
    #[must_use]
    pub fn whenever(self) -> Self {
        Self { as_of: None, ..self }
    }

    /// Resolves the learning that is meant; `kept` gives the ids under which earlier ones of the batch were stored.
    pub(super) fn among(&self, kept: impl FnOnce(usize) -> Option<LearningId>) -> Option<ComparedLearning> {
        let (which, says) = self.other.as_ref()?;
        let id = match which {
            Which::Known(id) => id.clone(),
            Which::Earlier(place) => kept(*place)?,
        };
        let says = says.clone();
        Some(ComparedLearning { id, says })
    }
}

/// A learning by id, and its text when it was compared.
#[derive(Debug, Clone)]
pub(super) struct ComparedLearning {
    id: LearningId,
    says: String,
}

/// The fields by which an incoming learning is matched to a known one.
#[derive(Debug, Clone, Copy)]
pub(super) struct DuplicateKey<'a> {
    pub(super) kind: LearningKind,
    /// `None` for every task type.
    pub(super) task_type: Option<TaskType>,
    pub(super) content: &'a str,
}

impl DuplicateKey<'_> {
    /// Returns the learning with the same words for the same task type or for an unknown one. An exact task type is
    /// preferred, then an active status. A merged learning is resolved to the one that it was merged into.
    pub(super) fn known(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Option<Learning>> {
        let known = self.unmerged(transaction)?;
        known.map(|known| resolve_merged(transaction, known)).transpose()
    }

    /// Like [`known`](Self::known), without resolving merges.
    pub(super) fn unmerged(&self, connection: &Connection) -> rusqlite::Result<Option<Learning>> {
        let known = connection
            .prepare_cached(&format!(
                "SELECT * FROM learnings
                 WHERE {SAME_WORDS} AND (task_type IS ?4 OR task_type IS NULL OR ?4 IS NULL)
                 ORDER BY task_type IS NOT ?4, status IN ('rejected', 'pruned'), seq LIMIT 1"
            ))?
            .query_row(
                params![
                    normalized(self.content),
                    self.kind.word(),
                    self.content,
                    self.task_type.map(TaskType::word),
                ],
                read_learning,
            );
        known.optional()
    }

    /// Returns the paraphrased learning, if it is still active and has not changed since the comparison.
    pub(super) fn paraphrase(
        &self,
        transaction: &Transaction<'_>,
        meant: &ComparedLearning,
    ) -> rusqlite::Result<Option<Learning>> {
        let known = fetch(transaction, &meant.id)?;
        Ok(known.filter(|known| {
            let fits = known.task_type.is_none() || self.task_type.is_none() || known.task_type == self.task_type;
            fits && known.kind == self.kind
                && normalized(&known.content) == meant.says
                && known.superseded_by.is_none()
                && !matches!(known.status, LearningStatus::Rejected | LearningStatus::Pruned)
        }))
    }
}

impl Store {
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_state(&self) -> Result<LearningsState, StoreError> {
        self.sql(LearningsState::of(&self.connection))
    }

    /// Runs a transaction that stores learnings, unless the comparison of the incoming ones is outdated.
    pub(super) fn write_compared<'r, T>(
        &mut self,
        coming_in: impl IntoIterator<Item = &'r Paraphrase>,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let done = self.write(|transaction| {
            if is_outdated(transaction, coming_in)? {
                return Ok(None);
            }
            work(transaction).map(Some)
        });
        done?.ok_or(StoreError::LearningsChanged)
    }

    /// Whether a learning with exactly these words is stored, whatever its status.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_learning_with_words(
        &self,
        kind: LearningKind,
        task_type: Option<TaskType>,
        content: &str,
    ) -> Result<bool, StoreError> {
        let duplicate_key = DuplicateKey {
            kind,
            task_type,
            content,
        };
        let known = self.begin_read().and_then(|moment| duplicate_key.unmerged(&moment));
        Ok(self.sql(known)?.is_some())
    }
}

impl Store {
    /// Whether a strategy with the same words is ineligible for another task type because of its outcomes. A strategy
    /// with enough uses of its own is judged by these instead.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_refuted_elsewhere(&self, learning: &Learning) -> Result<bool, StoreError> {
        let rule = EligibilityRule::STRATEGIES;
        let has_own_record = learning.uses_here() >= rule.min_uses;
        if learning.kind != LearningKind::Strategy || has_own_record {
            return Ok(false);
        }
        let said = normalized(&learning.content);
        if said.is_empty() {
            return Ok(false);
        }
        let refuted = self
            .connection
            .prepare_cached(&format!(
                "SELECT EXISTS (
                     SELECT 1 FROM learnings
                     WHERE {SAME_WORDS} AND id <> ?4 AND status = 'promoted' AND superseded_by IS NULL
                           AND use_count - first_use_count >= ?5 AND success_rate < ?6)"
            ))
            .and_then(|mut statement| {
                let parameters = params![
                    said,
                    learning.kind.word(),
                    learning.content,
                    learning.id.as_str(),
                    rule.min_uses,
                    rule.leaves_below,
                ];
                statement.query_row(parameters, |row| row.get(0))
            });
        self.sql(refuted)
    }
}

/// Returns another learning with the same words and task type. Learnings that were merged into this one are parts of
/// it.
pub(super) fn other_duplicate(transaction: &Transaction<'_>, new: &Learning) -> rusqlite::Result<Option<Learning>> {
    transaction
        .prepare_cached(&format!(
            "SELECT * FROM learnings
             WHERE {SAME_WORDS} AND task_type IS ?4 AND id <> ?5
                   AND NOT (status = 'pruned' AND superseded_by IS ?5)
             ORDER BY status IN ('rejected', 'pruned'), seq LIMIT 1"
        ))?
        .query_row(
            params![
                normalized(&new.content),
                new.kind.word(),
                new.content,
                new.task_type.map(TaskType::word),
                new.id.as_str(),
            ],
            read_learning,
        )
        .optional()
}

/// Stores the words of a paraphrase as an example, if there is space. Returns whether they are new.
pub(super) fn keep_words(known: &mut Learning, words: &str) -> bool {
    let is_new = known.content != words && !known.examples.iter().any(|example| example == words);
    let has_room = known.examples.len() < MAX_EXAMPLES;
    if is_new && has_room {
        known.examples.push(words.to_owned());
    }
    is_new && has_room
}
