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
    let [spec, plan] = [".ralph/features/search/spec.md", ".ralph/features/search/plan.md"];
    let created = env.ralph(["feature", "create", "search"]).run();
    assert_eq!(created.stdout, "f-025cc1\n");
    created.printed(&[spec, plan]);
    assert!(env.read(spec).starts_with("# search\n\n"));
    let before = env.tree();
    env.ralph(["feature", "create", "Search"])
        .run()
        .refused(1, &["search already exists: f-025cc1", "`ralph feature show search`"]);
    assert_eq!(changes(&before, &env.tree()), Vec::<String>::new());
    env.ralph(["feature", "show", "f-02"]).run().printed(&[
        "status: pending (no tasks yet)",
        "spec.md (not written yet)",
        "plan.md (not written yet)",
        "`ralph task import --feature search`",
    ]);
    env.ralph(["task", "import", "--feature", "search"])
        .run()
        .refused(1, &[plan, "has no tasks yet", "`- [ ] "]);
}

#[test]
fn given_files_are_copied_and_existing_ones_kept() {
    let env = env();
    env.write("spec.txt", "\u{feff}# Größe\r\n\r\nlast line");
    env.write(".ralph/features/search/plan.md", "mine");
    let made = env.ralph([
        "feature", "create", "search", "--spec", "spec.txt", "--plan", "spec.txt",
    ]);
    made.run()
        .printed(&["f-025cc1", "Warning: .ralph/features/search/plan.md already exists"]);
    assert_eq!(
        env.read(".ralph/features/search/spec.md"),
        "\u{feff}# Größe\r\n\r\nlast line"
    );
    assert_eq!(env.read(".ralph/features/search/plan.md"), "mine");
    // Files left by a killed command are adopted.
    env.write(".ralph/features/other/spec.md", SPEC);
    env.write("spec.txt", SPEC);
    let made = env.ralph(["feature", "create", "other", "--spec", "spec.txt"]).run();
    made.printed(&[
        "f-8eec67",
        ".ralph/features/other/spec.md already exists",
        "other/plan.md",
    ]);
    assert!(!made.stderr.contains("Warning"), "{made}");
}

#[test]
fn invalid_names_and_files_change_nothing() {
    let env = env();
    env.write("latin.md", b"Gr\xf6\xdfe");
    env.write("empty.md", "\n");
    env.write("secret.md", format!("token: ghp_{}\n", "a1B2".repeat(9)));
    env.write("large.md", "x".repeat((1 << 20) + 1));
    let before = env.tree();
    let long = "x".repeat(65);
    for (name, why) in [
        ("", "cannot be empty"),
        ("a b", "\"a b\": ' ' is not allowed"),
        ("../up", "\"../up\": '/' is not allowed"),
        (".git", "\".git\": it cannot begin with '.'"),
        ("t-1a2b3c", "\"t-1a2b3c\": it looks like a task id"),
        (&long, "65 bytes long; the maximum is 64"),
        ("a\u{301}", "'\\u{301}' is not allowed"),
    ] {
        env.ralph(["feature", "create", name]).run().refused(2, &[why]);
    }
    for (file, code, why) in [
        ("latin.md", 1, "latin.md is not UTF-8 text (byte 2)"),
        ("empty.md", 2, "empty.md: the text is blank"),
        (
            "secret.md",
            2,
            "secret.md: line 1 of the text looks like a secret (GitHub token)",
        ),
        ("large.md", 2, "large.md has 1048577 bytes; the limit"),
        ("missing.md", 1, "file not found: missing.md"),
    ] {
        let refused = env.ralph(["feature", "create", "search", "--spec", file]).run();
        refused.refused(code, &[why]);
    }
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
        refused.refused(1, &["no feature x", "`ralph feature list`"]);
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
    env.ralph(["task", "import", "--feature", "SEARCH"])
        .run()
        .printed(&["Imported 0 tasks\n", "5 tasks already known"]);
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
fn status_lists_features_with_open_or_failed_tasks() {
    let env = sample();
    for task in ["t-8eec67", "t-32555e", "t-42c90b"] {
        env.ok(["task", "done", task]);
    }
    let shown = json(&env, &["feature", "show", "search", "--json"]);
    assert_eq!(shown["status"], "done");
    assert!(!env.ok(["status"]).contains("Features"));
    env.ok(["task", "reset", "t-42c90b"]);
    let status = json(&env, &["status", "--json"]);
    assert_eq!(status["features"][0]["tasks"]["open"], 1, "{status}");
    env.ok(["task", "fail", "t-42c90b"]);
    env.ralph(["status"])
        .run()
        .printed(&["Features search: 3 of 4 done, failed\n"]);
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
    let tasks = || {
        json(&env, &["task", "list", "--all", "--json"])
            .as_array()
            .map(Vec::len)
    };
    env.ok(["feature", "create", "empty"]);
    let deleted = env.ralph(["feature", "delete", "empty"]).run();
    deleted.printed(&["Feature deleted: f-8eec67\n"]);
    assert_eq!(deleted.stderr, "");
    assert!(!env.path(".ralph/features/empty").exists());
    let kept = "Kept the files in .ralph/features/search";
    env.ralph(["feature", "delete", "search"])
        .run()
        .printed(&["Feature deleted: f-025cc1\n", "Kept 5 tasks", kept]);
    assert_eq!(env.read(".ralph/features/search/spec.md"), SPEC);
    assert_eq!(tasks(), Some(5));
    env.ok(["feature", "create", "search"]);
    env.ok(["task", "update", "t-025cc1", "--feature", "search"]);
    env.ralph(["feature", "delete", "search", "--with-tasks"])
        .run()
        .printed(&["Feature deleted: f-025cc1\n", "Also deleted 3 tasks", kept]);
    assert_eq!(tasks(), Some(2));
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
    env.ralph(["feature", "delete", "search", "--with-tasks"])
        .run()
        .refused(1, &["t-42c90b is claimed by run-00000007", "stop that run"]);
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
        ran.refused(
            2,
            &[slip, &format!("did you mean {meant}?"), "describe it in more words"],
        );
    }
    assert_eq!(env.ok(["task", "list", "--format", "quiet"]), "");
}

#[test]
fn fresh_clone_adopts_feature_files() {
    let env = env();
    env.write(".ralph/features/search/spec.md", SPEC);
    env.write(".ralph/features/notes.txt", "no feature");
    let hint = "adopt the files in .ralph/features/search with `ralph feature create search`\n";
    assert_eq!(env.ralph(["feature", "list"]).run().stderr, format!("Hint: {hint}"));
    let shown = env.ralph(["feature", "show", "search"]).run();
    shown.refused(1, &["no feature search\n", hint]);
    // `run` does not take the name as task text either.
    let before = env.tree();
    for name in ["search", "Search"] {
        for dry_run in [&[][..], &["--dry-run"]] {
            let arguments = ["run", name, "--agent", "true", "--trust"];
            let ran = env.ralph(arguments.iter().chain(dry_run).copied()).run();
            ran.refused(1, &[&format!("no feature {name}\n"), hint]);
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
    prompt.printed(&[
        "## Feature Plan",
        "Warning: .ralph/features/search/spec.md is not UTF-8 text (byte 2)",
    ]);
    assert!(!prompt.stdout.contains("## Feature Specification"), "{prompt}");
}
