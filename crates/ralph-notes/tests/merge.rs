//! Two versions of a notes file become one: nothing is lost, nothing that is apart conflicts, prose merges as git does it.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use ralph_model::{Extra, Note, Shelf};
use ralph_notes::{Document, Merged, Sign, merge};

const BASE: &str = "\
# Memories

Ours to read.

## Patterns

### mem-1-aaaa
> first
<!-- tags: a, b | created: 2025-01-01 -->

### mem-2-bbbb
> second
<!-- tags:  | created: 2025-01-02 -->

## Decisions

## Fixes

### mem-3-cccc
> third
<!-- tags: c | created: 2025-01-03 -->
";

fn merged(base: &str, ours: &str, theirs: &str) -> Merged {
    let merged = merge(Shelf::Memories, base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap();
    // Whatever the result is, merging it with either side again adds nothing.
    for side in [ours, theirs] {
        let again = merge(Shelf::Memories, side.as_bytes(), &merged.bytes, side.as_bytes()).unwrap();
        assert_eq!(again.bytes, merged.bytes);
    }
    merged
}

#[track_caller]
fn check(base: &str, ours: &str, theirs: &str, expected: &str) {
    let merged = merged(base, ours, theirs);
    assert_eq!(String::from_utf8_lossy(&merged.bytes), expected);
    assert_eq!((merged.prose_conflicts, merged.entry_conflicts), (0, vec![]));
}

fn notes(bytes: &[u8]) -> Vec<Note> {
    let document = Document::parse(Shelf::Memories, bytes);
    let entries = document.entries().iter();
    entries.map(|entry| document.note(entry).unwrap()).collect()
}

/// `id kind text [tags] extra`, a line an entry.
fn summary(bytes: &[u8]) -> Vec<String> {
    let line = |note: &Note| {
        let extra: Vec<String> = note
            .extra
            .iter()
            .map(|(key, value)| format!(" {key}={value}"))
            .collect();
        format!(
            "{} {} {:?} [{}]{}",
            note.id,
            note.kind,
            note.content,
            note.tags,
            extra.join("")
        )
    };
    notes(bytes).iter().map(line).collect()
}

fn entry(id: &str, text: &str) -> String {
    format!("\n### {id}\n> {text}\n<!-- tags:  | created: 2025-01-09 -->\n")
}

/// The base with an entry at the end of Patterns.
fn with_pattern(id: &str, text: &str) -> String {
    BASE.replace("\n## Decisions", &format!("{}\n## Decisions", entry(id, text)))
}

#[test]
fn both_append_to_the_same_section() {
    let expected = BASE.replace(
        "\n## Decisions",
        &format!(
            "{}{}\n## Decisions",
            entry("mem-8-0000", "ours"),
            entry("mem-7-0000", "theirs")
        ),
    );
    check(
        BASE,
        &with_pattern("mem-8-0000", "ours"),
        &with_pattern("mem-7-0000", "theirs"),
        &expected,
    );
}

#[test]
fn both_append_to_the_end_of_the_file_and_to_an_empty_section() {
    let ours = BASE.to_owned() + &entry("mem-8-0000", "ours");
    let theirs = BASE.to_owned() + &entry("mem-7-0000", "theirs");
    check(BASE, &ours, &theirs, &(ours.clone() + &entry("mem-7-0000", "theirs")));
    let decision = |id, text| BASE.replace("## Decisions\n", &format!("## Decisions\n{}", entry(id, text)));
    let ours = decision("mem-8-0000", "ours");
    let theirs = decision("mem-7-0000", "theirs");
    let both = ours.replace("\n## Fixes", &(entry("mem-7-0000", "theirs") + "\n## Fixes"));
    check(BASE, &ours, &theirs, &both);
}

#[test]
fn sections_that_each_side_makes_are_both_there() {
    let base = "# Memories\n";
    let ours = format!("# Memories\n\n## Context\n{}", entry("mem-8-0000", "ours"));
    let theirs = format!("# Memories\n\n## Fixes\n{}", entry("mem-7-0000", "theirs"));
    let both = format!("{ours}\n## Fixes\n{}", entry("mem-7-0000", "theirs"));
    check(base, &ours, &theirs, &both);
    let theirs = format!("# Memories\n\n## Context\n{}", entry("mem-7-0000", "theirs"));
    check(base, &ours, &theirs, &(ours.clone() + &entry("mem-7-0000", "theirs")));
    // The same without any file to begin with.
    check("", &ours, &theirs, &(ours.clone() + &entry("mem-7-0000", "theirs")));
}

#[test]
fn neighbours_may_be_changed_and_deleted() {
    let changed = BASE.replace("> first", "> first, changed");
    let deleted = BASE.replace(
        "\n### mem-2-bbbb\n> second\n<!-- tags:  | created: 2025-01-02 -->\n",
        "",
    );
    let both = deleted.replace("> first", "> first, changed");
    check(BASE, &changed, &deleted, &both);
    check(BASE, &deleted, &changed, &both);
    let first = "\n### mem-1-aaaa\n> first\n<!-- tags: a, b | created: 2025-01-01 -->\n";
    check(BASE, &deleted, &BASE.replace(first, ""), &deleted.replace(first, ""));
}

#[test]
fn different_parts_of_one_entry_are_put_together() {
    let ours = BASE.replace("> first", "> first, changed");
    let theirs = BASE
        .replace("tags: a, b |", "tags: b, c |")
        .replace("2025-01-01 -->\n", "2025-01-01 -->\n<!-- ralph: reason=why -->\n");
    let both = theirs.replace("> first", "> first, changed");
    check(BASE, &ours, &theirs, &both);
    check(BASE, &theirs, &ours, &both);
    let ours = BASE.replace("tags: a, b |", "tags: a, x |");
    let theirs = BASE.replace("tags: a, b |", "tags: a, b, y |");
    check(BASE, &ours, &theirs, &BASE.replace("tags: a, b |", "tags: a, x, y |"));
}

#[test]
fn an_entry_that_moved_to_another_section_takes_the_other_sides_text_along() {
    let second = "\n### mem-2-bbbb\n> second\n<!-- tags:  | created: 2025-01-02 -->\n";
    let ours = BASE
        .replace(second, "")
        .replace("## Decisions\n", &format!("## Decisions\n{second}"));
    let theirs = BASE.replace("> second", "> second, changed");
    let both = ours.replace("> second", "> second, changed");
    check(BASE, &ours, &theirs, &both);
    check(BASE, &theirs, &ours, &both);
}

#[test]
fn changed_on_both_sides_keeps_both_whichever_way_it_is_merged() {
    let ours = BASE.replace("> second", "> second for us");
    let theirs = BASE.replace("> second", "> second for them");
    let one = merged(BASE, &ours, &theirs);
    assert_eq!(
        summary(&one.bytes),
        [
            "mem-1-aaaa pattern \"first\" [a, b]",
            "mem-2-bbbb pattern \"second for us\" []",
            "mem-2-cea3 pattern \"second for them\" [] conflicts=mem-2-bbbb",
            "mem-3-cccc fix \"third\" [c]",
        ]
    );
    assert_eq!(one.prose_conflicts, 0);
    assert_eq!(one.entry_conflicts.len(), 1);
    let other = merged(BASE, &theirs, &ours);
    let [one, other] = [one, other].map(|merged| String::from_utf8(merged.bytes).unwrap());
    assert_eq!(texts(one.as_bytes()), texts(other.as_bytes()));

    // The two merges meet, whatever git takes for what they came from.
    for base in [BASE, &ours, &theirs, &one, &other] {
        for (a, b) in [(&one, &other), (&other, &one)] {
            assert_eq!(texts(&merged(base, a, b).bytes), texts(one.as_bytes()), "{base}");
        }
    }
    for base in [BASE, &theirs] {
        assert_eq!(
            texts(&merged(base, &one, &theirs).bytes),
            texts(one.as_bytes()),
            "{base}"
        );
    }
    for base in [BASE, &ours] {
        assert_eq!(
            texts(&merged(base, &ours, &other).bytes),
            texts(one.as_bytes()),
            "{base}"
        );
    }
}

#[test]
fn a_branch_that_goes_on_replaces_the_copy_of_what_it_said() {
    let ours = BASE.replace("> second", "> second for us");
    let theirs = BASE.replace("> second", "> second for them");
    let later = BASE.replace("> second", "> second for them, later");
    let first = String::from_utf8(merged(BASE, &ours, &theirs).bytes).unwrap();
    let second = merged(&theirs, &first, &later);
    assert_eq!(
        texts(&second.bytes),
        ["first", "second for them, later", "second for us", "third"]
    );
    let back = merged(&theirs, &later, &first);
    assert_eq!(
        texts(&back.bytes),
        ["first", "second for them, later", "second for us", "third"]
    );
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let mut texts: Vec<String> = notes(bytes).into_iter().map(|note| note.content).collect();
    texts.sort();
    texts
}

#[test]
fn an_id_that_is_taken_is_not_given_to_a_copy() {
    let ours = BASE.replace("> second", "> second for us") + &entry("mem-2-cea3", "somebody's own");
    let theirs = BASE.replace("> second", "> second for them");
    let ids: Vec<String> = notes(&merged(BASE, &ours, &theirs).bytes)
        .into_iter()
        .map(|note| note.id.to_string())
        .collect();
    assert_eq!(
        ids,
        ["mem-1-aaaa", "mem-2-bbbb", "mem-2-cea4", "mem-3-cccc", "mem-2-cea3"]
    );
}

#[test]
fn what_one_side_deleted_and_the_other_changed_stays() {
    let deleted = BASE.replace(
        "\n### mem-2-bbbb\n> second\n<!-- tags:  | created: 2025-01-02 -->\n",
        "",
    );
    let changed = BASE.replace("> second", "> second, changed");
    for (ours, theirs) in [(&deleted, &changed), (&changed, &deleted)] {
        let merged = merged(BASE, ours, theirs);
        assert_eq!(texts(&merged.bytes), ["first", "second, changed", "third"]);
        assert_eq!(merged.prose_conflicts, 0);
    }
}

#[test]
fn the_same_id_added_by_both() {
    let same = with_pattern("mem-8-0000", "one text");
    let tagged = same.replace("tags:  | created: 2025-01-09", "tags: x | created: 2025-01-09");
    check(
        BASE,
        &(same.clone() + &entry("mem-9-0000", "more")),
        &tagged,
        &(tagged.clone() + &entry("mem-9-0000", "more")),
    );
    let other = with_pattern("mem-8-0000", "another text");
    let merged = merged(BASE, &same, &other);
    assert_eq!(
        texts(&merged.bytes),
        ["another text", "first", "one text", "second", "third"]
    );
    let copy = &notes(&merged.bytes)[3];
    assert_eq!(copy.extra.get(Extra::CONFLICTS), Some("mem-8-0000"));
}

#[test]
fn prose_merges_line_by_line_and_conflicts_between_markers() {
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
    // Both add a remark at the same place: that is a conflict, and the entries stand outside of it.
    let theirs = theirs.replace("\n## Decisions", "\nA remark of theirs.\n\n## Decisions");
    let merged = merged(BASE, &ours, &theirs);
    let text = String::from_utf8(merged.bytes).unwrap();
    let (_, conflict) = text.split_once("<<<<<<< ours\n").unwrap();
    let (conflict, _) = conflict.split_once(">>>>>>> theirs\n").unwrap();
    assert_eq!(conflict, "A remark of ours.\n=======\nA remark of theirs.\n");
    assert_eq!(texts(text.as_bytes()), ["first", "ours", "second", "theirs", "third"]);
}

#[test]
fn line_breaks_and_a_byte_order_mark_do_not_stand_in_the_way() {
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
fn a_last_line_without_a_break_gets_one_where_something_follows() {
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
fn what_cannot_be_read_is_prose_and_stays() {
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
    let merged = merge(Shelf::Memories, base.as_bytes(), &ours, theirs.as_bytes()).unwrap();
    assert!(merged.bytes.windows(4).any(|bytes| bytes == b"> \xff\xfe"));
    assert_eq!(texts(&merged.bytes).len(), 5);
}

#[test]
fn entries_with_the_same_id_are_all_kept() {
    let twice = BASE.to_owned() + &entry("mem-3-cccc", "third, of another merge");
    let theirs = BASE.replace("> third", "> third, changed");
    for (ours, theirs) in [(&twice, &theirs), (&theirs, &twice)] {
        let texts = texts(&merged(BASE, ours, theirs).bytes);
        assert!(texts.contains(&"third, of another merge".to_owned()), "{texts:?}");
        assert!(texts.contains(&"third, changed".to_owned()), "{texts:?}");
    }
}

#[test]
fn text_among_the_parts_of_an_entry_goes_with_it() {
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
fn long_texts_that_have_nothing_in_common_take_no_time() {
    let lines = |side: &str| -> String { (0..20_000).map(|number| format!("{side} {number}\n")).collect() };
    let merged = merged(&lines("base"), &lines("ours"), &lines("theirs"));
    assert_eq!(merged.prose_conflicts, 1);
}

#[test]
fn guardrails_merge_in_their_own_sections() {
    let base = Shelf::Guardrails.template();
    let sign = "### Sign: Careful\n- **Trigger**: always\n- **Instruction**: look twice\n";
    let ours = base.replace("## Fixes\n", &format!("## Fixes\n{}", entry("fix-8-0000", "ours"))) + sign;
    let theirs = base.replace("## Fixes\n", &format!("## Fixes\n{}", entry("fix-7-0000", "theirs")));
    let merged = merge(Shelf::Guardrails, base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap();
    let document = Document::parse(Shelf::Guardrails, &merged.bytes);
    let ids: Vec<&str> = document.entries().iter().map(|entry| document.id(entry)).collect();
    assert_eq!(ids, ["fix-8-0000", "fix-7-0000"]);
    assert!(String::from_utf8_lossy(&merged.bytes).ends_with(sign));
}

#[test]
fn signs_are_read_after_a_merge_as_before() {
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
        let merged = merge(Shelf::Guardrails, base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap();
        let document = Document::parse(Shelf::Guardrails, &merged.bytes);
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
