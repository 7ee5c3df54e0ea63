//! Runs in several worktrees of one repository, which share their tasks.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::thread;

use ralph_loop::state::{Effect, Notice};
use ralph_model::config::Commit;
use ralph_model::{NewTask, Outcome, TaskId, TaskStatus};
use ralph_testkit::count;
use ralph_testkit::scripted::{Action, append, run, say, write};

use crate::bench::{Probe, Project, RunResult};

const DONE: &str = "<task-done>{task}</task-done>";

fn worker() -> Vec<Action> {
    vec![write("{task}.txt", "x"), say(DONE)]
}

fn after(project: &Project, title: &str, task: &TaskId) -> TaskId {
    project.add(&NewTask {
        after: vec![task.clone()],
        ..NewTask::titled(title)
    })
}

/// How often each task was done, according to the journal.
fn times_done(project: &Project) -> BTreeMap<TaskId, usize> {
    let mut times = BTreeMap::new();
    for row in project.journal() {
        if row.row.outcome == Outcome::Done {
            *times.entry(row.row.task.unwrap()).or_default() += 1;
        }
    }
    times
}

#[test]
fn runs_share_the_tasks_and_each_is_done_once() {
    let runs = count("RALPH_SOAK_LOOP_RUNS", 2);
    let tasks = count("RALPH_SOAK_LOOP_TASKS", 12);
    let project = Project::plain([worker()]).in_git();
    let ids: Vec<TaskId> = (0..tasks)
        .map(|number| project.task(&format!("Task {number}")))
        .collect();
    let others: Vec<Project> = (1..runs)
        .map(|number| project.beside(&format!("beside-{number}")))
        .collect();
    let mut ran: Vec<RunResult> = Vec::new();
    thread::scope(|scope| {
        let runs: Vec<_> = std::iter::once(&project)
            .chain(&others)
            .map(|project| scope.spawn(|| project.run()))
            .collect();
        ran.extend(runs.into_iter().map(|run| run.join().unwrap()));
    });
    for id in &ids {
        assert_eq!(project.status(id), TaskStatus::Done);
    }
    let times = times_done(&project);
    assert_eq!(times.len(), tasks);
    assert!(times.values().all(|times| *times == 1), "{times:?}");
    let iterations: u32 = ran.iter().map(|ran| ran.iterations).sum();
    assert_eq!(iterations as usize, tasks);
    assert!(ran.iter().all(|ran| matches!(ran.code(), 0 | 3)), "{ran:?}");
}

#[test]
fn dependency_from_another_worktree_needs_its_commit() {
    let mut project = Project::plain([worker()]).in_git();
    project.config.git.commit = Commit::Task;
    let first = project.task("First");
    let second = after(&project, "Second", &first);
    let beside = project.beside("beside");
    project.config.limits.iterations = Some(1);
    project.run();
    assert_eq!(
        (project.status(&first), project.status(&second)),
        (TaskStatus::Done, TaskStatus::Pending)
    );

    // It is done there, but its commit is not here yet.
    let ran = beside.run();
    assert_eq!((ran.code(), ran.iterations), (4, 0), "{ran:?}");
    assert_eq!(project.status(&second), TaskStatus::Pending);

    beside.git(&["merge", "--quiet", "main"]);
    let ran = beside.run();
    assert_eq!((ran.code(), project.status(&second)), (0, TaskStatus::Done), "{ran:?}");
    assert_eq!(beside.read(&format!("{first}.txt")), "x");
}

/// Blocks the agent until the other run waits for it.
const UNTIL_OTHER_RUN_WAITS: &str = "while test ! -e ../waits; do sleep 0.01; done";

/// Starts a second run once the agent of the first has started. Returns both results.
fn run_beside(project: &Project) -> (RunResult, RunResult) {
    let beside = project.beside("beside");
    thread::scope(|scope| {
        let (started, is_started) = channel();
        let main = scope.spawn(move || {
            project.run_with(Probe::with_hook(move |effect| {
                if *effect == Effect::Spawn {
                    // No one receives after the first one.
                    let _received: bool = started.send(()).is_ok();
                }
                None
            }))
        });
        is_started.recv().unwrap();
        let waits = beside.root().with_file_name("waits");
        let other = beside.run_with(Probe::with_hook(move |effect| {
            if matches!(effect, Effect::Notify(Notice::Busy(_))) {
                std::fs::File::create(&waits).unwrap();
            }
            None
        }));
        (main.join().unwrap(), other)
    })
}

#[test]
fn run_with_nothing_ready_waits_for_another_runs_task() {
    let slow = vec![append("{task}.txt", "x"), run(UNTIL_OTHER_RUN_WAITS), say(DONE)];
    let project = Project::plain([slow]).in_git();
    let task = project.task("A");
    let (main, other) = run_beside(&project);
    assert_eq!((main.code(), project.status(&task)), (0, TaskStatus::Done));
    let waited = |notice: &Notice| matches!(notice, Notice::Busy(held) if held[0].0 == task);
    assert!(other.seen.notices.iter().any(waited), "{other:?}");
    assert_eq!((other.code(), other.iterations), (3, 0), "{other:?}");
}

#[test]
fn waiting_run_picks_up_released_tasks() {
    let gives_up = vec![
        append("{task}.txt", "x"),
        run(UNTIL_OTHER_RUN_WAITS),
        say("<promise>FAILURE</promise>"),
    ];
    let project = Project::plain([gives_up, worker()]).in_git();
    let first = project.task("First");
    after(&project, "Second", &first);
    let (main, other) = run_beside(&project);
    assert_eq!((main.code(), main.iterations), (4, 1), "{main:?}");
    assert_eq!((other.code(), other.iterations), (0, 2), "{other:?}");
    let expected = [
        "First blocked: failure_promise",
        "First done: task_done",
        "Second done: task_done",
    ];
    assert_eq!(project.story(), expected);
}
