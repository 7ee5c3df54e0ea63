//! Merging entries.

use super::*;

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
fn both_append_to_file_end_and_empty_section() {
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
fn new_sections_of_both_sides_are_kept() {
    let base = "# Memories\n";
    let ours = format!("# Memories\n\n## Context\n{}", entry("mem-8-0000", "ours"));
    let theirs = format!("# Memories\n\n## Fixes\n{}", entry("mem-7-0000", "theirs"));
    let both = format!("{ours}\n## Fixes\n{}", entry("mem-7-0000", "theirs"));
    check(base, &ours, &theirs, &both);
    let theirs = format!("# Memories\n\n## Context\n{}", entry("mem-7-0000", "theirs"));
    check(base, &ours, &theirs, &(ours.clone() + &entry("mem-7-0000", "theirs")));
    // The same without a common ancestor.
    check("", &ours, &theirs, &(ours.clone() + &entry("mem-7-0000", "theirs")));
}

#[test]
fn adjacent_changes_and_deletions_merge() {
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
fn changes_to_different_parts_of_an_entry_merge() {
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
fn moved_entry_gets_the_other_sides_text() {
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
fn conflicting_texts_are_both_kept() {
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

    // The two merges converge, whatever git picks as their common ancestor.
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
fn later_change_replaces_the_copy_of_the_earlier() {
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

#[test]
fn copy_never_reuses_an_id() {
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
fn entry_changed_by_one_side_survives_deletion() {
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
fn both_sides_add_the_same_id() {
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
