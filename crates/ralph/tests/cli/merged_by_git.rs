//! Files that git merged as text: with conflict markers, or line by line with `merge=union`.

use insta::assert_snapshot;

use crate::{MEMORIES, env, json};

#[test]
fn fault_16_conflict_inside_an_entry_uses_our_side() {
    let env = env();
    env.write(
        MEMORIES,
        "## Fixes\n\n### mem-1-0000\n<<<<<<< HEAD\n> ours\n||||||| base\n> old\n=======\n> theirs\n>>>>>>> other\n\
         <!-- tags: a | created: 2025-01-01 -->\n\n### mem-2-0000\n> before\n<<<<<<< HEAD\n> our line\n=======\n\
         > their line\n>>>>>>> other\n<!-- tags: b | created: 2025-01-02 -->\n",
    );
    let notes = json(&env, &["memory", "list", "--json"]);
    assert_eq!(notes[0]["content"], "ours");
    assert_eq!(notes[0]["tags"][0], "a");
    assert_eq!(notes[1]["content"], "before\nour line");
    assert_eq!(notes[1]["tags"][0], "b");
    assert_snapshot!(env.ralph(["memory", "validate"]).run(), @"
    exit 1
    --- stdout
    .agent/memories.md:4: unresolved merge conflict, which may hide entries; resolve it and remove the marker lines
    .agent/memories.md:7: these quoted lines belong to no entry
    .agent/memories.md:9: these quoted lines belong to no entry
    .agent/memories.md:15: unresolved merge conflict, which may hide entries; resolve it and remove the marker lines
    .agent/memories.md:18: these quoted lines belong to no entry
    ");
    assert!(
        env.ralph(["memory", "list"])
            .run()
            .stderr
            .contains("memories.md:4: unresolved merge conflict")
    );
}

#[test]
fn fault_16_entries_between_markers_are_read() {
    let env = env();
    env.write(
        MEMORIES,
        "## Fixes\n\n<<<<<<< HEAD\n### mem-1-0000\n> ours\n=======\n### mem-2-0000\n> theirs\n>>>>>>> other\n\
         <!-- tags: common | created: 2025-01-01 -->\n",
    );
    let notes = json(&env, &["memory", "list", "--json"]);
    assert_eq!(notes[0]["content"], "ours");
    assert_eq!(notes[0]["tags"], serde_json::json!([]));
    assert_eq!(notes[1]["content"], "theirs", "the marker is not part of it");
    assert_eq!(notes[1]["tags"][0], "common");
}

#[test]
fn fault_16_conflict_sides_do_not_mix() {
    let env = env();
    env.write(
        MEMORIES,
        "## Fixes\n\n<<<<<<< HEAD\n### mem-1-0000\n> ours\n=======\n### mem-2-0000\n> theirs\n>>>>>>> other\n> common\n\
         <<<<<<< HEAD\n> our end\n=======\n> their end\n>>>>>>> other\n<!-- tags: common | created: 2025-01-01 -->\n",
    );
    let notes = json(&env, &["memory", "list", "--json"]);
    assert_eq!(notes[0]["content"], "ours");
    assert_eq!(notes[1]["content"], "theirs\ncommon");
}

#[test]
fn heading_underline_is_not_a_marker() {
    let env = env();
    env.write(
        MEMORIES,
        "Notes\n=======\n\n## Fixes\n\n### mem-1-0000\n> >>>>>>> quoted\n> =======\n",
    );
    assert_eq!(
        json(&env, &["memory", "list", "--json"])[0]["content"],
        ">>>>>>> quoted\n======="
    );
    assert_eq!(env.ralph(["memory", "validate"]).run().code, Some(0));
    env.write(MEMORIES, "## Fixes\n\n### mem-1-0000\n> text\n>>>>>>> left over\n");
    assert_eq!(json(&env, &["memory", "list", "--json"])[0]["content"], "text");
    assert_eq!(env.ralph(["memory", "validate"]).run().code, Some(1));
}

#[test]
fn fault_16_versions_joined_by_union_are_reported() {
    let env = env();
    env.write(
        MEMORIES,
        "## Fixes\n\n### mem-1-0000\n> ours\n<!-- tags: a | created: 2025-01-01 -->\n<!-- ralph: reason=x -->\n> theirs\n\
         <!-- tags: b | created: 2025-01-02 -->\n<!-- ralph: reason=y -->\n\n### mem-2-0000\n> next\n",
    );
    let notes = json(&env, &["memory", "list", "--json"]);
    assert_eq!(
        (&notes[0]["content"], &notes[0]["tags"][0]),
        (&"next".into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (&notes[1]["content"], &notes[1]["tags"][0]),
        (&"ours".into(), &"a".into())
    );
    assert_snapshot!(env.ralph(["memory", "validate"]).run(), @"
    exit 1
    --- stdout
    .agent/memories.md:7: these quoted lines belong to no entry
    .agent/memories.md:8: mem-1-0000 has a second tags line, which is not read; a merge may have joined two entries or two versions of one
    .agent/memories.md:9: mem-1-0000 has a second ralph: line, which is not read; a merge may have joined two entries or two versions of one
    ");
}
