//! The database of facts.

mod added_learnings;
mod attempts;
mod authorship;
mod captures;
mod checkouts;
mod claims;
mod columns;
mod deleted_tasks;
mod denials;
mod dependency_cycles;
mod evidence_changes;
mod extracted_learnings;
mod fact_changes;
mod feature_error;
mod features;
mod foreign_learnings;
mod foreign_update;
mod health;
mod id_prefix;
mod import;
mod iterations;
mod journal;
mod knowledge_log;
mod learning;
mod learning_changes;
mod learning_conflicts;
mod learning_error;
mod learning_lists;
mod learning_parts;
mod learning_prune;
mod learning_query;
mod learning_reading;
mod learning_removal;
mod learning_review;
mod learning_search;
mod learning_stats;
mod learning_strength;
mod learning_update;
mod learning_validate;
mod learning_verify;
mod learning_warnings;
mod learning_writer;
mod lifecycle;
mod metrics;
mod note_log;
mod outbox;
mod overview;
mod pauses;
mod proposals;
mod read_snapshot;
mod report_upkeep;
mod review;
mod rollback;
mod run_history;
mod run_learnings;
mod runs;
mod same_learning;
mod scratchpad_log;
mod settle;
mod stats;
mod takeover;
mod task_error;
mod task_graph;
mod task_proposals;
mod task_reading;
mod task_rows;
mod task_steps;
mod tasks;
mod transitions;

use std::path::{Path, PathBuf};

use ralph_model::Author;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::guard::Guard;
use crate::{PlaceRef, StoreError, Wait, migrate, open, owner};

pub use added_learnings::{AddedLearning, NewLearning, ProposedLearning};
pub use authorship::{AgentNote, LoggedChange, OpenIteration};
pub use captures::RowCaptures;
pub use checkouts::{CheckoutRecord, LandingRecord};
pub use claims::{Claim, ClaimAnswer, ClaimRequest, RunProcess, Scope, ScopeCounts, UnverifiedCounts};
pub use deleted_tasks::DeletedTask;
pub use evidence_changes::EvidenceChange;
pub use extracted_learnings::Taught;
pub use fact_changes::{ChangedFact, FactKind, Revision, SearchText};
pub use feature_error::FeatureError;
pub use features::{DeletedFeature, TasksOfFeature};
pub use foreign_learnings::{ForeignLearning, ForeignLearningStatus, ImportOutcome, ImportedLearning};
pub(crate) use health::{Depth, faults};
pub use health::{Health, RecordCounts};
pub use import::{ImportItem, Imported, ListPlace};
pub use iterations::{IterationRecord, Phase, Start};
pub use journal::{JournalFilter, RecordedInjection};
pub use knowledge_log::{KnowledgeChange, KnowledgeRecord, KnowledgeState, KnowledgeVersion};
pub use learning::normalized;
pub use learning_changes::{JudgedLearnings, Judgement};
pub use learning_conflicts::{ConflictDecision, Holds};
pub use learning_error::LearningError;
pub use learning_lists::{LearningEvidence, LearningFilter, Place, Showing};
pub use learning_prune::PruneFilter;
pub use learning_query::{LearningQuery, LearningStrength};
pub use learning_removal::{Cleared, Clearing, DeletedLearnings};
pub use learning_review::{Judged, Verdict};
pub use learning_stats::LearningStats;
pub use learning_update::{LearningUpdate, LearningVersion};
pub use learning_verify::LearningFault;
pub use lifecycle::{MergeCandidate, MergeGroup, Merged, PruneRules};
pub use metrics::HardFailureQuery;
pub use note_log::{FileRecord, KnownNote, NoteAction, NoteChange, NoteFile, NoteVersion, Presence};
pub use outbox::OutboxFile;
pub use overview::{AtWork, LastSeen, Overview, TaskSummary};
pub use pauses::{AgentPauseChange, NewPause, Pause, PauseChange, PausePolicy, PauseReason};
pub use proposals::{Decision, NewProposal, Proposal, ProposedCommand};
pub use read_snapshot::ReadSnapshot;
pub use review::{FailedTask, FinishedTask, Review};
pub use rollback::{
    CommitStep, Kept, LearningStep, LoggedEntry, NoteStep, Rollback, RollbackPlan, RollbackTarget, StepChange,
    TaskCommit, TaskStep,
};
pub use run_learnings::RunLearnings;
pub use runs::{NewRun, OpenRun, RecordedEnd, Run};
pub use scratchpad_log::ScratchpadChange;
pub use settle::{Settled, Settlement, TaskChange};
pub use stats::{
    DayFigures, FailureFigures, Figures, ModelFigures, RunFigures, Stats, StatsFilter, TaskFigures, TypeFigures,
};
pub use takeover::{
    ForeignDatabase, ForeignError, ForeignFeature, ForeignHistory, ForeignIteration, ForeignStatus, ForeignTask,
    ImportedFeature, ImportedHistory, Remark, Tally, TaskTypeOf,
};
pub use task_error::TaskError;
pub use task_reading::{TaskFilter, WaitsFor, Which};
pub use tasks::{DoneIn, FeatureChange, ParentChange, Reach, TaskUpdate};

/// The database of facts. One method is one unit of work and one transaction.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    wait: Wait,
    /// None for a database that was opened read-only.
    guard: Option<Guard>,
    author: Author,
}

impl Store {
    /// Opens the database if it exists.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, unreadable, or missing although there is a backup of it.
    pub fn open_existing<'a>(place: impl Into<PlaceRef<'a>>, wait: Wait) -> Result<Option<Self>, StoreError> {
        let place = place.into();
        match open::open_existing(place, wait)? {
            Some(opened) => Ok(Some(Self::guarded(opened, place.path, wait))),
            None => place.refuse_lost().map(|()| None),
        }
    }

    /// Opens the database read-only, if it exists. Whatever its state, not a byte of it changes, and writes fail.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, unreadable, or missing although there is a backup of it.
    pub fn open_read_only<'a>(place: impl Into<PlaceRef<'a>>) -> Result<Option<Self>, StoreError> {
        let place = place.into();
        match open::open_read_only(place.path)? {
            Some(connection) => Ok(Some(Self::unguarded(connection, place.path))),
            None => place.refuse_lost().map(|()| None),
        }
    }

    /// Opens the database for reading, if it exists. If it is not writable, it is opened read-only, provided that it is
    /// up to date.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, older and not writable, unreadable, or missing although
    /// there is a backup.
    pub fn open_for_reading<'a>(place: impl Into<PlaceRef<'a>>, wait: Wait) -> Result<Option<Self>, StoreError> {
        let place = place.into();
        match Self::open_existing(place, wait) {
            Ok(store) => Ok(store),
            Err(error) => match open::open_read_only(place.path) {
                Ok(Some(connection)) if migrate::is_up_to_date(&connection).is_ok_and(|is| is) => {
                    Ok(Some(Self::unguarded(connection, place.path)))
                }
                _ => Err(error),
            },
        }
    }

    /// Whether our database exists.
    #[must_use]
    pub fn exists(path: &Path) -> bool {
        owner::is_ours(path)
    }

    /// Opens the database, or creates it; its folder must exist.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, cannot be created, or is missing although there is a backup.
    pub fn open_or_create<'a>(place: impl Into<PlaceRef<'a>>) -> Result<Self, StoreError> {
        let place = place.into();
        place.refuse_lost()?;
        Ok(Self::guarded(open::open_or_create(place)?, place.path, Wait::Long))
    }

    /// Closes and reopens the database. SQLite shares what it learned about the files between the connections of a
    /// process, and after a full disk it keeps believing that it cannot write.
    ///
    /// # Errors
    /// As [`Self::open_or_create`]; this value is then unusable.
    pub fn reopen<'a>(&mut self, place: impl Into<PlaceRef<'a>>) -> Result<(), StoreError> {
        let nothing = self.sql(open::in_memory())?;
        drop(std::mem::replace(&mut self.connection, nothing));
        *self = Self::open_or_create(place)?;
        Ok(())
    }

    /// The connection, for operations on whole databases.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    fn guarded((connection, guard): open::Guarded, path: &Path, wait: Wait) -> Self {
        Self {
            connection,
            path: path.to_owned(),
            wait,
            guard: Some(guard),
            author: Author::RALPH,
        }
    }

    fn unguarded(connection: Connection, path: &Path) -> Self {
        Self {
            connection,
            path: path.to_owned(),
            wait: Wait::Brief,
            guard: None,
            author: Author::RALPH,
        }
    }

    /// Checks that the files of the database are still those that were opened.
    ///
    /// # Errors
    /// When one of them was deleted or replaced: this connection then no longer reads and writes the database.
    pub fn check_files(&self) -> Result<(), StoreError> {
        Ok(self.guard.as_ref().map_or(Ok(()), Guard::check)?)
    }

    /// Checks that the database can be written now.
    ///
    /// # Errors
    /// When it cannot be written, or another process has it locked.
    pub fn probe_write(&mut self) -> Result<(), StoreError> {
        self.write(|_| Ok(()))
    }

    /// Truncates the write-ahead log if no other connection uses it; returns whether it did.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn reset_log(&self) -> Result<LogReset, StoreError> {
        let done = open::checkpoint(&self.connection, &self.path, self.wait);
        Ok(match self.sql(done)? {
            open::Checkpointed::Done => LogReset::Done,
            open::Checkpointed::Busy => LogReset::InUse,
        })
    }

    /// Runs work in one transaction. Unless another connection uses the log, the result is then in the database file
    /// itself, safe from damage to the log.
    fn transact<T, E: From<rusqlite::Error>>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let value = self.commit_guarded(work)?;
        open::checkpoint(&self.connection, &self.path, self.wait)?;
        Ok(value)
    }

    fn commit_guarded<T, E: From<rusqlite::Error>>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let done = self.commit(work);
        if let Some(guard) = &self.guard {
            guard.check().map_err(rusqlite::Error::from)?;
        }
        done
    }

    fn commit<T, E: From<rusqlite::Error>>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        authorship::sign(&transaction, &self.author)?;
        if let Some(guard) = &self.guard {
            guard.check().map_err(rusqlite::Error::from)?;
        }
        transaction.commit()?;
        Ok(value)
    }

    /// Like [`Self::transact`], for work that only the database can refuse.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let done = self.transact(work);
        self.sql(done)
    }

    /// Like [`Self::write`], for data that matters only while this machine runs: which process works on what. It does
    /// not wait for the disk; the next synced commit includes it.
    fn write_unsynced<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.sql(open::set_durability(&self.connection, open::Durability::Unsynced))?;
        let done = self.commit_guarded(work);
        let done = self.sql(done);
        self.sql(open::set_durability(&self.connection, open::Durability::Synced))?;
        done
    }

    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| {
            // SQLite's errors about replaced files are misleading.
            let changed = self.check_files().err();
            changed.unwrap_or_else(|| StoreError::of_sql(self.path.clone(), error))
        })
    }

    fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what: what.into(),
        }
    }
}

/// Result of truncating the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogReset {
    Done,
    /// Another connection is reading or writing it.
    InUse,
}

#[cfg(test)]
mod loop_tests;
