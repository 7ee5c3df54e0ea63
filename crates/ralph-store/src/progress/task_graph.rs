//! The graph of all tasks, as seen from one worktree: what can be done without a person, and which tasks are claimed.
//!
//! It is only needed when no task is ready, so everything is read at once and computed in memory.

use std::collections::{BTreeSet, HashMap, HashSet};

use ralph_model::{FeatureId, RunId, TaskId, TaskStatus, UnverifiedReason};
use rusqlite::Connection;

use super::claims::{ClaimAnswer, ClaimRequest, Scope, ScopeCounts};
use super::columns::{word_at, word_in};

/// All tasks with their relations; tasks are referred to by index.
#[derive(Default)]
pub(super) struct Graph {
    tasks: Vec<Node>,
}

struct Node {
    id: TaskId,
    status: TaskStatus,
    unverified: Option<UnverifiedReason>,
    feature: Option<FeatureId>,
    claimed_by: Option<RunId>,
    done: Option<(String, Option<String>)>,
    parent: Option<usize>,
    children: Vec<usize>,
    after: Vec<usize>,
    waiting: Vec<usize>,
}

/// The counts of a scope, and the claimed tasks in it or before it.
pub(super) struct Seen {
    pub(super) counts: ScopeCounts,
    claimed: Vec<(TaskId, RunId)>,
}

impl Graph {
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut graph = Self::default();
        let mut places: HashMap<TaskId, usize> = HashMap::new();
        let mut parents: Vec<(usize, TaskId)> = Vec::new();
        let sql = "SELECT id, status, unverified, feature, claimed_by, done_worktree, done_commit, parent FROM tasks
                   WHERE status <> 'proposed' ORDER BY seq";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let place = graph.tasks.len();
            let id = word_at(row, "id", TaskId::parse)?;
            let worktree: Option<String> = row.get("done_worktree")?;
            let commit: Option<String> = row.get("done_commit")?;
            if let Some(parent) = word_in(row, "parent", TaskId::parse)? {
                parents.push((place, parent));
            }
            places.insert(id.clone(), place);
            graph.tasks.push(Node {
                id,
                status: word_at(row, "status", TaskStatus::parse)?,
                unverified: word_in(row, "unverified", UnverifiedReason::parse)?,
                feature: word_in(row, "feature", FeatureId::parse)?,
                claimed_by: word_in(row, "claimed_by", RunId::parse)?,
                done: worktree.map(|worktree| (worktree, commit)),
                parent: None,
                children: Vec::new(),
                after: Vec::new(),
                waiting: Vec::new(),
            });
        }
        for (place, parent) in parents {
            let parent = places.get(&parent).copied();
            graph.with(place, |task| task.parent = parent);
            if let Some(parent) = parent {
                graph.with(parent, |task| task.children.push(place));
            }
        }
        let mut statement = connection.prepare_cached("SELECT task, after FROM dependencies ORDER BY task, after")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let task = places.get(&word_at(row, "task", TaskId::parse)?);
            let after = places.get(&word_at(row, "after", TaskId::parse)?);
            if let (Some(task), Some(after)) = (task, after) {
                graph.with(*task, |node| node.after.push(*after));
                graph.with(*after, |node| node.waiting.push(*task));
            }
        }
        Ok(graph)
    }

    /// The answer to a run for which no task is ready.
    pub(super) fn answer(&self, request: &ClaimRequest<'_>) -> ClaimAnswer {
        let seen = self.survey(request.scope, request.worktree, request.commits_here);
        let claimed: Vec<_> = seen.claimed.into_iter().filter(|(_, run)| run != request.run).collect();
        if claimed.is_empty() {
            ClaimAnswer::Nothing(seen.counts)
        } else {
            ClaimAnswer::Busy { held: claimed }
        }
    }

    pub(super) fn open_tasks(&self, scope: &Scope) -> BTreeSet<TaskId> {
        let inside = self.inside(scope).into_iter().filter_map(|place| self.tasks.get(place));
        let open = inside.filter(|task| task.status != TaskStatus::Done);
        open.map(|task| task.id.clone()).collect()
    }

    pub(super) fn survey(&self, scope: &Scope, worktree: &str, commits_here: &BTreeSet<String>) -> Seen {
        let inside = self.inside(scope);
        let stuck = self.stuck(&inside, |(where_done, commit)| {
            where_done == worktree || commit.as_ref().is_some_and(|commit| commits_here.contains(commit))
        });
        let mut counts = ScopeCounts::default();
        let mut open = Vec::new();
        let mut claimed = BTreeSet::new();
        for place in &inside {
            let Some(task) = self.tasks.get(*place) else { continue };
            if task.claimed_by.is_some() {
                claimed.insert(*place);
            }
            if !task.children.is_empty() {
                continue;
            }
            match task.status {
                TaskStatus::Done => {
                    counts.done += 1;
                    if let Some(reason) = task.unverified {
                        counts.unverified.add(reason);
                    }
                }
                TaskStatus::Failed => counts.failed += 1,
                _ if stuck.contains(place) => counts.waiting += 1,
                _ => {
                    counts.open += 1;
                    open.push(*place);
                }
            }
        }
        claimed.extend(self.claimed_before(open));
        let claimed = claimed.into_iter().filter_map(|place| {
            let task = self.tasks.get(place)?;
            Some((task.id.clone(), task.claimed_by.clone()?))
        });
        Seen {
            counts,
            claimed: claimed.collect(),
        }
    }

    fn with(&mut self, place: usize, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.tasks.get_mut(place) {
            change(node);
        }
    }

    /// The indexes of the tasks in a scope, in order of creation.
    fn inside(&self, scope: &Scope) -> BTreeSet<usize> {
        let named = |task: &Node| match scope {
            Scope::All => true,
            Scope::Task(id) => task.id == *id,
            Scope::Feature(feature) => task.feature.as_ref() == Some(feature),
        };
        let tops = self.tasks.iter().enumerate().filter(|(_, task)| named(task));
        self.with_all_below(tops.map(|(place, _)| place).collect())
    }

    fn with_all_below(&self, mut ahead: Vec<usize>) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        while let Some(place) = ahead.pop() {
            if found.insert(place)
                && let Some(task) = self.tasks.get(place)
            {
                ahead.extend(&task.children);
            }
        }
        found
    }

    /// Tasks that block others until a person acts: failed ones, those that need review before others build on them,
    /// those done only elsewhere, those that no run in this scope works on, and everything behind any of these.
    fn stuck(&self, inside: &BTreeSet<usize>, is_here: impl Fn(&(String, Option<String>)) -> bool) -> HashSet<usize> {
        let blocks = |(place, task): (usize, &Node)| {
            let blocks = match task.status {
                TaskStatus::Done => {
                    let needs_review = task.unverified == Some(UnverifiedReason::EvidenceChanged);
                    needs_review || task.done.as_ref().is_some_and(|done| !is_here(done))
                }
                TaskStatus::Failed => true,
                TaskStatus::InProgress | TaskStatus::Proposed => false,
                TaskStatus::Pending | TaskStatus::Blocked => task.children.is_empty() && !inside.contains(&place),
            };
            blocks.then_some(place)
        };
        let mut ahead: Vec<usize> = self.tasks.iter().enumerate().filter_map(blocks).collect();
        let mut stuck: HashSet<usize> = HashSet::new();
        while let Some(place) = ahead.pop() {
            if !stuck.insert(place) {
                continue;
            }
            let Some(task) = self.tasks.get(place) else { continue };
            // A parent is not done before this subtask is.
            ahead.extend(task.parent);
            for behind in self.with_all_below(task.waiting.clone()) {
                let waits = self.tasks.get(behind).is_some_and(|task| {
                    task.children.is_empty() && matches!(task.status, TaskStatus::Pending | TaskStatus::Blocked)
                });
                if waits {
                    ahead.push(behind);
                }
            }
        }
        stuck
    }

    /// The claimed tasks that these depend on, directly or indirectly.
    fn claimed_before(&self, mut ahead: Vec<usize>) -> BTreeSet<usize> {
        let (mut seen, mut claimed) = (HashSet::new(), BTreeSet::new());
        while let Some(place) = ahead.pop() {
            if !seen.insert(place) {
                continue;
            }
            let mut above = Some(place);
            while let Some(task) = above.and_then(|above| self.tasks.get(above)) {
                for before in self.with_all_below(task.after.clone()) {
                    let Some(other) = self.tasks.get(before) else { continue };
                    if other.claimed_by.is_some() {
                        claimed.insert(before);
                    } else if other.status != TaskStatus::Done {
                        ahead.push(before);
                    }
                }
                above = task.parent;
            }
        }
        claimed
    }
}
