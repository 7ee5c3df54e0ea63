//! `ralph task import`.

use insta::assert_snapshot;

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
    env.write("PLAN.md", PLAN);
    assert_snapshot!(env.ralph(["task", "import", "PLAN.md"]).run(), @"
    exit 0
    --- stdout
    Imported 4 tasks
    ");
    assert_snapshot!(env.ok(["task", "tree", "--all"]), @"
    ○ t-025cc1  Let users log in
    ├─ ✓ t-8eec67  The form
    └─ ○ t-32555e  The session
    ✓ t-42c90b  Set up
    ");
    assert_eq!(
        json(&env, &["task", "show", "t-025cc1", "--json"])["description"],
        "Only those with an account."
    );
    assert_snapshot!(env.ralph(["task", "import", "PLAN.md"]).run(), @"
    exit 0
    --- stdout
    Imported 0 tasks
    --- stderr
    4 tasks already known.
    ");
    env.write(
        "PLAN.md",
        PLAN.replace("[ ] The session", "[x] The session") + "- [ ] Let users log out\n",
    );
    assert_snapshot!(env.ralph(["task", "import", "PLAN.md"]).run(), @"
    exit 0
    --- stdout
    Imported 1 task
    --- stderr
    Marked 1 task as done, as in the file.
    3 tasks already known.
    ");
    assert_snapshot!(env.ok(["task", "tree"]), @"○ t-01b5b9  Let users log out");
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
    assert_snapshot!(env.ok(["task", "tree"]), @"
    ○ t-025cc1  Everything
    ├─ ✓ t-32555e  US-002: Set up
    └─ ○ t-8eec67  US-001: Log in
    ");
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
    env.write("bad.json", "{\"userStories\": [{\"title\": \"a\"}, {}]}");
    env.write("odd.json", r#"[{"title": "a"}, {"title": "b", "priority": "high"}]"#);
    env.write("broken.json", "{");
    env.write("latin.md", b"- [ ] \xe9\n");
    env.write("secret.md", format!("- [ ] a\n- [ ] ghp_{}\n", "a1B2".repeat(9)));
    let before = names(&env);
    let mut refused = String::new();
    for file in [
        "text.md",
        "empty.md",
        "bad.json",
        "odd.json",
        "broken.json",
        "latin.md",
        "secret.md",
        "gone.md",
    ] {
        let finished = env.ralph(["task", "import", file]).run();
        refused.push_str(&format!("{} {}", finished.code.unwrap(), finished.stderr));
    }
    assert_snapshot!(refused, @r#"
    1 Error: text.md has no tasks
    Hint: a task is a line like `- [ ] Let users log in`
    1 Error: empty.md has no tasks
    Hint: a task is a line like `- [ ] Let users log in`
    1 Error: nothing was imported from bad.json: story 2 has no title
    1 Error: nothing was imported from odd.json: story 2 ("b"): priority is "high"; expected a whole number from 0
    1 Error: nothing was imported from broken.json: not valid JSON: EOF while parsing an object at line 1 column 1
    1 Error: latin.md is not UTF-8 text (byte 6)
    2 Error: secret.md: line 2 of the text looks like a secret (GitHub token); nothing was stored
    Hint: remove it, or pass --allow-secret if it is not a secret
    1 Error: file not found: gone.md
    "#);
    assert_eq!(names(&env), before);
}

#[test]
fn malformed_tasks_are_warned_about() {
    let env = env();
    env.write("PLAN.md", "- [ ] one\n- [] two\n");
    assert_snapshot!(env.ralph(["task", "import", "PLAN.md"]).run(), @"
    exit 0
    --- stdout
    Imported 1 task
    --- stderr
    Warning: PLAN.md: line 2 looks like a malformed task; a task is a line like `- [ ] Let users log in`.
    ");
    env.write("PLAN.md", "-[ ] a\n".repeat(7));
    assert_snapshot!(env.ralph(["task", "import", "PLAN.md"]).run(), @"
    exit 1
    --- stderr
    Warning: PLAN.md: lines 1, 2, 3, 4, 5 and 2 more look like malformed tasks; a task is a line like `- [ ] Let users log in`.
    Error: PLAN.md has no tasks
    Hint: a task is a line like `- [ ] Let users log in`
    ");
}
