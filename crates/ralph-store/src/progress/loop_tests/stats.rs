//! Statistics over the journal, compared with a naive recount.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use ralph_model::{Difficulty, JournalRow, Rate, Signature, TaskType};

use super::*;

/// A generated iteration.
#[derive(Debug, Clone)]
struct Made {
    run: u64,
    task: Option<u64>,
    task_type: TaskType,
    model: Option<&'static str>,
    outcome: Outcome,
    difficulty: Option<Difficulty>,
    /// Quarters of a dollar: sums of them are exact.
    quarters: u8,
    hours_later: i64,
    /// Equal for failures that are the same.
    signature: Option<u64>,
    imported: bool,
}

fn made() -> impl Strategy<Value = Made> {
    let who = (0..4u64, prop::option::weighted(0.9, 1..6u64), prop::bool::weighted(0.1));
    let what = (
        prop::sample::select(TaskType::ALL),
        prop::sample::select(vec![None, Some("haiku"), Some("opus")]),
        prop::sample::select(Outcome::ALL),
        prop::option::of(prop::sample::select(Difficulty::ALL)),
    );
    let figures = (0..9u8, 0..40i64, prop::option::of(0..4u64));
    (who, what, figures).prop_map(|(who, what, figures)| Made {
        run: who.0,
        task: who.1,
        imported: who.2,
        task_type: what.0,
        model: what.1,
        outcome: what.2,
        difficulty: what.3,
        quarters: figures.0,
        hours_later: figures.1,
        signature: figures.2,
    })
}

/// A history in the journal, and as a plain list of the counted entries with their signatures.
struct History {
    bench: Bench,
    rows: Vec<(JournalRow, Option<Signature>)>,
}

impl History {
    fn of(all: &[Made]) -> Self {
        let mut bench = Bench::new();
        let mut rows = Vec::new();
        let mut now = at(0);
        for (iteration, made) in (1..).zip(all) {
            now += jiff::SignedDuration::from_hours(made.hours_later);
            let row = NewJournalRow {
                task: made.task.map(TaskId::new),
                task_title: format!("Title {iteration}"),
                task_type: made.task_type,
                model: made.model.map(str::to_owned),
                outcome: made.outcome,
                difficulty: made.difficulty,
                duration_ms: u64::from(iteration) * 10,
                usage: Usage {
                    cost_usd: f64::from(made.quarters) / 4.0,
                    input_tokens: u64::from(iteration),
                    output_tokens: 1,
                },
                created_at: now,
                ..journal_row(RunId::new(made.run), iteration)
            };
            let signature = made.signature.map(Signature::new);
            let settlement = Settlement {
                report: signature
                    .is_some()
                    .then(|| failure(&format!("\n why {iteration}\nmore"))),
                signature: signature.clone(),
                ..Settlement::new(row.clone(), 0)
            };
            let id = bench.store.settle(&settlement).unwrap().journal;
            if made.imported {
                bench.sql(&format!("UPDATE journal SET imported = 1 WHERE id = {id}"));
            } else {
                rows.push((
                    JournalRow {
                        id,
                        prompt_sha256: None,
                        row,
                    },
                    signature,
                ));
            }
        }
        Self { bench, rows }
    }

    /// The entries that match a filter.
    fn rows(&self, filter: &StatsFilter) -> Vec<&(JournalRow, Option<Signature>)> {
        let is_of = |row: &NewJournalRow| filter.run.as_ref().is_none_or(|run| row.run == *run);
        let is_since = |row: &NewJournalRow| filter.since.is_none_or(|since| row.created_at >= since);
        let rows = self.rows.iter();
        rows.filter(|(row, _)| is_of(&row.row) && is_since(&row.row)).collect()
    }
}

/// A failure report with this reason.
pub(super) fn failure(why: &str) -> FailureReport {
    FailureReport {
        what_tried: "a table".to_owned(),
        why_failed: why.to_owned(),
        category: ErrorCategory::TestFailure,
        relevant_files: vec![],
        error_output: None,
        origin: ralph_model::ReportOrigin::Agent,
        gate: None,
    }
}

type Rows<'a> = [&'a (JournalRow, Option<Signature>)];

/// The figures of the rows that match a condition.
fn figures(rows: &Rows<'_>, is_so: impl Fn(&NewJournalRow) -> bool) -> Figures {
    let rows: Vec<&NewJournalRow> = rows.iter().map(|(row, _)| &row.row).filter(|row| is_so(row)).collect();
    let counted = rows.iter().filter(|row| row.outcome != Outcome::Interrupted);
    let done = rows.iter().filter(|row| row.outcome == Outcome::Done);
    let number = |n: usize| u32::try_from(n).unwrap();
    Figures {
        iterations: number(rows.len()),
        success: Rate {
            done: number(done.count()),
            of: number(counted.count()),
        },
        duration_ms: rows.iter().map(|row| row.duration_ms).sum(),
        usage: Usage {
            cost_usd: rows.iter().map(|row| row.usage.cost_usd).sum(),
            input_tokens: rows.iter().map(|row| row.usage.input_tokens).sum(),
            output_tokens: rows.iter().map(|row| row.usage.output_tokens).sum(),
        },
    }
}

/// Checks that the groups match their rows, cover all rows, and are not empty.
#[track_caller]
fn check_groups<K: PartialEq + std::fmt::Debug>(
    rows: &Rows<'_>,
    groups: Vec<(K, Figures)>,
    key: impl Fn(&NewJournalRow) -> K,
) {
    let sum: u32 = groups.iter().map(|(_, figures)| figures.iterations).sum();
    assert_eq!(sum as usize, rows.len());
    for (of, found) in groups {
        assert!(found.iterations > 0, "{of:?}");
        assert_eq!(found, figures(rows, |row| key(row) == of), "{of:?}");
    }
}

fn check_failures(rows: &Rows<'_>, stats: &Stats) {
    let failed: Vec<_> = rows
        .iter()
        .filter(|(row, _)| row.row.outcome.is_failure() == Some(true))
        .filter_map(|(row, signature)| signature.as_ref().map(|signature| (row, signature)))
        .collect();
    let different: BTreeSet<&Signature> = failed.iter().map(|(_, signature)| *signature).collect();
    assert_eq!(stats.different_failures as usize, different.len());
    let mut before = (u32::MAX, i64::MAX);
    for found in &stats.failures {
        let same: Vec<_> = failed
            .iter()
            .filter(|(_, signature)| **signature == found.signature)
            .map(|(row, _)| row)
            .collect();
        let last = same.last().unwrap();
        assert_eq!(found.times as usize, same.len());
        assert_eq!(found.last_at, last.row.created_at);
        assert_eq!(found.why, format!("why {}", last.row.iteration));
        let mut tasks: Vec<TaskId> = Vec::new();
        for task in same.iter().filter_map(|row| row.row.task.clone()) {
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        assert_eq!(found.tasks, tasks);
        let place = (found.times, last.id);
        assert!(place < before, "the most frequent first, then the latest");
        before = place;
    }
}

fn check_tasks(rows: &Rows<'_>, stats: &Stats) {
    let tasks: BTreeSet<&TaskId> = rows.iter().filter_map(|(row, _)| row.row.task.as_ref()).collect();
    assert_eq!(stats.tasks as usize, tasks.len());
    let mut hard = 0;
    for task in tasks {
        let of_task = |row: &NewJournalRow| row.task.as_ref() == Some(task);
        let all = figures(rows, of_task);
        let own = rows.iter().filter(|(row, _)| of_task(&row.row));
        let difficulty = own.filter_map(|(row, _)| row.row.difficulty).max();
        let failures = all.success.of - all.success.done;
        if failures == 0 && difficulty < Some(Difficulty::Hard) {
            assert!(!stats.hardest.iter().any(|found| found.task == *task));
            continue;
        }
        hard += 1;
        if let Some(found) = stats.hardest.iter().find(|found| found.task == *task) {
            assert_eq!((found.failures, found.difficulty), (failures, difficulty));
            assert_eq!(found.figures, all);
        }
    }
    assert_eq!(stats.hard_tasks, hard);
    let places = stats.hardest.iter();
    let places: Vec<_> = places
        .map(|task| (task.failures, task.difficulty, task.figures.usage.cost_usd))
        .collect();
    assert!(places.is_sorted_by(|one, other| one >= other), "{places:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn statistics_match_a_naive_recount(
        all in prop::collection::vec(made(), 0..32),
        run in prop::option::of(0..4u64),
        since in prop::option::of(0..400i64),
        most in prop::option::of(0..4usize),
    ) {
        let history = History::of(&all);
        let filter = StatsFilter {
            run: run.map(RunId::new),
            since: since.map(|hours| at(hours * 3600)),
            most,
        };
        let stats = history.bench.store.stats(&filter).unwrap();
        let rows = history.rows(&filter);

        assert_eq!(stats.all, figures(&rows, |_| true));
        for outcome in Outcome::ALL {
            let ended_so = figures(&rows, |row| row.outcome == *outcome);
            assert_eq!(stats.outcomes[outcome], ended_so.iterations, "{outcome}");
        }
        let day = |row: &NewJournalRow| row.created_at.to_zoned(TimeZone::UTC).date();
        let days: Vec<_> = stats.by_day.iter().map(|of| (of.day, of.figures)).collect();
        assert!(days.is_sorted_by(|(one, _), (other, _)| one < other));
        check_groups(&rows, days, day);
        let runs: Vec<_> = stats.by_run.iter().map(|of| (of.run.clone(), of.figures)).collect();
        assert_eq!(runs.len(), stats.runs as usize);
        assert!(stats.by_run.is_sorted_by_key(|run| run.first_at));
        check_groups(&rows, runs, |row| row.run.clone());
        let models: Vec<_> = stats.by_model.iter().map(|of| (of.model.clone(), of.figures)).collect();
        check_groups(&rows, models, |row| row.model.clone());
        let types: Vec<_> = stats.by_task_type.iter().map(|of| (of.task_type, of.figures)).collect();
        check_groups(&rows, types, |row| row.task_type);

        check_failures(&rows, &stats);
        check_tasks(&rows, &stats);
        let listed = |n: u32| most.unwrap_or(usize::MAX).min(n as usize);
        assert_eq!(stats.failures.len(), listed(stats.different_failures), "most {most:?}");
        assert_eq!(stats.hardest.len(), listed(stats.hard_tasks));
    }
}

#[test]
fn deleted_task_keeps_its_title_from_the_journal() {
    let made = |task| Made {
        run: 1,
        task: Some(task),
        task_type: TaskType::General,
        model: None,
        outcome: Outcome::Failed,
        difficulty: None,
        quarters: 0,
        hours_later: 1,
        signature: None,
        imported: false,
    };
    let history = History::of(&[made(7), made(7), made(1)]);
    let hardest = history.bench.store.stats(&StatsFilter::default()).unwrap().hardest;
    let named: Vec<_> = hardest.iter().map(|task| (task.title.as_str(), task.status)).collect();
    assert_eq!(
        named,
        [("Title 2", None), ("Parse the colours", Some(TaskStatus::Pending))]
    );
}

#[test]
fn huge_counts_saturate() {
    let mut bench = Bench::new();
    for iteration in 1..=3 {
        let row = NewJournalRow {
            duration_ms: u64::MAX,
            usage: Usage {
                cost_usd: -5.0,
                input_tokens: u64::MAX,
                output_tokens: u64::MAX,
            },
            ..journal_row(run_id(), iteration)
        };
        bench.store.settle(&Settlement::new(row, 0)).unwrap();
    }
    let all = bench.store.stats(&StatsFilter::default()).unwrap().all;
    assert_eq!((all.iterations, all.duration_ms), (3, u64::MAX));
    assert_eq!((all.usage.tokens(), all.usage.cost_usd), (u64::MAX, 0.0));
}

#[test]
fn empty_journal_gives_zeros() {
    let stats = Bench::new().store.stats(&StatsFilter::default()).unwrap();
    assert_eq!(stats, Stats::default());
    assert_eq!(stats.outcomes.len(), Outcome::ALL.len());
}
