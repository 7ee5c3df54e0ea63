//! `ralph task import`.

use crate::{env, json, names};

const PLAN: &str = "\
# Plan

- [ ] Let users log in
  Only those with an account.

  - [x] The form
  - [ ] The session
- [x] Set up

```
- [ ] an example
```
";

#[test]
fn checklist_is_imported_once() {
    let env = env();
    let import = || env.ralph(["task", "import", "PLAN.md"]).run();
    env.write("PLAN.md", PLAN);
    import().printed(&["Imported 4 tasks\n"]);
    env.ralph(["task", "tree", "--all"]).run().printed(&[
        "○ t-025cc1  Let users log in\n",
        "├─ ✓ t-8eec67  The form\n",
        "└─ ○ t-32555e  The session\n",
        "✓ t-42c90b  Set up\n",
    ]);
    assert_eq!(
        json(&env, &["task", "show", "t-025cc1", "--json"])["description"],
        "Only those with an account."
    );
    import().printed(&["Imported 0 tasks\n", "4 tasks already known"]);
    env.write(
        "PLAN.md",
        PLAN.replace("[ ] The session", "[x] The session") + "- [ ] Let users log out\n",
    );
    import().printed(&["Imported 1 task\n", "Marked 1 task as done", "3 tasks already known"]);
    assert_eq!(env.ok(["task", "tree"]).trim_end(), "○ t-01b5b9  Let users log out");
}

#[test]
fn user_stories_are_imported() {
    let env = env();
    env.write(
        "prd.json",
        r#"{"userStories": [
            {"id": "US-001", "title": "Log in", "acceptanceCriteria": ["it works"], "priority": 2, "passes": false},
            {"id": "US-002", "title": "Set up", "priority": 1, "passes": true}]}"#,
    );
    let top = env.ok(["task", "add", "Everything"]);
    let imported = json(
        &env,
        &["task", "import", "prd.json", "--parent", top.trim_end(), "--json"],
    );
    assert_eq!(
        imported,
        serde_json::json!({"added": ["t-8eec67", "t-32555e"], "finished": [], "skipped": 0})
    );
    env.ralph(["task", "tree"])
        .run()
        .printed(&["├─ ✓ t-32555e  US-002: Set up\n", "└─ ○ t-8eec67  US-001: Log in\n"]);
}

#[test]
fn standard_input_is_read() {
    let env = env();
    let imported = env.ralph(["task", "import", "-"]).input("* [ ] one\n* [ ] two\n").run();
    assert_eq!(imported.stdout, "Imported 2 tasks\n");
    let imported = env
        .ralph(["task", "import", "-"])
        .input(r#"[{"title": "three"}]"#)
        .run();
    assert_eq!(imported.stdout, "Imported 1 task\n");
}

#[test]
fn invalid_files_import_nothing() {
    let env = env();
    env.write("text.md", "no boxes here\n");
    env.write("empty.md", "");
    env.write("odd.json", r#"[{"title": "a"}, {"title": "b", "priority": "high"}]"#);
    env.write("latin.md", b"- [ ] \xe9\n");
    env.write("secret.md", format!("- [ ] a\n- [ ] ghp_{}\n", "a1B2".repeat(9)));
    let before = names(&env);
    for (file, code, texts) in [
        ("text.md", 1, ["text.md has no tasks", "`- [ ] "]),
        ("empty.md", 1, ["empty.md has no tasks", "`- [ ] "]),
        (
            "odd.json",
            1,
            ["nothing was imported from odd.json: story 2", "priority is \"high\""],
        ),
        ("latin.md", 1, ["latin.md", "not UTF-8 text (byte 6)"]),
        ("secret.md", 2, ["secret.md: line 2", "a secret (GitHub token)"]),
        ("gone.md", 1, ["file not found", "gone.md"]),
    ] {
        env.ralph(["task", "import", file]).run().refused(code, &texts);
    }
    assert_eq!(names(&env), before);
}

#[test]
fn malformed_tasks_are_warned_about() {
    let env = env();
    let import = || env.ralph(["task", "import", "PLAN.md"]).run();
    env.write("PLAN.md", "- [ ] one\n- [] two\n");
    import().printed(&[
        "Imported 1 task\n",
        "Warning: PLAN.md: line 2 looks like a malformed task",
    ]);
    env.write("PLAN.md", "-[ ] a\n".repeat(7));
    import().refused(
        1,
        &[
            "lines 1, 2, 3, 4, 5 and 2 more look like malformed",
            "PLAN.md has no tasks",
        ],
    );
}
