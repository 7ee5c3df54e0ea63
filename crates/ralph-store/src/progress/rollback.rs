//! Taking back what memory got from an iteration or a run, and undoing that.
//!
//! A rollback is a row with a plan. What is in the database changes in the transaction that stores the plan; files are written
//! after it, and the row says so at the end. A rollback that was interrupted stays open, and the same command finishes it.

use jiff::Timestamp;
use ralph_model::{Author, Entropy, LearningId, LearningStatus, Note, RollbackId, RollbackState, RunId, TaskId};
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Store;
use super::authorship::author_at;
use super::columns::{from_json, moment, to_json, word_at};
use super::learning_changes::set_status;
use super::note_log::{LoggedNote, NoteAction, NoteFile, Presence};
use crate::StoreError;

/// What the log of learnings says of a rollback and of its undoing: neither is a person's judgement of the learning.
const ROLLED_BACK: &str = "rolled back";
const UNDONE: &str = "rollback undone";

/// What is rolled back: a run, or one iteration of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackTarget {
    /// The run.
    pub run: RunId,
    /// The iteration; none for the whole run.
    pub iteration: Option<u32>,
}

/// What a rollback does.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RollbackPlan {
    /// Memories, guardrails and knowledge entries.
    pub notes: Vec<NoteStep>,
    /// Learnings that are rejected.
    pub learnings: Vec<LearningStep>,
    /// Learnings that these had superseded.
    pub freed: Vec<LearningStep>,
    /// Proposals that are rejected.
    pub proposals: Vec<String>,
    /// Proposed tasks that are deleted, as the rows they were.
    pub tasks: Vec<TaskStep>,
    /// What stays, and why.
    #[serde(skip)]
    pub kept: Vec<Kept>,
}

/// A note that goes from one row of the log to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteStep {
    /// The id, or the name of the file of a knowledge entry.
    pub id: String,
    /// The file, from the worktree's root.
    pub path: String,
    /// The row that says how it is now.
    pub from: i64,
    /// The row that says how it was before; none where it did not exist.
    pub to: Option<i64>,
    /// What becomes of it.
    pub change: StepChange,
}

/// What a rollback does to a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepChange {
    /// It is removed.
    Removed,
    /// It gets its former text again, or comes back.
    Restored,
}

/// A learning, with what it is set back to when the rollback is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearningStep {
    /// The learning.
    pub id: LearningId,
    status: String,
    reason: Option<String>,
    superseded_by: Option<String>,
    pruned_from: Option<String>,
}

/// A proposed task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStep {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Its columns.
    row: serde_json::Map<String, Value>,
}

/// An entry that a rollback leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Its id.
    pub id: String,
    /// Why it stays.
    pub reason: String,
}

/// A rollback on record.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollback {
    /// Its id.
    pub id: RollbackId,
    /// What was rolled back.
    pub target: RollbackTarget,
    /// What it does.
    pub plan: RollbackPlan,
    /// How far it got.
    pub state: RollbackState,
}

/// What a row of the note log says of its note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedEntry {
    /// It was not there afterwards.
    Absent,
    /// A memory or guardrail.
    Note(Box<Note>),
    /// A knowledge entry, by the text of its file.
    Knowledge(String),
    /// A text of the scratchpad.
    Scratchpad(String),
}

impl RollbackPlan {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.learnings.is_empty() && self.proposals.is_empty() && self.tasks.is_empty()
    }
}

impl Store {
    /// What a rollback in this worktree would do.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn plan_rollback(&self, worktree: &str, target: &RollbackTarget) -> Result<RollbackPlan, StoreError> {
        self.sql(plan(&self.connection, worktree, target))
    }

    /// Puts a rollback on record and does what it does in the database.
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
            let id = put_rollback(transaction, (worktree, target), plan, entropy, now)?;
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
            Ok(Rollback {
                id,
                target: target.clone(),
                plan: plan.clone(),
                state: RollbackState::Open,
            })
        })
    }

    /// Begins to undo a rollback: what it did in the database is as it was before.
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
            set_state(transaction, &rollback.id, RollbackState::Undoing)
        })
    }

    /// Records that the files of a rollback, or of its undoing, are written.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn finish_rollback(&mut self, id: &RollbackId, state: RollbackState) -> Result<(), StoreError> {
        self.write(|transaction| set_state(transaction, id, state))
    }

    /// The rollbacks of a worktree, the newest first.
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

    /// What a row of the note log says of its note; absent where there is no such row.
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
        let is_there = NoteAction::parse(&logged.action).is_some_and(|action| action.presence() == Presence::Present);
        if !is_there {
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

/// A row of the note log, as far as a plan needs it.
struct LogRow {
    seq: i64,
    file: i64,
    place: NoteFile,
    note: String,
    is_there: bool,
    says: [String; 5],
    author: Author,
    is_targets: bool,
}

impl LogRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get("seq")?,
            file: row.get("file")?,
            place: NoteFile {
                worktree: row.get("worktree")?,
                path: row.get("path")?,
            },
            note: row.get("note")?,
            is_there: word_at(row, "action", NoteAction::parse)?.presence() == Presence::Present,
            says: [
                row.get("kind")?,
                row.get("content")?,
                row.get("tags")?,
                row.get("created")?,
                row.get("extra")?,
            ],
            author: author_at(row)?,
            is_targets: row.get("is_targets")?,
        })
    }

    /// Whether two rows leave the note in the same state; none is that of a note that was never there.
    fn same_state(one: Option<&Self>, other: Option<&Self>) -> bool {
        let state = |row: Option<&Self>| row.filter(|row| row.is_there).map(|row| row.says.clone());
        state(one) == state(other)
    }
}

fn plan(connection: &Connection, worktree: &str, target: &RollbackTarget) -> rusqlite::Result<RollbackPlan> {
    let mut plan = RollbackPlan::default();
    for rows in note_rows(connection, target)? {
        plan_note(&mut plan, worktree, &rows);
    }
    plan_learnings(connection, &mut plan, target)?;
    let of_target = params![target.run.as_str(), target.iteration];
    plan.proposals = connection
        .prepare_cached(
            "SELECT id FROM proposals WHERE state = 'open' AND run = ?1 AND (?2 IS NULL OR iteration = ?2) ORDER BY seq",
        )?
        .query_map(of_target, |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    plan.tasks = connection
        .prepare_cached(
            "SELECT * FROM tasks WHERE status = 'proposed' AND id IN (
                 SELECT task FROM task_log WHERE author = 'agent' AND run = ?1 AND (?2 IS NULL OR iteration = ?2))
             ORDER BY seq",
        )?
        .query_map(of_target, read_task)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(plan)
}

/// The rows of every note that was changed in the target, by file and note, each in their order.
fn note_rows(connection: &Connection, target: &RollbackTarget) -> rusqlite::Result<Vec<Vec<LogRow>>> {
    let sql = "SELECT note_log.*, worktree, path,
                   coalesce(run = ?1 AND (?2 IS NULL OR iteration = ?2), 0) AS is_targets
               FROM note_log JOIN note_files ON note_files.id = note_log.file
               WHERE (file, note) IN (
                   SELECT file, note FROM note_log WHERE run = ?1 AND (?2 IS NULL OR iteration = ?2))
               ORDER BY file, note, seq";
    let mut groups: Vec<Vec<LogRow>> = Vec::new();
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![target.run.as_str(), target.iteration], LogRow::read)?;
    for row in rows {
        let row = row?;
        match groups.last_mut() {
            Some(group)
                if group
                    .last()
                    .is_some_and(|last| (last.file, &last.note) == (row.file, &row.note)) =>
            {
                group.push(row);
            }
            _ => groups.push(vec![row]),
        }
    }
    Ok(groups)
}

fn plan_note(plan: &mut RollbackPlan, worktree: &str, rows: &[LogRow]) {
    let Some(first) = rows.iter().position(|row| row.is_targets) else {
        return;
    };
    let before = first.checked_sub(1).and_then(|before| rows.get(before));
    let Some(now) = rows.last() else { return };
    if LogRow::same_state(before, Some(now)) {
        return;
    }
    let mut keep = |reason: String| {
        plan.kept.push(Kept {
            id: now.note.clone(),
            reason,
        });
    };
    if now.place.worktree != worktree {
        let name = match now.place.worktree.as_str() {
            "" => "the main worktree".to_owned(),
            name => format!("the worktree {name}"),
        };
        return keep(format!("in {name}: run the command there"));
    }
    // A rollback that was undone leaves the note as the target left it.
    let left_by_target = rows.iter().rfind(|row| row.is_targets);
    let later = rows.iter().skip(first).rev().find(|row| !row.is_targets);
    if let Some(later) = later.filter(|_| !LogRow::same_state(left_by_target, Some(now))) {
        return keep(format!("changed afterwards ({})", later.author));
    }
    plan.notes.push(NoteStep {
        id: now.note.clone(),
        path: now.place.path.clone(),
        from: now.seq,
        to: before.map(|row| row.seq),
        change: match before {
            Some(before) if before.is_there => StepChange::Restored,
            _ => StepChange::Removed,
        },
    });
}

/// Learnings whose only sources are in the target. One that a person has judged or changed stays.
fn plan_learnings(connection: &Connection, plan: &mut RollbackPlan, target: &RollbackTarget) -> rusqlite::Result<()> {
    let sql = "WITH entries AS (
                   SELECT id FROM journal WHERE run_id = ?1 AND (?2 IS NULL OR iteration = ?2))
               SELECT id, status, reason, superseded_by, pruned_from,
                   EXISTS (SELECT 1 FROM learning_log
                           WHERE learning_log.learning = learnings.id AND author = 'human'
                             AND action NOT IN (?3, ?4)) AS is_a_persons
               FROM learnings
               WHERE status NOT IN ('rejected', 'pruned') AND source <> 'human'
                 AND seq IN (SELECT learning FROM learning_sources WHERE journal IN entries)
                 AND seq NOT IN (SELECT learning FROM learning_sources WHERE journal NOT IN entries)
               ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![target.run.as_str(), target.iteration, ROLLED_BACK, UNDONE];
    let rows = statement.query_map(values, |row| {
        Ok((read_learning_step(row)?, row.get::<_, bool>("is_a_persons")?))
    })?;
    for row in rows {
        match row? {
            (step, true) => plan.kept.push(Kept {
                id: step.id.to_string(),
                reason: "a person judged or changed it".to_owned(),
            }),
            (step, false) => plan.learnings.push(step),
        }
    }
    let mut statement = connection.prepare_cached("SELECT * FROM learnings WHERE superseded_by = ?1 ORDER BY seq")?;
    for step in &plan.learnings {
        let freed = statement.query_map([step.id.as_str()], read_learning_step)?;
        plan.freed.extend(freed.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    Ok(())
}

fn read_learning_step(row: &Row<'_>) -> rusqlite::Result<LearningStep> {
    Ok(LearningStep {
        id: word_at(row, "id", LearningId::parse)?,
        status: row.get("status")?,
        reason: row.get("reason")?,
        superseded_by: row.get("superseded_by")?,
        pruned_from: row.get("pruned_from")?,
    })
}

fn read_task(row: &Row<'_>) -> rusqlite::Result<TaskStep> {
    let statement: &rusqlite::Statement<'_> = row.as_ref();
    let mut columns = serde_json::Map::new();
    for name in statement.column_names() {
        let value = match row.get::<_, SqlValue>(name)? {
            SqlValue::Integer(number) => Value::from(number),
            SqlValue::Real(number) => Value::from(number),
            SqlValue::Text(text) => Value::from(text),
            SqlValue::Null | SqlValue::Blob(_) => Value::Null,
        };
        columns.insert(name.to_owned(), value);
    }
    Ok(TaskStep {
        id: word_at(row, "id", TaskId::parse)?,
        title: row.get("title")?,
        row: columns,
    })
}

/// Puts the row of a task back, unless its id is taken.
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
                "INSERT INTO rollbacks (id, at, worktree, run, iteration, state, plan)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?6) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                id.as_str(),
                moment(now),
                worktree,
                target.run.as_str(),
                target.iteration,
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

/// Names what the log says of the learnings that this transaction has changed.
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
        target: RollbackTarget {
            run: word_at(row, "run", RunId::parse)?,
            iteration: row.get("iteration")?,
        },
        plan: from_json(&plan, "plan of a rollback")?,
        state: word_at(row, "state", RollbackState::parse)?,
    })
}
