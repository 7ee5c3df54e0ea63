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
    assert_eq!(env.ok(["memory", "restore", id]), format!("Memory restored: {id}\n"));
    assert_eq!(env.read(MEMORIES), before);
    assert_eq!(env.ok(["memory", "restore", "--list"]), "Nothing to restore.\n");
}

#[test]
fn notes_lost_to_a_stale_save_are_reported_once() {
    let env = env();
    let first = add(&env, "the first\nof two lines");
    let second = add(&env, "the second");
    let before = env.read(MEMORIES);
    env.write(MEMORIES, EMPTY);
    env.ralph(["memory", "list"]).run().printed(&[
        "No memories yet.\n",
        "Warning: 2 notes are missing from .agent/memories.md but not deleted",
        &format!("{first}  the first\n"),
        &format!("{second}  the second\n"),
        "`ralph memory restore ID`",
        "`ralph memory restore --list`",
    ]);
    assert_eq!(env.ralph(["memory", "list"]).run().stderr, "");
    let lost = json(&env, &["memory", "restore", "--list", "--json"]);
    assert_eq!(
        lost[0],
        serde_json::json!({
            "at": "2025-01-20T11:20:00.000Z",
            "how": "vanished",
            "memory": {
                "id": first,
                "memory_type": "pattern",
                "content": "the first\nof two lines",
                "tags": [],
                "created": "2025-01-20",
            },
        })
    );
    assert_eq!(
        (lost.as_array().unwrap().len(), &lost[1]["memory"]["id"]),
        (2, &second.as_str().into())
    );
    assert_eq!(
        env.ok(["memory", "restore", &first, &second]),
        format!("Memory restored: {first}\nMemory restored: {second}\n")
    );
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
fn deleted_file_or_folder_is_reported_once_and_not_recreated() {
    for removed in [MEMORIES, ".agent"] {
        let env = env();
        let id = add(&env, "lost");
        assert_eq!(env.sh(&format!("rm -r {removed}")).run().code, Some(0));
        let listed = env.ralph(["memory", "list"]).run();
        listed.printed(&["No memories yet.\n", "Warning: 1 note is missing", &id]);
        assert!(!env.path(removed).exists(), "{removed}");
        assert_eq!(env.ralph(["memory", "list"]).run().stderr, "", "{removed}");
        env.ok(["memory", "restore", &id]);
        assert_eq!(ids(&env, &["memory", "list"]), [id]);
    }
}

#[test]
fn hand_written_notes_are_adopted() {
    let env = env();
    env.ok(["memory", "init"]);
    env.write(MEMORIES, SAMPLE);
    env.ok(["memory", "list"]);
    env.write(MEMORIES, EMPTY);
    env.ralph(["memory", "list"]).run().printed(&[
        "Warning: 4 notes are missing",
        "mem-1700000000-c3d4",
        "mem-1736000000-g7h8",
        "mem-1737300000-e5f6",
        "mem-1737372000-a1b2",
    ]);
    env.ok(["memory", "restore", "mem-1700"]);
    let history = env.ralph(["memory", "show", "mem-1700", "--history"]).run();
    history.printed(&["adopted", "vanished", "restored", "Showing 3 versions"]);
}

#[test]
fn note_re_added_by_hand_is_not_missing() {
    let env = env();
    let id = add(&env, "back and forth");
    let before = env.read(MEMORIES);
    env.ok(["memory", "delete", &id]);
    env.write(MEMORIES, &before);
    assert_eq!(env.ok(["memory", "restore", "--list"]), "Nothing to restore.\n");
    env.ralph(["memory", "restore", &id]).run().refused(
        1,
        &[
            &id,
            "is not deleted",
            "name a version",
            "`ralph memory show ID --history`",
        ],
    );
    assert_eq!(env.read(MEMORIES), before);
}

#[test]
fn note_is_restored_to_a_version() {
    let env = env();
    let id = env.ok(["memory", "add", "one", "--tags", "t", "--format", "quiet"]);
    let id = id.trim_end();
    let first = env.read(MEMORIES);
    env.ok(["memory", "edit", id, "--content", "two", "--tags", "", "--type", "fix"]);
    let restored = env.ok(["memory", "restore", id, "--version", "1"]);
    assert_eq!(restored, format!("Memory restored: {id}\n"));
    assert_eq!(env.read(MEMORIES), first);
    let unknown = env.ralph(["memory", "restore", id, "--version", "9"]).run();
    unknown.refused(1, &[id, "no version 9", "versions 1 to 3", "--history"]);
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
    let added = ["gone", "stays"].map(|text| add(&env, text));
    let [gone, stays] = added.each_ref().map(String::as_str);
    env.ok(["memory", "delete", gone]);
    let before = env.read(MEMORIES);
    let cases: [(&[&str], i32, &[&str]); 5] = [
        (&[gone, stays], 1, &[stays, "is not deleted", "--history"]),
        (
            &[gone, "mem-9"],
            1,
            &["Memory not found: mem-9", "`ralph memory restore --list`"],
        ),
        (&["mem-"], 1, &["mem- matches 2 ids", gone, stays, "longer prefix"]),
        (&[gone, stays, "--version", "1"], 2, &["--version takes a single id"]),
        (&[], 2, &["required arguments", "<ID>"]),
    ];
    for (arguments, code, texts) in cases {
        env.ralph([&["memory", "restore"], arguments].concat())
            .run()
            .refused(code, texts);
        assert_eq!(env.read(MEMORIES), before, "{arguments:?}");
    }
}

#[test]
fn restore_without_a_log_creates_nothing() {
    let env = sample();
    assert_eq!(env.ok(["memory", "restore", "--list"]), "Nothing to restore.\n");
    assert_eq!(env.ok(["memory", "restore", "--list", "--json"]), "[]\n");
    assert_eq!(names(&env), [".agent/", MEMORIES]);
}
