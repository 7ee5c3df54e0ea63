//! Tests of `ralph` without arguments, `--help` and `--version`.

use insta::assert_snapshot;

use crate::{GUARDRAILS, MEMORIES, add, env, names, sample};

#[test]
fn empty_folder_suggests_init() {
    let env = env();
    assert_snapshot!(env.ralph([]).run(), @"
    exit 0
    --- stdout
    Project  [TMP]/project
    Notes    none yet
    Next     ralph init    # set up this project
    ");
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn next_command_depends_on_the_state() {
    let env = env();
    env.ok(["init"]);
    assert_snapshot!(env.ralph([]).run(), @r#"
    exit 0
    --- stdout
    Project  [TMP]/project
    Notes    none yet
    Next     ralph remember "TEXT"    # save your first note
    "#);
    add(&env, "one");
    env.ok(["memory", "add", "two", "-t", "fix"]);
    env.ok(["remember", "three", "--here"]);
    assert_snapshot!(env.ralph([]).run(), @r#"
    exit 0
    --- stdout
    Project  [TMP]/project
    Notes    2 memories in .agent/memories.md (1 pattern, 1 fix)
             1 guardrail in .agent/guardrails.md (1 pattern)
    Next     ralph recall "TEXT"    # search memory
    "#);
    env.write(MEMORIES, "### mem-1-0000\n> by hand\n");
    env.write(GUARDRAILS, "### Sign: Old\n- **Trigger**: a\n- **Instruction**: b\n");
    assert_snapshot!(env.ralph([]).run(), @r#"
    exit 0
    --- stdout
    Project  [TMP]/project
    Notes    1 memory in .agent/memories.md (1 pattern)
             1 guardrail in .agent/guardrails.md (1 Sign)
    Missing  2 notes missing but recoverable: ralph memory restore --list
    Missing  1 note missing but recoverable: ralph guardrails restore --list
    Next     ralph recall "TEXT"    # search memory
    --- stderr
    Warning: 2 notes are missing from .agent/memories.md but not deleted; an older version of the file may have been saved over it.
      mem-1737372000-910a  one
      mem-1737372000-beeb  two
    Hint: `ralph memory restore ID` restores one, `ralph memory restore --list` lists them.
    Warning: 1 note is missing from .agent/guardrails.md but not deleted; an older version of the file may have been saved over it.
      pattern-1737372000-910a  three
    Hint: `ralph guardrails restore ID` restores one, `ralph guardrails restore --list` lists them.
    "#);
}

#[test]
fn notes_are_counted_by_kind() {
    assert_snapshot!(sample().ralph([]).run(), @"
    exit 0
    --- stdout
    Project  [TMP]/project
    Notes    4 memories in .agent/memories.md (1 pattern, 1 decision, 1 fix, 1 context)
    Next     ralph init    # set up this project
    ");
}

#[test]
fn help_names_every_command() {
    let env = env();
    let help = env.ok(["--help"]);
    for word in [
        "init",
        "demo",
        "memory",
        "tools",
        "completions",
        "--root",
        "--color",
        "Examples:",
    ] {
        assert!(help.contains(word), "{word} in {help}");
    }
    let memory = env.ok(["memory", "--help"]);
    for word in [
        "add", "search", "list", "show", "edit", "delete", "restore", "prime", "validate", "init",
    ] {
        assert!(
            memory.lines().any(|line| line.trim_start().starts_with(word)),
            "{word} in {memory}"
        );
        let help = env.ok(["memory", word, "--help"]);
        assert!(help.contains("Usage: ralph memory "), "{help}");
    }
    assert_eq!(env.ok(["--version"]), format!("ralph {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn guardrails_are_counted() {
    let env = env();
    let sign = "### Sign: Green tests\n- **Trigger**: before a commit\n- **Instruction**: run them all\n";
    env.write(GUARDRAILS, sign);
    assert_snapshot!(env.ralph([]).run(), @"
    exit 0
    --- stdout
    Project  [TMP]/project
    Notes    1 guardrail in .agent/guardrails.md (1 Sign)
    Next     ralph init    # set up this project
    ");
    env.ok(["remember", "the build takes an hour", "--type", "context"]);
    let rule = env.ok(["guardrails", "add", "wait for it", "--type", "fix", "--format", "quiet"]);
    assert_snapshot!(env.ralph([]).run(), @"
    exit 0
    --- stdout
    Project  [TMP]/project
    Notes    1 memory in .agent/memories.md (1 context)
             2 guardrails in .agent/guardrails.md (1 fix, 1 Sign)
    Next     ralph init    # set up this project
    ");
    env.write(GUARDRAILS, sign);
    let shown = env.ralph([]).run();
    assert!(shown.stderr.contains(rule.trim_end()), "{shown}");
    assert!(
        shown
            .stdout
            .contains("Missing  1 note missing but recoverable: ralph guardrails restore --list\n"),
        "{shown}"
    );
}
