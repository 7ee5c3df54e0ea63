//! Tests of invalid arguments, text and files: one clear error line, the right exit code, nothing changed.

use std::os::unix::fs::PermissionsExt;

use ralph_testkit::{Finished, TestEnv};

use crate::{MEMORIES, SAMPLE, env, names, sample};

/// Checks that a command failed with one line that contains this text, and printed nothing else.
#[track_caller]
fn check_refused(finished: &Finished, text: &str) {
    finished.refused(1, &["Error: ", text]);
    assert_eq!(finished.stderr.lines().count(), 1, "{finished}");
}

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
    let two = env.ralph(["remember", "two", "texts"]).run();
    two.refused(2, &["unexpected argument 'texts'", "in quotes"]);
    assert_eq!(crate::changes(&before, &env.tree()), [""; 0]);
    let kind = env.ralph(["memory", "add", "x", "--type", "bug"]).run();
    kind.refused(2, &["unknown memory type \"bug\"", "pattern, decision, fix or context"]);
    let tag = env.ralph(["memory", "add", "x", "--tags", "a|b"]).run();
    tag.refused(2, &["invalid tag \"a|b\"", "vertical bar"]);
    let misspelled = env.ralph(["memory", "lst"]).run();
    misspelled.refused(2, &["'lst'", "similar", "'list'"]);
}

#[test]
fn unstorable_texts_are_refused() {
    let env = env();
    let too_long = vec![b'x'; (4 << 20) + 1];
    for (input, reason) in [
        (&b""[..], "the text is blank"),
        (" \n\t\u{3000}\n".as_bytes(), "the text is blank"),
        (b"a\0b", "NUL character at byte 1"),
        (b"abc\xff", "not UTF-8 text (byte 3)"),
        (&too_long, "limit of 4194304 bytes"),
    ] {
        env.ralph(["memory", "add", "-"])
            .input(input)
            .run()
            .refused(2, &[reason]);
    }
    env.ralph(["memory", "add", ""])
        .run()
        .refused(2, &["the text is blank"]);
    let reason = env.ralph(["memory", "add", "x", "--reason", " "]).run();
    reason.refused(2, &["reason: the text is blank"]);
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
        check_refused(&refused, "cannot read [TMP]/project/.agent/memories.md: is a directory");
    }
    assert_eq!(env.read(".agent/memories.md/inside.txt"), "kept");
}

#[test]
fn a_file_in_place_of_the_folder_is_reported() {
    let env = env();
    env.write(".agent", "mine");
    check_refused(
        &env.ralph(["memory", "list"]).run(),
        "cannot read [TMP]/project/.agent/memories.md: Not a directory",
    );
    for command in [&["memory", "add", "x"][..], &["init"]] {
        let refused = env.ralph(command.iter().copied()).run();
        check_refused(&refused, "cannot create [TMP]/project/.agent: File exists");
    }
    assert_eq!(env.read(".agent"), "mine");
}

#[test]
fn a_read_only_file_is_not_replaced_even_by_root() {
    let env = sample();
    std::fs::set_permissions(env.path(MEMORIES), std::fs::Permissions::from_mode(0o444)).unwrap();
    for command in &COMMANDS[6..] {
        let refused = env.ralph(command.iter().copied()).run();
        check_refused(
            &refused,
            "cannot write [TMP]/project/.agent/memories.md: the file is read-only",
        );
    }
    for command in &COMMANDS[..6] {
        assert_eq!(env.ralph(command.iter().copied()).run().code, Some(0), "{command:?}");
    }
    assert_eq!(env.read(MEMORIES), SAMPLE);
    assert!(!env.path(".agent/memories.md.bak").exists());
}

/// Sets a mode, runs the commands as a user who is bound by it, and resets the mode.
fn with_mode(env: &TestEnv, name: &str, mode: u32, commands: &[&[&str]]) -> Vec<Finished> {
    std::fs::set_permissions(env.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    let ended = commands
        .iter()
        .map(|command| env.ralph_as_plain_user(command.iter().copied()).run())
        .collect();
    std::fs::set_permissions(env.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    ended
}

#[test]
fn an_unreadable_file_or_folder_is_reported_without_fallback() {
    for unreadable in [MEMORIES, ".agent"] {
        let env = sample();
        env.write("memories.md", "### mem-9-0000\n> another file\n");
        for refused in with_mode(&env, unreadable, 0o000, &COMMANDS[..6]) {
            check_refused(
                &refused,
                "cannot read [TMP]/project/.agent/memories.md: Permission denied",
            );
        }
        assert_eq!(env.read(MEMORIES), SAMPLE);
    }
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
    for refused in ended {
        check_refused(
            &refused,
            "cannot lock [TMP]/project/.agent/memories.md.lock: Permission denied",
        );
    }
    let read = with_mode(
        &env,
        ".agent",
        0o555,
        &[&["memory", "show", "mem-1736", "--format", "quiet"]],
    );
    assert_eq!(read[0].stdout, "mem-1736000000-g7h8\n", "{}", read[0]);
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
    ended[0].printed(&[
        "Memory stored",
        "history was not recorded",
        "progress.db.lock: Permission denied",
    ]);
    ended[1].printed(&["kept all the same", "Showing 1 memory"]);
    assert_eq!(ended[1].stderr, "");
}

#[test]
fn a_broken_database_does_not_block_notes() {
    let env = sample();
    env.write(
        crate::DATABASE,
        "not a database, however long the text in this file may be",
    );
    let added = env.ralph(["memory", "add", "kept all the same"]).run();
    added.printed(&[
        "Memory stored",
        "history was not recorded",
        "progress.db is not an SQLite database",
    ]);
    assert_eq!(env.ralph(["memory", "list"]).run().code, Some(0));
    for arguments in [&["memory", "show", "mem-1", "--history"][..], &["init"]] {
        let refused = env.ralph(arguments.iter().copied()).run();
        check_refused(&refused, "progress.db is not an SQLite database");
    }
}

#[test]
fn a_failed_write_of_output_is_an_error() {
    let env = sample();
    let refused = env.sh("\"$RALPH\" memory list > /dev/full").run();
    check_refused(&refused, "No space left on device");
}

#[test]
fn a_pipe_in_place_of_a_database_does_not_block() {
    let env = env();
    std::fs::create_dir(env.path(".ralph")).unwrap();
    let script = "mkfifo .ralph/progress.db .ralph/index.db && timeout 20 $RALPH memory add x";
    let added = env.sh(script).run();
    added.printed(&[
        "Memory stored",
        "history was not recorded",
        "progress.db: it is not a file",
    ]);
    std::fs::remove_file(env.path(".ralph/progress.db")).unwrap();
    for arguments in ["memory add y", "memory list", "recall x", "doctor"] {
        let done = env.sh(&format!("timeout 20 $RALPH {arguments}")).run();
        assert_ne!(done.code, Some(124), "{arguments}: {done}");
    }
}
