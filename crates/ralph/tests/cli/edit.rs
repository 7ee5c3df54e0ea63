//! `ralph memory edit`, with flags and in an editor that is a shell script.

use insta::assert_snapshot;
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
    assert_snapshot!(env.ralph(["memory", "edit", "mem-17373720", "--content", "new\n\ntext"]).run(), @"
    exit 0
    --- stdout
    Memory updated: mem-1737372000-a1b2
    ");
    assert_eq!(
        env.read(MEMORIES),
        SAMPLE.replace(
            "> Handlers return { success, data }.\n> Errors too.\n",
            "> new\n>\n> text\n"
        )
    );
    let changed = env.ralph(["memory", "edit", ID, "--tags", "a, b", "--json"]).run();
    assert_snapshot!(changed, @r#"
    exit 0
    --- stdout
    {
      "id": "mem-1737372000-a1b2",
      "memory_type": "pattern",
      "content": "new\n\ntext",
      "tags": [
        "a",
        "b"
      ],
      "created": "2025-01-20"
    }
    "#);
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
    assert_snapshot!(changed, @"
    exit 0
    --- stdout
    ### mem-1737372000-a1b2
    > from a
    > pipe
    <!-- tags: api, http | created: 2025-01-20 -->
    --- stderr
    Converted line breaks to LF.
    ");
}

#[test]
fn editor_gets_the_text_and_its_result_is_stored() {
    let env = sample();
    let editor = editor(&env, "cp \"$1\" seen.txt; printf 'edited\\n\\n  by hand\\n' > \"$1\"");
    assert_snapshot!(env.ralph(["memory", "edit", ID]).env("EDITOR", &editor).run(), @"
    exit 0
    --- stdout
    Memory updated: mem-1737372000-a1b2
    ");
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
    assert_snapshot!(failed, @r#"
    exit 1
    --- stderr
    Error: the editor "sh [TMP]/editor.sh" failed with exit status: 3
    "#);
    assert_eq!(env.read(MEMORIES), SAMPLE);
    let missing = env.ralph(["memory", "edit", ID]).env("EDITOR", "no-such-editor").run();
    assert_eq!(missing.code, Some(1), "{missing}");
    assert_eq!(env.left_behind(), [""; 0]);
}

#[test]
fn no_editor_without_terminal_or_variable() {
    let env = sample();
    assert_snapshot!(env.ralph(["memory", "edit", ID]).run(), @"
    exit 1
    --- stderr
    Error: no terminal for an editor, and EDITOR is not set
    Hint: pass the new text with --content TEXT, or set EDITOR
    ");
    assert_eq!(env.read(MEMORIES), SAMPLE);
}

#[test]
fn a_blank_text_is_refused() {
    let env = sample();
    let emptied = env
        .ralph(["memory", "edit", ID])
        .env("EDITOR", editor(&env, ": > \"$1\""))
        .run();
    assert_snapshot!(emptied, @"
    exit 2
    --- stderr
    Error: the text is blank
    ");
    assert_snapshot!(env.ralph(["memory", "edit", ID, "--content", " \n"]).run(), @"
    exit 2
    --- stderr
    Error: the text is blank
    ");
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
    assert_snapshot!(env.ralph(["memory", "edit", ID]).env("EDITOR", &editor).run(), @"
    exit 0
    --- stdout
    Memory updated: mem-1737372000-a1b2
    --- stderr
    Converted line breaks to LF.
    ");
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
fn concurrent_edit_is_not_overwritten() {
    let env = sample();
    let script = format!("\"$RALPH\" memory edit {ID} --content theirs >&2; echo mine > \"$1\"");
    let ended = env
        .ralph(["memory", "edit", ID])
        .env("EDITOR", editor(&env, &script))
        .env("RALPH", env!("CARGO_BIN_EXE_ralph"))
        .run();
    let (path, text) = kept(&env);
    assert_eq!(text, b"mine");
    assert_eq!(
        ended.to_string(),
        format!(
            "exit 1\n--- stderr\nMemory updated: {ID}\nError: {ID} was changed in the meantime\n\
             Hint: your text was saved to {path}\n"
        )
    );
    assert_eq!(json(&env, &["memory", "show", ID, "--json"])["content"], "theirs");
}

#[test]
fn concurrent_deletion_keeps_the_edited_text() {
    let env = sample();
    let script = format!("\"$RALPH\" memory delete {ID} >&2; echo mine > \"$1\"");
    let ended = env
        .ralph(["memory", "edit", ID])
        .env("EDITOR", editor(&env, &script))
        .env("RALPH", env!("CARGO_BIN_EXE_ralph"))
        .run();
    let (path, text) = kept(&env);
    assert_eq!(text, b"mine");
    assert_eq!(
        ended.to_string(),
        format!(
            "exit 1\n--- stderr\nMemory deleted: {ID}\nError: Memory not found: {ID}\n\
             Hint: your text was saved to {path}\n"
        )
    );
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
    assert_snapshot!(env.ralph(["memory", "edit", "mem-9", "--tags", "x"]).run(), @"
    exit 1
    --- stderr
    Error: Memory not found: mem-9
    Hint: `ralph memory list` shows all entries, `ralph memory restore --list` deleted ones
    ");
    let in_editor = env
        .ralph(["memory", "edit", "mem-9"])
        .env("EDITOR", "touch opened; true")
        .run();
    assert_eq!(in_editor.code, Some(1));
    assert!(!env.path("opened").exists(), "no editor was opened");
    assert_eq!(env.read(MEMORIES), SAMPLE);
    assert_snapshot!(env.ralph(["memory", "edit", "mem-1737", "--tags", "x"]).run(), @"
    exit 1
    --- stderr
    Error: mem-1737 matches 2 ids: mem-1737372000-a1b2, mem-1737300000-e5f6
    Hint: use a longer prefix of the id
    ");
}

#[test]
fn edit_in_an_empty_project_creates_nothing() {
    let env = env();
    assert_eq!(
        env.ralph(["memory", "edit", "mem-1", "--tags", "x"]).run().code,
        Some(1)
    );
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn edit_keeps_metadata() {
    let env = env();
    let old = add(&env, "old");
    let new = env.ok([
        "memory",
        "add",
        "new",
        "--supersedes",
        &old,
        "--reason",
        "why",
        "--format",
        "quiet",
    ]);
    env.ok(["memory", "edit", new.trim_end(), "--content", "newer", "-t", "context"]);
    assert_snapshot!(env.read(MEMORIES), @"
    # Memories

    ## Patterns

    ### mem-1737372000-910a
    > old
    <!-- tags:  | created: 2025-01-20 -->

    ## Decisions

    ## Fixes

    ## Context

    ### mem-1737372000-beeb
    > newer
    <!-- tags:  | created: 2025-01-20 -->
    <!-- ralph: reason=why; supersedes=mem-1737372000-910a -->
    ");
}
