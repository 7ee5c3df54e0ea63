//! `ralph memory search`.

use insta::assert_snapshot;

use crate::{MEMORIES, env, ids, json, sample};

#[test]
fn words_match_texts_and_tags() {
    let env = sample();
    assert_snapshot!(env.ralph(["memory", "search", "the DATABASE, down?"]).run(), @"
    exit 0
    --- stdout
    ID                   TYPE      CREATED     TAGS               MEMORY
    mem-1737300000-e5f6  fix       2025-01-19  docker, Database   ECONNREFUSED on port 5432: the database is down
    mem-1700000000-c3d4  decision  2023-11-14  storage, database  Chose SQLite for events: one file, no server

    Showing 2 memories
    ");
    assert_eq!(ids(&env, &["memory", "search", "http"]), ["mem-1737372000-a1b2"]);
}

#[test]
fn filters_narrow_the_search() {
    let env = sample();
    assert_eq!(
        ids(&env, &["memory", "search", "database", "--type", "fix"]),
        ["mem-1737300000-e5f6"]
    );
    assert_eq!(
        ids(&env, &["memory", "search", "database", "-t", "decision"]),
        ["mem-1700000000-c3d4"]
    );
    assert_eq!(
        ids(&env, &["memory", "search", "--tags", "docker,api"]),
        ["mem-1737372000-a1b2", "mem-1737300000-e5f6"]
    );
    assert_eq!(
        ids(&env, &["memory", "search", "database", "--recent", "30"]),
        ["mem-1737300000-e5f6"]
    );
    assert_eq!(
        ids(&env, &["memory", "search"]).len(),
        4,
        "without a query the filters alone decide"
    );
}

#[test]
fn no_match_has_a_message_and_empty_json() {
    let env = sample();
    for (format, stdout) in [
        ("table", "No matching memories found\n"),
        ("json", "[]\n"),
        ("markdown", ""),
    ] {
        let found = env.ralph(["memory", "search", "zebra", "--format", format]).run();
        assert_eq!(
            (found.code, found.stdout.as_str(), found.stderr.as_str()),
            (Some(0), stdout, ""),
            "{format}"
        );
    }
}

#[test]
fn ten_results_without_all() {
    let env = env();
    let entries: String = (0..12)
        .map(|n| format!("### mem-{n}-0000\n> same words, number {n}\n"))
        .collect();
    env.write(MEMORIES, entries);
    assert_eq!(ids(&env, &["memory", "search", "words"]).len(), 10);
    assert_eq!(ids(&env, &["memory", "search", "words", "--all"]).len(), 12);
    assert_eq!(
        ids(&env, &["memory", "search", "words"])[0],
        "mem-11-0000",
        "equal scores are sorted newest first"
    );
}

#[test]
fn any_text_is_a_query() {
    let env = sample();
    for query in [
        "a: b, c. d' e/f-g \"h\" (i + j AND NOT",
        "*",
        "'",
        "\"",
        "NEAR(",
        "%_\\",
        "🙂",
        "\u{202e}",
    ] {
        let found = env.ralph(["memory", "search", "--json", "--", query]).run();
        assert_eq!((found.code, found.stderr.as_str()), (Some(0), ""), "{query:?}");
        assert!(
            serde_json::from_str::<Vec<serde_json::Value>>(&found.stdout).is_ok(),
            "{query:?}"
        );
    }
}

#[test]
fn results_have_the_same_formats_as_lists() {
    let env = sample();
    let markdown = env.ok(["memory", "search", "falcon", "--format", "markdown"]);
    assert!(
        markdown.starts_with("### mem-1736000000-g7h8\n> The billing service belongs to team Falcon.\n<!-- tags: "),
        "{markdown}"
    );
    assert_eq!(
        json(&env, &["memory", "search", "falcon", "--format", "json"])[0]["created"],
        "2025-01-04"
    );
}
