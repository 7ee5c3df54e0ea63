//! Notes and git: shared logs, commits and ignored files.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::{DATABASE, MEMORIES, add, env, ids};

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
    assert_snapshot!(status, @"
    ?? .agent/guardrails.md
    ?? .agent/memories.md
    ?? .gitattributes
    ?? .gitignore
    ?? .ralph.toml
    ");
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

    let history = env.ralph(["memory", "show", &there, "--history", "--json"]).run();
    assert_snapshot!(history, @r#"
    exit 0
    --- stdout
    [
      {
        "version": 1,
        "at": "2025-01-20T11:20:00.000Z",
        "change": "added",
        "file": ".agent/memories.md",
        "worktree": "linked",
        "memory": {
          "id": "mem-1737372000-beeb",
          "memory_type": "pattern",
          "content": "in the linked one",
          "tags": [],
          "created": "2025-01-20"
        }
      }
    ]
    "#);
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
    assert_snapshot!(env.ralph(["memory", "list"]).run(), @"
    exit 0
    --- stdout
    No memories yet.
    ");
    assert_snapshot!(env.ralph(["memory", "restore", "--list"]).run(), @"
    exit 0
    --- stdout
    ID                   REMOVED               HOW          MEMORY
    mem-1737372000-910a  2025-01-20T11:20:00Z  checked out  only on main

    Showing 1 memory
    ");
    env.git(["checkout", "--quiet", "main"]);
    assert_eq!(ids(&env, &["memory", "list"]), [id.as_str()]);
    assert_snapshot!(env.ralph(["memory", "show", &id, "--history"]).run(), @"
    exit 0
    --- stdout
    ID                   VERSION  TIME                  CHANGE       MEMORY
    mem-1737372000-910a  1        2025-01-20T11:20:00Z  added        only on main
    mem-1737372000-910a  2        2025-01-20T11:20:00Z  checked out  only on main
    mem-1737372000-910a  3        2025-01-20T11:20:00Z  returned     only on main

    Showing 3 versions
    ");
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
