//! The one rule for lessons that a disk has changed: nobody changes them but by the command that says anew what is damaged, so
//! that nothing is taken for meant because somebody changed something else of it.

use ralph_model::{Learning, LearningId};
use rusqlite::{Row, Transaction};

use super::learning_error::{LearningError, LearningTrouble};
use super::learning_reading::{UnreadableLearning, read_learning};
use super::learning_seal::{STANDING, Seal, SealState, WORDS};

/// What became of all lessons that waited for the same.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedLearnings {
    /// Those that were judged, as they stand now.
    pub judged: Vec<Learning>,
    /// Those that were left as they are, since they are not what was written.
    pub damaged: Vec<LearningId>,
    /// Those that were left as they are, since they say nothing that could hold.
    pub empty: Vec<LearningId>,
}

/// The lessons that wait for something, as far as they can be changed.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) sound: Vec<Learning>,
    pub(super) damaged: Vec<LearningId>,
    /// The errors that name those that cannot be read.
    pub(super) unreadable: Vec<rusqlite::Error>,
}

impl Waiting {
    /// Those of which a condition is true, the oldest first.
    pub(super) fn of(transaction: &Transaction<'_>, condition: &str) -> rusqlite::Result<Self> {
        let mut waiting = Self::default();
        let mut statement =
            transaction.prepare_cached(&format!("SELECT * FROM learnings WHERE {condition} ORDER BY seq"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match read_learning(row) {
                Ok(learning) => match broken(row)?.is_empty() {
                    true => waiting.sound.push(learning),
                    false => waiting.damaged.push(learning.id),
                },
                Err(error) if UnreadableLearning::in_error(&error).is_some() => waiting.unreadable.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(waiting)
    }
}

/// Refuses to change a lesson that is not what was written, unless the command says anew something that is damaged of it.
pub(super) fn refuse_damaged(
    transaction: &Transaction<'_>,
    id: &LearningId,
    said_anew: &[Seal],
) -> Result<(), LearningTrouble> {
    let broken = transaction
        .prepare_cached("SELECT * FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], broken)?;
    if broken.is_empty() || broken.iter().any(|seal| said_anew.contains(seal)) {
        return Ok(());
    }
    Err(LearningError::Damaged { id: id.clone() }.into())
}

/// What of a lesson is not what was written.
fn broken(row: &Row<'_>) -> rusqlite::Result<Vec<Seal>> {
    let mut broken = Vec::new();
    for seal in [WORDS, STANDING] {
        if seal.state(row)? == SealState::Broken {
            broken.push(seal);
        }
    }
    Ok(broken)
}
