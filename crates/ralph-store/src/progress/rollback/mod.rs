//! Rolling back what a task, an iteration or a run added to memory, with or without its code; and undoing a rollback.
//!
//! A rollback is a row with a plan. Its commits land first. Then the database changes in one transaction, and the files
//! are written; the row records the progress. If the command is interrupted, running it again finishes the rollback.

mod commits;
mod plan;

use std::collections::BTreeSet;

use jiff::Timestamp;
use ralph_model::{Entropy, LearningId, LearningStatus, Note, RollbackId, RollbackState, RunId, TaskId};
use rusqlite::types::Value as SqlValue;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Store;
use super::columns::{from_json, moment, to_json, word_at};
use super::learning_changes::set_status;
use super::note_log::{LoggedNote, NoteAction, Presence};
use super::task_steps::put_guidance;
use crate::StoreError;

pub(super) use commits::put_commit;
pub use commits::{CommitStep, TaskCommit};

/// The log actions of a rollback and of its undoing. Neither is a person's judgement of the learning.
const ROLLED_BACK: &str = "rolled back";
const UNDONE: &str = "rollback undone";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RollbackTarget {
    Run(RunId),
    /// One iteration of a run.
    Iteration(RunId, u32),
    /// Every attempt at a task and its subtasks.
    Task(TaskId),
}

impl std::fmt::Display for RollbackTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run(run) => write!(formatter, "{run}"),
            Self::Iteration(run, iteration) => write!(formatter, "{run}/{iteration}"),
            Self::Task(task) => write!(formatter, "{task}"),
        }
    }
}

impl RollbackTarget {
    fn parse(text: &str) -> Option<Self> {
        if let Some((run, iteration)) = text.split_once('/') {
            return Some(Self::Iteration(RunId::parse(run)?, iteration.parse().ok()?));
        }
        let run = RunId::parse(text).map(Self::Run);
        run.or_else(|| TaskId::parse(text).map(Self::Task))
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RollbackPlan {
    /// The commits to undo, newest first. Their tasks are reopened.
    #[serde(default)]
    pub commits: Vec<CommitStep>,
    /// A person's comment for the next attempts at these tasks.
    #[serde(default)]
    pub comment: Option<String>,
    /// Memories, guardrails and knowledge entries.
    pub notes: Vec<NoteStep>,
    pub learnings: Vec<LearningStep>,
    /// Learnings that were superseded by these.
    pub freed: Vec<LearningStep>,
    pub proposals: Vec<String>,
    /// Proposed tasks to delete, with their rows.
    pub tasks: Vec<TaskStep>,
    #[serde(skip)]
    pub kept: Vec<Kept>,
}

/// A note to move from one logged version to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteStep {
    /// The id, or the file name of a knowledge entry.
    pub id: String,
    /// The path from the worktree's root.
    pub path: String,
    /// The log row of the current version.
    pub from: i64,
    /// The log row of the earlier version; none if the note did not exist.
    pub to: Option<i64>,
    pub change: StepChange,
}

/// What a rollback does to a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepChange {
    Removed,
    /// The earlier text is restored, or the note comes back.
    Restored,
}

/// A learning, with its state for undoing the rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearningStep {
    pub id: LearningId,
    status: String,
    reason: Option<String>,
    superseded_by: Option<String>,
    pruned_from: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStep {
    pub id: TaskId,
    pub title: String,
    row: serde_json::Map<String, Value>,
}

/// An entry that a rollback does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub id: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rollback {
    pub id: RollbackId,
    pub target: RollbackTarget,
    pub plan: RollbackPlan,
    pub state: RollbackState,
}

/// A note as of a row of the note log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedEntry {
    /// The note did not exist afterwards.
    Absent,
    Note(Box<Note>),
    /// The text of a knowledge entry's file.
    Knowledge(String),
    /// A text of the scratchpad.
    Scratchpad(String),
}

impl RollbackPlan {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
            && self.notes.is_empty()
            && self.learnings.is_empty()
            && self.proposals.is_empty()
            && self.tasks.is_empty()
    }
}

impl Store {
    /// What a rollback in this worktree would do.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn plan_rollback(&self, worktree: &str, target: &RollbackTarget) -> Result<RollbackPlan, StoreError> {
        self.sql(plan::plan(&self.connection, worktree, target))
    }

    /// Records a rollback and applies it to the database. One with commits changes nothing until they have landed.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing has changed.
    pub fn begin_rollback(
        &mut self,
        (worktree, target): (&str, &RollbackTarget),
        plan: &RollbackPlan,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Rollback, StoreError> {
        self.write(|transaction| {
            let mut rollback = Rollback {
                id: put_rollback(transaction, (worktree, target), plan, entropy, now)?,
                target: target.clone(),
                plan: plan.clone(),
                state: RollbackState::Landing,
            };
            if plan.commits.is_empty() {
                roll_back(transaction, &rollback, now)?;
                rollback.state = RollbackState::Open;
            }
            Ok(rollback)
        })
    }

    /// Applies a rollback to the database after its commits have landed: reopens their tasks and adds the person's
    /// comment.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing has changed.
    pub fn roll_back_landed(&mut self, rollback: &Rollback, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            let mut tasks = BTreeSet::new();
            for step in &rollback.plan.commits {
                commits::undo(transaction, (&rollback.id, step), now)?;
                tasks.insert(&step.task);
            }
            if let Some(comment) = &rollback.plan.comment {
                for task in &tasks {
                    put_guidance(transaction, task, comment, now)?;
                }
            }
            roll_back(transaction, rollback, now)
        })
    }

    /// Records which commits are about to land for a rollback.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_plan(&mut self, rollback: &Rollback) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("UPDATE rollbacks SET plan = ?2 WHERE id = ?1")?
                .execute(params![rollback.id.as_str(), to_json(&rollback.plan)?])
                .map(drop)
        })
    }

    /// Removes a rollback whose commits could not land.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn drop_rollback(&mut self, id: &RollbackId) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("DELETE FROM rollbacks WHERE id = ?1 AND state = 'landing'")?
                .execute([id.as_str()])
                .map(drop)
        })
    }

    /// Begins to undo a rollback after its commits have landed again: restores the state of the database.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing has changed.
    pub fn begin_undo(&mut self, rollback: &Rollback, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            for step in rollback.plan.learnings.iter().chain(&rollback.plan.freed) {
                transaction
                    .prepare_cached(
                        "UPDATE learnings SET status = ?2, reason = ?3, superseded_by = ?4, pruned_from = ?5,
                             updated_at = ?6 WHERE id = ?1",
                    )?
                    .execute(params![
                        step.id.as_str(),
                        step.status,
                        step.reason,
                        step.superseded_by,
                        step.pruned_from,
                        moment(now)
                    ])?;
            }
            name_in_log(transaction, UNDONE)?;
            for proposal in &rollback.plan.proposals {
                set_proposal(transaction, proposal, "open", None)?;
            }
            for task in &rollback.plan.tasks {
                put_task(transaction, task)?;
            }
            // Oldest first, as they have landed.
            for step in rollback.plan.commits.iter().rev() {
                commits::redo(transaction, (&rollback.id, step), now)?;
            }
            set_state(transaction, &rollback.id, RollbackState::Undoing)
        })
    }

    /// Records the progress of a rollback or its undoing.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn set_rollback_state(&mut self, id: &RollbackId, state: RollbackState) -> Result<(), StoreError> {
        self.write(|transaction| set_state(transaction, id, state))
    }

    /// The rollbacks of a worktree, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn rollbacks(&self, worktree: &str) -> Result<Vec<Rollback>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM rollbacks WHERE worktree = ?1 ORDER BY seq DESC")
            .and_then(|mut statement| statement.query_map([worktree], read_rollback)?.collect());
        self.sql(found)
    }

    /// The note as of a row of the note log; absent if there is no such row.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn logged_entry(&self, seq: Option<i64>) -> Result<LoggedEntry, StoreError> {
        let Some(seq) = seq else {
            return Ok(LoggedEntry::Absent);
        };
        let sql = "SELECT seq, at, action, note, kind, content, tags, created, extra FROM note_log WHERE seq = ?1";
        let row = self.connection.prepare_cached(sql).and_then(|mut statement| {
            statement
                .query_row([seq], |row| Ok((row.get::<_, String>("kind")?, LoggedNote::read(row)?)))
                .optional()
        });
        let Some((kind, logged)) = self.sql(row)? else {
            return Ok(LoggedEntry::Absent);
        };
        let is_present = NoteAction::parse(&logged.action).is_some_and(|action| action.presence() == Presence::Present);
        if !is_present {
            return Ok(LoggedEntry::Absent);
        }
        match kind.as_str() {
            "knowledge" => return Ok(LoggedEntry::Knowledge(logged.content)),
            super::scratchpad_log::KIND => return Ok(LoggedEntry::Scratchpad(logged.content)),
            _ => {}
        }
        let (_, _, note) = logged.decode().map_err(|what| self.damaged(what))?;
        Ok(LoggedEntry::Note(Box::new(note)))
    }
}

/// Applies the parts of a rollback other than its commits.
fn roll_back(
    transaction: &Transaction<'_>,
    Rollback { id, plan, .. }: &Rollback,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let reason = format!("Rolled back by {id}.");
    for learning in &plan.learnings {
        set_status(
            transaction,
            &learning.id,
            (LearningStatus::Rejected, Some(&reason)),
            now,
        )?;
    }
    for freed in &plan.freed {
        transaction
            .prepare_cached(
                "UPDATE learnings SET status = coalesce(pruned_from, status), superseded_by = NULL,
                     pruned_from = NULL, updated_at = ?2 WHERE id = ?1",
            )?
            .execute(params![freed.id.as_str(), moment(now)])?;
    }
    name_in_log(transaction, ROLLED_BACK)?;
    for proposal in &plan.proposals {
        set_proposal(transaction, proposal, "rejected", Some(now))?;
    }
    for task in &plan.tasks {
        transaction
            .prepare_cached("DELETE FROM tasks WHERE id = ?1 AND status = 'proposed'")?
            .execute([task.id.as_str()])?;
    }
    set_state(transaction, id, RollbackState::Open)
}

/// Restores the row of a task, unless its id is taken.
fn put_task(transaction: &Transaction<'_>, task: &TaskStep) -> rusqlite::Result<()> {
    let columns: Vec<&str> = task.row.keys().map(String::as_str).collect();
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
    let sql = format!(
        "INSERT INTO tasks ({}) VALUES ({}) ON CONFLICT DO NOTHING",
        columns.join(", "),
        places.join(", ")
    );
    let values = task.row.values().map(|value| match value {
        Value::String(text) => SqlValue::Text(text.clone()),
        Value::Number(number) => number.as_i64().map_or_else(
            || number.as_f64().map_or(SqlValue::Null, SqlValue::Real),
            SqlValue::Integer,
        ),
        _ => SqlValue::Null,
    });
    transaction
        .prepare(&sql)?
        .execute(rusqlite::params_from_iter(values))
        .map(drop)
}

fn put_rollback(
    transaction: &Transaction<'_>,
    (worktree, target): (&str, &RollbackTarget),
    plan: &RollbackPlan,
    entropy: &mut dyn Entropy,
    now: Timestamp,
) -> rusqlite::Result<RollbackId> {
    loop {
        let id = RollbackId::new(entropy.next_bits());
        let rows = transaction
            .prepare_cached(
                "INSERT INTO rollbacks (id, at, worktree, target, state, plan)
                 VALUES (?1, ?2, ?3, ?4, 'landing', ?5) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                id.as_str(),
                moment(now),
                worktree,
                target.to_string(),
                to_json(plan)?
            ])?;
        if rows == 1 {
            return Ok(id);
        }
    }
}

fn set_state(transaction: &Transaction<'_>, id: &RollbackId, state: RollbackState) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE rollbacks SET state = ?2 WHERE id = ?1")?
        .execute(params![id.as_str(), state.word()])
        .map(drop)
}

/// Sets the log action of the learnings that this transaction changed.
fn name_in_log(transaction: &Transaction<'_>, action: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE learning_log SET action = ?1 WHERE author IS NULL")?
        .execute([action])
        .map(drop)
}

fn set_proposal(
    transaction: &Transaction<'_>,
    id: &str,
    state: &str,
    decided: Option<Timestamp>,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE proposals SET state = ?2, decided_at = ?3 WHERE id = ?1")?
        .execute(params![id, state, decided.map(moment)])
        .map(drop)
}

fn read_rollback(row: &Row<'_>) -> rusqlite::Result<Rollback> {
    let plan: String = row.get("plan")?;
    Ok(Rollback {
        id: word_at(row, "id", RollbackId::parse)?,
        target: word_at(row, "target", RollbackTarget::parse)?,
        plan: from_json(&plan, "plan of a rollback")?,
        state: word_at(row, "state", RollbackState::parse)?,
    })
}
