//! A usage limit as a person meets it: what is said, what the status shows, what the next run does.

use insta::assert_snapshot;
use ralph_testkit::Screen;
use ralph_testkit::scripted::{Script, exit, raw, run, say, write};

use super::signals::{Going, until};
use super::{DONE, Scene};

/// An agent whose limit is over an hour and four minutes after the tests' noon, and which works then.
fn limited() -> Scene {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"Claude AI usage limit reached|[RESET]"}"#;
    // 2025-01-20T12:24:00Z; the clock of these tests stands at 11:20.
    let result = result.replace("[RESET]", "1737375840");
    let script = Script::new().speaking_claude().turn([raw(&result), exit(1)]);
    Scene::new(&script.turn([write("a.txt", "x"), say(DONE)]))
}

fn with_kind(scene: &Scene) {
    scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"claude\"\n");
}

#[test]
fn a_usage_limit_is_waited_for_over_a_restart_unless_somebody_is_in_a_hurry() {
    let scene = limited();
    with_kind(&scene);
    let going = Going::start(&scene, "first", scene.invocation(&["one"]));
    going.says("Goes on in");
    going.signal("INT");
    assert_snapshot!(going.end(), @"
    exit 130
    --- stdout
    It was stopped.
    1 iteration: no task done
    --- stderr
    Task t-025cc1: one
    Agent: claude (from --agent), permissions: edit (--permission-mode acceptEdits).
    Verifier: claude, read-only.
    11:20:00 run-658eec67 begins.
    11:20:00 gate passed: true
    11:20:00 [t-025cc1] iteration 1: one
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing of it from memory
    11:20:00 [t-025cc1] interrupted: The usage limit is reached: Claude AI usage limit reached|1737375840.
    11:20:00 Goes on in 1 h 04 min, at 12:24: usage limit of claude. Ctrl+C stops.
    Hint: `ralph run t-025cc1 --agent [agent]` goes on.
    ");
    let status = scene.ralph(&["status"]).run();
    let waits = "Waits    claude: usage limit until 12:24, in 1 h 04 min\n";
    assert!(status.stdout.contains(waits), "{status}");
    let going = Going::start(&scene, "second", scene.invocation(&[]));
    going.says("Goes on in");
    going.signal("INT");
    assert_snapshot!(going.end(), @"
    exit 130
    --- stdout
    It was stopped.
    --- stderr
    Agent: claude (from --agent), permissions: edit (--permission-mode acceptEdits).
    Verifier: claude, read-only.
    11:20:00 run-db018fed begins.
    11:20:00 run-658eec67 found: The usage limit is reached: Claude AI usage limit reached|1737375840.
    11:20:00 Goes on in 1 h 04 min, at 12:24: usage limit of claude. Ctrl+C stops.
    Hint: `ralph run --agent [agent]` goes on.
    ");
    let hurried = scene.run(&["--no-wait"]);
    assert_eq!((hurried.code, scene.agent.turns()), (Some(0), 2), "{hurried}");
    let status = scene.ralph(&["status"]).run();
    assert!(!status.stdout.contains("Waits"), "{status}");
}

#[test]
fn a_terminal_shows_the_wait_below_the_line_that_tells_of_it() {
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
    let drawn = shown.stdout.matches("now    Goes on in 1 h 0").count();
    assert!(drawn > 0, "{:?}", shown.stdout);
    screen.take(going_on.as_bytes());
    let told = screen.lines();
    let [.., told, rest] = told.as_slice() else {
        panic!("{:?}", shown.stdout)
    };
    let told = format!("{told} {rest}");
    assert!(told.starts_with("11:20:00 Goes on in 1 h 0"), "{told}");
    assert!(
        told.ends_with(" min, at 12:24: usage limit of claude. Ctrl+C stops."),
        "{told}"
    );
    assert_eq!(shown.code, Some(4), "{shown}");
    assert!(!shown.stdout.contains("\u{1b}[1"), "{:?}", shown.stdout);
}

#[test]
fn a_run_that_is_killed_in_its_wait_leaves_the_rest_of_it_to_the_next() {
    let scene = limited();
    with_kind(&scene);
    let going = Going::start(&scene, "first", scene.invocation(&["one"]));
    going.says("Goes on in 1 h 04 min, at 12:24");
    going.signal("KILL");
    assert_eq!(going.end().code, None);
    // An hour has passed since.
    let later = scene.invocation(&[]).env("RALPH_NOW", "2025-01-20T12:20:00Z");
    let going = Going::start(&scene, "second", later);
    going.says("run-658eec67 found: The usage limit is reached");
    going.says(": usage limit of claude");
    going.says("Goes on in 4 min");
    going.signal("KILL");
    drop(going.end());
    assert_eq!(
        (scene.agent.turns(), scene.outcomes()),
        (1, vec!["interrupted".to_owned()])
    );
    // And all of it.
    let later = scene.invocation(&[]).env("RALPH_NOW", "2025-01-20T12:30:00Z").run();
    assert_eq!(later.code, Some(0), "{later}");
    assert!(!later.stderr.contains("Goes on in"), "{later}");
    assert_eq!(scene.outcomes(), ["interrupted", "done"]);
}

/// Sets the clock of whoever looks at the file: ahead or back.
fn set_clock(scene: &Scene, by: &str) {
    let set = scene
        .env
        .sh(&format!("echo {by} > ../clock.new && mv ../clock.new ../clock"));
    assert_eq!(set.run().code, Some(0));
}

/// The start of a shell's line under which clocks can be set with the file `clock`; none where the program for it is not
/// installed, which is said.
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
fn a_wait_is_over_when_the_clock_says_so_also_when_it_jumps() {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"Claude AI usage limit reached|[RESET]"}"#;
    let reset = crate::env().sh("echo $(($(date +%s) + 3600))").unfixed().run().stdout;
    let script = Script::new()
        .speaking_claude()
        .turn([raw(&result.replace("[RESET]", reset.trim())), exit(1)]);
    let scene = Scene::new(&script.turn([write("a.txt", "x"), say(DONE)]));
    with_kind(&scene);
    let Some(clock) = with_a_clock(&scene) else { return };
    // Whoever has a terminal looks at the clock every second.
    let command = scene.agent.command().replace('\'', "");
    let line = format!("{clock} \"$RALPH\" run --trust --agent \"{command}\" one");
    let waiting = scene.env.sh(&format!("script -qec '{line}' /dev/null"));
    let going = Going::start(&scene, "waiting", waiting.unfixed().env("TERM", "xterm"));
    until("the wait", || {
        std::fs::read_to_string(scene.env.beside("waiting.out"))
            .unwrap()
            .contains("usage limit of claude")
    });
    // Back by a day: nothing ends, and nothing lasts longer for it.
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
fn a_run_whose_clock_is_a_day_ahead_takes_no_task_from_one_that_works() {
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
    ahead.says("No task is ready; other runs work on");
    scene.env.write("../enough", "");
    let (first, ahead) = (going.end(), ahead.end());
    assert_eq!(first.code, Some(0), "{first}");
    assert!(matches!(ahead.code, Some(0 | 3)), "{ahead}");
    assert_eq!((scene.agent.turns(), scene.outcomes()), (1, vec!["done".to_owned()]));
}
