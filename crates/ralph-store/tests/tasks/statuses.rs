//! Where tasks stand, and what follows from a change.

use ralph_store::{ParentChange, Reach, TaskError, WaitsFor};

use super::{Tasks, now};

#[test]
fn a_task_is_blocked_as_long_as_it_waits_and_its_log_says_so() {
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
            format!("Blocked: it waits for {}.", ids.join(", ")),
            "Pending: nothing is in its way.".to_owned(),
            format!("Blocked: it waits for {a}."),
        ]
    );
}

#[test]
fn what_a_parent_waits_for_its_parts_wait_for() {
    let mut tasks = Tasks::new();
    let (first, parent) = (tasks.add("first"), tasks.add("parent"));
    let part = tasks.part("part", &parent);
    let deep = tasks.part("deep", &part);
    tasks.wait_for(&parent, &first).unwrap();
    assert_eq!(tasks.words([&parent, &part, &deep]), ["blocked"; 3]);
    tasks.done(&first);
    assert_eq!(tasks.words([&parent, &part, &deep]), ["pending"; 3]);
    tasks.store.reset_task(&first, Reach::Itself, now(2)).unwrap();
    tasks.move_under(&deep, ParentChange::Top).unwrap();
    assert_eq!(tasks.words([&parent, &part, &deep]), ["blocked", "blocked", "pending"]);
}

#[test]
fn a_parent_is_done_with_its_last_part_and_lets_others_go_on() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let middle = tasks.part("middle", &top);
    let (a, b) = (tasks.part("a", &middle), tasks.part("b", &middle));
    let next = tasks.after("next", &[&top]);
    tasks.done(&a);
    assert_eq!(tasks.words([&middle, &top, &next]), ["pending", "pending", "blocked"]);
    tasks.done(&b);
    assert_eq!(tasks.words([&middle, &top, &next]), ["done", "done", "pending"]);
    assert_eq!(tasks.log(&top), ["Added.", "Done: all its parts are."]);
}

#[test]
fn a_parent_is_failed_only_when_none_of_its_parts_is_left() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let (a, b) = (tasks.part("a", &top), tasks.part("b", &top));
    tasks.fail(&a);
    assert_eq!(tasks.words([&top]), ["pending"]);
    tasks.done(&b);
    assert_eq!(tasks.words([&top]), ["failed"]);
    assert_eq!(tasks.log(&a), ["Added.", "Failed: no way"]);
}

#[test]
fn what_is_behind_a_failed_task_counts_as_resolved() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let a = tasks.part("a", &top);
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
fn a_parent_whose_parts_wait_for_a_failure_elsewhere_has_not_failed_itself() {
    let mut tasks = Tasks::new();
    let (elsewhere, outer) = (tasks.add("elsewhere"), tasks.add("outer"));
    let inner = tasks.part("inner", &outer);
    let part = tasks.try_add("part", Some(&inner), &[&elsewhere]).unwrap();
    let other = tasks.part("other", &outer);
    tasks.fail(&elsewhere);
    assert_eq!(tasks.words([&part, &inner, &outer]), ["blocked", "pending", "pending"]);
    // But for the parent above it there is nothing left to be done in it.
    tasks.fail(&other);
    assert_eq!(tasks.words([&inner, &outer]), ["pending", "failed"]);
}

#[test]
fn a_new_or_reset_part_opens_its_parents_again() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let middle = tasks.part("middle", &top);
    let a = tasks.part("a", &middle);
    let next = tasks.after("next", &[&top]);
    tasks.done(&a);
    assert_eq!(tasks.words([&top, &next]), ["done", "pending"]);
    let b = tasks.part("b", &middle);
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
    assert_eq!(last.as_deref(), Some("Open: not all of its parts are done."));
}

#[test]
fn a_parent_that_loses_its_parts_stands_for_itself() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let (a, b) = (tasks.part("a", &top), tasks.part("b", &top));
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
fn parents_stand_as_their_parts_do() {
    let mut tasks = Tasks::new();
    let top = tasks.add("top");
    let part = tasks.part("part", &top);
    let done = ralph_store::DoneIn {
        worktree: String::new(),
        commit: None,
    };
    let refused = tasks.store.finish_task(&top, &done, now(1)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("{top} has parts that are not done: {part}")
    );
    assert!(matches!(
        tasks.store.fail_task(&top, "x", now(1)),
        Err(TaskError::HasParts { .. })
    ));
    let refused = tasks.store.reset_task(&top, Reach::Itself, now(1));
    assert!(matches!(refused, Err(TaskError::HasParts { .. })));
}

#[test]
fn a_reset_clears_what_was_tried() {
    let mut tasks = Tasks::new();
    let a = tasks.add("a");
    tasks.execute("UPDATE tasks SET retries_used = 4, attempts = 4");
    tasks.fail(&a);
    let reset = tasks.store.reset_task(&a, Reach::Itself, now(2)).unwrap();
    assert_eq!((reset[0].retries_used, reset[0].attempts), (0, 4));
}
