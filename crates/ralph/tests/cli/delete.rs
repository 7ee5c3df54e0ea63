//! `ralph memory delete`.

use crate::{MEMORIES, SAMPLE, add, env, ids, json, names, sample};

#[test]
fn delete_removes_only_the_entry() {
    let env = sample();
    let deleted = env.ralph(["memory", "delete", "mem-1737372000-a1b2"]).run();
    assert_eq!(
        deleted.to_string(),
        "exit 0\n--- stdout\nMemory deleted: mem-1737372000-a1b2\n"
    );
    let entry = "\n### mem-1737372000-a1b2\n> Handlers return { success, data }.\n> Errors too.\n\
                 <!-- tags: api, http | created: 2025-01-20 -->\n";
    assert!(SAMPLE.contains(entry));
    assert_eq!(env.read(MEMORIES), SAMPLE.replace(entry, ""));
}

#[test]
fn several_ids_and_prefixes_are_deleted() {
    let env = sample();
    let deleted = env
        .ralph([
            "memory",
            "delete",
            "mem-1737372",
            "mem-1700000000-c3d4",
            "mem-1700000000-c3d4",
        ])
        .run();
    deleted.printed(&["deleted: mem-1737372000-a1b2\n", "deleted: mem-1700000000-c3d4\n"]);
    assert_eq!(deleted.stdout.lines().count(), 2, "each is deleted once");
    assert_eq!(
        ids(&env, &["memory", "list"]),
        ["mem-1736000000-g7h8", "mem-1737300000-e5f6"]
    );
}

#[test]
fn one_unknown_id_deletes_nothing() {
    let env = sample();
    let refused = env
        .ralph(["memory", "delete", "mem-1737372000-a1b2", "mem-1737372000-ffff"])
        .run();
    refused.refused(
        1,
        &[
            "Error: Memory not found: mem-1737372000-ffff\n",
            "ralph memory list",
            "ralph memory restore --list",
        ],
    );
    let several = env.ralph(["memory", "delete", "mem-17373"]).run();
    several.refused(
        1,
        &[
            "mem-17373 matches 2 ids: mem-1737372000-a1b2, mem-1737300000-e5f6",
            "longer prefix",
        ],
    );
    env.ralph(["memory", "delete"]).run().refused(2, &["<ID>"]);
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn delete_in_an_empty_project_creates_nothing() {
    let env = env();
    let refused = env.ralph(["memory", "delete", "mem-1737372000-a1b2"]).run();
    refused.refused(1, &["not found: mem-1737372000-a1b2"]);
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn other_text_is_unchanged() {
    let env = env();
    let before = "\u{feff}# Memories\r\n\r\nours\r\n## Mine \r\n> quote\r\n## Fixes\r\n";
    let after = "\r\n```\r\n### mem-2-0000\r\n> in a fence\r\n```\r\n### mem-broken\r\n> x";
    env.write(MEMORIES, format!("{before}\r\n### mem-1-0000\r\n> gone\r\n{after}"));
    env.ok(["memory", "delete", "mem-1-0000"]);
    assert_eq!(env.read(MEMORIES), format!("{before}{after}"));
}

#[test]
fn missing_note_can_be_marked_deleted() {
    for is_removed in [false, true] {
        let env = env();
        let [first, second] = ["the first", "the second"].map(|text| add(&env, text));
        if is_removed {
            std::fs::remove_file(env.path(MEMORIES)).unwrap();
        } else {
            env.write(MEMORIES, "# Memories\n");
        }
        assert_eq!(
            env.ok(["memory", "delete", &first]),
            format!("Memory deleted: {first}\n")
        );
        assert_eq!(env.path(MEMORIES).exists(), !is_removed);
        let missing = json(&env, &["memory", "restore", "--list", "--json"]);
        let how = |id: &str| {
            let mut missing = missing.as_array().unwrap().iter();
            missing
                .find(|note| note["memory"]["id"] == id)
                .map(|note| note["how"].clone())
                .unwrap()
        };
        assert_eq!([how(&first), how(&second)], ["deleted", "vanished"]);
        // It cannot be deleted twice.
        assert_eq!(env.ralph(["memory", "delete", &first]).run().code, Some(1));
        env.ok(["memory", "restore", &first]);
        assert!(env.read(MEMORIES).contains("the first"));
    }
}
