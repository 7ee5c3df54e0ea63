//! A person's word on a lesson that they have before their eyes: it counts for what they saw, and for nothing else.

use jiff::Timestamp;
use ralph_model::{Learning, LearningId, LearningStatus, TaskType};
use rusqlite::{OptionalExtension, Transaction, params};

use super::columns::word_at;
use super::learning_changes::{existing, set_status, words_of};
use super::learning_error::{LearningError, LearningTrouble};
use super::{Store, lesson_of};

/// What a person says of a lesson that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It holds.
    Promote,
    /// It holds in these words.
    Reword(&'a str),
    /// It does not hold, for this reason.
    Reject(&'a str),
}

/// What became of a person's word.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// It stands.
    AsSaid(Learning),
    /// Somebody else has changed the lesson since it was shown; it is as it was left, which is this.
    ChangedMeanwhile(Learning),
    /// Another lesson says in these words already what it was to say; nothing has changed.
    SaidAlready(LearningId),
}

impl Store {
    /// Puts a person's word on a lesson as they have seen it. Where it was changed since, its words or how far it has come,
    /// their word is not taken for it.
    ///
    /// # Errors
    /// When there is no such lesson any more, or the database cannot be written.
    pub fn judge_as_seen(
        &mut self,
        seen: &Learning,
        verdict: Verdict<'_>,
        now: Timestamp,
    ) -> Result<Judged, LearningError> {
        self.change_learnings(|transaction| {
            let standing = existing(transaction, &seen.id)?;
            if !is_as_seen(&standing, seen) {
                return Ok(Judged::ChangedMeanwhile(standing));
            }
            let status = match verdict {
                Verdict::Promote => (LearningStatus::Promoted, None),
                Verdict::Reject(reason) => (LearningStatus::Rejected, Some(reason)),
                Verdict::Reword(words) => {
                    if let Some(other) = said_by_another(transaction, &standing, words)? {
                        return Ok(Judged::SaidAlready(other));
                    }
                    reword(transaction, &standing, words)?;
                    (LearningStatus::Promoted, None)
                }
            };
            set_status(transaction, &seen.id, status, now)?;
            Ok(Judged::AsSaid(existing(transaction, &seen.id)?))
        })
    }
}

/// Whether a lesson still says what it said, to the same effect. That it became surer, or was used, changes nothing in that.
fn is_as_seen(standing: &Learning, seen: &Learning) -> bool {
    let what_counts = |learning: &Learning| {
        let Learning {
            status,
            content,
            reason,
            superseded_by,
            ..
        } = learning.clone();
        (status, content, reason, superseded_by)
    };
    what_counts(standing) == what_counts(seen)
}

/// The other lesson of the same kind, for the same kind of work, that says this already.
fn said_by_another(
    transaction: &Transaction<'_>,
    learning: &Learning,
    words: &str,
) -> Result<Option<LearningId>, LearningTrouble> {
    let found = transaction
        .prepare_cached(
            "SELECT id FROM learnings
             WHERE lesson = ?1 AND kind = ?2 AND task_type IS ?3 AND id <> ?4 AND (?1 <> '' OR content = ?5)
               AND status <> 'pruned' ORDER BY seq LIMIT 1",
        )?
        .query_row(
            params![
                lesson_of(words),
                learning.kind.word(),
                learning.task_type.map(TaskType::word),
                learning.id.as_str(),
                words,
            ],
            |row| word_at(row, "id", LearningId::parse),
        )
        .optional()?;
    Ok(found)
}

fn reword(transaction: &Transaction<'_>, learning: &Learning, words: &str) -> rusqlite::Result<()> {
    let reworded = Learning {
        content: words.to_owned(),
        ..learning.clone()
    };
    transaction
        .prepare_cached("UPDATE learnings SET content = ?2, lesson = ?3, terms = ?4 WHERE id = ?1")?
        .execute(params![
            learning.id.as_str(),
            words,
            lesson_of(words),
            words_of(&reworded, &reworded.tags),
        ])
        .map(drop)
}
