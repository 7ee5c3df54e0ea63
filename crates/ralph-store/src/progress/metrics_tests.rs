//! Metrics over small journals, and that no query scans the whole journal.

use ralph_model::{ErrorCategory, FailureReport, NewJournalRow, Outcome, ReportOrigin, RunId, StopReason};
use ralph_testkit::journal_row;

use super::*;
use crate::Settlement;
use crate::progress::attempts::{FAILURES, LAST_DONE, LAST_FAILED};
use crate::progress::journal::LAST_COUNTED;

struct Bench {
    _folder: tempfile::TempDir,
    store: Store,
    iteration: u32,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            _folder: folder,
            store,
            iteration: 0,
        }
    }

    /// A journal entry of a task.
    fn row(&mut self, task: u64, outcome: Outcome) -> NewJournalRow {
        self.iteration += 1;
        NewJournalRow {
            task: Some(TaskId::new(task)),
            outcome,
            stop: StopReason::TaskFailed,
            model: Some("haiku".to_owned()),
            ..journal_row(RunId::new(1), self.iteration)
        }
    }

    fn put(&mut self, row: NewJournalRow) -> i64 {
        self.store.settle(&Settlement::new(row, 0)).unwrap().journal
    }

    fn add(&mut self, task: u64, outcome: Outcome) -> i64 {
        let row = self.row(task, outcome);
        self.put(row)
    }

    /// Adds an imported entry.
    fn import(&mut self, task: u64, outcome: Outcome) {
        let id = self.add(task, outcome);
        let sql = "UPDATE journal SET imported = 1 WHERE id = ?1";
        self.store.connection.execute(sql, [id]).unwrap();
    }

    /// Adds a failed attempt that was hard, with changes.
    fn hard(&mut self, task: u64, change: impl FnOnce(&mut NewJournalRow)) -> i64 {
        let mut row = NewJournalRow {
            difficulty: Some(Difficulty::Hard),
            ..self.row(task, Outcome::Failed)
        };
        change(&mut row);
        self.put(row)
    }

    fn figures(&self, task: u64) -> (u32, Rate) {
        let track_record = self.store.track_record(&TaskId::new(task)).unwrap();
        (track_record.consecutive_failures, track_record.recent)
    }

    fn hard_failures(&self, within: u32) -> Vec<HardFailure> {
        let like = HardFailureQuery {
            task_type: TaskType::General,
            model: "haiku",
            other_than: &TaskId::new(1),
            within,
        };
        self.store.hard_failures(&like).unwrap()
    }
}

#[test]
fn failure_streak_is_per_task_and_ends_when_done() {
    let mut bench = Bench::new();
    assert_eq!(bench.figures(1), (0, Rate::default()));
    for outcome in [
        Outcome::Failed,
        Outcome::Done,
        Outcome::Retried,
        Outcome::Interrupted,
        Outcome::Blocked,
    ] {
        bench.add(1, outcome);
    }
    bench.add(2, Outcome::Failed);
    assert_eq!(bench.figures(1), (2, Rate { done: 1, of: 5 }));
    assert_eq!(bench.figures(2), (1, Rate { done: 1, of: 5 }));
    bench.add(1, Outcome::Done);
    bench.add(1, Outcome::Interrupted);
    assert_eq!(bench.figures(1), (0, Rate { done: 2, of: 6 }));
}

#[test]
fn success_rate_covers_the_last_twenty_counted_iterations() {
    let mut bench = Bench::new();
    bench.add(1, Outcome::Failed);
    for _ in 0..TrackRecord::RECENT {
        bench.add(2, Outcome::Done);
        bench.add(2, Outcome::Interrupted);
    }
    assert_eq!(bench.figures(1), (1, Rate { done: 20, of: 20 }));
    bench.add(3, Outcome::Blocked);
    assert_eq!(bench.figures(1), (1, Rate { done: 19, of: 20 }));
}

#[test]
fn failure_streak_includes_imported_attempts() {
    let mut bench = Bench::new();
    for outcome in [
        Outcome::Failed,
        Outcome::Done,
        Outcome::Failed,
        Outcome::Interrupted,
        Outcome::Failed,
    ] {
        bench.import(1, outcome);
    }
    let check = |bench: &Bench, failures: u32| {
        let counted = bench.store.last_failed_attempts(&TaskId::new(1), 1).unwrap();
        let counted = u32::try_from(counted.attempts.len()).unwrap() + counted.earlier;
        assert_eq!((bench.figures(1).0, counted), (failures, failures));
    };
    check(&bench, 2);
    bench.add(1, Outcome::Retried);
    check(&bench, 3);
    bench.add(1, Outcome::Done);
    check(&bench, 0);
    bench.add(1, Outcome::Failed);
    check(&bench, 1);
}

#[test]
fn imported_entries_do_not_count_in_rates() {
    let mut bench = Bench::new();
    bench.add(1, Outcome::Done);
    for _ in 0..30 {
        bench.import(1, Outcome::Failed);
    }
    assert_eq!(bench.figures(1), (0, Rate { done: 1, of: 1 }));
    assert_eq!(bench.hard_failures(50), []);
}

#[test]
fn hard_failures_match_type_and_model_of_other_tasks() {
    let mut bench = Bench::new();
    let old = bench.hard(2, |row| {
        row.tags = vec!["cargo".to_owned()];
        row.files_modified = vec!["src/lib.rs".to_owned()];
    });
    bench.hard(1, |_| {});
    bench.hard(2, |row| row.task = None);
    bench.hard(2, |row| row.task_type = TaskType::Feature);
    bench.hard(2, |row| row.model = Some("opus".to_owned()));
    bench.hard(2, |row| row.model = None);
    bench.hard(2, |row| row.difficulty = Some(Difficulty::Moderate));
    bench.hard(2, |row| row.outcome = Outcome::Done);
    bench.hard(2, |row| row.outcome = Outcome::Interrupted);
    let mut settlement = Settlement::new(bench.row(3, Outcome::Retried), 0);
    settlement.row.difficulty = Some(Difficulty::Blocked);
    settlement.report = Some(FailureReport {
        what_tried: "it".to_owned(),
        why_failed: "so".to_owned(),
        category: ErrorCategory::Unknown,
        relevant_files: vec!["build.rs".to_owned()],
        error_output: None,
        origin: ReportOrigin::Agent,
        gate: None,
    });
    let new = bench.store.settle(&settlement).unwrap().journal;
    let expected = [
        HardFailure {
            journal: new,
            difficulty: Difficulty::Blocked,
            subject: Subject {
                task: TaskId::new(3),
                tags: Vec::new(),
                files: vec!["build.rs".to_owned()],
            },
        },
        HardFailure {
            journal: old,
            difficulty: Difficulty::Hard,
            subject: Subject {
                task: TaskId::new(2),
                tags: vec!["cargo".to_owned()],
                files: vec!["src/lib.rs".to_owned()],
            },
        },
    ];
    assert_eq!(bench.hard_failures(50), expected);
    assert_eq!(bench.hard_failures(10), expected, "of ten rows");
    assert_eq!(bench.hard_failures(9), expected[..1], "it was the first of ten");
    assert_eq!(bench.hard_failures(0), []);
}

#[test]
fn done_since_lists_tasks_of_these_models() {
    let mut bench = Bench::new();
    bench.add(1, Outcome::Done);
    let failed = bench.add(1, Outcome::Failed);
    let is_done = |bench: &Bench, models: &[&str]| -> Vec<(i64, u64)> {
        let models: Vec<String> = models.iter().copied().map(str::to_owned).collect();
        let done = bench.store.done_since(failed, TaskType::General, &models).unwrap();
        let task = |task: &TaskId| (1..3).find(|number| *task == TaskId::new(*number)).unwrap();
        done.iter().map(|(row, other)| (*row, task(&other.task))).collect()
    };
    bench.add(2, Outcome::Interrupted);
    bench.import(2, Outcome::Done);
    let mut other = bench.row(2, Outcome::Done);
    other.task_type = TaskType::Feature;
    bench.put(other);
    let mut without_task = bench.row(2, Outcome::Done);
    without_task.task = None;
    bench.put(without_task);
    assert_eq!(is_done(&bench, &["haiku"]), []);
    let mut named = bench.row(2, Outcome::Done);
    (named.tags, named.files_modified) = (vec!["cargo".to_owned()], vec!["src/lib.rs".to_owned()]);
    let second = bench.put(named);
    let first = bench.add(1, Outcome::Done);
    assert_eq!(is_done(&bench, &["sonnet", "haiku"]), [(first, 1), (second, 2)]);
    assert!(is_done(&bench, &["sonnet"]).is_empty() && is_done(&bench, &[]).is_empty());
    let models = ["haiku".to_owned()];
    let (_, subject) = bench
        .store
        .done_since(failed, TaskType::General, &models)
        .unwrap()
        .remove(1);
    let expected = Subject {
        task: TaskId::new(2),
        tags: vec!["cargo".to_owned()],
        files: vec!["src/lib.rs".to_owned()],
    };
    assert_eq!(subject, expected);
}

#[test]
fn last_model_is_from_the_last_counted_attempt() {
    let mut bench = Bench::new();
    let last = |bench: &Bench| bench.store.last_model(&TaskId::new(1)).unwrap();
    assert_eq!(last(&bench), None);
    for (model, outcome) in [("opus", Outcome::Failed), ("saga", Outcome::Interrupted)] {
        let row = NewJournalRow {
            model: Some(model.to_owned()),
            ..bench.row(1, outcome)
        };
        bench.put(row);
    }
    bench.add(2, Outcome::Failed);
    bench.import(1, Outcome::Failed);
    assert_eq!(last(&bench).as_deref(), Some("opus"));
    let mut own = bench.row(1, Outcome::Failed);
    own.model = None;
    bench.put(own);
    assert_eq!(last(&bench), None, "it was left to the agent");
}

#[test]
fn last_failures_are_read_and_earlier_ones_counted() {
    let mut bench = Bench::new();
    let failed = |bench: &Bench, most| {
        let found = bench.store.last_failed_attempts(&TaskId::new(1), most).unwrap();
        let ids: Vec<i64> = found.attempts.iter().map(|attempt| attempt.row.id).collect();
        (ids, found.earlier)
    };
    assert_eq!(failed(&bench, 3), (Vec::new(), 0));
    // Imported entries come first, whenever they were imported.
    bench.import(1, Outcome::Failed);
    bench.import(1, Outcome::Done);
    let own = bench.add(1, Outcome::Failed);
    bench.import(1, Outcome::Failed);
    bench.add(1, Outcome::Interrupted);
    let last = bench.add(1, Outcome::Blocked);
    bench.add(2, Outcome::Failed);
    let foreign = own + 1;
    assert_eq!(failed(&bench, 20), (vec![foreign, own, last], 0));
    assert_eq!(failed(&bench, 2), (vec![own, last], 1));
    assert_eq!(failed(&bench, 1), (vec![last], 2));
    assert_eq!(failed(&bench, 0), (Vec::new(), 3));
    bench.add(1, Outcome::Done);
    assert_eq!(failed(&bench, 20), (Vec::new(), 0));
    let again = bench.add(1, Outcome::Retried);
    bench.import(1, Outcome::Done);
    assert_eq!(failed(&bench, 20), (vec![again], 0));
    assert_eq!(bench.store.failed_attempts(&TaskId::new(1)).unwrap().len(), 1);
}

#[test]
fn no_metric_scans_the_whole_journal() {
    let bench = Bench::new();
    let last_counted = format!("SELECT * FROM journal {LAST_COUNTED}");
    for sql in [
        RECENT,
        LAST_MODEL,
        DONE_SINCE,
        HARD_FAILURES,
        LAST_DONE,
        LAST_FAILED,
        FAILURES,
        &last_counted,
    ] {
        let mut statement = bench
            .store
            .connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let mut rows = statement.raw_query();
        let mut plan = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            plan.push(row.get::<_, String>("detail").unwrap());
        }
        let reads = |step: &&String| step.contains("journal");
        let scans = |step: &&String| step.starts_with("SCAN journal");
        assert!(
            plan.iter().any(|step| reads(&step)) && !plan.iter().any(|step| scans(&step)),
            "{sql}\n{plan:#?}"
        );
        assert!(
            !plan.iter().any(|step| step.contains("TEMP B-TREE")),
            "{sql}\n{plan:#?}"
        );
    }
}
