//! `ralph memory list`.

use insta::assert_snapshot;

use crate::{MEMORIES, SAMPLE, env, ids, json, sample};

#[test]
fn notes_are_listed_oldest_first() {
    assert_snapshot!(sample().ralph(["memory", "list"]).run(), @"
    exit 0
    --- stdout
    ID                   TYPE      CREATED     TAGS               MEMORY
    mem-1700000000-c3d4  decision  2023-11-14  storage, database  Chose SQLite for events: one file, no server
    mem-1736000000-g7h8  context   2025-01-04                     The billing service belongs to team Falcon.
    mem-1737300000-e5f6  fix       2025-01-19  docker, Database   ECONNREFUSED on port 5432: the database is down
    mem-1737372000-a1b2  pattern   2025-01-20  api, http          Handlers return { success, data }.

    Showing 4 memories
    ");
}

#[test]
fn empty_list_has_a_message_and_empty_json() {
    let env = env();
    for (format, printed) in [
        ("table", "No memories yet.\n"),
        ("json", "[]\n"),
        ("markdown", ""),
        ("quiet", ""),
    ] {
        let listed = env.ralph(["memory", "list", "--format", format]).run();
        assert_eq!(
            (listed.stdout.as_str(), listed.stderr.as_str()),
            (printed, ""),
            "{format}"
        );
        assert_eq!(listed.code, Some(0), "{format}");
    }
    assert_eq!(env.ok(["memory", "list"]), "No memories yet.\n");
    assert_eq!(env.ok(["memory", "list", "--json"]), "[]\n");
    assert_eq!(crate::names(&env), [""; 0], "no files created");
}

#[test]
fn json_has_exactly_the_keys_that_other_tools_read() {
    let env = sample();
    let all = json(&env, &["memory", "list", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 4);
    for memory in all.as_array().unwrap() {
        let keys: Vec<&String> = memory.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "memory_type", "content", "tags", "created"]);
    }
    assert_eq!(
        json(&env, &["memory", "list", "--last", "1", "--format", "json"]),
        serde_json::json!([{
            "id": "mem-1737372000-a1b2",
            "memory_type": "pattern",
            "content": "Handlers return { success, data }.\nErrors too.",
            "tags": ["api", "http"],
            "created": "2025-01-20",
        }])
    );
}

#[test]
fn markdown_equals_the_file() {
    let printed = sample().ok(["memory", "list", "--last", "2", "--format", "markdown"]);
    let (older, newer) = printed.split_once("\n\n").unwrap();
    for (block, id) in [(older, "mem-1737300000-e5f6"), (newer, "mem-1737372000-a1b2")] {
        let is_whole = block.starts_with(&format!("### {id}\n")) && block.trim_end().ends_with(" -->");
        assert!(is_whole && SAMPLE.contains(block), "{printed}");
    }
}

#[test]
fn filters_narrow_the_list() {
    let env = sample();
    let [pattern, decision, fix, context] = ["a1b2", "c3d4", "e5f6", "g7h8"];
    for (flags, expected) in [
        (vec!["--type", "fix"], vec![fix]),
        (vec!["-t", "Pattern"], vec![pattern]),
        (vec!["-t", "fix,context"], vec![context, fix]),
        (vec!["-t", "fix", "-t", "context"], vec![context, fix]),
        (vec!["--tags", "database"], vec![decision, fix]),
        (vec!["--tags", "http, docker"], vec![fix, pattern]),
        (vec!["--tags", "data"], vec![]),
        (vec!["--last", "1"], vec![pattern]),
        (vec!["--last", "2"], vec![fix, pattern]),
        (vec!["--last", "99"], vec![decision, context, fix, pattern]),
        (vec!["--last", "0"], vec![]),
        (vec!["--last", "1", "--tags", "database"], vec![fix]),
        (
            vec!["--type", "decision", "--tags", "database", "--last", "5"],
            vec![decision],
        ),
    ] {
        let arguments: Vec<&str> = ["memory", "list"].into_iter().chain(flags.iter().copied()).collect();
        let found = ids(&env, &arguments);
        let suffixes: Vec<&str> = found.iter().filter_map(|id| id.rsplit('-').next()).collect();
        assert_eq!(suffixes, expected, "{flags:?}");
    }
    let none = env.ok(["memory", "list", "--tags", "nothing"]);
    assert_eq!(none, "No matching memories found\n");
}

#[test]
fn recent_counts_utc_days_inclusively() {
    let env = sample();
    let recent = |days: &str, now: &str| {
        let listed = env.ralph(["memory", "list", "--recent", days, "--format", "quiet"]);
        listed.env("RALPH_NOW", now).run().stdout.lines().count()
    };
    let (end_of_day, next_day) = ("2025-01-20T23:59:59Z", "2025-01-21T00:00:00Z");
    assert_eq!(recent("0", end_of_day), 1, "today");
    assert_eq!(recent("1", end_of_day), 2, "yesterday too");
    assert_eq!(recent("0", next_day), 0);
    assert_eq!(recent("1", next_day), 1);
    // The same moment written with another offset is the same day in UTC.
    assert_eq!(recent("0", "2025-01-21T01:30:00+02:00"), 1);
    assert_eq!(
        recent("16", end_of_day),
        3,
        "an entry without a tags line has the day of its id"
    );
    assert_eq!(recent("15", end_of_day), 2);
    assert_eq!(recent("4294967295", end_of_day), 4, "longer than the calendar");
}

#[test]
fn order_is_day_then_id_time_then_position() {
    let env = env();
    env.write(
        MEMORIES,
        "### mem-5-0000\n> a\n<!-- tags:  | created: 2025-01-02 -->\n### mem-9-0000\n> b\n\
         <!-- tags:  | created: 2025-01-01 -->\n### mem-7-0001\n> c\n<!-- tags:  | created: 2025-01-02 -->\n\
         ## Fixes\n### mem-7-0000\n> d\n<!-- tags:  | created: 2025-01-02 -->\n",
    );
    let oldest_first = ["mem-9-0000", "mem-5-0000", "mem-7-0001", "mem-7-0000"];
    assert_eq!(ids(&env, &["memory", "list"]), oldest_first);
    assert_eq!(
        ids(&env, &["memory", "list", "--last", "2"]),
        ["mem-7-0001", "mem-7-0000"]
    );
}

#[test]
fn unreadable_blocks_are_reported() {
    let env = env();
    let block = "### mem-bad\n> lost\n";
    env.write(
        MEMORIES,
        format!(
            "## Ideas\n### mem-1-0000\n> there\n## Fixes\n{}### mem-2-0000\n> read\n",
            block.repeat(4)
        ),
    );
    let listed = env.ralph(["memory", "list"]).run();
    listed.printed(&[
        "mem-2-0000  fix   1970-01-01        read\n",
        "Showing 1 memory\n",
        "memories.md:1: \"Ideas\"",
        "memories.md:5: \"mem-bad\"",
        "memories.md:7: \"mem-bad\"",
        "2 more problems; `ralph memory validate`",
    ]);
    assert!(!listed.stdout.contains("mem-1-0000"), "{listed}");
    assert_eq!(listed.stderr.lines().count(), 4, "{listed}");
}

#[test]
fn closed_pipe_is_not_an_error() {
    let env = env();
    let entries: String = (0..3000)
        .map(|n| format!("### mem-{n}-0000\n> {}\n", "a long line ".repeat(9)))
        .collect();
    env.write(MEMORIES, entries);
    for (command, reader, lines) in [("memory list", "head -1", 1), ("memory list --json", "true", 0)] {
        let line = format!("{{ \"$RALPH\" {command}; echo \"exit $?\" >&2; }} | {reader}");
        let piped = env.sh(&line).run();
        assert_eq!(piped.code, Some(0), "{piped}");
        assert_eq!(piped.stderr, "exit 0\n");
        assert_eq!(piped.stdout.lines().count(), lines, "{piped}");
    }
}
