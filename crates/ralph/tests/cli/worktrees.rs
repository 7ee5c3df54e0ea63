//! Notes and git: shared logs, commits and ignored files.

use ralph_testkit::TestEnv;

use crate::{DATABASE, GUARDRAILS, MEMORIES, add, env, ids, json};

const EMPTY: &str = "# Memories\n\n## Patterns\n";

/// A repository with one commit.
fn repository() -> TestEnv {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write(MEMORIES, EMPTY);
    commit(&env, "first");
    env
}

fn commit(env: &TestEnv, message: &str) {
    env.git(["add", "--all"]);
    env.git(["commit", "--quiet", "--allow-empty", "--message", message]);
}

#[test]
fn database_and_locks_are_ignored_without_init() {
    let env = env();
    env.git(["init", "--quiet"]);
    add(&env, "no init was run");
    let status = env.git(["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status, "?? .agent/memories.md\n");

    let cloned = repository();
    add(&cloned, "the file existed before");
    let status = cloned.git(["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status, " M .agent/memories.md\n");
}

#[test]
fn stale_save_after_a_commit_is_reported() {
    let env = repository();
    let id = add(&env, "soon written over");
    commit(&env, "second");
    // Read after the commit, so that a later loss is not attributed to a checkout.
    env.ok(["memory", "list"]);
    env.write(MEMORIES, EMPTY);
    let looked = env.ralph(["memory", "list"]).run();
    assert!(
        looked.stderr.contains("1 note is missing") && looked.stderr.contains(&id),
        "{looked}"
    );
}

#[test]
fn only_shared_files_are_untracked_after_init() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.ok(["init"]);
    add(&env, "shared");
    env.ok(["memory", "list"]);
    let status = env.git(["status", "--porcelain", "--untracked-files=all"]);
    let untracked = status.replace("?? ", "");
    let shared = [GUARDRAILS, MEMORIES, ".gitattributes", ".gitignore", ".ralph.toml"];
    assert_eq!(untracked.lines().collect::<Vec<_>>(), shared);
}

#[test]
fn linked_worktrees_share_the_main_log() {
    let env = repository();
    let linked = env.beside("linked");
    env.git(["worktree", "add", "--quiet", "--detach", "../linked"]);
    let here = add(&env, "in the main worktree");
    let there = env
        .ralph(["memory", "add", "in the linked one", "--format", "quiet"])
        .folder(&linked)
        .run();
    assert_eq!((there.code, there.stderr.as_str()), (Some(0), ""));
    let there = there.stdout.trim_end().to_owned();
    assert_ne!(here, there, "the shared log prevents duplicate ids");
    assert!(!linked.join(".ralph").exists());
    assert_eq!(ids(&env, &["memory", "list"]), [here.as_str()], "each has its own file");

    let history = json(&env, &["memory", "show", &there, "--history", "--json"]);
    assert_eq!(history.as_array().unwrap().len(), 1, "{history}");
    assert_eq!(history[0]["worktree"], "linked");
    assert_eq!(history[0]["memory"]["content"], "in the linked one");
    // A save in one worktree does not affect the other.
    env.write(MEMORIES, EMPTY);
    let said = env.ralph(["memory", "list"]).folder(&linked).run();
    assert_eq!(said.stderr, "");
    assert!(env.ralph(["memory", "list"]).run().stderr.contains(&here));
    let missing = env.ralph(["memory", "restore", "--list"]).folder(&linked).run();
    assert_eq!(missing.stdout, "Nothing to restore.\n");
    let deep = linked.join("src");
    std::fs::create_dir(&deep).unwrap();
    let found = env.ralph(["memory", "list", "--format", "quiet"]).folder(&deep).run();
    assert_eq!(found.stdout.trim_end(), there);
}

#[test]
fn nested_project_shares_the_log() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write("app/.ralph.toml", "");
    commit(&env, "first");
    env.git(["worktree", "add", "--quiet", "--detach", "../linked"]);
    let app = env.beside("linked").join("app");
    let added = env.ralph(["memory", "add", "x"]).folder(&app).run();
    assert_eq!(added.code, Some(0), "{added}");
    assert!(env.path("app").join(DATABASE).exists());
    assert!(app.join(MEMORIES).exists() && !app.join(".ralph").exists());
}

#[test]
fn notes_removed_by_checkout_are_restorable() {
    let env = repository();
    let id = add(&env, "only on main");
    commit(&env, "with a note");
    env.git(["checkout", "--quiet", "-b", "older", "HEAD~1"]);
    assert_eq!(
        env.ralph(["memory", "list"]).run().to_string(),
        "exit 0\n--- stdout\nNo memories yet.\n"
    );
    let removed = env.ralph(["memory", "restore", "--list"]).run();
    removed.printed(&[&id, "2025-01-20T11:20:00Z  checked out  only on main\n", "1 memory\n"]);
    env.git(["checkout", "--quiet", "main"]);
    assert_eq!(ids(&env, &["memory", "list"]), [id.as_str()]);
    let history = json(&env, &["memory", "show", &id, "--history", "--json"]);
    let changes = history.as_array().unwrap().iter().map(|version| &version["change"]);
    assert_eq!(changes.collect::<Vec<_>>(), ["added", "checked_out", "returned"]);
    env.git(["checkout", "--quiet", "older"]);
    env.ok(["memory", "restore", &id]);
    assert_eq!(ids(&env, &["memory", "list"]), [id]);
}

#[test]
fn restore_uses_the_version_of_this_worktree() {
    let env = repository();
    let id = add(&env, "the text of main");
    commit(&env, "with a note");
    env.git(["worktree", "add", "--quiet", "-b", "other", "../linked"]);
    let linked = env.beside("linked");
    env.ok(["memory", "delete", &id]);
    let edited = env
        .ralph(["memory", "edit", &id, "--content", "the text of the other worktree"])
        .folder(&linked)
        .run();
    assert_eq!(edited.code, Some(0), "{edited}");
    env.ok(["memory", "restore", &id]);
    assert!(env.read(MEMORIES).contains("> the text of main\n"));
}

#[test]
fn packing_refs_is_not_a_checkout() {
    let env = repository();
    let id = add(&env, "lost by a stale save");
    env.git(["pack-refs", "--all"]);
    env.write(MEMORIES, EMPTY);
    let said = env.ralph(["memory", "list"]).run();
    assert!(said.stderr.contains(&id), "{said}");
}

#[test]
fn repository_without_commits_has_a_log() {
    let env = env();
    env.git(["init", "--quiet"]);
    let id = add(&env, "early");
    env.write(MEMORIES, EMPTY);
    assert!(env.ralph(["memory", "list"]).run().stderr.contains(&id));
}
