//! Tests of adding many notes at once: unique ids, file order and selection.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod support;

use std::collections::HashSet;

use jiff::Timestamp;
use ralph_memory::capture::{Draft, NoteRepository, NoteRepositoryError, SecretPolicy};
use ralph_model::{Entropy, Extra, Note, NoteFileKind, NoteKind, SplitMix64, Tags};
use support::Files;

/// The current time in [`Files::with_index`].
const NOW: i64 = 1_704_067_200;

/// Suffixes from 0 up to a limit, repeatedly.
struct Suffixes {
    next: u64,
    limit: u64,
}

impl Suffixes {
    fn below(limit: u64) -> Self {
        Self { next: 0, limit }
    }
}

impl Entropy for Suffixes {
    fn next_bits(&mut self) -> u64 {
        let bits = self.next << 48;
        self.next = (self.next + 1) % self.limit;
        bits
    }
}

fn draft(content: String, at: Option<i64>) -> Draft {
    Draft {
        kind: NoteKind::Context,
        content,
        tags: Tags::default(),
        extra: Extra::default(),
        secrets: SecretPolicy::Refuse,
        at: at.map(|second| Timestamp::from_second(second).unwrap()),
    }
}

fn drafts(count: usize, at: Option<i64>) -> Vec<Draft> {
    (0..count).map(|number| draft(format!("note {number}"), at)).collect()
}

fn current_notes(note_repository: &NoteRepository<'_>) -> Vec<Note> {
    let reading = note_repository.read().unwrap();
    let document = reading.document();
    let entries = document.entries().iter();
    entries.map(|entry| document.note(entry).unwrap()).collect()
}

fn seconds(notes: &[Note]) -> Vec<i64> {
    notes.iter().map(|note| note.id.unix_second()).collect()
}

#[test]
fn batch_keeps_its_order_and_times() {
    let files = Files::with_index();
    let note_repository = files.note_repository(NoteFileKind::Memories);
    let times = [Some(86_400), None, Some(5), Some(86_400)];
    let many: Vec<Draft> = (0..2_000)
        .map(|number| draft(format!("note {number}"), times[number % times.len()]))
        .collect();
    let stored = note_repository.add(&many, &mut SplitMix64::new(7)).unwrap();
    assert_eq!(current_notes(&note_repository), stored.notes);
    let ids: HashSet<&str> = stored.notes.iter().map(|note| note.id.as_str()).collect();
    assert_eq!(ids.len(), many.len());
    for (number, note) in stored.notes.iter().enumerate() {
        let (second, day) = match times[number % times.len()] {
            Some(second @ 5) => (second, "1970-01-01"),
            Some(second) => (second, "1970-01-02"),
            None => (NOW, "2024-01-01"),
        };
        let made = (note.content.as_str(), note.id.unix_second(), note.created.to_string());
        assert_eq!(made, (format!("note {number}").as_str(), second, day.to_owned()));
    }
}

#[test]
fn exhausted_second_is_advanced() {
    let files = Files::with_index();
    let note_repository = files.note_repository(NoteFileKind::Memories);
    let stored = note_repository
        .add(&drafts(20, Some(100)), &mut Suffixes::below(6))
        .unwrap();
    let expected: Vec<i64> = (0..20).map(|number| 100 + number / 6).collect();
    assert_eq!(seconds(&stored.notes), expected);
    assert_eq!(current_notes(&note_repository), stored.notes);
}

#[test]
fn out_of_range_times_are_clamped() {
    let files = Files::with_index();
    let note_repository = files.note_repository(NoteFileKind::Memories);
    let ends = [Timestamp::MIN, Timestamp::MAX].map(|end| Some(end.as_second()));
    let many: Vec<Draft> = ends.into_iter().flat_map(|end| drafts(10, end)).collect();
    let stored = note_repository.add(&many, &mut Suffixes::below(6)).unwrap();
    assert_eq!(current_notes(&note_repository), stored.notes);
}

#[test]
fn ids_in_the_file_or_log_are_never_reused() {
    let files = Files::with_index();
    let note_repository = files.note_repository(NoteFileKind::Memories);
    let first = note_repository
        .add(&drafts(30, None), &mut Suffixes::below(99))
        .unwrap()
        .notes;
    let (deleted, kept) = first.split_at(10);
    let ids: Vec<String> = deleted.iter().map(|note| note.id.to_string()).collect();
    note_repository.delete(&ids).unwrap();
    // Suffix 32 only occurs in a text.
    let text = format!("see mem-{NOW}-0020.");
    let mut suffixes = Suffixes { next: 40, limit: 99 };
    let said = note_repository.add(&[draft(text, None)], &mut suffixes).unwrap().notes;
    let second = note_repository
        .add(&drafts(30, None), &mut Suffixes::below(99))
        .unwrap()
        .notes;
    let suffixes: Vec<String> = second
        .iter()
        .map(|note| note.id.as_str().rsplit('-').next().unwrap().to_owned())
        .collect();
    let free = (30..).filter(|suffix| ![32, 40].contains(suffix)).take(30);
    assert_eq!(suffixes, free.map(|suffix| format!("{suffix:04x}")).collect::<Vec<_>>());
    assert_eq!(current_notes(&note_repository), [kept, &said, &second].concat());
}

#[test]
fn several_selectors_work_like_single_ones() {
    let files = Files::with_index();
    let note_repository = files.note_repository(NoteFileKind::Memories);
    let notes = note_repository
        .add(&drafts(300, None), &mut SplitMix64::new(3))
        .unwrap()
        .notes;
    let ids: Vec<String> = notes.iter().rev().map(|note| note.id.to_string()).collect();
    let reading = note_repository.read().unwrap();
    let document = reading.document();
    let selected = note_repository.select_all(&document, &ids).unwrap();
    let found: Vec<&str> = selected.iter().map(|entry| document.id(entry)).collect();
    assert_eq!(found, ids);
    for wrong in ["mem-", "mem-1-0000", "", "x"] {
        let alone = note_repository.select(&document, wrong).unwrap_err().to_string();
        let mut among = ids.clone();
        among.insert(5, wrong.to_owned());
        let error = note_repository.select_all(&document, &among).unwrap_err();
        assert_eq!(error.to_string(), alone);
        let refused: Result<_, NoteRepositoryError> = note_repository.delete(&among);
        assert_eq!(refused.unwrap_err().to_string(), alone);
    }
    assert_eq!(current_notes(&note_repository), notes);
    let twice = [&ids[..100], &ids[50..]].concat();
    let deleted = note_repository.delete(&twice).unwrap().notes;
    assert!(deleted.iter().rev().eq(&notes));
    assert_eq!(current_notes(&note_repository), []);
    let restored = note_repository.restore(&ids).unwrap().notes;
    assert_eq!(restored, deleted);
}
