//! Tests of `ralph import refound`.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use super::{connect, refound, refound_project};
use crate::{DATABASE, changes, env, foreign_database, json, names};

const KEPT: &str = ".ralph/progress.db.refound";

#[test]
fn a_dry_run_changes_nothing() {
    let env = refound_project();
    let before = env.tree();
    env.ralph(["import", "refound", "--dry-run"]).run().printed(&[
        "Would import 1 feature, 5 tasks and 4 iterations\n",
        "2 tasks were in progress: imported as pending",
        "t-1a2b3c4d is t-1a2b3c",
        "would be kept as .ralph/progress.db.refound",
        "nothing was changed",
    ]);
    let report = json(&env, &["import", "refound", "--dry-run", "--json"]);
    assert_eq!(report["dry_run"], true);
    assert_eq!(env.tree(), before, "byte for byte");
}

#[test]
fn a_dry_run_with_a_write_ahead_log_changes_nothing() {
    let env = refound_project();
    let whole = connect(&env.path(DATABASE));
    whole
        .execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE tasks SET title = 'From the log' WHERE id = 't-dddddd'")
        .unwrap();
    let (database, log) = (
        std::fs::read(env.path(DATABASE)).unwrap(),
        std::fs::read(env.path(".ralph/progress.db-wal")).unwrap(),
    );
    drop(whole);
    // As a killed process leaves it.
    env.write(DATABASE, database);
    env.write(".ralph/progress.db-wal", log);
    let before = env.tree();
    let finished = env.ralph(["import", "refound", "--dry-run"]).run();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(env.tree(), before, "byte for byte");
    env.ok(["import", "refound"]);
    assert!(env.ok(["task", "show", "t-dddddd"]).contains("From the log"));
    let kept = connect(&env.path(KEPT));
    let title: String = kept
        .query_row("SELECT title FROM tasks WHERE id = 't-dddddd'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(title, "From the log", "the original is kept with what its log held");
}

/// Commands that show what was imported, and what they print.
const IMPORTED: [(&[&str], &[&str]); 5] = [
    (
        &["task", "tree", "--all"],
        &[
            "◌ t-dddddd  Show what was found\n",
            "○ t-aaaaaa  Search the notes\n",
            "├─ ✓ t-bbbbbb  Cut words\n",
            "└─ ○ t-cccccc  Rank what is found\n",
            "✗ t-1a2b3c  Mend the build\n",
        ],
    ),
    (
        &["journal", "list"],
        &[
            "run-5e6f7a8b/1  blocked  t-1a2b3c  2026-02-24T09:40:00Z  Mend the build: gcc is missing",
            "run-1a2b3c4d/3  failed   t-cccccc",
            "run-1a2b3c4d/2  done     t-bbbbbb",
            "run-1a2b3c4d/1  retried  t-bbbbbb",
            "Showing 4 iterations\n",
        ],
    ),
    (
        &["journal", "search", "tokenizer dashes"],
        &["The tokenizer splits at dashes."],
    ),
    (
        &["feature", "list"],
        &["f-0a0b0c  in progress  1/3 ", "search", "Showing 1 feature\n"],
    ),
    (
        &["task", "log", "t-cccccc"],
        &[
            "2026-02-18T09:25:00Z  User guidance: use BM25\n",
            "Imported from RefoundAI's ralph",
        ],
    ),
];

#[test]
fn an_import_replaces_the_database_and_keeps_the_original() {
    let env = refound_project();
    env.write(".ralph/features/search/spec.md", "# Search\n");
    let original = std::fs::read(env.path(DATABASE)).unwrap();
    std::fs::set_permissions(env.path(DATABASE), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_snapshot!(env.ralph(["import", "refound"]).run(), @"
    exit 0
    --- stdout
    Imported 1 feature, 5 tasks and 4 iterations

    ABOUT  WHAT
    tasks  2 tasks were in progress: imported as pending

    Showing 1 remark
    --- stderr
    Also imported 2 dependencies and 2 log lines.
    1 task has another id here: t-1a2b3c4d is t-1a2b3c.
    The original is kept as .ralph/progress.db.refound.
    Next: `ralph task list` shows the tasks, `ralph run` works on them.
    ");
    assert_eq!(std::fs::read(env.path(KEPT)).unwrap(), original);
    let mode = std::fs::metadata(env.path(DATABASE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        names(&env),
        [
            ".ralph/",
            ".ralph/.gitignore",
            ".ralph/features/",
            ".ralph/features/search/",
            ".ralph/features/search/spec.md",
            DATABASE,
            KEPT,
            ".ralph/run.lock",
        ]
    );
    for (arguments, texts) in IMPORTED {
        env.ralph(arguments.iter().copied()).run().printed(texts);
    }
}

#[test]
fn status_suggests_the_import() {
    let env = refound_project();
    let check = || {
        let status = env.ralph(["status"]).run();
        let next = status.stdout.lines().last().unwrap();
        assert_eq!(
            next,
            "Next     ralph import refound --dry-run    # preview what can be imported"
        );
        assert!(status.stderr.contains("run `ralph import refound`"), "{status}");
    };
    check();
    env.write(".ralph.toml", "");
    check();
    env.ok(["import", "refound"]);
    assert!(!env.ok(["status"]).contains("import"));
}

#[test]
fn a_second_import_has_nothing_to_do() {
    let env = refound_project();
    env.ok(["import", "refound"]);
    let before = env.tree();
    env.ralph(["import", "refound"]).run().printed(&[
        "Imported nothing new\n",
        ".ralph/progress.db already is ralph's own database",
    ]);
    assert_eq!(env.tree(), before);
    // The kept original can be imported again, which adds nothing.
    env.ralph(["import", "refound", KEPT])
        .run()
        .printed(&["Imported nothing new\n", "Skipped 10 entries"]);
}

#[test]
fn importing_another_project_only_reads_it() {
    let other = refound_project();
    let env = env();
    let ours = env.ok(["task", "add", "Ours"]);
    let path = other.project();
    let path = path.to_str().unwrap();
    let (before, theirs) = (env.tree(), other.tree());
    assert_eq!(
        json(&env, &["import", "refound", path, "--dry-run", "--json"])["tasks"]["added"],
        5
    );
    assert_eq!(changes(&before, &env.tree()), Vec::<String>::new());
    let report = json(&env, &["import", "refound", path, "--json"]);
    assert_eq!(other.tree(), theirs);
    let sources = report["sources"].clone();
    assert!(sources[0].as_str().unwrap().ends_with(DATABASE), "{sources}");
    assert_eq!(
        report,
        serde_json::json!({
            "dry_run": false,
            "sources": sources,
            "kept": null,
            "features": {"added": 1, "known": 0},
            "tasks": {"added": 5, "known": 0},
            "iterations": {"added": 4, "known": 0},
            "memories": null,
            "dependencies": 2,
            "log_lines": 2,
            "renamed": {"t-1a2b3c4d": "t-1a2b3c"},
            "remarks": [{"about": "tasks", "text": "2 tasks were in progress: imported as pending"}],
        })
    );
    assert!(env.ok(["task", "list", "--all"]).contains(ours.trim_end()));
    let file = other.path(DATABASE);
    let again = json(&env, &["import", "refound", file.to_str().unwrap(), "--json"]);
    assert_eq!(again["tasks"], serde_json::json!({"added": 0, "known": 5}));
}

#[test]
fn failed_imports_are_one_line_errors_without_changes() {
    let env = env();
    env.ralph(["import", "refound"]).run().refused(
        1,
        &[".ralph/progress.db does not exist", "pass the path of the database"],
    );
    assert_eq!(names(&env), Vec::<String>::new());
    for (name, sql) in [
        ("newer.db", "PRAGMA user_version = 6"),
        ("older.db", "PRAGMA user_version = 0"),
        ("cut.db", ""),
    ] {
        refound(&env.path(name));
        connect(&env.path(name)).execute_batch(sql).unwrap();
    }
    let whole = std::fs::read(env.path("cut.db")).unwrap();
    env.write("cut.db", &whole[..9000]);
    env.write("empty.db", "");
    env.ok(["task", "add", "Ours"]);
    std::fs::rename(env.path(DATABASE), env.path("ours.db")).unwrap();
    for name in ["-wal", "-shm", ".lock"] {
        drop(std::fs::remove_file(env.path(&format!("{DATABASE}{name}"))));
    }
    let before = env.tree();
    for (name, texts) in [
        (
            "newer.db",
            &["newer.db has format 6", "formats 1 to 5", "update ralph"][..],
        ),
        (
            "older.db",
            &[
                "older.db has format 0",
                "formats 1 to 5",
                "a newer version of that tool",
            ],
        ),
        (
            "empty.db",
            &["empty.db is not a database of RefoundAI's ralph", "it is empty"],
        ),
        ("cut.db", &["cut.db", "malformed", "nothing was changed", ".recover`"]),
        ("ours.db", &["ours.db is ralph's own database"]),
        ("gone.db", &["gone.db does not exist"]),
    ] {
        let finished = env.ralph(["import", "refound", name]).run();
        finished.refused(1, texts);
        assert!(finished.stderr.lines().count() <= 2, "{finished}");
    }
    assert_eq!(env.tree(), before);
}

#[test]
fn a_database_in_use_is_refused() {
    let env = refound_project();
    let open = connect(&env.path(DATABASE));
    open.execute_batch("BEGIN IMMEDIATE; UPDATE tasks SET title = 'x'")
        .unwrap();
    env.ralph(["import", "refound"]).run().refused(
        1,
        &[".ralph/progress.db is in use by another process", "stop that process"],
    );
    open.execute_batch("COMMIT").unwrap();
    drop(open);
    env.ok(["import", "refound"]);
}

#[test]
fn import_is_refused_during_a_run() {
    let env = refound_project();
    env.write(".ralph/run.lock", "process 4711");
    let lock = std::fs::File::open(env.path(".ralph/run.lock")).unwrap();
    lock.lock().unwrap();
    let before = env.tree();
    env.ralph(["import", "refound"])
        .run()
        .refused(1, &["(process 4711)", "nothing was imported", "wait until it ends"]);
    let mut after = env.tree();
    after.retain(|(name, _)| name != ".ralph/.gitignore");
    assert_eq!(after, before);
    drop(lock);
    env.ok(["import", "refound"]);
}

#[test]
fn foreign_databases_come_with_the_import_command() {
    let env = refound_project();
    let hint = "run `ralph import refound`";
    for arguments in [
        &["run", "a text", "--agent", "true", "--trust"][..],
        &["task", "add", "x"],
        &["doctor"],
        &["init"],
        &["memory", "add", "x"],
    ] {
        let finished = env.ralph(arguments.iter().copied()).run();
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(said.contains(hint), "{arguments:?}: {said}");
    }
    assert_eq!(
        env.ok(["memory", "list", "--format", "quiet"]).lines().count(),
        1,
        "notes work before"
    );
    env.ok(["import", "refound"]);
    assert_eq!(
        env.ok(["memory", "list", "--format", "quiet"]).lines().count(),
        1,
        "and after"
    );
    assert_eq!(env.ralph(["doctor"]).run().stdout.matches("another tool").count(), 0);
}

#[test]
fn importing_into_a_foreign_database_is_refused() {
    let env = env();
    env.write(DATABASE, foreign_database());
    refound(&env.path("other.db"));
    let before = env.tree();
    for arguments in [
        &["import", "refound", "other.db", "--dry-run"][..],
        &["import", "refound", "other.db"],
    ] {
        env.ralph(arguments.iter().copied())
            .run()
            .refused(1, &["belongs to another tool"]);
    }
    let mut after = env.tree();
    after.retain(|(name, _)| !name.ends_with(".gitignore") && !name.ends_with("run.lock"));
    assert_eq!(after, before);
}

#[test]
fn a_read_only_folder_is_refused_without_changes() {
    let env = refound_project();
    let before = env.tree();
    let refused = env.ralph_as_plain_user(["import", "refound"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert_eq!(refused.stderr.matches("Error: ").count(), 1, "{refused}");
    assert_eq!(env.tree(), before);
    env.give_to_plain_user("../tmp");
    let looked = env.ralph_as_plain_user(["import", "refound", "--dry-run"]).run();
    assert_eq!(looked.code, Some(0), "a dry run needs no more than to read: {looked}");
    assert_eq!(env.tree(), before);
}

#[test]
fn kept_originals_are_never_overwritten() {
    let env = refound_project();
    env.write(KEPT, "an earlier one");
    env.ok(["import", "refound"]);
    assert_eq!(env.read(KEPT), "an earlier one");
    assert!(env.path(".ralph/progress.db.refound-2").exists());
}

#[test]
fn any_worktree_imports_the_main_database() {
    let env = refound_project();
    env.write("file", "x");
    env.git(["init", "--quiet"]);
    env.git(["add", "file"]);
    env.git(["commit", "--quiet", "--message", "first"]);
    let linked = env.beside("linked");
    env.git(["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let finished = env.ralph(["import", "refound"]).folder(&linked).run();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(env.path(KEPT).exists());
    assert!(env.ok(["task", "list"]).contains("t-cccccc"));
    assert!(
        !env.git(["status", "--porcelain", "--untracked-files=all"])
            .contains("progress.db")
    );
}

/// Sets where the other tool has the texts of a feature.
fn name_texts(path: &std::path::Path, spec: &str, plan: &str) {
    connect(path)
        .execute("UPDATE features SET spec_path = ?1, plan_path = ?2", [spec, plan])
        .unwrap();
}

#[test]
fn feature_texts_are_imported_from_another_project() {
    let other = refound_project();
    other.write(".ralph/features/search/spec.md", "# Search\n\nBy words.\n");
    other.write("docs/how.md", "First the words.\n");
    name_texts(&other.path(DATABASE), ".ralph/features/search/spec.md", "docs/how.md");
    let theirs = other.tree();
    let env = env();
    let path = other.project();
    let path = path.to_str().unwrap();
    let dry = json(&env, &["import", "refound", path, "--dry-run", "--json"]);
    assert!(
        dry["remarks"].to_string().contains("its spec.md would be copied from "),
        "{dry}"
    );
    assert!(!env.path(".ralph/features").exists());
    let report = json(&env, &["import", "refound", path, "--json"]);
    assert_eq!(other.tree(), theirs);
    assert_eq!(env.read(".ralph/features/search/spec.md"), "# Search\n\nBy words.\n");
    assert_eq!(env.read(".ralph/features/search/plan.md"), "First the words.\n");
    let remarks = report["remarks"].to_string();
    assert!(
        remarks.contains("docs/how.md to .ralph/features/search/plan.md"),
        "{remarks}"
    );
    assert!(env.ok(["prompt", "t-cccccc"]).contains("By words."));
    // Later edits of the user are kept.
    env.write(".ralph/features/search/spec.md", "Changed.\n");
    std::fs::remove_file(env.path(".ralph/features/search/plan.md")).unwrap();
    env.ok(["import", "refound", path]);
    assert_eq!(env.read(".ralph/features/search/spec.md"), "Changed.\n");
    assert!(!env.path(".ralph/features/search/plan.md").exists());
}

#[test]
fn feature_texts_that_are_not_imported_are_reported() {
    let other = refound_project();
    other.write("docs/spec.md", "Theirs.\n");
    other.write("../outside.md", "Nobody's business.\n");
    name_texts(&other.path(DATABASE), "docs/spec.md", "../outside.md");
    let env = env();
    env.write(".ralph/features/search/spec.md", "Ours.\n");
    let path = other.project();
    let path = path.to_str().unwrap();
    let report = json(&env, &["import", "refound", path, "--json"]);
    let remarks = report["remarks"].to_string();
    assert!(
        remarks
            .contains("docs/spec.md was not copied: .ralph/features/search/spec.md already exists with other contents"),
        "{remarks}"
    );
    assert!(
        remarks.contains(" to .ralph/features/search/plan.md: it is outside "),
        "{remarks}"
    );
    assert_eq!(env.read(".ralph/features/search/spec.md"), "Ours.\n");
    assert!(!env.path(".ralph/features/search/plan.md").exists());
}

#[test]
fn feature_texts_are_copied_to_their_usual_place() {
    let env = refound_project();
    env.write("docs/spec.md", "By words.\n");
    name_texts(&env.path(DATABASE), "docs/spec.md", "docs/gone.md");
    let report = json(&env, &["import", "refound", "--json"]);
    assert_eq!(env.read(".ralph/features/search/spec.md"), "By words.\n");
    let remarks = report["remarks"].to_string();
    assert!(
        remarks.contains("docs/gone.md does not exist, and neither does .ralph/features/search/plan.md"),
        "{remarks}"
    );
}
