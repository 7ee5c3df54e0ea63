//! Tests of invalid arguments, text and files: one clear error line, the right exit code, nothing changed.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::{MEMORIES, SAMPLE, env, names, sample};

#[test]
fn wrong_arguments_are_usage_errors() {
    let env = sample();
    let before = env.tree();
    for arguments in [
        vec!["nonsense"],
        vec!["tools"],
        vec!["memory", "ad", "x"],
        vec!["memory", "add"],
        vec!["memory", "add", "two", "texts"],
        vec!["memory", "add", "x", "--type", "bug"],
        vec!["memory", "add", "x", "--tags", "a|b"],
        vec!["memory", "add", "x", "--tags", "a\nb"],
        vec!["memory", "add", "x", "--format", "yaml"],
        vec!["memory", "add", "x", "--colour"],
        vec!["memory", "list", "--last", "-1"],
        vec!["memory", "list", "--last", "many"],
        vec!["memory", "list", "--recent", "4294967296"],
        vec!["memory", "list", "--type", "fix,bug"],
        vec!["memory", "prime", "--budget", "1.5"],
        vec!["memory", "show"],
        vec!["memory", "edit"],
        vec!["memory", "restore", "--list", "mem-1"],
        vec!["memory", "restore", "mem-1", "--version", "x"],
        vec!["--color", "pink"],
        vec!["init", "extra"],
    ] {
        let refused = env.ralph(arguments.iter().copied()).run();
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {refused}"
        );
        assert!(!refused.stderr.is_empty(), "{arguments:?}");
    }
    assert_snapshot!(env.ralph(["remember", "two", "texts"]).run(), @"
    exit 2
    --- stderr
    error: unexpected argument 'texts' found

    Usage: ralph remember [OPTIONS] <TEXT>

    For more information, try '--help'.
    Put a text of several words in quotes.
    ");
    assert_eq!(crate::changes(&before, &env.tree()), [""; 0]);
    assert_snapshot!(env.ralph(["memory", "add", "x", "--type", "bug"]).run(), @r#"
    exit 2
    --- stderr
    error: invalid value 'bug' for '--type <KIND>': unknown memory type "bug"; use pattern, decision, fix or context

    For more information, try '--help'.
    "#);
    assert_snapshot!(env.ralph(["memory", "add", "x", "--tags", "a|b"]).run(), @r#"
    exit 2
    --- stderr
    error: invalid value 'a|b' for '--tags <TAGS>': invalid tag "a|b": a tag cannot contain a vertical bar

    For more information, try '--help'.
    "#);
    assert_snapshot!(env.ralph(["memory", "lst"]).run(), @"
    exit 2
    --- stderr
    error: unrecognized subcommand 'lst'

      tip: a similar subcommand exists: 'list'

    Usage: ralph memory [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn unstorable_texts_are_refused() {
    let env = env();
    let refused = |input: &[u8]| env.ralph(["memory", "add", "-"]).input(input).run();
    assert_snapshot!(refused(b""), @"
    exit 2
    --- stderr
    Error: the text is blank
    ");
    assert_snapshot!(refused(" \n\t\u{3000}\n".as_bytes()), @"
    exit 2
    --- stderr
    Error: the text is blank
    ");
    assert_snapshot!(refused(b"a\0b"), @"
    exit 2
    --- stderr
    Error: the text contains a NUL character at byte 1
    ");
    assert_snapshot!(refused(b"abc\xff"), @"
    exit 2
    --- stderr
    Error: the input is not UTF-8 text (byte 3)
    ");
    assert_snapshot!(refused(&vec![b'x'; (4 << 20) + 1]), @"
    exit 2
    --- stderr
    Error: the input is longer than the limit of 4194304 bytes
    ");
    assert_snapshot!(env.ralph(["memory", "add", ""]).run(), @"
    exit 2
    --- stderr
    Error: the text is blank
    ");
    assert_snapshot!(env.ralph(["memory", "add", "x", "--reason", " "]).run(), @"
    exit 2
    --- stderr
    Error: reason: the text is blank
    ");
    assert_eq!(names(&env), [""; 0], "nothing was made");
}

#[test]
fn endless_input_is_refused_before_it_exhausts_memory() {
    let env = env();
    let refused = env.sh("ulimit -v 400000; \"$RALPH\" memory add - < /dev/zero").run();
    assert_eq!(refused.code, Some(2), "{refused}");
    assert_eq!(names(&env), [""; 0], "nothing was made");
}

/// Every command that reads the file, then every command that writes it.
const COMMANDS: [&[&str]; 10] = [
    &[],
    &["memory", "list"],
    &["memory", "show", "mem-1700"],
    &["memory", "search", "x"],
    &["memory", "prime"],
    &["memory", "validate"],
    &["memory", "add", "x"],
    &["memory", "edit", "mem-1700", "--tags", "x"],
    &["memory", "delete", "mem-1700"],
    &["memory", "init", "--force"],
];

#[test]
fn a_folder_in_place_of_the_file_is_reported() {
    let env = env();
    env.write(".agent/memories.md/inside.txt", "kept");
    for command in COMMANDS {
        let refused = env.ralph(command.iter().copied()).run();
        assert_eq!(
            refused.to_string(),
            "exit 1\n--- stderr\nError: cannot read [TMP]/project/.agent/memories.md: is a directory\n",
            "{command:?}"
        );
    }
    assert_eq!(env.read(".agent/memories.md/inside.txt"), "kept");
}

#[test]
fn a_file_in_place_of_the_folder_is_reported() {
    let env = env();
    env.write(".agent", "mine");
    assert_snapshot!(env.ralph(["memory", "list"]).run(), @"
    exit 1
    --- stderr
    Error: cannot read [TMP]/project/.agent/memories.md: Not a directory (os error 20)
    ");
    assert_snapshot!(env.ralph(["memory", "add", "x"]).run(), @"
    exit 1
    --- stderr
    Error: cannot create [TMP]/project/.agent: File exists (os error 17)
    ");
    assert_snapshot!(env.ralph(["init"]).run(), @"
    exit 1
    --- stderr
    Error: cannot create [TMP]/project/.agent: File exists (os error 17)
    ");
    assert_eq!(env.read(".agent"), "mine");
}

#[test]
fn a_read_only_file_is_not_replaced_even_by_root() {
    let env = sample();
    std::fs::set_permissions(env.path(MEMORIES), std::fs::Permissions::from_mode(0o444)).unwrap();
    for command in &COMMANDS[6..] {
        let refused = env.ralph(command.iter().copied()).run();
        assert_eq!(
            refused.to_string(),
            "exit 1\n--- stderr\nError: cannot write [TMP]/project/.agent/memories.md: the file is read-only\n",
            "{command:?}"
        );
    }
    for command in &COMMANDS[..6] {
        assert_eq!(env.ralph(command.iter().copied()).run().code, Some(0), "{command:?}");
    }
    assert_eq!(env.read(MEMORIES), SAMPLE);
    assert!(!env.path(".agent/memories.md.bak").exists());
}

/// Sets a mode, runs the commands as a user who is bound by it, and resets the mode.
fn with_mode(env: &TestEnv, name: &str, mode: u32, commands: &[&[&str]]) -> Vec<String> {
    std::fs::set_permissions(env.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    let ended = commands
        .iter()
        .map(|command| env.ralph_as_plain_user(command.iter().copied()).run().to_string())
        .collect();
    std::fs::set_permissions(env.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    ended
}

#[test]
fn an_unreadable_file_is_reported() {
    let env = sample();
    for ended in with_mode(&env, MEMORIES, 0o000, &COMMANDS[..6]) {
        assert_eq!(
            ended,
            "exit 1\n--- stderr\nError: cannot read [TMP]/project/.agent/memories.md: Permission denied (os error 13)\n"
        );
    }
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn an_unreadable_folder_is_reported_without_fallback() {
    let env = sample();
    env.write("memories.md", "### mem-9-0000\n> another file\n");
    for ended in with_mode(&env, ".agent", 0o000, &COMMANDS[..6]) {
        assert_eq!(
            ended,
            "exit 1\n--- stderr\nError: cannot read [TMP]/project/.agent/memories.md: Permission denied (os error 13)\n"
        );
    }
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn a_read_only_folder_is_reported() {
    let env = sample();
    let ended = with_mode(
        &env,
        ".agent",
        0o555,
        &[&["memory", "add", "x"], &["memory", "delete", "mem-1700"]],
    );
    for ended in ended {
        assert_eq!(
            ended,
            "exit 1\n--- stderr\n\
             Error: cannot lock [TMP]/project/.agent/memories.md.lock: Permission denied (os error 13)\n"
        );
    }
    let read = with_mode(
        &env,
        ".agent",
        0o555,
        &[&["memory", "show", "mem-1736", "--format", "quiet"]],
    );
    assert_eq!(read, ["exit 0\n--- stdout\nmem-1736000000-g7h8\n"]);
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn a_read_only_log_does_not_block_notes() {
    let env = sample();
    env.give_to_plain_user(".agent");
    env.give_to_plain_user(MEMORIES);
    std::fs::create_dir(env.path(".ralph")).unwrap();
    let ended = with_mode(
        &env,
        ".ralph",
        0o555,
        &[
            &["memory", "add", "kept all the same"],
            &["memory", "list", "--last", "1"],
        ],
    );
    assert_snapshot!(ended.join("\n"), @"
    exit 0
    --- stdout
    Memory stored: mem-1737372000-910a
    --- stderr
    Warning: The note was saved, but its history was not recorded: cannot open [TMP]/project/.ralph/progress.db.lock: Permission denied (os error 13).

    exit 0
    --- stdout
    ID                   TYPE     CREATED     TAGS  MEMORY
    mem-1737372000-910a  pattern  2025-01-20        kept all the same

    Showing 1 memory
    ");
}

#[test]
fn a_broken_database_does_not_block_notes() {
    let env = sample();
    env.write(
        crate::DATABASE,
        "not a database, however long the text in this file may be",
    );
    assert_snapshot!(env.ralph(["memory", "add", "kept all the same"]).run(), @"
    exit 0
    --- stdout
    Memory stored: mem-1737372000-910a
    --- stderr
    Warning: The note was saved, but its history was not recorded: [TMP]/project/.ralph/progress.db is not an SQLite database.
    ");
    assert_eq!(env.ralph(["memory", "list"]).run().code, Some(0));
    assert_snapshot!(env.ralph(["memory", "show", "mem-1", "--history"]).run(), @"
    exit 1
    --- stderr
    Error: [TMP]/project/.ralph/progress.db is not an SQLite database
    ");
    assert_snapshot!(env.ralph(["init"]).run(), @"
    exit 1
    --- stderr
    Error: [TMP]/project/.ralph/progress.db is not an SQLite database
    ");
}

#[test]
fn a_failed_write_of_output_is_an_error() {
    let env = sample();
    assert_snapshot!(env.sh("\"$RALPH\" memory list > /dev/full").run(), @"
    exit 1
    --- stderr
    Error: cannot read standard input or write output: No space left on device (os error 28)
    ");
}

#[test]
fn a_pipe_in_place_of_a_database_does_not_block() {
    let env = env();
    std::fs::create_dir(env.path(".ralph")).unwrap();
    let script = "mkfifo .ralph/progress.db .ralph/index.db && timeout 20 $RALPH memory add x";
    assert_snapshot!(env.sh(script).run(), @"
    exit 0
    --- stdout
    Memory stored: mem-1737372000-910a
    --- stderr
    Warning: The note was saved, but its history was not recorded: cannot open [TMP]/project/.ralph/progress.db: it is not a file.
    ");
    std::fs::remove_file(env.path(".ralph/progress.db")).unwrap();
    for arguments in ["memory add y", "memory list", "recall x", "doctor"] {
        let done = env.sh(&format!("timeout 20 $RALPH {arguments}")).run();
        assert_ne!(done.code, Some(124), "{arguments}: {done}");
    }
}
