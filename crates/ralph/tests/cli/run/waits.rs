//! Tests of usage limits: the output, the status, and the next run.

use ralph_testkit::Screen;
use ralph_testkit::scripted::{Script, exit, raw, run, say, write};

use super::signals::{Going, until};
use super::{DONE, Scene, check_end};

/// An agent whose usage limit resets an hour and four minutes after the clock of the tests.
fn limited() -> Scene {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"Claude AI usage limit reached|[RESET]"}"#;
    // 2025-01-20T12:24:00Z; the clock of these tests is at 11:20.
    let result = result.replace("[RESET]", "1737375840");
    let script = Script::new().speaking_claude().turn([raw(&result), exit(1)]);
    Scene::new(&script.turn([write("a.txt", "x"), say(DONE)]))
}

fn with_kind(scene: &Scene) {
    scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"claude\"\n");
}

#[test]
fn usage_limit_wait_survives_a_restart() {
    let scene = limited();
    with_kind(&scene);
    let going = Going::start(&scene, "first", scene.invocation(&["one"]));
    going.says("Resuming in");
    going.signal("INT");
    let resuming = "Resuming in 1 h 04 min, at 12:24: usage limit of claude. Ctrl+C stops.";
    check_end(
        &going.end(),
        130,
        &[
            "Stopped on request.\n1 iteration: no task done\n",
            "interrupted: The usage limit is reached",
            resuming,
            "Hint: Run `ralph run t-025cc1 --agent [agent]` to continue.",
        ],
    );
    assert_eq!(scene.outcomes(), ["interrupted"]);
    let status = scene.ralph(&["status"]).run();
    let waits = "Paused   claude: usage limit until 12:24, in 1 h 04 min\n";
    assert!(status.stdout.contains(waits), "{status}");
    let going = Going::start(&scene, "second", scene.invocation(&[]));
    going.says("Resuming in");
    going.signal("INT");
    check_end(
        &going.end(),
        130,
        &[
            "Stopped on request.\n",
            "run-658eec67 reported: The usage limit is reached",
            resuming,
        ],
    );
    let hurried = scene.run(&["--no-wait"]);
    assert_eq!((hurried.code, scene.agent.turns()), (Some(0), 2), "{hurried}");
    let status = scene.ralph(&["status"]).run();
    assert!(!status.stdout.contains("Paused"), "{status}");
}

#[test]
fn terminal_shows_the_wait_below_its_line() {
    let scene = limited();
    scene.env.write(
        crate::USER_CONFIG,
        "[agent]\nkind = \"claude\"\n[limits]\nwall_clock = \"1s\"\n",
    );
    let command = scene.agent.command().replace('\'', "");
    let line = format!("\"$RALPH\" run --trust --agent \"{command}\" one");
    let shown = scene
        .env
        .sh(&format!("script -qec '{line}' /dev/null"))
        .env("TERM", "xterm")
        .env("TZ", "UTC")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "50")
        .run();
    let mut screen = Screen::new(80, 24);
    let (going_on, _) = shown.stdout.rsplit_once("The limit ").unwrap();
    let drawn = shown.stdout.matches("now    Resuming in 1 h 0").count();
    assert!(drawn > 0, "{:?}", shown.stdout);
    screen.take(going_on.as_bytes());
    let told = screen.lines();
    let [.., told, rest] = told.as_slice() else {
        panic!("{:?}", shown.stdout)
    };
    let told = format!("{told} {rest}");
    assert!(told.starts_with("11:20:00 Resuming in 1 h 0"), "{told}");
    assert!(
        told.ends_with(" min, at 12:24: usage limit of claude. Ctrl+C stops."),
        "{told}"
    );
    assert_eq!(shown.code, Some(4), "{shown}");
    assert!(!shown.stdout.contains("\u{1b}[1"), "{:?}", shown.stdout);
}

#[test]
fn run_killed_while_waiting_leaves_the_rest_to_the_next() {
    let scene = limited();
    with_kind(&scene);
    let going = Going::start(&scene, "first", scene.invocation(&["one"]));
    going.says("Resuming in 1 h 04 min, at 12:24");
    going.signal("KILL");
    assert_eq!(going.end().code, None);
    // An hour has passed.
    let later = scene.invocation(&[]).env("RALPH_NOW", "2025-01-20T12:20:00Z");
    let going = Going::start(&scene, "second", later);
    going.says("run-658eec67 reported: The usage limit is reached");
    going.says(": usage limit of claude");
    going.says("Resuming in 4 min");
    going.signal("KILL");
    drop(going.end());
    assert_eq!(
        (scene.agent.turns(), scene.outcomes()),
        (1, vec!["interrupted".to_owned()])
    );
    // The whole wait has passed.
    let later = scene.invocation(&[]).env("RALPH_NOW", "2025-01-20T12:30:00Z").run();
    assert_eq!(later.code, Some(0), "{later}");
    assert!(!later.stderr.contains("Resuming in"), "{later}");
    assert_eq!(scene.outcomes(), ["interrupted", "done"]);
}

/// Moves the clock of processes under `faketime`.
fn set_clock(scene: &Scene, by: &str) {
    let set = scene
        .env
        .sh(&format!("echo {by} > ../clock.new && mv ../clock.new ../clock"));
    assert_eq!(set.run().code, Some(0));
}

/// The start of a shell line that makes the clock settable through the file `clock`; none, with a message, if the
/// program for it is not installed.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn with_a_clock(scene: &Scene) -> Option<String> {
    let found = scene.env.sh("command -v faketime").run();
    if found.code != Some(0) {
        eprintln!("SKIPPED: faketime is not installed, so no clock can jump");
        return None;
    }
    let file = scene.env.beside("clock");
    set_clock(scene, "+0");
    let set = format!("FAKETIME_TIMESTAMP_FILE={} FAKETIME_NO_CACHE=1", file.display());
    Some(format!("faketime --exclude-monotonic -f +0 env -u FAKETIME {set}"))
}

#[test]
fn wait_follows_clock_jumps() {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"Claude AI usage limit reached|[RESET]"}"#;
    let reset = crate::env().sh("echo $(($(date +%s) + 3600))").unfixed().run().stdout;
    let script = Script::new()
        .speaking_claude()
        .turn([raw(&result.replace("[RESET]", reset.trim())), exit(1)]);
    let scene = Scene::new(&script.turn([write("a.txt", "x"), say(DONE)]));
    with_kind(&scene);
    let Some(clock) = with_a_clock(&scene) else { return };
    // At a terminal the run polls the clock every second.
    let command = scene.agent.command().replace('\'', "");
    let line = format!("{clock} \"$RALPH\" run --trust --agent \"{command}\" one");
    let waiting = scene.env.sh(&format!("script -qec '{line}' /dev/null"));
    let going = Going::start(&scene, "waiting", waiting.unfixed().env("TERM", "xterm"));
    until("the wait", || {
        std::fs::read_to_string(scene.env.beside("waiting.out"))
            .unwrap()
            .contains("usage limit of claude")
    });
    // One day back: nothing ends, and nothing lasts longer.
    set_clock(&scene, "-1d");
    until("a look", || {
        std::fs::read_to_string(scene.env.beside("waiting.out"))
            .unwrap()
            .matches("usage limit of claude")
            .count()
            > 3
    });
    assert_eq!(scene.agent.turns(), 1);
    set_clock(&scene, "+2h");
    let ended = going.end();
    assert_eq!((ended.code, scene.agent.turns()), (Some(0), 2), "{ended}");
    assert_eq!(scene.outcomes(), ["interrupted", "done"]);
}

#[test]
fn run_with_a_fast_clock_takes_no_claimed_task() {
    let scene = Scene::new(&Script::new().turn([
        run("touch ../works; while ! test -e ../enough; do sleep 0.05; done"),
        write("{task}.txt", "x"),
        say(DONE),
    ]));
    let Some(clock) = with_a_clock(&scene) else { return };
    scene.env.git(["init", "--quiet"]);
    scene.env.git(["commit", "--quiet", "--allow-empty", "-m", "first"]);
    scene.env.git(["worktree", "add", "--quiet", "--detach", "../ahead"]);
    let going = Going::start(&scene, "works", scene.invocation(&["one"]).unfixed());
    until("the agent", || scene.env.beside("works").exists());
    set_clock(&scene, "+1d");
    let command = scene.agent.command().replace('\'', "");
    let line = format!("{clock} \"$RALPH\" run --trust --agent \"{command}\"");
    let ahead = scene.env.sh(&line).folder(&scene.env.beside("ahead")).unfixed();
    let ahead = Going::start(&scene, "ahead", ahead);
    ahead.says("No task is ready; other runs are working on");
    scene.env.write("../enough", "");
    let (first, ahead) = (going.end(), ahead.end());
    assert_eq!(first.code, Some(0), "{first}");
    assert!(matches!(ahead.code, Some(0 | 3)), "{ahead}");
    assert_eq!((scene.agent.turns(), scene.outcomes()), (1, vec!["done".to_owned()]));
}
