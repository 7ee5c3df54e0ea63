//! Tests of parsing, and that an edit changes only its own entry.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests stop at the first surprise"
)]

use jiff::civil::date;
use proptest::prelude::*;
use ralph_model::{Extra, Note, NoteFileKind, NoteId, NoteKind, Tags};
use ralph_notes::{Document, entry_text, normalise_line_breaks};

fn parse(bytes: &[u8]) -> Document<'_> {
    Document::parse(NoteFileKind::Memories, bytes)
}

fn note(id: &str, kind: NoteKind, content: &str) -> Note {
    Note {
        id: NoteId::parse(id, &["mem"]).expect("a valid id"),
        kind,
        content: content.to_owned(),
        tags: Tags::default(),
        created: date(2025, 1, 20),
        extra: Extra::default(),
    }
}

fn notes(document: &Document<'_>) -> Vec<Note> {
    document
        .entries()
        .iter()
        .map(|entry| document.note(entry).expect("an entry is a note"))
        .collect()
}

/// One line per entry, `id kind content [tags] created`, then the problems with their line numbers.
fn summary(text: &str) -> String {
    let document = parse(text.as_bytes());
    let mut lines: Vec<String> = notes(&document)
        .iter()
        .map(|n| format!("{} {} {:?} [{}] {}", n.id, n.kind, n.content, n.tags, n.created))
        .collect();
    for problem in document.validate() {
        lines.push(format!("line {}: {}", document.line_number(problem.at), problem.kind));
    }
    lines.join("\n")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let expected: Vec<&str> = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(summary(text), expected.join("\n"), "{text}");
}

#[test]
fn files_of_earlier_tools_are_read() {
    check(
        "# Memories\n\n## Patterns\n\n### mem-1737372000-a1b2\n> Uses barrel exports.\n> Two lines.\n\
         <!-- tags: imports, structure | created: 2025-01-20 -->\n\n## Decisions\n\n## Fixes\n\n\
         ### mem-1737390000-g7h8\n> ECONNREFUSED: start it\n<!-- tags:  | created: 2025-01-21 -->\n\n## Context\n",
        r#"
        mem-1737372000-a1b2 pattern "Uses barrel exports.\nTwo lines." [imports, structure] 2025-01-20
        mem-1737390000-g7h8 fix "ECONNREFUSED: start it" [] 2025-01-21
        "#,
    );
}

#[test]
fn missing_parts_have_defaults() {
    // No tags line: no tags, and the date of the id. Before any section: a pattern.
    check(
        "### mem-1737372000-a1b2\n> early\n\n## Context\n### mem-1737372001-a1b2\n\n>no space\n",
        r#"
        mem-1737372000-a1b2 pattern "early" [] 2025-01-20
        mem-1737372001-a1b2 context "no space" [] 2025-01-20
        "#,
    );
}

#[test]
fn fault_12_blank_lines_in_a_memory_are_kept() {
    let kept = "first\n\nthird\n\n\nsixth";
    let text = parse(b"").add(&[note("mem-1-0000", NoteKind::Fix, kept)]).apply(b"");
    assert!(String::from_utf8_lossy(&text).contains("> first\n>\n> third\n>\n>\n> sixth\n"));
    assert_eq!(notes(&parse(&text))[0].content, kept);
}

#[test]
fn fault_16_malformed_block_does_not_leak_into_next_entry() {
    check(
        "## Fixes\n### mem-bad\n> lost\n<!-- tags: leaked | created: 2001-01-01 -->\n### mem-2-0000\n> kept\n\
         ### mem-3-0000\n<!-- tags: no, text | created: 2002-02-02 -->\n### mem-4-0000\n> also kept\n",
        r#"
        mem-2-0000 fix "kept" [] 1970-01-01
        mem-4-0000 fix "also kept" [] 1970-01-01
        line 2: "mem-bad" is not a valid id, so this block is not read
        line 7: mem-3-0000 has no quoted text, so it is not read
        "#,
    );
}

#[test]
fn fault_17_quoted_heading_is_not_a_section() {
    let content = "## Context\n### mem-9-0000\n> quoted\n<!-- tags: x | created: 2020-01-01 -->\n-->";
    let old = b"# Memories\n\n## Patterns\n".to_vec();
    let once = parse(&old)
        .add(&[note("mem-1-0000", NoteKind::Pattern, content)])
        .apply(&old);
    let twice = parse(&once)
        .add(&[note("mem-2-0000", NoteKind::Context, "after")])
        .apply(&once);
    let read = notes(&parse(&twice));
    assert_eq!(read.len(), 2);
    assert_eq!(read[0].content, content);
    assert_eq!((read[1].kind, read[1].content.as_str()), (NoteKind::Context, "after"));
}

#[test]
fn problems_have_line_numbers() {
    check(
        "> stray\n> stray too\n\n## Ideas\n### mem-1-0000\n> not read\n## Mine\nprose\n## Fixes\n### mem-2-0000\n> a\n\
         <!-- tags: x -->\n### mem-2-0000\n> b\n<!-- tags: x | created: 2025-02-30 -->\n<!-- ralph: nonsense -->\n\
         > after the tags\n",
        r#"
        mem-2-0000 fix "a" [] 1970-01-01
        mem-2-0000 fix "b" [] 1970-01-01
        line 1: these quoted lines belong to no entry
        line 4: "Ideas" is not a section of this file, so its entry is not read
        line 12: the tags line of mem-2-0000 is not `<!-- tags: a, b | created: YYYY-MM-DD -->`, so it is read without tags
        line 13: duplicate id mem-2-0000
        line 15: the tags line of mem-2-0000 is not `<!-- tags: a, b | created: YYYY-MM-DD -->`, so it is read without tags
        line 16: the `ralph:` line of mem-2-0000 is not `key=value; …`, so it is not read
        line 17: these quoted lines belong to no entry
        "#,
    );
}

#[test]
fn ralph_line_ends_the_text() {
    let text = "## Fixes\n### mem-1-0000\n> a\n<!-- ralph: reason=r -->\n> not its\n";
    check(
        text,
        r#"
        mem-1-0000 fix "a" [] 1970-01-01
        line 5: these quoted lines belong to no entry
        "#,
    );
    let document = parse(text.as_bytes());
    let left = document.delete(&[&document.entries()[0]]).apply(text.as_bytes());
    assert_eq!(
        String::from_utf8(left).unwrap(),
        "## Fixes\n### was mem-1-0000\n> not its\n"
    );
}

#[test]
fn only_closed_fences_hide_headings() {
    check(
        "## Fixes\n````\n## Context\n### mem-1-0000\n> example\n```\n````\n### mem-2-0000\n> real\n\n```\nnever closed\n\
         ### mem-3-0000\n> real too\n",
        r#"
        mem-2-0000 fix "real" [] 1970-01-01
        mem-3-0000 fix "real too" [] 1970-01-01
        "#,
    );
}

#[test]
fn prose_between_parts_is_not_part_of_an_entry() {
    let text = "## Fixes\n### mem-1-0000 a title\n> a\n\n> b\nsomebody's remark\n<!-- tags: t | created: 2025-01-01 -->\nmore\n";
    check(text, r#"mem-1-0000 fix "a\n\nb" [t] 2025-01-01"#);
    let document = parse(text.as_bytes());
    let left = document.delete(&[&document.entries()[0]]).apply(text.as_bytes());
    assert_eq!(String::from_utf8(left).unwrap(), "## Fixes\nsomebody's remark\nmore\n");
}

#[test]
fn invalid_utf8_hides_only_its_own_entry() {
    let text = b"## Fixes\n### mem-1-0000\n> \xff\xfe\n### mem-2-0000\n> fine\n";
    let document = parse(text);
    assert_eq!(notes(&document).len(), 1);
    assert_eq!(document.problems().len(), 1);
    let more = document.add(&[note("mem-3-0000", NoteKind::Fix, "new")]).apply(text);
    assert!(more.starts_with(text));
}

#[test]
fn entries_are_added_at_the_end_of_their_section() {
    let text = "# Memories\n\n## Patterns\n\n## Mine\nprose\n\n## Patterns\nsecond\n# Title\nafter";
    let added = parse(text.as_bytes())
        .add(&[
            note("mem-1-0000", NoteKind::Pattern, "p"),
            note("mem-2-0000", NoteKind::Context, "c"),
        ])
        .apply(text.as_bytes());
    assert_eq!(
        String::from_utf8(added).unwrap(),
        "# Memories\n\n## Patterns\n\n### mem-1-0000\n> p\n<!-- tags:  | created: 2025-01-20 -->\n\n## Mine\nprose\n\n\
         ## Patterns\nsecond\n# Title\nafter\n\n## Context\n\n### mem-2-0000\n> c\n\
         <!-- tags:  | created: 2025-01-20 -->\n"
    );
}

#[test]
fn edits_use_the_line_breaks_of_the_file() {
    let text = "\u{feff}# Memories\r\n\r\n## Patterns\r\n";
    let added = parse(text.as_bytes())
        .add(&[note("mem-1-0000", NoteKind::Pattern, "a\n\nb")])
        .apply(text.as_bytes());
    let expected = "\r\n### mem-1-0000\r\n> a\r\n>\r\n> b\r\n<!-- tags:  | created: 2025-01-20 -->\r\n";
    assert_eq!(String::from_utf8(added.clone()).unwrap(), format!("{text}{expected}"));
    assert_eq!(notes(&parse(&added))[0].content, "a\n\nb");
}

#[test]
fn edit_writes_only_the_parts_that_differ() {
    let text = "## Fixes\n### mem-1-0000\n>odd   spacing\n<!-- tags:a,b   | created: 2025-01-20 -->\nrest";
    let document = parse(text.as_bytes());
    let entry = &document.entries()[0];
    let mut changed = document.note(entry).unwrap();
    assert!(document.change(entry, &changed).is_empty());

    changed.tags = Tags::parse("c").unwrap();
    let after = document.change(entry, &changed).apply(text.as_bytes());
    let expected = "## Fixes\n### mem-1-0000\n>odd   spacing\n<!-- tags: c | created: 2025-01-20 -->\nrest";
    assert_eq!(String::from_utf8(after).unwrap(), expected);

    changed.extra.set("reason", "50% of users; a --> b");
    let after = document.change(entry, &changed).apply(text.as_bytes());
    let expected = "## Fixes\n### mem-1-0000\n>odd   spacing\n<!-- tags: c | created: 2025-01-20 -->\n\
                    <!-- ralph: reason=50%25 of users%3B a --%3E b -->\nrest";
    assert_eq!(String::from_utf8(after.clone()).unwrap(), expected);
    assert_eq!(notes(&parse(&after))[0], changed);
}

#[test]
fn new_section_does_not_mix_with_last_section() {
    let old = b"## Context\n\nprose\n";
    let both = [
        note("mem-1-0000", NoteKind::Pattern, "a pattern"),
        note("mem-2-0000", NoteKind::Context, "a fact"),
    ];
    let text = parse(old).add(&both).apply(old);
    let read: Vec<NoteKind> = notes(&parse(&text)).iter().map(|note| note.kind).collect();
    assert_eq!(read, [NoteKind::Context, NoteKind::Pattern]);
}

#[test]
fn changed_kind_moves_entry_to_its_section() {
    let text = "## Patterns\n\n### mem-1-0000 a title\n>a\n<!-- tags: no day -->\n\n## Fixes\n\n### mem-2-0000\n> b\n";
    let document = parse(text.as_bytes());
    let mut moved = document.note(&document.entries()[0]).unwrap();
    moved.kind = NoteKind::Fix;
    let after = document.change(&document.entries()[0], &moved).apply(text.as_bytes());
    assert_eq!(
        String::from_utf8(after).unwrap(),
        "## Patterns\n\n## Fixes\n\n### mem-2-0000\n> b\n\n### mem-1-0000 a title\n>a\n<!-- tags: no day -->\n"
    );
}

#[test]
fn stray_parts_of_deleted_entry_do_not_join_previous() {
    for stray in [
        "> an orphan\n",
        "<!-- tags: stray | created: 2020-01-01 -->\n",
        "<!-- ralph: reason=stray -->\n",
    ] {
        let text = format!(
            "## Fixes\n\n### mem-1-0000\n> above\n\n### mem-2-0000\n> below\n<!-- tags:  | created: 2025-01-01 -->\n\
             <!-- ralph: a=b -->\nprose\n{stray}"
        );
        let document = parse(text.as_bytes());
        let above = document.note(&document.entries()[0]).unwrap();
        let left = document.delete(&[&document.entries()[1]]).apply(text.as_bytes());
        assert_eq!(notes(&parse(&left)), [above], "{}", String::from_utf8_lossy(&left));
        assert!(left.ends_with(format!("\n### was mem-2-0000\nprose\n{stray}").as_bytes()));
    }
}

#[test]
fn inner_prose_of_deleted_entry_does_not_join_previous() {
    let text = "### mem-1-0000\n> above\n\n### mem-2-0000\n> below\n<!-- tags:  | created: 2025-01-01 -->\n\
                > an orphan\nprose\n<!-- ralph: a=b -->\n";
    let document = parse(text.as_bytes());
    let left = document.delete(&[&document.entries()[1]]).apply(text.as_bytes());
    assert_eq!(
        String::from_utf8_lossy(&left),
        "### mem-1-0000\n> above\n\n### was mem-2-0000\n> an orphan\nprose\n"
    );
}

#[test]
fn stray_line_does_not_replace_a_removed_one() {
    let text = "### mem-1-0000\n> a\n<!-- tags:  | created: 2025-01-01 -->\n<!-- ralph: reason=x -->\nprose\n\
                <!-- ralph: reason=stray -->\n";
    let document = parse(text.as_bytes());
    let mut bare = document.note(&document.entries()[0]).unwrap();
    bare.extra = Extra::default();
    let after = document.change(&document.entries()[0], &bare).apply(text.as_bytes());
    assert_eq!(notes(&parse(&after)), [bare]);
}

/// Any valid note content.
fn content() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ -~]{0,30}",
        "\\PC{0,20}",
        Just("## Context".to_owned()),
        Just("### mem-1737372000-a1b2".to_owned()),
        Just("> quoted".to_owned()),
        Just(">".to_owned()),
        Just("<!-- tags: a | created: 2025-01-01 -->".to_owned()),
        Just("<!-- ralph: a=b -->".to_owned()),
        Just("-->".to_owned()),
        Just("```".to_owned()),
        Just("  ".to_owned()),
        Just(String::new()),
        Just("👩\u{200d}🚀 \u{202e}مرحبا e\u{301}".to_owned()),
        Just("\u{b}\u{c}\u{85}\u{2028}\u{1b}[31m".to_owned()),
    ];
    prop::collection::vec(line, 1..8)
        .prop_map(|lines| lines.join("\n"))
        .prop_filter("a note is not blank", |text| !text.trim().is_empty())
}

fn any_note(id: impl Strategy<Value = NoteId>) -> impl Strategy<Value = Note> {
    let kind = prop::sample::select(NoteKind::ALL.to_vec());
    let tags = prop::collection::vec("[^,|\\pC\\pZ-]{1,8}", 0..4);
    let reason = prop::option::of("\\PC{1,12}");
    (id, kind, content(), tags, reason).prop_map(|(id, kind, content, tags, reason)| {
        let mut extra = Extra::default();
        if let Some(reason) = reason {
            extra.set("reason", &reason);
        }
        Note {
            id,
            kind,
            content,
            tags: Tags::new(tags.iter().map(String::as_str)).unwrap(),
            created: date(2025, 3, 1),
            extra,
        }
    })
}

/// Files as people and tools leave them: entries, malformed blocks, prose, fences, odd sections, any line break.
fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let id = (0u32..3_000_000, any::<u16>()).prop_map(|(second, suffix)| NoteId::new("mem", second.into(), suffix));
    let piece = prop_oneof![
        4 => any_note(id).prop_map(|note| format!("\n{}", entry_text(&note))),
        2 => prop::sample::select(vec![
            "## Patterns\n", "## Fixes\n\n", "## Decisions \n", "## Context\n", "## Somebody's section\n", "# Memories\n",
            "# Another title\n", "### mem-broken\n> lost\n<!-- tags: leak | created: 2020-01-01 -->\n", "### A heading\n",
            "### mem-12-0000\nno quote\n",
            "### mem-1300000000-aaaa with a title\n>no space\n",
            "### mem-1300000001-bbbb\n> untagged\n\n> in two parts\n",
            "### mem-1300000002-cccc\n> odd\n<!-- tags: a, b -->\n",
            "### mem-1300000003-dddd\n> reasoned\n<!-- ralph: reason=x; other -->\n", "> orphan\n", "<!-- a comment -->\n", "<!-- tags: stray | created: 2020-01-01 -->\n",
            "```\n## Fixes\n### mem-1-aaaa\n> in a fence\n```\n", "~~~~\n```\n~~~~\n", "```\n", "   \n", "\n\n\n", "\t\n",
            "\u{0}\n", "prose without an end",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,40}\n",
    ];
    (
        prop::collection::vec(piece, 0..14),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(pieces, crlf, bom, cut)| {
            let mut text: String = pieces.concat();
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            if cut {
                text.truncate(text.trim_end().len());
            }
            if bom {
                text.insert(0, '\u{feff}');
            }
            text.into_bytes()
        })
}

fn new_note() -> impl Strategy<Value = Note> {
    any_note(any::<u16>().prop_map(|suffix| NoteId::new("mem", 1_737_372_000, suffix)))
}

/// The parts of two texts that differ, without their common prefix and suffix.
fn difference<'a>(old: &'a [u8], new: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let end = old[start..]
        .iter()
        .rev()
        .zip(new[start..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (&old[start..old.len() - end], &new[start..new.len() - end])
}

fn cases() -> ProptestConfig {
    // `cargo xtask soak` raises the number of cases with PROPTEST_CASES.
    ProptestConfig {
        failure_persistence: None,
        max_global_rejects: 1_000_000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn parse_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let document = parse(&bytes);
        prop_assert!(document.validate().len() >= document.problems().len());
        for entry in document.entries() {
            prop_assert!(document.note(entry).is_some());
        }
    }

    #[test]
    fn adding_any_content_adds_exactly_one_entry(old in any_file(), note in new_note()) {
        let document = parse(&old);
        let before = notes(&document);
        let new = document.add(std::slice::from_ref(&note)).apply(&old);
        let (removed, _) = difference(&old, &new);
        prop_assert!(removed.is_empty(), "an addition removed {:?}", String::from_utf8_lossy(removed));
        let mut after = notes(&parse(&new));
        let position = after.iter().position(|n| n == &note);
        prop_assert!(position.is_some(), "not read back: {:?} in {}", note, String::from_utf8_lossy(&new));
        after.remove(position.unwrap());
        prop_assert_eq!(after, before);
    }

    #[test]
    fn added_entry_is_deleted_without_a_trace(old in any_file(), note in new_note()) {
        let new = parse(&old).add(std::slice::from_ref(&note)).apply(&old);
        let document = parse(&new);
        let entry = document.find(note.id.as_str()).last().unwrap();
        let back = document.delete(&[entry]).apply(&new);
        // Only a section or final line break that was added for the note may remain.
        let (removed, stayed) = difference(&old, &back);
        let stayed = String::from_utf8_lossy(stayed);
        prop_assert!(removed.is_empty());
        let made = ["".to_owned(), format!("## {}", note.kind.section())];
        prop_assert!(made.contains(&stayed.trim().to_owned()), "{stayed:?} stayed");
        prop_assert_eq!(notes(&parse(&back)), notes(&parse(&old)));
    }

    #[test]
    fn fault_15_edit_keeps_every_byte_outside_the_entry(old in any_file(), pick in any::<prop::sample::Index>(), with in new_note()) {
        let document = parse(&old);
        prop_assume!(!document.entries().is_empty());
        let all = notes(&document);
        let index = pick.index(all.len());
        let entry = &document.entries()[index];

        let mut changed = all[index].clone();
        changed.content = with.content;
        changed.tags = with.tags;
        changed.extra = with.extra;
        let new = document.change(entry, &changed).apply(&old);
        let mut expected = all.clone();
        expected[index] = changed;
        prop_assert_eq!(notes(&parse(&new)), expected);
        // Outside the entry's own lines nothing changes: cutting the entry from both leaves the same bytes.
        let reparsed = parse(&new);
        let rest_of_new = reparsed.delete(&[&reparsed.entries()[index]]).apply(&new);
        let rest_of_old = document.delete(&[entry]).apply(&old);
        prop_assert_eq!(&rest_of_new, &rest_of_old);

        let mut expected = all;
        expected.remove(index);
        prop_assert_eq!(notes(&parse(&rest_of_old)), expected);
    }

    #[test]
    fn changing_the_kind_loses_no_line(old in any_file(), pick in any::<prop::sample::Index>(), kind in 0usize..4) {
        let document = parse(&old);
        prop_assume!(!document.entries().is_empty());
        let mut expected = notes(&document);
        let index = pick.index(expected.len());
        expected[index].kind = NoteKind::ALL[kind];
        let new = document.change(&document.entries()[index], &expected[index]).apply(&old);
        let mut found = notes(&parse(&new));
        let key = |note: &Note| (note.id.clone(), note.content.clone(), note.kind, note.created, note.tags.to_string());
        found.sort_by_key(key);
        expected.sort_by_key(key);
        prop_assert_eq!(found, expected);
        let (old, new) = (String::from_utf8_lossy(&old).into_owned(), String::from_utf8_lossy(&new).into_owned());
        let trim = |line: &str| line.trim_start_matches('\u{feff}').trim().to_owned();
        let count = |text: &str, line: &str| text.lines().filter(|other| trim(other) == line).count();
        for line in old.lines().map(trim).filter(|line| !line.is_empty()) {
            prop_assert!(count(&new, &line) >= count(&old, &line), "{line:?} is lost");
        }
    }

    #[test]
    fn rendered_entries_parse_back(kept in prop::collection::vec(new_note(), 0..6)) {
        let text = parse(b"").add(&kept).apply(b"");
        let mut expected = Vec::new();
        for kind in NoteFileKind::Memories.kinds() {
            expected.extend(kept.iter().filter(|note| note.kind == *kind).cloned());
        }
        let document = parse(&text);
        prop_assert!(document.problems().is_empty());
        prop_assert_eq!(notes(&document), expected);
    }

    #[test]
    fn normalising_changes_only_line_breaks(text in "[a\r\n]{0,20}") {
        let normal = normalise_line_breaks(&text);
        prop_assert!(!normal.contains('\r'));
        prop_assert_eq!(normal.replace('\n', ""), text.replace(['\r', '\n'], ""));
    }
}
