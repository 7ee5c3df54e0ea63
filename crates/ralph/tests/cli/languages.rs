//! Text in many scripts round-trips, tables align, and characters are never split.

use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr;

use crate::{MEMORIES, env, ids, json};

const TEXTS: [&str; 14] = [
    "日本語のメモ：ビルドは必ず --locked で",
    "مرحبا بالعالم، شغّل الاختبارات أولاً",
    "\u{202e}right to left override\u{202c} and שלום",
    "e\u{301}a\u{308}o\u{302}\u{323} combining, ǆ ﬁ ẞ İi̇",
    "👩\u{200d}🚀 👨\u{200d}👩\u{200d}👧\u{200d}👦 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 🇩🇪 👍🏽 ❤️",
    "# Memories\n## Context\n### mem-1737372000-a1b2\n> quoted\n<!-- tags: a | created: 2020-01-01 -->",
    "<!-- ralph: supersedes=mem-1-0000 -->\n-->\n<!--",
    "```\nfence\n~~~~\n```rust\nnever closed",
    "  leading and trailing  \n\n\n",
    "\n\nblank lines first",
    ">\n>>\n> >",
    "tab\there \u{b}\u{c}\u{85}\u{2028}\u{2029}\u{feff}\u{200b}",
    "\u{1b}[31mred\u{1b}[0m\u{7}\u{8}",
    "%41%0A; key=value; 100% | a, b",
];

#[test]
fn any_text_round_trips() {
    let env = env();
    let mut expected = Vec::new();
    for text in TEXTS {
        let stored = env
            .ralph(["memory", "add", "-", "--json"])
            .input(format!("{text}\n"))
            .run();
        assert_eq!(stored.code, Some(0), "{text:?}");
        let warned = stored.stderr.starts_with("Warning: The text has ") && stored.stderr.lines().count() == 1;
        assert!(warned || stored.stderr.is_empty(), "{text:?}: {}", stored.stderr);
        expected.push(text);
        let listed = json(&env, &["memory", "list", "--json"]);
        let contents: Vec<&str> = listed
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|m| m["content"].as_str())
            .collect();
        assert_eq!(contents, expected);
    }
    let validated = env.ralph(["memory", "validate"]).run();
    let problems: Vec<&str> = validated.stdout.lines().collect();
    assert!(
        problems.iter().all(|problem| problem.contains("invisible")),
        "{validated}"
    );
    for (id, text) in ids(&env, &["memory", "list"]).iter().zip(TEXTS) {
        assert_eq!(json(&env, &["memory", "show", id, "--json"])["content"], text);
        env.ok(["memory", "delete", id]);
        assert_eq!(
            json(&env, &["memory", "restore", id, "--json"])["content"],
            text,
            "also through the log"
        );
    }
    let validated = env.ralph(["memory", "validate"]).run();
    let problems: Vec<&str> = validated.stdout.lines().collect();
    assert!(
        problems.iter().all(|problem| problem.contains("invisible")),
        "{validated}"
    );
}

#[test]
fn any_text_works_as_reason_and_tag() {
    let env = env();
    for text in TEXTS.iter().filter(|text| !text.starts_with('-')) {
        let tag = text.replace([',', '|'], " ").replace("-->", " ");
        let tag: String = tag.chars().filter(|c| !c.is_control()).collect();
        let tag = tag.trim();
        let stored = env.ok([
            "memory", "add", text, "--reason", text, "--tags", tag, "--format", "quiet",
        ]);
        let memory = json(&env, &["memory", "show", stored.trim_end(), "--json"]);
        assert_eq!(
            (memory["content"].as_str(), memory["tags"][0].as_str()),
            (Some(*text), Some(tag))
        );
        let shown = env.ok(["memory", "show", stored.trim_end()]);
        assert!(shown.contains(&format!("\nreason  {text}\n")), "{shown:?}");
    }
}

#[test]
fn tables_align_within_their_width() {
    let env = env();
    for (text, tags) in [
        ("日本語のメモ：ビルドは必ず --locked で、毎回", "構築, テスト"),
        ("مرحبا بالعالم، شغّل الاختبارات أولاً قبل الدمج", "اختبار"),
        (
            "👨\u{200d}👩\u{200d}👧\u{200d}👦👩\u{200d}🚀👍🏽👨\u{200d}👩\u{200d}👧\u{200d}👦 a family that is too wide",
            "👩\u{200d}🚀",
        ),
        ("plain text, long enough to be cut in a narrow table", "a, b, c"),
        ("tab\there", ""),
    ] {
        env.ok(["memory", "add", text, "--tags", tags]);
    }
    assert_snapshot!(env.ralph(["memory", "list"]).env("COLUMNS", "40").run(), @"
    exit 0
    --- stdout
    ID                   MEMORY
    mem-1737372000-910a  日本語のメモ：ビル…
    mem-1737372000-beeb  مرحبا بالعالم، شغّل…
    mem-1737372000-f893  👨‍👩‍👧‍👦👩‍🚀👍🏽👨‍👩‍👧‍👦 a family…
    mem-1737372000-71c1  plain text, long e…
    mem-1737372000-71bb  tab here

    Showing 5 memories
    ");
    for columns in [34, 40, 47, 60, 61, 62, 79, 80, 100, 200] {
        let printed = env
            .ralph(["memory", "list"])
            .env("COLUMNS", columns.to_string())
            .run()
            .stdout;
        for line in printed.lines() {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
        let rows: Vec<&str> = printed.lines().skip(1).take(5).collect();
        let title = printed.lines().next().unwrap();
        let column = title.find("MEMORY").unwrap();
        let starts = ["日本語", "مرحبا", "👨\u{200d}👩\u{200d}👧\u{200d}👦", "plain", "tab"];
        for (row, start) in rows.iter().zip(starts) {
            let (before, _) = row.split_at(row.rfind(&format!("  {start}")).unwrap() + 2);
            assert_eq!(before.width(), column, "{columns}: {row}");
        }
    }
}

#[test]
fn megabyte_is_stored() {
    let env = env();
    let text = "Ein Megabyte mit Ümläuten, 日本 and 🙂.\n".repeat(22_000);
    assert!(text.len() > 1_000_000);
    let stored = env
        .ralph(["memory", "add", "-", "--format", "quiet"])
        .input(format!("{text}\n"))
        .run();
    let id = stored.stdout.trim_end();
    assert_eq!(json(&env, &["memory", "show", id, "--json"])["content"], text.as_str());
    let listed = env.ralph(["memory", "list"]).env("COLUMNS", "60").run();
    listed.printed(&["  Ein Megabyte mit Ümläuten, 日…\n", "Showing 1 memory\n"]);
    let primed = env.ralph(["memory", "prime", "--budget", "1000"]).run();
    primed.printed(&["budget exceeded", "1 entry left out", "Left out 1 note", "1000 tokens"]);
    let after = env.ok(["memory", "add", "a small one beside it", "--format", "quiet"]);
    let primed = json(&env, &["memory", "prime", "--budget", "1000", "--json"]);
    assert_eq!(primed[0]["id"], after.trim_end());
    env.ok(["memory", "delete", id]);
    assert!(env.read(MEMORIES).len() < 1000);
}

#[test]
fn ten_thousand_tags_are_stored() {
    let env = env();
    let tags: Vec<String> = (0..10_000).map(|number| format!("tag-{number}")).collect();
    let list = tags.join(",");
    assert!(list.len() < 128 * 1024);
    let id = env.ok(["memory", "add", "many tags", "--tags", &list, "--format", "quiet"]);
    let memory = json(&env, &["memory", "show", id.trim_end(), "--json"]);
    assert_eq!(memory["tags"], serde_json::json!(tags));
    assert_eq!(ids(&env, &["memory", "list", "--tags", "TAG-9999"]), [id.trim_end()]);
    assert_eq!(ids(&env, &["memory", "list", "--tags", "tag-10000"]), [""; 0]);
    let listed = env.ralph(["memory", "list"]).env("COLUMNS", "90").run();
    listed.printed(&["  tag-0, tag-1, tag-2, ta…  many tags\n"]);
    assert_eq!(env.ok(["memory", "prime", "--budget", "100", "--json"]), "[]\n");
}

#[test]
fn largest_note_is_stored() {
    let env = env();
    let largest = "x".repeat(4 << 20);
    let stored = env.ralph(["memory", "add", "-"]).input(largest.clone()).run();
    assert_eq!(stored.code, Some(0), "{}", stored.stderr);
    assert_eq!(
        json(&env, &["memory", "list", "--json"])[0]["content"],
        largest.as_str()
    );
}
