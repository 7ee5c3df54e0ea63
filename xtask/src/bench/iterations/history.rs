//! The journal of many runs and a list of open tasks, realistic, sharing vocabulary with the notes, and the same every
//! time.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use ralph_memory::capture::signature;
use ralph_model::config::Promote;
use ralph_model::{
    CapturedLearning, Difficulty, EndKind, ErrorCategory, FailureReport, LearningId, NewJournalRow, Outcome, Priority,
    ReportOrigin, RunId, SplitMix64, StopReason, TaskId, Usage,
};
use ralph_search::task_type_of;
use ralph_store::{DoneIn, ImportItem, NewRun, RunProcess, Settlement, Store, Taught};
use ralph_testkit::journal_row;

use crate::bench::corpus;
use crate::random::Random;

/// The age of the first iteration, short enough that its learnings are not pruned.
const FIRST: SignedDuration = SignedDuration::from_hours(80 * 24);
/// The time between iterations.
const PACE_SECONDS: i64 = 60;
/// Iterations per run.
const RUN_LENGTH: usize = 20;
/// Iterations per task.
const TASK_LENGTH: usize = 2;
/// The maximum length of a title, in words.
const TITLE_WORDS: usize = 9;
/// The index of the first corpus text, so that journal, tasks, learnings and notes have different texts.
const JOURNAL_TEXTS: usize = 1_000_000;
const TASK_TEXTS: usize = 2_000_000;
const LEARNING_TEXTS: usize = 3_000_000;
const CATEGORIES: [&str; 5] = [
    "pitfall",
    "tool_usage",
    "code_structure",
    "testing_strategy",
    "success_pattern",
];

/// What the database contains besides the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    None,
    /// A report of every failure, and this many active learnings from successful iterations.
    Learnings(usize),
    /// The same in one long run, from which nothing was extracted yet.
    OneRun,
}

/// Writes a journal into a new database, entry by entry like the loop.
pub(super) fn write_journal(database: &Path, rows: usize, memory: Memory) -> Result<(), String> {
    let failed = |error: ralph_store::StoreError| format!("cannot write the journal: {error}");
    let mut store = Store::open_or_create(database).map_err(failed)?;
    let mut learnings = 0;
    let (run_length, most_learnings) = match memory {
        Memory::None => (RUN_LENGTH, 0),
        Memory::Learnings(total) => (RUN_LENGTH, total),
        Memory::OneRun => (rows, 2 * rows),
    };
    for first in (0..rows).step_by(run_length) {
        let run = RunId::new(first as u64);
        store.begin_run(&new_run(&run, timestamp(first)?)).map_err(failed)?;
        for (iteration, number) in (1..).zip(first..rows.min(first + run_length)) {
            let mut settlement = settlement(&run, iteration, number)?;
            if memory != Memory::None {
                remember(&mut settlement, number, &mut learnings, most_learnings);
            }
            store.settle(&settlement).map_err(failed)?;
        }
        let end = timestamp(first + run_length)?;
        store
            .end_run(&run, (EndKind::Complete, 0), "Everything is done.", end)
            .map_err(failed)?;
        if memory != Memory::OneRun {
            // Otherwise every measured run would start by extracting the learnings of all these runs.
            let nothing = Taught {
                run: run.as_str(),
                drawn: &[],
                features: &[],
                promote: Promote::Auto,
            };
            let taken = store.store_extracted(&nothing, &mut SplitMix64::new(1), end);
            taken.map_err(failed)?;
        }
    }
    match memory {
        Memory::Learnings(total) if learnings < total => Err(format!(
            "a journal with {rows} entries is too short for {total} learnings"
        )),
        _ => Ok(()),
    }
}

/// Adds the memory of an iteration: a report if it failed, one or two learnings if it was done.
fn remember(settlement: &mut Settlement, number: usize, learnings: &mut usize, total: usize) {
    let row = &settlement.row;
    if row.outcome != Outcome::Done {
        let report = report(number, row);
        settlement.signature = Some(signature(&report, Path::new("/home/dev/project")));
        settlement.report = Some(report);
        return;
    }
    for _ in 0..1 + usize::from(number.is_multiple_of(4)) {
        if *learnings < total {
            let learning = learning(*learnings, &row.files_modified);
            settlement
                .learnings
                .push((LearningId::new(*learnings as u64), learning));
            *learnings += 1;
        }
    }
}

fn report(number: usize, row: &NewJournalRow) -> FailureReport {
    FailureReport {
        what_tried: text(JOURNAL_TEXTS + number),
        why_failed: text(LEARNING_TEXTS + 500_000 + number),
        category: row.error_category.unwrap_or(ErrorCategory::Unknown),
        relevant_files: row.files_modified.clone(),
        error_output: Some(format!("assertion failed at src/part_{}/mod.rs:{number}", number % 40)),
        origin: ReportOrigin::Agent,
        gate: None,
    }
}

/// A learning with tags from the agent and derived tags: a tool and the changed files.
fn learning(number: usize, files: &[String]) -> CapturedLearning {
    let memory = corpus::Memory::at(LEARNING_TEXTS + number, 1);
    let mut tags: Vec<String> = memory.tags().iter().map(|tag| (*tag).to_owned()).collect();
    tags.push(["cargo", "git", "npm", "sqlite"][number % 4].to_owned());
    tags.extend(files.iter().take(3).cloned());
    CapturedLearning {
        category: CATEGORIES[number % CATEGORIES.len()].to_owned(),
        tags,
        content: memory.text,
    }
}

/// Adds this many open tasks.
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
    let imported = store.import_tasks(
        (&items, ralph_store::ListPlace::Top),
        &here,
        &mut entropy,
        timestamp(0)?,
    );
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
        created_at: timestamp(number)?,
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

#[expect(clippy::disallowed_methods, reason = "the measured runs use the same clock")]
fn timestamp(number: usize) -> Result<Timestamp, String> {
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
    fn journal_and_tasks_share_vocabulary() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("progress.db");
        write_journal(&database, 100, Memory::None).unwrap();
        add_tasks(&database, 5).unwrap();
        let store = Store::open_existing(&database, Wait::Long).unwrap().unwrap();
        assert_eq!(store.facts_changed_after(0, 1_000).unwrap().len(), 100);
        assert_eq!(store.recent_runs(10).unwrap().len(), 5);
        let next = store.next_task(&Scope::All, "", &std::collections::BTreeSet::new());
        let task = next.unwrap().unwrap();
        let about = ralph_memory::inject::prompt::about(&task);
        let index = ralph_search::SearchIndex::of_facts(&store).unwrap();
        let related = ralph_memory::recall::related_rows((&index, &store), &about, None, 5).unwrap();
        assert_eq!(related.len(), 5, "{about}");
    }

    #[test]
    fn learnings_have_the_requested_count_and_are_active() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("progress.db");
        write_journal(&database, 400, Memory::Learnings(200)).unwrap();
        let store = Store::open_existing(&database, Wait::Long).unwrap().unwrap();
        let learnings = store.learnings().unwrap();
        assert_eq!(learnings.len(), 200);
        for learning in learnings {
            assert!(learning.status == ralph_model::LearningStatus::Promoted, "{learning:?}");
            assert!(learning.tags.len() >= 2 && learning.content.len() > 20, "{learning:?}");
        }
        let refused = write_journal(&folder.path().join("small.db"), 10, Memory::Learnings(200));
        assert!(refused.is_err_and(|why| why.contains("too short")));
    }
}
