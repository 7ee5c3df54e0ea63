//! A usage limit as a person meets it: what is said, what the status shows, what the next run does.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, exit, raw, say, write};

use super::signals::Going;
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
    scene.env.write(".ralph.toml", "[agent]\nkind = \"claude\"\n");
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
    11:20:00 run-658eec67 begins.
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
fn a_terminal_gets_one_line_that_is_drawn_again() {
    let scene = limited();
    scene.env.write(
        ".ralph.toml",
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
    let drawn = shown.stdout.split("\rGoes on in 1 h 0").nth(1);
    let drawn = drawn.unwrap_or_else(|| panic!("{:?}", shown.stdout));
    let shown_first = drawn.split_once(" min, at 12:24: usage limit");
    assert!(shown_first.is_some_and(|(minutes, _)| minutes.len() == 1), "{drawn:?}");
    assert!(drawn.contains("…\u{1b}[K"), "{drawn:?}");
    assert!(drawn.contains("\r\u{1b}[KThe limit "), "{drawn:?}");
    assert_eq!(shown.code, Some(4), "{shown}");
    assert!(!shown.stdout.contains("\u{1b}[1"), "{:?}", shown.stdout);
}
