//! Tests of how `ralph init` sets up git to merge notes through ralph.

use ralph_testkit::{Finished, TestEnv};

use crate::{MEMORIES, SAMPLE, USER_CONFIG, env};

/// The driver of an earlier version.
const OUTDATED: &str = "ralph merge-driver %O %A %B %P";
const DRIVER: &str = "ralph merge-driver %O %A %B %P; ended=$?; \
                      case $ended in 0|97|129|1[3-9]?|2??) exit $ended;; esac; \
                      git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B\n";
/// Prose of [`SAMPLE`] as changed on one side.
const PROSE: &str = "this file is ours";

#[test]
fn attributes_and_configuration_are_set_once() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write(".gitattributes", "*.png binary");
    env.ok(["init"]);
    assert_eq!(
        env.read(".gitattributes"),
        "*.png binary\n\n# ralph\n.agent/memories.md merge=ralph\n.agent/guardrails.md merge=ralph\n"
    );
    assert_eq!(env.git(["config", "--local", "merge.ralph.driver"]), DRIVER);
    assert_eq!(
        env.git(["config", "--local", "merge.ralph.name"]),
        "notes, entry by entry\n"
    );
    env.ralph(["init"])
        .run()
        .printed(&["Wrote  nothing; everything is in place\n"]);
}

#[test]
fn a_file_outside_the_repository_is_left_out() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write(USER_CONFIG, "[guardrails]\npath = \"../guardrails.md\"\n");
    env.ok(["init"]);
    assert_eq!(env.read(".gitattributes"), "# ralph\n.agent/memories.md merge=ralph\n");
    let looked = env.ok(["doctor"]);
    assert!(looked.contains("git merges notes entry by entry"), "{looked}");
}

#[test]
fn an_outdated_driver_is_updated() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.ok(["init"]);
    env.git(["config", "merge.ralph.driver", OUTDATED]);
    let done = env.ralph(["init"]).run();
    done.printed(&["Wrote  git config\n"]);
    assert!(!done.stderr.contains("Warning"), "{done}");
    assert_eq!(env.git(["config", "--local", "merge.ralph.driver"]), DRIVER);
    env.ralph(["init"])
        .run()
        .printed(&["Wrote  nothing; everything is in place\n"]);
}

/// Merges two branches that changed the same prose and added a note each, with a git that finds no programs but its own
/// and those that the script creates in `$BIN`.
fn merged_with(env: &TestEnv, make_ralph: &str) -> Finished {
    env.git(["init", "--quiet"]);
    env.ok(["init"]);
    let side = |name: &str| {
        let entry = format!("\n### mem-1737400000-{name}\n> of {name}\n");
        env.write(MEMORIES, SAMPLE.replace(PROSE, name) + &entry);
        env.git(["commit", "--quiet", "--all", "--message", name]);
    };
    env.write(MEMORIES, SAMPLE);
    env.git(["add", "--all"]);
    env.git(["commit", "--quiet", "--message", "base"]);
    env.git(["checkout", "--quiet", "-b", "other"]);
    side("bbbb");
    env.git(["checkout", "--quiet", "main"]);
    side("aaaa");
    let script = format!(
        "mkdir $BIN && ln -s \"$(command -v git)\" $BIN/git && {make_ralph} || exit 99
         git config user.name t && git config user.email t@example.com
         PATH=$BIN git merge --no-edit other"
    );
    env.sh(&script).env("BIN", env.beside("bin")).run()
}

fn a_ralph_that(does: &str) -> String {
    format!("printf '#!/bin/sh\\n%s\\n' '{does}' > $BIN/ralph && chmod +x $BIN/ralph")
}

#[test]
fn fault_16_where_git_finds_no_ralph_it_merges_the_text_and_leaves_markers() {
    for make_ralph in [
        "true",
        // Other programs of that name, and a version without the command.
        &a_ralph_that("exit 1"),
        &a_ralph_that("exit 2"),
        &a_ralph_that("exit 127"),
    ] {
        let env = env();
        let done = merged_with(&env, make_ralph);
        assert_eq!(done.code, Some(1), "{make_ralph}: {done}");
        assert!(done.stdout.contains("CONFLICT (content)"), "{make_ralph}: {done}");
        assert_eq!(env.git(["status", "--porcelain"]), "UU .agent/memories.md\n");
        let text = env.read(MEMORIES);
        let [prose, entries] = [
            "<<<<<<< ours\nRead me first: aaaa.\n=======\nRead me first: bbbb.\n>>>>>>> theirs\n",
            "<<<<<<< ours\n### mem-1737400000-aaaa\n> of aaaa\n=======\n### mem-1737400000-bbbb\n> of bbbb\n>>>>>>> theirs\n",
        ];
        assert!(text.contains(prose) && text.contains(entries), "{make_ralph}: {text}");
    }
}

#[test]
fn the_driver_keeps_ralphs_markers() {
    let env = env();
    let done = merged_with(&env, "ln -s $RALPH $BIN/ralph");
    assert_eq!(done.code, Some(1), "{done}");
    let text = env.read(MEMORIES);
    assert!(text.contains("<<<<<<< ours\nRead me first: aaaa.\n=======\n"), "{text}");
    assert_eq!(text.matches("<<<<<<<").count(), 1, "{text}");
    assert!(
        text.contains("> of aaaa\n\n### mem-1737400000-bbbb\n> of bbbb\n"),
        "{text}"
    );
}

#[test]
fn a_killed_ralph_fails_the_merge() {
    for death in ["exit 129", "kill -9 $$"] {
        let env = env();
        let done = merged_with(&env, &a_ralph_that(death));
        assert!(done.code > Some(1), "{death}: {done}");
        assert_eq!(env.git(["log", "--format=%s", "-1"]), "aaaa\n", "nothing was committed");
        assert!(!env.path(".git/MERGE_HEAD").exists(), "nor is there anything to commit");
    }
}

#[test]
fn a_linked_worktree_shares_the_configuration() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.git(["commit", "--quiet", "--allow-empty", "--message", "first"]);
    env.git(["worktree", "add", "--quiet", "--detach", "../linked"]);
    let done = env.ralph(["init"]).folder(&env.beside("linked")).run();
    assert!(done.stdout.contains(", git config\n"), "{done}");
    assert_eq!(env.git(["config", "--local", "merge.ralph.driver"]), DRIVER);
    assert!(env.beside("linked").join(".gitattributes").exists());
    let done = env.ok(["init"]);
    assert!(done.contains(".gitattributes\n") && !done.contains("driver"), "{done}");
}

#[test]
fn lines_of_a_nested_project_go_to_the_top() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write("a part/.ralph.toml", "[memories]\npath = \"notes.md\"\n");
    let done = env.ralph(["init"]).folder(&env.path("a part")).run();
    assert_eq!((done.code, done.stderr.contains("Warning")), (Some(0), false), "{done}");
    assert_eq!(
        env.read(".gitattributes"),
        "# ralph\n\"a part/notes.md\" merge=ralph\n\"a part/.agent/guardrails.md\" merge=ralph\n"
    );
    let answer = env.git(["check-attr", "merge", "--", "a part/notes.md", "notes.md"]);
    assert_eq!(answer, "a part/notes.md: merge: ralph\nnotes.md: merge: unspecified\n");
}

#[test]
fn other_settings_are_kept_and_reported() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.git(["config", "merge.ralph.driver", "my-own %A"]);
    env.write(".gitattributes", "*.md merge=union\n.agent/guardrails.md merge=ralph\n");
    let done = env.ralph(["init"]).run();
    done.printed(&[
        "Warning: ",
        "`.agent/memories.md merge=union`",
        "Warning: ",
        "\"my-own %A\" as merge.ralph.driver",
        DRIVER.trim_end(),
    ]);
    assert_eq!(done.stderr.lines().count(), 2, "{done}");
    assert_eq!(
        env.read(".gitattributes"),
        "*.md merge=union\n.agent/guardrails.md merge=ralph\n"
    );
    assert_eq!(env.git(["config", "merge.ralph.driver"]), "my-own %A\n");
}

#[test]
fn an_overridden_attribute_is_reported() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.ok(["init"]);
    let text = env.read(".gitattributes") + "memories.md !merge\n";
    env.write(".gitattributes", &text);
    let done = env.ralph(["init"]).run();
    done.printed(&[
        "Wrote  nothing",
        ".agent/memories.md merge=ralph, but another line overrides it",
    ]);
    assert_eq!(done.stderr.lines().count(), 1, "{done}");
    assert_eq!(env.read(".gitattributes"), text);
}

#[test]
fn without_git_nothing_happens() {
    let env = env();
    env.ok(["init"]);
    assert!(!env.path(".gitattributes").exists());
    // A repository without an installed git.
    std::fs::create_dir(env.path(".git")).unwrap();
    let done = env.ralph(["init"]).env("PATH", "/nowhere").run();
    let reason = "git could not be started: No such file or directory";
    done.printed(&["Wrote  nothing", "git ignores notes", reason, "to merge notes", reason]);
    assert_eq!(done.stderr.lines().count(), 2, "{done}");
}
