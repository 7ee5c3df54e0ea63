//! The record of a run's current iteration. It is written before each step, so it shows how far a killed run got.

use jiff::Timestamp;
use ralph_model::{FeatureId, Injection, RunId, TaskId};
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use super::claims::RunProcess;
use super::columns::{count_at, from_json, moment, number_at, time_at, to_json, unreadable, word_at, word_in};
use super::runs::one_row;
use super::settle::release;
use crate::StoreError;

/// How far an iteration got.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The task is claimed, but no agent was started.
    Claimed,
    Started {
        at: Timestamp,
    },
    /// The agent's turn is over.
    Ended {
        /// When the agent was started.
        at: Timestamp,
        /// How it ended, in the loop's format.
        end: String,
    },
}

/// The record of a run's current iteration, left behind if the run is killed.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationRecord {
    pub run: RunId,
    /// The number of the iteration, from 1.
    pub iteration: u32,
    pub task: TaskId,
    pub task_title: String,
    pub feature: Option<FeatureId>,
    pub attempt: u32,
    /// The fencing token that the settlement must present.
    pub fence: u64,
    pub phase: Phase,
    /// The requested model.
    pub model: Option<String>,
    pub rationale: String,
    /// A random word in the environment of every process that the agent started.
    pub marker: String,
    pub process: RunProcess,
    /// The agent's pid, and its start time in the system's units.
    pub agent: Option<(u32, u64)>,
    /// The state of the project's files before, in the loop's format.
    pub before: Option<String>,
    /// The gate results before the first iteration, in the loop's format.
    pub baseline: Option<String>,
    /// The entries considered for the prompt.
    pub injections: Vec<Injection>,
}

/// Data recorded before an agent is started.
#[derive(Debug, Clone)]
pub struct Start<'a> {
    /// The requested model.
    pub model: Option<&'a str>,
    pub rationale: &'a str,
    /// The state of the project's files, in the loop's format.
    pub before: &'a str,
    /// Files with uncommitted changes, if known; only recorded at the first attempt at the task.
    pub dirty: Option<&'a [String]>,
    /// The SHA-256 of the prompt in hex, if known.
    pub prompt_sha256: Option<&'a str>,
    /// The entries considered for the prompt.
    pub injections: &'a [Injection],
    pub at: Timestamp,
}

impl Store {
    /// Records that an agent is about to be started. This also syncs the claim to disk.
    ///
    /// # Errors
    /// When the database cannot be written, or the run has claimed nothing.
    pub fn record_start(&mut self, run: &RunId, start: &Start<'_>) -> Result<(), StoreError> {
        self.write(|transaction| {
            let rows = transaction
                .prepare_cached(
                    "UPDATE iterations SET phase = 'started', model = ?2, rationale = ?3, before = ?4, injections = ?5,
                                           started_at = ?6, prompt_sha256 = ?7
                     WHERE run = ?1 AND phase = 'claimed'",
                )?
                .execute(params![
                    run.as_str(),
                    start.model,
                    start.rationale,
                    start.before,
                    to_json(start.injections)?,
                    moment(start.at),
                    start.prompt_sha256,
                ])?;
            if let Some(dirty) = start.dirty {
                transaction
                    .prepare_cached(
                        "UPDATE tasks SET dirty_before = ?2
                         WHERE id = (SELECT task FROM iterations WHERE run = ?1) AND dirty_before IS NULL
                           AND NOT EXISTS (SELECT 1 FROM journal WHERE task_id = tasks.id)",
                    )?
                    .execute(params![run.as_str(), to_json(dirty)?])?;
            }
            one_row(rows, || format!("{run} has no recorded claim to start an agent for"))
        })
    }

    /// The files with changes before the first attempt at a task, if known.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn dirty_before(&self, task: &TaskId) -> Result<Option<Vec<String>>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT dirty_before FROM tasks WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([task.as_str()], |row| row.get(0)).optional())
            .and_then(|json: Option<Option<String>>| match json.flatten() {
                Some(json) => from_json(&json, "dirty_before").map(Some),
                None => Ok(None),
            });
        self.sql(found)
    }

    /// Records the agent's process, so that another process can find it if this one dies. No process survives a power
    /// failure, so this does not wait for the disk.
    ///
    /// # Errors
    /// When the database cannot be written, or no start was recorded.
    pub fn record_agent(&mut self, run: &RunId, pid: u32, started: u64) -> Result<(), StoreError> {
        self.write_unsynced(|transaction| {
            let rows = transaction
                .prepare_cached(
                    "UPDATE iterations SET agent_pid = ?2, agent_started = ?3 WHERE run = ?1 AND phase = 'started'",
                )?
                .execute(params![run.as_str(), pid, started.cast_signed()])?;
            one_row(rows, || format!("{run} has no recorded agent start"))
        })
    }

    /// Records how the agent's turn ended, and the agent's name for its session. An end recorded earlier is kept.
    ///
    /// # Errors
    /// When the database cannot be written, or no agent was started.
    pub fn record_end(&mut self, run: &RunId, end: &str, session: Option<&str>) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("UPDATE runs SET agent_session = coalesce(?2, agent_session) WHERE id = ?1")?
                .execute(params![run.as_str(), session])?;
            let rows = transaction
                .prepare_cached(
                    "UPDATE iterations SET phase = 'ended', end = coalesce(end, ?2)
                     WHERE run = ?1 AND phase <> 'claimed'",
                )?
                .execute(params![run.as_str(), end])?;
            one_row(rows, || format!("{run} has no recorded turn to end"))
        })
    }

    /// Replaces the recorded end of a turn, to add what a person said about it.
    ///
    /// # Errors
    /// When the database cannot be written, or no end was recorded.
    pub fn record_guidance(&mut self, run: &RunId, end: &str) -> Result<(), StoreError> {
        self.write(|transaction| {
            let rows = transaction
                .prepare_cached("UPDATE iterations SET end = ?2 WHERE run = ?1 AND phase = 'ended'")?
                .execute(params![run.as_str(), end])?;
            one_row(rows, || format!("{run} has no recorded end of a turn"))
        })
    }

    /// Releases a claim whose agent was never started, without a journal entry or a counted attempt. A turn that has
    /// ended is left to its settlement.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn abandon_claim(&mut self, run: &RunId, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("DELETE FROM iterations WHERE run = ?1 AND phase <> 'ended'")?
                .execute([run.as_str()])?;
            release(transaction, run, "Released: no agent was started.", now)
        })
    }

    /// The iterations that dead runs of a worktree left unfinished, oldest first. The calling run holds the worktree's
    /// lock, so all other runs recorded here are dead.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn unfinished(&self, worktree: &str, but: &RunId) -> Result<Vec<IterationRecord>, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT iterations.*, runs.baseline, runs.host, runs.pid, runs.pid_started FROM iterations JOIN runs ON runs.id = iterations.run
                 WHERE runs.worktree = ?1 AND runs.id <> ?2 ORDER BY runs.seq",
            )
            .and_then(|mut statement| statement.query_map([worktree, but.as_str()], read_record)?.collect());
        self.sql(found)
    }
}

fn read_record(row: &Row<'_>) -> rusqlite::Result<IterationRecord> {
    let agent = match row.get("agent_pid")? {
        Some(pid) => Some((pid, number_at(row, "agent_started")?)),
        None => None,
    };
    let injections = match row.get::<_, Option<String>>("injections")? {
        Some(text) => from_json(&text, "injections")?,
        None => Vec::new(),
    };
    Ok(IterationRecord {
        run: word_at(row, "run", RunId::parse)?,
        iteration: count_at(row, "iteration")?,
        task: word_at(row, "task", TaskId::parse)?,
        task_title: row.get("task_title")?,
        feature: word_in(row, "feature", FeatureId::parse)?,
        attempt: count_at(row, "attempt")?,
        fence: number_at(row, "fence")?,
        phase: read_phase(row)?,
        model: row.get("model")?,
        rationale: row.get("rationale")?,
        marker: row.get("marker")?,
        process: RunProcess::read(row)?,
        agent,
        before: row.get("before")?,
        baseline: row.get("baseline")?,
        injections,
    })
}

fn read_phase(row: &Row<'_>) -> rusqlite::Result<Phase> {
    let phase: String = row.get("phase")?;
    Ok(match phase.as_str() {
        "claimed" => Phase::Claimed,
        "started" => Phase::Started {
            at: time_at(row, "started_at")?,
        },
        "ended" => Phase::Ended {
            at: time_at(row, "started_at")?,
            end: row.get("end")?,
        },
        _ => return Err(unreadable(format!("the phase {phase:?}"))),
    })
}
