//! Tests of guardrails with rules: violations are refused with the guardrail as the reason.

use ralph_testkit::scripted::{Script, append, run, say, write};

use super::isolation::{add, commit, log, project};
use super::{DONE, Scene};
use crate::json;

const TEXT: &str = "commands.txt is generated; never edit it";

fn outcomes_and_reasons(scene: &Scene) -> Vec<(String, String)> {
    let rows = json(&scene.env, &["journal", "list", "--json"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let mut rows: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(&row["outcome"]), text(&row["reason"])))
        .collect();
    rows.reverse();
    rows
}

/// The first attempt edits the file, the second does something else, the third restores it.
fn disobedient() -> Script {
    Script::new()
        .turn([write("commands.txt", "by hand\n"), say(DONE)])
        .turn([write("other.txt", "other\n"), say(DONE)])
        .turn([write("commands.txt", "generated\n"), say(DONE)])
}

#[test]
fn change_of_a_denied_path_does_not_land() {
    let scene = project(&disobedient());
    scene.env.write("commands.txt", "generated\n");
    commit(&scene, "commands");
    scene.env.ok(["guardrails", "add", TEXT, "--deny-path", "commands.txt"]);
    let task = add(&scene, "one");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let rows = outcomes_and_reasons(&scene);
    let outcomes: Vec<&str> = rows.iter().map(|(outcome, _)| outcome.as_str()).collect();
    // The change of the first attempt still counts in the second.
    assert_eq!(outcomes, ["retried", "retried", "done"], "{rows:?}");
    for (_, reason) in &rows[..2] {
        assert!(
            reason.contains(TEXT) && reason.contains("commands.txt: undo that"),
            "{reason}"
        );
    }
    assert_eq!(log(&scene), ["first", "commands", "one"]);
    assert_eq!(
        scene.env.git(["show", "--format=", "--name-only", "HEAD"]),
        "other.txt\n"
    );
    assert_eq!(scene.env.read("commands.txt"), "generated\n");
    let prompt = scene.ralph(&["prompt", &task]).run();
    assert!(
        prompt
            .stdout
            .contains("Enforced: work that changes `commands.txt` is refused."),
        "{prompt}"
    );
}

#[test]
fn denied_path_in_place_is_refused_until_restored() {
    let scene = project(&disobedient());
    scene.env.write("commands.txt", "generated\n");
    commit(&scene, "commands");
    scene.env.write(
        ".ralph.toml",
        "[verify]\ncommands = [\"grep -q whole calc.txt\"]\n[git]\nisolate = \"off\"\n",
    );
    scene.env.ok(["guardrails", "add", TEXT, "--deny-path", "commands.txt"]);
    add(&scene, "one");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let rows = outcomes_and_reasons(&scene);
    let outcomes: Vec<&str> = rows.iter().map(|(outcome, _)| outcome.as_str()).collect();
    assert_eq!(outcomes, ["retried", "retried", "done"], "{rows:?}");
    assert!(rows[1].1.contains(TEXT), "{rows:?}");
}

#[test]
fn guardrail_check_is_confirmed_and_refuses_work() {
    let scene = project(&Script::new().turn([write("big.txt", "too big\n"), say(DONE)]).turn([
        write("big.txt", "small\n"),
        write("{task}.txt", "\n"),
        say(DONE),
    ]));
    scene.env.ok([
        "guardrails",
        "add",
        "keep files small",
        "--check",
        "! grep -rqs big big.txt",
    ]);
    add(&scene, "one");
    let confirmed = "[verify]\ncommands = [\"grep -q whole calc.txt\"]\n";
    scene.env.write(".ralph.toml", confirmed);
    let refused = scene.invocation(&[]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("guardrails.check"), "{refused}");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let rows = outcomes_and_reasons(&scene);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(
        rows[0].0 == "retried" && rows[0].1.contains("keep files small"),
        "{rows:?}"
    );
    // It is confirmed once, until it changes.
    add(&scene, "two");
    assert_eq!(scene.run(&[]).code, Some(0));
}

#[test]
fn agent_can_only_propose_a_rule() {
    let scene = project(&Script::new().turn([
        run("ralph guardrails add 'mine alone' --check 'rm -rf everything'"),
        run("ralph guardrails add 'plain text'"),
        write("a.txt", "a\n"),
        say(DONE),
    ]));
    add(&scene, "one");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let guardrails = scene.env.read(".agent/guardrails.md");
    assert!(
        guardrails.contains("plain text") && !guardrails.contains("mine alone"),
        "{guardrails}"
    );
    let proposals = json(&scene.env, &["review", "--json"])["proposals"].clone();
    assert_eq!(proposals[0]["change"], "guardrails add", "{proposals}");
    let id = proposals[0]["id"].as_str().unwrap();
    assert_eq!(scene.ralph(&["review", "--accept", id]).run().code, Some(0));
    let guardrails = scene.env.read(".agent/guardrails.md");
    assert!(
        guardrails.contains("<!-- ralph: check=rm -rf everything -->"),
        "{guardrails}"
    );
}

#[test]
fn invalid_rule_is_refused() {
    let scene = project(&Script::new());
    for (option, value) in [
        ("--deny-path", "!a"),
        ("--deny-path", ""),
        ("--check", " "),
        ("--check", "a\nb"),
    ] {
        let refused = scene.ralph(&["guardrails", "add", "no", option, value]).run();
        assert!(matches!(refused.code, Some(1 | 2)), "{option} {value:?}: {refused}");
        assert!(!scene.env.path(".agent/guardrails.md").exists(), "{option} {value:?}");
    }
    let memory = scene.ralph(&["memory", "add", "no", "--deny-path", "a"]).run();
    assert_eq!(memory.code, Some(2), "{memory}");
    add(&scene, "one");
    scene
        .env
        .ok(["guardrails", "add", "edited by hand", "--deny-path", "a.txt"]);
    let text = scene
        .env
        .read(".agent/guardrails.md")
        .replace("deny-path=a.txt", "deny-path=!a");
    scene.env.write(".agent/guardrails.md", text);
    let refused = scene.run(&["--trust"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("`!a` is not a path pattern"), "{refused}");
}

#[test]
fn checklist_check_is_confirmed_and_decides_its_item() {
    let scene = project(&Script::new().turn([write("a.txt", "wrong\n"), say(DONE)]).turn([
        write("{task}.txt", "right\n"),
        write("a.txt", "right\n"),
        say(DONE),
    ]));
    scene
        .env
        .write("PLAN.md", "- [ ] one\n  check: `grep -q right a.txt`\n- [ ] two\n");
    commit(&scene, "plan");
    let refused = scene.ralph(&["task", "import", "PLAN.md"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("check = grep -q right a.txt"), "{refused}");
    let finished = scene.run(&["PLAN.md", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let rows = outcomes_and_reasons(&scene);
    let outcomes: Vec<&str> = rows.iter().map(|(outcome, _)| outcome.as_str()).collect();
    assert_eq!(outcomes, ["retried", "done", "done"], "{rows:?}");
    // The same file is not confirmed again, and another check changes the existing task.
    scene
        .env
        .write("PLAN.md", "- [ ] one\n  check: grep -q right a.txt\n- [ ] three\n");
    assert_eq!(scene.ralph(&["task", "import", "PLAN.md"]).run().code, Some(0));
    scene
        .env
        .write("PLAN.md", "- [ ] one\n- [ ] three\n  check: test -e b.txt\n");
    assert_eq!(
        scene.ralph(&["task", "import", "PLAN.md", "--trust"]).run().code,
        Some(0)
    );
    let tasks = json(&scene.env, &["task", "list", "--json"]);
    assert_eq!(tasks[1]["checks"], serde_json::json!(["test -e b.txt"]), "{tasks}");
    scene.env.write("PLAN.md", "- [ ] whole\n  check: true\n  - [ ] part\n");
    let refused = scene.ralph(&["task", "import", "PLAN.md", "--trust"]).run();
    assert!(refused.stderr.contains("its check would never run"), "{refused}");
}

#[test]
fn agent_commit_does_not_hide_a_denied_change() {
    let scene = project(&Script::new().turn([
        write("commands.txt", "by hand\n"),
        run("git -c user.name=A -c user.email=a@b commit -qam sneaky"),
        say(DONE),
    ]));
    scene.env.write("commands.txt", "generated\n");
    commit(&scene, "commands");
    let toml = scene.env.read(".ralph.toml");
    scene.env.write(
        ".ralph.toml",
        format!("{toml}[git]\nisolate = \"off\"\n[execution]\nmax_retries = 0\n"),
    );
    scene.env.ok(["guardrails", "add", TEXT, "--deny-path", "commands.txt"]);
    add(&scene, "one");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    let rows = outcomes_and_reasons(&scene);
    assert!(rows[0].1.contains(TEXT), "{rows:?}");
}

#[test]
fn rule_written_by_an_agent_is_not_enforced() {
    let rule =
        "\n### fix-1737372000-aaaa\n> mine\n<!-- tags:  | created: 2025-01-20 -->\n<!-- ralph: deny-path=* -->\n";
    let scene = project(&Script::new().turn([
        append(".agent/guardrails.md", &format!("# Guardrails\n\n## Fixes\n{rule}")),
        write("{task}.txt", "work\n"),
        say(DONE),
    ]));
    add(&scene, "one");
    assert_eq!(scene.run(&["--trust"]).code, Some(0));
    assert!(scene.env.read(".agent/guardrails.md").contains("deny-path=*"));
    add(&scene, "two");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(
        finished
            .stderr
            .contains("The rule of guardrail fix-1737372000-aaaa is not enforced"),
        "{finished}"
    );
}

#[test]
fn changed_check_script_needs_confirmation_again() {
    let scene = project(&Script::new().turn([write("{task}.txt", "work\n"), say(DONE)]));
    scene.env.write("ci.sh", "true\n");
    commit(&scene, "script");
    let added = scene.ralph(&["task", "add", "one", "--check", "sh ci.sh"]).run();
    assert_eq!(added.code, Some(0), "{added}");
    scene.env.write("ci.sh", "echo changed\n");
    commit(&scene, "another script");
    scene.run(&["--trust", "--dry-run"]);
    let toml_confirmed = scene.run(&["--trust", "nothing else", "--limit", "1"]);
    assert_eq!(toml_confirmed.code, Some(0), "{toml_confirmed}");
    scene.env.write("ci.sh", "echo changed once more\n");
    commit(&scene, "a third script");
    let refused = scene.run(&[]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("script ci.sh"), "{refused}");
}
