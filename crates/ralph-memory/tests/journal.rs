//! Tests of finding relevant journal entries of other runs.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use ralph_memory::recall::{related_rows, search_rows};
use ralph_model::{NewJournalRow, Outcome, RunId};
use ralph_search::SearchIndex;
use ralph_store::{Settlement, Store};
use ralph_testkit::journal_row;

struct Journal {
    _folder: tempfile::TempDir,
    store: Store,
    rows: u32,
}

impl Journal {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            _folder: folder,
            store,
            rows: 0,
        }
    }

    /// Entries of a run with these notes.
    fn with(self, run: u64, notes: &[&str]) -> Self {
        notes.iter().fold(self, |journal, notes| {
            journal.with_row(run, ("", Outcome::Done), Some(*notes))
        })
    }

    /// An entry of a run with its task and outcome.
    fn with_row(mut self, run: u64, (title, outcome): (&str, Outcome), notes: Option<&str>) -> Self {
        self.rows += 1;
        let row = NewJournalRow {
            task_title: title.to_owned(),
            outcome,
            notes: notes.map(str::to_owned),
            ..journal_row(RunId::new(run), self.rows)
        };
        self.store.settle(&Settlement::new(row, 0)).unwrap();
        self
    }

    fn index(&self) -> SearchIndex {
        SearchIndex::of_facts(&self.store).unwrap()
    }

    fn searched(&self, text: &str) -> Vec<i64> {
        let rows = search_rows((&self.index(), &self.store), text, 5).unwrap();
        rows.into_iter().map(|(row, _)| row.id).collect()
    }

    fn related(&self, text: &str) -> Vec<i64> {
        let rows = related_rows((&self.index(), &self.store), text, Some(&RunId::new(1)), 5).unwrap();
        rows.into_iter().map(|(row, _)| row.id).collect()
    }
}

#[test]
fn related_entries_are_ranked() {
    let journal = Journal::new().with(1, &["parse_config reads the file"]).with(
        2,
        &[
            "parse_config reads the file",
            "the docker daemon",
            "the config has a file",
        ],
    );
    assert_eq!(journal.related("mend parse_config"), [2, 4]);
    assert_eq!(journal.related("tea"), [] as [i64; 0]);
    assert_eq!(journal.related(""), [] as [i64; 0]);
}

#[test]
fn fault_2_special_characters_in_a_task_find_its_entries() {
    let journal = Journal::new().with(2, &["the importer read C:/data, and it failed"]);
    for text in [
        "importer: fix, \"quoted\" AND NOT (broken",
        "don't NEAR(importer, 2) OR * ^ + -",
        "terms:importer '\"",
        "src/importer.rs -- {x} \\ ; DROP",
    ] {
        assert_eq!(journal.related(text), [1], "{text}");
    }
}

#[test]
fn fault_6_equal_entries_have_a_fixed_order() {
    let notes: Vec<String> = (0..9).map(|number| format!("lexer {number}")).collect();
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    let journal = Journal::new().with(2, &notes);
    for _ in 0..3 {
        assert_eq!(journal.related("the lexer"), [9, 8, 7, 6, 5], "the newest first");
    }
}

#[test]
fn duplicates_keep_only_the_newest_entry() {
    let journal = Journal::new().with(
        2,
        &[
            "start docker before the tests",
            "other",
            "start docker before the tests",
        ],
    );
    assert_eq!(journal.related("docker"), [3]);
    assert_eq!(journal.searched("docker"), [3, 1], "whoever looks sees every attempt");
}

#[test]
fn entries_without_notes_are_unique_by_task_and_outcome() {
    let (one, other) = ("mend the lexer", "mend lexer");
    let journal = Journal::new()
        .with_row(2, (one, Outcome::Failed), None)
        .with_row(2, (one, Outcome::Failed), None)
        .with_row(2, (one, Outcome::Done), None)
        .with_row(2, (other, Outcome::Done), None);
    assert_eq!(journal.related("the lexer"), [4, 3, 2]);
    assert_eq!(journal.searched("the lexer"), [4, 3, 2, 1]);
}

#[test]
fn common_words_alone_do_not_match() {
    let many: Vec<String> = (0..40).map(|number| format!("ran the tests of part{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let journal = Journal::new().with(2, &many).with(3, &["the gizmo needs tests"]);
    assert_eq!(journal.related("run tests"), [] as [i64; 0]);
    assert_eq!(journal.related("run tests of the gizmo"), [41]);
    let found = search_rows((&journal.index(), &journal.store), "tests", 3).unwrap();
    assert_eq!(found.len(), 3, "a person who asks for a common word means it");
}

#[test]
fn entries_of_the_current_run_do_not_crowd_out_others() {
    let here: Vec<String> = (0..140).map(|number| format!("lexer {number}")).collect();
    let here: Vec<&str> = here.iter().map(String::as_str).collect();
    let other: Vec<String> = (0..500).map(|number| format!("nothing {number}")).collect();
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    let journal = Journal::new()
        .with(2, &["the lexer of old"])
        .with(3, &other)
        .with(1, &here);
    assert_eq!(journal.related("the lexer"), [1]);
}
