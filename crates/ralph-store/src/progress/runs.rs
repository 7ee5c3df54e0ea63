//! Runs: who works where, since when, and how it ended.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::RunId;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::Store;
use super::claims::RunProcess;
use super::columns::{moment, time_at, time_in, unreadable, word_at};
use super::settle::release;
use crate::StoreError;

/// A run that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// The agent's name.
    pub agent: String,
    /// What was asked for, as a person reads it.
    pub goal: String,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// The process.
    pub process: RunProcess,
    /// When it begins.
    pub started_at: Timestamp,
}

/// A run on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it began.
    pub begun: NewRun,
    /// When it last gave a sign.
    pub heartbeat: Timestamp,
    /// What it asks the person at its terminal, and waits for; none while it asks nothing. One that was killed asks no more,
    /// whatever stands here.
    pub asks: Option<String>,
    /// When and how it ended, as a sentence; none while it goes on, or when it was killed.
    pub ended: Option<(Timestamp, String)>,
    /// The exit code that it ended with; none while it goes on, or when it was killed.
    pub end_code: Option<u8>,
}

/// A run without an end on record, and until when it is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    /// The run.
    pub run: Run,
    /// The end of the last lease of its claims; none without a claim.
    pub lease_until: Option<Timestamp>,
}

impl Store {
    /// Begins a run.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn begin_run(&mut self, run: &NewRun) -> Result<(), StoreError> {
        self.write(|transaction| {
            let at = moment(run.started_at);
            transaction
                .prepare_cached(
                    "INSERT INTO runs (id, kind, agent, goal, worktree, branch, \"commit\", host, pid, pid_started,
                                       started_at, heartbeat)
                     VALUES (?1, 'loop', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)",
                )?
                .execute(params![
                    run.id.as_str(),
                    run.agent,
                    run.goal,
                    run.worktree,
                    run.branch,
                    run.commit,
                    run.process.host,
                    run.process.pid,
                    run.process.started.cast_signed(),
                    at,
                ])
                .map(drop)
        })
    }

    /// Keeps what the gates said before the first iteration.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_baseline(&mut self, run: &RunId, baseline: &str) -> Result<(), StoreError> {
        self.write(|transaction| set_baseline(transaction, run, baseline))
    }

    /// What the gates could still say in the run of a worktree that last tried a task which is open again since, and did
    /// not do it: what else is red now may be of that work. None when all that was tried is done, or waits for a person.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn baseline_of_unfinished(&self, worktree: &str, but: &RunId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT runs.baseline FROM tasks
                   CROSS JOIN journal ON journal.id = (SELECT max(id) FROM journal WHERE task_id = tasks.id)
                   CROSS JOIN runs ON runs.id = journal.run_id
                   WHERE tasks.status IN ('pending', 'in_progress', 'blocked') AND journal.outcome <> 'done'
                     AND runs.worktree = ?1 AND runs.id <> ?2 AND runs.baseline IS NOT NULL
                   ORDER BY journal.id DESC LIMIT 1";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            statement
                .query_row([worktree, but.as_str()], |row| row.get(0))
                .optional()
        });
        self.sql(found)
    }

    /// A sign that a run goes on; its claims hold for another lease.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn heartbeat(&mut self, run: &RunId, lease: Duration, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            // A lease beyond the end of time holds until then.
            let until = now.saturating_add(lease).unwrap_or(Timestamp::MAX);
            transaction
                .prepare_cached("UPDATE runs SET heartbeat = ?2 WHERE id = ?1")?
                .execute(params![run.as_str(), moment(now)])?;
            transaction
                .prepare_cached("UPDATE tasks SET lease_until = ?2 WHERE claimed_by = ?1")?
                .execute(params![run.as_str(), moment(until)])
                .map(drop)
        })
    }

    /// Notes what a run asks the person at its terminal; none when it has its answer.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_question(&mut self, run: &RunId, asks: Option<&str>) -> Result<(), StoreError> {
        self.write(|transaction| {
            let rows = transaction
                .prepare_cached("UPDATE runs SET asks = ?2 WHERE id = ?1")?
                .execute(params![run.as_str(), asks])?;
            one_row(rows, || format!("{run} is on no record"))
        })
    }

    /// Releases what a run that is about to end still has claimed. Only an iteration whose agent was started, and which was
    /// not settled, stays on record with its claim: the next run finds it among the unfinished.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn release_claims(&mut self, run: &RunId, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("DELETE FROM iterations WHERE run = ?1 AND phase = 'claimed'")?
                .execute([run.as_str()])?;
            release(transaction, run, "Free again: the run ended.", now)
        })
    }

    /// Ends a run; see [`Store::release_claims`].
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn end_run(&mut self, run: &RunId, reason: &str, code: u8, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "UPDATE runs SET ended_at = ?2, end_reason = ?3, end_code = ?4, heartbeat = ?2, asks = NULL
                     WHERE id = ?1",
                )?
                .execute(params![run.as_str(), moment(now), reason, code])
                .map(drop)
        })
    }

    /// The runs of a worktree without an end on record, but this one, the oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn open_runs(&self, worktree: &str, but: &RunId) -> Result<Vec<OpenRun>, StoreError> {
        self.sql(open_runs(&self.connection, worktree, but))
    }

    /// Ends the runs of a worktree that were killed, at the last sign that they gave: every one but this, which holds the
    /// worktree's lock, and but those whose process is `alive` all the same, because their lock was removed under them. These
    /// are the answer. What the dead ones left unfinished stays on record; see [`Store::unfinished`].
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn end_dead_runs(
        &mut self,
        worktree: &str,
        but: &RunId,
        alive: &dyn Fn(&RunProcess) -> bool,
    ) -> Result<Vec<Run>, StoreError> {
        self.write(|transaction| {
            let open = open_runs(transaction, worktree, but)?;
            let open = open.into_iter().map(|open| open.run);
            let (living, dead): (Vec<Run>, Vec<Run>) = open.partition(|run| alive(&run.begun.process));
            for run in dead {
                transaction
                    .prepare_cached(
                        "UPDATE runs SET ended_at = heartbeat, end_reason = 'It was killed.', asks = NULL
                         WHERE id = ?1",
                    )?
                    .execute([run.begun.id.as_str()])?;
            }
            Ok(living)
        })
    }

    /// A run; none when there is none of this id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn run(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM runs WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id.as_str()], read_run).optional());
        self.sql(found)
    }

    /// The runs whose ids begin so, in the order of their ids; the `run-` in front may be left out. Without a digit, none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs_beginning(&self, text: &str) -> Result<Vec<RunId>, StoreError> {
        let digits = text.trim().to_ascii_lowercase();
        let digits = digits.strip_prefix(RunId::PREFIX).unwrap_or(&digits);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let beginning = format!("{}{digits}", RunId::PREFIX);
        let sql = "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let ids = statement.query_map([&beginning], |row| word_at(row, "id", RunId::parse))?;
            ids.collect()
        });
        self.sql(found)
    }

    /// The runs that are over, and of which no iteration waits to be settled.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs_over(&self) -> Result<BTreeSet<RunId>, StoreError> {
        let sql = "SELECT id FROM runs WHERE ended_at IS NOT NULL AND id NOT IN (SELECT run FROM iterations)";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let ids = statement.query_map([], |row| word_at(row, "id", RunId::parse))?;
            ids.collect()
        });
        self.sql(found)
    }

    /// The runs that began last, the latest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn recent_runs(&self, limit: usize) -> Result<Vec<Run>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = self
            .connection
            .prepare_cached("SELECT * FROM runs ORDER BY seq DESC LIMIT ?1")
            .and_then(|mut statement| statement.query_map([limit], read_run)?.collect());
        self.sql(found)
    }
}

fn open_runs(connection: &Connection, worktree: &str, but: &RunId) -> rusqlite::Result<Vec<OpenRun>> {
    let sql = "SELECT *, (SELECT max(lease_until) FROM tasks WHERE claimed_by = runs.id) AS lease_until FROM runs
               WHERE ended_at IS NULL AND kind = 'loop' AND worktree = ?1 AND id <> ?2 ORDER BY seq";
    connection
        .prepare_cached(sql)?
        .query_map([worktree, but.as_str()], |row| {
            Ok(OpenRun {
                run: read_run(row)?,
                lease_until: time_in(row, "lease_until")?,
            })
        })?
        .collect()
}

/// Keeps what the gates may still say.
pub(super) fn set_baseline(transaction: &Transaction<'_>, run: &RunId, baseline: &str) -> rusqlite::Result<()> {
    let rows = transaction
        .prepare_cached("UPDATE runs SET baseline = ?2 WHERE id = ?1")?
        .execute(params![run.as_str(), baseline])?;
    one_row(rows, || format!("{run} is on no record"))
}

/// An error where a change had to concern one row and concerned none.
pub(super) fn one_row(rows: usize, what: impl FnOnce() -> String) -> rusqlite::Result<()> {
    if rows == 1 { Ok(()) } else { Err(unreadable(what())) }
}

pub(super) fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let ended = match time_in(row, "ended_at")? {
        Some(at) => Some((at, row.get::<_, Option<String>>("end_reason")?.unwrap_or_default())),
        None => None,
    };
    Ok(Run {
        begun: NewRun {
            id: word_at(row, "id", RunId::parse)?,
            agent: row.get("agent")?,
            goal: row.get("goal")?,
            worktree: row.get("worktree")?,
            branch: row.get("branch")?,
            commit: row.get("commit")?,
            process: RunProcess::read(row)?,
            started_at: time_at(row, "started_at")?,
        },
        heartbeat: time_at(row, "heartbeat")?,
        asks: row.get("asks")?,
        ended,
        end_code: row.get("end_code")?,
    })
}
