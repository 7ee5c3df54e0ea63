//! Model test: after any sequence of operations, tasks match a naive reading of the rules, and no task is claimed
//! twice.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ralph_model::{Task, TaskId, TaskStatus};
use ralph_store::{ClaimAnswer, ParentChange, Reach, Scope, TaskFilter, TaskUpdate, Which};

use super::{Tasks, now};

#[derive(Debug, Clone)]
enum Operation {
    Add { parent: Option<usize>, after: Vec<usize> },
    After(usize, usize),
    NotAfter(usize, usize),
    Move(usize, Option<usize>),
    Done(usize),
    Fail(usize),
    Reset(usize),
    ResetBelow(usize),
    Delete(usize),
    DeleteAndRestore(usize),
    Restore(usize),
    Claim,
    FreeAll,
}

fn operation() -> impl Strategy<Value = Operation> {
    let task = 0..12usize;
    prop_oneof![
        4 => (prop::option::of(task.clone()), prop::collection::vec(task.clone(), 0..3))
            .prop_map(|(parent, after)| Operation::Add { parent, after }),
        2 => (task.clone(), task.clone()).prop_map(|(a, b)| Operation::After(a, b)),
        1 => (task.clone(), task.clone()).prop_map(|(a, b)| Operation::NotAfter(a, b)),
        1 => (task.clone(), prop::option::of(task.clone())).prop_map(|(a, b)| Operation::Move(a, b)),
        4 => task.clone().prop_map(Operation::Done),
        3 => task.clone().prop_map(Operation::Fail),
        2 => task.clone().prop_map(Operation::Reset),
        1 => task.clone().prop_map(Operation::ResetBelow),
        1 => task.clone().prop_map(Operation::Delete),
        1 => task.clone().prop_map(Operation::DeleteAndRestore),
        1 => task.prop_map(Operation::Restore),
        2 => Just(Operation::Claim),
        1 => Just(Operation::FreeAll),
    ]
}

struct Reference(BTreeMap<TaskId, Task>);

impl Reference {
    fn read(tasks: &Tasks) -> Self {
        let all = tasks.store.tasks(&TaskFilter {
            which: Which::All,
            ..TaskFilter::default()
        });
        Self(all.unwrap().into_iter().map(|task| (task.id.clone(), task)).collect())
    }

    fn without_times(mut self) -> BTreeMap<TaskId, Task> {
        for task in self.0.values_mut() {
            task.updated_at = now(0);
        }
        self.0
    }

    fn children(&self, id: &TaskId) -> Vec<&Task> {
        self.0
            .values()
            .filter(|task| task.parent.as_ref() == Some(id))
            .collect()
    }

    /// The unfinished dependencies of a task and its ancestors.
    fn blockers(&self, id: &TaskId) -> Vec<&Task> {
        let mut found = Vec::new();
        let mut above = Some(id.clone());
        while let Some(id) = above {
            found.extend(self.0[&id].after.iter().map(|after| &self.0[after]));
            above = self.0[&id].parent.clone();
        }
        found.into_iter().filter(|task| !self.is_done(task)).collect()
    }

    fn is_done(&self, task: &Task) -> bool {
        let children = self.children(&task.id);
        if children.is_empty() || task.claimed_by.is_some() {
            return task.status == TaskStatus::Done;
        }
        children.into_iter().all(|child| self.is_done(child))
    }

    fn has_failed(&self, task: &Task) -> bool {
        let children = self.children(&task.id);
        if children.is_empty() || task.claimed_by.is_some() {
            return task.status == TaskStatus::Failed;
        }
        children.iter().all(|child| self.is_resolved(child)) && children.iter().any(|child| self.has_failed(child))
    }

    fn is_resolved(&self, task: &Task) -> bool {
        if task.claimed_by.is_some() {
            return false;
        }
        let children = self.children(&task.id);
        if !children.is_empty() {
            return children.into_iter().all(|child| self.is_resolved(child));
        }
        self.is_done(task)
            || self.has_failed(task)
            || self
                .blockers(&task.id)
                .into_iter()
                .any(|blocker| self.is_resolved(blocker))
    }

    fn status(&self, task: &Task) -> TaskStatus {
        if task.claimed_by.is_some() {
            TaskStatus::InProgress
        } else if self.is_done(task) {
            TaskStatus::Done
        } else if self.has_failed(task) {
            TaskStatus::Failed
        } else if self.blockers(&task.id).is_empty() {
            TaskStatus::Pending
        } else {
            TaskStatus::Blocked
        }
    }

    fn check(&self) {
        for task in self.0.values() {
            assert_eq!(task.status, self.status(task), "{task:?}\nof {:#?}", self.0);
        }
    }

    /// All tasks could be done: there is no dependency cycle.
    fn check_that_all_could_be_done(&self) {
        let mut done: BTreeSet<&TaskId> = BTreeSet::new();
        loop {
            let before = done.len();
            for task in self.0.values() {
                let children = self.children(&task.id);
                let mut above = Some(&task.id);
                let mut may_begin = true;
                while let Some(id) = above {
                    may_begin &= self.0[id].after.iter().all(|after| done.contains(after));
                    above = self.0[id].parent.as_ref();
                }
                if may_begin && children.iter().all(|child| done.contains(&child.id)) {
                    done.insert(&task.id);
                }
            }
            if done.len() == before {
                break;
            }
        }
        assert_eq!(done.len(), self.0.len(), "{:#?}", self.0);
    }
}

fn delete_and_restore(tasks: &mut Tasks, task: &TaskId) -> bool {
    let before = Reference::read(tasks);
    let is_deleted = tasks.store.delete_task(task, now(1)).is_ok();
    if is_deleted {
        tasks.store.restore_task(task, now(2)).unwrap();
        assert_eq!(Reference::read(tasks).without_times(), before.without_times());
    }
    is_deleted
}

fn restore_one(tasks: &mut Tasks, ids: &mut Vec<TaskId>, place: usize) -> bool {
    let deleted = tasks.store.deleted_tasks().unwrap();
    let picked = deleted.get(place % deleted.len().max(1));
    let restored = picked.and_then(|deleted| tasks.store.restore_task(&deleted.id, now(2)).ok());
    ids.extend(restored.iter().flatten().map(|task| task.id.clone()));
    restored.is_some()
}

fn claim(tasks: &mut Tasks, runs: &mut u64) -> bool {
    *runs += 1;
    let run = tasks.run(*runs);
    let ready = tasks.store.tasks(&TaskFilter {
        which: Which::Ready {
            worktree: "",
            commits_here: &BTreeSet::new(),
        },
        ..TaskFilter::default()
    });
    let ready = ready.unwrap().into_iter().next().map(|task| task.id);
    let claimed = match tasks.ask(&run, &Scope::All) {
        ClaimAnswer::Paused(pause) => panic!("{pause:?}"),
        ClaimAnswer::Claimed(claim) => Some(claim.task.id),
        ClaimAnswer::Busy { .. } => None,
        ClaimAnswer::Nothing(counts) => {
            assert_eq!(counts.open, 0, "{counts:?}");
            None
        }
    };
    assert_eq!(claimed, ready);
    true
}

fn apply(tasks: &mut Tasks, ids: &mut Vec<TaskId>, operation: &Operation, runs: &mut u64) {
    let pick = |place: usize| ids.get(place % ids.len().max(1)).cloned();
    let accepted = match operation {
        Operation::Add { parent, after } => {
            let after: Vec<TaskId> = after.iter().filter_map(|place| pick(*place)).collect();
            let parent = parent.and_then(pick);
            let added = tasks.try_add("x", parent.as_ref(), &after.iter().collect::<Vec<_>>());
            added.map(|id| ids.push(id)).is_ok()
        }
        Operation::Claim => claim(tasks, runs),
        Operation::FreeAll => tasks.store.free_dead_claims(&|_| Some(false), now(50)).is_ok(),
        Operation::After(a, b) => pick(*a)
            .zip(pick(*b))
            .is_some_and(|(a, b)| tasks.wait_for(&a, &b).is_ok()),
        Operation::NotAfter(a, b) => pick(*a).zip(pick(*b)).is_some_and(|(a, b)| {
            let update = TaskUpdate {
                remove_after: vec![b],
                ..TaskUpdate::default()
            };
            tasks.store.update_task(&a, &update, now(1)).is_ok()
        }),
        Operation::Move(a, b) => pick(*a).is_some_and(|a| {
            let to = b.and_then(pick).map_or(ParentChange::Top, ParentChange::Under);
            tasks.move_under(&a, to).is_ok()
        }),
        Operation::Done(a) => pick(*a).is_some_and(|a| {
            let done = ralph_store::DoneIn {
                worktree: String::new(),
                commit: None,
            };
            tasks.store.finish_task(&a, &done, now(1)).is_ok()
        }),
        Operation::Fail(a) => pick(*a).is_some_and(|a| tasks.store.fail_task(&a, "x", now(1)).is_ok()),
        Operation::Reset(a) => pick(*a).is_some_and(|a| tasks.store.reset_task(&a, Reach::Itself, now(1)).is_ok()),
        Operation::ResetBelow(a) => {
            pick(*a).is_some_and(|a| tasks.store.reset_task(&a, Reach::FailedBelow, now(1)).is_ok())
        }
        Operation::Delete(a) => pick(*a).is_some_and(|a| match tasks.store.delete_task(&a, now(1)) {
            Ok(gone) => {
                ids.retain(|id| !gone.iter().any(|task| task.id == *id));
                true
            }
            Err(_) => false,
        }),
        Operation::DeleteAndRestore(a) => pick(*a).is_some_and(|a| delete_and_restore(tasks, &a)),
        Operation::Restore(place) => restore_one(tasks, ids, *place),
    };
    // Accepted or refused, the state must be valid.
    let reference = Reference::read(tasks);
    assert_eq!(reference.0.len(), ids.len(), "{operation:?}, accepted: {accepted}");
    reference.check_that_all_could_be_done();
    reference.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_sequence_of_operations_keeps_the_rules(operations in prop::collection::vec(operation(), 1..40)) {
        let mut tasks = Tasks::new();
        let (mut ids, mut runs) = (Vec::new(), 0);
        for operation in &operations {
            apply(&mut tasks, &mut ids, operation, &mut runs);
        }
    }
}
