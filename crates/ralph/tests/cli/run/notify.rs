//! Tests of notifications, by command and by bell.

use ralph_testkit::scripted::{Script, exit, raw, say, write};
use serde_json::{Value, json};

use super::signals::Going;
use super::{DONE, Scene};

/// Writes each event to its own file, in order.
const KEEPS: &str = "[notify]\ncommand = 'cat >> events.jsonl'\n";

fn two_tasks(configuration: &str) -> Scene {
    // The second turn changes nothing.
    let scene = Scene::new(&Script::new().turn([write("a.txt", "x"), say(DONE)]));
    scene.env.write(crate::USER_CONFIG, configuration);
    scene
}

/// The events that the command received.
fn events(scene: &Scene) -> Vec<Value> {
    let lines = scene.env.read("events.jsonl");
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn command_gets_the_end_of_a_run() {
    let scene = two_tasks(KEEPS);
    assert_eq!(scene.run(&["one"]).code, Some(0));
    assert_eq!(
        events(&scene),
        [json!({
            "at": "2025-01-20T11:20:00.000Z",
            "project": "project",
            "run": "run-658eec67",
            "event": "run_ended",
            "exit_code": 0,
            "sentence": "project: Everything is done.",
        })]
    );
}

#[test]
fn first_task_to_review_is_notified_when_the_run_continues() {
    let scene = two_tasks(KEEPS);
    scene
        .env
        .write("plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n- [ ] four\n");
    assert_eq!(scene.run(&["plan.md"]).code, Some(4));
    let [review, ended] = &events(&scene)[..] else {
        panic!("two events: {}", scene.env.read("events.jsonl"))
    };
    assert_eq!(
        (&review["event"], &review["task"]),
        (&json!("needs_review"), &json!("t-32555e"))
    );
    let sentence = review["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("the run continues") && sentence.contains("\"two\""),
        "{sentence}"
    );
    assert_eq!((&ended["event"], &ended["exit_code"]), (&json!("run_ended"), &json!(4)));
    let sentence = ended["sentence"].as_str().unwrap();
    assert!(sentence.contains("2 tasks done, unverified"), "{sentence}");
}

#[test]
fn usage_limit_notifies_but_a_user_stop_does_not() {
    let limit = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"Claude AI usage limit reached|1737375840"}"#;
    let scene = Scene::new(&Script::new().speaking_claude().turn([raw(limit), exit(1)]));
    scene
        .env
        .write(crate::USER_CONFIG, format!("[agent]\nkind = \"claude\"\n{KEEPS}"));
    let going = Going::start(&scene, "first", scene.invocation(&["one"]));
    going.says("Resuming in");
    super::signals::until("told", || scene.env.path("events.jsonl").exists());
    going.signal("INT");
    assert_eq!(going.end().code, Some(130));
    let [event] = &events(&scene)[..] else {
        panic!("one event: {}", scene.env.read("events.jsonl"))
    };
    assert_eq!(
        (&event["event"], &event["run"]),
        (&json!("waits"), &json!("run-658eec67"))
    );
    assert_eq!(event["until"], "2025-01-20T12:24:16.244Z");
    let sentence = event["sentence"].as_str().unwrap();
    assert!(sentence.contains("Resuming in 1 h 04 min, at 12:24"), "{sentence}");
}

#[test]
fn failing_command_is_only_a_warning() {
    let scene = two_tasks("[notify]\ncommand = 'echo no display >&2; exit 3'\n");
    let finished = scene.run(&["one"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let warning = "Warning: `[notify] command` failed: exit code 3: no display\n";
    assert!(finished.stderr.ends_with(warning), "{finished}");
}

#[test]
fn project_command_needs_confirmation() {
    let scene = two_tasks("");
    scene.env.write(".ralph.toml", KEEPS);
    let refused = scene.run(&["one"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("notify.command"), "{refused}");
    assert!(!scene.env.path("events.jsonl").exists());
}

#[test]
fn bell_rings_only_at_a_terminal() {
    let scene = two_tasks("[notify]\nbell = true\n");
    let piped = scene.run(&["one"]);
    assert!(
        !piped.stderr.contains('\u{7}') && !piped.stdout.contains('\u{7}'),
        "{piped}"
    );
    let command = scene.agent.command().replace('\'', "");
    let line = format!("\"$RALPH\" run --trust --agent \"{command}\" two");
    let at_terminal = scene
        .env
        .sh(&format!("script -qec '{line}' /dev/null"))
        .env("TERM", "xterm")
        .run();
    assert_eq!(at_terminal.stdout.matches('\u{7}').count(), 1, "{at_terminal}");
}
