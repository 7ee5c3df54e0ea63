//! Runs: begin, heartbeat, end, and cleanup after killed ones.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{EndKind, RunId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::Store;
use super::claims::RunProcess;
use super::columns::{moment, time_at, time_in, unreadable, word_at};
use super::settle::release;
use crate::StoreError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    pub id: RunId,
    pub agent: String,
    /// The request, as text for the user.
    pub goal: String,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    pub process: RunProcess,
    pub started_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub begun: NewRun,
    /// Its last heartbeat.
    pub heartbeat: Timestamp,
    /// The question at its terminal that it waits for, if any. A killed run no longer asks, whatever is stored here.
    pub asks: Option<String>,
    /// None while it is running.
    pub ended: Option<RecordedEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEnd {
    pub at: Timestamp,
    pub kind: EndKind,
    /// The end as a sentence, for people.
    pub sentence: String,
}

/// A run without a recorded end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    pub run: Run,
    /// When the last lease of its claims expires; none without a claim.
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

    /// Records the gate results before the first iteration.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_baseline(&mut self, run: &RunId, baseline: &str) -> Result<(), StoreError> {
        self.write(|transaction| set_baseline(transaction, run, baseline))
    }

    /// The gate baseline of the last run of a worktree that attempted a task that is still open: gates that fail now
    /// may fail because of that unfinished work. None if all attempted tasks are done or need a person.
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

    /// Records a heartbeat of a run and renews the leases of its claims.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn heartbeat(&mut self, run: &RunId, lease: Duration, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            // A lease beyond the representable time lasts until then.
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

    /// Records the question that a run asks at its terminal; none once it is answered.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_question(&mut self, run: &RunId, asks: Option<&str>) -> Result<(), StoreError> {
        self.write(|transaction| {
            let rows = transaction
                .prepare_cached("UPDATE runs SET asks = ?2 WHERE id = ?1")?
                .execute(params![run.as_str(), asks])?;
            one_row(rows, || format!("{run} has no record"))
        })
    }

    /// Releases the claims of a run that is about to end. An iteration whose agent was started but that was not settled
    /// keeps its record and claim: the next run finds it with [`Store::unfinished`].
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn release_claims(&mut self, run: &RunId, now: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("DELETE FROM iterations WHERE run = ?1 AND phase = 'claimed'")?
                .execute([run.as_str()])?;
            release(transaction, run, "Released: the run ended.", now)
        })
    }

    /// Ends a run; see [`Store::release_claims`].
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn end_run(
        &mut self,
        run: &RunId,
        (kind, code): (EndKind, u8),
        sentence: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "UPDATE runs SET ended_at = ?2, end_kind = ?3, end_reason = ?4, end_code = ?5, heartbeat = ?2,
                                     asks = NULL
                     WHERE id = ?1",
                )?
                .execute(params![run.as_str(), moment(now), kind.word(), sentence, code])
                .map(drop)
        })
    }

    /// The other runs of a worktree without a recorded end, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn open_runs(&self, worktree: &str, but: &RunId) -> Result<Vec<OpenRun>, StoreError> {
        self.sql(open_runs(&self.connection, worktree, but))
    }

    /// Marks killed runs of a worktree as ended, at their last heartbeat. `but` is the calling run, which holds the
    /// worktree's lock. Runs whose process is `alive`, because their lock was removed, are returned instead. The
    /// iterations of dead runs stay on record; see [`Store::unfinished`].
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
                        "UPDATE runs SET ended_at = heartbeat, end_kind = 'killed', end_reason = 'It was killed.',
                                         asks = NULL
                         WHERE id = ?1",
                    )?
                    .execute([run.begun.id.as_str()])?;
            }
            Ok(living)
        })
    }

    /// A run by its id, if it exists.
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

    /// The runs with this id prefix, by id; the `run-` may be omitted. None without a digit.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs_with_prefix(&self, text: &str) -> Result<Vec<RunId>, StoreError> {
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

    /// The ended runs without an unsettled iteration.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn finished_runs(&self) -> Result<BTreeSet<RunId>, StoreError> {
        let sql = "SELECT id FROM runs WHERE ended_at IS NOT NULL AND id NOT IN (SELECT run FROM iterations)";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let ids = statement.query_map([], |row| word_at(row, "id", RunId::parse))?;
            ids.collect()
        });
        self.sql(found)
    }

    /// The latest runs, latest first.
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

/// Records the gate baseline.
pub(super) fn set_baseline(transaction: &Transaction<'_>, run: &RunId, baseline: &str) -> rusqlite::Result<()> {
    let rows = transaction
        .prepare_cached("UPDATE runs SET baseline = ?2 WHERE id = ?1")?
        .execute(params![run.as_str(), baseline])?;
    one_row(rows, || format!("{run} has no record"))
}

/// Fails unless exactly one row was changed.
pub(super) fn one_row(rows: usize, what: impl FnOnce() -> String) -> rusqlite::Result<()> {
    if rows == 1 { Ok(()) } else { Err(unreadable(what())) }
}

pub(super) fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let ended = match time_in(row, "ended_at")? {
        Some(at) => Some(RecordedEnd {
            at,
            kind: word_at(row, "end_kind", EndKind::parse)?,
            sentence: row.get("end_reason")?,
        }),
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
    })
}
