//! Claiming tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use ralph_model::{NewTask, Priority, RunId, TaskId};
use ralph_store::{ClaimAnswer, Scope, ScopeCounts, Store, TaskUpdate};

use super::{Tasks, now};

#[track_caller]
fn claimed(answer: ClaimAnswer) -> TaskId {
    match answer {
        ClaimAnswer::Claimed(claim) => claim.task.id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn most_urgent_then_oldest_is_claimed_never_a_parent() {
    let mut tasks = Tasks::new();
    let parent = tasks.add("parent");
    let (a, b) = (tasks.subtask("a", &parent), tasks.add("b"));
    let c = tasks.add("c");
    let urgent = TaskUpdate {
        priority: Some(Priority(0)),
        ..TaskUpdate::default()
    };
    tasks.store.update_task(&c, &urgent, now(1)).unwrap();
    tasks.store.update_task(&parent, &urgent, now(1)).unwrap();
    let order = [1, 2, 3].map(|number| tasks.claim(number).task.id);
    assert_eq!(order, [c, a, b]);
}

#[test]
fn claim_raises_attempt_and_fence_and_opens_a_record() {
    let mut tasks = Tasks::new();
    let a = tasks.add("a");
    let first = tasks.claim(1);
    assert_eq!(
        (first.attempt, first.fence, first.task.status.word()),
        (1, 1, "in_progress")
    );
    assert_eq!(tasks.store.task(&a).unwrap().unwrap(), first.task);
    assert_eq!(tasks.log(&a), ["Added.", "In progress: attempt 1, by run-00000001."]);
    tasks.store.free_dead_claims(&|_| Some(false), now(20)).unwrap();
    let second = tasks.claim(2);
    assert_eq!((second.attempt, second.fence), (2, 2));
    // One record per run: a run with an unsettled iteration cannot begin another.
    tasks.add("b");
    let run = RunId::new(2);
    let commits = BTreeSet::new();
    let again = tasks.store.claim_next(&ralph_store::ClaimRequest {
        run: &run,
        iteration: 2,
        scope: &Scope::All,
        worktree: "",
        commits_here: &commits,
        marker: "m",
        lease: super::LEASE,
        verifier: None,
        pause_policy: ralph_store::PausePolicy::Respect,
        now: now(30),
    });
    assert!(again.is_err());
}

#[test]
fn task_scope_includes_descendants() {
    let mut tasks = Tasks::new();
    let (_outside, top) = (tasks.add("outside"), tasks.add("top"));
    let middle = tasks.subtask("middle", &top);
    let deep = tasks.subtask("deep", &middle);
    let scope = Scope::Task(top);
    let run = tasks.run(1);
    assert_eq!(claimed(tasks.ask(&run, &scope)), deep);
    let other = tasks.run(2);
    assert_eq!(
        tasks.ask(&other, &scope),
        ClaimAnswer::Busy {
            held: vec![(deep, run)]
        }
    );
}

#[test]
fn work_of_another_worktree_counts_once_its_commit_is_here() {
    let mut tasks = Tasks::new();
    let first = tasks.add("first");
    let (one, two) = (tasks.subtask("one", &first), tasks.subtask("two", &first));
    let next = tasks.after("next", &[&first]);
    let last = tasks.after("last", &[&next]);
    tasks.done_in(&one, "", Some("c0"));
    tasks.done_in(&two, "side", Some("c1"));
    assert_eq!(tasks.words([&first, &next]), ["done", "pending"]);
    assert_eq!(
        tasks.store.commits_of_other_worktrees("").unwrap(),
        BTreeSet::from(["c1".to_owned()])
    );
    let run = tasks.run(1);
    let counts = ScopeCounts {
        done: 2,
        waiting: 2,
        ..ScopeCounts::default()
    };
    assert_eq!(tasks.ask_in(&run, &Scope::All, "", &[]), ClaimAnswer::Nothing(counts));
    assert_eq!(
        tasks.ask_in(&run, &Scope::All, "", &["c2"]),
        ClaimAnswer::Nothing(counts)
    );
    assert_eq!(
        tasks.ask_in(&run, &Scope::All, "side", &[]),
        ClaimAnswer::Nothing(counts)
    );
    assert_eq!(tasks.words([&next, &last]), ["pending", "blocked"]);
    let here = BTreeSet::from(["c1".to_owned()]);
    assert_eq!(tasks.store.scope_counts(&Scope::All, "", &here).unwrap().open, 2);
    assert_eq!(claimed(tasks.ask_in(&run, &Scope::All, "", &["c1"])), next);
}

#[test]
fn work_without_a_commit_counts_only_where_it_was_done() {
    let mut tasks = Tasks::new();
    let first = tasks.add("first");
    let next = tasks.after("next", &[&first]);
    tasks.done_in(&first, "", None);
    let run = tasks.run(1);
    assert!(matches!(
        tasks.ask_in(&run, &Scope::All, "side", &[]),
        ClaimAnswer::Nothing(_)
    ));
    assert_eq!(claimed(tasks.ask_in(&run, &Scope::All, "", &[])), next);
}

#[test]
fn nothing_is_distinguished_from_busy() {
    let mut tasks = Tasks::new();
    let (a, b) = (tasks.add("a"), tasks.add("b"));
    let (behind_a, behind_b) = (tasks.after("behind a", &[&a]), tasks.after("behind b", &[&b]));
    tasks.fail(&b);
    let counts = ScopeCounts {
        failed: 1,
        waiting: 1,
        open: 2,
        ..ScopeCounts::default()
    };
    assert_eq!(
        tasks.store.scope_counts(&Scope::All, "", &BTreeSet::new()).unwrap(),
        counts
    );
    let run = tasks.run(1);
    assert_eq!(claimed(tasks.ask(&run, &Scope::All)), a);
    let other = tasks.run(2);
    let busy = ClaimAnswer::Busy {
        held: vec![(a.clone(), run.clone())],
    };
    assert_eq!(tasks.ask(&other, &Scope::All), busy);
    assert_eq!(
        tasks.ask(&other, &Scope::Task(behind_a.clone())),
        busy,
        "it depends on a claimed task"
    );
    let waiting = ClaimAnswer::Nothing(ScopeCounts {
        waiting: 1,
        ..ScopeCounts::default()
    });
    assert_eq!(tasks.ask(&other, &Scope::Task(behind_b)), waiting);
    // No run works on the dependency of this scope.
    tasks.store.free_dead_claims(&|_| Some(false), now(20)).unwrap();
    assert_eq!(tasks.ask(&other, &Scope::Task(behind_a)), waiting);
}

#[test]
fn fault_11_claims_of_dead_runs_are_freed() {
    let mut tasks = Tasks::new();
    let ids: Vec<TaskId> = (0..4).map(|_| tasks.add("x")).collect();
    for number in 1..=4 {
        tasks.claim(number);
    }
    tasks.execute("UPDATE runs SET ended_at = 'x' WHERE pid = 4");
    let alive = |process: &ralph_store::RunProcess| match process.pid {
        1 => Some(true),
        2 => Some(false),
        _ => None,
    };
    // The lease of the third has not expired; the first is alive, so its lease does not matter.
    assert_eq!(
        tasks.store.free_dead_claims(&alive, now(100)).unwrap(),
        [ids[1].clone(), ids[3].clone()]
    );
    assert_eq!(tasks.store.free_dead_claims(&alive, now(100)).unwrap(), []);
    assert_eq!(
        tasks.store.free_dead_claims(&alive, now(1000)).unwrap(),
        [ids[2].clone()]
    );
    assert_eq!(
        tasks.words([&ids[0], &ids[1], &ids[2]]),
        ["in_progress", "pending", "pending"]
    );
    assert_eq!(
        tasks.log(&ids[1]).pop().unwrap(),
        "Released: run-00000002 is no longer running."
    );
}

#[test]
fn freed_task_is_blocked_if_its_dependency_was_reopened() {
    let mut tasks = Tasks::new();
    let a = tasks.add("a");
    let b = tasks.after("b", &[&a]);
    tasks.done(&a);
    assert_eq!(tasks.claim(1).task.id, b);
    tasks.store.reset_task(&a, ralph_store::Reach::Itself, now(5)).unwrap();
    assert_eq!(tasks.words([&b]), ["in_progress"]);
    tasks.store.free_dead_claims(&|_| Some(false), now(20)).unwrap();
    assert_eq!(tasks.words([&b]), ["blocked"]);
}

#[test]
fn concurrent_runs_claim_each_task_once() {
    const RUNS: u64 = 8;
    let mut tasks = Tasks::new();
    let mut last: Option<TaskId> = None;
    for number in 0..200 {
        let new = NewTask {
            // Some are subtasks.
            parent: last.clone().filter(|_| number % 10 == 1),
            ..NewTask::titled(format!("task {number}"))
        };
        let task = tasks.store.add_task(&new, &mut tasks.entropy, now(0)).unwrap();
        last = Some(task.id);
    }
    let runs: Vec<RunId> = (1..=RUNS).map(|number| tasks.run(number)).collect();
    let path = tasks.path();
    let counts: Mutex<BTreeMap<TaskId, u32>> = Mutex::default();
    std::thread::scope(|scope| {
        for run in &runs {
            let (path, counts) = (&path, &counts);
            scope.spawn(move || {
                let mut store = Store::open_or_create(path).unwrap();
                let commits_here = BTreeSet::new();
                for iteration in 1.. {
                    let answer = store.claim_next(&ralph_store::ClaimRequest {
                        run,
                        iteration,
                        scope: &Scope::All,
                        worktree: "",
                        commits_here: &commits_here,
                        marker: "m",
                        lease: super::LEASE,
                        verifier: None,
                        pause_policy: ralph_store::PausePolicy::Respect,
                        now: now(1),
                    });
                    let ClaimAnswer::Claimed(claim) = answer.unwrap() else {
                        break;
                    };
                    *counts.lock().unwrap().entry(claim.task.id).or_default() += 1;
                    forget_record(path, run);
                }
            });
        }
    });
    let counts = counts.into_inner().unwrap();
    assert_eq!(counts.len(), 180, "20 of them are parents");
    assert!(counts.values().all(|times| *times == 1));
}

/// What a settlement does with the record of an iteration.
#[expect(clippy::disallowed_methods, reason = "what no method used here does")]
fn forget_record(path: &std::path::Path, run: &RunId) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    connection
        .execute("DELETE FROM iterations WHERE run = ?1", [run.as_str()])
        .unwrap();
}
