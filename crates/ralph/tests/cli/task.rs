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
    assert_snapshot!(env.ralph(["task", "list", "--ready", "--format", "quiet"]).run(), @"
    exit 0
    --- stdout
    t-8eec67
    ");
    env.ok(["task", "done", "8e"]);
    assert_snapshot!(env.ok(["task", "list", "--all", "--format", "markdown"]), @"
    - [ ] Let users log in
      - [x] The form
      - [ ] The session
    - [ ] Let users log out
    ");
    let all = env.ok(["task", "list", "--all", "--format", "markdown"]);
    let again = env.ralph(["task", "import", "-"]).input(all).run();
    assert_snapshot!(again, @"
    exit 0
    --- stdout
    Imported 0 tasks
    --- stderr
    4 tasks already known.
    ");
    assert_snapshot!(env.ok(["task", "list", "--parent", "t-025", "--format", "markdown"]), @"- [ ] The session");
    assert_snapshot!(env.ok(["task", "list", "--status", "done", "--parent", "t-025"]), @"
    ID        STATUS  PRIORITY  PARENT    TITLE
    t-8eec67  done    5         t-025cc1  The form

    Showing 1 task
    ");
    assert_eq!(env.ok(["task", "list", "--status", "failed"]), "No matching tasks.\n");
    assert_eq!(
        json(&env, &["task", "list", "--status", "failed", "--json"]),
        serde_json::json!([])
    );
    assert_eq!(
        json(&env, &["task", "list", "--status", "done", "--json"]),
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
    let tree = json(&env, &["task", "tree", "325", "--json"]);
    let depths: Vec<_> = tree
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (&task["depth"], &task["id"]))
        .collect();
    assert_eq!(
        depths,
        [(&0.into(), &"t-32555e".into()), (&1.into(), &"t-01b5b9".into())]
    );
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
    assert_snapshot!(env.ok(["task", "show", &top]), @"
    t-025cc1  Let users log in
    status: failed
    priority: 1
    before: ◌ t-42c90b  Let users log out
    created: 2025-01-20T11:20:00Z
    updated: 2025-01-20T11:20:00Z
    ready: no: its subtasks are done instead

    Subtasks
      ✗ t-8eec67  The form
      ◌ t-32555e  The session

    Log
      2025-01-20T11:20:00Z  Added.
      2025-01-20T11:20:00Z  Failed: a subtask failed, and no open ones are left.
    ");
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
    assert_snapshot!(env.ok(["task", "log", &form]), @"
    2025-01-20T11:20:00Z  Added.
    2025-01-20T11:20:00Z  Failed: the service is off
    2025-01-20T11:20:00Z  Reset.
    ");
}

#[test]
fn long_titles_are_cut_to_one_row() {
    let env = env();
    env.ok(["feature", "create", "calendars"]);
    let long = "Parse dates of every calendar that our customers write in, of which there are many";
    let top = add(&env, long, ["--feature", "calendars"]);
    let part = add(&env, long, ["--parent", &top]);
    let waiting = add(&env, "Print them", ["--after", &part]);
    assert_snapshot!(on_screen(&env, &format!("task deps {waiting}"), 44), @"
    t-32555e depends on:
      ○ t-8eec67  Parse dates of every calendar…
    t-32555e is required by no task.
    ");
    assert_snapshot!(on_screen(&env, &format!("task tree {top}"), 44), @"
    ○ t-025cc1  Parse dates of every calendar t…
    └─ ○ t-8eec67  Parse dates of every calenda…
    ");
    let feature = on_screen(&env, "feature show calendars", 44);
    assert_snapshot!(feature.split("Tasks\n").nth(1).unwrap(), @"
    ○ t-025cc1  Parse dates of every calendar…
    └─ ○ t-8eec67  Parse dates of every calen…
    ");
    let piped = env.ok(["task", "deps", &waiting]);
    assert!(piped.contains(long), "{piped}");
}

#[test]
fn dependencies_are_shown_and_changed() {
    let (env, [_, form, session, last]) = sample();
    assert_snapshot!(env.ok(["task", "deps", &session]), @"
    t-32555e depends on:
      ○ t-8eec67  The form
    t-32555e is required by no task.
    ");
    assert_eq!(
        json(
            &env,
            &["task", "deps", &last, "--add", &form, "--remove", "t-025cc1", "--json"]
        ),
        serde_json::json!({"task": last, "after": [form], "before": []})
    );
    assert_snapshot!(env.ralph(["task", "deps", &form, "--add", &session]).run(), @"
    exit 1
    --- stderr
    Error: dependency cycle: t-8eec67 depends on t-32555e, t-32555e depends on t-8eec67
    Hint: remove one of these dependencies
    ");
    assert_snapshot!(env.ralph(["task", "deps", &form, "--remove", &session]).run(), @"
    exit 1
    --- stderr
    Error: t-8eec67 does not depend on t-32555e
    Hint: list its dependencies with `ralph task deps t-8eec67`
    ");
}

#[test]
fn tasks_are_updated_and_deleted() {
    let (env, [top, form, _, last]) = sample();
    assert_snapshot!(env.ralph(["task", "update", &last, "--title", "Leave", "--description", "-", "--parent", &form]).input("text\n").run(), @"
    exit 1
    --- stderr
    Error: dependency cycle: t-42c90b depends on t-025cc1, t-025cc1 needs t-32555e to be done, t-32555e depends on t-8eec67, t-8eec67 needs t-42c90b to be done
    Hint: remove one of these dependencies
    ");
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
    assert_snapshot!(changed, @"
    exit 0
    --- stdout
    Task updated: t-42c90b
    ");
    let task = json(&env, &["task", "show", &last, "--json"]);
    assert_eq!(
        (&task["title"], &task["description"]),
        (&"Leave".into(), &"text".into())
    );
    env.ok(["task", "update", &form, "--no-parent"]);
    assert_snapshot!(env.ralph(["task", "delete", &top]).run(), @"
    exit 0
    --- stdout
    Task deleted: t-025cc1
    --- stderr
    Also deleted 1 subtask.
    Hint: undo with `ralph task restore t-025cc1`
    ");
    assert_snapshot!(env.ok(["task", "tree"]), @"
    ○ t-42c90b  Leave
    ○ t-8eec67  The form
    ");
}

#[test]
fn deleted_tasks_are_listed_and_restored() {
    let (env, [top, form, ..]) = sample();
    assert_eq!(env.ok(["task", "restore", "--list"]), "No deleted tasks.\n");
    let before = env.ok(["task", "tree"]);
    env.ok(["task", "delete", &top]);
    assert_snapshot!(env.ok(["task", "restore", "--list"]), @"
    ID        DELETED               SUBTASKS  TITLE
    t-025cc1  2025-01-20T11:20:00Z  2         Let users log in

    Showing 1 task
    ");
    assert_snapshot!(env.ok(["task", "restore", "--list", "--json"]), @r#"
    [
      {
        "id": "t-025cc1",
        "title": "Let users log in",
        "parts": 2,
        "deleted_at": "2025-01-20T11:20:00.000Z"
      }
    ]
    "#);
    assert_snapshot!(env.ralph(["task", "restore", &form]).run(), @"
    exit 0
    --- stdout
    Task restored: t-025cc1
    --- stderr
    Also restored 2 subtasks.
    ");
    assert_eq!(env.ok(["task", "tree"]), before);
    assert_snapshot!(env.ralph(["task", "restore", &top]).run(), @"
    exit 1
    --- stderr
    Error: there is no deleted task t-025cc1
    Hint: `ralph task restore --list` lists deleted tasks
    ");
}

#[test]
fn parents_cannot_be_finished_directly() {
    let (env, [top, ..]) = sample();
    assert_snapshot!(env.ralph(["task", "done", &top]).run(), @"
    exit 1
    --- stderr
    Error: t-025cc1 has unfinished subtasks: t-8eec67, t-32555e
    Hint: it becomes done when all its subtasks are done
    ");
    assert_snapshot!(env.ralph(["task", "fail", &top]).run(), @"
    exit 1
    --- stderr
    Error: t-025cc1 has subtasks, which determine its status
    Hint: `ralph task tree t-025cc1` shows them; `ralph task reset t-025cc1 --all` reopens the failed ones
    ");
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
        let refused = env.ralph(arguments.iter().copied()).run();
        assert_eq!(refused.code, Some(1), "{arguments:?}");
        assert!(refused.stderr.starts_with("Error: there is no task t-1\n"), "{refused}");
    }
    assert_eq!(names(&env), <[&str; 0]>::default());
}

#[test]
fn bad_input_is_refused_without_changes() {
    let (env, _) = sample();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let before = env.tree();
    let mut refused = String::new();
    for arguments in [
        &["task", "add", " \n"][..],
        &["task", "add", "two\nlines"],
        &["task", "add", "--prioritty"],
        &["task", "add", &token],
        &["task", "add", "x", "--parent", "t-ffffff"],
        &["task", "add", "x", "--parent", "t-025cc1", "--after", "t-025cc1"],
        &["task", "update", "t-8eec67", "--title", ""],
        &["task", "show", "t-x"],
        &["task", "show", "feature"],
    ] {
        let finished = env.ralph(arguments.iter().copied()).run();
        assert_eq!(finished.stdout, "");
        refused.push_str(&format!("{} {}", finished.code.unwrap(), finished.stderr));
    }
    assert_snapshot!(refused, @"
    2 Error: the text is blank
    2 Error: a title must be one line
    Hint: put the rest into --description; `-` reads standard input
    2 Error: unexpected argument '--prioritty'
    Hint: to pass it as text, use `-- --prioritty`
    2 Error: line 1 of the text looks like a secret (GitHub token); nothing was stored
    Hint: remove it, or pass --allow-secret if it is not a secret
    1 Error: there is no task t-ffffff
    Hint: `ralph task list --all` lists all tasks
    1 Error: dependency cycle: the new task depends on t-025cc1, t-025cc1 needs the new task to be done
    Hint: remove one of these dependencies
    2 Error: the text is blank
    1 Error: there is no task t-x
    Hint: `ralph task list --all` lists all tasks
    1 Error: there is no task feature
    Hint: `ralph task list --all` lists all tasks
    ");
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
fn fault_6_lists_have_a_stable_order() {
    let env = env();
    for number in 0..40 {
        add(&env, &format!("task {number}"), []);
    }
    let listed = env.ok(["task", "list", "--format", "markdown"]);
    let expected: String = (0..40).map(|number| format!("- [ ] task {number}\n")).collect();
    assert_eq!(listed, expected);
    assert_eq!(env.ok(["task", "tree"]), env.ok(["task", "tree"]));
}

#[test]
fn ambiguous_id_prefix_lists_matches() {
    let env = env();
    for number in 0..40 {
        add(&env, &format!("task {number}"), []);
    }
    let several = env.ralph(["task", "show", "t-4"]).run();
    assert_eq!(several.code, Some(1));
    let said = several.stderr;
    assert!(said.starts_with("Error: t-4 matches several ids: t-4"), "{said}");
    assert!(said.ends_with("Hint: use a longer prefix of the id\n"), "{said}");
}

#[test]
fn foreign_database_is_not_changed() {
    let env = env();
    env.write(DATABASE, foreign_database());
    for arguments in [&["task", "add", "x"][..], &["task", "list"], &["task", "done", "t-1"]] {
        let refused = env.ralph(arguments.iter().copied()).run();
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains("belongs to another tool"), "{refused}");
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
    assert_eq!(refused.code, Some(2), "{refused}");
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
    let mut said = String::new();
    for arguments in [
        &["task", "add", "x", "--priority", "-1"][..],
        &["task", "update", "025", "--priority", "high"],
        &["journal", "list", "--limit", "-1"],
        &["memory", "prime", "--budget", "-5"],
        &["memory", "list", "--last", "1.5"],
        &["task", "show", ""],
        &["task", "show", "  "],
    ] {
        let refused = env.ralph(arguments.iter().copied()).run();
        let first = refused.stderr.lines().next().unwrap_or_default();
        said.push_str(&format!("{} {first}\n", refused.code.unwrap()));
        assert!(!refused.stderr.contains("tip:"), "{refused}");
    }
    assert_snapshot!(said, @r#"
    2 error: invalid value '-1' for '--priority <N>': expected a whole number from 0
    2 error: invalid value 'high' for '--priority <N>': expected a whole number from 0
    2 error: invalid value '-1' for '--limit <N>': expected a whole number from 0
    2 error: invalid value '-5' for '--budget <TOKENS>': expected a whole number from 0
    2 error: invalid value '1.5' for '--last <N>': expected a whole number from 0
    1 Error: there is no task ""
    1 Error: there is no task ""
    "#);
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
