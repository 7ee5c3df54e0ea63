//! Tests of two runs at once: refused in one folder, sharing tasks in two worktrees.

use ralph_testkit::scripted::{Script, say, write};

use super::signals::{Going, until};
use super::{DONE, Scene};

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
    let second = scene.run(&["two"]);
    second.refused(
        1,
        &[
            "already working in this folder (process ",
            "git worktree add ../project-2",
            "ralph run",
        ],
    );
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
    let second = second.end();
    assert_eq!(second.code, Some(3), "{second}");
    assert_eq!(second.stdout, "There is nothing to do.\n", "{second}");
    assert!(
        second
            .stderr
            .contains("other runs are working on t-025cc1 (run-658eec67)"),
        "{second}"
    );
    assert_eq!(scene.agent.turns(), 1);
}
