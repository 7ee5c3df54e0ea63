//! `ralph knowledge add|list|show|delete|restore|graph`.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::{changes, env, json};

const FOLDER: &str = ".ralph/knowledge";

#[track_caller]
fn add(env: &TestEnv, title: &str, tags: &str, text: &str) -> String {
    env.ok(["knowledge", "add", title, text, "--tags", tags])
        .trim_end()
        .to_owned()
}

fn file(env: &TestEnv, name: &str) -> String {
    env.read(&format!("{FOLDER}/{name}"))
}

/// Three linked entries, one with a link to a missing title.
fn linked() -> TestEnv {
    let env = env();
    add(
        &env,
        "Cargo bench",
        "cargo,testing",
        "Needs nightly. See [[Toolchains]] and [[The release]].",
    );
    add(&env, "Toolchains", "rust", "How they are pinned.");
    add(
        &env,
        "Docker",
        "docker,ci",
        "Start it first; [[toolchains]] are in the image.",
    );
    env
}

#[test]
fn entry_is_a_file_with_frontmatter() {
    let env = env();
    let arguments = [
        "knowledge",
        "add",
        "Cargo bench: \"nightly\"",
        "Use nightly.\r\n\r\nAlways.",
        "--tags",
        "Testing,cargo,testing",
        "--feature",
        "perf",
    ];
    env.ralph(arguments).run().printed(&[
        "Knowledge stored: .ralph/knowledge/cargo-bench-nightly.md\n",
        "Converted line breaks to LF.\n",
    ]);
    assert_snapshot!(file(&env, "cargo-bench-nightly.md"), @r#"
    ---
    title: "Cargo bench: \"nightly\""
    tags: [testing, cargo]
    feature: "perf"
    created_at: "2025-01-20T11:20:00Z"
    ---

    Use nightly.

    Always.
    "#);
}

#[test]
fn entry_with_same_title_is_updated() {
    let env = env();
    add(&env, "WAL mode", "sqlite,wal", "Old.");
    assert_eq!(
        add(&env, "wal MODE", "readers", "New."),
        "Knowledge updated: .ralph/knowledge/wal-mode.md"
    );
    assert_eq!(
        add(&env, "WAL mode of SQLite", "sqlite,wal", "Newer."),
        "Knowledge updated: .ralph/knowledge/wal-mode.md"
    );
    assert_eq!(
        add(&env, "WAL mode of SQLite", "wal", "Newer."),
        "Knowledge unchanged: .ralph/knowledge/wal-mode.md"
    );
    assert_eq!(
        add(&env, "WAL mode of SQLite", "wal,x,y", "Else."),
        "Knowledge stored: .ralph/knowledge/wal-mode-of-sqlite.md"
    );
    let stored = json(&env, &["knowledge", "show", "wal-mode", "--json"]);
    assert_eq!(stored["title"], "WAL mode");
    assert_eq!(stored["tags"], serde_json::json!(["sqlite", "wal", "readers"]));
    assert_eq!(stored["body"], "Newer.");
    let quiet = ["knowledge", "add", "X", "Text.", "--tags", "x", "--format", "quiet"];
    assert_eq!(env.ok(quiet), ".ralph/knowledge/x.md\n");
    let added = json(&env, &["knowledge", "add", "X", "More.", "--tags", "x", "--json"]);
    assert_eq!(
        added,
        serde_json::json!({
            "file": ".ralph/knowledge/x.md",
            "change": "updated",
        })
    );
}

#[test]
fn earlier_text_can_be_restored() {
    let env = env();
    let mine = "---\ntitle: Docker\ntags: [docker, ci]\n---\nFour hundred words of mine.\n";
    env.write(&format!("{FOLDER}/docker.md"), mine);
    let near = ["knowledge", "add", "Docker compose", "One line.", "--tags", "docker"];
    assert_eq!(env.ok(near), "Knowledge updated: .ralph/knowledge/docker.md\n");
    let shown = env.ralph(["knowledge", "show", "docker"]).run();
    shown.printed(&[
        "tags: docker, ci\n",
        "history: 2 versions; see --history\n",
        "One line.\n",
    ]);
    env.ok(["knowledge", "add", "Docker", "Another.", "--tags", "docker"]);
    let shown = env.ok(["knowledge", "show", "docker", "--history"]);
    assert!(shown.contains("\nversion 1: adopted "), "{shown}");
    assert!(shown.contains("\nversion 3: edited "), "{shown}");
    let versions = &json(&env, &["knowledge", "show", "docker", "--history", "--json"])["versions"];
    assert_eq!(versions[0]["text"], mine);
    assert_eq!(
        (&versions[0]["author"], &versions[2]["author"]),
        (&"unknown".into(), &"human".into())
    );
    env.ok(["knowledge", "restore", "docker", "--version", "1"]);
    assert_eq!(file(&env, "docker.md"), mine);
    assert_eq!(env.ok(["knowledge", "list", "--format", "quiet"]), "docker.md\n");
    let blamed = json(&env, &["blame", "docker.md", "--json"]);
    assert_eq!(blamed.as_array().unwrap().len(), 4, "{blamed}");
}

#[test]
fn text_is_read_from_argument_file_or_input() {
    let env = env();
    env.write("notes.md", "From a file.\n");
    env.ok(["knowledge", "add", "A", "--tags", "a", "--file", "notes.md"]);
    assert!(file(&env, "a.md").ends_with("---\n\nFrom a file.\n"));
    let piped = env
        .ralph(["knowledge", "add", "B", "-", "--tags", "b"])
        .input("From a pipe.")
        .run();
    assert_eq!(piped.code, Some(0), "{piped}");
    assert!(file(&env, "b.md").ends_with("---\n\nFrom a pipe.\n"));
    env.ok(["knowledge", "add", "C", "--tags", "c", "--", "- a bullet\n- another"]);
    assert!(file(&env, "c.md").ends_with("---\n\n- a bullet\n- another\n"));
}

#[test]
fn long_text_is_cut_with_a_warning() {
    let env = env();
    let long = "word\n".repeat(501);
    let added = env.ralph(["knowledge", "add", "Long", &long, "--tags", "x"]).run();
    added.printed(&[
        "Knowledge stored: .ralph/knowledge/long.md\n",
        "Warning: The text was cut after 500 words.",
    ]);
    let text = file(&env, "long.md");
    assert!(text.ends_with(&format!("---\n\n{} [truncated]\n", "word\n".repeat(500).trim_end())));
}

/// Checks that `knowledge add` fails with this exit code and message and changes nothing.
#[track_caller]
fn check_refused(env: &TestEnv, arguments: &[&str], code: i32, said: &str) {
    let before = env.tree();
    let refused = env
        .ralph(["knowledge", "add"].into_iter().chain(arguments.iter().copied()))
        .run();
    assert_eq!(refused.code, Some(code), "{arguments:?}: {refused}");
    assert!(refused.stderr.starts_with(said), "{arguments:?}: {refused}");
    assert_eq!(changes(&before, &env.tree()), [""; 0], "{arguments:?}");
}

#[test]
fn fault_7_invalid_entries_are_refused() {
    let env = env();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let long = "x".repeat(300);
    let one_line = "Error: the title must be one line without control characters";
    let secret = "line 1 of the text looks like a secret (GitHub token); nothing was stored";
    for (title, text, tags, said) in [
        ("A", " ", "a", "Error: the text is blank"),
        (" ", "b", "a", "Error: the title: the text is blank"),
        ("a\nb", "b", "a", one_line),
        (
            &long,
            "b",
            "a",
            "Error: the title has 300 characters; the maximum is 200",
        ),
        ("A", "b", ",", "Error: at least one tag is required"),
        ("A", "b", &long, "Error: the tag"),
        ("A", &token, "a", &format!("Error: {secret}")),
        ("A", "b", &token, &format!("Error: the tag: {secret}")),
        ("--typo", "b", "a", "Error: unexpected argument '--typo'"),
        ("A", "b", "a|b", "error: invalid value 'a|b'"),
    ] {
        check_refused(&env, &[title, text, "--tags", tags], 2, said);
    }
    let nul = env
        .ralph(["knowledge", "add", "A", "-", "--tags", "a"])
        .input("a\0b")
        .run();
    assert!(
        nul.stderr
            .starts_with("Error: the text contains a NUL character at byte 1"),
        "{nul}"
    );
    env.ok(["knowledge", "add", "A", &token, "--tags", "a", "--allow-secret"]);
}

#[test]
fn missing_text_is_an_error() {
    let env = env();
    env.write("latin.md", b"caf\xe9");
    let missing = "error: the following required arguments were not provided";
    check_refused(&env, &["A", "--tags", "a"], 2, missing);
    check_refused(&env, &["A", "b"], 2, missing);
    check_refused(
        &env,
        &["A", "--tags", "a", "--file", "none.md"],
        1,
        "Error: file not found: none.md",
    );
    let latin = "Error: latin.md is not UTF-8 text (byte 3)";
    check_refused(&env, &["A", "--tags", "a", "--file", "latin.md"], 1, latin);
}

#[test]
fn entries_are_listed_by_file_name() {
    let env = env();
    assert_eq!(env.ok(["knowledge", "list"]), "No knowledge yet.\n");
    assert_eq!(env.ok(["knowledge", "list", "--json"]), "[]\n");
    let env = linked();
    env.ok([
        "knowledge",
        "add",
        "Uploads",
        "Text.",
        "--tags",
        "io",
        "--feature",
        "Big Files",
    ]);
    assert_snapshot!(env.ok(["knowledge", "list"]), @"
    FILE            CREATED     FEATURE    TAGS            TITLE
    cargo-bench.md  2025-01-20             cargo, testing  Cargo bench
    docker.md       2025-01-20             docker, ci      Docker
    toolchains.md   2025-01-20             rust            Toolchains
    uploads.md      2025-01-20  Big Files  io              Uploads

    Showing 4 entries
    ");
    assert_eq!(
        env.ok(["knowledge", "list", "--tag", "CI,rust", "--format", "quiet"]),
        "docker.md\ntoolchains.md\n"
    );
    assert_eq!(
        env.ok(["knowledge", "list", "--feature", "big files", "--format", "quiet"]),
        "uploads.md\n"
    );
    assert_eq!(
        env.ok(["knowledge", "list", "--tag", "none"]),
        "No matching knowledge found\n"
    );
    let listed = json(&env, &["knowledge", "list", "--tag", "docker", "--json"]);
    assert_eq!(
        listed,
        serde_json::json!([{
            "file": "docker.md",
            "title": "Docker",
            "tags": ["docker", "ci"],
            "feature": null,
            "created_at": "2025-01-20T11:20:00Z",
            "links": ["toolchains"],
        }])
    );
    let markdown = env.ok(["knowledge", "list", "--tag", "rust,docker", "--format", "markdown"]);
    assert_eq!(
        markdown,
        format!("{}\n{}", file(&env, "docker.md"), file(&env, "toolchains.md"))
    );
}

#[test]
fn files_without_valid_frontmatter_are_skipped() {
    let env = linked();
    env.write(&format!("{FOLDER}/bad.md"), "# Just a heading\n");
    env.write(&format!("{FOLDER}/untagged.md"), "---\ntitle: A\n---\n");
    env.write(&format!("{FOLDER}/image.png"), "not Markdown, so not reported");
    let listed = env.ralph(["knowledge", "list", "--format", "quiet"]).run();
    listed.printed(&[
        "cargo-bench.md\ndocker.md\ntoolchains.md\n",
        "Skipped .ralph/knowledge/bad.md: it does not start with frontmatter",
        "Skipped .ralph/knowledge/untagged.md: its frontmatter has no tags",
    ]);
    assert_eq!(listed.stderr.lines().count(), 2, "{listed}");
    let invalid = [
        "Knowledge not found: bad",
        ".ralph/knowledge/bad.md exists but is not a valid entry",
        "frontmatter",
    ];
    env.ralph(["knowledge", "show", "bad"]).run().refused(1, &invalid);
}

#[test]
fn links_are_shown_in_both_directions() {
    let env = linked();
    assert_snapshot!(env.ok(["knowledge", "show", "cargo-bench"]), @"
    Cargo bench
    file: .ralph/knowledge/cargo-bench.md
    tags: cargo, testing
    created: 2025-01-20T11:20:00Z

    Needs nightly. See [[Toolchains]] and [[The release]].

    Links to
      Toolchains (toolchains.md)
      The release (no such entry)
    ");
    env.ralph(["knowledge", "show", "TOOLCHAINS"]).run().printed(&[
        "file: .ralph/knowledge/toolchains.md\n",
        "Linked from\n  Cargo bench (cargo-bench.md)\n  Docker (docker.md)\n",
    ]);
    assert_eq!(
        json(&env, &["knowledge", "show", "cargo", "--json"]),
        serde_json::json!({
            "file": "cargo-bench.md",
            "title": "Cargo bench",
            "tags": ["cargo", "testing"],
            "feature": null,
            "created_at": "2025-01-20T11:20:00Z",
            "links": [{"title": "Toolchains", "file": "toolchains.md"}, {"title": "The release", "file": null}],
            "linked_from": [],
            "body": "Needs nightly. See [[Toolchains]] and [[The release]].",
        })
    );
    assert_eq!(
        env.ok(["knowledge", "show", "docker", "--format", "markdown"]),
        file(&env, "docker.md")
    );
}

#[test]
fn entry_is_found_by_file_title_or_prefix() {
    let env = env();
    for (title, tag) in [
        ("Ports of the proxy", "a"),
        ("Ports of the server", "b"),
        ("Ports", "c"),
    ] {
        add(&env, title, tag, "Text.");
    }
    env.write(&format!("{FOLDER}/x.md"), "---\ntitle: Zebra\ntags: [z]\n---\n");
    for (name, expected) in [
        ("ports.md", "ports.md"),
        ("ports", "ports.md"),
        (".ralph/knowledge/ports.md", "ports.md"),
        ("PORTS OF THE SERVER", "ports-of-the-server.md"),
        ("ports-of-the-p", "ports-of-the-proxy.md"),
        ("Ports of the p", "ports-of-the-proxy.md"),
        ("x", "x.md"),
        ("zeb", "x.md"),
    ] {
        assert_eq!(
            env.ok(["knowledge", "show", name, "--format", "quiet"]),
            format!("{expected}\n"),
            "{name}"
        );
    }
    let unknown: [(&str, &[&str]); 5] = [
        (
            "ports-of",
            &[
                "\"ports-of\" matches several entries: ports-of-the-proxy.md, ports-of-the-server.md",
                "use the file name",
            ],
        ),
        ("prots", &["not found: prots", "did you mean ports?"]),
        (
            "the server",
            &["not found: the server", "did you mean ports-of-the-server.md?"],
        ),
        ("quite another", &["not found: quite another", "`ralph knowledge list`"]),
        (
            "../../etc/passwd",
            &["not found: ../../etc/passwd", "`ralph knowledge list`"],
        ),
    ];
    for (name, texts) in unknown {
        for verb in ["show", "delete"] {
            env.ralph(["knowledge", verb, name]).run().refused(1, texts);
        }
    }
    assert_eq!(env.ralph(["knowledge", "show", ""]).run().code, Some(1));
}

#[test]
fn deleted_entry_can_be_restored() {
    let env = linked();
    assert_eq!(
        env.ok(["knowledge", "delete", "toolchains"]),
        "Knowledge deleted: .ralph/knowledge/toolchains.md\n"
    );
    assert_eq!(
        env.ok(["knowledge", "list", "--format", "quiet"]),
        "cargo-bench.md\ndocker.md\n"
    );
    assert_eq!(env.ralph(["knowledge", "delete", "toolchains"]).run().code, Some(1));
    assert!(
        env.ok(["knowledge", "show", "docker"])
            .contains("toolchains (no such entry)")
    );
    let missing = json(&env, &["knowledge", "restore", "--list", "--json"]);
    assert_eq!(
        (&missing[0]["file"], &missing[0]["how"]),
        (&"toolchains.md".into(), &"deleted".into())
    );
    env.ok(["knowledge", "restore", "toolchains"]);
    assert!(file(&env, "toolchains.md").contains("How they are pinned."));
    assert_eq!(env.ralph(["knowledge", "restore", "nothing"]).run().code, Some(1));
    env.ok(["knowledge", "delete", "toolchains"]);
    env.git(["init", "--quiet"]);
    let seen = env.git(["status", "--porcelain", "--untracked-files=all"]);
    assert!(!seen.contains("toolchains") && !seen.contains(".lock"), "{seen}");
}

#[test]
fn links_are_printed_as_a_graph() {
    let env = linked();
    env.ralph(["knowledge", "graph"]).run().printed(&[
        "digraph knowledge {\n",
        "n3 [label=\"The release\", style=dashed];\n",
        "n0 -> n2;\n",
        "n0 -> n3;\n",
        "n1 -> n2;\n",
    ]);
    let mermaid = env.ralph(["knowledge", "graph", "--format", "mermaid"]).run();
    mermaid.printed(&[
        "flowchart LR\n",
        "n3[\"The release\"]\n",
        "n1 --> n2\n",
        "class n3 missing\n",
    ]);
}

#[test]
fn reading_creates_no_files() {
    let env = env();
    for arguments in [&["list"][..], &["graph"], &["list", "--json"]] {
        env.ok(["knowledge"].into_iter().chain(arguments.iter().copied()));
    }
    assert_eq!(env.ralph(["knowledge", "delete", "x"]).run().code, Some(1));
    assert_eq!(env.tree(), []);
}

#[test]
fn only_first_skipped_files_are_listed() {
    let env = env();
    for number in 0..100 {
        env.write(&format!("{FOLDER}/bad-{number:03}.md"), "x");
    }
    let listed = env.ralph(["knowledge", "list"]).run();
    assert_eq!(listed.stderr.lines().count(), 21, "{listed}");
    assert!(
        listed.stderr.ends_with("Skipped 80 more files in .ralph/knowledge.\n"),
        "{listed}"
    );
}
