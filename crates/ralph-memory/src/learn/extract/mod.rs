//! What a whole run teaches: ways that worked more often than not, failures that came back, how long things took, and how
//! files are kept here. Pure: a history goes in, lessons come out; judging and keeping them is the store's.
//!
//! Iterations are looked at by the kind of work that they were, but for the files, which are the same project's in all.

mod answers;
mod antipatterns;
mod conventions;
mod estimates;
mod paths;
mod strategies;

use ralph_model::config::Promote;
use ralph_model::{DrawnLesson, Entropy, Extraction, PastIteration, RunHistory, RunId, TaskType};
use ralph_store::{Store, StoreError, Taught};

use jiff::Timestamp;

pub(crate) use answers::answer_of;

use crate::recall::{Said, keep_compared, retold};

/// How many of the earlier runs that nothing was drawn from are asked for at a time.
const RUNS_AT_A_TIME: u32 = 50;

/// The lessons of a run, in the order of the kinds of work.
#[must_use]
pub fn draw(history: &RunHistory) -> Vec<DrawnLesson> {
    let mut drawn = Vec::new();
    for task_type in TaskType::ALL.iter().copied() {
        let of_type = |iteration: &&PastIteration| iteration.task_type == task_type;
        let group: Vec<&PastIteration> = history.iterations.iter().filter(of_type).collect();
        drawn.extend(strategies::of(task_type, &group));
        drawn.extend(antipatterns::of(task_type, &group));
        drawn.extend(estimates::of(task_type, &group));
    }
    drawn.extend(conventions::of(&history.iterations));
    drawn
}

/// Draws the lessons of a run on record and keeps them. What the run has taught already does not grow.
///
/// # Errors
/// When the database cannot be used.
pub fn learn_from_run(
    store: &mut Store,
    run: &RunId,
    promote: Promote,
    entropy: &mut dyn Entropy,
    now: Timestamp,
) -> Result<Extraction, StoreError> {
    let history = store.run_history(run)?;
    learn_from(store, &history, promote, entropy, now)
}

/// Draws the lessons of a run, whoever recorded it, and keeps them.
///
/// # Errors
/// When the database cannot be used.
pub fn learn_from(
    store: &mut Store,
    history: &RunHistory,
    promote: Promote,
    entropy: &mut dyn Entropy,
    now: Timestamp,
) -> Result<Extraction, StoreError> {
    let drawn = draw(history);
    let compare = |store: &Store| retold(store, drawn.iter().map(Said::from));
    keep_compared(store, compare, |store, found| {
        let taught = Taught {
            run: &history.loop_id,
            drawn: &drawn,
            retold: &found,
            promote,
        };
        store.take_in_drawn(&taught, entropy, now)
    })
}

/// With what lessons are drawn from the runs that are over.
pub struct Lessons<'a> {
    /// How far a lesson comes by itself.
    pub promote: Promote,
    /// Where new ids come from.
    pub entropy: &'a mut dyn Entropy,
    /// The moment.
    pub now: Timestamp,
    /// Whether there is time for another run.
    pub has_time: &'a dyn Fn() -> bool,
}

/// What came of the lessons of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Learned {
    /// Of the run that has just ended.
    pub ended: Extraction,
    /// Of earlier ones, all together.
    pub earlier: Extraction,
}

/// Draws the lessons of a run that has just ended, and of the earlier ones that were killed before theirs could be drawn, the
/// newest first, as long as there is time. What came of it is added to `done`, also where something goes wrong. One run that
/// cannot be read keeps no other from being learned from.
///
/// # Errors
/// When the database cannot be used, or one of the runs not be read; the first error then.
pub fn learn_from_runs(
    store: &mut Store,
    ended: &RunId,
    lessons: &mut Lessons<'_>,
    done: &mut Learned,
) -> Result<(), StoreError> {
    let mut learn =
        |store: &mut Store, run: &RunId| learn_from_run(store, run, lessons.promote, lessons.entropy, lessons.now);
    let mut all = match learn(store, ended) {
        Ok(own) => {
            done.ended = done.ended.and(own);
            Ok(())
        }
        Err(error) => Err(error),
    };
    let mut before: Option<RunId> = None;
    loop {
        let waiting = match store.runs_without_extraction(RUNS_AT_A_TIME, before.as_ref()) {
            Ok(waiting) => waiting,
            Err(error) => return all.and(Err(error)),
        };
        for run in waiting.iter().filter(|run| *run != ended) {
            if !(lessons.has_time)() {
                return all;
            }
            match learn(store, run) {
                Ok(one) => done.earlier = done.earlier.and(one),
                Err(error) => all = all.and(Err(error)),
            }
        }
        // What could not be read still waits, so the next ones are those before the last.
        match waiting.last() {
            Some(last) if waiting.len() >= RUNS_AT_A_TIME as usize => before = Some(last.clone()),
            _ => return all,
        }
    }
}

#[cfg(test)]
mod tests;
