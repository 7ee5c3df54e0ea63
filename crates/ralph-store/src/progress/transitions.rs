//! What follows from a change of a task: dependents are unblocked, and parents become done, failed or open again.
//!
//! A task's status follows from its recorded state (open, done, failed, claimed), its children and its dependencies.
//! The consequences of a change are computed task by task, each from its neighbours, until nothing changes. Because
//! there are no dependency cycles (see `dependency_cycles.rs`), this terminates, and always with the same result.

use std::collections::{BTreeMap, HashSet, VecDeque};

use jiff::Timestamp;
use ralph_model::{TaskId, TaskStatus, Unverified};
use rusqlite::{OptionalExtension, Transaction, params};

use super::columns::{count_at, moment, to_json, word_at};
use super::task_rows::{ids, log};

/// The state to record for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewState<'a> {
    Open,
    /// Done in this worktree or on this reference, and in this commit. If it is unverified, a person has to review it.
    Done {
        worktree: Option<&'a str>,
        commit: Option<&'a str>,
        unverified: Option<&'a Unverified>,
    },
    Failed,
}

/// Records a task's state, a sentence for its log, and all consequences, and releases its claim. Returns the resulting
/// status; none if there is no such task.
pub(super) fn set_task_state(
    transaction: &Transaction<'_>,
    task: &TaskId,
    (state, sentence): (NewState<'_>, &str),
    now: Timestamp,
) -> rusqlite::Result<Option<TaskStatus>> {
    let (status, worktree, commit, unverified) = match state {
        NewState::Open => (TaskStatus::Pending, None, None, None),
        NewState::Done {
            worktree,
            commit,
            unverified,
        } => (TaskStatus::Done, worktree, commit, unverified),
        NewState::Failed => (TaskStatus::Failed, None, None, None),
    };
    let names = unverified.map(Unverified::changed).filter(|names| !names.is_empty());
    let changed_rows = transaction
        .prepare_cached(
            "UPDATE tasks SET status = ?2, done_worktree = ?3, done_commit = ?4, updated_at = ?5, behind_failed = 0,
             claimed_by = NULL, lease_until = NULL, unverified = ?6, unverified_changed = ?7, to_review = 0 WHERE id = ?1",
        )?
        .execute(params![
            task.as_str(),
            status.word(),
            worktree,
            commit,
            moment(now),
            unverified.map(|unverified| unverified.reason().word()),
            names.map(to_json).transpose()?,
        ])?;
    if changed_rows == 0 {
        return Ok(None);
    }
    log(transaction, task, sentence, now)?;
    changed(transaction, std::slice::from_ref(task), now)?;
    transaction
        .prepare_cached("SELECT status FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| word_at(row, "status", TaskStatus::parse))
        .optional()
}

/// Computes the consequences of a change to these tasks: to their state, parents, children or dependencies. Each status
/// change is logged.
pub(super) fn changed(transaction: &Transaction<'_>, tasks: &[TaskId], now: Timestamp) -> rusqlite::Result<()> {
    let mut queue = Queue::default();
    let mut below: HashSet<TaskId> = HashSet::new();
    for task in tasks {
        queue.push(task.clone());
        // The descendants of a task that is itself a descendant are already in `below`.
        if !below.contains(task) {
            for other in ids(transaction, BELOW, [task.as_str()])? {
                queue.push(other.clone());
                below.insert(other);
            }
        }
        for other in ids(transaction, AFFECTED, [task.as_str()])? {
            queue.push(other);
        }
    }
    let mut before: BTreeMap<TaskId, TaskStatus> = BTreeMap::new();
    while let Some(task) = queue.pop() {
        let Some(old) = NodeState::read(transaction, &task)? else {
            continue;
        };
        let new = old.recomputed(transaction, &task)?;
        if (new.status, new.behind_failed) == (old.status, old.behind_failed) {
            continue;
        }
        before.entry(task.clone()).or_insert(old.status);
        new.write(transaction, &task, now)?;
        if new.visible_state() != old.visible_state() {
            for other in ids(transaction, AFFECTED, [task.as_str()])? {
                queue.push(other);
            }
        }
    }
    for (task, old) in before {
        if let Some(place) = NodeState::read(transaction, &task)?
            && place.status != old
        {
            log(transaction, &task, &place.sentence(transaction, &task)?, now)?;
        }
    }
    Ok(())
}

/// All descendants of a task. Here and elsewhere, CROSS JOIN makes SQLite go from the few rows to the many; otherwise
/// it would decide by statistics that it does not have.
const BELOW: &str = "WITH RECURSIVE below(id) AS (
        SELECT id FROM tasks WHERE parent = ?1
        UNION SELECT child.id FROM below CROSS JOIN tasks child ON child.parent = below.id)
    SELECT id FROM below ORDER BY id";

/// The tasks that depend on a task's state: its parent, its dependents, and all descendants of those.
const AFFECTED: &str = "WITH RECURSIVE waiting(id) AS (
        SELECT task FROM dependencies WHERE after = ?1
        UNION SELECT child.id FROM waiting CROSS JOIN tasks child ON child.parent = waiting.id)
    SELECT id FROM waiting
    UNION SELECT parent FROM tasks WHERE id = ?1 AND parent IS NOT NULL
    ORDER BY id";

/// The unfinished dependencies of a task and of its ancestors.
const BLOCKERS: &str = "WITH RECURSIVE up(id) AS (
        SELECT ?1
        UNION ALL SELECT task.parent FROM up CROSS JOIN tasks task ON task.id = up.id WHERE task.parent IS NOT NULL)
    SELECT blocker.id,
           blocker.status = 'failed' OR blocker.behind_failed OR coalesce(blocker.unverified, '') = 'evidence_changed' AS needs_person
    FROM up CROSS JOIN dependencies ON dependencies.task = up.id CROSS JOIN tasks blocker ON blocker.id = dependencies.after
    WHERE blocker.status <> 'done' OR coalesce(blocker.unverified, '') = 'evidence_changed'
    GROUP BY blocker.id ORDER BY blocker.id";

/// The unfinished dependencies of a task, including those that need review first; each with whether it needs a person.
pub(super) fn blockers(connection: &rusqlite::Connection, task: &TaskId) -> rusqlite::Result<Vec<(TaskId, bool)>> {
    connection
        .prepare_cached(BLOCKERS)?
        .query_map([task.as_str()], |row| {
            Ok((word_at(row, "id", TaskId::parse)?, row.get("needs_person")?))
        })?
        .collect()
}

/// Tasks to recompute; each is queued at most once at a time.
#[derive(Default)]
struct Queue {
    order: VecDeque<TaskId>,
    waiting: HashSet<TaskId>,
}

impl Queue {
    fn push(&mut self, task: TaskId) {
        if self.waiting.insert(task.clone()) {
            self.order.push_back(task);
        }
    }

    fn pop(&mut self) -> Option<TaskId> {
        let task = self.order.pop_front()?;
        self.waiting.remove(&task);
        Some(task)
    }
}

/// The part of a task's state that other tasks depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisibleState {
    Done,
    Failed,
    /// Done, but dependents wait until a person has reviewed it.
    NeedsReview,
    BehindFailed,
    Open,
}

/// A task's state and the counts of its children.
#[derive(Debug, Clone, Copy)]
struct NodeState {
    status: TaskStatus,
    behind_failed: bool,
    needs_review: bool,
    is_claimed: bool,
    children: Children,
}

/// Counts of a task's children. One that is done but needs review before others may build on it counts as behind a
/// failed one, not as done.
#[derive(Debug, Clone, Copy)]
struct Children {
    all: u32,
    done: u32,
    failed: u32,
    behind_failed: u32,
}

impl NodeState {
    fn read(transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT task.status, task.behind_failed, task.claimed_by IS NOT NULL AS is_claimed,
                       coalesce(task.unverified, '') = 'evidence_changed' AS needs_review, COUNT(child.seq) AS children,
                       COUNT(iif(child.status = 'done' AND coalesce(child.unverified, '') <> 'evidence_changed', 1, NULL))
                           AS children_done,
                       COUNT(iif(child.status = 'failed', 1, NULL)) AS children_failed,
                       COUNT(iif(child.behind_failed OR coalesce(child.unverified, '') = 'evidence_changed', 1, NULL))
                           AS children_behind_failed
                   FROM tasks task LEFT JOIN tasks child ON child.parent = task.id
                   WHERE task.id = ?1 GROUP BY task.id";
        transaction
            .prepare_cached(sql)?
            .query_row([task.as_str()], |row| {
                Ok(Self {
                    status: word_at(row, "status", TaskStatus::parse)?,
                    behind_failed: row.get("behind_failed")?,
                    needs_review: row.get("needs_review")?,
                    is_claimed: row.get("is_claimed")?,
                    children: Children {
                        all: count_at(row, "children")?,
                        done: count_at(row, "children_done")?,
                        failed: count_at(row, "children_failed")?,
                        behind_failed: count_at(row, "children_behind_failed")?,
                    },
                })
            })
            .optional()
    }

    fn visible_state(&self) -> VisibleState {
        match self.status {
            TaskStatus::Done if self.needs_review => VisibleState::NeedsReview,
            TaskStatus::Done => VisibleState::Done,
            TaskStatus::Failed => VisibleState::Failed,
            _ if self.behind_failed => VisibleState::BehindFailed,
            _ => VisibleState::Open,
        }
    }

    /// The state that follows from the task's children and dependencies.
    fn recomputed(self, transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<Self> {
        let at = |status, behind_failed| Self {
            status,
            behind_failed,
            ..self
        };
        if self.is_claimed {
            return Ok(at(TaskStatus::InProgress, false));
        }
        let Children {
            all,
            done,
            failed,
            behind_failed,
        } = self.children;
        let is_parent = all > 0;
        let all_resolved = is_parent && done + failed + behind_failed == all;
        if is_parent && done == all {
            return Ok(at(TaskStatus::Done, false));
        }
        if all_resolved && failed > 0 {
            return Ok(at(TaskStatus::Failed, false));
        }
        if !is_parent
            && matches!(
                self.status,
                TaskStatus::Done | TaskStatus::Failed | TaskStatus::Proposed
            )
        {
            return Ok(at(self.status, false));
        }
        let blockers = blockers(transaction, task)?;
        let status = if blockers.is_empty() {
            TaskStatus::Pending
        } else {
            TaskStatus::Blocked
        };
        let behind_failed = if is_parent {
            all_resolved
        } else {
            blockers.iter().any(|(_, needs_person)| *needs_person)
        };
        Ok(at(status, behind_failed))
    }

    fn write(&self, transaction: &Transaction<'_>, task: &TaskId, now: Timestamp) -> rusqlite::Result<()> {
        // A parent's place is that of its subtasks, and an open task has none.
        let keeps_place = self.children.all == 0 && self.status == TaskStatus::Done;
        transaction
            .prepare_cached(
                "UPDATE tasks SET status = ?2, behind_failed = ?3, updated_at = ?4,
                     done_worktree = iif(?5, done_worktree, NULL), done_commit = iif(?5, done_commit, NULL),
                     unverified = iif(?5, unverified, NULL), unverified_changed = iif(?5, unverified_changed, NULL)
                 WHERE id = ?1",
            )?
            .execute(params![
                task.as_str(),
                self.status.word(),
                self.behind_failed,
                moment(now),
                keeps_place
            ])
            .map(drop)
    }

    /// The sentence for the task's log.
    fn sentence(&self, transaction: &Transaction<'_>, task: &TaskId) -> rusqlite::Result<String> {
        Ok(match self.status {
            TaskStatus::Proposed => "Proposed.".to_owned(),
            TaskStatus::Pending if self.children.all > 0 => "Open: not all subtasks are done.".to_owned(),
            TaskStatus::Pending => "Pending: all dependencies are done.".to_owned(),
            TaskStatus::InProgress => "In progress.".to_owned(),
            TaskStatus::Done => "Done: all subtasks are done.".to_owned(),
            TaskStatus::Failed => "Failed: a subtask failed, and no open ones are left.".to_owned(),
            TaskStatus::Blocked => {
                let blockers = blockers(transaction, task)?;
                let blockers: Vec<&str> = blockers.iter().map(|(id, _)| id.as_str()).collect();
                format!("Blocked: waiting for {}.", blockers.join(", "))
            }
        })
    }
}
