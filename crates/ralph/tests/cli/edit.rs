//! `ralph memory edit`, with flags and in an editor that is a shell script.

use ralph_testkit::TestEnv;

use crate::{MEMORIES, SAMPLE, add, env, json, names, sample};

const ID: &str = "mem-1737372000-a1b2";

/// An editor that runs these lines of shell; `$1` is the file to edit.
fn editor(env: &TestEnv, lines: &str) -> String {
    let script = env.beside("editor.sh");
    std::fs::File::create(&script)
        .and_then(|mut file| std::io::Write::write_all(&mut file, lines.as_bytes()))
        .unwrap();
    format!("sh {}", script.display())
}

#[test]
fn flags_change_what_they_name() {
    let env = sample();
    assert_eq!(
        env.ok(["memory", "edit", "mem-17373720", "--content", "new\n\ntext"]),
        format!("Memory updated: {ID}\n")
    );
    assert_eq!(
        env.read(MEMORIES),
        SAMPLE.replace(
            "> Handlers return { success, data }.\n> Errors too.\n",
            "> new\n>\n> text\n"
        )
    );
    assert_eq!(
        json(&env, &["memory", "edit", ID, "--tags", "a, b", "--json"]),
        serde_json::json!({
            "id": ID,
            "memory_type": "pattern",
            "content": "new\n\ntext",
            "tags": ["a", "b"],
            "created": "2025-01-20",
        })
    );
    env.ok(["memory", "edit", ID, "--tags", ""]);
    env.ok(["memory", "edit", ID, "-t", "fix"]);
    let moved = json(&env, &["memory", "show", ID, "--json"]);
    assert_eq!(
        (moved["memory_type"].as_str(), moved["tags"].as_array().map(Vec::len)),
        (Some("fix"), Some(0))
    );
    assert_eq!(moved["created"], "2025-01-20", "an edit keeps the creation date");
}

#[test]
fn text_is_read_from_standard_input() {
    let env = sample();
    let changed = env
        .ralph(["memory", "edit", ID, "--content", "-", "--format", "markdown"])
        .input("from a\r\npipe")
        .run();
    changed.printed(&[
        "### mem-1737372000-a1b2\n> from a\n> pipe\n<!-- tags: api, http | created: 2025-01-20 -->\n",
        "Converted line breaks to LF.\n",
    ]);
}

#[test]
fn editor_gets_the_text_and_its_result_is_stored() {
    let env = sample();
    let editor = editor(&env, "cp \"$1\" seen.txt; printf 'edited\\n\\n  by hand\\n' > \"$1\"");
    let edited = env.ralph(["memory", "edit", ID]).env("EDITOR", &editor).run();
    edited.printed(&["Memory updated: mem-1737372000-a1b2\n"]);
    assert_eq!(edited.stderr, "");
    assert_eq!(
        env.read("seen.txt"),
        "Handlers return { success, data }.\nErrors too.\n"
    );
    assert_eq!(
        json(&env, &["memory", "show", ID, "--json"])["content"],
        "edited\n\n  by hand"
    );
    assert_eq!(env.left_behind(), [""; 0]);
}

#[test]
fn visual_takes_precedence_and_unchanged_text_is_ignored() {
    let env = sample();
    let edited = env
        .ralph(["memory", "edit", ID])
        .env("VISUAL", "true")
        .env("EDITOR", "false")
        .run();
    assert_eq!(edited.to_string(), "exit 0\n--- stdout\nNothing changed.\n");
    assert_eq!(env.read(MEMORIES), SAMPLE);
    let history = env.ok(["memory", "show", ID, "--history", "--format", "quiet"]);
    assert_eq!(history.lines().count(), 1, "no new version: {history}");
}

#[test]
fn failing_editor_changes_nothing() {
    let env = sample();
    let editor = editor(&env, "exit 3");
    let failed = env.ralph(["memory", "edit", ID]).env("EDITOR", &editor).run();
    failed.refused(1, &["the editor \"sh [TMP]/editor.sh\" failed with exit status: 3"]);
    assert_eq!(env.read(MEMORIES), SAMPLE);
    let missing = env.ralph(["memory", "edit", ID]).env("EDITOR", "no-such-editor").run();
    assert_eq!(missing.code, Some(1), "{missing}");
    assert_eq!(env.left_behind(), [""; 0]);
}

#[test]
fn no_editor_without_terminal_or_variable() {
    let env = sample();
    let refused = env.ralph(["memory", "edit", ID]).run();
    refused.refused(1, &["EDITOR is not set", "--content TEXT"]);
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn a_blank_text_is_refused() {
    let env = sample();
    let emptied = env
        .ralph(["memory", "edit", ID])
        .env("EDITOR", editor(&env, ": > \"$1\""));
    for blank in [emptied, env.ralph(["memory", "edit", ID, "--content", " \n"])] {
        blank.run().refused(2, &["the text is blank"]);
    }
    assert_eq!(env.read(MEMORIES), SAMPLE);
    assert_eq!(env.left_behind(), [""; 0], "nothing was saved");
}

/// The saved text: the path as shown, and the content.
#[track_caller]
fn kept(env: &TestEnv) -> (String, Vec<u8>) {
    let names = env.left_behind();
    assert_eq!(names.len(), 1, "{names:?}");
    let text = std::fs::read(env.beside("tmp").join(&names[0])).unwrap();
    (format!("[TMP]/tmp/{}", names[0]), text)
}

#[test]
fn text_of_failed_editor_is_kept() {
    let env = sample();
    let editor = editor(&env, "echo saved > \"$1\"; exit 3");
    let failed = env.ralph(["memory", "edit", ID]).env("EDITOR", &editor).run();
    let (path, text) = kept(&env);
    assert!(
        failed
            .stderr
            .ends_with(&format!("Hint: your text was saved to {path}\n")),
        "{failed}"
    );
    assert_eq!(text, b"saved\n");
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn line_breaks_are_converted_only_in_changed_text() {
    let env = sample();
    let editor = editor(&env, "printf 'one\\r\\ntwo\\r\\n' > \"$1\"");
    let edited = env.ralph(["memory", "edit", ID]).env("EDITOR", &editor).run();
    edited.printed(&[
        "Memory updated: mem-1737372000-a1b2\n",
        "Converted line breaks to LF.\n",
    ]);
    assert!(env.read(MEMORIES).contains("> one\n> two\n"));
    env.write(MEMORIES, "## Fixes\n### mem-1737372000-a1b2\n> one\rtwo\n");
    let unchanged = env.ralph(["memory", "edit", ID]).env("EDITOR", "true").run();
    assert_eq!(
        (unchanged.code, unchanged.stdout.as_str()),
        (Some(0), "Nothing changed.\n")
    );
    assert!(env.read(MEMORIES).contains("> one\rtwo\n"));
}

#[test]
fn concurrent_change_is_not_overwritten_and_the_text_is_kept() {
    for (change, report, error) in [
        (
            "edit --content theirs",
            "updated",
            format!("{ID} was changed in the meantime"),
        ),
        ("delete", "deleted", format!("Memory not found: {ID}")),
    ] {
        let env = sample();
        let script = format!("\"$RALPH\" memory {change} {ID} >&2; echo mine > \"$1\"");
        let ended = env
            .ralph(["memory", "edit", ID])
            .env("EDITOR", editor(&env, &script))
            .env("RALPH", env!("CARGO_BIN_EXE_ralph"))
            .run();
        let (path, text) = kept(&env);
        assert_eq!(text, b"mine");
        assert_eq!(
            ended.to_string(),
            format!("exit 1\n--- stderr\nMemory {report}: {ID}\nError: {error}\nHint: your text was saved to {path}\n")
        );
        let file = env.read(MEMORIES);
        assert_eq!(file.contains("> theirs\n"), report == "updated", "{file}");
        assert!(!file.contains("> mine\n"), "{file}");
    }
}

#[test]
fn other_notes_may_change_during_an_edit() {
    let env = sample();
    let script = "\"$RALPH\" memory add meanwhile >&2; echo mine > \"$1\"";
    let ended = env
        .ralph(["memory", "edit", ID])
        .env("EDITOR", editor(&env, script))
        .env("RALPH", env!("CARGO_BIN_EXE_ralph"))
        .run();
    assert_eq!(ended.code, Some(0), "{ended}");
    assert_eq!(json(&env, &["memory", "show", ID, "--json"])["content"], "mine");
    assert_eq!(
        json(&env, &["memory", "search", "meanwhile", "--json"])[0]["content"],
        "meanwhile"
    );
}

#[test]
fn secrets_and_invalid_utf8_are_refused_and_kept() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    for (printed, message) in [
        (
            token.clone(),
            "line 1 of the text looks like a secret (GitHub token); nothing was stored",
        ),
        ("ab\\377".to_owned(), "what the editor wrote is not UTF-8 text (byte 2)"),
    ] {
        let env = sample();
        let editor = editor(&env, &format!("printf '{printed}' > \"$1\""));
        let refused = env.ralph(["memory", "edit", ID]).env("EDITOR", editor).run();
        let (path, text) = kept(&env);
        assert_eq!(text.len(), printed.replace("\\377", "x").len());
        assert_eq!(
            refused.stderr,
            format!("Error: {message}\nHint: your text was saved to {path}\n")
        );
        assert_eq!(env.read(MEMORIES), SAMPLE);
    }
    let env = sample();
    assert_eq!(
        env.ralph(["memory", "edit", ID, "--content", &token]).run().code,
        Some(2)
    );
    env.ok(["memory", "edit", ID, "--content", &token, "--allow-secret"]);
    env.ok(["memory", "edit", ID, "--tags", "still"]);
    assert_eq!(json(&env, &["memory", "show", ID, "--json"])["content"], token.as_str());
}

#[test]
fn unknown_note_cannot_be_edited() {
    let env = sample();
    let unknown = ["Memory not found: mem-9", "`ralph memory restore --list`"];
    env.ralph(["memory", "edit", "mem-9", "--tags", "x"])
        .run()
        .refused(1, &unknown);
    let in_editor = env
        .ralph(["memory", "edit", "mem-9"])
        .env("EDITOR", "touch opened; true");
    in_editor.run().refused(1, &unknown);
    assert!(!env.path("opened").exists(), "no editor was opened");
    let ambiguous = env.ralph(["memory", "edit", "mem-1737", "--tags", "x"]).run();
    ambiguous.refused(
        1,
        &["mem-1737 matches 2 ids", ID, "mem-1737300000-e5f6", "longer prefix"],
    );
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn edit_in_an_empty_project_creates_nothing() {
    let env = env();
    let refused = env.ralph(["memory", "edit", "mem-1", "--tags", "x"]).run();
    assert_eq!((refused.code, names(&env)), (Some(1), Vec::new()));
}

#[test]
fn edit_keeps_metadata() {
    let env = env();
    let old = add(&env, "old");
    let new = [
        "memory",
        "add",
        "new",
        "--supersedes",
        &old,
        "--reason",
        "why",
        "--format",
        "quiet",
    ];
    let new = env.ok(new);
    let new = new.trim_end();
    env.ok(["memory", "edit", new, "--content", "newer", "-t", "context"]);
    let expected = format!(
        "## Context\n\n### {new}\n> newer\n<!-- tags:  | created: 2025-01-20 -->\n\
         <!-- ralph: reason=why; supersedes={old} -->\n"
    );
    let file = env.read(MEMORIES);
    assert!(file.ends_with(&expected), "{file}");
}
