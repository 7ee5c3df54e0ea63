//! Tests of gates, which decide whether a reported task is done.

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
    scene.run(&["one", "--trust"]).printed(&[
        "2 iterations: 1 task done",
        "verify.commands = true",
        "gate passed: test ! -e good.txt",
        "iteration 1: one",
        "gate failed (exit code 1): test ! -e good.txt",
        "retried: it is bad (1 file changed)",
        "iteration 2, attempt 2 of 4: one",
        "gate passed: test ! -e good.txt",
        "done (1 file changed)",
    ]);
    assert_eq!(scene.outcomes(), ["retried", "done"]);
    assert!(scene.agent.prompt(2).contains("it is bad"), "{}", scene.agent.prompt(2));
    let shown = scene.ralph(&["journal", "show", "1"]).run();
    shown.printed(&[
        "written by ralph",
        "failed (exit code 1).",
        "about       good.txt",
        "(exit code 1)",
        "output      it is bad",
    ]);
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
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    for text in [
        "1 task done, unverified",
        "Still failing, as before this run: echo old trouble; exit 1",
    ] {
        assert!(finished.stdout.contains(text), "{text} in {finished}");
    }
    for text in [
        "already failing before this run: echo old trouble; exit 1: old trouble",
        "done: The gate `echo old trouble; exit 1` still fails, as before the run.",
        "unverified: no gate or verifier confirmed it",
        "[verify] commands",
    ] {
        assert!(finished.stderr.contains(text), "{text} in {finished}");
    }
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
