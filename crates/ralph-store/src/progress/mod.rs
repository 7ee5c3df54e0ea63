//! The database of facts.

mod attempts;
mod authorship;
mod by_beginning;
mod captures;
mod checkouts;
mod claims;
mod columns;
mod deleted_tasks;
mod denials;
mod drawn_lessons;
mod evidence_changes;
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
mod knowledge_log;
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
mod proposals;
mod report_upkeep;
mod review;
mod rings;
mod rollback;
mod run_history;
mod runs;
mod same_lesson;
mod scratchpad_log;
mod settle;
mod standing;
mod stats;
mod takeover;
mod task_error;
mod task_proposals;
mod task_reading;
mod task_rows;
mod task_steps;
mod task_type;
mod tasks;
mod transitions;
mod word_search;

use std::path::{Path, PathBuf};

use ralph_model::Author;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::guard::Guard;
use crate::{PlaceRef, StoreError, Wait, migrate, open, owner};
use learning_reading::PassedOver;

pub use authorship::{AgentNote, LoggedChange, OpenIteration};
pub use captures::RowCaptures;
pub use checkouts::{CheckoutRecord, LandingRecord};
pub use claims::{Claim, ClaimAnswer, ClaimRequest, RunProcess, Scope, Standing, UnverifiedCounts};
pub use deleted_tasks::DeletedTask;
pub use drawn_lessons::Taught;
pub use evidence_changes::EvidenceChange;
pub use feature_error::FeatureError;
pub use features::{DeletedFeature, TasksOfFeature};
pub use foreign_learnings::{ForeignLearning, ForeignStanding, Taken, TakenLearning};
pub(crate) use health::faults;
pub use health::{Health, RecordCounts};
pub use import::{ImportItem, Imported, ListPlace};
pub use iterations::{IterationRecord, Phase, Start};
pub use journal::{JournalFilter, RecordedInjection};
pub use journal_search::JournalOutline;
pub use journal_terms::{encode_term, journal_terms};
pub use knowledge_log::{KnowledgeChange, KnowledgeRecord, KnowledgeState, KnowledgeVersion};
pub use known_lessons::KnownLessons;
pub use learning_changes::{AddedLearning, Judgement, NewLearning, ProposedLearning};
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
pub use proposals::{Decision, NewProposal, Proposal, ProposedCommand};
pub use review::{FailedTask, FinishedTask, Review};
pub use rollback::{
    CommitStep, Kept, LearningStep, LoggedEntry, NoteStep, Rollback, RollbackPlan, RollbackTarget, StepChange,
    TaskCommit, TaskStep,
};
pub use runs::{NewRun, OpenRun, Run};
pub use same_lesson::{LessonsState, Retold};
pub use scratchpad_log::ScratchpadChange;
pub use settle::{Settled, Settlement, TaskChange};
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
    wait: Wait,
    /// None where the database is only looked at.
    guard: Option<Guard>,
    passed_over: PassedOver,
    author: Author,
}

impl Store {
    /// Opens the database if there is one.
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

    /// Opens the database if there is one, to look at it: whatever state it is in, not a byte of it changes, and what
    /// would write fails.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, unreadable, or missing although there is a backup of it.
    pub fn open_to_look<'a>(place: impl Into<PlaceRef<'a>>) -> Result<Option<Self>, StoreError> {
        let place = place.into();
        match open::open_to_look(place.path)? {
            Some(connection) => Ok(Some(Self::unguarded(connection, place.path))),
            None => place.refuse_lost().map(|()| None),
        }
    }

    /// Opens the database if there is one, to read it. One that may only be read is only read, if it is up to date.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, older and may not be changed, unreadable, or missing although
    /// there is a backup of it.
    pub fn open_to_read<'a>(place: impl Into<PlaceRef<'a>>, wait: Wait) -> Result<Option<Self>, StoreError> {
        let place = place.into();
        match Self::open_existing(place, wait) {
            Ok(store) => Ok(store),
            Err(error) => match open::open_to_look(place.path) {
                Ok(Some(connection)) if migrate::is_up_to_date(&connection).is_ok_and(|is| is) => {
                    Ok(Some(Self::unguarded(connection, place.path)))
                }
                _ => Err(error),
            },
        }
    }

    /// Whether there is a database of ours.
    #[must_use]
    pub fn is_there(path: &Path) -> bool {
        owner::is_ours(path)
    }

    /// Opens the database, and makes it where there is none; its folder must exist.
    ///
    /// # Errors
    /// When it is another tool's, newer than this program, cannot be made, or is missing although there is a backup of it.
    pub fn open_or_create<'a>(place: impl Into<PlaceRef<'a>>) -> Result<Self, StoreError> {
        let place = place.into();
        place.refuse_lost()?;
        Ok(Self::guarded(open::open_or_create(place)?, place.path, Wait::Long))
    }

    /// Opens the database again, after the present connection is closed: SQLite shares what it found out about the files
    /// between the connections of a process, and on a full disk it finds that it may not write.
    ///
    /// # Errors
    /// As [`Self::open_or_create`]; then this value is of no use any more.
    pub fn reopen<'a>(&mut self, place: impl Into<PlaceRef<'a>>) -> Result<(), StoreError> {
        let nothing = self.sql(open::in_memory())?;
        drop(std::mem::replace(&mut self.connection, nothing));
        *self = Self::open_or_create(place)?;
        Ok(())
    }

    /// The connection, for what works on whole databases.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    fn guarded((connection, guard): open::Guarded, path: &Path, wait: Wait) -> Self {
        Self {
            connection,
            path: path.to_owned(),
            wait,
            guard: Some(guard),
            passed_over: PassedOver::default(),
            author: Author::RALPH,
        }
    }

    fn unguarded(connection: Connection, path: &Path) -> Self {
        Self {
            connection,
            path: path.to_owned(),
            wait: Wait::Brief,
            guard: None,
            passed_over: PassedOver::default(),
            author: Author::RALPH,
        }
    }

    /// Checks that the files of the database are still those that were opened.
    ///
    /// # Errors
    /// When one of them was deleted or replaced: what this connection reads and writes is not the database any more.
    pub fn check_files(&self) -> Result<(), StoreError> {
        Ok(self.guard.as_ref().map_or(Ok(()), Guard::check)?)
    }

    /// Checks that the database can be written now.
    ///
    /// # Errors
    /// When it cannot, or another process has it locked.
    pub fn probe_write(&mut self) -> Result<(), StoreError> {
        self.write(|_| Ok(()))
    }

    /// Empties the write-ahead log if no other connection uses it; says whether that was so.
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

    /// Does a piece of work in one transaction: all of it, or nothing. It is in the database itself afterwards, safe from
    /// damage to the log, unless another connection uses the log.
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
        let newest = learning_seal::newest(&transaction)?;
        let value = work(&transaction)?;
        authorship::sign(&transaction, &self.author)?;
        learning_seal::seal_changed(&transaction, newest)?;
        if let Some(guard) = &self.guard {
            guard.check().map_err(rusqlite::Error::from)?;
        }
        transaction.commit()?;
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
        let done = self.commit_guarded(work);
        let done = self.sql(done);
        self.sql(open::set_commit(&self.connection, open::Commit::OnDisk))?;
        done
    }

    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| {
            // Of files that are not the database any more SQLite says strange things.
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

/// How an attempt to empty the write-ahead log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogReset {
    /// The log is empty.
    Done,
    /// Another connection reads from it or writes to it.
    InUse,
}

#[cfg(test)]
mod loop_tests;
