//! The figures of small journals, and that none of them is had by reading all of a large one.

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

    fn figures(&self, task: u64) -> (u32, Rate) {
        let course = self.store.course(&TaskId::new(task)).unwrap();
        (course.consecutive_failures, course.recent)
    }

    fn hard_failures(&self, within: u32) -> Vec<HardFailure> {
        let like = HardLike {
            task_type: TaskType::General,
            model: "haiku",
            other_than: &TaskId::new(1),
            within,
        };
        self.store.hard_failures(&like).unwrap()
    }
}

#[test]
fn a_streak_is_of_one_task_and_ends_when_it_is_done() {
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
fn the_rate_is_of_the_last_twenty_that_count() {
    let mut bench = Bench::new();
    bench.add(1, Outcome::Failed);
    for _ in 0..Course::RECENT {
        bench.add(2, Outcome::Done);
        bench.add(2, Outcome::Interrupted);
    }
    assert_eq!(bench.figures(1), (1, Rate { done: 20, of: 20 }));
    bench.add(3, Outcome::Blocked);
    assert_eq!(bench.figures(1), (1, Rate { done: 19, of: 20 }));
}

#[test]
fn a_streak_that_began_in_another_tool_goes_on_here_as_its_attempts_do() {
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
        let told = bench.store.last_failed_attempts(&TaskId::new(1), 1).unwrap();
        let told = u32::try_from(told.attempts.len()).unwrap() + told.earlier;
        assert_eq!((bench.figures(1).0, told), (failures, failures));
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
fn what_was_taken_over_counts_in_no_rate() {
    let mut bench = Bench::new();
    bench.add(1, Outcome::Done);
    for _ in 0..30 {
        bench.import(1, Outcome::Failed);
    }
    assert_eq!(bench.figures(1), (0, Rate { done: 1, of: 1 }));
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
fn it_is_known_what_these_models_have_done_since() {
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
    let mut nobody = bench.row(2, Outcome::Done);
    nobody.task = None;
    bench.put(nobody);
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
fn the_last_model_is_that_of_the_last_attempt_that_counts() {
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
fn the_last_failures_since_a_task_was_done_are_read_and_the_others_counted() {
    let mut bench = Bench::new();
    let failed = |bench: &Bench, most| {
        let found = bench.store.last_failed_attempts(&TaskId::new(1), most).unwrap();
        let ids: Vec<i64> = found.attempts.iter().map(|attempt| attempt.row.id).collect();
        (ids, found.earlier)
    };
    assert_eq!(failed(&bench, 3), (Vec::new(), 0));
    // What was taken over comes first, whenever that was done.
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
fn no_figure_is_had_by_reading_the_whole_journal() {
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
