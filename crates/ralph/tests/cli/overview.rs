//! Tests of `ralph` without arguments, `--help` and `--version`.

use insta::assert_snapshot;

use crate::{GUARDRAILS, MEMORIES, add, env, names, sample};

#[test]
fn empty_folder_suggests_init() {
    let env = env();
    let overview = env.ralph([]).run();
    overview.printed(&[
        "Project  [TMP]/project\n",
        "Notes    none yet\n",
        "Next     ralph init ",
    ]);
    assert_eq!(overview.stderr, "");
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn next_command_depends_on_the_state() {
    let env = env();
    env.ok(["init"]);
    let next = ["Notes    none yet\n", "Next     ralph remember \"TEXT\" "];
    env.ralph([]).run().printed(&next);
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
    let lost = env.ralph([]).run();
    lost.printed(&[
        "1 memory in .agent/memories.md (1 pattern)\n",
        "1 guardrail in .agent/guardrails.md (1 Sign)\n",
        "Missing  2 notes missing but recoverable: ralph memory restore --list\n",
        "Missing  1 note missing but recoverable: ralph guardrails restore --list\n",
        "Next     ralph recall \"TEXT\" ",
        "mem-1737372000-910a  one\n",
        "mem-1737372000-beeb  two\n",
        "`ralph memory restore ID`",
        "pattern-1737372000-910a  three\n",
        "`ralph guardrails restore ID`",
    ]);
    assert_eq!(lost.stderr.matches("Warning: ").count(), 2, "{lost}");
}

#[test]
fn notes_are_counted_by_kind() {
    let counts = "4 memories in .agent/memories.md (1 pattern, 1 decision, 1 fix, 1 context)\n";
    sample().ralph([]).run().printed(&[counts, "Next     ralph init "]);
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
    let notes = "Notes    1 guardrail in .agent/guardrails.md (1 Sign)\n";
    env.ralph([]).run().printed(&[notes]);
    env.ok(["remember", "the build takes an hour", "--type", "context"]);
    let rule = env.ok(["guardrails", "add", "wait for it", "--type", "fix", "--format", "quiet"]);
    env.ralph([]).run().printed(&[
        "Notes    1 memory in .agent/memories.md (1 context)\n",
        "2 guardrails in .agent/guardrails.md (1 fix, 1 Sign)\n",
    ]);
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
