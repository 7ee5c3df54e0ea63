//! Tests of doctor's checks of git.

use std::os::unix::fs::symlink;

use super::{check, checked_and_fixed, doctor, healthy, only_checked, wrong};
use crate::{DATABASE, GUARDRAILS, MEMORIES, add, env};

#[test]
fn ignore_lines_are_added_and_tracked_files_reported() {
    let env = healthy();
    env.write(".gitignore", "target\n.agent/*.md\n!.ralph/progress.db\n");
    env.write(".agent/scratchpad.md", "now");
    env.git([
        "add",
        "--force",
        DATABASE,
        ".agent/scratchpad.md",
        ".agent/memories.md.lock",
        GUARDRAILS,
    ]);
    let (looked, fixed) = checked_and_fixed(&env);
    let narrow = [
        "warning",
        ".gitignore:2: the line \".agent/*.md\"",
        "remove or narrow it",
    ];
    let missing = "git does not ignore .ralph/progress.db*, .ralph/index.db*, .ralph/runs/, ";
    let database = [
        "error",
        ".ralph/progress.db: git tracks the database",
        "`git rm --cached`",
    ];
    let local = ".agent/memories.md.lock, .agent/scratchpad.md: git tracks files";
    let local = ["warning", local, "`git rm --cached`"];
    check(
        &looked,
        1,
        &[narrow, ["warning", missing, "`ralph doctor --fix`"], database, local],
    );
    check(
        &fixed,
        1,
        &[
            ["fixed", missing, "added 15 lines to .gitignore"],
            narrow,
            database,
            local,
        ],
    );
    env.write(".gitignore", format!("{}!/.ralph/index.db\n", env.read(".gitignore")));
    let looked = only_checked(&env);
    assert!(
        looked.contains("another line negates the one that ignores .ralph/index.db*"),
        "{looked}"
    );
}

#[test]
fn without_init_only_merging_is_missing() {
    let env = env();
    env.git(["init", "--quiet"]);
    add(&env, "a note");
    let (looked, fixed) = checked_and_fixed(&env);
    let missing = "missing .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph";
    check(&looked, 0, &[["note", missing, "`ralph doctor --fix`"]]);
    check(&fixed, 0, &[["fixed", missing, "added 2 lines to .gitattributes"]]);
    assert_eq!(env.git(["config", "merge.ralph.name"]), "notes, entry by entry\n");
}

#[test]
fn half_a_merge_setup_is_a_warning() {
    let clone = healthy();
    clone.git(["config", "--unset", "merge.ralph.driver"]);
    let (looked, fixed) = checked_and_fixed(&clone);
    let no_driver = "git's configuration has no merge.ralph.driver";
    check(&looked, 0, &[["warning", no_driver, "`ralph doctor --fix`"]]);
    check(&fixed, 0, &[["fixed", no_driver, "set merge.ralph.driver"]]);
    let env = healthy();
    env.write(".gitattributes", "*.md text\n");
    let (looked, _) = checked_and_fixed(&env);
    let missing = "missing .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph";
    check(&looked, 0, &[["warning", missing, "`ralph doctor --fix`"]]);
    let env = healthy();
    env.write(".gitattributes", "*.md merge=union\n");
    env.git(["config", "merge.ralph.driver", "mine %A"]);
    let expected = [
        ["warning", "`.agent/memories.md merge=union`", "merge=ralph"],
        ["warning", "`.agent/guardrails.md merge=union`", "merge=ralph"],
        ["warning", "\"mine %A\"", "`git config --unset merge.ralph.driver`"],
    ];
    check(&only_checked(&env), 0, &expected);
    assert_eq!(env.git(["config", "merge.ralph.driver"]), "mine %A\n");
}

#[test]
fn a_pipe_as_gitignore_does_not_block() {
    let env = healthy();
    for name in [".gitignore", ".gitattributes"] {
        std::fs::remove_file(env.path(name)).unwrap();
        assert_eq!(env.sh(&format!("mkfifo {name}")).run().code, Some(0));
    }
    let fixed = wrong(&doctor(&env, ["--fix"]).run());
    let no_file = |problem| ["error", problem, "move it away"];
    let expected = [".gitignore: it is not a file", ".gitattributes: it is not a file"].map(no_file);
    check(&fixed, 1, &expected);
}

#[test]
fn variables_of_a_git_hook_are_ignored() {
    let env = healthy();
    env.git(["add", "--force", DATABASE]);
    let mut invocation = doctor(&env, []);
    for variable in ["GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        invocation = invocation.env(variable, env.beside("elsewhere"));
    }
    let looked = wrong(&invocation.env("GIT_LITERAL_PATHSPECS", "1").run());
    let database = ".ralph/progress.db: git tracks the database";
    check(&looked, 1, &[["error", database, "`git rm --cached`"]]);
}

#[test]
fn without_git_the_other_checks_run() {
    let env = healthy();
    env.write(MEMORIES, "## Fixes\n### mem-1\n");
    let looked = doctor(&env, []).env("PATH", env.beside("nowhere")).run();
    let expected = [
        [
            "error",
            ".agent/memories.md:2: \"mem-1\" is not a valid id",
            "fix it in the file",
        ],
        [
            "note",
            "tracked and ignored files were not checked: git could not be started",
            "",
        ],
        [
            "note",
            "git's merge setup was not checked: git could not be started",
            "",
        ],
        ["note", "no known coding agent is on PATH", "command = "],
        ["warning", "`ralph` is not on PATH", "to PATH"],
    ];
    check(&wrong(&looked), 1, &expected);
}

#[test]
fn notes_behind_a_link_are_not_checked_with_git() {
    let env = healthy();
    std::fs::rename(env.path(".agent"), env.beside("notes")).unwrap();
    symlink("../notes", env.path(".agent")).unwrap();
    let refused = doctor(&env, []).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused
            .stdout
            .contains("`.agent/memories.md` leads outside the project"),
        "{refused}"
    );
    let allowed = format!("[paths]\nallow_outside = [{:?}]\n", env.beside("notes"));
    env.write("../home/.config/ralph/config.toml", allowed);
    assert_eq!(only_checked(&env), "exit 0\n\n");
    env.write(".gitignore", "");
    let looked = wrong(&doctor(&env, []).run());
    assert!(looked.contains("git does not ignore .ralph/progress.db*"), "{looked}");
    assert!(!looked.contains(".agent"), "{looked}");
}
