//! Tests of the verifier.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, hang, run, say, write};

use super::agents::installed_as;
use super::signals::{Going, until};
use super::{DONE, Scene, normal};

/// A claude agent whose work the verifier refuses once.
fn refused_once() -> Script {
    Script::new()
        .speaking_claude()
        .turn([write("a.txt", "{turn}"), say(DONE)])
        .verification([say("<verify-fail>The test of an empty name is missing</verify-fail>")])
        .verification([say("<verify-pass/>")])
}

fn claude(script: &Script) -> Scene {
    let scene = Scene::new(script);
    scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"claude\"\n");
    scene
}

#[test]
fn refused_work_is_reported_and_retried() {
    let scene = claude(&refused_once());
    assert_snapshot!(scene.run(&["one"]), @"
    exit 0
    --- stdout
    Everything is done.
    2 iterations: 1 task done, $1.00
    --- stderr
    Task t-025cc1: one
    Agent: claude (from --agent), permissions: edit (--permission-mode acceptEdits).
    Verifier: claude, read-only.
    11:20:00 run-658eec67 started.
    11:20:00 gate passed: true
    11:20:00 [t-025cc1] iteration 1: one
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing from memory
    11:20:00 [t-025cc1]   Write a.txt
    11:20:00 [t-025cc1] gate passed: true
    11:20:00 [t-025cc1] claude verifies the work
    11:20:00 [t-025cc1] verifier refused
    11:20:00 [t-025cc1] retried: The verifier refused: The test of an empty name is missing. (1 file changed)
    11:20:00 [t-025cc1] iteration 2, attempt 2 of 4: one
    11:20:00 [t-025cc1]   Write a.txt
    11:20:00 [t-025cc1] gate passed: true
    11:20:00 [t-025cc1] claude verifies the work
    11:20:00 [t-025cc1] verifier passed
    11:20:00 [t-025cc1] done (1 file changed)
    ");
    assert!(scene.agent.prompt(2).contains("The test of an empty name is missing"));
    let shown = scene.ralph(&["journal", "show", "1"]).run().stdout;
    assert!(
        shown.contains("The verifier refused: The test of an empty name is missing."),
        "{shown}"
    );
    let shown = scene.ralph(&["journal", "show", "2"]).run().stdout;
    assert!(shown.contains("verifier    claude: passed"), "{shown}");
}

#[test]
fn each_verification_prints_a_line() {
    let script = Script::new()
        .speaking_claude()
        .turn([write("a.txt", "{turn}"), say(DONE)])
        .verification([say("It looks good.")])
        .verification([write("b.txt", "mine"), say("<verify-pass/>")])
        .verification([say("<verify-pass/>")]);
    let ran = claude(&script).run(&["one"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let lines: Vec<&str> = ran
        .stderr
        .lines()
        .filter_map(|line| line.split_once("] verifier "))
        .map(|(_, how)| how)
        .collect();
    assert_eq!(
        lines,
        ["gave no verdict", "passed, but this does not count", "passed"],
        "{ran}"
    );
}

#[test]
fn verifier_has_its_own_events() {
    let scene = claude(&refused_once());
    let finished = scene.invocation(&["--json", "one"]).run();
    let events: Vec<serde_json::Value> = finished
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let words: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let began = words.iter().position(|word| *word == "verifier_began").unwrap();
    let looked = words.iter().position(|word| *word == "verified").unwrap();
    assert!(
        words[began + 1..looked]
            .iter()
            .all(|word| word.starts_with("verifier_")),
        "{words:?}"
    );
    assert_eq!(events[0]["verifier"], "claude");
    let found = &events[looked];
    assert_eq!((&found["passes"], &found["verdict"]), (&false.into(), &"fail".into()));
    assert_eq!(found["reason"], "The test of an empty name is missing");
    assert_eq!(words[looked + 1], "settled");
}

#[test]
fn verifier_can_be_switched_off() {
    let scene = claude(&refused_once());
    let finished = scene.run(&["one", "--no-verify"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(!finished.stderr.contains("erifier"), "{finished}");
    assert!(scene.agent.verifications().is_empty());
}

#[test]
fn configured_verifier_is_used_and_confirmed() {
    let scene = Scene::new(&Script::new().speaking_claude().verification([say("<verify-pass/>")]));
    let path = installed_as(&scene, "claude");
    let worker = Script::new()
        .turn([write("a.txt", "x"), say(DONE)])
        .install(&scene.env.beside("worker"));
    scene.env.write(".ralph.toml", "[verify]\nverifier = \"claude\"\n");
    let command = worker.command();
    let run = |more: &[&str]| {
        let arguments = [&["run", "--agent", &command, "one"], more].concat();
        normal(scene.ralph(&arguments).env("PATH", &path).run())
    };
    let refused = run(&[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("  verify.verifier = claude\n"), "{refused}");
    let finished = run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(
        finished.stderr.contains("Verifier: claude (configured), read-only."),
        "{finished}"
    );
    assert_eq!((worker.turns(), scene.agent.verifications().len()), (1, 1));
    assert!(
        scene
            .agent
            .verification_call(1)
            .arguments
            .contains(&"default".to_owned())
    );
}

#[test]
fn unusable_verifier_is_refused_early() {
    let scene = Scene::new(&Script::new().turn([say(DONE)]));
    let path = installed_as(&scene, "codex");
    let refused = |verifier: &str| {
        scene
            .env
            .write(".ralph.toml", format!("[verify]\nverifier = \"{verifier}\"\n"));
        let finished = scene.invocation(&["one", "--trust"]).env("PATH", &path).run();
        assert_eq!(finished.code, Some(1), "{finished}");
        finished.stderr.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        refused("no-such-program"),
        "Error: cannot start the verifier: no-such-program is not on the PATH"
    );
    assert_eq!(
        refused("codex --yolo"),
        "Error: the verifier codex cannot be made read-only with its current command"
    );
    assert_eq!(scene.open_tasks(), []);
}

/// A claude agent whose first verifier leaves a process behind and never ends.
fn verified_forever(seconds: u32) -> Script {
    Script::new()
        .speaking_claude()
        .turn([write("a.txt", "x"), say(DONE)])
        .verification([
            run(&format!("setsid sleep {seconds} >/dev/null 2>&1 & : > .ralph/looking")),
            hang(),
        ])
        .verification([say("<verify-pass/>")])
}

#[test]
fn ctrl_c_during_verification_stops_the_run() {
    let scene = claude(&verified_forever(33_001));
    let going = Going::start(&scene, "run", scene.invocation(&["one"]));
    until("the look", || scene.env.path(".ralph/looking").exists());
    going.signal("INT");
    let finished = going.end();
    assert_eq!(finished.code, Some(130), "{finished}");
    assert_eq!(scene.outcomes(), ["interrupted"]);
    assert_eq!(scene.open_tasks(), [("one".to_owned(), "pending".to_owned())]);
    super::signals::assert_gone(&scene, "sleep 33001");
}

#[test]
fn run_killed_during_verification_is_finished_by_the_next() {
    let scene = claude(&verified_forever(33_002));
    let going = Going::start(&scene, "run", scene.invocation(&["one"]));
    until("the look", || scene.env.path(".ralph/looking").exists());
    going.signal("KILL");
    let killed = going.end();
    assert_eq!(killed.code, None, "{killed}");
    assert_eq!(scene.outcomes(), [""; 0]);
    let finished = scene.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(scene.outcomes(), ["done"]);
    assert_eq!((scene.agent.turns(), scene.agent.verifications().len()), (1, 2));
    super::signals::assert_gone(&scene, "sleep 33002");
}
