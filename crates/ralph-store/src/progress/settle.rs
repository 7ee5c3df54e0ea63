//! Settlement: records the outcome of an iteration in one transaction.

mod captures;
mod feedback;
mod journal;
mod learnings;
mod task;

use ralph_model::config::Promote;
use ralph_model::{
    Author, AuthorKind, CapturedKnowledge, CapturedLearning, FailureReport, LearningId, NewJournalRow, RunId,
    Signature, TaskStatus, TextFeatures, Unverified,
};
use rusqlite::{OptionalExtension, params};

use super::Store;
use super::authorship::sign;
use super::evidence_changes::{self, EvidenceChange};
use super::outbox::put_knowledge;
use super::pauses::{self, AgentPauseChange, Pause, PauseChange};
use super::runs::set_baseline;
use crate::StoreError;

pub(super) use feedback::IS_COUNTED;
pub(super) use journal::put as put_journal_row;
pub(super) use task::{release, to_review};

/// How a settlement changes the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskChange {
    /// Done, in this commit if there is one.
    Done {
        commit: Option<String>,
        /// Why a person has to review it, if so.
        unverified: Option<Unverified>,
    },
    /// Pending again, and the attempt counts. Failed once the retries are used up.
    Attempt {
        /// The retry limit of tasks that have no limit of their own.
        max_retries: u32,
    },
    /// Failed: another try would be pointless.
    GiveUp,
    /// Pending again, as if nothing had been tried.
    Again,
    /// Pending again after progress: the counted attempts are forgotten.
    Progress,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The journal entry; it names the run and the iteration.
    pub row: NewJournalRow,
    /// The fencing token of the claim.
    pub fence: u64,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The reference on which isolated work has landed; none for work in the worktree itself.
    pub landed_on: Option<String>,
    pub task: TaskChange,
    /// Changes of items that evidence depends on.
    pub evidence_changes: Vec<EvidenceChange>,
    /// A person's guidance on stopping the turn.
    pub guidance: Option<String>,
    /// The words of an agent or a program that the entry's reason quotes.
    pub quoted: String,
    /// How it failed.
    pub report: Option<FailureReport>,
    /// Equal for failures that are the same.
    pub signature: Option<Signature>,
    pub suggestion: Option<String>,
    /// The agent's learnings, with the ids to store them under.
    pub learnings: Vec<(LearningId, CapturedLearning)>,
    /// The features of their texts, in the same order.
    pub features: Vec<TextFeatures>,
    pub promote: Promote,
    /// The knowledge entries to write to files.
    pub knowledge: Vec<CapturedKnowledge>,
    /// The injected entries that the agent reported using.
    pub memory_used: Vec<String>,
    /// The gate baseline in the loop's format; none leaves it unchanged.
    pub baseline: Option<String>,
    /// The agent's pause that was on record at the claim.
    pub seen_pause: Option<Pause>,
    /// The change of the agent's pause.
    pub pause: PauseChange,
    /// The change of the verifier's pause; none if it is the same agent.
    pub verifier_pause: Option<AgentPauseChange>,
}

impl Settlement {
    /// A settlement that records only the journal entry: its task is pending again, as if nothing had been tried.
    #[must_use]
    pub fn new(row: NewJournalRow, fence: u64) -> Self {
        Self {
            row,
            fence,
            worktree: String::new(),
            landed_on: None,
            task: TaskChange::Again,
            evidence_changes: Vec::new(),
            guidance: None,
            quoted: String::new(),
            report: None,
            signature: None,
            suggestion: None,
            learnings: Vec::new(),
            features: Vec::new(),
            promote: Promote::default(),
            knowledge: Vec::new(),
            memory_used: Vec::new(),
            baseline: None,
            seen_pause: None,
            pause: PauseChange::Keep,
            verifier_pause: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The journal entry.
    pub journal: i64,
    /// The task's new status; none if the run no longer had the claim or the task was deleted.
    pub task: Option<TaskStatus>,
    /// Number of learnings that were not known before.
    pub new_learnings: usize,
}

impl Store {
    /// Settles a run's current iteration: the task, unless it was claimed by another run since; the journal, the
    /// report, the learnings, the recorded injections, and the outbox. This deletes the iteration's record. An
    /// iteration that is already settled is left unchanged.
    ///
    /// # Errors
    /// When the database cannot be written; nothing is recorded then.
    pub fn settle(&mut self, settlement: &Settlement) -> Result<Settled, StoreError> {
        let by = |kind| Author::in_iteration(kind, settlement.row.run.clone(), settlement.row.iteration);
        let (ralph, agent) = (by(AuthorKind::Ralph), by(AuthorKind::Agent));
        self.acting_as(ralph.clone(), |store| store.settle_as(settlement, &ralph, &agent))
    }

    fn settle_as(&mut self, settlement: &Settlement, ralph: &Author, agent: &Author) -> Result<Settled, StoreError> {
        self.write(|transaction| {
            let row = &settlement.row;
            if let Some(journal) = journal_row(transaction, &row.run, row.iteration)? {
                return Ok(Settled {
                    journal,
                    task: None,
                    new_learnings: 0,
                });
            }
            let journal = journal::put(transaction, settlement)?;
            captures::put_report(transaction, settlement, journal)?;
            let injections = captures::recorded_injections(transaction, settlement)?;
            learnings::adopt_proposed(transaction, settlement, journal)?;
            learnings::validate_pending(transaction, settlement)?;
            // This iteration's own report does not count as a recurrence of the failure.
            feedback::strengthen_warnings(transaction, settlement)?;
            sign(transaction, ralph)?;
            let new_learnings = learnings::put(transaction, settlement, journal, &injections)?;
            sign(transaction, agent)?;
            captures::move_injections(transaction, settlement, journal, &injections)?;
            for knowledge in &settlement.knowledge {
                put_knowledge(transaction, &settlement.worktree, journal, knowledge, row.created_at)?;
            }
            if let Some(baseline) = &settlement.baseline {
                set_baseline(transaction, &row.run, baseline)?;
            }
            pauses::change(transaction, settlement)?;
            transaction
                .prepare_cached("DELETE FROM iterations WHERE run = ?1 AND iteration = ?2")?
                .execute(params![row.run.as_str(), row.iteration])?;
            evidence_changes::put(transaction, settlement)?;
            let task = task::change(transaction, settlement)?;
            task::add_guidance(transaction, settlement)?;
            Ok(Settled {
                journal,
                task,
                new_learnings,
            })
        })
    }
}

fn journal_row(connection: &rusqlite::Connection, run: &RunId, iteration: u32) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM journal WHERE run_id = ?1 AND iteration = ?2")?
        .query_row(params![run.as_str(), iteration], |row| row.get(0))
        .optional()
}
