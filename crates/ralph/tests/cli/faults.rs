//! Faults of earlier tools that are visible in the CLI; the others are tested where they would occur.

use std::os::unix::fs::MetadataExt;

use crate::{MEMORIES, SAMPLE, add, env, ids, json, sample};

#[test]
fn fault_3_multi_byte_characters_are_not_split() {
    let env = env();
    let text = "é日👩\u{200d}🚀".repeat(40);
    env.ok(["memory", "add", &text, "--tags", &text]);
    env.write(MEMORIES, env.read(MEMORIES) + "\n### mem-1-0000\n> rest\n");
    for columns in 1..60 {
        let listed = env.ralph(["memory", "list"]).env("COLUMNS", columns.to_string()).run();
        assert_eq!(listed.code, Some(0), "{columns}: {listed}");
        let budget = env.ralph(["memory", "prime", "--budget", &columns.to_string()]).run();
        assert_eq!(budget.code, Some(0), "{columns}: {budget}");
    }
}

#[test]
fn fault_12_blank_lines_survive_every_command() {
    let env = env();
    let id = add(&env, "first\n\nthird\n\n\nsixth");
    env.ok(["memory", "edit", &id, "--tags", "x"]);
    env.ok(["memory", "edit", &id, "--type", "fix"]);
    add(&env, "another");
    env.ok(["memory", "delete", &id]);
    env.ok(["memory", "restore", &id]);
    assert_eq!(
        json(&env, &["memory", "show", &id, "--json"])["content"],
        "first\n\nthird\n\n\nsixth"
    );
}

#[test]
fn fault_13_json_is_valid_when_empty_and_never_cut() {
    for env in [env(), sample()] {
        let commands: [&[&str]; 8] = [
            &["memory", "list", "--json"],
            &["memory", "list", "--format", "json"],
            &["memory", "list", "--tags", "none", "--json"],
            &["memory", "search", "zebra", "--json"],
            &["memory", "prime", "--json"],
            &["memory", "prime", "--json", "--budget", "30"],
            &["memory", "prime", "--json", "--budget", "1"],
            &["memory", "restore", "--list", "--json"],
        ];
        for command in commands {
            assert!(json(&env, command).is_array(), "{command:?}");
        }
    }
}

#[test]
fn fault_14_last_is_the_newest() {
    let env = sample();
    assert_eq!(ids(&env, &["memory", "list", "--last", "1"]), ["mem-1737372000-a1b2"]);
    let newest = env
        .ralph(["memory", "add", "newest", "--format", "quiet"])
        .env("RALPH_NOW", "2025-02-01T00:00:00Z");
    let newest = newest.run().stdout;
    assert_eq!(ids(&env, &["memory", "list", "--last", "1"]), [newest.trim_end()]);
}

#[test]
fn fault_15_delete_leaves_what_people_wrote() {
    let env = sample();
    for id in ids(&env, &["memory", "list"]) {
        env.ok(["memory", "delete", &id]);
    }
    assert_eq!(
        env.read(MEMORIES),
        "# Memories\n\nRead me first: this file is ours.\n\n## Patterns\n\n## Decisions\n\n## Fixes\n\n## Context\n"
    );
}

#[test]
fn fault_16_malformed_block_does_not_leak() {
    let env = env();
    env.write(
        MEMORIES,
        "## Fixes\n### mem-broken\n> lost\n<!-- tags: leaked | created: 2001-01-01 -->\n### mem-86400-0000\n> kept\n",
    );
    let expected = serde_json::json!([{
        "id": "mem-86400-0000", "memory_type": "fix", "content": "kept", "tags": [], "created": "1970-01-02"
    }]);
    assert_eq!(json(&env, &["memory", "list", "--json"]), expected);
}

#[test]
fn fault_17_a_section_inside_a_memory_is_text() {
    let env = env();
    let text = add(&env, "about headings:\n## Context\n### mem-1-0000\n> not one");
    env.ok(["memory", "add", "real context", "-t", "context"]);
    assert_eq!(ids(&env, &["memory", "list", "-t", "pattern"]), [text.as_str()]);
    assert_eq!(
        json(&env, &["memory", "list", "-t", "context", "--json"])[0]["content"],
        "real context"
    );
    env.ok(["memory", "delete", &text]);
    assert_eq!(ids(&env, &["memory", "list"]).len(), 1);
}

#[test]
fn fault_18_configured_filters_apply() {
    let env = sample();
    for (settings, expected) in [
        ("filter.types = [\"fix\"]", vec!["e5f6"]),
        ("filter.tags = [\"database\"]", vec!["c3d4", "e5f6"]),
        ("filter.recent = 1", vec!["a1b2", "e5f6"]),
        (
            "filter = { types = [\"decision\", \"fix\"], tags = [\"database\"], recent = 1 }",
            vec!["e5f6"],
        ),
        ("filter.recent = 0", vec!["a1b2", "c3d4", "e5f6", "g7h8"]),
    ] {
        env.write(".ralph.toml", format!("[memories]\n{settings}\n"));
        let primed = json(&env, &["memory", "prime", "--json"]);
        let found = primed
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|memory| memory["id"].as_str());
        let found: Vec<&str> = found.filter_map(|id| id.rsplit('-').next()).collect();
        assert_eq!(found, expected, "{settings}");
    }
}

#[test]
fn fault_19_the_file_is_never_rewritten_in_place() {
    let env = sample();
    let inode = || std::fs::metadata(env.path(MEMORIES)).unwrap().ino();
    let mut before = inode();
    // A reader with the old file open still reads all of it.
    let mut reader = std::fs::File::open(env.path(MEMORIES)).unwrap();
    for command in [
        vec!["memory", "add", "x"],
        vec!["memory", "edit", "mem-1700", "--tags", "x"],
        vec!["memory", "delete", "mem-1700"],
        vec!["memory", "restore", "mem-1700"],
        vec!["memory", "init", "--force"],
    ] {
        env.ok(command.iter().copied());
        assert_ne!(inode(), before, "{command:?}");
        before = inode();
    }
    let mut old = String::new();
    std::io::Read::read_to_string(&mut reader, &mut old).unwrap();
    assert_eq!(old, SAMPLE);
    assert!(
        !crate::names(&env).iter().any(|name| name.contains("ralph-")),
        "{:?}",
        crate::names(&env)
    );
}

#[test]
fn fault_20_budget_is_shared_and_deletes_nothing() {
    let env = env();
    for number in 0..30 {
        env.ok(["memory", "add", &format!("pattern number {number}"), "-t", "pattern"]);
    }
    env.ok(["memory", "add", "the one decision", "-t", "decision"]);
    env.ok(["memory", "add", "the one fix", "-t", "fix"]);
    env.ok(["memory", "add", &"far too large ".repeat(100), "-t", "fix"]);
    let before = env.read(MEMORIES);
    let primed = json(&env, &["memory", "prime", "--budget", "300", "--json"]);
    let contents: Vec<&str> = primed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|m| m["content"].as_str())
        .collect();
    for kept in ["the one decision", "the one fix", "pattern number 29"] {
        assert!(contents.contains(&kept), "{kept} in {contents:?}");
    }
    assert!(!contents.contains(&"pattern number 0"));
    assert_eq!(env.read(MEMORIES), before);
    assert_eq!(ids(&env, &["memory", "list"]).len(), 33);
}
