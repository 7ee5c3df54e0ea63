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
    assert!(
        finished
            .stdout
            .ends_with("\nStill failing, as before this run: false\n"),
        "{finished}"
    );
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
    let unverified = "1 task done, unverified: no gate or verifier confirmed it. Run `ralph review`.\n";
    let warning = "No gates and no verifier: finished tasks will need your review.\n";
    let hint = "Hint: Set a gate (`[verify] commands` in .ralph.toml) or a verifier";
    // In the second run nothing is left to do, but something needs attention.
    for (arguments, rest) in [(&["one"][..], "1 iteration: 1 task done, 1 unverified\n"), (&[], "")] {
        let finished = normal(scene.ungated(arguments).run());
        assert_eq!(
            (finished.code, finished.stdout.as_str()),
            (Some(4), format!("{unverified}{rest}").as_str()),
            "{finished}"
        );
        for text in [warning, hint] {
            assert_eq!(finished.stderr.matches(text).count(), 1, "{finished}");
        }
        let done = finished
            .stderr
            .contains("[t-025cc1] unverified: no gate or verifier confirmed it\n");
        assert_eq!(done, !rest.is_empty(), "{finished}");
    }
}

#[test]
fn unverified_task_is_listed_until_reviewed() {
    let scene = unverified();
    let why = "no gate or verifier confirmed it";
    let printed = |arguments: &[&str], texts: &[&str]| scene.ralph(arguments).run().printed(texts);
    printed(&["task", "list"], &["t-025cc1  done, unverified  ", "one"]);
    printed(
        &["task", "show", "t-025cc1"],
        &[
            "status: done, unverified\n",
            "evidence: none\n",
            why,
            "task done t-025cc1",
            "task reset t-025cc1",
        ],
    );
    assert_snapshot!(scene.env.ok(["review", "--list"]), @"
    1 done task is unverified
      t-025cc1  one
        no gate or verifier confirmed it
        evidence: none, 1 attempt
        ralph task done t-025cc1   # accept it
        ralph task reset t-025cc1  # reopen it
    ");
    printed(
        &["status"],
        &[
            "Review   1 done task is unverified\n",
            "t-025cc1  one\n",
            why,
            "1 done",
            "ralph review",
        ],
    );
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
    let again = scene.run(&[]);
    assert!(
        again
            .stdout
            .starts_with("1 task done, unverified: no attempt changed a project file."),
        "{again}"
    );
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
    let parent = format!("✓ {id}  one\n");
    let subtask = format!("✓ {} (done, unverified)  part\n", part.trim());
    for (arguments, texts) in [
        (&["task", "tree"][..], [parent.as_str(), &subtask]),
        (
            &["feature", "show", "search"],
            ["status: done, unverified (1 of 1 done, 1 unverified)\n", &subtask],
        ),
        (
            &["task", "show", two.trim()],
            [&format!("after: {subtask}"), "Pending: all dependencies are done."],
        ),
        (&["feature", "list"], ["done, unverified  1/1 ", "search"]),
    ] {
        scene.ralph(arguments).run().printed(&texts);
    }
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
    let first = finished.stdout.lines().next().unwrap_or_default();
    assert!(first.contains("(two) is done"), "{finished}");
    assert!(first.contains("1 other task is done, unverified"), "{finished}");
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
    let (_, error) = finished.stderr.split_once("Error: ").unwrap();
    for text in [
        "`no-such-program --all`",
        "exit code 127",
        "`[verify] commands` in .ralph.toml",
    ] {
        assert!(error.contains(text), "{text}: {finished}");
    }
}

#[test]
fn changed_or_missing_prompt_is_reported() {
    let scene = Scene::new(&writes_x());
    assert_eq!(scene.run(&["one"]).code, Some(0));
    let prompt = ".ralph/runs/run-658eec67/001/prompt.md";
    let reports = |report: &str| {
        let why = scene.env.ok(["why"]);
        let status = scene.env.ok(["status"]);
        let is_in = |text: &str| text.contains(&format!("prompt.md of iteration 1 {report}"));
        (is_in(&why), is_in(&status))
    };
    let state = || json(&scene.env, &["why", "--json"])["prompt_state"].clone();
    let (changed, missing) = ("was changed after the agent got it.\n", "is missing.\n");
    assert_eq!((reports(""), state()), ((false, false), "intact".into()));
    let text = scene.env.read(prompt);
    scene.env.write(prompt, format!("{text}\nOne line more.\n"));
    assert_eq!((reports(changed), state()), ((true, true), "changed".into()));
    assert_eq!(reports(missing), (false, false));
    std::fs::remove_file(scene.env.path(prompt)).unwrap();
    assert_eq!(reports(missing), (true, true));
    assert_eq!(reports(changed), (false, false));
    let status = json(&scene.env, &["status", "--json"]);
    assert_eq!(status["prompt_warnings"].as_array().map(Vec::len), Some(1), "{status}");
    assert_eq!(scene.env.sh("rm -r .ralph/runs/run-658eec67").run().code, Some(0));
    assert!(reports(missing).1);
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
