//! Tests of terminal output through util-linux `script`: icons, colors, and no stored escape sequences.

use insta::assert_snapshot;
use ralph_model::display_width;
use ralph_testkit::{Finished, Terminal, TestEnv};

use crate::env;
use crate::past::{Worked, task, work};
use crate::stats::week;

/// Runs a command at a terminal; returns its output, with escape characters as `^[`.
pub(crate) fn at_terminal(env: &TestEnv, command: &str) -> Finished {
    let mut shown = env
        .sh(&format!("script -qec '\"$RALPH\" {command}' /dev/null"))
        .env("TERM", "xterm")
        .run();
    shown.stdout = shown.stdout.replace("\r\n", "\n").replace('\u{1b}', "^[");
    shown
}

/// Like `at_terminal`, with a given width and no colors. Only rows with commands may be wider.
pub(crate) fn on_screen(env: &TestEnv, command: &str, columns: usize) -> String {
    let mut shown = env
        .sh(&format!("script -qec '\"$RALPH\" --color never {command}' /dev/null"))
        .env("TERM", "xterm")
        .env("COLUMNS", columns.to_string())
        .run();
    assert_eq!(shown.code, Some(0), "{shown}");
    shown.stdout = shown.stdout.replace("\r\n", "\n");
    for row in shown.stdout.lines().filter(|row| !row.starts_with('`')) {
        assert!(display_width(row) <= columns, "{columns} columns: {row:?}\n{shown}");
    }
    shown.stdout
}

#[test]
fn results_have_an_icon() {
    let env = env();
    let id = "mem-1737372000-910a";
    for (command, line) in [
        ("memory add one", format!("📝 Memory stored: {id}\n")),
        ("memory edit mem-1 --tags x", format!("📝 Memory updated: {id}\n")),
        ("memory delete mem-1", format!("🗑️  Memory deleted: {id}\n")),
        ("memory restore mem-1", format!("📝 Memory restored: {id}\n")),
    ] {
        let shown = at_terminal(&env, command);
        assert_eq!((shown.code, &shown.stdout), (Some(0), &line), "{command}");
    }
}

#[test]
fn labels_have_colors() {
    let env = env();
    env.ok(["memory", "add", "one", "--tags", "x"]);
    at_terminal(&env, "memory show mem-1").printed(&["^[[1mmem-1737372000-910a^[[0m  ", "\n^[[2mtags^[[0m  x\n"]);
    let shown = at_terminal(&env, "memory show mem-9");
    let colored = "^[[1;31mError:^[[0m Memory not found: mem-9\n^[[1mHint:^[[0m `ralph memory list`";
    assert!(shown.code == Some(1) && shown.stdout.starts_with(colored), "{shown}");
    let plain = at_terminal(&env, "--color never memory show mem-9");
    let label = "Error: Memory not found: mem-9\nHint: ";
    assert!(
        plain.stdout.starts_with(label) && !plain.stdout.contains("^["),
        "{plain}"
    );
}

#[test]
fn hints_wrap_between_words_and_around_commands() {
    let env = env();
    let narrow = Terminal::start(env.ralph(["--color", "never", "memory", "show", "mem-9"]), 24).finish();
    assert_snapshot!(narrow.screen.lines().join("\n"), @"
    Error: Memory not found:
    mem-9
    Hint:
    `ralph memory list`
    shows all entries,
    `ralph memory restore --list`
    deleted ones
    ");
}

#[test]
fn stored_escape_sequences_are_shown() {
    let env = env();
    let hostile = "red \u{1b}[31m title \u{1b}]0;x\u{7} \u{9b}2J";
    env.ok(["memory", "add", hostile, "--reason", hostile]);
    for command in [
        "memory list",
        "memory show mem-1",
        "memory show mem-1 --format markdown",
        "memory show mem-1 --history",
        "memory prime",
        "memory search red",
        "memory list --json",
    ] {
        let shown = at_terminal(&env, &format!("--color never {command}"));
        assert_eq!(shown.code, Some(0), "{shown}");
        assert!(shown.stdout.contains("red "), "{command}: {shown}");
        let obeyed = shown.stdout.contains("^[") || shown.stdout.contains(['\u{7}', '\u{9b}']);
        assert!(!obeyed, "{command}: {:?}", shown.stdout);
    }
    let piped = env.ok(["memory", "list", "--format", "markdown"]);
    assert!(piped.contains(hostile), "a pipe gets the text as it is");
}

#[test]
fn doctor_marks_good_and_bad_findings() {
    let env = env();
    env.write(".agent/memories.md", "## Fixes\n### mem-1\u{1b}[31m\n> x\n");
    let shown = at_terminal(&env, "doctor");
    assert_eq!(shown.code, Some(1), "{shown}");
    for line in [
        "^[[1mnotes^[[0m",
        "  ✓ there is no .agent/guardrails.md yet",
        "^[[1;33m  ! RALPH_SEED: it is set to \"1\", which is for tests: ids are not random^[[0m",
        "^[[1;31m  ✗ .agent/memories.md:2: \"mem-1\\u{1b}[31m\" is not a valid id, so this block is not read^[[0m",
        "^[[2m    → fix it in the file^[[0m",
    ] {
        assert!(shown.stdout.lines().any(|other| other == line), "{line} in {shown}");
    }
}

#[test]
fn escape_sequences_in_mentioned_titles_are_shown() {
    let env = env();
    let task = task(&env, "Make \u{1b}[31mtea");
    let worked = Worked {
        task: &task,
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    let shown = at_terminal(&env, "why").stdout;
    assert!(shown.contains("Make ␛[31mtea") && !shown.contains("^[[31m"), "{shown}");
}

#[test]
fn long_lines_wrap_between_words() {
    let title = "Draw all of the colours in the right order and without a pause between any two of them";
    let env = week(title);
    for arguments in [
        &["task", "show", "t-8eec67"][..],
        &["journal", "show", "5"],
        &["learnings", "show", "learn-00000001"],
        &["stats"],
    ] {
        let left = Terminal::start(env.ralph(arguments.iter().copied()), 44).finish();
        let rows: Vec<String> = left.screen.scrolled().into_iter().chain(left.screen.shown()).collect();
        assert_eq!(rows, left.screen.lines(), "{arguments:?}");
    }
    let status = env.ralph(["status"]).env("COLUMNS", "44").run().stdout;
    let too_long = status
        .lines()
        .filter(|line| line.len() > 44 && !line.starts_with("Project"));
    assert_eq!(too_long.collect::<Vec<_>>(), [""; 0], "{status}");
    let shown = Terminal::start(env.ralph(["task", "show", "t-8eec67"]), 44)
        .finish()
        .screen;
    assert_eq!(
        shown.lines()[..3],
        [
            "t-8eec67  Draw all of the colours in the",
            "          right order and without a pause",
            "          between any two of them",
        ]
    );
}
