//! `ralph doctor`.

mod databases;
mod notes;
mod repository;
mod session;
mod skills;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use insta::assert_snapshot;
use ralph_testkit::{Finished, Invocation, TestEnv};

use crate::{DATABASE, GUARDRAILS, MEMORIES, add, changes, env, foreign_database};

const INDEX: &str = ".ralph/index.db";
const SEAL: &str = ".ralph/index.db.seal";

/// A project after `init`, in a git repository.
fn healthy() -> TestEnv {
    let env = env();
    env.git(["init", "--quiet"]);
    env.ok(["init"]);
    env
}

/// The same with a note and an index.
fn used() -> TestEnv {
    let env = healthy();
    add(&env, "tea is green");
    env.ok(["memory", "search", "tea"]);
    env
}

/// Doctor at the present time, with a PATH that has git, an agent and this program, and nothing else.
fn doctor<'a>(env: &TestEnv, arguments: impl IntoIterator<Item = &'a str>) -> Invocation {
    let programs = env.beside("programs");
    if !programs.exists() {
        std::fs::create_dir(&programs).unwrap();
        let git = ["/usr/local/bin/git", "/usr/bin/git", "/bin/git"];
        let git = git.into_iter().find(|git| std::path::Path::new(git).exists()).unwrap();
        symlink(git, programs.join("git")).unwrap();
        symlink(env!("CARGO_BIN_EXE_ralph"), programs.join("ralph")).unwrap();
        symlink("/bin/sh", programs.join("claude")).unwrap();
    }
    env.ralph(["doctor"].into_iter().chain(arguments))
        .unfixed()
        .env("PATH", programs)
}

/// What doctor finds wrong: everything but what is as it should be.
fn wrong(finished: &Finished) -> String {
    let titles = |line: &&str| line.starts_with(' ') && !line.starts_with("  ok ");
    let lines: Vec<&str> = finished.stdout.lines().filter(titles).collect();
    format!(
        "exit {}\n{}\n{}",
        finished.code.unwrap(),
        lines.join("\n"),
        finished.stderr
    )
}

/// Looks without and then with `--fix`: without it nothing changes, and with it twice no more than once.
#[track_caller]
fn looked_and_fixed(env: &TestEnv) -> (String, String) {
    let before = env.tree();
    let looked = doctor(env, []).run();
    assert_eq!(changes(&before, &env.tree()), [""; 0], "doctor only looks");
    let fixed = doctor(env, ["--fix"]).run();
    let after = env.tree();
    let again = doctor(env, ["--fix"]).run();
    assert_eq!(
        changes(&after, &env.tree()),
        [""; 0],
        "the second time there is nothing to mend"
    );
    assert!(!again.stdout.contains("mended"), "{again}");
    (wrong(&looked), wrong(&fixed))
}

/// The same for what `--fix` does nothing about.
#[track_caller]
fn only_looked(env: &TestEnv) -> String {
    let (looked, fixed) = looked_and_fixed(env);
    assert_eq!(looked, fixed);
    looked
}

#[test]
fn a_project_after_init_is_fine() {
    let env = healthy();
    assert_snapshot!(doctor(&env, []).run(), @"
    exit 0
    --- stdout
    configuration
      ok       .ralph.toml is fine
    environment
      ok       no variable is in the way
    notes
      ok       .agent/memories.md is fine: 0 memories
      ok       .agent/guardrails.md is fine: 0 guardrails
    database
      ok       .ralph/progress.db is whole: 0 changes of memories and guardrails on record
    index
      ok       there is no index yet; it is made when it is needed
    git
      ok       git keeps the notes, and nothing that it must not
    merges
      ok       git merges notes entry by entry
    agent
      ok       on PATH: claude
      ok       `ralph` on PATH is this program
    claude
      ok       Claude Code is not set up here; `ralph setup claude` does that

    Everything is fine.
    ");
    assert_eq!(only_looked(&env), "exit 0\n\n");
    assert_eq!(doctor(&env, ["--json"]).run().stdout, "[]\n");
    let env = used();
    assert_eq!(only_looked(&env), "exit 0\n\n");
}

#[test]
fn an_empty_folder_is_no_reason_to_complain() {
    let env = env();
    assert_snapshot!(only_looked(&env), @"
    exit 0
      note     .ralph/progress.db: there is no database yet, so there is no history of the notes
               → `ralph init`, or the first note, makes it
    ");
    assert_eq!(env.tree(), []);
}

#[test]
fn a_wrong_configuration_is_told_whole() {
    let env = healthy();
    env.write(
        ".ralph.toml",
        "[memories]\nbudgt = 3\nbudget = -1\npath = \"~/notes.md\"\n[execution]\nlearn = true\n[guardrails]\npath = \
         \"../elsewhere/g.md\"\n[colours]\nred = 1\n[agent]\ncommand = \"no-such-agent --fast\"\n",
    );
    let looked = doctor(&env, [])
        .env("RALPH_GUARDRAILS_BUGDET", "1")
        .env("RALPH_SCRATCHPAD_BUDGET", "lots")
        .env("RALPH_NOW", "yesterday")
        .env("RALPH_SEED", "4")
        .env("HOME", "")
        .run();
    assert_snapshot!(wrong(&looked), @r#"
    exit 1
      error    .ralph.toml:3: memories.budget is -1; allowed is a whole number from 0 to 4294967295
               → set it to what is allowed, or take it out; until then nearly every command fails
      error    RALPH_SCRATCHPAD_BUDGET: scratchpad.budget is "lots"; allowed is a whole number from 0 to 4294967295
               → set it to what is allowed, or take it out; until then nearly every command fails
      error    .ralph.toml:2: memories.budgt is not known, so it has no effect
               → memories.budget may have been meant
      error    .ralph.toml:9: [colours] is not known, so it has no effect
               → take it out; known are memories, guardrails, scratchpad, context, execution, tasks, agent, verify, limits, strategy, learning, git, worktree, notify, runs, paths, ui
      note     .ralph.toml:6: execution.learn has no effect; it is accepted from earlier tools
               → take it out
      warning  RALPH_GUARDRAILS_BUGDET: there is no such variable, so it has no effect
               → RALPH_GUARDRAILS_BUDGET may have been meant
      warning  memories.path is "~/notes.md", and ~ does not stand for your folder here
               → write the whole path, or one from the project's root
      warning  memories.path is "~/notes.md", and there is no such folder
               → the first note makes it; if that is not wanted, mend the path
      warning  guardrails.path is "../elsewhere/g.md", and there is no such folder
               → the first note makes it; if that is not wanted, mend the path
      error    `guardrails.path` in .ralph.toml leads outside the project, to [TMP]/elsewhere/g.md
               → to allow it, add its folder to `allow_outside` of `[paths]` in your own configuration, ralph/config.toml
      error    RALPH_NOW: it is "yesterday", which is not an RFC 3339 time: failed to parse four digit integer as year: invalid digit, expected 0-9 but got y
               → unset RALPH_NOW; until then nearly every command fails
      warning  RALPH_SEED: it is set to "4", which is for tests: ids are not random
               → unset RALPH_SEED
      note     HOME: it is not set, so git and agents do not find their settings
               → set it to your folder
      error    agent.command cannot be started: no-such-agent is not on the PATH
               → install it, put its folder into PATH, or mend the key
    "#);
}

#[test]
fn a_configuration_that_cannot_be_read_does_not_stop_it() {
    let env = healthy();
    env.write(".ralph.toml", "[memories]\nbudget = \n");
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .ralph.toml:2:10: this is not TOML: string values must be quoted, expected literal string
               → mend it there; until then nearly every command fails, and doctor takes the defaults
    ");
    env.write(".ralph.toml", b"# \xff\n");
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .ralph.toml: it is not UTF-8 text (byte 2)
               → .ralph.toml has to be a file of UTF-8 text that you may read
    ");
    std::fs::remove_file(env.path(".ralph.toml")).unwrap();
    std::fs::create_dir(env.path(".ralph.toml")).unwrap();
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .ralph.toml: cannot read [TMP]/project/.ralph.toml: is a directory
               → .ralph.toml has to be a file of UTF-8 text that you may read
    ");
}

#[test]
fn the_set_up_of_claude_and_its_trouble_are_told() {
    let env = healthy();
    env.ok(["setup", "claude", "--yes"]);
    assert!(
        doctor(&env, [])
            .run()
            .stdout
            .contains("the hook and the skill are in place")
    );
    env.write(
        ".ralph/hook-trouble.json",
        r#"{"last": "2025-01-20T11:20:00Z", "count": 3, "message": "no\u001b[31m notes"}"#,
    );
    let settings = env.read(".claude/settings.json");
    env.write(".claude/settings.json", format!("// mine\n{settings}"));
    env.write(".claude/skills/ralph/SKILL.md", "mine");
    assert_snapshot!(only_looked(&env), @"
    exit 1
      warning  .ralph/hook-trouble.json: the hook failed 3 times, the last time at 2025-01-20T11:20:00Z: no [31m notes
               → mend that; the trace goes when the hook works again (`ralph hook session-start < /dev/null`)
      note     .claude/skills/ralph/SKILL.md: the skill was written or changed by hand, so ralph leaves it alone
      error    .claude/settings.json:1: Claude Code does not read settings with comments or commas at the end, so the hook does not run
               → take them out; nothing else in the file has to change
      warning  .claude/skills/ralph/SKILL.md: it does not begin with frontmatter between two lines `---`
               → begin it with `---`, `name: ralph`, `description: WHAT IT IS GOOD FOR` and `---`, each on a line of its own
    ");
    env.write(".claude/settings.json", "{");
    env.write(".ralph/hook-trouble.json", "{");
    assert_snapshot!(only_looked(&env), @"
    exit 1
      note     .ralph/hook-trouble.json: the trace of the hook cannot be read
               → remove it
      error    .claude/settings.json:1:2: it is not JSON: a bracket is not closed
               → mend it there; Claude Code does not read it either
      warning  .claude/skills/ralph/SKILL.md: it does not begin with frontmatter between two lines `---`
               → begin it with `---`, `name: ralph`, `description: WHAT IT IS GOOD FOR` and `---`, each on a line of its own
    ");
}

#[test]
fn another_ralph_on_path_is_named() {
    let env = healthy();
    let other = env.beside("other");
    std::fs::create_dir(&other).unwrap();
    symlink("/bin/sh", other.join("ralph")).unwrap();
    let path = format!("{}:{}", other.display(), env.beside("programs").display());
    drop(doctor(&env, []));
    let looked = doctor(&env, []).env("PATH", path).run();
    assert_snapshot!(wrong(&looked), @"
    exit 0
      warning  `ralph` on PATH is [TMP]/other/ralph, not this program
               → hooks and git call that one; put this program's folder in front in PATH
    ");
}

#[test]
fn files_of_another_user_are_named_with_what_is_wrong() {
    let env = used();
    for (name, mode) in [
        (".", 0o755),
        (".agent", 0o755),
        (".ralph", 0o755),
        (MEMORIES, 0o644),
        (GUARDRAILS, 0o600),
        (DATABASE, 0o600),
        (INDEX, 0o644),
    ] {
        std::fs::set_permissions(env.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    if std::fs::metadata(env.project()).unwrap().uid() != 0 {
        return;
    }
    let looked = env.ralph_as_plain_user(["doctor", "--fix"]).unfixed().run();
    let lines: Vec<&str> = looked.stdout.lines().collect();
    assert_eq!(looked.code, Some(1), "{looked}");
    for part in [
        "  error    .agent/guardrails.md: it cannot be read: Permission denied (os error 13)",
        "  warning  .agent/memories.md: notes can be read but not changed: Permission denied (os error 13)",
        "  warning  .agent: notes can be read but not changed: permission denied",
        "  error    .ralph/progress.db: it cannot be read: Permission denied (os error 13)",
    ] {
        assert!(lines.contains(&part), "{part} in {looked}");
    }
}

#[test]
fn with_everything_broken_at_once_it_still_tells_all() {
    let env = env();
    env.write(".git", "nonsense");
    env.write(".ralph.toml", b"\xff");
    env.write(".claude/settings.json", b"\xfe{");
    env.write(".ralph/hook-trouble.json", b"\0");
    env.write(DATABASE, "text");
    env.write(INDEX, foreign_database());
    std::fs::create_dir_all(env.path(&format!("{MEMORIES}/deep/folder"))).unwrap();
    symlink("guardrails.md", env.path(GUARDRAILS)).unwrap();
    assert_eq!(env.sh("mkfifo .agent/scratchpad.md .gitignore").run().code, Some(0));
    let looked = doctor(&env, [])
        .env("RALPH_NOW", "never")
        .env("RALPH_UI_COLOR", "red")
        .run();
    assert_snapshot!(wrong(&looked), @r#"
    exit 1
      error    .ralph.toml: it is not UTF-8 text (byte 0)
               → .ralph.toml has to be a file of UTF-8 text that you may read
      error    RALPH_UI_COLOR: ui.color is "red"; allowed is "auto", "always" or "never"
               → set it to what is allowed, or take it out; until then nearly every command fails
      error    RALPH_NOW: it is "never", which is not an RFC 3339 time: failed to parse four digit integer as year: invalid digit, expected 0-9 but got n
               → unset RALPH_NOW; until then nearly every command fails
      error    .agent/memories.md: it cannot be read: is a directory
               → put a file of text there that you may read
      error    .agent/guardrails.md: it cannot be read: Too many levels of symbolic links (os error 40)
               → put a file of text there that you may read
      error    .agent/scratchpad.md: it cannot be read: it is not a file
               → put a file of text there that you may read
      warning  .ralph: others than its owner can read it
      error    .ralph/progress.db: it is not an SQLite database, so no history is recorded
               → `mv .ralph/progress.db .ralph/progress.db.other`, and ralph starts a history of its own
      error    .ralph/index.db: it belongs to another tool, so there is no index, and answers take longer
               → `mv .ralph/index.db .ralph/index.db.other`, and ralph makes an index
      note     .ralph/hook-trouble.json: the trace of the hook cannot be read
               → remove it
      error    .claude/settings.json:1:1: it is not UTF-8 text
               → mend it there; Claude Code does not read it either
    "#);
    let fixed = doctor(&env, ["--fix"]).run();
    assert_eq!(fixed.code, Some(1), "{fixed}");
    let json = doctor(&env, ["--json"]).run();
    let list: Vec<serde_json::Value> = serde_json::from_str(&json.stdout).unwrap();
    assert!(list.len() > 7 && json.code == Some(1), "{json}");
}

#[test]
fn json_has_every_key() {
    let env = used();
    env.write(SEAL, "another seal");
    let json = doctor(&env, ["--json", "--fix"]).run();
    assert_snapshot!(json, @r#"
    exit 0
    --- stdout
    [
      {
        "check": "index",
        "severity": "note",
        "place": ".ralph/index.db",
        "problem": "it was not written to its end, before a restart, or by another version; it will be made anew",
        "remedy": "made the index anew",
        "fixable": true,
        "fixed": true
      }
    ]
    "#);
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let env = env();
    assert_eq!(doctor(&env, ["--root", "nowhere"]).run().code, Some(2));
    assert_eq!(doctor(&env, ["now"]).run().code, Some(2));
}
