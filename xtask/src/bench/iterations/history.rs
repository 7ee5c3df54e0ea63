//! A project's past and its future: the journal of many runs, and the tasks that wait. Both read like real ones, share
//! their words with the notes, and are the same every time.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use ralph_memory::capture::signature;
use ralph_model::config::Promote;
use ralph_model::{
    CapturedLearning, Difficulty, ErrorCategory, FailureReport, LearningId, NewJournalRow, Outcome, Priority,
    ReportOrigin, RunId, SplitMix64, StopReason, TaskId, Usage,
};
use ralph_store::{DoneIn, ImportItem, NewRun, RunProcess, Settlement, Store, Taught, task_type_of};
use ralph_testkit::journal_row;

use crate::bench::corpus;
use crate::random::Random;

/// So long ago the first iteration was: not so long that what it taught would be pruned.
const FIRST: SignedDuration = SignedDuration::from_hours(80 * 24);
/// From one iteration to the next.
const PACE_SECONDS: i64 = 60;
/// How many iterations a run has.
const RUN_LENGTH: usize = 20;
/// How many iterations a task takes.
const TASK_LENGTH: usize = 2;
/// The longest title, in words.
const TITLE_WORDS: usize = 9;
/// The texts of the journal are others than those of the notes, and those of tasks others again.
const JOURNAL_TEXTS: usize = 1_000_000;
const TASK_TEXTS: usize = 2_000_000;
const LESSON_TEXTS: usize = 3_000_000;
/// What lessons are about.
const CATEGORIES: [&str; 5] = [
    "pitfall",
    "tool_usage",
    "code_structure",
    "testing_strategy",
    "success_pattern",
];

/// What a past leaves beside the rows of its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// Nothing.
    None,
    /// A report of every failure, and so many lessons that hold, of iterations that were done.
    Lessons(usize),
    /// The same, in one long run of which nothing was drawn yet.
    OneRun,
}

/// Writes a journal of so many rows into a database that is made here, row by row as the loop does it.
pub(super) fn write_journal(database: &Path, rows: usize, memory: Memory) -> Result<(), String> {
    let failed = |error: ralph_store::StoreError| format!("cannot write the journal: {error}");
    let mut store = Store::open_or_create(database).map_err(failed)?;
    let mut lessons = 0;
    let (run_length, most_lessons) = match memory {
        Memory::None => (RUN_LENGTH, 0),
        Memory::Lessons(total) => (RUN_LENGTH, total),
        Memory::OneRun => (rows, 2 * rows),
    };
    for first in (0..rows).step_by(run_length) {
        let run = RunId::new(first as u64);
        store.begin_run(&new_run(&run, moment(first)?)).map_err(failed)?;
        for (iteration, number) in (1..).zip(first..rows.min(first + run_length)) {
            let mut settlement = settlement(&run, iteration, number)?;
            if memory != Memory::None {
                remember(&mut settlement, number, &mut lessons, most_lessons);
            }
            store.settle(&settlement).map_err(failed)?;
        }
        let end = moment(first + run_length)?;
        store.end_run(&run, "Everything is done.", 0, end).map_err(failed)?;
        if memory != Memory::OneRun {
            // Else every run that is measured would begin to draw the lessons of all these.
            let nothing = Taught {
                run: run.as_str(),
                drawn: &[],
                retold: &[],
                promote: Promote::Auto,
            };
            let taken = store.take_in_drawn(&nothing, &mut SplitMix64::new(1), end);
            taken.map_err(failed)?;
        }
    }
    match memory {
        Memory::Lessons(total) if lessons < total => {
            Err(format!("a journal of {rows} rows has no room for {total} lessons"))
        }
        _ => Ok(()),
    }
}

/// Adds what an iteration leaves for later ones: a report where it failed, one or two lessons where it was done.
fn remember(settlement: &mut Settlement, number: usize, lessons: &mut usize, total: usize) {
    let row = &settlement.row;
    if row.outcome != Outcome::Done {
        let report = report(number, row);
        settlement.signature = Some(signature(&report, Path::new("/home/dev/project")));
        settlement.report = Some(report);
        return;
    }
    for _ in 0..1 + usize::from(number.is_multiple_of(4)) {
        if *lessons < total {
            let lesson = lesson(*lessons, &row.files_modified);
            settlement.learnings.push((LearningId::new(*lessons as u64), lesson));
            *lessons += 1;
        }
    }
}

fn report(number: usize, row: &NewJournalRow) -> FailureReport {
    FailureReport {
        what_tried: text(JOURNAL_TEXTS + number),
        why_failed: text(LESSON_TEXTS + 500_000 + number),
        category: row.error_category.unwrap_or(ErrorCategory::Unknown),
        relevant_files: row.files_modified.clone(),
        error_output: Some(format!("assertion failed at src/part_{}/mod.rs:{number}", number % 40)),
        origin: ReportOrigin::Agent,
        gate: None,
    }
}

/// A lesson with the tags that an agent gives it, and those that are found for it: a tool, the files that were changed.
fn lesson(number: usize, files: &[String]) -> CapturedLearning {
    let memory = corpus::Memory::at(LESSON_TEXTS + number, 1);
    let mut tags: Vec<String> = memory.tags().iter().map(|tag| (*tag).to_owned()).collect();
    tags.push(["cargo", "git", "npm", "sqlite"][number % 4].to_owned());
    tags.extend(files.iter().take(3).cloned());
    CapturedLearning {
        category: CATEGORIES[number % CATEGORIES.len()].to_owned(),
        tags,
        content: memory.text,
    }
}

/// Adds so many tasks that are ready.
pub(super) fn add_tasks(database: &Path, tasks: usize) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot add tasks: {error}");
    let mut store = Store::open_or_create(database).map_err(|error| failed(&error))?;
    let items: Vec<ImportItem> = (0..tasks)
        .map(|number| ImportItem {
            title: format!("{} ({number})", title(TASK_TEXTS + 2 * number)),
            description: text(TASK_TEXTS + 2 * number + 1),
            checks: Vec::new(),
            priority: Priority::default(),
            done: false,
            parent: None,
        })
        .collect();
    let here = DoneIn {
        worktree: String::new(),
        commit: None,
    };
    let mut entropy = SplitMix64::new(1);
    let imported = store.import_tasks((&items, ralph_store::ListPlace::Top), &here, &mut entropy, moment(0)?);
    imported.map(drop).map_err(|error| failed(&error))
}

fn new_run(id: &RunId, at: Timestamp) -> NewRun {
    NewRun {
        id: id.clone(),
        agent: "claude".to_owned(),
        goal: "all tasks".to_owned(),
        worktree: String::new(),
        branch: Some("main".to_owned()),
        commit: None,
        process: RunProcess {
            host: "bench".to_owned(),
            pid: 1,
            started: 1,
        },
        started_at: at,
    }
}

fn settlement(run: &RunId, iteration: u32, number: usize) -> Result<Settlement, String> {
    let mut random = Random::seeded(number as u64);
    let task = number / TASK_LENGTH;
    let (outcome, stop, category) = match random.below(6) {
        0 => (
            Outcome::Failed,
            StopReason::TaskFailed,
            Some(ErrorCategory::TestFailure),
        ),
        1 => (Outcome::Retried, StopReason::TaskDone, None),
        2 => (Outcome::Blocked, StopReason::NoSigil, None),
        _ => (Outcome::Done, StopReason::TaskDone, None),
    };
    let task_title = title(TASK_TEXTS + 100_000 + task);
    let files = (0..1 + random.below(5)).map(|_| format!("src/part_{}/mod_{}.rs", random.below(40), random.below(400)));
    let row = NewJournalRow {
        task: Some(TaskId::new(task as u64)),
        task_type: task_type_of(&task_title, ""),
        task_title,
        outcome,
        stop,
        model: Some("sonnet".to_owned()),
        model_rationale: "fixed".to_owned(),
        duration_ms: 90_000,
        usage: Usage {
            cost_usd: 0.12,
            input_tokens: 40_000,
            output_tokens: 2_000,
        },
        files_modified: files.collect(),
        notes: Some(text(JOURNAL_TEXTS + number)),
        difficulty: Some(Difficulty::Moderate),
        error_category: category,
        created_at: moment(number)?,
        ..journal_row(run.clone(), iteration)
    };
    Ok(Settlement::new(row, 1))
}

fn text(number: usize) -> String {
    corpus::Memory::at(number, 1).text
}

fn title(number: usize) -> String {
    let text = text(number);
    let words: Vec<&str> = text.split_whitespace().take(TITLE_WORDS).collect();
    words.join(" ")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the runs that are measured go by the same clock"
)]
fn moment(number: usize) -> Result<Timestamp, String> {
    let after = i64::try_from(number).unwrap_or_default() * PACE_SECONDS;
    Timestamp::now()
        .checked_sub(FIRST)
        .and_then(|first| first.checked_add(SignedDuration::from_secs(after)))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_store::{Scope, Wait};

    #[test]
    fn the_journal_and_the_tasks_share_words_that_tell_something() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("progress.db");
        write_journal(&database, 100, Memory::None).unwrap();
        add_tasks(&database, 5).unwrap();
        let store = Store::open_existing(&database, Wait::Long).unwrap().unwrap();
        assert_eq!(store.totals_of(ralph_store::Searched::Journal).unwrap().entries, 100);
        assert_eq!(store.recent_runs(10).unwrap().len(), 5);
        let next = store.next_task(&Scope::All, "", &std::collections::BTreeSet::new());
        let task = next.unwrap().unwrap();
        let about = ralph_memory::inject::prompt::about(&task);
        let related = ralph_memory::recall::related_rows(&store, &about, None, 5).unwrap();
        assert_eq!(related.len(), 5, "{about}");
    }

    #[test]
    fn lessons_are_as_many_as_are_wanted_and_hold() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("progress.db");
        write_journal(&database, 400, Memory::Lessons(200)).unwrap();
        let store = Store::open_existing(&database, Wait::Long).unwrap().unwrap();
        let lessons = store.learnings().unwrap();
        assert_eq!(lessons.len(), 200);
        for lesson in lessons {
            assert!(lesson.status == ralph_model::LearningStatus::Promoted, "{lesson:?}");
            assert!(lesson.tags.len() >= 2 && lesson.content.len() > 20, "{lesson:?}");
        }
        let refused = write_journal(&folder.path().join("small.db"), 10, Memory::Lessons(200));
        assert!(refused.is_err_and(|why| why.contains("no room")));
    }
}
