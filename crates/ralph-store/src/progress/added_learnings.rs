//! Learnings that people add, and that agents propose, with a command.

use jiff::Timestamp;
use ralph_model::{
    Entropy, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskType, TextFeatures,
};
use rusqlite::Transaction;

use super::Store;
use super::learning_changes::{existing, reset_failures, set_status};
use super::learning_error::LearningError;
use super::learning_strength::strengthened;
use super::learning_writer::{Repeated, Source, Upserted, draft, upsert};
use super::same_learning::{self, Likeness};

/// A learning that is added with a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLearning {
    pub category: String,
    pub content: String,
    /// Those of the content.
    pub features: TextFeatures,
    /// In lower case, each once.
    pub tags: Vec<String>,
    /// `None` for every task type.
    pub task_type: Option<TaskType>,
}

impl NewLearning {
    fn learning(&self, source: LearningSource, now: Timestamp) -> Learning {
        Learning {
            category: self.category.clone(),
            content: self.content.clone(),
            tags: self.tags.clone(),
            task_type: self.task_type,
            ..draft(source, LearningKind::of_category(&self.category), now)
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum AddedLearning {
    Stored(Learning),
    /// It was known; it is active and its confidence raised.
    Known(Learning),
    /// It was known for one task type; it is active for all now, and its confidence raised.
    Widened(Learning),
    /// A near-duplicate of this one, which is active and its confidence raised.
    Reworded(Learning),
    /// It was known and rejected; it is active again.
    HoldsAgain {
        learning: Learning,
        rejected: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum ProposedLearning {
    Stored(Learning),
    /// A duplicate or near-duplicate of this one.
    Known(Learning),
}

impl Store {
    /// Adds a learning of a user, which is active at once. A known learning, or an active near-duplicate, gains
    /// confidence and the new tags and becomes active, whatever its status was.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn add_learning(
        &mut self,
        new: &NewLearning,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<AddedLearning, LearningError> {
        let new_learning = Learning {
            status: LearningStatus::Promoted,
            ..new.learning(LearningSource::Human, now)
        };
        self.change_learnings(|transaction| {
            let mut source = ByCommand {
                is_support: true,
                entropy,
                now,
            };
            let Upserted { learning, known, .. } = upsert(transaction, new_learning, &new.features, &mut source)?;
            let learning = existing(transaction, &learning.id)?;
            Ok(match known {
                None => AddedLearning::Stored(learning),
                Some((_, Likeness::Near)) => AddedLearning::Reworded(learning),
                Some((known, _)) if known.status == LearningStatus::Rejected => AddedLearning::HoldsAgain {
                    learning,
                    rejected: known.reason.unwrap_or_default(),
                },
                Some((known, _)) if known.task_type != learning.task_type => AddedLearning::Widened(learning),
                Some(_) => AddedLearning::Known(learning),
            })
        })
    }

    /// Stores a learning that an agent adds with a command. It stays proposed until its iteration is settled, see
    /// [`Store::settle`]. A duplicate or near-duplicate stays as it is.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn propose_learning(
        &mut self,
        new: &NewLearning,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<ProposedLearning, LearningError> {
        let run = self.author.run.iter();
        let new_learning = Learning {
            source_loops: run.map(|run| run.as_str().to_owned()).collect(),
            ..new.learning(LearningSource::Sigil, now)
        };
        self.change_learnings(|transaction| {
            let mut source = ByCommand {
                is_support: false,
                entropy,
                now,
            };
            let Upserted { learning, known, .. } = upsert(transaction, new_learning, &new.features, &mut source)?;
            Ok(match known {
                None => ProposedLearning::Stored(learning),
                Some(_) => ProposedLearning::Known(learning),
            })
        })
    }
}

struct ByCommand<'a> {
    /// Whether it supports a known learning: a person's word does, an agent's does not.
    is_support: bool,
    entropy: &'a mut dyn Entropy,
    now: Timestamp,
}

impl Source for ByCommand<'_> {
    /// A general learning is not the same if the new one is limited to a task type: there is a reason for that.
    fn known(
        &self,
        transaction: &Transaction<'_>,
        new: &Learning,
        features: &TextFeatures,
    ) -> rusqlite::Result<Option<(Learning, Likeness)>> {
        let narrows = |known: &Learning| new.task_type.is_some() && known.task_type.is_none();
        if let Some(known) = same_learning::identical(transaction, new)?.filter(|known| !narrows(known)) {
            return same_learning::resolved(transaction, known, Likeness::Identical).map(Some);
        }
        let near = same_learning::near_duplicate(transaction, new, features)?;
        Ok(near
            .filter(|known| !narrows(known))
            .map(|known| (known, Likeness::Near)))
    }

    fn support(
        &mut self,
        _transaction: &Transaction<'_>,
        repeated: Repeated<'_>,
        next: &mut Learning,
    ) -> rusqlite::Result<bool> {
        next.confidence = strengthened(next.confidence);
        next.task_type = next.task_type.filter(|_| repeated.new.task_type.is_some());
        Ok(self.is_support)
    }

    fn next_id(&mut self) -> LearningId {
        LearningId::new(self.entropy.next_bits())
    }

    fn record(
        &mut self,
        transaction: &Transaction<'_>,
        id: &LearningId,
        known: Option<&Learning>,
    ) -> rusqlite::Result<()> {
        let Some(known) = known else {
            return Ok(());
        };
        reset_failures(transaction, known, self.now)?;
        if known.status == LearningStatus::Promoted && known.superseded_by.is_none() {
            return Ok(());
        }
        set_status(transaction, id, (LearningStatus::Promoted, None), self.now)
    }
}
