//! `ralph memory add`.

use insta::assert_snapshot;

use crate::{MEMORIES, SAMPLE, add, env, ids, json, names, sample};

#[test]
fn first_note_creates_the_file() {
    let env = env();
    let stored = env.ralph(["memory", "add", "uses barrel exports"]).run();
    assert_eq!(
        stored.to_string(),
        "exit 0\n--- stdout\nMemory stored: mem-1737372000-910a\n"
    );
    assert_snapshot!(env.read(MEMORIES), @"
    # Memories

    ## Patterns

    ### mem-1737372000-910a
    > uses barrel exports
    <!-- tags:  | created: 2025-01-20 -->

    ## Decisions

    ## Fixes

    ## Context
    ");
    assert_eq!(
        names(&env),
        [
            ".agent/",
            ".agent/.gitignore",
            ".agent/memories.md",
            ".agent/memories.md.lock",
            ".ralph/",
            ".ralph/.gitignore",
            ".ralph/progress.db",
            ".ralph/progress.db-shm",
            ".ralph/progress.db-wal",
            ".ralph/progress.db.lock"
        ]
    );
}

#[test]
fn all_flags_are_stored() {
    let env = sample();
    env.ok([
        "memory",
        "add",
        "we use pnpm now",
        "-t",
        "decision",
        "--tags",
        " build, pnpm ,,build",
        "--supersedes",
        "mem-17000",
        "--reason",
        "50% faster; see #12 --> wiki",
    ]);
    let entry = "\n### mem-1737372000-910a\n> we use pnpm now\n<!-- tags: build, pnpm | created: 2025-01-20 -->\n\
                 <!-- ralph: reason=50%25 faster%3B see #12 --%3E wiki; supersedes=mem-1700000000-c3d4 -->\n";
    let before = "created: 2023-11-14 -->\n";
    assert_eq!(env.read(MEMORIES), SAMPLE.replace(before, &format!("{before}{entry}")));
}

#[test]
fn each_kind_goes_to_the_end_of_its_section() {
    let env = sample();
    let mut expected = SAMPLE.to_owned();
    for (kind, id, last) in [
        ("pattern", "910a", "created: 2025-01-20 -->\n"),
        ("decision", "beeb", "created: 2023-11-14 -->\n"),
        ("fix", "f893", "created: 2025-01-19 -->\n"),
        ("context", "71c1", "team Falcon.\n"),
    ] {
        env.ok(["memory", "add", kind, "--type", kind]);
        let entry = format!("\n### mem-1737372000-{id}\n> {kind}\n<!-- tags:  | created: 2025-01-20 -->\n");
        expected = expected.replace(last, &format!("{last}{entry}"));
    }
    assert_eq!(env.read(MEMORIES), expected);
}

#[test]
fn identical_text_is_stored_once() {
    let env = env();
    let id = env.ok(["memory", "add", "use pnpm\nand node 24", "--format", "quiet"]);
    let exists = format!("exit 0\n--- stdout\nMemory exists: {id}");
    for again in [
        &["remember", "use pnpm\r\nand node 24"][..],
        &["memory", "add", "use pnpm\nand node 24", "-t", "fix"],
    ] {
        assert_eq!(env.ralph(again.iter().copied()).run().to_string(), exists);
    }
    env.ok(["memory", "add", "use pnpm"]);
    env.ok(["memory", "add", "use pnpm\nand node 24", "--supersedes", id.trim()]);
    assert_eq!(json(&env, &["memory", "list", "--json"]).as_array().unwrap().len(), 3);
}

#[test]
fn result_has_four_formats() {
    let env = env();
    let printed = |format: &str| {
        let text = format!("a\n{format}");
        env.ok(["memory", "add", &text, "--tags", "x,y", "--format", format])
    };
    assert_eq!(printed("table"), "Memory stored: mem-1737372000-910a\n");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&printed("json")).unwrap(),
        serde_json::json!({
            "id": "mem-1737372000-beeb", "memory_type": "pattern", "content": "a\njson", "tags": ["x", "y"],
            "created": "2025-01-20",
        })
    );
    assert_eq!(
        printed("markdown"),
        "### mem-1737372000-f893\n> a\n> markdown\n<!-- tags: x, y | created: 2025-01-20 -->\n"
    );
    assert_eq!(printed("quiet"), "mem-1737372000-71c1\n");
    assert_eq!(
        json(&env, &["memory", "add", "c", "--json"])["id"],
        "mem-1737372000-71bb"
    );
    let both = env.ralph(["memory", "add", "d", "--json", "--format", "quiet"]).run();
    both.refused(2, &["'--json' cannot be used with '--format"]);
}

#[test]
fn text_from_standard_input_gets_lf_line_breaks() {
    let env = env();
    for (input, content, message) in [
        ("first\n\n  third\n", "first\n\n  third", ""),
        ("a\r\nb\rc", "a\nb\nc", "Converted line breaks to LF.\n"),
    ] {
        let stored = env
            .ralph(["memory", "add", "-", "-t", "fix", "--json"])
            .input(input)
            .run();
        assert_eq!((stored.code, stored.stderr.as_str()), (Some(0), message), "{stored}");
        let memory: serde_json::Value = serde_json::from_str(&stored.stdout).unwrap();
        assert_eq!(
            (&memory["memory_type"], &memory["content"]),
            (&"fix".into(), &content.into())
        );
    }
}

#[test]
fn text_may_start_with_a_dash_but_not_be_a_flag() {
    let env = env();
    env.ok(["memory", "add", "- a bullet", "-t", "fix", "--reason", "- another"]);
    env.ok(["memory", "add", "-t", "fix", "--locked is needed"]);
    let list = json(&env, &["memory", "list", "--json"]);
    assert_eq!(list[0]["content"], "- a bullet");
    assert_eq!(list[1]["content"], "--locked is needed");
    let misspelled = env.ralph(["memory", "add", "--lcoked"]).run();
    misspelled.refused(2, &["'--lcoked'", "-- --lcoked"]);
    assert_eq!(json(&env, &["memory", "list", "--json"]), list, "nothing was stored");
    env.ok(["memory", "add", "-t", "fix", "--", "--lcoked"]);
    assert_eq!(json(&env, &["memory", "list", "--json"])[2]["content"], "--lcoked");
}

#[test]
fn superseded_note_is_listed_but_not_injected() {
    let env = env();
    let old = add(&env, "we use npm");
    let new = env.ok([
        "memory",
        "add",
        "we use pnpm",
        "--supersedes",
        &old,
        "--format",
        "quiet",
    ]);
    let new = new.trim_end();
    assert_eq!(ids(&env, &["memory", "list"]), [old.as_str(), new]);
    assert_eq!(ids(&env, &["memory", "search", "use"]), [new]);
    let primed = json(&env, &["memory", "prime", "--json"]);
    assert_eq!(primed.as_array().map(Vec::len), Some(1));
    assert_eq!(primed[0]["id"], new);
}

#[test]
fn superseded_note_must_exist() {
    let env = env();
    let refused = env.ralph(["memory", "add", "x", "--supersedes", "mem-17"]).run();
    refused.refused(
        1,
        &[
            "Memory not found: mem-17\n",
            "ralph memory list",
            "ralph memory restore --list",
        ],
    );
    assert_eq!(names(&env), [""; 0], "no files created");
    env.write(MEMORIES, SAMPLE);
    assert_eq!(
        env.ralph(["memory", "add", "x", "--supersedes", "mem-9"]).run().code,
        Some(1)
    );
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn likely_secrets_need_allow_secret() {
    // Built at run time, so that secret scanners ignore this file.
    let letters = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3";
    let first = |count: usize| letters.chars().take(count).collect::<String>();
    let secrets = [
        (format!("ghp_{}", first(36)), "GitHub token"),
        (format!("AKIA{}", first(16).to_uppercase()), "AWS key"),
        (format!("sk-ant-api03-{}", first(48)), "Anthropic key"),
        (format!("sk-proj-{}", first(48)), "OpenAI key"),
        (format!("xoxb-{}", first(40)), "Slack token"),
        (format!("AIza{}", first(35)), "Google Cloud API key"),
        (format!("npm_{}", first(36)), "npm access token"),
        (
            format!("postgres://admin:{}@db.internal/app", first(12)),
            "URL password",
        ),
        (
            format!(
                "-----BEGIN RSA {0}-----\n{1}\n{1}\n-----END RSA {0}-----",
                "PRIVATE KEY",
                first(48)
            ),
            "private key",
        ),
    ];
    let env = env();
    for (secret, kind) in &secrets {
        let text = format!("the key\nis {secret}");
        let refused = env.ralph(["memory", "add", "-"]).input(text.clone()).run();
        refused.refused(2, &["line 2", &format!("({kind})"), "--allow-secret"]);
        assert!(!refused.stderr.contains(secret), "{kind}");
        let by_reason = env.ralph(["memory", "add", "fine", "--reason", &text]).run();
        assert_eq!(by_reason.code, Some(2), "{kind} in a reason");
        assert_eq!(names(&env), [""; 0], "no files created");
    }
    let token = &secrets[0].0;
    let by_tag = env.ralph(["memory", "add", "x", "--tags", token]).run();
    by_tag.refused(2, &["GitHub token"]);
    env.ok(["memory", "add", "x", "--tags", token, "--allow-secret"]);
    for (secret, _) in &secrets {
        let stored = env
            .ralph(["memory", "add", "-", "--allow-secret", "--json"])
            .input(secret.clone())
            .run();
        assert_eq!(stored.code, Some(0), "{stored}");
        let memory: serde_json::Value = serde_json::from_str(&stored.stdout).unwrap();
        assert_eq!(memory["content"], secret.as_str());
    }
}

#[test]
fn foreign_database_is_not_changed() {
    let env = env();
    env.write(crate::DATABASE, crate::foreign_database());
    let added = env.ralph(["memory", "add", "kept all the same"]).run();
    added.printed(&[
        "Memory stored: mem-1737372000-910a\n",
        "history was not recorded",
        "progress.db belongs to another tool",
        "ralph import refound",
    ]);
    let listed = json(&env, &["memory", "list", "--json"]);
    assert_eq!(listed[0]["content"], "kept all the same");
    let id = ids(&env, &["memory", "list"]).remove(0);
    env.ok(["memory", "edit", &id, "--content", "changed"]);
    env.ok(["memory", "delete", &id]);
    let refused = env.ralph(["memory", "restore", "--list"]).run();
    refused.refused(1, &["progress.db belongs to another tool"]);
    let inside: Vec<_> = env
        .tree()
        .into_iter()
        .filter(|(name, _)| name.starts_with(".ralph/"))
        .collect();
    assert_eq!(
        inside,
        [
            (".ralph/".to_owned(), Vec::new()),
            (crate::DATABASE.to_owned(), crate::foreign_database())
        ],
        "the database is unchanged, and no files were created"
    );
}
