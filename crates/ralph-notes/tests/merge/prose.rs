//! Merging the text around entries, Signs, and text that cannot be parsed.

use super::*;

#[test]
fn prose_merges_line_by_line_with_conflict_markers() {
    let ours = with_pattern("mem-8-0000", "ours").replace("# Memories", "# Our memories");
    let theirs = with_pattern("mem-7-0000", "theirs").replace("Ours to read.", "Ours to read.\nAnd to write.");
    let both = with_pattern("mem-8-0000", "ours")
        .replace("# Memories", "# Our memories")
        .replace("Ours to read.", "Ours to read.\nAnd to write.")
        .replace(
            "\n## Decisions",
            &format!("{}\n## Decisions", entry("mem-7-0000", "theirs")),
        );
    check(BASE, &ours, &theirs, &both);

    let ours = with_pattern("mem-8-0000", "ours").replace("Ours to read.", "Ours.");
    let theirs = with_pattern("mem-7-0000", "theirs").replace("Ours to read.", "Theirs.");
    let merged = merged(BASE, &ours, &theirs);
    let text = String::from_utf8(merged.bytes).unwrap();
    assert!(
        text.contains("\n\n<<<<<<< ours\nOurs.\n=======\nTheirs.\n>>>>>>> theirs\n\n## Patterns\n"),
        "{text}"
    );
    assert_eq!(texts(text.as_bytes()), ["first", "ours", "second", "theirs", "third"]);
    assert_eq!(merged.prose_conflicts, 1);
}

#[test]
fn prose_beside_appended_entries_does_not_conflict_with_them() {
    let ours = with_pattern("mem-8-0000", "ours").replace("\n## Decisions", "\nA remark of ours.\n\n## Decisions");
    let theirs = with_pattern("mem-7-0000", "theirs");
    for (ours, theirs) in [(&ours, &theirs), (&theirs, &ours)] {
        let merged = merged(BASE, ours, theirs);
        let text = String::from_utf8(merged.bytes).unwrap();
        assert_eq!(merged.prose_conflicts, 0, "{text}");
        assert!(text.contains("A remark of ours.\n"), "{text}");
        assert_eq!(texts(text.as_bytes()), ["first", "ours", "second", "theirs", "third"]);
    }
    // Both add a remark at the same place: a conflict that does not contain entries.
    let theirs = theirs.replace("\n## Decisions", "\nA remark of theirs.\n\n## Decisions");
    let merged = merged(BASE, &ours, &theirs);
    let text = String::from_utf8(merged.bytes).unwrap();
    let (_, conflict) = text.split_once("<<<<<<< ours\n").unwrap();
    let (conflict, _) = conflict.split_once(">>>>>>> theirs\n").unwrap();
    assert_eq!(conflict, "A remark of ours.\n=======\nA remark of theirs.\n");
    assert_eq!(texts(text.as_bytes()), ["first", "ours", "second", "theirs", "third"]);
}

#[test]
fn line_breaks_and_byte_order_marks_do_not_conflict() {
    let theirs = with_pattern("mem-7-0000", "theirs");
    let ours = format!("\u{feff}{}", BASE.replace('\n', "\r\n"));
    let both = merged(BASE, &ours, &theirs);
    let text = String::from_utf8(both.bytes).unwrap();
    assert!(text.starts_with("\u{feff}# Memories\r\n"), "{text:?}");
    assert_eq!(text.replace("\r\n", "\n"), format!("\u{feff}{theirs}"));
    assert_eq!(both.prose_conflicts, 0);
    let base = BASE.replace('\n', "\r\n");
    let ours = with_pattern("mem-8-0000", "ours").replace('\n', "\r\n");
    let theirs = theirs.replace('\n', "\r\n");
    let text = String::from_utf8(merged(&base, &ours, &theirs).bytes).unwrap();
    assert!(!text.replace("\r\n", "").contains('\n'), "{text:?}");
}

#[test]
fn missing_final_line_break_is_added_before_more_text() {
    let base = BASE.trim_end();
    let theirs = format!("{base}\n{}", entry("mem-7-0000", "theirs"));
    let ours = format!("{base}\n{}", entry("mem-8-0000", "ours").trim_end());
    let both = format!(
        "{base}\n{}{}",
        entry("mem-8-0000", "ours"),
        entry("mem-7-0000", "theirs")
    );
    check(base, &ours, &theirs, &both);
}

#[test]
fn unreadable_blocks_are_kept_as_prose() {
    let odd = "\n## Ideas\n\n### mem-5-eeee\n> in a section of our own\n\n## Fixes\n\n### mem-bad\n> no id\n";
    let base = BASE.replace("\n## Fixes\n", odd);
    let ours = base.replace("in a section of our own", "changed by us") + &entry("mem-8-0000", "ours");
    let theirs = base.replace("no id", "still no id") + &entry("mem-7-0000", "theirs");
    let text = String::from_utf8(merged(&base, &ours, &theirs).bytes).unwrap();
    assert!(
        text.contains("> changed by us\n") && text.contains("> still no id\n"),
        "{text}"
    );
    assert_eq!(texts(text.as_bytes()), ["first", "ours", "second", "theirs", "third"]);
    let ours = [ours.as_bytes(), b"\n### mem-9-ffff\n> \xff\xfe\n"].concat();
    let merged = merge(NoteFileKind::Memories, base.as_bytes(), &ours, theirs.as_bytes()).unwrap();
    assert!(merged.bytes.windows(4).any(|bytes| bytes == b"> \xff\xfe"));
    assert_eq!(texts(&merged.bytes).len(), 5);
}

#[test]
fn entries_with_duplicate_ids_are_all_kept() {
    let twice = BASE.to_owned() + &entry("mem-3-cccc", "third, of another merge");
    let theirs = BASE.replace("> third", "> third, changed");
    for (ours, theirs) in [(&twice, &theirs), (&theirs, &twice)] {
        let texts = texts(&merged(BASE, ours, theirs).bytes);
        assert!(texts.contains(&"third, of another merge".to_owned()), "{texts:?}");
        assert!(texts.contains(&"third, changed".to_owned()), "{texts:?}");
    }
}

#[test]
fn text_between_parts_of_an_entry_is_kept() {
    let odd = |text: &str, remark: &str| {
        format!(
            "# Memories\n\n## Fixes\n\n### mem-1-aaaa\n> {text}\n{remark}\n<!-- tags: a | created: 2025-01-01 -->\n> stray\n"
        )
    };
    let base = odd("old", "a remark");
    let ours = odd("ours", "a remark of ours");
    let theirs = odd("theirs", "a remark of theirs");
    let merged = merged(&base, &ours, &theirs);
    let text = String::from_utf8(merged.bytes).unwrap();
    assert_eq!(merged.prose_conflicts, 0);
    assert_eq!(texts(text.as_bytes()), ["ours", "theirs"]);
    assert!(
        text.contains("\na remark of ours\n") && text.contains("\na remark of theirs\n"),
        "{text}"
    );
}

#[test]
fn fences_that_close_only_together_hide_no_entry() {
    let ours = BASE.replace("Ours to read.", "Ours to read.\n\n```\nan open fence");
    let theirs = BASE.to_owned() + "\nmore prose\n```\n";
    for (ours, theirs) in [(&ours, &theirs), (&theirs, &ours)] {
        assert_eq!(texts(&merged(BASE, ours, theirs).bytes), ["first", "second", "third"]);
    }
}

#[test]
fn unrelated_long_texts_merge_quickly() {
    let lines = |side: &str| -> String { (0..20_000).map(|number| format!("{side} {number}\n")).collect() };
    let merged = merged(&lines("base"), &lines("ours"), &lines("theirs"));
    assert_eq!(merged.prose_conflicts, 1);
}

#[test]
fn guardrails_merge_in_their_own_sections() {
    let base = NoteFileKind::Guardrails.template();
    let sign = "### Sign: Careful\n- **Trigger**: always\n- **Instruction**: look twice\n";
    let ours = base.replace("## Fixes\n", &format!("## Fixes\n{}", entry("fix-8-0000", "ours"))) + sign;
    let theirs = base.replace("## Fixes\n", &format!("## Fixes\n{}", entry("fix-7-0000", "theirs")));
    let merged = merge(
        NoteFileKind::Guardrails,
        base.as_bytes(),
        ours.as_bytes(),
        theirs.as_bytes(),
    )
    .unwrap();
    let document = Document::parse(NoteFileKind::Guardrails, &merged.bytes);
    let ids: Vec<&str> = document.entries().iter().map(|entry| document.id(entry)).collect();
    assert_eq!(ids, ["fix-8-0000", "fix-7-0000"]);
    assert!(String::from_utf8_lossy(&merged.bytes).ends_with(sign));
}

#[test]
fn merge_keeps_signs_readable() {
    let sign =
        |name: &str, what: &str| format!("### Sign: {name}\n- **Trigger**: always\n- **Instruction**: {what}\n\n");
    let head = "# Guardrails\n\n## Core Signs\n\n";
    let base = [
        head,
        &sign("First", "look"),
        &sign("Second", "wait"),
        &sign("Third", "go"),
        "## Fixes\n",
    ]
    .concat();
    let ours = base
        .replace("look", "look twice")
        .replace("## Fixes", &(sign("Ours", "ask") + "## Fixes"));
    let theirs = base
        .replace("wait", "wait long")
        .replace(head, &(head.to_owned() + &sign("Theirs", "test")))
        + &entry("fix-1-0000", "theirs");
    for (ours, theirs) in [(&ours, &theirs), (&theirs, &ours)] {
        let merged = merge(
            NoteFileKind::Guardrails,
            base.as_bytes(),
            ours.as_bytes(),
            theirs.as_bytes(),
        )
        .unwrap();
        let document = Document::parse(NoteFileKind::Guardrails, &merged.bytes);
        let signs: Vec<String> = document.signs().iter().map(Sign::text).collect();
        assert_eq!(
            signs,
            [
                "Theirs. always: test",
                "First. always: look twice",
                "Second. always: wait long",
                "Third. always: go",
                "Ours. always: ask"
            ]
        );
        assert_eq!((document.entries().len(), merged.prose_conflicts), (1, 0));
    }
}
