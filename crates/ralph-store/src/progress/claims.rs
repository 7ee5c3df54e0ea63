//! Which task comes next, and whose it is: one run works on a task at a time, and a run that died holds none.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, FeatureId, RunId, Task, TaskId, UnverifiedReason};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params, params};

use super::Store;
use super::authorship::sign;
use super::columns::{moment, number_at, word_at, word_in};
use super::pauses::{Heed, Pause, pause_of, pause_of_agent};
use super::standing::Graph;
use super::task_reading::json_list;
use super::task_rows::{TASK_COLUMNS, log, read_task};
use super::transitions::{Said, say};
use crate::StoreError;

/// Which tasks a run works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// One task with everything below it.
    Task(TaskId),
    /// The tasks of a feature.
    Feature(FeatureId),
}

/// A run asks for its next task.
#[derive(Debug, Clone)]
pub struct ClaimRequest<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Which iteration of the run it will be, from 1.
    pub iteration: u32,
    /// Which tasks it works on.
    pub scope: &'a Scope,
    /// The worktree's name; empty for the main one.
    pub worktree: &'a str,
    /// Commits of other worktrees' tasks that the checked-out commit holds; see [`Store::commits_of_other_worktrees`].
    pub commits_here: &'a BTreeSet<String>,
    /// The random word of this iteration.
    pub marker: &'a str,
    /// For how long the claim holds unless the run says more.
    pub lease: Duration,
    /// Another agent that the run needs, which looks at its work; none where it is the same.
    pub verifier: Option<&'a str>,
    /// Whether a pause of the run's agents keeps it from a task.
    pub heed: Heed<'a>,
    /// The present moment.
    pub now: Timestamp,
}

/// A task that is the run's own now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The task.
    pub task: Task,
    /// Which attempt at it this is, from 1; never used again.
    pub attempt: u32,
    /// The number that the settlement must name.
    pub fence: u64,
    /// The random word of the iteration.
    pub marker: String,
    /// The last pause of the agent that no iteration has shown to be over.
    pub pause: Option<Pause>,
    /// The same of the other agent, where the run needs one.
    pub verifier_pause: Option<Pause>,
}

/// What a run is answered that asks for its next task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// This one.
    Claimed(Box<Claim>),
    /// One is ready, but one of the run's agents should not be started yet. Nothing is claimed.
    Paused(Box<Pause>),
    /// None is ready, but live runs hold tasks, and what they do may make one ready.
    Busy {
        /// The tasks that are held, with their runs.
        held: Vec<(TaskId, RunId)>,
    },
    /// None is ready, and none will be without a person.
    Nothing(Standing),
}

/// How the tasks of a scope stand, those that have children left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Done.
    pub done: u32,
    /// Those of the done ones that a person has to review.
    pub unverified: UnverifiedCounts,
    /// Failed.
    pub failed: u32,
    /// Not done, and behind a failed one or one that is done in another worktree only.
    pub waiting: u32,
    /// Not done, and nothing is in their way.
    pub open: u32,
}

impl Standing {
    /// How many tasks need a person: failed, behind what needs a person, or unverified.
    #[must_use]
    pub fn for_a_person(&self) -> u32 {
        self.failed + self.waiting + self.unverified.all()
    }
}

/// How many tasks are unverified, by the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnverifiedCounts {
    /// No gate or verifier confirmed them.
    pub no_evidence: u32,
    /// They changed nothing.
    pub nothing_changed: u32,
    /// What their evidence rests on was changed.
    pub evidence_changed: u32,
}

impl UnverifiedCounts {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> u32 {
        self.no_evidence + self.nothing_changed + self.evidence_changed
    }

    /// The reason of all of them; none when there are several reasons, or no tasks.
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

/// The process of a run, as its host knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunProcess {
    /// Where its pid is valid: the host, its boot and the PID namespace; see `ralph_process::host`.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// When it began, as the system counts.
    pub started: u64,
}

impl RunProcess {
    /// The process that a row of a run names.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            host: row.get("host")?,
            pid: row.get("pid")?,
            started: number_at(row, "pid_started")?,
        })
    }
}

/// What makes a task `t` ready: nobody works on it, it has no children, and everything that it or a task above it comes
/// after is done here, with all its parts, and does not need review first. A parent is done where its parts are.
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

/// The tasks of a scope: those that it names, and everything below them.
pub(super) const IN_SCOPE: &str = "t.id IN (
    WITH RECURSIVE inside(id) AS (
        SELECT id FROM tasks WHERE id = :task
        UNION SELECT id FROM tasks WHERE :feature IS NOT NULL AND feature = :feature
        UNION SELECT child.id FROM inside CROSS JOIN tasks child ON child.parent = inside.id)
    SELECT id FROM inside)";

impl Store {
    /// Claims the next task of a scope, and opens the record of the iteration: pending, no children, everything before it
    /// (and before its ancestors) done here; the lowest priority number first, then the oldest.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn claim_next(&mut self, request: &ClaimRequest<'_>) -> Result<ClaimAnswer, StoreError> {
        // Without power nobody works on anything, so a claim that is lost then is lost to nobody. What is started on it is
        // on disk before it starts, and the claim with it; see [`Store::record_start`].
        self.write_for_now(|transaction| {
            Ok(
                match next_ready(transaction, request.scope, request.worktree, request.commits_here)? {
                    Some(next) => {
                        let pauses = Pauses::read(transaction, request)?;
                        match pauses.that_holds(request) {
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

    /// The commits in which tasks were done elsewhere that others wait for here.
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

    /// Frees the claims of runs that are dead: those that have ended, those whose process is not `alive`, and where that
    /// cannot be told (`None`, on another host or in another PID namespace) those whose lease is over. The number of the claim stays, so that a dead
    /// run's iteration can still be settled as long as nobody else has begun the task; see [`Store::unfinished`].
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn free_dead_claims(
        &mut self,
        alive: &dyn Fn(&RunProcess) -> Option<bool>,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, StoreError> {
        let claims = self.sql(Held::read_all(&self.connection))?;
        let dead: Vec<Held> = claims.into_iter().filter(|held| held.is_dead(alive, now)).collect();
        if dead.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|transaction| {
            let mut freed = Vec::new();
            for held in dead {
                if held.is_unchanged(transaction)? {
                    let sentence = format!("Free again: {} is gone.", held.run);
                    say(transaction, &held.task, (Said::Open, &sentence), now)?;
                    freed.push(held.task);
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
        let graph = self.sql(self.look().and_then(|all| Graph::read(&all)))?;
        Ok(graph.open_tasks(scope))
    }

    /// Those of the tasks that are missing although nobody deleted them with ralph.
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

    /// How the tasks of a scope stand.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn standing(
        &self,
        scope: &Scope,
        worktree: &str,
        commits_here: &BTreeSet<String>,
    ) -> Result<Standing, StoreError> {
        let graph = self.sql(self.look().and_then(|all| Graph::read(&all)))?;
        Ok(graph.standing(scope, worktree, commits_here).standing)
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

/// The pauses of the agents that a run needs, over or not.
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

    /// The one that keeps the run from a task.
    fn that_holds(&self, request: &ClaimRequest<'_>) -> Option<&Pause> {
        let all = self.own.iter().chain(&self.of_verifier);
        all.into_iter().find(|pause| request.heed.holds(pause, request.now))
    }
}

fn claim(
    transaction: &Transaction<'_>,
    request: &ClaimRequest<'_>,
    (mut task, fence): (Task, u64),
    pauses: Pauses,
) -> rusqlite::Result<Claim> {
    let (attempt, fence) = (task.attempts + 1, fence + 1);
    // A lease that is longer than time itself never ends.
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

/// A claim, and what is known of the run that has it.
struct Held {
    task: TaskId,
    run: RunId,
    fence: i64,
    lease: Option<String>,
    process: RunProcess,
    has_ended: bool,
}

impl Held {
    fn read_all(connection: &rusqlite::Connection) -> rusqlite::Result<Vec<Self>> {
        // The index of statuses leads to the few that are claimed.
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

    /// Whether the claim is still the one that was found dead: its run may have given a sign in between.
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
