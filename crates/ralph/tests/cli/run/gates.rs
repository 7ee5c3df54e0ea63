//! Tests of gates, which decide whether a reported task is done.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, say, write};

use super::{DONE, Scene};

fn with_gates(script: &Script, gates: &str) -> Scene {
    let scene = Scene::new(script);
    scene.env.write(".ralph.toml", gates);
    scene
}

#[test]
fn failing_gate_retries_with_its_output() {
    let script = Script::new()
        .turn([write("good.txt", "bad\n"), say(DONE)])
        .turn([write("good.txt", "good\n"), say(DONE)]);
    let gates = "[verify]\ncommands = [\"true\", \"test ! -e good.txt || grep -q good good.txt || { echo it is bad; exit 1; }\"]\n";
    let scene = with_gates(&script, gates);
    assert_snapshot!(scene.run(&["one", "--trust"]), @"
    exit 0
    --- stdout
    Everything is done.
    2 iterations: 1 task done
    --- stderr
    Confirmed what this project may do on your machine:
      verify.commands = true
      verify.commands = test ! -e good.txt || grep -q good good.txt || { echo it is bad; exit 1; }
    Task t-025cc1: one
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-658eec67 started.
    11:20:00 gate passed: true
    11:20:00 gate passed: test ! -e good.txt || grep -q good good.txt || { echo it is bad; exit 1; }
    11:20:00 [t-025cc1] iteration 1: one
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing from memory
    11:20:00 [t-025cc1] gate passed: true
    11:20:00 [t-025cc1] gate failed (exit code 1): test ! -e good.txt || grep -q good good.txt || { echo it is bad; exit 1; }
    11:20:00 [t-025cc1] retried: it is bad (1 file changed)
    11:20:00 [t-025cc1] iteration 2, attempt 2 of 4: one
    11:20:00 [t-025cc1] gate passed: true
    11:20:00 [t-025cc1] gate passed: test ! -e good.txt || grep -q good good.txt || { echo it is bad; exit 1; }
    11:20:00 [t-025cc1] done (1 file changed)
    ");
    assert_eq!(scene.outcomes(), ["retried", "done"]);
    assert!(scene.agent.prompt(2).contains("it is bad"), "{}", scene.agent.prompt(2));
    let shown = scene.ralph(&["journal", "show", "1"]).run().stdout;
    let (_, report) = shown.split_once("report      written by ralph, signature ").unwrap();
    let (_, told) = report.split_once('\n').unwrap();
    assert_snapshot!(told, @"
    failed      The gate `test ! -e good.txt || grep -q good good.txt || { echo it is bad; exit 1; }` failed (exit code 1).
    about       good.txt
    gate        test ! -e good.txt || grep -q good good.txt || { echo it is bad; exit 1; } (exit code 1)
    output      it is bad
    ");
    let told = scene.ralph(&["journal", "show", "1", "--json"]).run().stdout;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["report"]["origin"], "ralph");
    assert_eq!(told["report"]["gate"]["end"], "exit code 1");
    assert_eq!(told["signature"].as_str().map(str::len), Some(16));
}

#[test]
fn gate_failing_before_the_run_does_not_refuse() {
    let script = Script::new().turn([write("a.txt", "x"), say(DONE)]);
    let scene = with_gates(&script, "[verify]\ncommands = [\"echo old trouble; exit 1\"]\n");
    assert_snapshot!(scene.run(&["one", "--trust"]), @"
    exit 4
    --- stdout
    1 task done, unverified: no gate or verifier confirmed it. Run `ralph review`.
    1 iteration: 1 task done, 1 unverified
    Still failing, as before this run: echo old trouble; exit 1: old trouble
    --- stderr
    Confirmed what this project may do on your machine:
      verify.commands = echo old trouble; exit 1
    Task t-025cc1: one
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-658eec67 started.
    11:20:00 gate failed (exit code 1): echo old trouble; exit 1
    11:20:00 already failing before this run: echo old trouble; exit 1: old trouble
    11:20:00 [t-025cc1] iteration 1: one
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing from memory
    11:20:00 [t-025cc1] gate failed (exit code 1): echo old trouble; exit 1
    11:20:00 [t-025cc1] done: The gate `echo old trouble; exit 1` still fails, as before the run. (1 file changed)
    11:20:00 [t-025cc1] unverified: no gate or verifier confirmed it
    Hint: Set a gate (`[verify] commands` in .ralph.toml) or a verifier to confirm finished work.
    ");
    let shown = scene.ralph(&["journal", "show", "1"]).run().stdout;
    assert!(
        shown.contains("The gate `echo old trouble; exit 1` still fails, as before the run."),
        "{shown}"
    );
    assert!(
        scene.agent.prompt(1).contains("echo old trouble"),
        "{}",
        scene.agent.prompt(1)
    );
}

#[test]
fn gate_timeout_ends_all_its_processes() {
    let script = Script::new().turn([write("a.txt", "x"), say(DONE)]);
    let gates = "[verify]\ncommands = [\"test ! -e a.txt || { setsid sleep 31001 & sleep 31002; }\"]\ntimeout = \"1s\"\n[execution]\nmax_retries = 0\n";
    let scene = with_gates(&script, gates);
    assert_snapshot!(scene.run(&["one", "--trust"]), @"
    exit 4
    --- stdout
    Stopped: 1 task failed.
    1 iteration: no task done, 1 failed
    --- stderr
    Confirmed what this project may do on your machine:
      verify.commands = test ! -e a.txt || { setsid sleep 31001 & sleep 31002; }
    Task t-025cc1: one
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-658eec67 started.
    11:20:00 gate passed: test ! -e a.txt || { setsid sleep 31001 & sleep 31002; }
    11:20:00 [t-025cc1] iteration 1: one
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing from memory
    11:20:00 [t-025cc1] gate took longer than `[verify] timeout` allows: test ! -e a.txt || { setsid sleep 31001 & sleep 31002; }
    11:20:00 [t-025cc1] retried: The gate `test ! -e a.txt || { setsid sleep 31001 & sleep 31002; }` took longer than `[verify] timeout` allows. (1 file changed)
    11:20:00 [t-025cc1] Gave up: no attempts are left.
    Hint: Run `ralph review` to see what needs your attention, or `ralph task reset ID` to retry a task.
    ");
    for sleep in ["sleep 31001", "sleep 31002"] {
        let left = scene.env.sh(&format!("ps -eo args | grep -Fx '{sleep}'")).run();
        assert_eq!(left.stdout, "", "{sleep}");
    }
}

#[test]
fn gates_run_without_a_verifier() {
    let script = Script::new().turn([write("a.txt", "x"), say(DONE)]);
    let gates = "[verify]\ncommands = [\"test ! -e a.txt\"]\n[execution]\nmax_retries = 0\n";
    let scene = with_gates(&script, gates);
    let finished = scene.run(&["one", "--trust", "--no-verify"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert_eq!(scene.outcomes(), ["retried"]);
}

#[test]
fn done_task_shows_its_commit_if_any() {
    let script = Script::new().turn([write("a.txt", "x"), say(DONE)]);
    let scene = with_gates(&script, "[git]\ncommit = \"task\"\n");
    let refused = scene.run(&["one", "--trust"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("is in no git repository"), "{refused}");
    assert_eq!(scene.open_tasks(), [], "nothing was made of it");
    let begin = "git init --quiet . && git config user.name T && git config user.email t@example.com";
    assert_eq!(scene.env.sh(begin).run().code, Some(0));
    let first = scene.run(&["one", "--trust"]);
    let commit = scene.env.sh("git rev-parse HEAD").run().stdout;
    let short: String = commit.chars().take(7).collect();
    assert!(
        first
            .stderr
            .contains(&format!("done, committed {short} (1 file changed)")),
        "{first}"
    );
    let second = scene.run(&["two", "--trust"]);
    assert_eq!(second.code, Some(4), "{second}");
    assert!(!second.stderr.contains("done, committed"), "{second}");
}
