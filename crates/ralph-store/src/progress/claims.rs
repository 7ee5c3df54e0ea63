//! Selecting and claiming the next task. At most one run works on a task, and dead runs lose their claims.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, FeatureId, RunId, Task, TaskId, UnverifiedReason};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params, params};

use super::Store;
use super::authorship::sign;
use super::columns::{moment, number_at, word_at, word_in};
use super::pauses::{Pause, PausePolicy, pause_of, pause_of_agent};
use super::task_graph::Graph;
use super::task_reading::json_list;
use super::task_rows::{TASK_COLUMNS, log, read_task};
use super::transitions::{NewState, set_task_state};
use crate::StoreError;

/// Which tasks a run works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    /// One task with its descendants.
    Task(TaskId),
    /// The tasks of a feature.
    Feature(FeatureId),
}

/// A run's request for its next task.
#[derive(Debug, Clone)]
pub struct ClaimRequest<'a> {
    pub run: &'a RunId,
    /// The iteration of the run, from 1.
    pub iteration: u32,
    pub scope: &'a Scope,
    /// The worktree's name; empty for the main one.
    pub worktree: &'a str,
    /// Commits of other worktrees' tasks that the checked-out commit contains; see
    /// [`Store::commits_of_other_worktrees`].
    pub commits_here: &'a BTreeSet<String>,
    pub marker: &'a str,
    /// How long the claim is valid without a heartbeat.
    pub lease: Duration,
    /// The verifier's agent, if it is a different one.
    pub verifier: Option<&'a str>,
    pub pause_policy: PausePolicy<'a>,
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub task: Task,
    /// The number of the attempt, from 1; never reused.
    pub attempt: u32,
    /// The fencing token that the settlement must present.
    pub fence: u64,
    pub marker: String,
    /// The agent's last pause that no iteration has shown to be over.
    pub pause: Option<Pause>,
    /// The same for the verifier's agent.
    pub verifier_pause: Option<Pause>,
}

/// The answer to a [`ClaimRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimAnswer {
    Claimed(Box<Claim>),
    /// A task is ready, but one of the run's agents is paused. Nothing is claimed.
    Paused(Box<Pause>),
    /// None is ready, but live runs have claimed tasks, and their work may make one ready.
    Busy {
        /// The claimed tasks, with their runs.
        held: Vec<(TaskId, RunId)>,
    },
    /// None is ready, and none will be until a person acts.
    Nothing(ScopeCounts),
}

/// Counts of the tasks in a scope, without parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeCounts {
    pub done: u32,
    /// Done tasks that a person has to review.
    pub unverified: UnverifiedCounts,
    pub failed: u32,
    /// Not done, and behind a failed task or one that is done only in another worktree.
    pub waiting: u32,
    /// Not done, and not waiting for a person.
    pub open: u32,
}

impl ScopeCounts {
    /// The number of tasks that need a person: failed, behind one that needs a person, or unverified.
    #[must_use]
    pub fn needing_attention(&self) -> u32 {
        self.failed + self.waiting + self.unverified.all()
    }
}

/// Counts of unverified tasks by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnverifiedCounts {
    /// No gate or verifier confirmed them.
    pub no_evidence: u32,
    pub nothing_changed: u32,
    /// An agent changed something that their evidence depends on.
    pub evidence_changed: u32,
}

impl UnverifiedCounts {
    #[must_use]
    pub fn all(&self) -> u32 {
        self.no_evidence + self.nothing_changed + self.evidence_changed
    }

    /// The reason, if all of them have the same one.
    #[must_use]
    pub fn only_reason(&self) -> Option<UnverifiedReason> {
        match (self.no_evidence, self.nothing_changed, self.evidence_changed) {
            (1.., 0, 0) => Some(UnverifiedReason::NoEvidence),
            (0, 1.., 0) => Some(UnverifiedReason::NothingChanged),
            (0, 0, 1..) => Some(UnverifiedReason::EvidenceChanged),
            _ => None,
        }
    }

    pub(super) fn add(&mut self, reason: UnverifiedReason) {
        match reason {
            UnverifiedReason::NoEvidence => self.no_evidence += 1,
            UnverifiedReason::NothingChanged => self.nothing_changed += 1,
            UnverifiedReason::EvidenceChanged => self.evidence_changed += 1,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunProcess {
    /// The scope of the pid: the host, its boot and the PID namespace; see `ralph_process::host`.
    pub host: String,
    pub pid: u32,
    /// Its start time, in the system's units.
    pub started: u64,
}

impl RunProcess {
    /// `None` for a process of another host or PID namespace, whose pid means nothing here.
    #[must_use]
    pub fn is_alive(&self) -> Option<bool> {
        (self.host == ralph_process::host()).then(|| ralph_process::is_alive(self.pid, self.started))
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            host: row.get("host")?,
            pid: row.get("pid")?,
            started: number_at(row, "pid_started")?,
        })
    }
}

/// Condition for a task `t` to be ready: it is unclaimed, has no children, and every dependency of it and its ancestors
/// is done here, with all subtasks, and does not need review first. A parent is done where its subtasks are.
pub(super) const READY: &str = "t.status = 'pending'
    AND NOT EXISTS (SELECT 1 FROM tasks child WHERE child.parent = t.id)
    AND NOT EXISTS (
        WITH RECURSIVE
            up(id) AS (
                SELECT t.id
                UNION ALL SELECT task.parent FROM up CROSS JOIN tasks task ON task.id = up.id WHERE task.parent IS NOT NULL),
            needed(id) AS (
                SELECT dependencies.after FROM up CROSS JOIN dependencies ON dependencies.task = up.id
                UNION SELECT child.id FROM needed CROSS JOIN tasks child ON child.parent = needed.id)
        SELECT 1 FROM needed CROSS JOIN tasks task ON task.id = needed.id
        WHERE task.status <> 'done' OR coalesce(task.unverified, '') = 'evidence_changed' OR (
            task.done_worktree IS NOT NULL AND task.done_worktree <> :worktree
            AND coalesce(task.done_commit, '') NOT IN (SELECT value FROM json_each(:commits))))";

/// The tasks of a scope and all their descendants.
pub(super) const IN_SCOPE: &str = "t.id IN (
    WITH RECURSIVE inside(id) AS (
        SELECT id FROM tasks WHERE id = :task
        UNION SELECT id FROM tasks WHERE :feature IS NOT NULL AND feature = :feature
        UNION SELECT child.id FROM inside CROSS JOIN tasks child ON child.parent = inside.id)
    SELECT id FROM inside)";

impl Store {
    /// Claims the next task of a scope and opens the iteration's record. The task is pending, has no children, and all
    /// its dependencies (and its ancestors') are done here; the lowest priority number wins, then the oldest.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn claim_next(&mut self, request: &ClaimRequest<'_>) -> Result<ClaimAnswer, StoreError> {
        // A power failure also stops the work, so losing an unsynced claim does no harm. Before an agent starts, the
        // claim is synced with the start record; see [`Store::record_start`].
        self.write_unsynced(|transaction| {
            Ok(
                match next_ready(transaction, request.scope, request.worktree, request.commits_here)? {
                    Some(next) => {
                        let pauses = Pauses::read(transaction, request)?;
                        match pauses.blocking(request) {
                            Some(pause) => ClaimAnswer::Paused(Box::new(pause.clone())),
                            None => ClaimAnswer::Claimed(Box::new(claim(transaction, request, next, pauses)?)),
                        }
                    }
                    None => Graph::read(transaction)?.answer(request),
                },
            )
        })
    }

    /// The task that a run would claim next, without claiming it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn next_task(
        &self,
        scope: &Scope,
        worktree: &str,
        commits_here: &BTreeSet<String>,
    ) -> Result<Option<Task>, StoreError> {
        let found = next_ready(&self.connection, scope, worktree, commits_here);
        Ok(self.sql(found)?.map(|(task, _)| task))
    }

    /// The commits of tasks that were done in other worktrees and that open tasks depend on.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn commits_of_other_worktrees(&self, worktree: &str) -> Result<BTreeSet<String>, StoreError> {
        let sql = "WITH RECURSIVE needed(id) AS (
                       SELECT dependencies.after FROM dependencies JOIN tasks t ON t.id = dependencies.task
                       WHERE t.status <> 'done'
                       UNION SELECT child.id FROM needed CROSS JOIN tasks child ON child.parent = needed.id)
                   SELECT DISTINCT done_commit FROM needed CROSS JOIN tasks task ON task.id = needed.id
                   WHERE task.status = 'done' AND done_worktree <> ?1 AND done_commit IS NOT NULL";
        self.sql(
            self.connection
                .prepare_cached(sql)
                .and_then(|mut statement| statement.query_map([worktree], |row| row.get(0))?.collect()),
        )
    }

    /// Frees the claims of dead runs: those that have ended, those whose process is not `alive`, and where that is
    /// unknown (`None`, on another host or in another PID namespace) those whose lease expired. The fencing token
    /// stays, so that a dead run's iteration can still be settled until another run begins the task; see
    /// [`Store::unfinished`].
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn free_dead_claims(
        &mut self,
        alive: &dyn Fn(&RunProcess) -> Option<bool>,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, StoreError> {
        let claims = self.sql(ClaimRecord::read_all(&self.connection))?;
        let dead: Vec<ClaimRecord> = claims.into_iter().filter(|record| record.is_dead(alive, now)).collect();
        if dead.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|transaction| {
            let mut freed = Vec::new();
            for record in dead {
                if record.is_unchanged(transaction)? {
                    let sentence = format!("Released: {} is no longer running.", record.run);
                    set_task_state(transaction, &record.task, (NewState::Open, &sentence), now)?;
                    freed.push(record.task);
                }
            }
            Ok(freed)
        })
    }

    /// The tasks of a scope that are not done.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn open_tasks(&self, scope: &Scope) -> Result<BTreeSet<TaskId>, StoreError> {
        let graph = self.sql(self.begin_read().and_then(|all| Graph::read(&all)))?;
        Ok(graph.open_tasks(scope))
    }

    /// The tasks that are missing although ralph did not delete them.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn lost_tasks(&self, tasks: &BTreeSet<TaskId>) -> Result<Vec<TaskId>, StoreError> {
        let sql = "SELECT 1 FROM tasks WHERE id = ?1
                   UNION ALL SELECT 1 FROM deleted_tasks WHERE task = ?1";
        let lost = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let mut lost = Vec::new();
            for task in tasks {
                if !statement.exists([task.as_str()])? {
                    lost.push(task.clone());
                }
            }
            Ok(lost)
        });
        self.sql(lost)
    }

    /// Counts the tasks of a scope.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn scope_counts(
        &self,
        scope: &Scope,
        worktree: &str,
        commits_here: &BTreeSet<String>,
    ) -> Result<ScopeCounts, StoreError> {
        let graph = self.sql(self.begin_read().and_then(|all| Graph::read(&all)))?;
        Ok(graph.survey(scope, worktree, commits_here).counts)
    }
}

fn next_ready(
    connection: &Connection,
    scope: &Scope,
    worktree: &str,
    commits_here: &BTreeSet<String>,
) -> rusqlite::Result<Option<(Task, u64)>> {
    let (task, feature) = match scope {
        Scope::All => (None, None),
        Scope::Task(task) => (Some(task.as_str()), None),
        Scope::Feature(feature) => (None, Some(feature.as_str())),
    };
    let scope = match scope {
        Scope::All => ":task IS NULL AND :feature IS NULL",
        Scope::Task(_) | Scope::Feature(_) => IN_SCOPE,
    };
    let sql = format!(
        "SELECT {TASK_COLUMNS}, t.fence FROM tasks t WHERE {READY} AND {scope} ORDER BY t.priority, t.seq LIMIT 1"
    );
    connection
        .prepare_cached(&sql)?
        .query_row(
            named_params! {
                ":task": task,
                ":feature": feature,
                ":worktree": worktree,
                ":commits": json_list(commits_here),
            },
            |row| Ok((read_task(row)?, number_at(row, "fence")?)),
        )
        .optional()
}

/// The pauses of a run's agents, over or not.
struct Pauses {
    own: Option<Pause>,
    of_verifier: Option<Pause>,
}

impl Pauses {
    fn read(connection: &Connection, request: &ClaimRequest<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            own: pause_of(connection, request.run)?,
            of_verifier: match request.verifier {
                Some(agent) => pause_of_agent(connection, agent)?,
                None => None,
            },
        })
    }

    /// The pause that keeps the run from claiming a task.
    fn blocking(&self, request: &ClaimRequest<'_>) -> Option<&Pause> {
        let all = self.own.iter().chain(&self.of_verifier);
        all.into_iter()
            .find(|pause| request.pause_policy.applies(pause, request.now))
    }
}

fn claim(
    transaction: &Transaction<'_>,
    request: &ClaimRequest<'_>,
    (mut task, fence): (Task, u64),
    pauses: Pauses,
) -> rusqlite::Result<Claim> {
    let (attempt, fence) = (task.attempts + 1, fence + 1);
    // A lease beyond the representable time never ends.
    let until = request.now.checked_add(request.lease).unwrap_or(Timestamp::MAX);
    transaction
        .prepare_cached(
            "UPDATE tasks SET status = 'in_progress', claimed_by = ?2, lease_until = ?3, attempts = ?4, fence = ?5,
             updated_at = ?6 WHERE id = ?1",
        )?
        .execute(params![
            task.id.as_str(),
            request.run.as_str(),
            moment(until),
            attempt,
            fence.cast_signed(),
            moment(request.now),
        ])?;
    transaction
        .prepare_cached(
            "INSERT INTO iterations
                 (run, iteration, task, task_title, feature, attempt, fence, phase, rationale, marker, claimed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'claimed', '', ?8, ?9)",
        )?
        .execute(params![
            request.run.as_str(),
            request.iteration,
            task.id.as_str(),
            task.title,
            task.feature.as_ref().map(FeatureId::as_str),
            attempt,
            fence.cast_signed(),
            request.marker,
            moment(request.now),
        ])?;
    let sentence = format!("In progress: attempt {attempt}, by {}.", request.run);
    log(transaction, &task.id, &sentence, request.now)?;
    sign(
        transaction,
        &Author::in_iteration(AuthorKind::Ralph, request.run.clone(), request.iteration),
    )?;
    task.status = ralph_model::TaskStatus::InProgress;
    task.claimed_by = Some(request.run.clone());
    task.attempts = attempt;
    task.updated_at = request.now;
    let marker = request.marker.to_owned();
    Ok(Claim {
        task,
        attempt,
        fence,
        marker,
        pause: pauses.own,
        verifier_pause: pauses.of_verifier,
    })
}

/// A claim and the state of its run.
struct ClaimRecord {
    task: TaskId,
    run: RunId,
    fence: i64,
    lease: Option<String>,
    process: RunProcess,
    has_ended: bool,
}

impl ClaimRecord {
    fn read_all(connection: &rusqlite::Connection) -> rusqlite::Result<Vec<Self>> {
        // The index on the status finds the few claimed tasks.
        let sql = "SELECT t.id AS task, run.id AS run, t.fence, t.lease_until, run.host, run.pid, run.pid_started,
                       run.ended_at IS NOT NULL AS has_ended
                   FROM tasks t JOIN runs run ON run.id = t.claimed_by
                   WHERE t.status = 'in_progress' ORDER BY t.seq";
        connection
            .prepare_cached(sql)?
            .query_map([], |row| {
                Ok(Self {
                    task: word_at(row, "task", TaskId::parse)?,
                    run: word_at(row, "run", RunId::parse)?,
                    fence: row.get("fence")?,
                    lease: row.get("lease_until")?,
                    process: RunProcess::read(row)?,
                    has_ended: row.get("has_ended")?,
                })
            })?
            .collect()
    }

    fn is_dead(&self, alive: &dyn Fn(&RunProcess) -> Option<bool>, now: Timestamp) -> bool {
        if self.has_ended {
            return true;
        }
        let lease_is_over = || {
            let until = self.lease.as_deref().and_then(|lease| lease.parse::<Timestamp>().ok());
            until.is_none_or(|until| until < now)
        };
        alive(&self.process).map_or_else(lease_is_over, |is_alive| !is_alive)
    }

    /// Whether the claim is unchanged since it was found dead: its run may have sent a heartbeat meanwhile.
    fn is_unchanged(&self, transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
        let sql = "SELECT claimed_by, fence, lease_until FROM tasks WHERE id = ?1";
        let now: Option<(Option<RunId>, i64, Option<String>)> = transaction
            .prepare_cached(sql)?
            .query_row([self.task.as_str()], |row| {
                let run = word_in(row, "claimed_by", RunId::parse)?;
                Ok((run, row.get("fence")?, row.get("lease_until")?))
            })
            .optional()?;
        Ok(now.is_some_and(|(run, fence, lease)| {
            run.as_ref() == Some(&self.run) && fence == self.fence && lease == self.lease
        }))
    }
}
