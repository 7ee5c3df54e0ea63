//! The figures of small journals, and that none of them is had by reading all of a large one.

use ralph_model::{ErrorCategory, FailureReport, NewJournalRow, Outcome, ReportOrigin, RunId, StopReason};
use ralph_testkit::journal_row;

use super::*;
use crate::Settlement;

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

    /// A row about a task.
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

    /// The same of a row that comes from another tool.
    fn import(&mut self, task: u64, outcome: Outcome) {
        let id = self.add(task, outcome);
        let sql = "UPDATE journal SET imported = 1 WHERE id = ?1";
        self.store.connection.execute(sql, [id]).unwrap();
    }

    /// An attempt that failed and was found hard, changed after the wishes of a test.
    fn hard(&mut self, task: u64, change: impl FnOnce(&mut NewJournalRow)) -> i64 {
        let mut row = NewJournalRow {
            difficulty: Some(Difficulty::Hard),
            ..self.row(task, Outcome::Failed)
        };
        change(&mut row);
        self.put(row)
    }

    fn figures(&self, task: u64) -> (u32, u32, Rate) {
        let course = self.store.course(&TaskId::new(task)).unwrap();
        (course.attempts, course.consecutive_failures, course.recent)
    }

    fn hard_failures(&self, most: u32) -> Vec<HardFailure> {
        let like = HardLike {
            task_type: TaskType::General,
            model: "haiku",
            other_than: &TaskId::new(1),
            most,
        };
        self.store.hard_failures(&like).unwrap()
    }
}

#[test]
fn a_streak_is_of_one_task_and_ends_when_it_is_done() {
    let mut bench = Bench::new();
    assert_eq!(bench.figures(1), (0, 0, Rate::default()));
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
    assert_eq!(bench.figures(1), (4, 2, Rate { done: 1, of: 5 }));
    assert_eq!(bench.figures(2), (1, 1, Rate { done: 1, of: 5 }));
    bench.add(1, Outcome::Done);
    bench.add(1, Outcome::Interrupted);
    assert_eq!(bench.figures(1), (5, 0, Rate { done: 2, of: 6 }));
}

#[test]
fn the_rate_is_of_the_last_twenty_that_count() {
    let mut bench = Bench::new();
    bench.add(1, Outcome::Failed);
    for _ in 0..Course::RECENT {
        bench.add(2, Outcome::Done);
        bench.add(2, Outcome::Interrupted);
    }
    assert_eq!(bench.figures(1), (1, 1, Rate { done: 20, of: 20 }));
    bench.add(3, Outcome::Blocked);
    assert_eq!(bench.figures(1), (1, 1, Rate { done: 19, of: 20 }));
}

#[test]
fn what_was_taken_over_counts_for_nothing() {
    let mut bench = Bench::new();
    bench.add(1, Outcome::Done);
    for _ in 0..30 {
        bench.import(1, Outcome::Failed);
    }
    assert_eq!(bench.figures(1), (1, 0, Rate { done: 1, of: 1 }));
    assert_eq!(bench.hard_failures(50), []);
}

#[test]
fn hard_failures_are_of_the_same_kind_of_work_and_model_and_of_other_tasks() {
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
            task: TaskId::new(3),
            difficulty: Difficulty::Blocked,
            tags: Vec::new(),
            files: vec!["build.rs".to_owned()],
        },
        HardFailure {
            journal: old,
            task: TaskId::new(2),
            difficulty: Difficulty::Hard,
            tags: vec!["cargo".to_owned()],
            files: vec!["src/lib.rs".to_owned()],
        },
    ];
    assert_eq!(bench.hard_failures(50), expected);
    assert_eq!(bench.hard_failures(1), expected[..1]);
}

#[test]
fn it_is_known_which_models_have_done_a_task_since() {
    let mut bench = Bench::new();
    bench.add(1, Outcome::Done);
    let failed = bench.add(1, Outcome::Failed);
    bench.add(2, Outcome::Done);
    let is_done = |bench: &Bench, models: &[&str]| {
        let models: Vec<String> = models.iter().copied().map(str::to_owned).collect();
        bench.store.was_done_since(&TaskId::new(1), failed, &models).unwrap()
    };
    assert!(!is_done(&bench, &["haiku"]), "before, and another task");
    bench.add(1, Outcome::Done);
    assert!(is_done(&bench, &["sonnet", "haiku"]));
    assert!(!is_done(&bench, &["sonnet"]) && !is_done(&bench, &[]));
}

#[test]
fn no_figure_is_had_by_reading_the_whole_journal() {
    let bench = Bench::new();
    for sql in [RECENT, OF_TASK, DONE_SINCE, HARD_FAILURES] {
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
