//! `ralph memory restore`, and the warning about lost notes.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::{MEMORIES, SAMPLE, add, env, ids, json, names, sample};

const EMPTY: &str = "# Memories\n\n## Patterns\n";

#[test]
fn deleted_note_is_restored() {
    let env = env();
    let id = env.ok([
        "memory", "add", "kept", "-t", "fix", "--tags", "a,b", "--reason", "r", "--format", "quiet",
    ]);
    let id = id.trim_end();
    let before = env.read(MEMORIES);
    env.ok(["memory", "delete", id]);
    assert_snapshot!(env.ralph(["memory", "restore", "--list"]).run(), @"
    exit 0
    --- stdout
    ID                   REMOVED               HOW      MEMORY
    mem-1737372000-910a  2025-01-20T11:20:00Z  deleted  kept

    Showing 1 memory
    ");
    assert_snapshot!(env.ralph(["memory", "restore", id]).run(), @"
    exit 0
    --- stdout
    Memory restored: mem-1737372000-910a
    ");
    assert_eq!(env.read(MEMORIES), before);
    assert_snapshot!(env.ralph(["memory", "restore", "--list"]).run(), @"
    exit 0
    --- stdout
    Nothing to restore.
    ");
}

#[test]
fn notes_lost_to_a_stale_save_are_reported_once() {
    let env = env();
    let first = add(&env, "the first\nof two lines");
    let second = add(&env, "the second");
    let before = env.read(MEMORIES);
    env.write(MEMORIES, EMPTY);
    assert_snapshot!(env.ralph(["memory", "list"]).run(), @"
    exit 0
    --- stdout
    No memories yet.
    --- stderr
    Warning: 2 notes are missing from .agent/memories.md but not deleted; an older version of the file may have been saved over it.
      mem-1737372000-910a  the first
      mem-1737372000-beeb  the second
    Hint: `ralph memory restore ID` restores one, `ralph memory restore --list` lists them.
    ");
    assert_snapshot!(env.ralph(["memory", "list"]).run(), @"
    exit 0
    --- stdout
    No memories yet.
    ");
    assert_snapshot!(env.ralph(["memory", "restore", "--list", "--json"]).run(), @r#"
    exit 0
    --- stdout
    [
      {
        "at": "2025-01-20T11:20:00.000Z",
        "how": "vanished",
        "memory": {
          "id": "mem-1737372000-910a",
          "memory_type": "pattern",
          "content": "the first\nof two lines",
          "tags": [],
          "created": "2025-01-20"
        }
      },
      {
        "at": "2025-01-20T11:20:00.000Z",
        "how": "vanished",
        "memory": {
          "id": "mem-1737372000-beeb",
          "memory_type": "pattern",
          "content": "the second",
          "tags": [],
          "created": "2025-01-20"
        }
      }
    ]
    "#);
    assert_snapshot!(env.ralph(["memory", "restore", &first, &second]).run(), @"
    exit 0
    --- stdout
    Memory restored: mem-1737372000-910a
    Memory restored: mem-1737372000-beeb
    ");
    assert_eq!(
        env.read(MEMORIES),
        before.replace("\n## Decisions\n\n## Fixes\n\n## Context\n", "")
    );
}

#[test]
fn every_command_reports_lost_notes_once() {
    let commands: [&[&str]; 9] = [
        &[],
        &["memory", "list", "--json"],
        &["memory", "search", "x"],
        &["memory", "prime"],
        &["memory", "validate"],
        &["memory", "restore", "--list"],
        &["memory", "add", "new"],
        &["memory", "show", "mem-1-0000"],
        &["memory", "edit", "mem-1-0000", "--tags", "x"],
    ];
    for command in commands {
        let env = env();
        let id = add(&env, "lost");
        env.write(MEMORIES, "### mem-1-0000\n> by hand\n");
        let warned = |env: &TestEnv| {
            let ran = env.ralph(command.iter().copied()).run();
            assert_eq!(ran.code, Some(0), "{command:?}: {ran}");
            ran.stderr.contains(&id) && ran.stderr.contains("1 note is missing")
        };
        assert!(warned(&env), "{command:?}");
        assert!(!warned(&env), "{command:?} again");
    }
}

#[test]
fn deleted_file_is_reported() {
    let env = env();
    let id = add(&env, "lost");
    std::fs::remove_file(env.path(MEMORIES)).unwrap();
    assert_snapshot!(env.ralph(["memory", "list"]).run(), @"
    exit 0
    --- stdout
    No memories yet.
    --- stderr
    Warning: 1 note is missing from .agent/memories.md but not deleted; an older version of the file may have been saved over it.
      mem-1737372000-910a  lost
    Hint: `ralph memory restore ID` restores one, `ralph memory restore --list` lists them.
    ");
    assert_eq!(env.ralph(["memory", "list"]).run().stderr, "");
    env.ok(["memory", "restore", &id]);
    assert_eq!(ids(&env, &["memory", "list"]), [id]);
}

#[test]
fn deleted_folder_is_reported_and_not_recreated() {
    let env = env();
    let id = add(&env, "lost");
    std::fs::remove_dir_all(env.path(".agent")).unwrap();
    let said = env.ralph(["memory", "list"]).run();
    assert!(said.code == Some(0) && said.stderr.contains(&id), "{said}");
    assert!(!env.path(".agent").exists());
    env.ok(["memory", "restore", &id]);
    assert_eq!(ids(&env, &["memory", "list"]), [id]);
}

#[test]
fn hand_written_notes_are_adopted() {
    let env = env();
    env.ok(["memory", "init"]);
    env.write(MEMORIES, SAMPLE);
    env.ok(["memory", "list"]);
    env.write(MEMORIES, EMPTY);
    assert_snapshot!(env.ralph(["memory", "list"]).run(), @"
    exit 0
    --- stdout
    No memories yet.
    --- stderr
    Warning: 4 notes are missing from .agent/memories.md but not deleted; an older version of the file may have been saved over it.
      mem-1700000000-c3d4  Chose SQLite for events: one file, no server
      mem-1736000000-g7h8  The billing service belongs to team Falcon.
      mem-1737300000-e5f6  ECONNREFUSED on port 5432: the database is down
      mem-1737372000-a1b2  Handlers return { success, data }.
    Hint: `ralph memory restore ID` restores one, `ralph memory restore --list` lists them.
    ");
    env.ok(["memory", "restore", "mem-1700"]);
    assert_snapshot!(env.ralph(["memory", "show", "mem-1700", "--history"]).run(), @"
    exit 0
    --- stdout
    ID                   VERSION  TIME                  CHANGE    MEMORY
    mem-1700000000-c3d4  1        2025-01-20T11:20:00Z  adopted   Chose SQLite for events: one file, no server
    mem-1700000000-c3d4  2        2025-01-20T11:20:00Z  vanished  Chose SQLite for events: one file, no server
    mem-1700000000-c3d4  3        2025-01-20T11:20:00Z  restored  Chose SQLite for events: one file, no server

    Showing 3 versions
    ");
}

#[test]
fn note_re_added_by_hand_is_not_missing() {
    let env = env();
    let id = add(&env, "back and forth");
    let before = env.read(MEMORIES);
    env.ok(["memory", "delete", &id]);
    env.write(MEMORIES, &before);
    assert_snapshot!(env.ralph(["memory", "restore", "--list"]).run(), @"
    exit 0
    --- stdout
    Nothing to restore.
    ");
    assert_snapshot!(env.ralph(["memory", "restore", &id]).run(), @"
    exit 1
    --- stderr
    Error: mem-1737372000-910a is not deleted; name a version to go back to
    Hint: `ralph memory show ID --history` lists the versions
    ");
    assert_eq!(env.read(MEMORIES), before);
}

#[test]
fn note_is_restored_to_a_version() {
    let env = env();
    let id = env.ok(["memory", "add", "one", "--tags", "t", "--format", "quiet"]);
    let id = id.trim_end();
    let first = env.read(MEMORIES);
    env.ok(["memory", "edit", id, "--content", "two", "--tags", "", "--type", "fix"]);
    assert_snapshot!(env.ralph(["memory", "restore", id, "--version", "1"]).run(), @"
    exit 0
    --- stdout
    Memory restored: mem-1737372000-910a
    ");
    assert_eq!(env.read(MEMORIES), first);
    assert_snapshot!(env.ralph(["memory", "restore", id, "--version", "9"]).run(), @"
    exit 1
    --- stderr
    Error: mem-1737372000-910a has no version 9; it has versions 1 to 3
    Hint: `ralph memory show ID --history` lists the versions
    ");
    env.ok(["memory", "delete", id]);
    assert_eq!(
        json(&env, &["memory", "restore", id, "--version", "2", "--json"])["content"],
        "two"
    );
}

#[test]
fn restoring_the_same_text_adds_no_version() {
    let env = sample();
    let id = add(&env, "as it is");
    assert_eq!(
        env.ok(["memory", "restore", &id, "--version", "1"]),
        "Nothing changed.\n"
    );
    let history = env.ok(["memory", "show", &id, "--history", "--format", "quiet"]);
    assert_eq!(history.lines().count(), 1, "{history}");
}

#[test]
fn duplicate_ids_are_restored_once() {
    let env = env();
    let id = add(&env, "once");
    env.ok(["memory", "delete", &id]);
    env.ok(["memory", "restore", &id, &id]);
    assert_eq!(ids(&env, &["memory", "list"]), [id]);
}

#[test]
fn one_failure_restores_nothing() {
    let env = env();
    let [gone, stays] = ["gone", "stays"].map(|text| add(&env, text));
    env.ok(["memory", "delete", &gone]);
    let before = env.read(MEMORIES);
    assert_snapshot!(env.ralph(["memory", "restore", &gone, &stays]).run(), @"
    exit 1
    --- stderr
    Error: mem-1737372000-beeb is not deleted; name a version to go back to
    Hint: `ralph memory show ID --history` lists the versions
    ");
    assert_snapshot!(env.ralph(["memory", "restore", &gone, "mem-9"]).run(), @"
    exit 1
    --- stderr
    Error: Memory not found: mem-9
    Hint: `ralph memory list` shows all entries, `ralph memory restore --list` deleted ones
    ");
    assert_snapshot!(env.ralph(["memory", "restore", "mem-"]).run(), @"
    exit 1
    --- stderr
    Error: mem- matches 2 ids: mem-1737372000-910a, mem-1737372000-beeb
    Hint: use a longer prefix of the id
    ");
    assert_snapshot!(env.ralph(["memory", "restore", &gone, &stays, "--version", "1"]).run(), @"
    exit 2
    --- stderr
    Error: --version takes a single id
    ");
    assert_snapshot!(env.ralph(["memory", "restore"]).run(), @"
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      <ID>...

    Usage: ralph memory restore <ID>...

    For more information, try '--help'.
    ");
    assert_eq!(env.read(MEMORIES), before);
}

#[test]
fn restore_without_a_log_creates_nothing() {
    let env = sample();
    assert_snapshot!(env.ralph(["memory", "restore", "--list"]).run(), @"
    exit 0
    --- stdout
    Nothing to restore.
    ");
    assert_snapshot!(env.ralph(["memory", "restore", "--list", "--json"]).run(), @"
    exit 0
    --- stdout
    []
    ");
    assert_eq!(names(&env), [".agent/", MEMORIES]);
}
