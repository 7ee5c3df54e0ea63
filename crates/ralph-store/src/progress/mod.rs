//! The database of facts.

mod attempts;
mod by_beginning;
mod captures;
mod claims;
mod columns;
mod drawn_lessons;
mod feature_error;
mod features;
mod foreign_learnings;
mod foreign_update;
mod health;
mod import;
mod iterations;
mod journal;
mod journal_search;
mod journal_terms;
mod known_lessons;
mod learning_changes;
mod learning_conflicts;
mod learning_damage;
mod learning_error;
mod learning_lists;
mod learning_parts;
mod learning_prune;
mod learning_query;
mod learning_reading;
mod learning_removal;
mod learning_review;
mod learning_seal;
mod learning_search;
mod learning_stats;
mod learning_strength;
mod learning_terms;
mod learning_update;
mod learning_validate;
mod learning_verify;
mod learning_warnings;
mod lesson;
mod lifecycle;
mod metrics;
mod moment;
mod note_log;
mod outbox;
mod overview;
mod pauses;
mod report_upkeep;
mod review;
mod rings;
mod run_history;
mod runs;
mod same_lesson;
mod settle;
mod standing;
mod stats;
mod takeover;
mod task_error;
mod task_reading;
mod task_rows;
mod task_steps;
mod task_type;
mod tasks;
mod transitions;
mod word_search;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{StoreError, Wait, migrate, open};
use learning_reading::PassedOver;

pub use captures::RowCaptures;
pub use claims::{Claim, ClaimAnswer, ClaimRequest, RunProcess, Scope, Standing};
pub use drawn_lessons::Taught;
pub use feature_error::FeatureError;
pub use features::{DeletedFeature, TasksOfFeature};
pub use foreign_learnings::{ForeignLearning, ForeignStanding, Taken, TakenLearning};
pub use health::Health;
pub use import::{ImportItem, Imported, ListPlace};
pub use iterations::{IterationRecord, Phase, Start};
pub use journal::{JournalFilter, RecordedInjection};
pub use journal_search::JournalOutline;
pub use journal_terms::{encode_term, journal_terms};
pub use known_lessons::KnownLessons;
pub use learning_changes::{AddedLearning, Judgement, NewLearning};
pub use learning_conflicts::{Holds, Weighed};
pub use learning_damage::JudgedLearnings;
pub use learning_error::LearningError;
pub use learning_lists::{LearningEvidence, LearningFilter, Place, Showing};
pub use learning_prune::PruneFilter;
pub use learning_query::{LearningQuery, LearningStrength};
pub use learning_reading::UnreadableLearning;
pub use learning_removal::{Cleared, Clearing, DeletedLearnings};
pub use learning_review::{Judged, Verdict};
pub use learning_seal::Seals;
pub use learning_search::LearningOutline;
pub use learning_stats::LearningStats;
pub(crate) use learning_terms::{learning_terms, tag_terms};
pub use learning_update::{LearningUpdate, LearningVersion};
pub use learning_verify::{LearningFault, LearningFaultKind, MendedLearnings};
pub use lesson::lesson_of;
pub use lifecycle::{MergeCandidate, MergeGroup, Merged, PruneRules};
pub use metrics::HardLike;
pub use moment::Moment;
pub use note_log::{FileRecord, KnownNote, NoteAction, NoteChange, NoteFile, NoteVersion, Presence};
pub use outbox::OutboxFile;
pub use overview::{AtWork, Look, Overview, TaskNews};
pub use pauses::{Heed, NewPause, OtherPause, Pause, PauseChange, PauseReason};
pub use review::{FailedTask, Review};
pub use runs::{NewRun, Run};
pub use same_lesson::{LessonsState, Retold};
pub use settle::{GatesSay, Settled, Settlement, TaskChange};
pub use stats::{
    DayFigures, FailureFigures, Figures, ModelFigures, RunFigures, Stats, StatsFilter, TaskFigures, TypeFigures,
};
pub use takeover::{
    ForeignDatabase, ForeignError, ForeignFeature, ForeignHistory, ForeignIteration, ForeignTask, ImportedFeature,
    ImportedHistory, Remark, StatusThere, Tally,
};
pub use task_error::TaskError;
pub use task_reading::{TaskFilter, WaitsFor, Which};
pub use task_type::task_type_of;
pub use tasks::{DoneIn, FeatureChange, ParentChange, Reach, TaskUpdate};
pub use word_search::Searched;

/// The database of facts. One method is one unit of work and one transaction.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    passed_over: PassedOver,
}

impl Store {
    /// Opens the database if there is one.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, or unreadable.
    pub fn open_existing(path: &Path, wait: Wait) -> Result<Option<Self>, StoreError> {
        Ok(open::open_existing(path, wait)?.map(|connection| Self {
            connection,
            path: path.to_owned(),
            passed_over: PassedOver::default(),
        }))
    }

    /// Opens the database if there is one, to look at it: whatever state it is in, not a byte of it changes, and what
    /// would write fails.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, or unreadable.
    pub fn open_to_look(path: &Path) -> Result<Option<Self>, StoreError> {
        Ok(open::open_to_look(path)?.map(|connection| Self {
            connection,
            path: path.to_owned(),
            passed_over: PassedOver::default(),
        }))
    }

    /// Opens the database if there is one, to read it. One that may only be read is only read, if it is up to date.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, older and may not be changed, or unreadable.
    pub fn open_to_read(path: &Path, wait: Wait) -> Result<Option<Self>, StoreError> {
        let connection = match open::open_existing(path, wait) {
            Ok(connection) => connection,
            Err(error) => match open::open_to_look(path) {
                Ok(Some(connection)) if migrate::is_up_to_date(&connection).is_ok_and(|is| is) => Some(connection),
                _ => return Err(error),
            },
        };
        Ok(connection.map(|connection| Self {
            connection,
            path: path.to_owned(),
            passed_over: PassedOver::default(),
        }))
    }

    /// Whether there is a database of ours. Only its header is looked at.
    #[must_use]
    pub fn is_there(path: &Path) -> bool {
        open::is_ours(path)
    }

    /// Opens the database, and makes it where there is none; its folder must exist.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, or cannot be made.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            connection: open::open_or_create(path)?,
            path: path.to_owned(),
            passed_over: PassedOver::default(),
        })
    }

    /// Keeps the write-ahead log short. What was committed is safe in either place, so a failure is no reason to take it
    /// back; the next writer tries again.
    fn fold_log_in(&self) {
        drop(open::fold_log_in(&self.connection, &self.path));
    }

    /// Does a piece of work in one transaction: all of it, or nothing.
    fn transact<T, E: From<rusqlite::Error>>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let newest = learning_seal::newest(&transaction)?;
        let value = work(&transaction)?;
        learning_seal::seal_changed(&transaction, newest)?;
        transaction.commit()?;
        self.fold_log_in();
        Ok(value)
    }

    /// The same for work that only the database can refuse.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let done = self.transact(work);
        self.sql(done)
    }

    /// And for what matters only while this machine runs: who works on what, and as which process. Nothing waits for
    /// the disk; the next piece of work that does takes it along.
    fn write_for_now<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.sql(open::set_commit(&self.connection, open::Commit::Seen))?;
        let done = self.write(work);
        self.sql(open::set_commit(&self.connection, open::Commit::OnDisk))?;
        done
    }

    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, what) => match what.downcast::<UnreadableLearning>() {
                Ok(learning) => StoreError::UnreadableLearning {
                    path: self.path.clone(),
                    learning: *learning,
                },
                Err(what) => self.damaged(what.to_string()),
            },
            error if is_full(&error) => StoreError::Full {
                path: self.path.clone(),
            },
            error => StoreError::Sql {
                path: self.path.clone(),
                reason: error.to_string(),
            },
        })
    }

    fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what: what.into(),
        }
    }
}

/// Whether SQLite had no room to write. A log whose index cannot grow it tells in other words. A quota that is used up it
/// tells as it tells a broken disk, for which nobody should wait: whoever wants to know it has to try to write.
fn is_full(error: &rusqlite::Error) -> bool {
    let Some(error) = error.sqlite_error() else {
        return false;
    };
    error.code == rusqlite::ErrorCode::DiskFull || error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}

#[cfg(test)]
mod loop_tests;
