//! `ralph memory show`.

use insta::assert_snapshot;

use crate::{MEMORIES, SAMPLE, add, env, json, names, sample};

#[test]
fn note_is_shown_by_id_prefix() {
    assert_snapshot!(sample().ralph(["memory", "show", "mem-17373720"]).run(), @"
    exit 0
    --- stdout
    mem-1737372000-a1b2  pattern, 2025-01-20
    tags  api, http

    Handlers return { success, data }.
    Errors too.
    ");
}

#[test]
fn all_metadata_is_shown() {
    let env = sample();
    env.ok([
        "memory",
        "add",
        "no ties",
        "--reason",
        "asked for; twice",
        "--supersedes",
        "mem-17373720",
    ]);
    let shown = env.ralph(["memory", "show", "mem-1737372000-910a", "mem-1736"]).run();
    assert_snapshot!(shown, @"
    exit 0
    --- stdout
    mem-1737372000-910a  pattern, 2025-01-20
    reason  asked for; twice
    supersedes  mem-1737372000-a1b2

    no ties

    mem-1736000000-g7h8  context, 2025-01-04

    The billing service belongs to team Falcon.
    ");
}

#[test]
fn the_other_formats() {
    let env = sample();
    let shown = |format| env.ralph(["memory", "show", "mem-17373720", "--format", format]).run();
    assert_snapshot!(shown("json"), @r#"
    exit 0
    --- stdout
    {
      "id": "mem-1737372000-a1b2",
      "memory_type": "pattern",
      "content": "Handlers return { success, data }.\nErrors too.",
      "tags": [
        "api",
        "http"
      ],
      "created": "2025-01-20"
    }
    "#);
    assert_snapshot!(shown("markdown"), @"
    exit 0
    --- stdout
    ### mem-1737372000-a1b2
    > Handlers return { success, data }.
    > Errors too.
    <!-- tags: api, http | created: 2025-01-20 -->
    ");
    assert_snapshot!(shown("quiet"), @"
    exit 0
    --- stdout
    mem-1737372000-a1b2
    ");
    let several = json(&env, &["memory", "show", "mem-17373720", "mem-1700", "--json"]);
    let ids: Vec<&str> = several
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|m| m["id"].as_str())
        .collect();
    assert_eq!(ids, ["mem-1737372000-a1b2", "mem-1700000000-c3d4"]);
}

#[test]
fn unknown_id_is_an_error_with_a_hint() {
    let env = sample();
    assert_snapshot!(env.ralph(["memory", "show", "mem-1737372000-ffff"]).run(), @"
    exit 1
    --- stderr
    Error: Memory not found: mem-1737372000-ffff
    Hint: `ralph memory list` shows all entries, `ralph memory restore --list` deleted ones
    ");
    assert_eq!(env.ralph(["memory", "show", ""]).run().code, Some(1));
    assert_eq!(env.ralph(["memory", "show", "", "--history"]).run().code, Some(1));
    assert_snapshot!(env.ralph(["memory", "show", "mem-1700", "nothing", "--json"]).run(), @"
    exit 1
    --- stderr
    Error: Memory not found: nothing
    Hint: `ralph memory list` shows all entries, `ralph memory restore --list` deleted ones
    ");
}

#[test]
fn ambiguous_prefix_lists_matches() {
    assert_snapshot!(sample().ralph(["memory", "show", "mem-1737"]).run(), @"
    exit 1
    --- stderr
    Error: mem-1737 matches 2 ids: mem-1737372000-a1b2, mem-1737300000-e5f6
    Hint: use a longer prefix of the id
    ");
}

#[test]
fn duplicate_id_is_an_error() {
    let env = env();
    env.write(MEMORIES, format!("{SAMPLE}\n### mem-1737372000-a1b2\n> again\n"));
    assert_snapshot!(env.ralph(["memory", "show", "mem-1737372000-a1b2"]).run(), @"
    exit 1
    --- stderr
    Error: mem-1737372000-a1b2 is in the file more than once, on lines 7 and 29
    Hint: edit the file: change the id of one of them, or remove it
    ");
}

#[test]
fn history_survives_deletion() {
    let env = env();
    let id = add(&env, "first");
    let later = |minute: u32| format!("2025-01-20T11:2{minute}:00Z");
    let run = |arguments: &[&str], minute| {
        let ended = env
            .ralph(arguments.iter().copied())
            .env("RALPH_NOW", later(minute))
            .run();
        assert_eq!(ended.code, Some(0), "{ended}");
    };
    run(&["memory", "edit", &id, "--content", "second\nline"], 1);
    env.write(MEMORIES, env.read(MEMORIES).replace("second", "second, by hand"));
    run(&["memory", "delete", &id], 2);
    assert_snapshot!(env.ralph(["memory", "show", &id, "--history"]).run(), @"
    exit 0
    --- stdout
    ID                   VERSION  TIME                  CHANGE   MEMORY
    mem-1737372000-910a  1        2025-01-20T11:20:00Z  added    first
    mem-1737372000-910a  2        2025-01-20T11:21:00Z  edited   second
    mem-1737372000-910a  3        2025-01-20T11:22:00Z  changed  second, by hand
    mem-1737372000-910a  4        2025-01-20T11:22:00Z  deleted  second, by hand

    Showing 4 versions
    ");
    assert_snapshot!(env.ralph(["memory", "show", &id, "--history"]).env("COLUMNS", "40").run(), @"
    exit 0
    --- stdout
    VERSION  CHANGE   MEMORY
    1        added    first
    2        edited   second
    3        changed  second, by hand
    4        deleted  second, by hand

    Showing 4 versions
    ");
    assert_snapshot!(env.ralph(["memory", "show", "mem-9", "--history"]).run(), @"
    exit 1
    --- stderr
    Error: Memory not found: mem-9
    Hint: `ralph memory list` shows all entries, `ralph memory restore --list` deleted ones
    ");
}

#[test]
fn history_as_json_has_full_texts() {
    let env = env();
    let id = add(&env, "first");
    env.ok(["memory", "edit", &id, "--content", "second\nline", "--tags", "t"]);
    let versions = env.ralph(["memory", "show", &id, "--history", "--json"]).run();
    assert_snapshot!(versions, @r#"
    exit 0
    --- stdout
    [
      {
        "version": 1,
        "at": "2025-01-20T11:20:00.000Z",
        "change": "added",
        "file": ".agent/memories.md",
        "worktree": "",
        "memory": {
          "id": "mem-1737372000-910a",
          "memory_type": "pattern",
          "content": "first",
          "tags": [],
          "created": "2025-01-20"
        }
      },
      {
        "version": 2,
        "at": "2025-01-20T11:20:00.000Z",
        "change": "edited",
        "file": ".agent/memories.md",
        "worktree": "",
        "memory": {
          "id": "mem-1737372000-910a",
          "memory_type": "pattern",
          "content": "second\nline",
          "tags": [
            "t"
          ],
          "created": "2025-01-20"
        }
      }
    ]
    "#);
    let texts = env.ok(["memory", "show", &id, "--history", "--format", "markdown"]);
    assert_snapshot!(texts, @"
    ### mem-1737372000-910a
    > first
    <!-- tags:  | created: 2025-01-20 -->

    ### mem-1737372000-910a
    > second
    > line
    <!-- tags: t | created: 2025-01-20 -->
    ");
}

#[test]
fn no_history_without_a_note_log() {
    let env = sample();
    assert_snapshot!(env.ralph(["memory", "show", "mem-1700", "--history"]).run(), @"
    exit 1
    --- stderr
    Error: no recorded changes of mem-1700000000-c3d4 yet
    ");
    assert_eq!(names(&env), [".agent/", MEMORIES], "no files created");
}
