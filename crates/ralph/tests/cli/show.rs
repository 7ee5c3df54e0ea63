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
    let metadata = ["--reason", "asked for; twice", "--supersedes", "mem-17373720"];
    env.ok(["memory", "add", "no ties"].into_iter().chain(metadata));
    let shown = env.ralph(["memory", "show", "mem-1737372000-910a", "mem-1736"]).run();
    shown.printed(&[
        "mem-1737372000-910a  pattern, 2025-01-20\n",
        "reason  asked for; twice\n",
        "supersedes  mem-1737372000-a1b2\n",
        "no ties\n",
        "mem-1736000000-g7h8  context, 2025-01-04\n",
        "The billing service",
    ]);
    assert!(!shown.stdout.contains("tags"), "neither has tags: {shown}");
}

#[test]
fn the_other_formats() {
    let env = sample();
    let shown = |format| env.ok(["memory", "show", "mem-17373720", "--format", format]);
    let memory = serde_json::json!({
        "id": "mem-1737372000-a1b2",
        "memory_type": "pattern",
        "content": "Handlers return { success, data }.\nErrors too.",
        "tags": ["api", "http"],
        "created": "2025-01-20",
    });
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&shown("json")).unwrap(),
        memory
    );
    let markdown = shown("markdown");
    assert!(
        markdown.starts_with("### mem-1737372000-a1b2\n> Handlers") && SAMPLE.contains(&markdown),
        "{markdown}"
    );
    assert_eq!(shown("quiet"), "mem-1737372000-a1b2\n");
    let several = json(&env, &["memory", "show", "mem-17373720", "mem-1700", "--json"]);
    assert_eq!(several[0], memory);
    assert_eq!(several[1]["id"], "mem-1700000000-c3d4");
}

#[test]
fn unknown_id_is_an_error_with_a_hint() {
    let env = sample();
    let hints = ["`ralph memory list`", "`ralph memory restore --list`"];
    for (arguments, error) in [
        (
            &["mem-1737372000-ffff"][..],
            "Error: Memory not found: mem-1737372000-ffff\n",
        ),
        (&["mem-1700", "nothing", "--json"], "Error: Memory not found: nothing\n"),
    ] {
        let shown = env.ralph(["memory", "show"].into_iter().chain(arguments.iter().copied()));
        shown.run().refused(1, &[error, hints[0], hints[1]]);
    }
    assert_eq!(env.ralph(["memory", "show", ""]).run().code, Some(1));
    assert_eq!(env.ralph(["memory", "show", "", "--history"]).run().code, Some(1));
}

#[test]
fn ambiguous_prefixes_and_duplicate_ids_are_errors() {
    let env = sample();
    let ambiguous = env.ralph(["memory", "show", "mem-1737"]).run();
    let matches = "mem-1737 matches 2 ids: mem-1737372000-a1b2, mem-1737300000-e5f6\n";
    ambiguous.refused(1, &[matches, "longer prefix"]);
    env.write(MEMORIES, format!("{SAMPLE}\n### mem-1737372000-a1b2\n> again\n"));
    let duplicate = env.ralph(["memory", "show", "mem-1737372000-a1b2"]).run();
    duplicate.refused(
        1,
        &["mem-1737372000-a1b2", "more than once", "lines 7 and 29\n", "Hint: "],
    );
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
    let narrow = env
        .ralph(["memory", "show", &id, "--history"])
        .env("COLUMNS", "40")
        .run();
    narrow.printed(&["VERSION  CHANGE   MEMORY\n", "4        deleted  second, by hand\n"]);
    let unknown = env.ralph(["memory", "show", "mem-9", "--history"]).run();
    unknown.refused(1, &["Memory not found: mem-9\n", "`ralph memory restore --list`"]);
}

#[test]
fn history_as_json_has_full_texts() {
    let env = env();
    let id = add(&env, "first");
    env.ok(["memory", "edit", &id, "--content", "second\nline", "--tags", "t"]);
    let version = |version: u8, change: &str, content: &str, tags: &[&str]| {
        serde_json::json!({
            "version": version,
            "at": "2025-01-20T11:20:00.000Z",
            "change": change,
            "file": MEMORIES,
            "worktree": "",
            "memory": {
                "id": id,
                "memory_type": "pattern",
                "content": content,
                "tags": tags,
                "created": "2025-01-20",
            },
        })
    };
    assert_eq!(
        json(&env, &["memory", "show", &id, "--history", "--json"]),
        serde_json::json!([
            version(1, "added", "first", &[]),
            version(2, "edited", "second\nline", &["t"]),
        ])
    );
    let texts = env
        .ralph(["memory", "show", &id, "--history", "--format", "markdown"])
        .run();
    let heading = format!("### {id}\n");
    texts.printed(&[
        &heading,
        "> first\n",
        &heading,
        "> second\n> line\n<!-- tags: t | created: ",
    ]);
}

#[test]
fn no_history_without_a_note_log() {
    let env = sample();
    let history = env.ralph(["memory", "show", "mem-1700", "--history"]).run();
    history.refused(1, &["no recorded changes", "mem-1700000000-c3d4"]);
    assert_eq!(names(&env), [".agent/", MEMORIES], "no files created");
}
