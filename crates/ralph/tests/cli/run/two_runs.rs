//! Tests of two runs at once: refused in one folder, sharing tasks in two worktrees.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, say, write};

use super::signals::{Going, until};
use super::{DONE, Scene, normal};

/// An agent that works until a file exists.
fn patient() -> Script {
    Script::new().turn([
        write("begun.txt", "x"),
        ralph_testkit::scripted::run("while [ ! -e go-on ]; do sleep 0.01; done"),
        say(DONE),
    ])
}

#[test]
fn second_run_in_one_folder_is_refused() {
    let scene = Scene::new(&patient());
    let going = Going::start(&scene, "first", scene.invocation(&["one"]));
    until("begun.txt", || scene.env.path("begun.txt").exists());
    let mut second = scene.run(&["two"]);
    let digits: Vec<&str> = second
        .stderr
        .split(|c: char| !c.is_ascii_digit())
        .filter(|word| word.len() > 1)
        .collect();
    second.stderr = digits
        .iter()
        .fold(second.stderr.clone(), |text, pid| text.replace(pid, "[PID]"));
    assert_snapshot!(second, @"
    exit 1
    --- stderr
    Error: another run is already working in this folder (process [PID])
    Hint: run `git worktree add ../project-2`, then `ralph run` in it, to work on the same tasks in parallel
    ");
    assert_eq!(scene.open_tasks().len(), 1, "the second made no task");
    scene.env.write("go-on", "");
    let first = going.end();
    assert_eq!(first.code, Some(0), "{first}");
    assert_eq!(scene.agent.turns(), 1);
}

#[test]
fn run_in_another_worktree_waits_for_the_first() {
    let scene = Scene::new(&patient());
    scene.env.git(["init", "--quiet"]);
    scene.env.git(["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let other = scene.env.beside("other");
    scene
        .env
        .git(["worktree", "add", "--quiet", "--detach", other.to_str().unwrap()]);
    let in_place = |arguments: &[&str]| scene.invocation(arguments).env("RALPH_GIT_ISOLATE", "off");
    let going = Going::start(&scene, "first", in_place(&["one"]));
    until("begun.txt", || scene.env.path("begun.txt").exists());
    let second = Going::start(&scene, "second", in_place(&[]).folder(&other));
    second.says("other runs are working on");
    scene.env.write("go-on", "");
    assert_eq!(going.end().code, Some(0));
    assert_snapshot!(normal(second.end()), @r#"
    exit 3
    --- stdout
    There is nothing to do.
    --- stderr
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-1c9756ce started.
    11:20:00 No task is ready; other runs are working on t-025cc1 (run-658eec67).
    Hint: Add a task with `ralph task add "TITLE"`, or add and run one with `ralph run "TEXT"`.
    "#);
    assert_eq!(scene.agent.turns(), 1);
}
