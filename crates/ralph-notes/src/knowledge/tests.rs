//! Round-trip tests for knowledge entries, including hostile titles.

use proptest::prelude::*;

use super::*;

fn at() -> Timestamp {
    "2026-02-17T12:00:00Z".parse().unwrap()
}

fn tags(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

/// The file of a new entry.
fn text_of(title: &str, tags: &[String], body: &str) -> String {
    let note = CapturedKnowledge {
        title: title.to_owned(),
        tags: tags.to_vec(),
        feature: None,
        body: body.to_owned(),
    };
    knowledge_text(&note, at())
}

#[test]
fn knowledge_entry_round_trips() {
    let text = text_of(
        "Cargo bench: \"nightly\"",
        &tags(&["Testing", "two words", "testing", "yes", "3d"]),
        "\n\n  Use nightly.\n\n---\nLast line.\n\n",
    );
    insta::assert_snapshot!(text, @r#"
    ---
    title: "Cargo bench: \"nightly\""
    tags: [testing, "two words", "yes", "3d"]
    created_at: "2026-02-17T12:00:00Z"
    ---

      Use nightly.

    ---
    Last line.
    "#);
    let read = Knowledge::parse(text.as_bytes()).unwrap();
    assert_eq!(read.title, "Cargo bench: \"nightly\"");
    assert_eq!(read.tags, ["testing", "two words", "yes", "3d"]);
    assert_eq!(read.body, "  Use nightly.\n\n---\nLast line.");
    assert_eq!(title_key(&read.title), title_key(" CARGO BENCH: \"NIGHTLY\" "));
    assert_ne!(title_key(&read.title), title_key("Cargo bench"));
}

#[test]
fn fault_7_hostile_title_round_trips() {
    for title in [
        "a \"quoted\" one",
        "---",
        "x\n---\ntags: [evil]",
        "it's: # not a comment",
        "🚀 {a: b} [c] &d *e !f %g @h `i`",
        "back\\slash\\",
        "tab\there, bell \u{7}, next line \u{85}, separator \u{2028}, mark \u{feff}",
        "null",
        "true",
        "1e3",
        "~",
        "2024-01-01",
        "trailing: ",
        "[[x]]",
        "- a list",
        "@at",
        "&anchor",
        "*alias",
        "!tag",
        "# heading",
        "'single",
        "مرحبا \u{202b}שלום\u{202c}",
        "👨\u{200d}👩\u{200d}👧",
        &"long ".repeat(2000),
    ] {
        let text = text_of(title, &tags(&["a"]), "body");
        let read = Knowledge::parse(text.as_bytes()).unwrap();
        assert_eq!(
            (read.title.as_str(), read.body.as_str()),
            (title.trim(), "body"),
            "{text}"
        );
        assert_eq!(read.tags, ["a"]);
    }
}

#[test]
fn feature_is_written_to_frontmatter() {
    let note = |feature: &str| CapturedKnowledge {
        title: "A".to_owned(),
        tags: tags(&["b"]),
        feature: Some(feature.to_owned()),
        body: "c".to_owned(),
    };
    let text = knowledge_text(&note("perf: \"fast\""), at());
    let front = "---\ntitle: \"A\"\ntags: [b]\nfeature: \"perf: \\\"fast\\\"\"\ncreated_at: ";
    assert!(text.starts_with(front), "{text}");
    let read = Knowledge::parse(text.as_bytes()).unwrap();
    assert_eq!(read.feature.as_deref(), Some("perf: \"fast\""));
    assert!(!knowledge_text(&note(" "), at()).contains("feature"));
}

#[test]
fn hand_written_frontmatter_is_read() {
    let text = "\u{feff}---\r\ntitle: 'It''s plain' # why\r\ntags:\r\n- One\r\n- 2024\r\nfeature: perf\r\nmood: [x]\r\n--- \r\nBody\r\n";
    let read = Knowledge::parse(text.as_bytes()).unwrap();
    assert_eq!(read.title, "It's plain");
    assert_eq!(read.tags, ["one", "2024"]);
    assert_eq!(read.feature.as_deref(), Some("perf"));
    assert_eq!(read.body, "Body");
    let numbers = Knowledge::parse(b"---\ntitle: 2024\ntags: [1.5, true]\ncreated_at: 2024-01-01\n---\n").unwrap();
    assert_eq!((numbers.title.as_str(), numbers.tags), ("2024", tags(&["1.5", "true"])));
    assert_eq!(numbers.created_at.as_deref(), Some("2024-01-01"));
    let commas = Knowledge::parse(b"---\ntitle: a\ntags: B, c\n---\n").unwrap();
    assert_eq!((commas.tags, commas.body), (tags(&["b", "c"]), String::new()));
}

#[test]
fn invalid_files_are_reported() {
    let deep = format!(
        "---\ntitle: a\ntags: [b]\nx: {}{}\n---\n",
        "[".repeat(50),
        "]".repeat(50)
    );
    let large = format!("---\ntitle: a\ntags: [b]\n{}\n---\n", "# x\n".repeat(20_000));
    for (text, part) in [
        ("", "does not start with frontmatter"),
        ("# A heading\n", "does not start with frontmatter"),
        ("---\ntitle: a\n", "does not start with frontmatter"),
        ("---\n---\n", "no title"),
        ("---\ntags: [a]\n---\n", "no title"),
        ("---\ntitle: ' '\ntags: [a]\n---\n", "no title"),
        ("---\ntitle: a\n---\n", "no tags"),
        ("---\ntitle: a\ntags: []\n---\n", "no tags"),
        (
            "---\ntitle: [a\n---\n",
            "cannot be read: expected string scalar at line 2, column 8",
        ),
        (
            "---\ntags: [a]\ntitle: &a x\n---\n",
            "cannot be read: anchors (`&name`) are not supported at line 3, column 11",
        ),
        (
            &deep,
            "cannot be read: lists and maps are nested too deeply at line 4, column 20",
        ),
        (&large, "its frontmatter is larger than 64 KiB"),
        (
            "---\ntitle: a\ntitle: b\n---\n",
            "cannot be read: duplicate key `title` at line 3, column 1",
        ),
        (
            "---\ntitle: a\ntags: [null]\n---\n",
            "cannot be read: expected a string, found nothing at line 3, column 8",
        ),
        (
            "---\ntitle: !!binary gICA\ntags: [a]\n---\n",
            "cannot be read: `!!binary` is not supported at line 2, column ",
        ),
    ] {
        let problem = Knowledge::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
        assert_eq!(problem.lines().count(), 1, "{problem}");
    }
    assert_eq!(Knowledge::parse(b"---\xff"), Err(KnowledgeProblem::NotText));
}

#[test]
fn update_keeps_unchanged_bytes() {
    let old =
        "---\n# mine\ntitle: Colours\ntags:\n  - hex\n  - parsing\nmood: {a: [1, 2]}\ncreated_at: 2026\n---\n\nOld.\n";
    let new = updated_knowledge(old.as_bytes(), &tags(&["PARSING", "css"]), "New.\nSecond.").unwrap();
    insta::assert_snapshot!(new, @r#"
    ---
    # mine
    title: Colours
    tags:
      - hex
      - parsing
      - css
    mood: {a: [1, 2]}
    created_at: 2026
    ---

    New.
    Second.
    "#);
    let same = updated_knowledge(old.as_bytes(), &tags(&["hex"]), "New.").unwrap();
    assert_eq!(same, old.replace("Old.", "New."), "known tags stay as they are written");
    let crlf = old.replace('\n', "\r\n");
    let new = updated_knowledge(crlf.as_bytes(), &tags(&["css"]), "One.\nTwo.").unwrap();
    assert!(!new.replace("\r\n", "").contains('\n'), "{new:?}");
    assert!(updated_knowledge(b"no note", &[], "x").is_err());
}

#[test]
fn tags_are_added_to_any_form_of_list() {
    for (old, new) in [
        ("tags: [a] # topics", "tags: [a, b, c2] # topics"),
        ("tags: [ a ]", "tags: [ a, b, c2 ]"),
        ("tags: [a, ]", "tags: [a, b, c2 ]"),
        ("\"tags\": [a]", "\"tags\": [a, b, c2]"),
        ("tags: [x,\n  a]", "tags: [x,\n  a, b, c2]"),
        ("tags: [\n  a # why\n]", "tags: [\n  a # why\n, b, c2]"),
        ("tags: ['a]', a]\nother: [x]", "tags: ['a]', a, b, c2]\nother: [x]"),
        (
            "tags:\n  - x\n  # why a\n  - a\n\n# end",
            "tags:\n  - x\n  # why a\n  - a\n  - b\n  - c2\n\n# end",
        ),
        (
            "tags:\n- a # why\nother:\n- x",
            "tags:\n- a # why\n- b\n- c2\nother:\n- x",
        ),
        ("tags: x, a", "tags: x, a, b, c2"),
        ("tags: a  # why", "tags: a, b, c2  # why"),
        ("tags: \"a\"", "tags: \"a, b, c2\""),
        ("tags: |\n  a", "tags: |\n  a, b, c2"),
        ("about: tags\ntags: [a]", "about: tags\ntags: [a, b, c2]"),
    ] {
        let whole = |front: &str| format!("---\ntitle: T\n{front}\n---\n");
        let updated = updated_knowledge(whole(old).as_bytes(), &tags(&["b", "c2"]), "").unwrap();
        assert_eq!(updated, whole(new), "{old}");
    }
    let mapping = "---\n{title: a, tags: [b], x: 1}\n---\nOld.";
    let new = updated_knowledge(mapping.as_bytes(), &tags(&["c"]), "New.").unwrap();
    assert_eq!(new, "---\n{title: a, tags: [b, c], x: 1}\n---\n\nNew.\n");
}

#[test]
fn tags_that_cannot_be_extended_are_an_error() {
    let text = b"---\n{title: a, tags: b}\n---\nOld.\n";
    let refused = updated_knowledge(text, &tags(&["c"]), "New.").unwrap_err();
    assert_eq!(refused, KnowledgeProblem::FixedTags);
    let same_tags = updated_knowledge(text, &tags(&["b"]), "New.").unwrap();
    assert!(same_tags.ends_with("\nNew.\n"), "nothing has to be added");
}

#[test]
fn body_cut_after_a_fence_keeps_it() {
    let words = "w ".repeat(MAX_WORDS - 3);
    let body = format!("{words}\n```\ncode\n```\nmore words");
    assert_eq!(capped_to_words(&body), format!("{words}\n```\ncode\n```\n[truncated]"));
    assert_eq!(capped_to_words(&capped_to_words(&body)), capped_to_words(&body));
}

#[test]
fn long_body_is_cut_at_a_word() {
    let words = |n: usize| (0..n).map(|i| format!("w{i}")).collect::<Vec<_>>().join("\n");
    assert_eq!(capped_to_words(&words(MAX_WORDS)), words(MAX_WORDS));
    assert_eq!(
        capped_to_words(&words(MAX_WORDS + 1)),
        format!("{} [truncated]", words(MAX_WORDS))
    );
    assert_eq!(capped_to_words(&format!("{}  \n", words(MAX_WORDS))), words(MAX_WORDS));
}

#[test]
fn fault_3_file_names_follow_titles() {
    assert_eq!(knowledge_file_name("Größe: der Farben!", 1), "größe-der-farben.md");
    assert_eq!(knowledge_file_name("../../etc/passwd", 2), "etc-passwd-2.md");
    assert_eq!(knowledge_file_name("🚧", 1), "note.md");
    assert_eq!(knowledge_file_name("?!… --- ///", 3), "note-3.md");
    assert_eq!(knowledge_file_name("--Leading, trailing--", 1), "leading-trailing.md");
    assert_eq!(knowledge_file_name("C++ & C#", 1), "c-c.md");
    assert_eq!(
        knowledge_file_name(&"a".repeat(300), 1),
        format!("{}.md", "a".repeat(80))
    );
    assert_eq!(
        knowledge_file_name(&"語".repeat(300), 1),
        format!("{}.md", "語".repeat(66)),
        "200 bytes"
    );
    assert!(knowledge_file_name(&"語".repeat(300), 100).len() < 255);
    let ends_at_a_dash = format!("{} tail", "b".repeat(79));
    assert_eq!(
        knowledge_file_name(&ends_at_a_dash, 1),
        format!("{}.md", "b".repeat(79))
    );
}

proptest! {
    #[test]
    fn fault_7_any_title_and_tag_round_trip(title in "\\PC*|(\\p{Any}){0,40}", tag in "\\PC{1,8}|(\\p{Any}){1,8}", body in "(\\p{Any}){0,80}") {
        prop_assume!(!title.trim().is_empty() && !tag.trim().is_empty());
        let text = text_of(&title, std::slice::from_ref(&tag), &body);
        let read = Knowledge::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(read.title.as_str(), title.trim());
        prop_assert_eq!(&read.tags, &cleaned_tags([tag.as_str()].into_iter()));
        prop_assert_eq!(read.body.as_str(), trimmed(&body));
        let again = updated_knowledge(text.as_bytes(), std::slice::from_ref(&title), "other").unwrap();
        let read = Knowledge::parse(again.as_bytes()).unwrap();
        prop_assert_eq!(read.title.as_str(), title.trim());
        prop_assert_eq!(read.tags, cleaned_tags([tag.as_str(), title.as_str()].into_iter()));
        prop_assert_eq!(read.body, "other");
    }

    #[test]
    fn any_bytes_parse_or_report_a_problem(bytes in proptest::collection::vec(any::<u8>(), 0..200), front in "\\PC{0,60}") {
        drop(Knowledge::parse(&bytes));
        drop(Knowledge::parse(format!("---\n{front}\n---\n").as_bytes()));
    }
}
