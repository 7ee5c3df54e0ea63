//! `ralph task`.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::past::claim;
use crate::terminal::on_screen;
use crate::{DATABASE, changes, env, foreign_database, json, names};

/// Adds a task and returns its id.
#[track_caller]
fn add<'a>(env: &TestEnv, title: &'a str, more: impl IntoIterator<Item = &'a str>) -> String {
    let printed = env.ok(["task", "add", title].into_iter().chain(more));
    printed.trim_end().to_owned()
}

/// The depths and ids that `task tree` prints.
#[track_caller]
fn tree(env: &TestEnv, more: &[&str]) -> Vec<(u64, String)> {
    let tree = json(env, &[&["task", "tree", "--json"], more].concat());
    let row = |task: &serde_json::Value| (task["depth"].as_u64().unwrap(), task["id"].as_str().unwrap().to_owned());
    tree.as_array().unwrap().iter().map(row).collect()
}

/// A task with two subtasks, one depending on the other, and a task that depends on the parent.
fn sample() -> (TestEnv, [String; 4]) {
    let env = env();
    let top = add(&env, "Let users log in", ["--priority", "1"]);
    let form = add(&env, "The form", ["--parent", &top]);
    let session = add(&env, "The session", ["--parent", &top, "--after", &form]);
    let last = add(
        &env,
        "Let users log out",
        ["--after", &top, "--description", "With a\nbutton."],
    );
    (env, [top, form, session, last])
}

#[test]
fn tasks_are_listed_by_priority() {
    let (env, _) = sample();
    assert_snapshot!(env.ralph(["task", "list"]).run(), @"
    exit 0
    --- stdout
    ID        STATUS   PRIORITY  PARENT    TITLE
    t-025cc1  pending  1                   Let users log in
    t-8eec67  pending  5         t-025cc1  The form
    t-32555e  blocked  5         t-025cc1  The session
    t-42c90b  blocked  5                   Let users log out

    Showing 4 tasks
    ");
    assert_eq!(env.ok(["task", "list", "--ready", "--format", "quiet"]), "t-8eec67\n");
    env.ok(["task", "done", "8e"]);
    let all = env.ok(["task", "list", "--all", "--format", "markdown"]);
    assert!(all.starts_with("- [ ] Let users log in\n  - [x] The form\n"), "{all}");
    let again = env.ralph(["task", "import", "-"]).input(all).run();
    again.printed(&["Imported 0 tasks", "4 tasks already known"]);
    assert_eq!(
        env.ok(["task", "list", "--parent", "t-025", "--format", "markdown"]),
        "- [ ] The session\n"
    );
    assert_eq!(env.ok(["task", "list", "--status", "failed"]), "No matching tasks.\n");
    assert_eq!(
        json(&env, &["task", "list", "--status", "failed", "--json"]),
        serde_json::json!([])
    );
    assert_eq!(
        json(
            &env,
            &["task", "list", "--status", "done", "--parent", "t-025", "--json"]
        ),
        serde_json::json!([{
            "id": "t-8eec67", "title": "The form", "description": "", "status": "done", "unverified": null, "kind": "once", "priority": 5,
            "parent": "t-025cc1", "feature": null, "after": [], "checks": [], "retries_used": 0, "attempts": 0, "claimed_by": null,
            "created_at": "2025-01-20T11:20:00.000Z", "updated_at": "2025-01-20T11:20:00.000Z",
        }])
    );
}

#[test]
fn tree_shows_subtasks_and_status() {
    let (env, [top, form, ..]) = sample();
    env.ok(["task", "done", &form]);
    let deep = add(&env, "Deep", ["--parent", "32555e"]);
    env.ok(["task", "fail", &deep]);
    add(&env, "Another part", ["--parent", &top]);
    assert_snapshot!(env.ok(["task", "tree"]), @"
    ○ t-025cc1  Let users log in
    ├─ ✓ t-8eec67  The form
    ├─ ✗ t-32555e  The session
    │  └─ ✗ t-01b5b9  Deep
    └─ ○ t-150280  Another part
    ◌ t-42c90b  Let users log out
    ");
    assert_eq!(tree(&env, &["325"]), [(0, "t-32555e".to_owned()), (1, deep)]);
}

#[test]
fn show_has_log_and_reason_for_not_ready() {
    let (env, [top, form, session, last]) = sample();
    env.ok(["task", "fail", &form, "--reason", "the service is off"]);
    assert_snapshot!(env.ok(["task", "show", &last]), @"
    t-42c90b  Let users log out
    status: blocked
    priority: 5
    after: ✗ t-025cc1  Let users log in
    created: 2025-01-20T11:20:00Z
    updated: 2025-01-20T11:20:00Z
    ready: no: it depends on t-025cc1 (Let users log in), which needs attention

    With a
    button.

    Log
      2025-01-20T11:20:00Z  Added.
      2025-01-20T11:20:00Z  Blocked: waiting for t-025cc1.
    ");
    env.ralph(["task", "show", &top]).run().printed(&[
        "failed",
        "before: ◌ t-42c90b",
        "its subtasks are done instead",
        "✗ t-8eec67  The form",
        "◌ t-32555e  The session",
        "Failed: a subtask failed",
    ]);
    let shown = json(&env, &["task", "show", &form, "--json"]);
    assert_eq!(
        shown["why_not_ready"],
        "it failed; reopen with `ralph task reset t-8eec67`"
    );
    assert_eq!(shown["log"][1]["text"], "Failed: the service is off");
    env.ok(["task", "reset", &top, "--all"]);
    let shown = json(&env, &["task", "show", &form, "--json"]);
    assert_eq!(
        (&shown["ready"], &shown["why_not_ready"]),
        (&true.into(), &serde_json::Value::Null)
    );
    assert_eq!(json(&env, &["task", "show", &session, "--json"])["status"], "blocked");
    let log = env.ralph(["task", "log", &form]).run();
    log.printed(&["Added.", "Failed: the service is off", "Reset."]);
}

#[test]
fn long_titles_are_cut_to_one_row() {
    let env = env();
    env.ok(["feature", "create", "calendars"]);
    let long = "Parse dates of every calendar that our customers write in, of which there are many";
    let top = add(&env, long, ["--feature", "calendars"]);
    let part = add(&env, long, ["--parent", &top]);
    let waiting = add(&env, "Print them", ["--after", &part]);
    for (command, rows) in [
        (format!("task deps {waiting}"), 1),
        (format!("task tree {top}"), 2),
        ("feature show calendars".to_owned(), 2),
    ] {
        let shown = on_screen(&env, &command, 44);
        let is_cut = |row: &&str| row.contains("Parse dates of") && row.ends_with('…');
        assert_eq!(shown.lines().filter(is_cut).count(), rows, "{shown}");
    }
    let piped = env.ok(["task", "deps", &waiting]);
    assert!(piped.contains(long), "{piped}");
}

#[test]
fn dependencies_are_shown_and_changed() {
    let (env, [_, form, session, last]) = sample();
    let shown = env.ralph(["task", "deps", &session]).run();
    shown.printed(&["depends on", "○ t-8eec67  The form", "required by no task"]);
    assert_eq!(
        json(
            &env,
            &["task", "deps", &last, "--add", &form, "--remove", "t-025cc1", "--json"]
        ),
        serde_json::json!({"task": last, "after": [form], "before": []})
    );
    let cycle = env.ralph(["task", "deps", &form, "--add", &session]).run();
    cycle.refused(
        1,
        &[
            "dependency cycle",
            "t-8eec67 depends on t-32555e",
            "t-32555e depends on t-8eec67",
        ],
    );
    let unrelated = env.ralph(["task", "deps", &form, "--remove", &session]).run();
    unrelated.refused(1, &["t-8eec67 does not depend on t-32555e", "ralph task deps t-8eec67"]);
}

#[test]
fn tasks_are_updated_and_deleted() {
    let (env, [top, form, _, last]) = sample();
    let cycle = env
        .ralph([
            "task",
            "update",
            &last,
            "--title",
            "Leave",
            "--description",
            "-",
            "--parent",
            &form,
        ])
        .input("text\n")
        .run();
    cycle.refused(
        1,
        &[
            "dependency cycle: t-42c90b depends on t-025cc1",
            "t-8eec67 needs t-42c90b",
        ],
    );
    let changed = env
        .ralph([
            "task",
            "update",
            &last,
            "--title",
            " Leave ",
            "--description",
            "-",
            "--priority",
            "0",
        ])
        .input("text\r\n")
        .run();
    changed.printed(&["updated: t-42c90b"]);
    let task = json(&env, &["task", "show", &last, "--json"]);
    assert_eq!(
        (&task["title"], &task["description"]),
        (&"Leave".into(), &"text".into())
    );
    env.ok(["task", "update", &form, "--no-parent"]);
    let deleted = env.ralph(["task", "delete", &top]).run();
    deleted.printed(&["deleted: t-025cc1", "1 subtask", "ralph task restore t-025cc1"]);
    assert_eq!(tree(&env, &[]), [(0, last), (0, form)]);
}

#[test]
fn deleted_tasks_are_listed_and_restored() {
    let (env, [top, form, ..]) = sample();
    assert_eq!(env.ok(["task", "restore", "--list"]), "No deleted tasks.\n");
    let before = env.ok(["task", "tree"]);
    env.ok(["task", "delete", &top]);
    let listed = env.ralph(["task", "restore", "--list"]).run();
    listed.printed(&["t-025cc1", "2", "Let users log in", "Showing 1 task"]);
    assert_eq!(
        json(&env, &["task", "restore", "--list", "--json"]),
        serde_json::json!([{
            "id": "t-025cc1", "title": "Let users log in", "parts": 2, "deleted_at": "2025-01-20T11:20:00.000Z",
        }])
    );
    let restored = env.ralph(["task", "restore", &form]).run();
    restored.printed(&["restored: t-025cc1", "2 subtasks"]);
    assert_eq!(env.ok(["task", "tree"]), before);
    let again = env.ralph(["task", "restore", &top]).run();
    again.refused(1, &["no deleted task t-025cc1", "ralph task restore --list"]);
}

#[test]
fn parents_cannot_be_finished_directly() {
    let (env, [top, ..]) = sample();
    let done = env.ralph(["task", "done", &top]).run();
    done.refused(1, &["t-025cc1 has unfinished subtasks: t-8eec67, t-32555e"]);
    let failed = env.ralph(["task", "fail", &top]).run();
    failed.refused(
        1,
        &[
            "t-025cc1 has subtasks",
            "ralph task tree t-025cc1",
            "ralph task reset t-025cc1 --all",
        ],
    );
    assert_eq!(env.ok(["task", "reset", &top, "--all"]), "No failed tasks to reset.\n");
}

#[test]
fn reading_creates_no_files() {
    let env = env();
    assert_eq!(env.ok(["task", "list"]), "No tasks yet.\n");
    assert_eq!(env.ok(["task", "list", "--json"]), "[]\n");
    assert_eq!(env.ok(["task", "tree"]), "No tasks yet.\n");
    for arguments in [
        &["task", "show", "t-1"][..],
        &["task", "log", "t-1"],
        &["task", "deps", "t-1", "--add", "t-2"],
        &["task", "update", "t-1", "--title", "x"],
        &["task", "done", "t-1"],
        &["task", "fail", "t-1"],
        &["task", "reset", "t-1"],
        &["task", "delete", "t-1"],
        &["task", "add", "x", "--parent", "t-1"],
        &["task", "add", "x", "--after", "t-1"],
        &["task", "list", "--parent", "t-1"],
    ] {
        env.ralph(arguments.iter().copied())
            .run()
            .refused(1, &["no task t-1\n"]);
    }
    assert_eq!(names(&env), <[&str; 0]>::default());
}

#[test]
fn bad_input_is_refused_without_changes() {
    let (env, _) = sample();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let before = env.tree();
    let cycle = "dependency cycle: the new task depends on t-025cc1, t-025cc1 needs the new task";
    for (arguments, code, texts) in [
        (&["task", "add", " \n"][..], 2, &["blank"][..]),
        (&["task", "add", "two\nlines"], 2, &["one line", "--description"]),
        (&["task", "add", "--prioritty"], 2, &["'--prioritty'", "-- --prioritty"]),
        (
            &["task", "add", &token],
            2,
            &["looks like a secret (GitHub token)", "--allow-secret"],
        ),
        (
            &["task", "add", "x", "--parent", "t-ffffff"],
            1,
            &["no task t-ffffff", "ralph task list --all"],
        ),
        (
            &["task", "add", "x", "--parent", "t-025cc1", "--after", "t-025cc1"],
            1,
            &[cycle],
        ),
        (&["task", "update", "t-8eec67", "--title", ""], 2, &["blank"]),
        (&["task", "show", "t-x"], 1, &["no task t-x"]),
        (&["task", "show", "feature"], 1, &["no task feature"]),
    ] {
        env.ralph(arguments.iter().copied()).run().refused(code, texts);
    }
    assert_eq!(changes(&before, &env.tree()), <[&str; 0]>::default());
    for arguments in [&["task", "update", "t-8"][..], &["task", "list", "--status", "open"]] {
        assert_eq!(
            env.ralph(arguments.iter().copied()).run().code,
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn many_tasks_are_listed_by_age_and_an_ambiguous_prefix_names_its_matches() {
    let env = env();
    for number in 0..40 {
        add(&env, &format!("task {number}"), []);
    }
    let listed = env.ok(["task", "list", "--format", "markdown"]);
    let expected: String = (0..40).map(|number| format!("- [ ] task {number}\n")).collect();
    assert_eq!(listed, expected);
    let several = env.ralph(["task", "show", "t-4"]).run();
    several.refused(1, &["t-4 matches several ids: t-4", "longer prefix"]);
}

#[test]
fn foreign_database_is_not_changed() {
    let env = env();
    env.write(DATABASE, foreign_database());
    for arguments in [&["task", "add", "x"][..], &["task", "list"], &["task", "done", "t-1"]] {
        let refused = env.ralph(arguments.iter().copied()).run();
        refused.refused(1, &["belongs to another tool"]);
    }
    assert_eq!(std::fs::read(env.path(DATABASE)).unwrap(), foreign_database());
}

#[test]
fn claims_of_dead_runs_are_released() {
    let env = env();
    let (dead, elsewhere) = (add(&env, "dead", []), add(&env, "elsewhere", []));
    let own_host = ralph_process::host();
    claim(&env, 1, &dead, &own_host);
    claim(&env, 2, &elsewhere, "another");
    env.ok(["task", "reset", &dead]);
    let refused = env.ralph(["task", "reset", &elsewhere]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
}

#[test]
fn failure_reason_is_checked_for_secrets() {
    let env = env();
    let task = add(&env, "one", []);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let refused = env.ralph(["task", "fail", &task, "--reason", &token]).run();
    refused.refused(2, &["GitHub token"]);
    assert_eq!(json(&env, &["task", "show", &task, "--json"])["status"], "pending");
    env.ok(["task", "fail", &task, "--reason", &token, "--allow-secret"]);
}

#[test]
fn dependency_in_other_worktree_needs_its_commit() {
    let env = env();
    env.git(["init", "-q"]);
    env.git(["commit", "-q", "--allow-empty", "-m", "first"]);
    let side = env.beside("side");
    env.git(["worktree", "add", "-q", "-b", "side", side.to_str().unwrap()]);
    let first = add(&env, "first", []);
    let next = add(&env, "next", ["--after", &first]);
    let finish = || {
        let done = env.ralph(["task", "done", &first]).folder(&side).run();
        assert_eq!(done.code, Some(0), "{done}");
    };
    std::fs::File::create(side.join("work")).unwrap();
    // Uncommitted work is not here, even though its base commit is.
    finish();
    assert_eq!(env.ok(["task", "list", "--ready", "--format", "quiet"]), "");
    env.git_in(&side, ["add", "work"]);
    env.git_in(&side, ["commit", "-q", "-m", "work"]);
    finish();
    assert_eq!(env.ok(["task", "list", "--ready", "--format", "quiet"]), "");
    assert_eq!(
        json(&env, &["task", "show", &next, "--json"])["why_not_ready"],
        "a dependency was done in another worktree, and its commit is not here yet"
    );
    let there = env
        .ralph(["task", "list", "--ready", "--format", "quiet"])
        .folder(&side)
        .run();
    assert_eq!(there.stdout, format!("{next}\n"));
    env.git(["merge", "-q", "side"]);
    assert_eq!(
        env.ok(["task", "list", "--ready", "--format", "quiet"]),
        format!("{next}\n")
    );
}

#[test]
fn invalid_numbers_and_ids_are_refused() {
    let env = env();
    env.ok(["task", "add", "one"]);
    let whole = "a whole number from 0";
    for (arguments, code, texts) in [
        (
            &["task", "add", "x", "--priority", "-1"][..],
            2,
            &["'-1' for '--priority <N>'", whole][..],
        ),
        (
            &["task", "update", "025", "--priority", "high"],
            2,
            &["'high' for '--priority <N>'", whole],
        ),
        (
            &["journal", "list", "--limit", "-1"],
            2,
            &["'-1' for '--limit <N>'", whole],
        ),
        (
            &["memory", "prime", "--budget", "-5"],
            2,
            &["'-5' for '--budget <TOKENS>'", whole],
        ),
        (
            &["memory", "list", "--last", "1.5"],
            2,
            &["'1.5' for '--last <N>'", whole],
        ),
        (&["task", "show", ""], 1, &["no task \"\""]),
        (&["task", "show", "  "], 1, &["no task \"\""]),
    ] {
        let refused = env.ralph(arguments.iter().copied()).run();
        refused.refused(code, texts);
        assert!(!refused.stderr.contains("tip:"), "{refused}");
    }
}

#[test]
fn checks_are_added_shown_and_changed() {
    let env = env();
    let task = add(
        &env,
        "Parse dates",
        ["--check", "pytest tests/dates.py", "--check", "true"],
    );
    let checks = |env: &TestEnv| json(env, &["task", "show", &task, "--json"])["checks"].clone();
    assert_eq!(checks(&env), serde_json::json!(["pytest tests/dates.py", "true"]));
    let shown = env.ok(["task", "show", &task]);
    assert!(shown.contains("Checks\n  pytest tests/dates.py\n  true\n"), "{shown}");
    env.ok(["task", "update", &task, "--check", "make dates"]);
    assert_eq!(checks(&env), serde_json::json!(["make dates"]));
    env.ok(["task", "update", &task, "--no-checks"]);
    assert_eq!(checks(&env), serde_json::json!([]));
    let refused = env
        .ralph(["task", "add", "x", "--check", "true"])
        .env("RALPH_MARKER", "0123456789abcdef-1")
        .run();
    assert_ne!(refused.code, Some(0), "{refused}");
}
