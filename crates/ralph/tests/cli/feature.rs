//! `ralph feature`, and features in other commands.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::past::claim;
use crate::{changes, env, json, names};

const SPEC: &str = "# Search\n\nFind words by their stem.\n";
const PLAN: &str = "\
# Plan

- [ ] Cut texts into words
  - [ ] Letters
  - [ ] Digits
- [ ] Rank what was found
- [x] Choose a stemmer
";

/// A feature with a specification, a plan and the tasks of its plan.
fn sample() -> TestEnv {
    let env = env();
    env.write("docs/search.md", SPEC);
    env.write("plan.md", PLAN);
    env.ok([
        "feature",
        "create",
        "search",
        "--spec",
        "docs/search.md",
        "--plan",
        "plan.md",
    ]);
    env.ok(["task", "import", "--feature", "search"]);
    env
}

#[test]
fn create_writes_templates() {
    let env = env();
    assert_snapshot!(env.ralph(["feature", "create", "search"]).run(), @"
    exit 0
    --- stdout
    f-025cc1
    --- stderr
    Write the specification in .ralph/features/search/spec.md.
    Write the plan in .ralph/features/search/plan.md.
    ");
    assert!(env.read(".ralph/features/search/spec.md").starts_with("# search\n\n"));
    let before = env.tree();
    assert_snapshot!(env.ralph(["feature", "create", "Search"]).run(), @"
    exit 1
    --- stderr
    Error: feature search already exists: f-025cc1
    Hint: `ralph feature show search` shows it
    ");
    assert_eq!(changes(&before, &env.tree()), Vec::<String>::new());
    assert_snapshot!(env.ralph(["feature", "show", "f-02"]).run(), @"
    exit 0
    --- stdout
    f-025cc1  search
    status: pending (no tasks yet)
    spec: .ralph/features/search/spec.md (not written yet)
    plan: .ralph/features/search/plan.md (not written yet)
    created: 2025-01-20T11:20:00Z
    updated: 2025-01-20T11:20:00Z
    --- stderr
    Hint: import tasks from its plan with `ralph task import --feature search`, or add one with `ralph task add TEXT --feature search`
    ");
    assert_snapshot!(env.ralph(["task", "import", "--feature", "search"]).run(), @"
    exit 1
    --- stderr
    Error: .ralph/features/search/plan.md has no tasks yet
    Hint: write tasks there as lines like `- [ ] Let users log in`, or name another file
    ");
}

#[test]
fn given_files_are_copied_and_existing_ones_kept() {
    let env = env();
    env.write("spec.txt", "\u{feff}# Größe\r\n\r\nlast line");
    env.write(".ralph/features/search/plan.md", "mine");
    let made = env.ralph([
        "feature", "create", "search", "--spec", "spec.txt", "--plan", "spec.txt",
    ]);
    assert_snapshot!(made.run(), @"
    exit 0
    --- stdout
    f-025cc1
    --- stderr
    Warning: .ralph/features/search/plan.md already exists; kept it and did not copy the given file.
    ");
    assert_eq!(
        env.read(".ralph/features/search/spec.md"),
        "\u{feff}# Größe\r\n\r\nlast line"
    );
    assert_eq!(env.read(".ralph/features/search/plan.md"), "mine");
    // Files left by a killed command are adopted.
    env.write(".ralph/features/other/spec.md", SPEC);
    env.write("spec.txt", SPEC);
    let made = env.ralph(["feature", "create", "other", "--spec", "spec.txt"]).run();
    assert_snapshot!(made, @"
    exit 0
    --- stdout
    f-8eec67
    --- stderr
    .ralph/features/other/spec.md already exists; kept it.
    Write the plan in .ralph/features/other/plan.md.
    ");
}

#[test]
fn invalid_names_and_files_change_nothing() {
    let env = env();
    env.write("latin.md", b"Gr\xf6\xdfe");
    env.write("empty.md", "\n");
    env.write("secret.md", format!("token: ghp_{}\n", "a1B2".repeat(9)));
    env.write("large.md", "x".repeat((1 << 20) + 1));
    let before = env.tree();
    let mut said = String::new();
    let (long, path) = ("x".repeat(65), "../up".to_owned());
    for name in ["", "a b", &path, ".git", "t-1a2b3c", &long, "a\u{301}"] {
        let refused = env.ralph(["feature", "create", name]).run();
        said.push_str(&format!("{} {}", refused.code.unwrap(), refused.stderr));
    }
    for file in ["latin.md", "empty.md", "secret.md", "large.md", "missing.md"] {
        let refused = env.ralph(["feature", "create", "search", "--spec", file]).run();
        said.push_str(&format!("{} {}", refused.code.unwrap(), refused.stderr));
    }
    assert_snapshot!(said, @r#"
    2 Error: a feature name cannot be empty
    2 Error: invalid feature name "a b": ' ' is not allowed; use letters, digits, `-`, `_` and `.`
    2 Error: invalid feature name "../up": '/' is not allowed; use letters, digits, `-`, `_` and `.`
    2 Error: invalid feature name ".git": it cannot begin with '.'
    2 Error: invalid feature name "t-1a2b3c": it looks like a task id
    2 Error: the feature name is 65 bytes long; the maximum is 64
    2 Error: invalid feature name "a\u{301}": '\u{301}' is not allowed; use letters, digits, `-`, `_` and `.`
    1 Error: latin.md is not UTF-8 text (byte 2)
    2 Error: empty.md: the text is blank
    2 Error: secret.md: line 1 of the text looks like a secret (GitHub token); nothing was stored
    Hint: remove it, or pass --allow-secret if it is not a secret
    2 Error: large.md has 1048577 bytes; the limit for a specification or plan is 1048576
    1 Error: file not found: missing.md
    "#);
    assert_eq!(changes(&before, &env.tree()), Vec::<String>::new());
}

#[test]
fn reading_creates_no_database() {
    let env = env();
    assert_eq!(env.ok(["feature", "list"]), "No features yet.\n");
    assert_eq!(json(&env, &["feature", "list", "--json"]), serde_json::json!([]));
    for arguments in [
        &["feature", "show", "x"][..],
        &["feature", "delete", "x"],
        &["task", "add", "a text", "--feature", "x"],
        &["task", "list", "--feature", "x"],
        &["task", "import", "--feature", "x"],
    ] {
        let refused = env.ralph(arguments.iter().copied()).run();
        assert_eq!(
            (refused.code, refused.stderr.as_str()),
            (
                Some(1),
                "Error: there is no feature x\nHint: `ralph feature list` lists all features\n"
            )
        );
    }
    assert_eq!(names(&env), Vec::<String>::new());
}

#[test]
fn show_reports_tokens_in_prompts() {
    let env = sample();
    let section = |number: u32| format!("## Part {number}\n\n{}\n\n", "word ".repeat(197));
    env.write(
        ".ralph/features/search/spec.md",
        (1..=30).map(section).collect::<String>(),
    );
    let shown = env.ok(["feature", "show", "search"]);
    let line = "spec: .ralph/features/search/spec.md (7491 tokens, 3744 in prompts)\n";
    assert!(shown.contains(line), "{shown}");
    let whole = json(&env, &["feature", "show", "search", "--json"]);
    assert_eq!(whole["spec"]["tokens_in_prompt"], 3744);
    assert_eq!(whole["plan"]["tokens_in_prompt"], whole["plan"]["tokens"]);
}

#[test]
fn plan_is_imported_once() {
    let env = sample();
    assert_snapshot!(env.ralph(["task", "import", "--feature", "SEARCH"]).run(), @"
    exit 0
    --- stdout
    Imported 0 tasks
    --- stderr
    5 tasks already known.
    ");
    assert_snapshot!(env.ok(["feature", "show", "search"]), @"
    f-025cc1  search
    status: in progress (1 of 4 done)
    spec: .ralph/features/search/spec.md (9 tokens)
    plan: .ralph/features/search/plan.md (29 tokens)
    created: 2025-01-20T11:20:00Z
    updated: 2025-01-20T11:20:00Z

    Tasks
      ○ t-025cc1  Cut texts into words
      ├─ ○ t-8eec67  Letters
      └─ ○ t-32555e  Digits
      ○ t-42c90b  Rank what was found
      ✓ t-01b5b9  Choose a stemmer
    ");
    // A list with the same titles belongs to another feature.
    env.ok(["feature", "create", "other"]);
    let printed = env.ok(["task", "import", "plan.md", "--feature", "other"]);
    assert_eq!(printed, "Imported 5 tasks\n");
    assert_snapshot!(env.ok(["feature", "list"]), @"
    ID        STATUS       DONE  NAME
    f-8eec67  in progress  1/4   other
    f-025cc1  in progress  1/4   search

    Showing 2 features
    ");
    assert_eq!(env.ok(["feature", "list", "--format", "quiet"]), "f-8eec67\nf-025cc1\n");
    let shown = json(&env, &["feature", "show", "search", "--json"]);
    assert_eq!(shown["status"], "in_progress");
    assert_eq!(shown["tree"].as_array().unwrap().len(), 5);
    assert_eq!(shown["spec"]["written"], true);
    let refused = env.ralph(["task", "import", "plan.md", "--feature", "other", "--parent", "t-02"]);
    assert_eq!(refused.run().code, Some(2));
}

#[test]
fn status_follows_the_tasks() {
    let env = sample();
    let status = || {
        let shown = json(&env, &["feature", "show", "search", "--json"]);
        shown["status"].as_str().unwrap().to_owned()
    };
    for task in ["t-8eec67", "t-32555e", "t-42c90b"] {
        env.ok(["task", "done", task]);
    }
    assert_eq!(status(), "done");
    assert!(!env.ok(["status"]).contains("Features"));
    env.ok(["task", "reset", "t-42c90b"]);
    assert_eq!(status(), "in_progress");
    env.ok(["task", "fail", "t-42c90b"]);
    assert_eq!(status(), "failed");
    assert_snapshot!(env.ok(["status"]), @"
    Project  [TMP]/project
    Waiting  1 task needs your attention
               t-42c90b  Rank what was found
                 Failed: given up by a person.
    Tasks    1 failed, 3 done
    Features search: 3 of 4 done, failed
    Notes    none yet
    Next     ralph review    # see why it failed and what helps
    ");
    env.ok(["task", "delete", "t-42c90b"]);
    assert_eq!(status(), "done");
    env.ok(["task", "add", "One more", "--feature", "search"]);
    assert_eq!(status(), "in_progress");
    assert_eq!(
        json(&env, &["status", "--json"])["features"][0]["tasks"]["open"],
        serde_json::json!(1)
    );
}

#[test]
fn tasks_are_added_to_and_removed_from_features() {
    let env = sample();
    let alone = env
        .ok(["task", "add", "Alone", "--after", "t-42c90b"])
        .trim()
        .to_owned();
    env.ok(["task", "update", &alone, "--feature", "search"]);
    let listed = env.ok([
        "task",
        "list",
        "--feature",
        "f-025cc1",
        "--status",
        "blocked",
        "--format",
        "quiet",
    ]);
    assert_eq!(listed.trim(), alone);
    assert!(
        env.ok(["task", "show", &alone])
            .contains("\nfeature: search (f-025cc1)\n")
    );
    env.ok(["task", "update", &alone, "--no-feature"]);
    assert!(!env.ok(["task", "list", "--feature", "search"]).contains("Alone"));
    let part = env
        .ok(["task", "add", "A part", "--parent", "t-42c90b"])
        .trim()
        .to_owned();
    assert_eq!(json(&env, &["task", "show", &part, "--json"])["feature"], "f-025cc1");
}

#[test]
fn delete_keeps_tasks_and_edited_files() {
    let env = sample();
    env.ok(["feature", "create", "empty"]);
    assert_snapshot!(env.ralph(["feature", "delete", "empty"]).run(), @"
    exit 0
    --- stdout
    Feature deleted: f-8eec67
    ");
    assert!(!env.path(".ralph/features/empty").exists());
    assert_snapshot!(env.ralph(["feature", "delete", "search"]).run(), @"
    exit 0
    --- stdout
    Feature deleted: f-025cc1
    --- stderr
    Kept 5 tasks, without a feature.
    Kept the files in .ralph/features/search.
    ");
    assert_eq!(env.read(".ralph/features/search/spec.md"), SPEC);
    assert_eq!(
        json(&env, &["task", "list", "--all", "--json"])
            .as_array()
            .unwrap()
            .len(),
        5
    );
    env.ok(["feature", "create", "search"]);
    env.ok(["task", "update", "t-025cc1", "--feature", "search"]);
    assert_snapshot!(env.ralph(["feature", "delete", "search", "--with-tasks"]).run(), @"
    exit 0
    --- stdout
    Feature deleted: f-025cc1
    --- stderr
    Also deleted 3 tasks.
    Kept the files in .ralph/features/search.
    ");
    assert_eq!(
        json(&env, &["task", "list", "--all", "--json"])
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn edited_template_is_kept() {
    let env = env();
    env.ok(["feature", "create", "search"]);
    let plan = env.read(".ralph/features/search/plan.md") + "- [ ] one\n";
    env.write(".ralph/features/search/plan.md", &plan);
    env.ok(["feature", "delete", "search"]);
    assert!(!env.path(".ralph/features/search/spec.md").exists());
    assert_eq!(env.read(".ralph/features/search/plan.md"), plan);
}

#[test]
fn claimed_feature_is_not_deleted() {
    let env = sample();
    claim(&env, 7, "t-42c90b", "elsewhere");
    let before = env.tree();
    let refused = env.ralph(["feature", "delete", "search", "--with-tasks"]).run();
    assert_snapshot!(refused, @"
    exit 1
    --- stderr
    Error: t-42c90b is claimed by run-00000007, which is working on it
    Hint: stop that run, or wait until it has finished the task
    ");
    let changed = changes(&before, &env.tree());
    assert!(changed.iter().all(|name| name.contains("progress.db")), "{changed:?}");
    assert_eq!(
        json(&env, &["feature", "show", "search", "--json"])["status"],
        "in_progress"
    );
}

#[test]
fn worktrees_share_records_but_not_files() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.git(["commit", "--quiet", "--allow-empty", "--message", "first"]);
    env.ok(["feature", "create", "search"]);
    env.write(".ralph/features/search/spec.md", SPEC);
    let other = env.beside("other");
    env.git(["worktree", "add", "--quiet", other.to_str().unwrap()]);
    let shown = env.ralph(["feature", "show", "search"]).folder(&other).run();
    assert!(
        shown
            .stdout
            .contains("\nspec: .ralph/features/search/spec.md is missing\n"),
        "{shown}"
    );
    let added = env
        .ralph(["task", "add", "From there", "--feature", "search"])
        .folder(&other)
        .run();
    assert_eq!(added.code, Some(0), "{added}");
    assert!(env.ok(["feature", "list"]).contains(" 0/1 "));
    let prompt = env.ok(["prompt", added.stdout.trim()]);
    assert!(prompt.contains("## Feature Specification"), "{prompt}");
    let prompt = env.ralph(["prompt", added.stdout.trim()]).folder(&other).run();
    assert!(!prompt.stdout.contains("## Feature Specification"), "{prompt}");
}

#[test]
fn misspelled_feature_name_is_not_a_task() {
    let env = env();
    env.ok(["feature", "create", "search"]);
    env.ok(["feature", "create", "BILLS"]);
    for (slip, meant) in [("serach", "search"), ("SERCH", "search"), ("bils", "BILLS")] {
        let ran = env.ralph(["run", slip, "--agent", "true", "--trust"]).run();
        let expected = format!(
            "Error: feature not found: {slip:?}; did you mean {meant}?\n\
             Hint: if it is a task, describe it in more words\n"
        );
        assert_eq!((ran.code, ran.stderr), (Some(2), expected));
    }
    assert_eq!(env.ok(["task", "list", "--format", "quiet"]), "");
}

#[test]
fn fresh_clone_adopts_feature_files() {
    let env = env();
    env.write(".ralph/features/search/spec.md", SPEC);
    env.write(".ralph/features/notes.txt", "no feature");
    let hint = "Hint: adopt the files in .ralph/features/search with `ralph feature create search`";
    assert_eq!(env.ralph(["feature", "list"]).run().stderr, format!("{hint}\n"));
    let shown = env.ralph(["feature", "show", "search"]).run();
    assert_eq!(
        (shown.code, shown.stderr),
        (Some(1), format!("Error: there is no feature search\n{hint}\n"))
    );
    // `run` does not take the name as task text either.
    let before = env.tree();
    for name in ["search", "Search"] {
        for dry_run in [&[][..], &["--dry-run"]] {
            let arguments = ["run", name, "--agent", "true", "--trust"];
            let ran = env.ralph(arguments.iter().chain(dry_run).copied()).run();
            let expected = format!("Error: there is no feature {name}\n{hint}\n");
            assert_eq!((ran.code, ran.stderr), (Some(1), expected));
        }
    }
    let made: Vec<String> = changes(&before, &env.tree());
    assert!(!made.iter().any(|name| name.contains("runs/")), "{made:?}");
    env.ok(["feature", "create", "search"]);
    assert_eq!(env.read(".ralph/features/search/spec.md"), SPEC);
    assert_eq!(env.ralph(["feature", "list"]).run().stderr, "");
    assert_eq!(env.ok(["task", "list", "--all", "--json"]).trim(), "[]");
    // Nor after the record was deleted and the files remain.
    env.ok(["feature", "delete", "search"]);
    let ran = env.ralph(["run", "search", "--agent", "true", "--trust"]).run();
    assert!(ran.stderr.contains(hint), "{ran}");
}

#[test]
fn unreadable_spec_is_warned_about() {
    let env = sample();
    env.write(".ralph/features/search/spec.md", b"Gr\xf6\xdfe");
    let prompt = env.ralph(["prompt", "t-42c90b"]).run();
    assert!(
        prompt.stderr.starts_with(
            "Warning: .ralph/features/search/spec.md is not UTF-8 text (byte 2), so agents do not get it.\n"
        ),
        "{prompt}"
    );
    assert!(!prompt.stdout.contains("## Feature Specification") && prompt.stdout.contains("## Feature Plan"));
}
