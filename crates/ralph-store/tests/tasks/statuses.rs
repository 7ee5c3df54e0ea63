//! Task statuses and the consequences of changes.

use ralph_store::{ParentChange, Reach, TaskError, WaitsFor};

use super::{Tasks, now};

#[test]
fn task_is_blocked_until_dependencies_are_done() {
    let mut tasks = Tasks::new();
    let (a, b) = (tasks.add("a"), tasks.add("b"));
    let c = tasks.after("c", &[&a, &b]);
    let d = tasks.after("d", &[&c]);
    assert_eq!(tasks.words([&c, &d]), ["blocked", "blocked"]);
    tasks.done(&a);
    assert_eq!(tasks.words([&c]), ["blocked"]);
    tasks.done(&b);
    assert_eq!(tasks.words([&c, &d]), ["pending", "blocked"]);
    tasks.store.reset_task(&a, Reach::Itself, now(2)).unwrap();
    assert_eq!(tasks.words([&a, &c]), ["pending", "blocked"]);
    let mut ids = [a.to_string(), b.to_string()];
    ids.sort();
    assert_eq!(
        tasks.log(&c),
        [
            "Added.".to_owned(),
            format!("Blocked: waiting for {}.", ids.join(", ")),
            "Pending: all dependencies are done.".to_owned(),
            format!("Blocked: waiting for {a}."),
        ]
    );
}

#[test]
fn dependencies_of_a_parent_block_its_subtasks() {
    let mut tasks = Tasks::new();
    let (first, parent) = (tasks.add("first"), tasks.add("parent"));
    let part = tasks.subtask("part", &parent);
    let deep = tasks.subtask("deep", &part);
    tasks.wait_for(&parent, &first).unwrap();
    assert_eq!(tasks.words([&parent, &part, &deep]), ["blocked"; 3]);
    tasks.done(&first);
    assert_eq!(tasks.words([&parent, &part, &deep]), ["pending"; 3]);
    tasks.store.reset_task(&first, Reach::Itself, now(2)).unwrap();
    tasks.move_under(&deep, ParentChange::Top).unwrap();
    assert_eq!(tasks.words([&parent, &part, &deep]), ["blocked", "blocked", "pending"]);
}

#[test]
fn parent_is_done_with_its_last_subtask() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let middle = tasks.subtask("middle", &top);
    let (a, b) = (tasks.subtask("a", &middle), tasks.subtask("b", &middle));
    let next = tasks.after("next", &[&top]);
    tasks.done(&a);
    assert_eq!(tasks.words([&middle, &top, &next]), ["pending", "pending", "blocked"]);
    tasks.done(&b);
    assert_eq!(tasks.words([&middle, &top, &next]), ["done", "done", "pending"]);
    assert_eq!(tasks.log(&top), ["Added.", "Done: all subtasks are done."]);
}

#[test]
fn parent_fails_only_when_no_subtask_is_open() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let (a, b) = (tasks.subtask("a", &top), tasks.subtask("b", &top));
    tasks.fail(&a);
    assert_eq!(tasks.words([&top]), ["pending"]);
    tasks.done(&b);
    assert_eq!(tasks.words([&top]), ["failed"]);
    assert_eq!(tasks.log(&a), ["Added.", "Failed: no way"]);
}

#[test]
fn task_behind_a_failed_one_counts_as_resolved() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let a = tasks.subtask("a", &top);
    let b = tasks.try_add("b", Some(&top), &[&a]).unwrap();
    let c = tasks.try_add("c", Some(&top), &[&b]).unwrap();
    let behind = tasks.after("behind the parent", &[&top]);
    tasks.fail(&a);
    assert_eq!(
        tasks.words([&b, &c, &top, &behind]),
        ["blocked", "blocked", "failed", "blocked"]
    );
    let waits = tasks.store.waits_for(&c).unwrap();
    assert_eq!(
        waits,
        [WaitsFor {
            task: b.clone(),
            needs_person: true
        }]
    );
    tasks.store.reset_task(&a, Reach::Itself, now(2)).unwrap();
    assert_eq!(tasks.words([&a, &b, &top]), ["pending", "blocked", "pending"]);
    assert!(!tasks.store.waits_for(&c).unwrap()[0].needs_person);
}

#[test]
fn parent_does_not_fail_from_a_failure_elsewhere() {
    let mut tasks = Tasks::new();
    let (elsewhere, outer) = (tasks.add("elsewhere"), tasks.add("outer"));
    let inner = tasks.subtask("inner", &outer);
    let part = tasks.try_add("part", Some(&inner), &[&elsewhere]).unwrap();
    let other = tasks.subtask("other", &outer);
    tasks.fail(&elsewhere);
    assert_eq!(tasks.words([&part, &inner, &outer]), ["blocked", "pending", "pending"]);
    // But its own parent has nothing left to do in it.
    tasks.fail(&other);
    assert_eq!(tasks.words([&inner, &outer]), ["pending", "failed"]);
}

#[test]
fn new_or_reset_subtask_reopens_its_parents() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let middle = tasks.subtask("middle", &top);
    let a = tasks.subtask("a", &middle);
    let next = tasks.after("next", &[&top]);
    tasks.done(&a);
    assert_eq!(tasks.words([&top, &next]), ["done", "pending"]);
    let b = tasks.subtask("b", &middle);
    assert_eq!(tasks.words([&top, &middle, &next]), ["pending", "pending", "blocked"]);
    tasks.fail(&b);
    assert_eq!(tasks.words([&top, &middle]), ["failed", "failed"]);
    let reset = tasks.store.reset_task(&top, Reach::FailedBelow, now(2)).unwrap();
    assert_eq!((reset.len(), &reset[0].id), (1, &b));
    assert_eq!(
        tasks.words([&top, &middle, &a, &b]),
        ["pending", "pending", "done", "pending"]
    );
    let last = tasks.log(&top).pop();
    assert_eq!(last.as_deref(), Some("Open: not all subtasks are done."));
}

#[test]
fn childless_parent_has_its_own_status() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let (a, b) = (tasks.subtask("a", &top), tasks.subtask("b", &top));
    tasks.done(&a);
    tasks.fail(&b);
    assert_eq!(tasks.words([&top]), ["failed"]);
    tasks.store.delete_task(&b, now(2)).unwrap();
    assert_eq!(tasks.words([&top]), ["done"]);
    tasks.store.reset_task(&a, Reach::Itself, now(2)).unwrap();
    tasks.fail(&a);
    tasks.move_under(&a, ParentChange::Top).unwrap();
    assert_eq!(tasks.words([&top, &a]), ["pending", "failed"]);
}

#[test]
fn parent_cannot_be_finished_failed_or_reset_directly() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let part = tasks.subtask("part", &top);
    let done = ralph_store::DoneIn {
        worktree: String::new(),
        commit: None,
    };
    let refused = tasks.store.finish_task(&top, &done, now(1)).unwrap_err();
    assert_eq!(refused.to_string(), format!("{top} has unfinished subtasks: {part}"));
    assert!(matches!(
        tasks.store.fail_task(&top, "x", now(1)),
        Err(TaskError::HasSubtasks { .. })
    ));
    let refused = tasks.store.reset_task(&top, Reach::Itself, now(1));
    assert!(matches!(refused, Err(TaskError::HasSubtasks { .. })));
}

#[test]
fn reset_clears_used_retries() {
    let mut tasks = Tasks::new();
    let a = tasks.add("a");
    tasks.execute("UPDATE tasks SET retries_used = 4, attempts = 4");
    tasks.fail(&a);
    let reset = tasks.store.reset_task(&a, Reach::Itself, now(2)).unwrap();
    assert_eq!((reset[0].retries_used, reset[0].attempts), (0, 4));
}
