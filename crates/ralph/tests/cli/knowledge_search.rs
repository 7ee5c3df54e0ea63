//! `ralph knowledge search`, and knowledge entries in `recall`, prompts and `why`.

use insta::assert_snapshot;
use ralph_model::{EntryKind, Injection, InjectionReason, Tokens};
use ralph_testkit::TestEnv;
use xxhash_rust::xxh3::xxh3_64;

use crate::past::{Worked, task, work};
use crate::{MEMORIES, env, json};

const POOL: &str = "---
title: \"Connection pool: size\"
tags: [database, postgres]
created_at: \"2026-02-17T12:00:00Z\"
---

Ten connections are enough.

More of them make the database slower, see [[Locks]].
";

fn noted() -> TestEnv {
    let env = env();
    env.write(".ralph/knowledge/connection-pool-size.md", POOL);
    env.write(
        ".ralph/knowledge/locks.md",
        "---\ntitle: Locks\ntags: [files]\n---\n\nA lock is a file beside the file.\n",
    );
    env.write(".ralph/knowledge/broken.md", "connection\n");
    env.write(
        MEMORIES,
        "## Fixes\n\n### mem-1737372000-a1b2\n> A refused connection means that docker is down.\n",
    );
    env
}

#[test]
fn knowledge_is_searched_alone_and_with_other_notes() {
    let env = noted();
    assert_snapshot!(env.ralph(["knowledge", "search", "connections"]).run(), @"
    exit 0
    --- stdout
    ID                       TYPE       CREATED     TAGS                ENTRY
    connection-pool-size.md  knowledge  2026-02-17  database, postgres  Connection pool: size: Ten connections are enough.

    Showing 1 entry
    ");
    assert_eq!(
        env.ok(["recall", "connections", "--format", "quiet"]),
        "mem-1737372000-a1b2\nconnection-pool-size.md\n"
    );
    assert_eq!(env.ok(["knowledge", "search", "zebra"]), "No matching entries found\n");
    assert_eq!(
        json(&env, &["knowledge", "search", "zebra", "--json"]),
        serde_json::json!([])
    );
    env.ralph(["recall", "locks", "--format", "markdown"]).run().printed(&[
        "### Locks\n_Tags: files_\n\nA lock is a file beside the file.\n",
        "### Connection pool: size\n_Tags: database, postgres_\n",
    ]);
}

#[test]
fn json_has_memory_keys_and_its_own() {
    let env = noted();
    let found = json(&env, &["recall", "postgres", "--json"]);
    assert_eq!(
        found,
        serde_json::json!([{
            "id": "connection-pool-size.md",
            "memory_type": "knowledge",
            "title": "Connection pool: size",
            "content": "Ten connections are enough.\n\nMore of them make the database slower, see [[Locks]].",
            "tags": ["database", "postgres"],
            "feature": null,
            "created": "2026-02-17",
        }])
    );
    let explained = json(&env, &["knowledge", "search", "postgres", "--json", "--explain"]);
    assert_eq!(explained[0]["shelf"], "knowledge");
    assert!(explained[0]["score"]["tags"].as_f64().unwrap() > 0.0, "{explained}");
    assert_eq!(
        json(&env, &["recall", "connections", "--type", "fix", "--json"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn ten_results_without_all() {
    let env = env();
    for number in 0..12 {
        let text = format!("---\ntitle: Pool {number}\ntags: [db]\n---\n\nNumber {number} of the pool.\n");
        env.write(&format!(".ralph/knowledge/pool-{number}.md"), &text);
    }
    let count = |more: &[&str]| {
        let words = [&["knowledge", "search", "pool", "--json"], more].concat();
        json(&env, &words).as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 10);
    assert_eq!(count(&["--all"]), 12);
}

#[test]
fn prompt_contains_relevant_knowledge() {
    let env = noted();
    let task = task(&env, "Look at the database.");
    let said = env.ralph(["prompt", task.as_str()]).run();
    said.printed(&[
        "## Project Knowledge\n",
        "### Connection pool: size\n_Tags: database, postgres | by: human_\n\nTen connections are enough.\n",
        "### Locks\n_Tags: files | by: human_\n\nA lock is a file beside the file.\n",
    ]);
    assert!(said.stderr.contains("Project Knowledge"), "{said}");
}

#[test]
fn fuzzy_matches_are_reported() {
    let env = env();
    env.ok([
        "knowledge",
        "add",
        "Postgres",
        "--tags",
        "db,zebra",
        "Exactly half: new.",
    ]);
    for command in [
        &["knowledge", "search", "zebrra"][..],
        &["recall", "zebrra"],
        &["recall", "Postgrse"],
    ] {
        let found = env.ralph(command.iter().copied()).run();
        let word = if command.ends_with(&["Postgrse"]) {
            "postgres"
        } else {
            "zebra"
        };
        let message = format!("showing results for similar words: {word}.\n");
        assert!(found.stderr.ends_with(&message), "{found}");
    }
}

#[test]
fn why_shows_knowledge_titles() {
    let env = noted();
    let dates = task(&env, "Parse dates");
    let entry = |id: &str, text: &str, reason| Injection {
        kind: EntryKind::Knowledge,
        id: id.to_owned(),
        digest: xxh3_64(text.as_bytes()),
        section: "Project Knowledge".to_owned(),
        rank: 1,
        tokens: Tokens::of_characters(text.chars().count()),
        score: (id != "idle.md").then_some(4.0),
        reason,
    };
    let shown_text = "### The pool, as it was\n_Tags: database_\n\nNine.\n";
    let linked = "### Idle\n_Tags: network_\n\nThey are closed.\n";
    let injections = [
        entry("connection-pool-size.md", shown_text, InjectionReason::Shown),
        entry("idle.md", linked, InjectionReason::Shown),
        entry("locks.md", "locks", InjectionReason::OverBudget),
        entry("gone.md", "gone", InjectionReason::Duplicate),
    ];
    let worked = Worked {
        task: &dates,
        injections: &injections,
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    env.write(
        ".ralph/runs/run-00000001/001/prompt.md",
        format!("## Project Knowledge\n\n{shown_text}\n{linked}\n## Memory\n"),
    );
    env.ralph(["why", "--all"]).run().printed(&[
        "Project Knowledge  connection-pool-size.md  yes ",
        "matches the task",
        "The pool, as it was\n",
        "idle.md ",
        "linked from a matching entry",
        "Idle\n",
        "locks.md ",
        "over budget: [context] knowledge = 2000",
        "Locks\n",
        "gone.md ",
        "duplicate of another entry",
        "2 entries in the prompt, 2 left out; confirmed by .ralph/runs/run-00000001/001/prompt.md",
    ]);
}
