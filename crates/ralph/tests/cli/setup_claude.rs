//! Tests of `ralph setup claude`: what it shows, writes and removes.

use insta::assert_snapshot;
use ralph_testkit::{Finished, TestEnv};

use crate::{changes, env, names};

const SETTINGS: &str = ".claude/settings.json";
const SKILL: &str = ".claude/skills/ralph/SKILL.md";

/// Runs the command with ralph on PATH.
fn setup(env: &TestEnv, arguments: &str) -> Finished {
    env.sh(&format!("PATH=${{RALPH%/*}}:$PATH; ralph setup claude {arguments}"))
        .run()
}

/// Sets up and removes the setup.
#[track_caller]
fn check_round_trip(env: &TestEnv) {
    let before = env.tree();
    let done = setup(env, "--yes");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done}");
    let between = env.tree();
    assert_ne!(before, between);
    let again = setup(env, "--yes").to_string();
    assert_eq!(again, "exit 0\n--- stdout\nEverything is in place.\n");
    assert_eq!(env.tree(), between);
    let removed = setup(env, "--remove --yes");
    assert_eq!((removed.code, removed.stderr.as_str()), (Some(0), ""), "{removed}");
    assert_eq!(env.tree(), before);
    let again = setup(env, "--remove --yes").to_string();
    assert_eq!(again, "exit 0\n--- stdout\nNothing to remove.\n");
    assert_eq!(env.tree(), before);
}

#[test]
fn a_project_without_anything_gets_a_hook_and_a_skill() {
    let env = env();
    let shown = setup(&env, "--dry-run");
    assert_eq!(names(&env), [""; 0], "a dry run changes nothing");
    let (skill, settings) = shown
        .stdout
        .split_once("--- /dev/null\n+++ .claude/settings.json\n")
        .unwrap();
    assert!(skill.starts_with("--- /dev/null\n+++ .claude/skills/ralph/SKILL.md\n@@ -0,0 +1,"));
    assert_snapshot!(settings, @r#"
    @@ -0,0 +1,15 @@
    +{
    +  "hooks": {
    +    "SessionStart": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "ralph hook session-start",
    +            "timeout": 10
    +          }
    +        ]
    +      }
    +    ]
    +  }
    +}
    "#);
    let done = setup(&env, "--yes");
    assert!(done.stdout.starts_with(&shown.stdout), "what was shown is what is done");
    assert_eq!(
        done.stdout.replace(&shown.stdout, ""),
        "created .claude/skills/ralph/SKILL.md\nadded the hook to .claude/settings.json\n"
    );
    assert_eq!(
        names(&env),
        [".claude/", SETTINGS, ".claude/skills/", ".claude/skills/ralph/", SKILL,]
    );
}

#[test]
fn setup_can_be_removed() {
    check_round_trip(&env());
    for settings in [
        "",
        "{}\n",
        "{\r\n\t\"model\": \"opus\"\r\n}",
        "\u{feff}{\"hooks\": {\"SessionStart\": []}}",
    ] {
        let env = env();
        env.write(SETTINGS, settings);
        env.write(".claude/skills/other/SKILL.md", "other");
        check_round_trip(&env);
    }
}

#[test]
fn later_edits_survive_removal() {
    let env = env();
    assert_eq!(setup(&env, "--yes").code, Some(0));
    let edited = env.read(SETTINGS).replacen('{', "{\n  \"model\": \"opus\",", 1);
    env.write(SETTINGS, edited);
    env.write(".claude/skills/ralph/extra.md", "mine");
    assert_eq!(setup(&env, "--remove --yes").code, Some(0));
    assert_eq!(env.read(SETTINGS), "{\n  \"model\": \"opus\"\n}\n");
    assert_eq!(env.read(".claude/skills/ralph/extra.md"), "mine");
    assert!(!env.path(SKILL).exists());
}

#[test]
fn without_a_terminal_yes_is_required() {
    let env = env();
    env.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    let before = env.tree();
    let refused = setup(&env, "");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stdout.contains("+  \"hooks\": {"), "{refused}");
    assert!(
        refused.stderr.contains("nothing was changed") && refused.stderr.contains("--yes"),
        "{refused}"
    );
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
    assert_eq!(setup(&env, "--dry-run --yes").code, Some(2));
}

#[test]
fn a_terminal_asks_for_confirmation() {
    let env = env();
    env.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    let before = env.tree();
    let at_terminal = |answer: &str| {
        let script = "PATH=${RALPH%/*}:$PATH; script -qec 'ralph setup claude' /dev/null";
        let shown = env.sh(script).env("TERM", "xterm").input(answer).run();
        (shown.code, shown.stdout.replace("\r\n", "\n").replace('\u{1b}', "^["))
    };
    let (code, shown) = at_terminal("n\n");
    assert_eq!(code, Some(1));
    assert!(shown.contains("^[[32m+  \"hooks\": {^[[0m\n"), "{shown}");
    assert!(!shown.contains("^[[31m"), "no line of the user changes\n{shown}");
    assert!(shown.contains("Make this change? [y/N]"), "{shown}");
    assert!(
        shown.ends_with("Error:^[[0m not confirmed; nothing was changed\n"),
        "{shown}"
    );
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
    let (code, shown) = at_terminal("y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(env.path(SKILL).exists());
    assert!(env.read(SETTINGS).contains("ralph hook session-start"));
}

#[test]
fn invalid_settings_are_reported_with_their_position() {
    let env = env();
    let check = |settings: &[u8], expected: &str| {
        env.write(SETTINGS, settings);
        let before = env.tree();
        for arguments in ["--yes", "--remove --yes"] {
            let refused = setup(&env, arguments);
            assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
            assert_eq!(
                refused.stderr.lines().next().unwrap(),
                format!("Error: {SETTINGS}:{expected}; nothing was changed")
            );
            assert_eq!(changes(&before, &env.tree()), [""; 0]);
        }
    };
    check(b"{\n  \"a\": 1\n  \"b\": 2\n}", "2:9: it is not JSON: Expected comma");
    check(b"{\n\"a\": \"\xff\"}", "2:7: it is not UTF-8 text");
}

#[test]
fn comments_are_kept_with_a_warning() {
    let env = env();
    let settings = "{\n  // mine\n  \"model\": \"opus\", // fast\n}\n";
    env.write(SETTINGS, settings);
    let done = setup(&env, "--yes");
    done.printed(&["does not accept comments or trailing commas", "remove them"]);
    let with_hook = env.read(SETTINGS);
    assert!(with_hook.starts_with("{\n  \"hooks\": {\n"));
    assert!(with_hook.ends_with("\n  },\n  // mine\n  \"model\": \"opus\", // fast\n}\n"));
    assert_eq!(setup(&env, "--remove --yes").code, Some(0));
    assert_eq!(env.read(SETTINGS), settings);
}

#[test]
fn an_edited_skill_is_not_touched() {
    let env = env();
    assert_eq!(setup(&env, "--yes").code, Some(0));
    let changed = env.read(SKILL) + "\nAsk Ada before you delete a note.\n";
    env.write(SKILL, &changed);
    let again = setup(&env, "--yes");
    again.printed(&[
        "Everything is in place.",
        "SKILL.md was changed by hand",
        "remove it first",
    ]);
    let removed = setup(&env, "--remove --yes");
    assert!(removed.stderr.contains("was changed by hand"), "{removed}");
    assert_eq!(env.read(SKILL), changed);
    assert!(!env.path(SETTINGS).exists());
}

#[test]
fn outdated_hooks_are_updated_but_not_edited_ones() {
    let env = env();
    env.write(
        SETTINGS,
        r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "ralph hook session-start"}]}]}}"#,
    );
    let done = setup(&env, "--yes");
    assert!(
        done.stdout.ends_with("updated the hook in .claude/settings.json\n"),
        "{done}"
    );
    assert!(env.read(SETTINGS).contains("\"timeout\":10}"));
    let own = env.read(SETTINGS).replace("10}", "30}");
    env.write(SETTINGS, &own);
    let again = setup(&env, "--yes");
    again.printed(&[
        "Everything is in place.",
        "the hook in .claude/settings.json",
        "by hand",
    ]);
    assert_eq!(env.read(SETTINGS), own);
    assert_eq!(setup(&env, "--remove --yes").code, Some(0));
    assert_eq!(env.read(SETTINGS), "{}");
}

#[test]
fn a_program_not_on_path_is_reported() {
    let env = env();
    let missing = env.ralph(["setup", "claude", "--yes"]).run();
    missing.printed(&["the hook runs `ralph`, which is not on PATH", "Hint: add "]);
    env.write("other/ralph", "#!/bin/sh\n");
    let other = env
        .sh("chmod +x other/ralph; PATH=$PWD/other:$PATH; \"$RALPH\" setup claude --yes")
        .run();
    other.printed(&[
        "which on PATH is [TMP]/project/other/ralph, not this program",
        "Hint: put ",
    ]);
}

#[test]
fn read_only_files_are_reported() {
    let env = env();
    env.write(SETTINGS, "{}");
    let _done = env.sh("chmod 444 .claude/settings.json; chmod 555 .claude").run();
    let refused = env.ralph_as_plain_user(["setup", "claude", "--yes"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.starts_with("Error: cannot create "), "{refused}");
    assert_eq!(env.read(SETTINGS), "{}");
}
