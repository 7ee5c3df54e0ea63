//! Recovery from a dead run: its agent still works, its process is gone, or a person has decided about the task.

use std::collections::BTreeSet;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_loop::state::Effect;
use ralph_model::{Clock, EndKind, RunId, TaskId, TaskStatus};
use ralph_process::MARKER_VARIABLE;
use ralph_store::{ClaimRequest, DoneIn, NewRun, Reach, RunProcess, Scope, Start, Store};
use ralph_testkit::scripted::{Action, hang, say, write};

use crate::bench::{Dialect, Intervention, Probe, Project};

fn done() -> Vec<Action> {
    vec![write("a.txt", "{turn}"), say("<task-done>{task}</task-done>")]
}

/// A process that has ended: no live process has its pid and start time.
fn dead_process() -> RunProcess {
    let mut child = ralph_process::command("true").spawn().unwrap();
    let (pid, started) = (child.id(), ralph_process::start_time(child.id()).unwrap());
    child.wait().unwrap();
    RunProcess {
        host: ralph_process::host(),
        pid,
        started,
    }
}

/// A run with a claim whose process has ended.
fn dead_run(project: &Project, worktree: &str, marker: &str) -> RunId {
    run_of(dead_process(), project, worktree, marker)
}

/// A run of this process, with a claim.
fn run_of(process: RunProcess, project: &Project, worktree: &str, marker: &str) -> RunId {
    let mut store = project.store();
    let run = RunId::new(u64::from(std::process::id()) << 8 | 7);
    store
        .begin_run(&NewRun {
            id: run.clone(),
            agent: "an agent".to_owned(),
            goal: "all".to_owned(),
            worktree: worktree.to_owned(),
            branch: None,
            commit: None,
            process,
            started_at: project.now(),
        })
        .unwrap();
    let request = ClaimRequest {
        run: &run,
        iteration: 1,
        scope: &Scope::All,
        worktree,
        commits_here: &BTreeSet::new(),
        marker,
        lease: Duration::from_secs(300),
        verifier: None,
        pause_policy: ralph_store::PausePolicy::Respect,
        now: project.now(),
    };
    store.claim_next(&request).unwrap();
    run
}

#[test]
fn fault_11_claim_of_a_dead_run_is_released_at_once() {
    for worktree in ["", "elsewhere"] {
        let project = Project::plain([done()]);
        let task = project.task("A");
        let dead = dead_run(&project, worktree, "none");
        assert_eq!(project.load_task(&task).claimed_by, Some(dead));
        let ran = project.run();
        assert_eq!(
            (ran.code(), project.status(&task)),
            (0, TaskStatus::Done),
            "{worktree:?}"
        );
        assert_eq!(project.load_task(&task).attempts, 2);
    }
}

#[test]
fn unrecorded_agent_is_found_by_its_marker() {
    let project = Project::plain([done()]);
    project.task("A");
    let marker = format!("marker-of-{}", std::process::id());
    let dead = dead_run(&project, "", &marker);
    let start = Start {
        model: None,
        rationale: "",
        before: "",
        dirty: Some(&[]),
        prompt_sha256: None,
        injections: &[],
        at: project.now(),
    };
    project.store().record_start(&dead, &start).unwrap();
    let mut agent: Child = ralph_process::command("sleep")
        .arg("600")
        .env(MARKER_VARIABLE, &marker)
        .spawn()
        .unwrap();
    let ran = project.run();
    assert_eq!((ran.code(), ran.seen.killed), (0, vec![1]));
    assert!(!agent.wait().unwrap().success(), "it was killed");
    assert_eq!(project.story(), ["A interrupted: ralph_died", "A done: task_done"]);
}

#[test]
fn running_agent_of_a_dead_run_is_killed_without_an_attempt() {
    for dialect in [Dialect::Plain, Dialect::Claude] {
        let project = Project::new(dialect, [vec![say("<journal>lost</journal>"), hang()], done()]);
        let task = project.task("A");
        let died = project.run_with(Probe::dying_at(|effect| *effect == Effect::Spawn));
        assert_eq!((died.end, project.status(&task)), (None, TaskStatus::InProgress));
        let ran = project.run();
        assert_eq!((ran.code(), ran.seen.killed), (0, vec![1]));
        assert_eq!(project.story(), ["A interrupted: ralph_died", "A done: task_done"]);
        let row = &project.journal()[0].row;
        assert_eq!((&row.run, row.iteration, row.attempt), (&died.run, 1, 1));
        let ended = project.store().run(&died.run).unwrap().unwrap().ended.unwrap().kind;
        assert_eq!(ended, EndKind::Killed);
    }
}

/// A run that died after the end of its turn was recorded, and what a person did then.
fn after_a_crash_at_the_end_of_a_turn(action: impl FnOnce(&mut Store, &TaskId, &Project)) -> (Project, TaskId) {
    let note = r#"<journal>found it</journal><knowledge tags="x" title="It">There.</knowledge>"#;
    let turns = [
        vec![write("a.txt", "1"), say(note), say("<task-done>{task}</task-done>")],
        done(),
    ];
    let project = Project::new(Dialect::Claude, turns).gated(&["echo \"$RALPH_MARKER\" >> ../markers"]);
    let task = project.task("A");
    let died = project.run_with(Probe::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    assert_eq!(died.end, None);
    let mut store = project.store();
    store.free_dead_claims(&|_| Some(false), project.now()).unwrap();
    action(&mut store, &task, &project);
    drop(store);
    (project, task)
}

#[test]
fn recorded_turn_is_settled_by_rerunning_the_gates() {
    let (project, task) = after_a_crash_at_the_end_of_a_turn(|_, _, _| {});
    let ran = project.run();
    assert_eq!(
        (ran.code(), ran.iterations, project.status(&task)),
        (0, 0, TaskStatus::Done)
    );
    let row = project.journal().remove(0).row;
    // The turn, and its verification by the next run.
    assert_eq!((row.notes.as_deref(), row.usage.cost_usd), (Some("found it"), 0.5));
    assert_eq!(project.agent.verifications().len(), 1);
    assert_eq!(
        (row.files_modified, row.changed_nothing),
        (vec!["a.txt".to_owned()], false)
    );
    assert!(project.read(".ralph/knowledge/it.md").contains("There."));
    assert_eq!(project.agent.turns(), 1);
    // Once before the turn, once in the recovering run; both gates run with the turn's marker.
    let marker = &project.calls()[0].2;
    assert_eq!(project.read("../markers"), format!("{marker}\n{marker}\n"));
}

#[test]
fn user_decision_after_a_crash_is_kept() {
    let (project, task) = after_a_crash_at_the_end_of_a_turn(|store, task, project| {
        let here = DoneIn {
            worktree: String::new(),
            commit: None,
        };
        store.finish_task(task, &here, project.now()).unwrap();
    });
    assert_eq!((project.run().code(), project.status(&task)), (0, TaskStatus::Done));
    assert_eq!((project.story().len(), project.agent.turns()), (1, 1));

    let (project, task) = after_a_crash_at_the_end_of_a_turn(|store, task, project| {
        store.reset_task(task, Reach::Itself, project.now()).unwrap();
    });
    assert_eq!((project.run().code(), project.status(&task)), (0, TaskStatus::Done));
    assert_eq!(
        (project.story().len(), project.agent.turns()),
        (2, 2),
        "the task was reset"
    );

    let (project, task) = after_a_crash_at_the_end_of_a_turn(|store, task, project| {
        store.fail_task(task, "no longer wanted", project.now()).unwrap();
    });
    assert_eq!((project.run().code(), project.status(&task)), (4, TaskStatus::Failed));
    assert_eq!((project.story().len(), project.agent.turns()), (1, 1));

    let (project, task) = after_a_crash_at_the_end_of_a_turn(|store, task, project| {
        store.delete_task(task, project.now()).unwrap();
    });
    assert_eq!(project.run().code(), 0);
    assert_eq!(project.store().task(&task).unwrap(), None);
    assert_eq!(project.story(), ["A done: task_done"]);
    assert!(
        project.read(".ralph/knowledge/it.md").contains("There."),
        "knowledge is kept"
    );
}

#[test]
fn both_ends_of_a_truncated_transcript_are_parsed() {
    let project = Project::plain([vec![hang()], done()]);
    project.task("A");
    let died = project.run_with(Probe::dying_at(|effect| *effect == Effect::Spawn));
    let folder = format!(".ralph/runs/{}/001", died.run);
    let head = "{\"line\":\"<journal>from the beginning\"}\n";
    project.write(&format!("{folder}/transcript.jsonl"), head);
    let place = format!(
        r#"{{"head_bytes":{},"before":{{"left_out_lines":7,"left_out_bytes":700}}}}"#,
        head.len()
    );
    let end = "{\"line\":\"to the end</journal>\"}\n";
    project.write(&format!("{folder}/transcript.end-00000003"), &format!("{place}\n{end}"));
    assert_eq!(project.run().code(), 0);
    let row = project.journal().remove(0).row;
    assert_eq!(row.notes.as_deref(), Some("from the beginning\nto the end"));
    let joined = project.read(&format!("{folder}/transcript.jsonl"));
    let missing = "{\"left_out_lines\":7,\"left_out_bytes\":700}\n";
    assert_eq!(joined, format!("{head}{missing}{end}"));
}

#[test]
fn live_run_without_its_lock_blocks_new_runs() {
    let project = Project::new(Dialect::Plain, [done()]);
    let task = project.task("A");
    let pid = std::os::unix::process::parent_id();
    let process = RunProcess {
        host: ralph_process::host(),
        pid,
        started: ralph_process::start_time(pid).unwrap(),
    };
    let living = run_of(process, &project, "", "its-marker");
    let ran = project.run();
    let expected = format!(
        "{living} (process {pid}) is still running in this folder, although its lock was removed: wait for it, or stop it"
    );
    assert_eq!(ran.seen.sentence, Some(expected));
    assert_eq!((ran.code(), project.agent.turns()), (1, 0));
    assert_eq!(project.store().run(&living).unwrap().unwrap().ended, None);
    assert_eq!(project.load_task(&task).claimed_by, Some(living));
}

#[test]
fn iteration_is_reported_begun_only_once_its_agent_started() {
    let project = Project::new(Dialect::Plain, [done()]).gated(&[]);
    project.task("A");
    let stopped = |effect: &Effect| matches!(effect, Effect::Prepare { .. }).then_some(Intervention::Interrupt);
    let ran = project.run_with(Probe::with_hook(stopped));
    assert_eq!((ran.seen.began, ran.seen.settled.len()), (vec![], 0));
    assert_eq!(project.names(&format!(".ralph/runs/{}", ran.run)), ["001"]);
    let ran = project.run();
    assert_eq!((ran.seen.began, ran.seen.settled.len()), (vec![1], 1));
}

/// A process of this machine in another PID namespace, whose pid belongs to another process here.
fn process_in_another_namespace() -> RunProcess {
    let host = ralph_process::host();
    let (machine, _) = host.rsplit_once(' ').unwrap();
    RunProcess {
        host: format!("{machine} pid:[1]"),
        ..dead_process()
    }
}

#[test]
fn foreign_pid_namespace_lease_is_waited_out() {
    let project = Project::plain([done()]);
    let task = project.task("A");
    let marker = format!("marker-elsewhere-{}", std::process::id());
    let elsewhere = run_of(process_in_another_namespace(), &project, "", &marker);
    let start = Start {
        model: None,
        rationale: "",
        before: "",
        dirty: Some(&[]),
        injections: &[],
        prompt_sha256: None,
        at: project.now(),
    };
    project.store().record_start(&elsewhere, &start).unwrap();
    let mut bystander: Child = ralph_process::command("sleep")
        .arg("600")
        .env(MARKER_VARIABLE, &marker)
        .spawn()
        .unwrap();
    let began = project.now();
    let ran = project.run();
    let survived = bystander.try_wait().unwrap().is_none();
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert!(survived, "it belongs to another namespace");
    let waiting = format!(
        "{elsewhere} worked in this folder on another host or in another container: waiting until its lease expires"
    );
    assert_eq!((&ran.seen.warnings[0], ran.seen.killed), (&waiting, vec![0]));
    assert!(project.now().duration_since(began).as_secs() >= 120);
    assert_eq!(project.status(&task), TaskStatus::Done);
    assert_eq!(project.story(), ["A interrupted: ralph_died", "A done: task_done"]);
}

#[test]
fn renewed_foreign_pid_namespace_lease_blocks_this_run() {
    let project = Project::plain([done()]);
    project.task("A");
    let elsewhere = run_of(process_in_another_namespace(), &project, "", "its-marker");
    let database = project.root().join(".ralph/progress.db");
    let (renewed, clock) = (elsewhere.clone(), project.clock());
    let over = Arc::new(AtomicBool::new(false));
    let renew = std::thread::spawn({
        let over = Arc::clone(&over);
        move || {
            let mut store = Store::open_or_create(&database).unwrap();
            while !over.load(Ordering::Relaxed) {
                store
                    .heartbeat(&renewed, Duration::from_secs(300), clock.now())
                    .unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    });
    let ran = project.run();
    over.store(true, Ordering::Relaxed);
    renew.join().unwrap();
    assert_eq!((ran.code(), project.agent.turns()), (1, 0));
    let sentence = ran.seen.sentence.unwrap();
    let host = ralph_process::host();
    let (name, _) = host.split_once(' ').unwrap();
    let expected = format!(
        "{elsewhere} is still running in this folder, on host {name} or in a container there: wait for it, or stop it there"
    );
    assert_eq!(sentence, expected);
    assert_eq!(project.store().run(&elsewhere).unwrap().unwrap().ended, None);
}

#[test]
fn heartbeat_from_the_future_is_waited_for_one_lease() {
    let project = Project::plain([done()]);
    let task = project.task("A");
    let elsewhere = run_of(process_in_another_namespace(), &project, "", "its-marker");
    let began = project.now();
    let next_year = began + Duration::from_secs(365 * 24 * 3600);
    project
        .store()
        .heartbeat(&elsewhere, Duration::from_secs(300), next_year)
        .unwrap();
    let ran = project.run();
    assert_eq!((ran.code(), project.status(&task)), (0, TaskStatus::Done));
    assert!(project.now().duration_since(began).as_secs() < 3600);
}
