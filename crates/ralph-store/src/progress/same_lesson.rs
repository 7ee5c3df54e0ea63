//! Which lesson of those that are known another one is: in the same words, or in others that somebody has compared.

use ralph_model::{Learning, LearningId, LearningKind, LearningStatus, MOST_EXAMPLES, StandingRule, TaskType};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::Store;
use super::learning_changes::{standing_for, stands};
use super::learning_reading::{if_readable, read_learning};
use super::lesson_of;
use crate::StoreError;

/// What is true of a lesson that says in the same words what the one of the first three parameters says: its words, its kind,
/// and its text, by which those are told apart that have no words.
const IN_THE_SAME_WORDS: &str = "lesson = ?1 AND kind = ?2 AND (?1 <> '' OR content = ?3)";

/// What came of looking for a lesson that one which comes in says in other words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Retold {
    /// That lesson, if there is one, and what it said when the two were compared, as [`lesson_of`] writes it.
    other: Option<(Which, String)>,
    as_of: Option<LessonsState>,
}

/// By what it is seen that lessons have come in or gone. Those that merely changed are looked at again when they are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LessonsState {
    newest: i64,
    number: i64,
}

impl LessonsState {
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

/// Whether lessons have come in or gone since those that come in were compared with them. It is the same for all of these, but
/// some may not have been compared.
pub(super) fn is_outdated<'r>(
    transaction: &Transaction<'_>,
    coming_in: impl IntoIterator<Item = &'r Retold>,
) -> rusqlite::Result<bool> {
    match coming_in.into_iter().find_map(|retold| retold.as_of) {
        Some(as_of) => Ok(as_of != LessonsState::of(transaction)?),
        None => Ok(false),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    Known(LearningId),
    Earlier(usize),
}

impl Retold {
    /// A known one, which says this.
    #[must_use]
    pub fn known(id: LearningId, content: &str) -> Self {
        Self {
            other: Some((Which::Known(id), lesson_of(content))),
            as_of: None,
        }
    }

    /// One that comes in with it, before it: by its place among them, from 0; it says this.
    #[must_use]
    pub fn earlier(place: usize, content: &str) -> Self {
        Self {
            other: Some((Which::Earlier(place), lesson_of(content))),
            as_of: None,
        }
    }

    /// The same, as it was found among the lessons of this state: among those of another it is not used.
    #[must_use]
    pub fn as_of(self, state: LessonsState) -> Self {
        Self {
            as_of: Some(state),
            ..self
        }
    }

    /// The same, to be used whatever lessons have come in since.
    #[must_use]
    pub fn whenever(self) -> Self {
        Self { as_of: None, ..self }
    }

    /// The lesson that is meant, where those that came in before are kept under these ids.
    pub(super) fn among(&self, kept: impl FnOnce(usize) -> Option<LearningId>) -> Option<Meant> {
        let (which, says) = self.other.as_ref()?;
        let id = match which {
            Which::Known(id) => id.clone(),
            Which::Earlier(place) => kept(*place)?,
        };
        let says = says.clone();
        Some(Meant { id, says })
    }
}

/// A lesson by its id, and what it said when another one was compared with it.
#[derive(Debug, Clone)]
pub(super) struct Meant {
    id: LearningId,
    says: String,
}

/// What makes a lesson that comes in the same as a known one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saying<'a> {
    pub(super) kind: LearningKind,
    /// The kind of work that it is for; none for every kind.
    pub(super) task_type: Option<TaskType>,
    pub(super) content: &'a str,
}

impl Saying<'_> {
    /// The lesson that says it in the same words, about the same kind of work or one that nobody knows; of several the one
    /// that is for that very kind, then one that stands. Where it was merged into another, that one.
    pub(super) fn known(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Option<Learning>> {
        let known = self.unmerged(transaction)?;
        known.map(|known| standing_for(transaction, known)).transpose()
    }

    /// The same, whether or not it was merged into another. One that cannot be read is not known: what is told again must not be
    /// lost with it.
    pub(super) fn unmerged(&self, connection: &Connection) -> rusqlite::Result<Option<Learning>> {
        let known = connection
            .prepare_cached(&format!(
                "SELECT * FROM learnings
                 WHERE {IN_THE_SAME_WORDS} AND (task_type IS ?4 OR task_type IS NULL OR ?4 IS NULL)
                 ORDER BY task_type IS NOT ?4, status IN ('rejected', 'pruned'), seq LIMIT 1"
            ))?
            .query_row(
                params![
                    lesson_of(self.content),
                    self.kind.word(),
                    self.content,
                    self.task_type.map(TaskType::word),
                ],
                read_learning,
            );
        if_readable(known)
    }

    /// A lesson that says it in other words, if it still stands: nobody has taken it out or made another of it since it was
    /// looked for.
    pub(super) fn retold(&self, transaction: &Transaction<'_>, meant: &Meant) -> rusqlite::Result<Option<Learning>> {
        let known = stands(transaction, &meant.id)?;
        Ok(known.filter(|known| {
            let fits = known.task_type.is_none() || self.task_type.is_none() || known.task_type == self.task_type;
            fits && known.kind == self.kind
                && lesson_of(&known.content) == meant.says
                && known.superseded_by.is_none()
                && !matches!(known.status, LearningStatus::Rejected | LearningStatus::Pruned)
        }))
    }
}

impl Store {
    /// By what it is seen later whether lessons have come in or gone.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn lessons_state(&self) -> Result<LessonsState, StoreError> {
        self.sql(LessonsState::of(&self.connection))
    }

    /// Does a piece of work that keeps lessons, if those that come in were compared with the ones that are here.
    pub(super) fn write_compared<'r, T>(
        &mut self,
        coming_in: impl IntoIterator<Item = &'r Retold>,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let done = self.write(|transaction| {
            if is_outdated(transaction, coming_in)? {
                return Ok(None);
            }
            work(transaction).map(Some)
        });
        done?.ok_or(StoreError::LessonsChanged)
    }

    /// Whether a lesson is known in these very words, whatever has become of it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn knows_these_words(
        &self,
        kind: LearningKind,
        task_type: Option<TaskType>,
        content: &str,
    ) -> Result<bool, StoreError> {
        let saying = Saying {
            kind,
            task_type,
            content,
        };
        let known = self.look().and_then(|moment| saying.unmerged(&moment));
        Ok(self.sql(known)?.is_some())
    }
}

impl Store {
    /// Whether what a strategy says was refuted in the same words at another kind of work: such a lesson stands in no prompt any
    /// more, for what became of those that saw it. One that has stood in enough prompts itself has a record of its own.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_refuted_elsewhere(&self, learning: &Learning) -> Result<bool, StoreError> {
        let rule = StandingRule::STRATEGIES;
        let has_own_record = learning.uses_here() >= rule.uses_that_tell;
        if learning.kind != LearningKind::Strategy || has_own_record {
            return Ok(false);
        }
        let lesson = lesson_of(&learning.content);
        if lesson.is_empty() {
            return Ok(false);
        }
        let refuted = self
            .connection
            .prepare_cached(&format!(
                "SELECT EXISTS (
                     SELECT 1 FROM learnings
                     WHERE {IN_THE_SAME_WORDS} AND id <> ?4 AND status = 'promoted' AND superseded_by IS NULL
                           AND use_count - first_use_count >= ?5 AND success_rate < ?6)"
            ))
            .and_then(|mut statement| {
                let parameters = params![
                    lesson,
                    learning.kind.word(),
                    learning.content,
                    learning.id.as_str(),
                    rule.uses_that_tell,
                    rule.leaves_below,
                ];
                statement.query_row(parameters, |row| row.get(0))
            });
        self.sql(refuted)
    }
}

/// Another lesson that says the same as one, for the same kind of work. Those that were merged into it are parts of it.
pub(super) fn another_saying(transaction: &Transaction<'_>, new: &Learning) -> rusqlite::Result<Option<Learning>> {
    transaction
        .prepare_cached(&format!(
            "SELECT * FROM learnings
             WHERE {IN_THE_SAME_WORDS} AND task_type IS ?4 AND id <> ?5
                   AND NOT (status = 'pruned' AND superseded_by IS ?5)
             ORDER BY status IN ('rejected', 'pruned'), seq LIMIT 1"
        ))?
        .query_row(
            params![
                lesson_of(&new.content),
                new.kind.word(),
                new.content,
                new.task_type.map(TaskType::word),
                new.id.as_str(),
            ],
            read_learning,
        )
        .optional()
}

/// Keeps the words of one that says the same beside a lesson, as far as there is room; says whether they are new.
pub(super) fn keep_words(known: &mut Learning, words: &str) -> bool {
    let is_new = known.content != words && !known.examples.iter().any(|example| example == words);
    let has_room = known.examples.len() < MOST_EXAMPLES;
    if is_new && has_room {
        known.examples.push(words.to_owned());
    }
    is_new && has_room
}
