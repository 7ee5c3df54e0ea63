//! Reading the journal.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use jiff::Timestamp;
use ralph_model::{
    Denial, Difficulty, ErrorCategory, Evidence, FeatureId, JournalRow, NewJournalRow, Outcome, RunId, StopReason,
    TaskId, Usage,
};
use ralph_store::{FactKind, JournalFilter, Settlement, Store};

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_750_000_000 + second).unwrap()
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self { folder, store }
    }

    fn add(&mut self, row: NewJournalRow) -> i64 {
        self.store.settle(&Settlement::new(row, 0)).unwrap().journal
    }

    fn listed(&self, filter: &JournalFilter) -> Vec<i64> {
        let rows = self.store.journal_list(filter).unwrap();
        rows.into_iter().map(|row| row.id).collect()
    }
}

fn row(run: u64, iteration: u32, outcome: Outcome) -> NewJournalRow {
    NewJournalRow {
        run: RunId::new(run),
        iteration,
        task: Some(TaskId::new(u64::from(iteration % 2))),
        task_title: "Parse dates".to_owned(),
        task_type: ralph_model::TaskType::General,
        tags: Vec::new(),
        feature: Some(FeatureId::new(7)),
        attempt: 2,
        outcome,
        stop: StopReason::TaskDone,
        reason: "a gate said no".to_owned(),
        model: Some("opus".to_owned()),
        model_rationale: "it was asked for".to_owned(),
        duration_ms: 1234,
        usage: Usage {
            cost_usd: 0.25,
            input_tokens: 3,
            output_tokens: 4,
        },
        files_modified: vec![format!("src/part_{iteration}/lib.rs"), "README.md".to_owned()],
        changed_nothing: true,
        evidence: Evidence::Both,
        notes: Some("größer ist_nicht besser".to_owned()),
        difficulty: Some(Difficulty::Hard),
        error_category: Some(ErrorCategory::TestFailure),
        malformed_sigils: 5,
        denials: vec![Denial {
            tool: "Bash".to_owned(),
            about: "make".to_owned(),
            permit: Some("allow = [\"make\"]".to_owned()),
        }],
        created_at: at(i64::from(iteration)),
    }
}

#[test]
fn entry_is_read_as_written() {
    let mut bench = Bench::new();
    let full = row(1, 1, Outcome::Retried);
    let bare = NewJournalRow {
        task: None,
        task_type: ralph_model::TaskType::General,
        tags: Vec::new(),
        feature: None,
        model: None,
        notes: None,
        difficulty: None,
        error_category: None,
        files_modified: Vec::new(),
        ..row(1, 2, Outcome::Interrupted)
    };
    let ids = [full.clone(), bare.clone()].map(|row| bench.add(row));
    let written = |id, row: &NewJournalRow| JournalRow {
        id,
        prompt_sha256: None,
        row: row.clone(),
    };
    assert_eq!(bench.store.journal_row(ids[0]).unwrap(), Some(written(ids[0], &full)));
    assert_eq!(bench.store.journal_last().unwrap(), Some(written(ids[1], &bare)));
    assert_eq!(
        bench.store.journal_of_iteration(&RunId::new(1), 2).unwrap(),
        Some(written(ids[1], &bare))
    );
    assert_eq!(bench.store.journal_of_iteration(&RunId::new(2), 2).unwrap(), None);
    assert_eq!(bench.store.journal_row(99).unwrap(), None);
    let both = bench.store.journal_rows(&[ids[1], 99, ids[0]]).unwrap();
    assert_eq!(both, [written(ids[1], &bare), written(ids[0], &full)]);
    assert_eq!(bench.store.injections(ids[0]).unwrap(), []);
}

#[test]
fn entries_of_run_and_task_are_chronological() {
    let mut bench = Bench::new();
    for (run, iteration) in [(1, 1), (1, 2), (2, 1), (1, 3), (1, 4)] {
        bench.add(row(run, iteration, Outcome::Done));
    }
    let iterations = |rows: Vec<JournalRow>| rows.into_iter().map(|row| row.row.iteration).collect::<Vec<_>>();
    assert_eq!(
        iterations(bench.store.journal_recent(&RunId::new(1), 3).unwrap()),
        [2, 3, 4]
    );
    assert_eq!(
        iterations(bench.store.journal_recent(&RunId::new(9), 3).unwrap()),
        [] as [u32; 0]
    );
    assert_eq!(
        iterations(bench.store.journal_of_task(&TaskId::new(1)).unwrap()),
        [1, 1, 3]
    );
    for (most, expected, earlier) in [(2, &[1, 3][..], 1), (3, &[1, 1, 3], 0), (9, &[1, 1, 3], 0), (0, &[], 3)] {
        let (rows, before) = bench.store.journal_last_of_task(&TaskId::new(1), most).unwrap();
        assert_eq!((iterations(rows).as_slice(), before), (expected, earlier), "{most}");
    }
}

#[test]
fn excused_attempt_is_forgotten_when_done() {
    let mut bench = Bench::new();
    let (task, stop) = (TaskId::new(1), StopReason::TaskDone);
    bench.add(row(1, 1, Outcome::Retried));
    bench.add(NewJournalRow {
        stop: StopReason::Cancelled,
        ..row(1, 3, Outcome::Interrupted)
    });
    assert!(!bench.store.had_excused_attempt(&task).unwrap());
    let excused = row(1, 5, Outcome::Interrupted);
    bench.add(NewJournalRow { stop, ..excused });
    bench.add(row(1, 7, Outcome::Retried));
    assert!(bench.store.had_excused_attempt(&task).unwrap());
    assert!(!bench.store.had_excused_attempt(&TaskId::new(9)).unwrap());
    bench.add(row(1, 9, Outcome::Done));
    assert!(!bench.store.had_excused_attempt(&task).unwrap());
}

#[test]
fn last_counted_entry_and_context_overflow_are_found() {
    let mut bench = Bench::new();
    let task = TaskId::new(1);
    assert_eq!(bench.store.journal_last_counted(&task).unwrap(), None);
    bench.add(row(1, 1, Outcome::Failed));
    assert!(!bench.store.has_overflowed(&task).unwrap());
    bench.add(NewJournalRow {
        stop: StopReason::ContextOverflow,
        ..row(1, 3, Outcome::Interrupted)
    });
    let last = bench.store.journal_last_counted(&task).unwrap().unwrap();
    assert_eq!(last.row.iteration, 1);
    assert!(bench.store.has_overflowed(&task).unwrap());
    assert!(!bench.store.has_overflowed(&TaskId::new(9)).unwrap());
}

#[test]
fn every_filter_field_is_applied() {
    let mut bench = Bench::new();
    for (run, iteration, outcome) in [(1, 1, Outcome::Done), (1, 2, Outcome::Failed), (2, 3, Outcome::Done)] {
        bench.add(row(run, iteration, outcome));
    }
    let all = JournalFilter::default();
    let file = |file: &str| JournalFilter {
        file: Some(file.to_owned()),
        ..JournalFilter::default()
    };
    for (filter, ids) in [
        (all.clone(), vec![3, 2, 1]),
        (
            JournalFilter {
                run: Some(RunId::new(1)),
                ..all.clone()
            },
            vec![2, 1],
        ),
        (
            JournalFilter {
                task: Some(TaskId::new(1)),
                ..all.clone()
            },
            vec![3, 1],
        ),
        (
            JournalFilter {
                outcome: Some(Outcome::Failed),
                ..all.clone()
            },
            vec![2],
        ),
        (
            JournalFilter {
                since: Some(at(2)),
                ..all.clone()
            },
            vec![3, 2],
        ),
        (
            JournalFilter {
                until: Some(at(2)),
                ..all.clone()
            },
            vec![1],
        ),
        (JournalFilter { limit: Some(2), ..all }, vec![3, 2]),
        (file("src/part_2/lib.rs"), vec![2]),
        (file("./src/part_2/"), vec![2]),
        (file("lib.rs"), vec![3, 2, 1]),
        (file("ib.rs"), vec![]),
        (file("%"), vec![]),
    ] {
        assert_eq!(bench.listed(&filter), ids, "{filter:?}");
    }
}

/// The rows of changed facts after a revision.
fn changed(store: &Store, after: i64) -> Vec<i64> {
    let changes = store.facts_changed_after(after, 10).unwrap();
    changes.into_iter().map(|change| change.row).collect()
}

fn text_of(store: &Store, row: i64) -> Option<String> {
    let texts = store.search_texts(FactKind::Journal, &[row]).unwrap();
    texts.into_iter().map(|text| text.text).next()
}

#[test]
fn changes_of_texts_are_found_by_revision() {
    let mut bench = Bench::new();
    bench.add(row(1, 1, Outcome::Done));
    bench.add(row(1, 2, Outcome::Done));
    let path = bench.folder.path().join("progress.db");
    #[expect(clippy::disallowed_methods, reason = "no method of the store changes a row")]
    let connection = rusqlite::Connection::open(path).unwrap();
    let first = bench.store.revision().unwrap();
    assert_eq!(changed(&bench.store, 0), [1, 2]);
    assert_eq!(changed(&bench.store, first.number), [0; 0]);
    connection
        .execute("UPDATE journal SET notes = 'tea' WHERE id = 1", [])
        .unwrap();
    assert!(text_of(&bench.store, 1).unwrap().ends_with("\ntea\n"));
    assert_eq!(changed(&bench.store, first.number), [1], "only the changed one");
    connection.execute("UPDATE journal SET model = 'x'", []).unwrap();
    assert_eq!(changed(&bench.store, first.number), [1], "only changes of texts count");
    // The newest of all changes: its number is not used again.
    let second = bench.store.revision().unwrap();
    connection.execute("DELETE FROM journal WHERE id = 1", []).unwrap();
    let third = bench.store.revision().unwrap();
    assert!(first.number < second.number && second.number < third.number);
    assert_eq!(first.epoch, third.epoch);
    assert_eq!(changed(&bench.store, second.number), [1]);
    assert_eq!(text_of(&bench.store, 1), None);
}
