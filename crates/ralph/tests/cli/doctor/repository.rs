//! What doctor says of git.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use super::{doctor, healthy, looked_and_fixed, only_looked, wrong};
use crate::{DATABASE, GUARDRAILS, MEMORIES, add, env};

#[test]
fn ignore_lines_are_added_and_what_git_keeps_wrongly_is_named() {
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
    let (looked, fixed) = looked_and_fixed(&env);
    assert_snapshot!(looked, @r#"
    exit 1
      warning  .gitignore:2: the line ".agent/*.md" keeps memories out of git
               → take it out, or narrow it; they are meant to be in git
      warning  .gitignore: git is not told to leave .ralph/progress.db*, .ralph/index.db*, .ralph/runs/, .ralph/run.lock, and 10 others alone
               → `ralph doctor --fix`, or `ralph init`, adds what is missing
      error    .ralph/progress.db: git keeps the database, so a checkout replaces it with an old one
               → take it out with `git rm --cached`, which leaves the files, and commit that
      warning  .agent/memories.md.lock, .agent/scratchpad.md: git keeps what is of use only here, so it gets in the way of checkouts and merges
               → take it out with `git rm --cached`, which leaves the files, and commit that
    "#);
    assert_snapshot!(fixed, @r#"
    exit 1
      mended   .gitignore: git is not told to leave .ralph/progress.db*, .ralph/index.db*, .ralph/runs/, .ralph/run.lock, and 10 others alone
               → added 15 lines to .gitignore
      warning  .gitignore:2: the line ".agent/*.md" keeps memories out of git
               → take it out, or narrow it; they are meant to be in git
      error    .ralph/progress.db: git keeps the database, so a checkout replaces it with an old one
               → take it out with `git rm --cached`, which leaves the files, and commit that
      warning  .agent/memories.md.lock, .agent/scratchpad.md: git keeps what is of use only here, so it gets in the way of checkouts and merges
               → take it out with `git rm --cached`, which leaves the files, and commit that
    "#);
    env.write(".gitignore", format!("{}!/.ralph/index.db\n", env.read(".gitignore")));
    let looked = only_looked(&env);
    assert!(
        looked.contains("another line takes back that .ralph/index.db* is ignored"),
        "{looked}"
    );
}

#[test]
fn a_project_without_init_lacks_only_the_merges() {
    let env = env();
    env.git(["init", "--quiet"]);
    add(&env, "a note");
    let (looked, fixed) = looked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      note     .gitattributes: git merges notes as text: it lacks .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    assert_snapshot!(fixed, @"
    exit 0
      mended   .gitattributes: git merges notes as text: it lacks .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → added 2 lines to .gitattributes, set merge.ralph.driver in git's configuration
    ");
    assert_eq!(env.git(["config", "merge.ralph.name"]), "notes, entry by entry\n");
}

#[test]
fn half_of_what_makes_git_merge_notes_is_a_warning() {
    let clone = healthy();
    clone.git(["config", "--unset", "merge.ralph.driver"]);
    let (looked, fixed) = looked_and_fixed(&clone);
    assert_snapshot!(looked, @"
    exit 0
      warning  git's configuration here has no merge.ralph.driver, or an outdated one; a clone does not bring it along
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    assert_snapshot!(fixed, @"
    exit 0
      mended   git's configuration here has no merge.ralph.driver, or an outdated one; a clone does not bring it along
               → set merge.ralph.driver in git's configuration
    ");
    let env = healthy();
    env.write(".gitattributes", "*.md text\n");
    let (looked, _) = looked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      warning  .gitattributes: git merges notes as text: it lacks .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    let env = healthy();
    env.write(".gitattributes", "*.md merge=union\n");
    env.git(["config", "merge.ralph.driver", "mine %A"]);
    assert_snapshot!(only_looked(&env), @r#"
    exit 0
      warning  .gitattributes: git's attributes say `.agent/memories.md merge=union`, so it does not merge entry by entry
               → make that merge=ralph
      warning  .gitattributes: git's attributes say `.agent/guardrails.md merge=union`, so it does not merge entry by entry
               → make that merge=ralph
      warning  merge.ralph.driver is "mine %A", which is not ralph's own
               → `git config --unset merge.ralph.driver`, then `ralph doctor --fix`
    "#);
    assert_eq!(env.git(["config", "merge.ralph.driver"]), "mine %A\n");
}

#[test]
fn ignore_lines_that_come_from_a_pipe_are_not_waited_for() {
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
fn the_variables_of_a_git_hook_do_not_mislead() {
    let env = healthy();
    env.git(["add", "--force", DATABASE]);
    let mut invocation = doctor(&env, []);
    for variable in ["GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        invocation = invocation.env(variable, env.beside("elsewhere"));
    }
    let looked = wrong(&invocation.env("GIT_LITERAL_PATHSPECS", "1").run());
    assert_snapshot!(looked, @"
    exit 1
      error    .ralph/progress.db: git keeps the database, so a checkout replaces it with an old one
               → take it out with `git rm --cached`, which leaves the files, and commit that
    ");
}

#[test]
fn without_git_the_rest_is_looked_at() {
    let env = healthy();
    env.write(MEMORIES, "## Fixes\n### mem-1\n");
    let looked = doctor(&env, []).env("PATH", env.beside("nowhere")).run();
    assert_snapshot!(wrong(&looked), @r#"
    exit 1
      error    .agent/memories.md:2: "mem-1" is not a valid id, so this block is not read
               → mend it in the file
      note     what git keeps and ignores was not looked at: git could not be started: No such file or directory (os error 2)
      note     how git merges notes was not looked at: git could not be started: No such file or directory (os error 2)
      note     no coding agent that ralph knows by its name is on PATH
               → install one, or name yours in .ralph.toml: [agent] command = "…"
      warning  there is no `ralph` on PATH, so hooks and git do not find it
               → add this program's folder to PATH
    "#);
}

#[test]
fn notes_behind_a_link_are_none_of_gits_business() {
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
    assert_eq!(only_looked(&env), "exit 0\n\n");
    env.write(".gitignore", "");
    let looked = wrong(&doctor(&env, []).run());
    assert!(
        looked.contains("git is not told to leave .ralph/progress.db*"),
        "{looked}"
    );
    assert!(!looked.contains(".agent"), "{looked}");
}
