//! Tests of `prime`: within the budget, whole notes, and valid in every format.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod support;

use jiff::civil::date;
use proptest::prelude::*;
use ralph_memory::inject::{Origins, PrimeFormat, PrimeRequest, Primed, prime};
use ralph_memory::recall::NoteFilter;
use ralph_model::{Budget, Extra, Note, NoteFileKind, NoteId, NoteKind, Tags, Tokens, count, show_invisible};
use ralph_notes::Document;
use support::Files;

fn note(number: usize, kind: NoteKind, content: &str) -> Note {
    let number = i64::try_from(number).unwrap();
    Note {
        id: NoteId::new("mem", 1_700_000_000 + number, 0),
        kind,
        content: content.to_owned(),
        tags: Tags::parse("a, ü").unwrap(),
        created: date(2024, 1, 1),
        extra: Extra::default(),
    }
}

fn primed(notes: &[Note], about: Option<&str>, tokens: u32, format: PrimeFormat) -> Primed {
    let bytes = Document::parse(NoteFileKind::Memories, b"").add(notes).apply(b"");
    let files = Files::new();
    let occasion = PrimeRequest {
        file_kind: NoteFileKind::Memories,
        wanted: &NoteFilter::default(),
        about,
        budget: Budget::of(Tokens(tokens)),
        format,
        origins: &Origins::default(),
    };
    prime(&files.write(NoteFileKind::Memories, &bytes).search_index(), &occasion).unwrap()
}

#[test]
fn relevant_notes_precede_newer_ones() {
    let notes: Vec<Note> = ["the docker daemon is down", "unrelated", "also unrelated"]
        .iter()
        .enumerate()
        .map(|(number, text)| note(number, NoteKind::Fix, text))
        .collect();
    let primed = primed(&notes, Some("start docker"), 50, PrimeFormat::Markdown);
    assert!(
        primed.text.contains("docker daemon") && primed.left_out > 0,
        "{primed:?}"
    );
}

#[test]
fn superseded_note_is_never_included() {
    let old = note(0, NoteKind::Decision, "we use npm");
    let mut new = note(1, NoteKind::Decision, "we use pnpm");
    new.extra.set(Extra::SUPERSEDES, old.id.as_str());
    let primed = primed(&[old, new], Some("npm"), 0, PrimeFormat::Markdown);
    assert_eq!((primed.shown, primed.left_out), (1, 0));
    assert!(!primed.text.contains("we use npm\n"), "{}", primed.text);
}

#[test]
fn duplicate_id_is_included_twice() {
    let twice = [
        note(0, NoteKind::Fix, "docker daemon"),
        note(0, NoteKind::Fix, "docker daemon"),
    ];
    for about in [None, Some("docker")] {
        let primed = primed(&twice, about, 0, PrimeFormat::Markdown);
        assert_eq!((primed.shown, primed.left_out), (2, 0), "{about:?}");
    }
}

#[test]
fn left_out_count_includes_notes_not_read() {
    let mut notes: Vec<Note> = (0..200)
        .map(|number| note(number, NoteKind::ALL[number % 3], "a text of some length"))
        .collect();
    let first = notes[0].id.to_string();
    notes[199].extra.set(Extra::SUPERSEDES, &first);
    let bytes = Document::parse(NoteFileKind::Memories, b"").add(&notes).apply(b"");
    let files = Files::new();
    let search_index = files.write(NoteFileKind::Memories, &bytes).search_index();
    let fixes = NoteFilter {
        kinds: vec![NoteKind::Fix],
        ..NoteFilter::default()
    };
    for (wanted, standing) in [(&NoteFilter::default(), 199), (&fixes, 66)] {
        for about in [None, Some("text")] {
            let occasion = PrimeRequest {
                file_kind: NoteFileKind::Memories,
                wanted,
                about,
                budget: Budget::of(Tokens(150)),
                format: PrimeFormat::Markdown,
                origins: &Origins::default(),
            };
            let primed = prime(&search_index, &occasion).unwrap();
            assert!(primed.shown > 1 && primed.text.chars().count() <= 600, "{primed:?}");
            assert_eq!(primed.shown + primed.left_out, standing, "{about:?}");
            let said = format!("<!-- {} left out -->", count(primed.left_out, "entry", "entries"));
            assert!(primed.text.contains(&said), "{}", primed.text);
        }
    }
}

#[test]
fn signs_come_last_and_count() {
    let text =
        "### Sign: Old\n- **Trigger**: t\n- **Instruction**: docker\n\n## Fixes\n\n### fix-1700000000-aaaa\n> new\n";
    let files = Files::new();
    let search_index = files.write(NoteFileKind::Guardrails, text.as_bytes()).search_index();
    for (about, tokens, shown) in [(None, 0, 2), (Some("docker"), 0, 2), (None, 30, 1)] {
        let occasion = PrimeRequest {
            file_kind: NoteFileKind::Guardrails,
            wanted: &NoteFilter::default(),
            about,
            budget: Budget::of(Tokens(tokens)),
            format: PrimeFormat::Json,
            origins: &Origins::default(),
        };
        let primed = prime(&search_index, &occasion).unwrap();
        assert_eq!((primed.shown, primed.left_out), (shown, 2 - shown), "{primed:?}");
        let list: Vec<serde_json::Value> = serde_json::from_str(&primed.text).unwrap();
        if shown == 2 {
            assert_eq!(list[1]["memory_type"], "sign");
        }
    }
}

#[test]
fn no_notes_give_no_text() {
    assert_eq!(primed(&[], None, 100, PrimeFormat::Markdown).text, "");
    assert_eq!(primed(&[], None, 100, PrimeFormat::Json).text, "[]\n");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn budget_is_respected_with_whole_notes(
        texts in prop::collection::vec(("\\PC{1,120}", 0usize..4), 0..12),
        tokens in 0u32..300,
        about in prop::option::of("\\PC{0,20}"),
    ) {
        let notes: Vec<Note> = texts
            .iter()
            .filter(|(text, _)| !text.trim().is_empty())
            .enumerate()
            .map(|(number, (text, kind))| note(number, NoteKind::ALL[*kind], text))
            .collect();
        for format in [PrimeFormat::Markdown, PrimeFormat::Json] {
            let primed = primed(&notes, about.as_deref(), tokens, format);
            prop_assert_eq!(primed.shown + primed.left_out, notes.len());
            if tokens > 0 {
                let characters = primed.text.chars().count();
                prop_assert!(characters <= tokens as usize * 4, "{} characters: {}", characters, primed.text);
            } else {
                prop_assert_eq!(primed.left_out, 0);
            }
            match format {
                PrimeFormat::Json => {
                    let list: Vec<serde_json::Value> = serde_json::from_str(&primed.text).unwrap();
                    prop_assert_eq!(list.len(), primed.shown);
                }
                PrimeFormat::Markdown | PrimeFormat::Section => {
                    let document = Document::parse(NoteFileKind::Memories, primed.text.as_bytes());
                    prop_assert!(document.validate().is_empty());
                    // Agents read it, so invisible characters are made visible.
                    let shown = |note: &Note| (note.id.clone(), show_invisible(&note.content).into_owned());
                    let stored: Vec<_> = notes.iter().map(shown).collect();
                    for entry in document.entries() {
                        let note = document.note(entry).unwrap();
                        prop_assert!(stored.contains(&(note.id, note.content)));
                    }
                    prop_assert_eq!(document.entries().len(), primed.shown);
                }
            }
        }
    }
}
