//! Id prefixes, parents, dependencies and cycles, deleting and restoring.

use ralph_model::{Entropy, NewTask, Priority, TaskId};
use ralph_store::{ParentChange, TaskError, TaskFilter, TaskUpdate, Which};

use super::{Tasks, now};

/// Entropy with these bits.
struct Bits(Vec<u64>);

impl Entropy for Bits {
    fn next_bits(&mut self) -> u64 {
        self.0.remove(0)
    }
}

#[test]
fn ids_of_deleted_tasks_are_not_reused() {
    let mut tasks = Tasks::new();
    let mut entropy = Bits(vec![1, 1, 2, 1, 3]);
    let mut add = |tasks: &mut Tasks| {
        let added = tasks.store.add_task(&NewTask::titled("x"), &mut entropy, now(0));
        added.unwrap().id.to_string()
    };
    assert_eq!(add(&mut tasks), "t-000001");
    assert_eq!(add(&mut tasks), "t-000002");
    tasks.execute(
        "INSERT INTO journal (run_id, iteration, task_id, task_title, attempt, outcome, stop_reason, reason,
             model_rationale, duration_ms, cost_usd, input_tokens, output_tokens, files_modified, changed_nothing,
             malformed_sigils, created_at)
         VALUES ('run-1', 1, 't-000001', 'x', 1, 'failed', 'crash', '', '', 1, 0, 0, 0, '[]', 0, 0, '')",
    );
    let first = TaskId::new(1);
    tasks.store.delete_task(&first, now(1)).unwrap();
    assert_eq!(add(&mut tasks), "t-000003");
}

#[test]
fn task_is_found_by_id_prefix() {
    let mut tasks = Tasks::new();
    let mut entropy = Bits(vec![0x1a_0000, 0x1a_0001, 0x1b_0000]);
    for title in ["one", "two", "three"] {
        let added = tasks.store.add_task(&NewTask::titled(title), &mut entropy, now(0));
        added.unwrap();
    }
    let find = |text: &str| match tasks.store.find_task(text) {
        Ok(id) => id.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(find("t-1b"), "t-1b0000");
    assert_eq!(find("1B"), "t-1b0000");
    assert_eq!(find("t-1a0001"), "t-1a0001");
    assert_eq!(find("1a"), "1a matches several ids: t-1a0000 (one), t-1a0001 (two)");
    assert_eq!(find(""), "there is no task \"\"");
    for of_all in ["t", "t-"] {
        let several = format!("{of_all} matches several ids: t-1a0000 (one), ");
        assert!(find(of_all).starts_with(&several), "{}", find(of_all));
    }
    for unknown in ["t-t", "2", "t-1b00000", "x", "%", "t-1b_"] {
        assert_eq!(find(unknown), format!("there is no task {unknown}"));
    }
}

#[track_caller]
fn check_cycle(result: Result<impl std::fmt::Debug, TaskError>, expected: &str) {
    let error = result.unwrap_err().to_string();
    let said = error.strip_prefix("dependency cycle: ");
    assert_eq!(said, Some(expected), "{error}");
}

#[test]
fn cycles_are_refused_with_their_steps() {
    let mut tasks = Tasks::new();
    let (a, b) = (tasks.add("a"), tasks.add("b"));
    let part = tasks.subtask("part of b", &b);
    tasks.wait_for(&b, &a).unwrap();
    let before = tasks.store.tasks(&TaskFilter::default()).unwrap();

    check_cycle(tasks.wait_for(&a, &a), &format!("{a} depends on itself"));
    check_cycle(
        tasks.wait_for(&a, &b),
        &format!("{a} depends on {b}, {b} depends on {a}"),
    );
    check_cycle(
        tasks.wait_for(&a, &part),
        &format!("{a} depends on {part}, {part} is a subtask of {b}, {b} depends on {a}"),
    );
    check_cycle(
        tasks.wait_for(&part, &b),
        &format!("{part} depends on {b}, {b} needs {part} to be done"),
    );
    check_cycle(
        tasks.wait_for(&b, &part),
        &format!("{b} depends on {part}, {part} is a subtask of {b}"),
    );
    check_cycle(
        tasks.move_under(&a, ParentChange::Under(b.clone())),
        &format!("{a} is a subtask of {b}, {b} depends on {a}"),
    );
    check_cycle(
        tasks.move_under(&b, ParentChange::Under(part.clone())),
        &format!("{b} is a subtask of {part}, {part} is a subtask of {b}"),
    );
    check_cycle(
        tasks.try_add("x", Some(&b), &[&b]),
        &format!("the new task depends on {b}, {b} needs the new task to be done"),
    );
    assert_eq!(tasks.store.tasks(&TaskFilter::default()).unwrap(), before);
    assert_eq!(tasks.log(&a), ["Added."]);
}

#[test]
fn cycle_through_subtasks_of_two_parents_is_refused() {
    let mut tasks = Tasks::new();
    let (p, q) = (tasks.add("p"), tasks.add("q"));
    let (in_p, in_q) = (tasks.subtask("in p", &p), tasks.subtask("in q", &q));
    tasks.wait_for(&p, &q).unwrap();
    assert!(matches!(
        tasks.wait_for(&in_q, &in_p),
        Err(TaskError::DependencyCycle { .. })
    ));
    // The other direction is implied already.
    tasks.wait_for(&in_p, &in_q).unwrap();
}

#[test]
fn long_chains_work() {
    let mut tasks = Tasks::new();
    let items: Vec<_> = (0..=1500)
        .map(|depth: usize| super::import::item("x", depth.checked_sub(1), false))
        .collect();
    let chain = super::import::import(&mut tasks, &items).added;
    let (first, last) = (chain[0].clone(), chain[1500].clone());
    assert!(matches!(
        tasks.wait_for(&first, &last),
        Err(TaskError::DependencyCycle { .. })
    ));
    tasks.done(&last);
    assert_eq!(tasks.words([&first]), ["done"]);
    assert_eq!(tasks.store.delete_task(&first, now(1)).unwrap().len(), 1501);
}

#[test]
fn missing_tasks_are_named() {
    let mut tasks = Tasks::new();
    let (a, ghost) = (tasks.add("a"), TaskId::new(0xff));
    let unknown = |result: Result<TaskId, TaskError>| result.unwrap_err().to_string();
    assert_eq!(
        unknown(tasks.try_add("x", Some(&ghost), &[])),
        "there is no task t-0000ff"
    );
    assert_eq!(
        unknown(tasks.try_add("x", None, &[&a, &ghost])),
        "there is no task t-0000ff"
    );
    assert!(tasks.wait_for(&a, &ghost).is_err());
    assert!(tasks.store.delete_task(&ghost, now(0)).is_err());
    assert_eq!(tasks.store.tasks(&TaskFilter::default()).unwrap().len(), 1);
}

#[test]
fn update_changes_named_fields_and_logs_them() {
    let mut tasks = Tasks::new();
    let (a, b) = (tasks.add("a"), tasks.add("b"));
    let update = TaskUpdate {
        title: Some("A".to_owned()),
        description: Some("more".to_owned()),
        priority: Some(Priority(1)),
        parent: ParentChange::Under(b.clone()),
        ..TaskUpdate::default()
    };
    let task = tasks.store.update_task(&a, &update, now(5)).unwrap();
    assert_eq!((task.title.as_str(), task.description.as_str()), ("A", "more"));
    assert_eq!((task.priority, task.parent.as_ref()), (Priority(1), Some(&b)));
    assert_eq!(task.updated_at, now(5));
    tasks.store.update_task(&a, &update, now(6)).unwrap();
    assert_eq!(
        tasks.log(&a),
        [
            "Added.".to_owned(),
            format!("Changed: title; description; priority to 1; parent to {b}.")
        ]
    );
}

#[test]
fn deleting_removes_descendants_and_unblocks_dependents() {
    let mut tasks = Tasks::new();
    let parent = tasks.add("parent");
    let part = tasks.subtask("part", &parent);
    let deep = tasks.subtask("deep", &part);
    let waits = tasks.after("waits", &[&deep]);
    assert_eq!(tasks.words([&waits]), ["blocked"]);
    let gone = tasks.store.delete_task(&parent, now(1)).unwrap();
    assert_eq!(
        gone.into_iter().map(|task| task.id).collect::<Vec<_>>(),
        [parent, part, deep]
    );
    assert_eq!(tasks.words([&waits]), ["pending"]);
}

#[test]
fn restore_brings_back_descendants_and_dependencies() {
    let mut tasks = Tasks::new();
    let parent = tasks.add("parent");
    let part = tasks.subtask("part", &parent);
    let deep = tasks.subtask("deep", &part);
    let waits = tasks.after("waits", &[&deep]);
    tasks.store.delete_task(&part, now(1)).unwrap();
    tasks.store.delete_task(&parent, now(2)).unwrap();
    let listed: Vec<(TaskId, u32)> = tasks
        .store
        .deleted_tasks()
        .unwrap()
        .into_iter()
        .map(|task| (task.id, task.parts))
        .collect();
    assert_eq!(listed, [(parent.clone(), 0), (part.clone(), 1)]);
    // Its parent must exist.
    let refused = tasks.store.restore_task(&part, now(3)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("{part} was a subtask of {parent}, which is also deleted")
    );
    tasks.store.restore_task(&parent, now(3)).unwrap();
    // Any task of a deletion restores all of it.
    assert_eq!(tasks.store.find_deleted_task(deep.as_str()).unwrap(), deep);
    let back = tasks.store.restore_task(&deep, now(4)).unwrap();
    assert_eq!(
        back.into_iter().map(|task| task.id).collect::<Vec<_>>(),
        [part.clone(), deep.clone()]
    );
    assert_eq!(tasks.words([&waits, &deep]), ["blocked", "pending"]);
    assert_eq!(tasks.log(&deep).last().unwrap(), "Restored.");
    assert!(tasks.store.deleted_tasks().unwrap().is_empty());
    let again = tasks.store.restore_task(&deep, now(5)).unwrap_err();
    assert_eq!(again.to_string(), format!("there is no deleted task {deep}"));
}

#[test]
fn task_that_would_close_a_cycle_is_not_restored() {
    let mut tasks = Tasks::new();
    let first = tasks.add("first");
    let second = tasks.after("second", &[&first]);
    let third = tasks.after("third", &[&second]);
    tasks.store.delete_task(&second, now(1)).unwrap();
    tasks.wait_for(&first, &third).unwrap();
    let refused = tasks.store.restore_task(&second, now(2)).unwrap_err();
    assert!(refused.to_string().starts_with("dependency cycle"), "{refused}");
    assert_eq!(tasks.store.deleted_tasks().unwrap().len(), 1);
    assert!(tasks.store.task(&second).unwrap().is_none());
}

#[test]
fn claimed_task_cannot_be_changed() {
    let mut tasks = Tasks::new();
    let parent = tasks.add("parent");
    let part = tasks.subtask("part", &parent);
    assert_eq!(tasks.claim(1).task.id, part);
    let said = format!("{part} is claimed by run-00000001, which is working on it");
    assert_eq!(tasks.store.delete_task(&parent, now(1)).unwrap_err().to_string(), said);
    assert_eq!(tasks.store.fail_task(&part, "", now(1)).unwrap_err().to_string(), said);
    assert_eq!(tasks.words([&part, &parent]), ["in_progress", "pending"]);
}

#[test]
fn lists_are_ordered_by_priority_then_age() {
    let mut tasks = Tasks::new();
    let (a, b, c) = (tasks.add("a"), tasks.add("b"), tasks.add("c"));
    let urgent = TaskUpdate {
        priority: Some(Priority(1)),
        ..TaskUpdate::default()
    };
    tasks.store.update_task(&b, &urgent, now(1)).unwrap();
    tasks.done(&c);
    let titles = |which| {
        let found = tasks
            .store
            .tasks(&TaskFilter {
                which,
                ..TaskFilter::default()
            })
            .unwrap();
        found.into_iter().map(|task| task.title).collect::<String>()
    };
    assert_eq!(titles(Which::Open), "ba");
    assert_eq!(titles(Which::All), "bac");
    assert_eq!(titles(Which::Status(ralph_model::TaskStatus::Done)), "c");
    assert_eq!(tasks.store.children(&a).unwrap(), []);
}
