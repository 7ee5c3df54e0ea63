//! Invisible characters are stored as given with a warning, made visible on terminals and removed from agents' text.

use crate::terminal::at_terminal;
use crate::{GUARDRAILS, MEMORIES, env};

const HIDDEN: &str = "user\u{202e}nimda\u{e0041}\u{200b}.";
const WARNING: &str = "Warning: The text has 3 invisible characters (<U+202E>, <U+E0041>, <U+200B>), stored as given.";

#[test]
fn person_text_is_stored_exactly_with_a_warning() {
    let env = env();
    for (arguments, file) in [
        (&["memory", "add", HIDDEN][..], MEMORIES),
        (&["remember", HIDDEN, "--type", "fix"], MEMORIES),
        (&["guardrails", "add", HIDDEN], GUARDRAILS),
        (&["scratchpad", "append", HIDDEN], ".agent/scratchpad.md"),
        (
            &["knowledge", "add", "One", HIDDEN, "--tags", "x"],
            ".ralph/knowledge/one.md",
        ),
    ] {
        let added = env.ralph(arguments.iter().copied()).run();
        assert_eq!(added.code, Some(0), "{added}");
        assert!(added.stderr.contains(WARNING), "{arguments:?} {added}");
        assert!(env.read(file).contains(HIDDEN), "{arguments:?}");
    }
    let added = env
        .ralph(["memory", "add", "👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم"])
        .run();
    assert_eq!((added.code, added.stderr.as_str()), (Some(0), ""));
}

#[test]
fn characters_are_visible_only_on_terminals() {
    let env = env();
    env.ok(["memory", "add", HIDDEN]);
    assert!(env.ok(["memory", "list", "--json"]).contains(HIDDEN));
    assert!(env.ok(["memory", "show", "mem-1"]).contains(HIDDEN));
    for command in ["memory list", "memory show mem-1", "memory list --json", "memory prime"] {
        let shown = at_terminal(&env, command);
        assert!(
            shown.stdout.contains("user<U+202E>nimda<U+E0041><U+200B>."),
            "{command} {shown}"
        );
    }
}

#[test]
fn validate_lists_invisible_characters_in_files() {
    let env = env();
    env.ok(["memory", "add", "plain"]);
    assert_eq!(env.ralph(["memory", "validate"]).run().code, Some(0));
    env.ok(["memory", "add", HIDDEN]);
    let found = env.ralph(["memory", "validate"]).run();
    assert!(found.to_string().contains("<U+202E>"), "{found}");
    assert!(found.to_string().contains(&format!("{MEMORIES}:")), "{found}");
}

#[test]
fn session_start_makes_them_visible() {
    let env = env();
    env.ok(["memory", "add", HIDDEN]);
    let hook = env.ralph(["hook", "session-start"]).input("{}").run();
    assert!(hook.stdout.contains("user<U+202E>nimda<U+E0041><U+200B>."), "{hook}");
}
