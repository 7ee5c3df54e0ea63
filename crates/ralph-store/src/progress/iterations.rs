//! The iteration that a run is in: a record that is written before each step, and is where a killed run was.

use jiff::Timestamp;
use ralph_model::{FeatureId, Injection, RunId, TaskId};
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use super::claims::RunProcess;
use super::columns::{count_at, from_json, moment, number_at, time_at, to_json, unreadable, word_at, word_in};
use super::runs::one_row;
use super::settle::release;
use crate::StoreError;

/// How far an iteration came.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The task is claimed; no agent was started.
    Claimed,
    /// The agent was started.
    Started {
        /// When.
        at: Timestamp,
    },
    /// The agent's turn is over.
    Ended {
        /// When the agent was started.
        at: Timestamp,
        /// How it ended, as the loop writes it.
        end: String,
    },
}

/// The record of the iteration that a run is in: what a killed run leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationRecord {
    /// The run.
    pub run: RunId,
    /// Which iteration, from 1.
    pub iteration: u32,
    /// The task.
    pub task: TaskId,
    /// The task's title.
    pub task_title: String,
    /// The task's feature.
    pub feature: Option<FeatureId>,
    /// Which attempt at the task.
    pub attempt: u32,
    /// The number that the settlement must name.
    pub fence: u64,
    /// How far it came.
    pub phase: Phase,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Why that model.
    pub rationale: String,
    /// The random word in the environment of everything that the agent started.
    pub marker: String,
    /// The process of the run.
    pub process: RunProcess,
    /// The agent's process: its pid, and when it began as the system counts.
    pub agent: Option<(u32, u64)>,
    /// What the project's files were before, as the loop writes it.
    pub before: Option<String>,
    /// What the gates said before the first iteration, as the loop writes it.
    pub baseline: Option<String>,
    /// What stood in the prompt and what did not.
    pub injections: Vec<Injection>,
}

/// What is known before an agent is started.
#[derive(Debug, Clone)]
pub struct Start<'a> {
    /// The model that is asked for.
    pub model: Option<&'a str>,
    /// Why that model.
    pub rationale: &'a str,
    /// What the project's files are, as the loop writes it.
    pub before: &'a str,
    /// The files that have changes already, if that is known; what counts is the first attempt at the task.
    pub dirty: Option<&'a [String]>,
    /// The SHA-256 of the prompt, in hexadecimal digits, if it is known.
    pub prompt_sha256: Option<&'a str>,
    /// What stands in the prompt and what does not.
    pub injections: &'a [Injection],
    /// When.
    pub at: Timestamp,
}

impl Store {
    /// Notes that an agent is about to be started. From here on the claim and this are on disk.
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
            one_row(rows, || format!("{run} has no claim on record to start an agent for"))
        })
    }

    /// The files that had changes before the first attempt at a task; none when that is not known.
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

    /// Notes the agent's process, for whoever finds it alive when this one is not. A power failure leaves none to be found,
    /// so nothing waits for the disk.
    ///
    /// # Errors
    /// When the database cannot be written, or no agent was to be started.
    pub fn record_agent(&mut self, run: &RunId, pid: u32, started: u64) -> Result<(), StoreError> {
        self.write_for_now(|transaction| {
            let rows = transaction
                .prepare_cached(
                    "UPDATE iterations SET agent_pid = ?2, agent_started = ?3 WHERE run = ?1 AND phase = 'started'",
                )?
                .execute(params![run.as_str(), pid, started.cast_signed()])?;
            one_row(rows, || format!("{run} has no agent on record"))
        })
    }

    /// Notes how the agent's turn ended, and the agent's own name for its session. What was noted first stays.
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
            one_row(rows, || format!("{run} has no turn on record that could end"))
        })
    }

    /// Notes what a person said about a turn that has ended, with the turn: its end is written anew.
    ///
    /// # Errors
    /// When the database cannot be written, or the turn's end is not on record.
    pub fn record_guidance(&mut self, run: &RunId, end: &str) -> Result<(), StoreError> {
        self.write(|transaction| {
            let rows = transaction
                .prepare_cached("UPDATE iterations SET end = ?2 WHERE run = ?1 AND phase = 'ended'")?
                .execute(params![run.as_str(), end])?;
            one_row(rows, || format!("{run} has no ended turn on record to be spoken of"))
        })
    }

    /// Takes back a claim whose agent was never started: no row of the journal, no attempt that counts. A turn that has
    /// ended is left to its settlement.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn abandon_claim(&mut self, run: &RunId, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("DELETE FROM iterations WHERE run = ?1 AND phase <> 'ended'")?
                .execute([run.as_str()])?;
            release(transaction, run, "The claim was taken back: no agent was started.", now)
        })
    }

    /// What dead runs of a worktree left unfinished, the oldest first. The run that asks holds the worktree's lock, so every
    /// other run on record here is dead.
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
