//! Tests of evidence: work that no gate or verifier confirmed is unverified and needs review.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, run, say, write};

use super::{DONE, Scene, normal};
use crate::json;

fn scene(script: &Script, configuration: &str) -> Scene {
    let scene = Scene::new(script);
    scene.env.write(".ralph.toml", configuration);
    scene
}

/// A project without gates in which the agent did one task.
fn unverified() -> Scene {
    let scene = Scene::new(&writes_x());
    let finished = scene.ungated(&["one"]).run();
    assert_eq!(finished.code, Some(4), "{finished}");
    scene
}

fn writes_x() -> Script {
    Script::new().turn([write("x.txt", "x\n"), say(DONE)])
}

#[test]
fn still_failing_gate_is_no_evidence() {
    let scene = scene(&writes_x(), "[verify]\ncommands = [\"false\"]\n");
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert_snapshot!(finished.stdout, @"
    1 task done, unverified: no gate or verifier confirmed it. Run `ralph review`.
    1 iteration: 1 task done, 1 unverified
    Still failing, as before this run: false
    ");
    let task = json(&scene.env, &["task", "list", "--all", "--json"]);
    assert_eq!(task[0]["status"], "done");
    assert_eq!(task[0]["unverified"]["reason"], "no_evidence");
    let rows = json(&scene.env, &["journal", "list", "--json"]);
    assert_eq!(
        (&rows[0]["outcome"], &rows[0]["evidence"]),
        (&"done".into(), &"none".into())
    );
}

#[test]
fn run_without_gates_hints_what_to_set_up() {
    let scene = Scene::new(&writes_x());
    assert_snapshot!(normal(scene.ungated(&["mend the login page"]).run()), @"
    exit 4
    --- stdout
    1 task done, unverified: no gate or verifier confirmed it. Run `ralph review`.
    1 iteration: 1 task done, 1 unverified
    --- stderr
    Task t-025cc1: mend the login page
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    No gates and no verifier: finished tasks will need your review.
    11:20:00 run-658eec67 started.
    11:20:00 [t-025cc1] iteration 1: mend the login page
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing from memory
    11:20:00 [t-025cc1] done (1 file changed)
    11:20:00 [t-025cc1] unverified: no gate or verifier confirmed it
    Hint: Set a gate (`[verify] commands` in .ralph.toml) or a verifier to confirm finished work.
    ");
    // Nothing is left to do, but something needs attention.
    assert_snapshot!(normal(scene.ungated(&[]).run()), @"
    exit 4
    --- stdout
    1 task done, unverified: no gate or verifier confirmed it. Run `ralph review`.
    --- stderr
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    No gates and no verifier: finished tasks will need your review.
    11:20:00 run-1c9756ce started.
    Hint: Set a gate (`[verify] commands` in .ralph.toml) or a verifier to confirm finished work.
    ");
}

#[test]
fn unverified_task_is_listed_until_reviewed() {
    let scene = unverified();
    assert_snapshot!(scene.env.ok(["task", "list"]), @"
    ID        STATUS            PRIORITY  PARENT  TITLE
    t-025cc1  done, unverified  5                 one

    Showing 1 task
    ");
    let shown = scene.env.ok(["task", "show", "t-025cc1"]);
    assert_snapshot!(shown.split("attempts:").next().unwrap_or_default(), @"
    t-025cc1  one
    status: done, unverified
    priority: 5
    evidence: none
    unverified: no gate or verifier confirmed it
    review: accept with `ralph task done t-025cc1`, reopen with `ralph task reset t-025cc1`
    ");
    assert_snapshot!(scene.env.ok(["review", "--list"]), @"
    1 done task is unverified
      t-025cc1  one
        no gate or verifier confirmed it
        evidence: none, 1 attempt
        ralph task done t-025cc1   # accept it
        ralph task reset t-025cc1  # reopen it
    ");
    let status = scene.ralph(&["status"]).run().stdout;
    let shown: Vec<&str> = status.lines().skip_while(|line| !line.starts_with("Review")).collect();
    assert_snapshot!(shown.join("\n"), @"
    Review   1 done task is unverified
               t-025cc1  one
                 no gate or verifier confirmed it
    Tasks    1 done
    Notes    none yet
    Next     ralph review    # accept or reopen unverified tasks
    ");
    assert_eq!(
        json(&scene.env, &["status", "--json"])["runs"]["unverified"][0]["id"],
        "t-025cc1"
    );
    assert_eq!(
        json(&scene.env, &["review", "--json"])["unverified_tasks"][0]["unverified"]["reason"],
        "no_evidence"
    );
    scene.env.ok(["task", "done", "t-025cc1"]);
    assert_eq!(scene.open_tasks(), []);
    let log = scene.env.ok(["task", "log", "t-025cc1"]);
    assert!(log.trim_end().ends_with("Accepted by a person."), "{log}");
    assert_eq!(scene.run(&[]).code, Some(3));
}

#[test]
fn reset_unverified_task_is_retried() {
    let scene = unverified();
    scene.env.ok(["task", "reset", "t-025cc1"]);
    assert_eq!(scene.open_tasks(), [("one".to_owned(), "pending".to_owned())]);
    // The file already exists, and changes before the reset do not count.
    assert_snapshot!(scene.run(&[]).stdout, @"
    1 task done, unverified: no attempt changed a project file. Run `ralph review`.
    1 iteration: 1 task done, 1 unverified
    ");
}

#[test]
fn review_accepts_or_reopens_an_unverified_task_by_its_id() {
    let scene = unverified();
    assert_eq!(
        scene.env.ok(["review", "--reject", "t-025cc1"]),
        "Task reset: t-025cc1\n"
    );
    assert_eq!(scene.open_tasks(), [("one".to_owned(), "pending".to_owned())]);
    let scene = unverified();
    assert_eq!(
        scene.env.ok(["review", "--accept", "t-025cc1"]),
        "Task accepted: t-025cc1\n"
    );
    assert_eq!(scene.open_tasks(), []);
    let again = scene.ralph(&["review", "--accept", "t-025cc1"]).run();
    assert_eq!(again.code, Some(1), "{again}");
    assert!(again.stderr.contains("nothing to decide about t-025cc1"), "{again}");
}

#[test]
fn task_lists_mark_unverified_tasks() {
    let scene = Scene::new(&writes_x());
    scene.env.ok(["feature", "create", "search"]);
    scene.env.ok(["task", "add", "one", "--feature", "search"]);
    let id = json(&scene.env, &["task", "list", "--json"])[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let part = scene.env.ok(["task", "add", "part", "--parent", &id]);
    let two = scene.env.ok(["task", "add", "two", "--after", part.trim()]);
    let finished = scene.ungated(&["--limit", "1"]).run();
    assert_eq!(finished.code, Some(4), "{finished}");
    let text = |args: &[&str]| {
        let text = scene.env.ok(args.iter().copied());
        let lines = text.lines().filter(|line| line.contains('✓') || line.contains("one"));
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(text(&["task", "tree"]), @"
    ✓ t-025cc1  one
    └─ ✓ t-8eec67 (done, unverified)  part
    ");
    assert_snapshot!(text(&["feature", "show", "search"]), @"
    status: done, unverified (1 of 1 done, 1 unverified)
      ✓ t-025cc1  one
      └─ ✓ t-8eec67 (done, unverified)  part
    ");
    assert_snapshot!(text(&["task", "show", two.trim()]), @"
    after: ✓ t-8eec67 (done, unverified)  part
      2025-01-20T11:20:00Z  Pending: all dependencies are done.
    ");
    assert_snapshot!(scene.env.ok(["feature", "list"]), @"
    ID        STATUS            DONE  NAME
    f-025cc1  done, unverified  1/1   search

    Showing 1 feature
    ");
    let feature = json(&scene.env, &["feature", "list", "--json"]);
    assert_eq!(feature[0]["tasks"]["unverified"], 1, "{feature}");
    let tree = json(&scene.env, &["task", "tree", "--json"]);
    assert!(tree.to_string().contains("no_evidence"), "{tree}");
    let listed = json(&scene.env, &["task", "list", "--status", "unverified", "--json"]);
    let titles: Vec<_> = listed.as_array().unwrap().iter().map(|task| &task["title"]).collect();
    assert_eq!(titles, ["part"]);
}

#[test]
fn run_of_another_task_reports_unverified_ones() {
    let scene = Scene::new(&super::diligent());
    assert_eq!(scene.ungated(&["one"]).run().code, Some(4));
    let finished = scene.run(&["two"]);
    let first = finished.stdout.lines().next().unwrap_or_default().to_owned();
    assert_snapshot!(first, @"t-9756ce (two) is done. 1 other task is done, unverified.");
}

#[test]
fn configuration_accepts_or_retries_unverified_tasks() {
    let accepting = scene(&writes_x(), "[verify]\nunverified = \"accept\"\n");
    let finished = accepting.ungated(&["one", "--trust"]).run();
    assert_eq!(finished.code, Some(0), "{finished}");
    let rows = json(&accepting.env, &["journal", "list", "--json"]);
    assert_eq!(rows[0]["evidence"], "none");
    let retrying = scene(
        &writes_x(),
        "[verify]\nunverified = \"retry\"\n[execution]\nmax_retries = 0\n",
    );
    let finished = retrying.ungated(&["one", "--trust"]).run();
    assert_eq!(finished.code, Some(4), "{finished}");
    assert_eq!(retrying.outcomes(), ["retried"]);
}

#[test]
fn unstartable_gate_stops_the_run_early() {
    let scene = scene(&writes_x(), "[verify]\ncommands = [\"no-such-program --all\"]\n");
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!((finished.code, scene.agent.turns()), (Some(1), 0), "{finished}");
    let error = finished
        .stderr
        .lines()
        .find(|line| line.starts_with("Error"))
        .unwrap_or_default()
        .to_owned();
    assert_snapshot!(error, @"Error: The gate `no-such-program --all` cannot be started (exit code 127): sh: 1: no-such-program: not found. Fix `[verify] commands` in .ralph.toml, or install what the gate needs.");
}

#[test]
fn changed_or_missing_prompt_is_reported() {
    let scene = Scene::new(&writes_x());
    assert_eq!(scene.run(&["one"]).code, Some(0));
    let prompt = ".ralph/runs/run-658eec67/001/prompt.md";
    let told = |scene: &Scene| {
        let why = scene.env.ok(["why"]);
        let status = scene.env.ok(["status"]);
        let lines = why
            .lines()
            .chain(status.lines())
            .filter(|line| line.contains("prompt.md of"));
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(told(&scene), "");
    assert_eq!(json(&scene.env, &["why", "--json"])["prompt_state"], "intact");
    let text = scene.env.read(prompt);
    scene.env.write(prompt, format!("{text}\nOne line more.\n"));
    assert_snapshot!(told(&scene), @"
    prompt.md of iteration 1 was changed after the agent got it.
    Changed  run-658eec67: prompt.md of iteration 1 was changed after the agent got it.
    ");
    assert_eq!(json(&scene.env, &["why", "--json"])["prompt_state"], "changed");
    std::fs::remove_file(scene.env.path(prompt)).unwrap();
    assert_snapshot!(told(&scene), @"
    prompt.md of iteration 1 is missing.
    Changed  run-658eec67: prompt.md of iteration 1 is missing.
    ");
    assert_eq!(
        json(&scene.env, &["status", "--json"])["prompt_warnings"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(scene.env.sh("rm -r .ralph/runs/run-658eec67").run().code, Some(0));
    assert!(
        scene
            .env
            .ok(["status"])
            .contains("prompt.md of iteration 1 is missing.")
    );
}

#[test]
fn unreadable_prompt_counts_as_changed() {
    let scene = Scene::new(&writes_x());
    assert_eq!(scene.run(&["one"]).code, Some(0));
    for instead in ["mkdir", "mkfifo", "ln -s /dev/zero"] {
        let change = format!("cd .ralph/runs/*/001 && rm -rf prompt.md && {instead} prompt.md");
        assert_eq!(scene.env.sh(&change).run().code, Some(0), "{instead}");
        assert_eq!(
            json(&scene.env, &["why", "--json"])["prompt_state"],
            "changed",
            "{instead}"
        );
        assert!(
            scene.env.ok(["why"]).contains("was changed after the agent got it"),
            "{instead}"
        );
        assert!(
            scene.env.ok(["status"]).contains("was changed after the agent got it"),
            "{instead}"
        );
    }
}

#[test]
fn many_changed_prompts_are_counted() {
    let scene = Scene::new(&super::diligent());
    for number in 1..=5 {
        scene.env.ok(["task", "add", &format!("task {number}")]);
    }
    assert_eq!(scene.run(&[]).code, Some(0));
    assert_eq!(
        scene
            .env
            .sh("for f in .ralph/runs/*/0*/prompt.md; do echo >> $f; done")
            .run()
            .code,
        Some(0)
    );
    let status = scene.env.ok(["status"]);
    assert_eq!(
        status.matches("was changed after the agent got it").count(),
        3,
        "{status}"
    );
    assert!(status.contains("  and 2 more\n"), "{status}");
}

#[test]
fn agent_changes_to_its_prompt_are_noticed() {
    let rewrites = "echo nothing > .ralph/runs/$RALPH_RUN_ID/001/prompt.md";
    let scene = Scene::new(&Script::new().turn([write("x.txt", "x"), run(rewrites), say(DONE)]));
    assert_eq!(scene.run(&["one"]).code, Some(0));
    assert!(scene.env.ok(["why"]).contains("was changed after the agent got it"));
}
