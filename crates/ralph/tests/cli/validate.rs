//! `ralph memory validate`.

use insta::assert_snapshot;

use crate::{MEMORIES, env, names, sample};

#[test]
fn valid_file_has_no_problems() {
    assert_eq!(
        sample().ok(["memory", "validate"]),
        ".agent/memories.md is valid: 4 memories.\n"
    );
    assert_eq!(sample().ok(["memory", "validate", "--json"]), "[]\n");
    let empty = env();
    assert_eq!(
        empty.ok(["memory", "validate"]),
        ".agent/memories.md does not exist yet.\n"
    );
    assert_eq!(names(&empty), [""; 0]);
}

#[test]
fn every_problem_has_its_line() {
    let env = env();
    let mut text =
        b"> stray\n\n## Ideas\n### mem-1-0000\n> not read\n### mem-1-0001\n> nor this\n## Fixes\n### mem-x\n> bad id\n\
        ### mem-2-0000\n<!-- tags: no, text | created: 2025-01-01 -->\n### mem-3-0000\n> a\n<!-- tags: x -->\n\
        ### mem-3-0000\n> b\n<!-- ralph: nonsense -->\n> after\n### mem-4-0000\n> "
            .to_vec();
    text.extend(b"\xff\n");
    env.write(MEMORIES, &text);
    assert_snapshot!(env.ralph(["memory", "validate"]).run(), @r#"
    exit 1
    --- stdout
    .agent/memories.md:1: these quoted lines belong to no entry
    .agent/memories.md:3: "Ideas" is not a section of this file, so its 2 entries are not read
    .agent/memories.md:9: "mem-x" is not a valid id, so this block is not read
    .agent/memories.md:11: mem-2-0000 has no quoted text, so it is not read
    .agent/memories.md:15: the tags line of mem-3-0000 is not `<!-- tags: a, b | created: YYYY-MM-DD -->`, so it is read without tags
    .agent/memories.md:16: duplicate id mem-3-0000
    .agent/memories.md:18: the `ralph:` line of mem-3-0000 is not `key=value; …`, so it is not read
    .agent/memories.md:19: these quoted lines belong to no entry
    .agent/memories.md:20: mem-4-0000 is not UTF-8, so it is not read
    "#);
    let listed = env.ralph(["memory", "validate", "--json"]).run();
    assert_eq!(listed.code, Some(1));
    let problems: Vec<serde_json::Value> = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(
        problems[0],
        serde_json::json!({"file": MEMORIES, "line": 1, "problem": "these quoted lines belong to no entry"})
    );
    assert_eq!(problems.len(), 9);
    assert_eq!(std::fs::read(env.path(MEMORIES)).unwrap(), text);
}
