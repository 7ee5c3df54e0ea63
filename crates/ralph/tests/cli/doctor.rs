//! Tests of `ralph doctor`.

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
const STAMP: &str = ".ralph/index.db.stamp";

/// A project after `init`, in a git repository.
fn healthy() -> TestEnv {
    let env = env();
    env.git(["init", "--quiet"]);
    env.ok(["init"]);
    env
}

/// Like `healthy`, with a note and an index.
fn used() -> TestEnv {
    let env = healthy();
    add(&env, "tea is green");
    env.ok(["memory", "search", "tea"]);
    env
}

/// Runs doctor with the real time and a PATH of only git, an agent and this program.
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

/// Everything that doctor reports except what is fine.
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

/// Runs doctor without and then with `--fix`: without it nothing changes, and a second `--fix` changes nothing more.
#[track_caller]
fn checked_and_fixed(env: &TestEnv) -> (String, String) {
    let before = env.tree();
    let looked = doctor(env, []).run();
    assert_eq!(changes(&before, &env.tree()), [""; 0], "doctor only reads");
    let fixed = doctor(env, ["--fix"]).run();
    let after = env.tree();
    let again = doctor(env, ["--fix"]).run();
    assert_eq!(
        changes(&after, &env.tree()),
        [""; 0],
        "the second time there is nothing to fix"
    );
    assert!(!again.stdout.contains("fixed"), "{again}");
    (wrong(&looked), wrong(&fixed))
}

/// Like `checked_and_fixed`, for problems that `--fix` does not change.
#[track_caller]
fn only_checked(env: &TestEnv) -> String {
    let (looked, fixed) = checked_and_fixed(env);
    assert_eq!(looked, fixed);
    looked
}

/// Checks the exit code and that exactly these problems were found: the severity, then words of the problem and of its
/// remedy.
#[track_caller]
fn check(found: &str, code: i32, expected: &[[&str; 3]]) {
    let mut lines = found.trim_end().lines().map(str::trim_start).peekable();
    assert_eq!(lines.next(), Some(format!("exit {code}").as_str()), "{found}");
    for [severity, problem, remedy] in expected {
        let line = lines.next().unwrap_or_default();
        assert!(
            line.starts_with(severity) && line.contains(problem),
            "{problem} in\n{found}"
        );
        let help = lines.next_if(|line| line.starts_with('→')).unwrap_or_default();
        assert!(help.contains(remedy), "{remedy} in\n{found}");
    }
    assert_eq!(lines.next(), None, "{found}");
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
      ok       environment variables are fine
    notes
      ok       .agent/memories.md is fine: 0 memories
      ok       .agent/guardrails.md is fine: 0 guardrails
    database
      ok       .ralph/progress.db is intact: 0 changes to memories and guardrails on record
    index
      ok       there is no index yet; it is created when needed
    git
      ok       git tracks the notes and nothing that it should ignore
    merges
      ok       git merges notes entry by entry
    agent
      ok       on PATH: claude
      ok       `ralph` on PATH is this program
    claude
      ok       Claude Code is not set up here; run `ralph setup claude` to do so

    Everything is fine.
    ");
    assert_eq!(only_checked(&env), "exit 0\n\n");
    assert_eq!(doctor(&env, ["--json"]).run().stdout, "[]\n");
    let env = used();
    assert_eq!(only_checked(&env), "exit 0\n\n");
}

#[test]
fn an_empty_folder_has_no_problems() {
    let env = env();
    let note = ["note", ".ralph/progress.db: there is no database yet", "`ralph init`"];
    check(&only_checked(&env), 0, &[note]);
    assert_eq!(env.tree(), []);
}

#[test]
fn all_configuration_errors_are_reported() {
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
    let expected = [
        ["error", ".ralph.toml:3: memories.budget is -1", "allowed value"],
        [
            "error",
            "RALPH_SCRATCHPAD_BUDGET: scratchpad.budget is \"lots\"",
            "allowed value",
        ],
        ["error", ".ralph.toml:2: memories.budgt is unknown", "memories.budget?"],
        [
            "error",
            ".ralph.toml:9: [colours] is unknown",
            "known keys are memories, guardrails",
        ],
        ["note", ".ralph.toml:6: execution.learn has no effect", "remove it"],
        [
            "warning",
            "RALPH_GUARDRAILS_BUGDET: unknown variable",
            "RALPH_GUARDRAILS_BUDGET?",
        ],
        [
            "warning",
            "memories.path is \"~/notes.md\", but ~ is not expanded",
            "absolute path",
        ],
        [
            "warning",
            "memories.path is \"~/notes.md\", but that folder does not exist",
            "fix the path",
        ],
        [
            "warning",
            "guardrails.path is \"../elsewhere/g.md\", but that folder",
            "fix the path",
        ],
        [
            "error",
            "outside the project, to [TMP]/elsewhere/g.md",
            "`allow_outside` of `[paths]`",
        ],
        ["error", "RALPH_NOW: it is \"yesterday\"", "unset RALPH_NOW"],
        ["warning", "RALPH_SEED: it is set to \"4\"", "unset RALPH_SEED"],
        ["note", "HOME: not set", "home folder"],
        [
            "error",
            "agent.command cannot be started: no-such-agent is not on the PATH",
            "install it",
        ],
    ];
    check(&wrong(&looked), 1, &expected);
}

#[test]
fn an_unreadable_configuration_does_not_stop_doctor() {
    let env = healthy();
    let reports = |problem| check(&only_checked(&env), 1, &[problem]);
    env.write(".ralph.toml", "[memories]\nbudget = \n");
    reports(["error", ".ralph.toml:2:10: invalid TOML", "fix the file"]);
    let remedy = ".ralph.toml must be a readable UTF-8 text file";
    env.write(".ralph.toml", b"# \xff\n");
    reports(["error", ".ralph.toml: it is not UTF-8 text (byte 2)", remedy]);
    std::fs::remove_file(env.path(".ralph.toml")).unwrap();
    std::fs::create_dir(env.path(".ralph.toml")).unwrap();
    reports(["error", "is a directory", remedy]);
}

#[test]
fn the_claude_setup_and_hook_failures_are_reported() {
    let env = healthy();
    env.ok(["setup", "claude", "--yes"]);
    assert!(
        doctor(&env, [])
            .run()
            .stdout
            .contains("the hook and the skill are in place")
    );
    let [trouble, settings, skill] = [
        ".ralph/hook-trouble.json",
        ".claude/settings.json",
        ".claude/skills/ralph/SKILL.md",
    ];
    env.write(
        trouble,
        r#"{"last": "2025-01-20T11:20:00Z", "count": 3, "message": "no\u001b[31m notes"}"#,
    );
    env.write(settings, format!("// mine\n{}", env.read(settings)));
    env.write(skill, "mine");
    let frontmatter = [
        "warning",
        "SKILL.md: it does not start with frontmatter",
        "`name: ralph`",
    ];
    let expected = [
        [
            "warning",
            "hook-trouble.json: the hook failed 3 times, last at 2025-01-20T11:20:00Z: no [31m notes",
            "`ralph hook session-start < /dev/null`",
        ],
        ["note", "SKILL.md: the skill was written or changed by hand", ""],
        [
            "error",
            "settings.json: Claude Code does not accept comments or trailing commas",
            "remove them",
        ],
        frontmatter,
    ];
    check(&only_checked(&env), 1, &expected);
    env.write(settings, "{");
    env.write(trouble, "{");
    let expected = [
        [
            "note",
            "hook-trouble.json: the record of hook failures cannot be read",
            "remove it",
        ],
        ["error", "settings.json:1:1: it is not JSON", "fix the file"],
        frontmatter,
    ];
    check(&only_checked(&env), 1, &expected);
}

#[test]
fn another_ralph_on_path_is_reported() {
    let env = healthy();
    let other = env.beside("other");
    std::fs::create_dir(&other).unwrap();
    symlink("/bin/sh", other.join("ralph")).unwrap();
    let path = format!("{}:{}", other.display(), env.beside("programs").display());
    drop(doctor(&env, []));
    let looked = doctor(&env, []).env("PATH", path).run();
    let warning = ["warning", "`ralph` on PATH is [TMP]/other/ralph", "first in PATH"];
    check(&wrong(&looked), 0, &[warning]);
}

#[test]
fn files_of_another_user_are_reported() {
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
        "  warning  .agent/memories.md: notes are read-only: Permission denied (os error 13)",
        "  warning  .agent: notes are read-only: permission denied",
        "  error    .ralph/progress.db: it cannot be read: Permission denied (os error 13)",
    ] {
        assert!(lines.contains(&part), "{part} in {looked}");
    }
}

#[test]
fn everything_is_reported_when_all_is_broken() {
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
               → .ralph.toml must be a readable UTF-8 text file
      error    RALPH_UI_COLOR: ui.color is "red"; expected "auto", "always" or "never"
               → set an allowed value, or remove it; until then most commands fail
      error    RALPH_NOW: it is "never", which is not an RFC 3339 time: failed to parse four digit integer as year: invalid digit, expected 0-9 but got n
               → unset RALPH_NOW; until then most commands fail
      error    .agent/memories.md: it cannot be read: is a directory
               → make it a readable text file
      error    .agent/guardrails.md: it cannot be read: Too many levels of symbolic links (os error 40)
               → make it a readable text file
      error    .agent/scratchpad.md: it cannot be read: it is not a file
               → make it a readable text file
      warning  .ralph: other users can read it
      error    .ralph/progress.db: it is not an SQLite database, so no history is recorded
               → `mv .ralph/progress.db .ralph/progress.db.other`; ralph then starts a new history
      error    .ralph/index.db: it belongs to another tool, so there is no index and searches are slower
               → `mv .ralph/index.db .ralph/index.db.other`; ralph then creates a new index
      note     .ralph/hook-trouble.json: the record of hook failures cannot be read
               → remove it
      error    .claude/settings.json:1:1: it is not UTF-8 text
               → fix the file; Claude Code cannot read it either
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
    env.write(STAMP, "another stamp");
    let fixed = doctor(&env, ["--json", "--fix"]).run();
    assert_eq!((fixed.code, fixed.stderr.as_str()), (Some(0), ""), "{fixed}");
    let list: serde_json::Value = serde_json::from_str(&fixed.stdout).unwrap();
    let problem = list[0]["problem"].as_str().unwrap();
    assert!(problem.contains("it will be rebuilt"), "{fixed}");
    let finding = serde_json::json!({
        "check": "index",
        "severity": "note",
        "place": INDEX,
        "problem": problem,
        "remedy": "rebuilt the index",
        "fixable": true,
        "fixed": true,
    });
    assert_eq!(list, serde_json::json!([finding]));
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let env = env();
    assert_eq!(doctor(&env, ["--root", "nowhere"]).run().code, Some(2));
    assert_eq!(doctor(&env, ["now"]).run().code, Some(2));
}
