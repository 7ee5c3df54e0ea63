//! Settlement: what became of an iteration, all of it in one transaction.

mod captures;
mod feedback;
mod journal;
mod learnings;
mod task;

use ralph_model::config::Promote;
use ralph_model::{
    Author, AuthorKind, CapturedKnowledge, CapturedLearning, FailureReport, LearningId, NewJournalRow, RunId,
    Signature, TaskStatus, Unverified,
};
use rusqlite::{OptionalExtension, params};

use super::Store;
use super::authorship::sign;
use super::evidence_changes::{self, EvidenceChange};
use super::outbox::put_knowledge;
use super::pauses::{self, OtherPause, Pause, PauseChange};
use super::runs::set_baseline;
use super::same_lesson::Retold;
use crate::StoreError;

pub(super) use feedback::IS_COUNTED;
pub(super) use journal::{put as put_journal_row, told_by_others};
pub(super) use task::{release, to_review};

/// What becomes of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskChange {
    /// It is done, here, in this commit if there is one.
    Done {
        /// The commit that holds the work.
        commit: Option<String>,
        /// Why a person has to review it; none when nobody has to.
        unverified: Option<Unverified>,
    },
    /// It is pending again, and the attempt counts. With more than so many attempts it is failed.
    Attempt {
        /// How often a task may be tried again that does not say so itself.
        max_retries: u32,
    },
    /// It has failed: to try it again would be in vain.
    GiveUp,
    /// It is pending again, as if nothing had been tried.
    Again,
    /// It is pending again, and all is well: the attempts that counted are forgotten.
    Progress,
}

/// Everything that one iteration leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The row of the journal; it names the run and the iteration.
    pub row: NewJournalRow,
    /// The number of the claim.
    pub fence: u64,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The reference on which isolated work has landed; none for work in the worktree itself.
    pub landed_on: Option<String>,
    /// What becomes of the task.
    pub task: TaskChange,
    /// What the iteration changed on which evidence rests.
    pub evidence_changes: Vec<EvidenceChange>,
    /// What a person said about the task when they stopped the turn.
    pub guidance: Option<String>,
    /// How it failed, and what the next attempt should do.
    pub report: Option<FailureReport>,
    /// What makes this failure the same as another one.
    pub signature: Option<Signature>,
    /// What the next attempt should do.
    pub suggestion: Option<String>,
    /// What the agent learned, with the ids to keep it under.
    pub learnings: Vec<(LearningId, CapturedLearning)>,
    /// Which of these say nearly what another lesson says, in their order.
    pub retold: Vec<Option<Retold>>,
    /// Who decides that a lesson holds.
    pub promote: Promote,
    /// The long notes that are to be written to files.
    pub knowledge: Vec<CapturedKnowledge>,
    /// The injected notes that the agent relied on.
    pub memory_used: Vec<String>,
    /// What the gates may still say, as the loop writes it; none leaves it as it is.
    pub baseline: Option<String>,
    /// The pause of the agent that was on record when the task was claimed.
    pub seen_pause: Option<Pause>,
    /// What becomes of the agent's pause.
    pub pause: PauseChange,
    /// What becomes of the pause of another agent, which looks at the work; none where it is the same.
    pub verifier_pause: Option<OtherPause>,
}

impl Settlement {
    /// An iteration that leaves its row, and nothing else: its task is pending again, as if nothing had been tried.
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
            report: None,
            signature: None,
            suggestion: None,
            learnings: Vec::new(),
            retold: Vec::new(),
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

/// What a settlement did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The row of the journal.
    pub journal: i64,
    /// Where the task stands now; none when the claim was no longer the run's, or the task is gone.
    pub task: Option<TaskStatus>,
    /// How many lessons of the iteration were not known before.
    pub new_lessons: usize,
}

impl Store {
    /// Settles the iteration that a run is in: the task, unless somebody else has it by now; the journal, the report, the
    /// learnings, the injections that its record names, the outbox. The record is gone then. An iteration that is settled
    /// already is left as it is.
    ///
    /// # Errors
    /// When the database cannot be written, or lessons came in since those of the iteration were compared; then nothing of it has
    /// happened.
    pub fn settle(&mut self, settlement: &Settlement) -> Result<Settled, StoreError> {
        let by = |kind| Author::in_iteration(kind, settlement.row.run.clone(), settlement.row.iteration);
        let (ralph, agent) = (by(AuthorKind::Ralph), by(AuthorKind::Agent));
        self.acting_as(ralph.clone(), |store| store.settle_as(settlement, &ralph, &agent))
    }

    fn settle_as(&mut self, settlement: &Settlement, ralph: &Author, agent: &Author) -> Result<Settled, StoreError> {
        self.write_compared(settlement.retold.iter().flatten(), |transaction| {
            let row = &settlement.row;
            if let Some(journal) = journal_row(transaction, &row.run, row.iteration)? {
                return Ok(Settled {
                    journal,
                    task: None,
                    new_lessons: 0,
                });
            }
            let journal = journal::put(transaction, settlement)?;
            captures::put_report(transaction, settlement, journal)?;
            let injections = captures::recorded_injections(transaction, settlement)?;
            learnings::adopt_proposed(transaction, settlement, journal)?;
            learnings::judge_waiting(transaction, settlement)?;
            // What this iteration says of its own failure is no sign that the failure came back.
            feedback::heed_failure(transaction, settlement)?;
            sign(transaction, ralph)?;
            let new_lessons = learnings::put(transaction, settlement, journal, &injections)?;
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
                new_lessons,
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
