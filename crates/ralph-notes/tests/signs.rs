//! Tests of parsing Signs, and that migrating them changes nothing else.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use insta::assert_snapshot;
use jiff::civil::date;
use proptest::prelude::*;
use ralph_model::{Extra, Note, NoteFileKind, NoteId, NoteKind, Tags};
use ralph_notes::{Document, Form, Sign};

fn parse(bytes: &[u8]) -> Document<'_> {
    Document::parse(NoteFileKind::Guardrails, bytes)
}

/// One line per Sign, `id [section] text`, then the entries and problems.
fn summary(text: &str) -> String {
    let document = parse(text.as_bytes());
    let signs = document.signs().into_iter().map(|sign| {
        let section = sign.section.map_or("-", NoteKind::word);
        format!("{} [{section}] {}", sign.id, sign.text())
    });
    let entries = document
        .entries()
        .iter()
        .map(|entry| format!("{} {}", document.id(entry), document.content(entry)));
    let problems = document.validate().into_iter().map(|problem| problem.kind.to_string());
    signs.chain(entries).chain(problems).collect::<Vec<_>>().join("\n")
}

/// Migrates all Signs; those outside of a section become fixes.
fn migrated(text: &str) -> String {
    let document = parse(text.as_bytes());
    let signs: Vec<(Sign, Note)> = document
        .signs()
        .into_iter()
        .zip(0u16..)
        .map(|(sign, number)| {
            let kind = sign.section.unwrap_or(NoteKind::Fix);
            let mut extra = Extra::default();
            extra.set(Extra::SOURCE, &sign.id);
            let note = Note {
                id: NoteId::new(kind.word(), 7, number),
                kind,
                content: sign.text(),
                tags: Tags::default(),
                created: date(2025, 1, 20),
                extra,
            };
            (sign, note)
        })
        .collect();
    String::from_utf8(document.migrate(&signs).apply(text.as_bytes())).unwrap()
}

#[test]
fn conflict_markers_end_a_sign() {
    let text = "\
### Sign: Split
- **Trigger**: always
<<<<<<< ours
- **Instruction**: this
=======
- **Instruction**: that
>>>>>>> theirs

<<<<<<< ours
### Sign: Ours
- one
=======
### Sign: Theirs
- two
>>>>>>> theirs

### Sign: Underlined
A line
=======
";
    assert_snapshot!(summary(text), @r"
    sign-split [-] Split. always
    sign-ours [-] Ours. one
    sign-theirs [-] Theirs. two
    sign-underlined [-] Underlined
    A line
    =======
    unresolved merge conflict, which may hide entries; resolve it and remove the marker lines
    unresolved merge conflict, which may hide entries; resolve it and remove the marker lines
    ");
}

#[test]
fn signs_are_read_as_people_write_them() {
    let text = "\
# Guardrails

## Core Signs

### Sign: Read Before Writing
- **Trigger**: Before modifying any file
- **Instruction**: Read it first
- **Added after**: Core principle

### Sign: Plain
* Trigger: the build fails
* Instruction: run `npm ci`,
  then build again

### Sign: Colon inside
- **Trigger:** a migration is added
- **Instruction:** bump the version.

### sign: Only a paragraph
Never push to main.

### Sign: Only an instruction

- **Instruction**: Ask!

### Sign: Only a trigger
- **Trigger**: CI is red

### Sign: Only a name

### Sign: Without bullets
**Trigger**: a
**Instruction**: b

### Sign: Plain
- unlabelled: stays whole
";
    assert_snapshot!(summary(text), @"
    sign-read-before-writing [-] Read Before Writing. Before modifying any file: Read it first. Added after: Core principle
    sign-plain [-] Plain
    the build fails: run `npm ci`,
    then build again
    sign-colon-inside [-] Colon inside. a migration is added: bump the version.
    sign-only-a-paragraph [-] Only a paragraph. Never push to main.
    sign-only-an-instruction [-] Only an instruction. Ask!
    sign-only-a-trigger [-] Only a trigger. CI is red
    sign-only-a-name [-] Only a name
    sign-without-bullets [-] Without bullets. a: b
    sign-plain-2 [-] Plain. unlabelled: stays whole
    ");
    assert_eq!(parse(text.as_bytes()).form(), Form::Legacy);
}

#[test]
fn parts_of_a_sign_are_distinguished() {
    let text =
        "### Sign: A 🚧\r\n- **Trigger**: x\r\n- **Instruction**: y\r\n  ```sh\r\n  ### Sign: no\r\n  - z\r\n  ```\r\n";
    let signs = parse(text.as_bytes()).signs();
    let [sign] = signs.as_slice() else {
        unreachable!("{signs:?}")
    };
    assert_eq!((sign.id.as_str(), sign.name.as_str()), ("sign-a", "A 🚧"));
    assert_eq!((sign.trigger.as_str(), sign.others.len()), ("x", 0));
    assert_eq!(sign.instruction, "y\n  ```sh\n  ### Sign: no\n  - z\n  ```");
}

#[test]
fn structured_file_may_have_signs_in_any_section() {
    let text = "\
# Guardrails

### Sign: On top
- do it

## Fixes
### fix-1-0000
> an entry
### Sign: Among fixes
- **Instruction**: mend it
> a stray quote
## Patterns
### pattern-2-0000
> another
<!-- tags:  | created: 2025-01-01 -->
## Ideas
### Sign: Elsewhere
- x
";
    assert_snapshot!(summary(text), @"
    sign-on-top [-] On top. do it
    sign-among-fixes [fix] Among fixes. mend it
    sign-elsewhere [-] Elsewhere. x
    fix-1-0000 an entry
    pattern-2-0000 another
    these quoted lines belong to no entry
    ");
    assert_eq!(parse(text.as_bytes()).form(), Form::Structured);
}

#[test]
fn lookalike_signs_are_ignored() {
    for text in [
        "```\n### Sign: in a fence\n- **Trigger**: x\n```\n",
        "#### Sign: too deep\n- **Trigger**: x\n",
        "## Sign: a section\n",
        "###Sign: no space\n",
        "### Signs: several\n",
        "> ### Sign: quoted\n",
        "<!-- Copy this:\n\n### Sign: Name\n- **Trigger**: x\n-->\n\nMine.\n",
        "<!--\n### Sign: Name\n- x -->\n<!-- one -->\n",
        "### Sign:\n\n### Sign:   \n",
        "",
    ] {
        assert_eq!(parse(text.as_bytes()).signs(), [], "{text:?}");
        assert_eq!(migrated(text), text);
    }
    // An unclosed comment hides nothing, and a closed comment hides nothing after it.
    for text in [
        "<!-- open\n### Sign: A\n- x\n",
        "<!--\n### Sign: no\n-->\n### Sign: A\n- x\n",
    ] {
        assert_eq!(parse(text.as_bytes()).signs().len(), 1, "{text:?}");
    }
    let memories = Document::parse(NoteFileKind::Memories, b"### Sign: A\n- x\n");
    assert_eq!(memories.signs(), []);
    assert_eq!(parse(b"# Guardrails\n").form(), Form::Empty);
    assert_eq!(parse(b"## Fixes\n").form(), Form::Structured);
    let broken = parse(b"### Sign: A\n- \xff\n### Sign: B\n- x\n");
    assert_eq!(broken.signs().len(), 1, "one that is not UTF-8 is not read");
    assert_eq!(broken.problems().len(), 1, "and a problem is reported");
}

#[test]
fn sign_without_letters_has_an_id() {
    assert_snapshot!(summary("### Sign: 🚧\n- x\n### Sign: 🛑\n- y\n"), @"
    sign [-] 🚧. x
    sign-2 [-] 🛑. y
    ");
}

#[test]
fn signs_migrate_to_their_section_or_fixes() {
    let legacy =
        "# Guardrails\n\nOurs.\n\n### Sign: A\n- **Trigger**: t\n- **Instruction**: i\n\nprose\n\n### Sign: B\n- b\n";
    assert_snapshot!(migrated(legacy), @"
    # Guardrails

    Ours.

    prose

    ## Fixes

    ### fix-7-0000
    > A. t: i
    <!-- tags:  | created: 2025-01-20 -->
    <!-- ralph: source=sign-a -->

    ### fix-7-0001
    > B. b
    <!-- tags:  | created: 2025-01-20 -->
    <!-- ralph: source=sign-b -->
    ");
    let structured =
        "## Fixes\n\n### fix-1-0000\n> kept\n\n## Patterns\n\n### Sign: P\n- p\n\n## Mine\n\n### Sign: M\n- m\n\nend";
    assert_snapshot!(migrated(structured), @"
    ## Fixes

    ### fix-1-0000
    > kept

    ### fix-7-0001
    > M. m
    <!-- tags:  | created: 2025-01-20 -->
    <!-- ralph: source=sign-m -->

    ## Patterns

    ### pattern-7-0000
    > P. p
    <!-- tags:  | created: 2025-01-20 -->
    <!-- ralph: source=sign-p -->

    ## Mine

    end
    ");
}

#[test]
fn migration_keeps_line_breaks() {
    assert_eq!(
        migrated("## Fixes\r\n\r\n### Sign: A\r\n- x"),
        "## Fixes\r\n\r\n### fix-7-0000\r\n> A. x\r\n<!-- tags:  | created: 2025-01-20 -->\r\n\
         <!-- ralph: source=sign-a -->"
    );
    assert_eq!(
        migrated("\u{feff}# G\r\n\r\n### Sign: A\r\n- x\r\n\r\n\r\nours\r\n"),
        "\u{feff}# G\r\n\r\n\r\nours\r\n\r\n## Fixes\r\n\r\n### fix-7-0000\r\n> A. x\r\n\
         <!-- tags:  | created: 2025-01-20 -->\r\n<!-- ralph: source=sign-a -->\r\n"
    );
}

#[test]
fn stray_lines_after_a_sign_stay_outside_entries() {
    let text = "## Fixes\n### fix-1-0000\n> kept\n# T\n## Mine\n### Sign: A\n- x\n> stray\n<!-- ralph: a=b -->\n";
    let document = migrated(text);
    assert_snapshot!(summary(&document), @"
    fix-1-0000 kept
    fix-7-0000 A. x
    these quoted lines belong to no entry
    ");
    let in_place = migrated("## Fixes\n### Sign: A\n- x\n<!-- ralph: a=b -->\n");
    let document = parse(in_place.as_bytes());
    assert_eq!(document.extra(&document.entries()[0]).get("a"), None);
}

/// Typical and confusing lines of guardrails files.
fn lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "# Guardrails",
        "## Fixes",
        "## Patterns",
        "## Mine",
        "### fix-1-0000",
        "### pattern-2-0000",
        "### Sign: A",
        "### Sign: B 🚧",
        "### Sign:",
        "- **Trigger**: t",
        "* Instruction: i",
        "- other",
        "  more",
        "prose",
        "> quoted",
        "<!-- tags: a | created: 2025-01-01 -->",
        "<!-- ralph: x=y -->",
        "```",
        "~~~",
        "",
        "",
    ]);
    let eol = prop::sample::select(vec!["\n", "\r\n"]);
    (prop::collection::vec(line, 0..24), eol, any::<bool>()).prop_map(|(lines, eol, last)| {
        let mut text = lines.join(eol);
        if last {
            text.push_str(eol);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn migration_loses_no_sign_and_changes_no_entry(text in lines()) {
        let before = parse(text.as_bytes());
        let after_text = migrated(&text);
        let after = parse(after_text.as_bytes());
        prop_assert_eq!(after.signs(), vec![], "{}", after_text);
        let entries_of = |document: &Document<'_>| -> Vec<(String, Note)> {
            let notes = document.entries().iter().map(|entry| document.note(entry).expect("a note"));
            let mut notes: Vec<_> = notes.map(|note| (note.id.to_string(), note)).collect();
            notes.sort_by(|one, other| (&one.0, &one.1.content).cmp(&(&other.0, &other.1.content)));
            notes
        };
        let new = |id: &str| id.contains("-7-");
        let kept: Vec<_> = entries_of(&after).into_iter().filter(|(id, _)| !new(id)).collect();
        prop_assert_eq!(kept, entries_of(&before), "{}", after_text);
        let made: Vec<String> = entries_of(&after).into_iter().filter(|(id, _)| new(id)).map(|(_, note)| note.content).collect();
        let mut wanted: Vec<String> = before.signs().iter().map(Sign::text).collect();
        let mut made = made;
        wanted.sort();
        made.sort();
        prop_assert_eq!(made, wanted, "{}", after_text);
        // All lines of other authors remain.
        for word in ["prose", "> quoted", "## Mine", "<!-- ralph: x=y -->"] {
            let count = |text: &str| text.lines().filter(|line| line.trim_end() == word).count();
            let in_signs: usize = before.signs().iter().map(|sign| count(&before.sign_lines(sign))).sum();
            prop_assert_eq!(count(&after_text), count(&text) - in_signs, "{} in {}", word, after_text);
        }
    }

    #[test]
    fn any_bytes_parse_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = b"### Sign: ".to_vec();
        file.extend(bytes);
        let document = parse(&file);
        for sign in document.signs() {
            prop_assert!(!sign.text().is_empty());
        }
    }
}
