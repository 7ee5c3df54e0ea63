//! Extracts learnings from a whole run: approaches that worked more often than not, repeated failures, estimates and
//! conventions. This is pure: a history goes in, learnings come out; the store validates and stores them.
//!
//! Iterations are grouped by kind of work, except for conventions, which are the project's.

mod antipatterns;
mod conventions;
mod estimates;
mod paths;
mod strategies;

use ralph_model::config::Promote;
use ralph_model::{Entropy, ExtractedLearning, Extraction, PastIteration, RunHistory, RunId, TaskType, TextFeatures};
use ralph_store::{Store, StoreError, Taught};

use jiff::Timestamp;

use ralph_search::text_features;

/// Batch size for earlier runs without extraction.
const RUNS_AT_A_TIME: u32 = 50;

/// The learnings of a run, by kind of work.
#[must_use]
pub fn extract_learnings(history: &RunHistory) -> Vec<ExtractedLearning> {
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

/// Extracts and stores the learnings of a recorded run. Running it again adds nothing.
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

/// Extracts and stores the learnings of a run from any source.
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
    let drawn = extract_learnings(history);
    let features: Vec<TextFeatures> = drawn.iter().map(|drawn| text_features(&drawn.content)).collect();
    let taught = Taught {
        run: &history.loop_id,
        drawn: &drawn,
        features: &features,
        promote,
    };
    store.store_extracted(&taught, entropy, now)
}

/// The settings for extracting learnings from finished runs.
pub struct Learnings<'a> {
    /// When learnings are promoted.
    pub promote: Promote,
    /// The source of new ids.
    pub entropy: &'a mut dyn Entropy,
    pub now: Timestamp,
    /// Whether there is time left for another run.
    pub has_time: &'a dyn Fn() -> bool,
}

/// The results of extracting learnings from runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Learned {
    /// Results of the run that just ended.
    pub ended: Extraction,
    /// Total results of earlier runs.
    pub earlier: Extraction,
}

/// Extracts the learnings of a run that just ended, and of earlier runs that were killed before extraction, newest
/// first, while there is time. Results are added to `done` even if an error occurs. A run that cannot be read does not
/// block the others.
///
/// # Errors
/// When the database cannot be used, or one of the runs not be read; the first error then.
pub fn learn_from_runs(
    store: &mut Store,
    ended: &RunId,
    learnings: &mut Learnings<'_>,
    done: &mut Learned,
) -> Result<(), StoreError> {
    let mut learn = |store: &mut Store, run: &RunId| {
        learn_from_run(store, run, learnings.promote, learnings.entropy, learnings.now)
    };
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
            if !(learnings.has_time)() {
                return all;
            }
            match learn(store, run) {
                Ok(one) => done.earlier = done.earlier.and(one),
                Err(error) => all = all.and(Err(error)),
            }
        }
        // Unreadable runs remain in the list, so continue before the last.
        match waiting.last() {
            Some(last) if waiting.len() >= RUNS_AT_A_TIME as usize => before = Some(last.clone()),
            _ => return all,
        }
    }
}

#[cfg(test)]
mod tests;
