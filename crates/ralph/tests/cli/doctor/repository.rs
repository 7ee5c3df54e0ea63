//! Tests of doctor's checks of git.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use super::{checked_and_fixed, doctor, healthy, only_checked, wrong};
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
    assert_snapshot!(looked, @r#"
    exit 1
      warning  .gitignore:2: the line ".agent/*.md" keeps memories out of git
               → remove or narrow it; notes are meant to be in git
      warning  .gitignore: git does not ignore .ralph/progress.db*, .ralph/index.db*, .ralph/runs/, .ralph/run.lock, and 10 others
               → `ralph doctor --fix`, or `ralph init`, adds the missing lines
      error    .ralph/progress.db: git tracks the database, so a checkout replaces it with an old version
               → run `git rm --cached`, which keeps the files, and commit that
      warning  .agent/memories.md.lock, .agent/scratchpad.md: git tracks files that are only useful here and that block checkouts and merges
               → run `git rm --cached`, which keeps the files, and commit that
    "#);
    assert_snapshot!(fixed, @r#"
    exit 1
      fixed    .gitignore: git does not ignore .ralph/progress.db*, .ralph/index.db*, .ralph/runs/, .ralph/run.lock, and 10 others
               → added 15 lines to .gitignore
      warning  .gitignore:2: the line ".agent/*.md" keeps memories out of git
               → remove or narrow it; notes are meant to be in git
      error    .ralph/progress.db: git tracks the database, so a checkout replaces it with an old version
               → run `git rm --cached`, which keeps the files, and commit that
      warning  .agent/memories.md.lock, .agent/scratchpad.md: git tracks files that are only useful here and that block checkouts and merges
               → run `git rm --cached`, which keeps the files, and commit that
    "#);
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
    assert_snapshot!(looked, @"
    exit 0
      note     .gitattributes: git merges notes as plain text: missing .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    assert_snapshot!(fixed, @"
    exit 0
      fixed    .gitattributes: git merges notes as plain text: missing .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → added 2 lines to .gitattributes, set merge.ralph.driver in git's configuration
    ");
    assert_eq!(env.git(["config", "merge.ralph.name"]), "notes, entry by entry\n");
}

#[test]
fn half_a_merge_setup_is_a_warning() {
    let clone = healthy();
    clone.git(["config", "--unset", "merge.ralph.driver"]);
    let (looked, fixed) = checked_and_fixed(&clone);
    assert_snapshot!(looked, @"
    exit 0
      warning  git's configuration has no merge.ralph.driver, or an outdated one; clones do not copy it
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    assert_snapshot!(fixed, @"
    exit 0
      fixed    git's configuration has no merge.ralph.driver, or an outdated one; clones do not copy it
               → set merge.ralph.driver in git's configuration
    ");
    let env = healthy();
    env.write(".gitattributes", "*.md text\n");
    let (looked, _) = checked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      warning  .gitattributes: git merges notes as plain text: missing .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    let env = healthy();
    env.write(".gitattributes", "*.md merge=union\n");
    env.git(["config", "merge.ralph.driver", "mine %A"]);
    assert_snapshot!(only_checked(&env), @r#"
    exit 0
      warning  .gitattributes: git's attributes say `.agent/memories.md merge=union`, so notes are not merged entry by entry
               → change it to merge=ralph
      warning  .gitattributes: git's attributes say `.agent/guardrails.md merge=union`, so notes are not merged entry by entry
               → change it to merge=ralph
      warning  merge.ralph.driver is "mine %A", which is not ralph's own
               → `git config --unset merge.ralph.driver`, then `ralph doctor --fix`
    "#);
    assert_eq!(env.git(["config", "merge.ralph.driver"]), "mine %A\n");
}

#[test]
fn a_pipe_as_gitignore_does_not_block() {
    let env = healthy();
    for name in [".gitignore", ".gitattributes"] {
        std::fs::remove_file(env.path(name)).unwrap();
        assert_eq!(env.sh(&format!("mkfifo {name}")).run().code, Some(0));
    }
    assert_snapshot!(wrong(&doctor(&env, ["--fix"]).run()), @"
    exit 1
      error    .gitignore: it is not a file
               → move it away
      error    .gitattributes: it is not a file
               → move it away
    ");
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
    assert_snapshot!(looked, @"
    exit 1
      error    .ralph/progress.db: git tracks the database, so a checkout replaces it with an old version
               → run `git rm --cached`, which keeps the files, and commit that
    ");
}

#[test]
fn without_git_the_other_checks_run() {
    let env = healthy();
    env.write(MEMORIES, "## Fixes\n### mem-1\n");
    let looked = doctor(&env, []).env("PATH", env.beside("nowhere")).run();
    assert_snapshot!(wrong(&looked), @r#"
    exit 1
      error    .agent/memories.md:2: "mem-1" is not a valid id, so this block is not read
               → fix it in the file
      note     tracked and ignored files were not checked: git could not be started: No such file or directory (os error 2)
      note     git's merge setup was not checked: git could not be started: No such file or directory (os error 2)
      note     no known coding agent is on PATH
               → install one, or set yours in .ralph.toml: [agent] command = "…"
      warning  `ralph` is not on PATH, so hooks and git cannot find it
               → add this program's folder to PATH
    "#);
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
