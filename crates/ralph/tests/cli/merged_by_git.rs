//! Files that git merged as text: with conflict markers, or line by line with `merge=union`.

use ralph_testkit::TestEnv;

use crate::{MEMORIES, env, json};

/// Checks that `memory validate` finds exactly these problems: the line, and words of the problem.
#[track_caller]
fn check_problems(env: &TestEnv, expected: &[(u64, &str)]) {
    let invalid = env.ralph(["memory", "validate", "--json"]).run();
    assert_eq!(invalid.code, Some(1), "{invalid}");
    let problems: Vec<serde_json::Value> = serde_json::from_str(&invalid.stdout).unwrap();
    assert_eq!(problems.len(), expected.len(), "{invalid}");
    for (problem, (line, text)) in problems.iter().zip(expected) {
        assert_eq!(problem["line"], *line, "{invalid}");
        assert!(problem["problem"].as_str().unwrap().contains(text), "{text}: {invalid}");
    }
}

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
    let (marker, stray) = ("unresolved merge conflict", "belong to no entry");
    check_problems(&env, &[(4, marker), (7, stray), (9, stray), (15, marker), (18, stray)]);
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
    check_problems(
        &env,
        &[
            (7, "belong to no entry"),
            (8, "mem-1-0000 has a second tags line"),
            (9, "mem-1-0000 has a second ralph: line"),
        ],
    );
}
