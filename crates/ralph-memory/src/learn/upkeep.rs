//! Upkeep at the end of a run, in small batches, until it is done or its time is up. Each batch is atomic; the rest is
//! left to the next run.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ralph_model::config::Learning;
use ralph_store::{PruneRules, Store, StoreError};
use serde::Serialize;

use super::groups::merge_groups;

/// Time limit for the upkeep at the end of a run, checked between batches.
pub const LIFECYCLE_TIME: Duration = Duration::from_secs(2);

/// Learnings are pruned when old and unused for a while, or superseded for a while.
const OLD: SignedDuration = SignedDuration::from_hours(90 * 24);
const UNUSED: SignedDuration = SignedDuration::from_hours(30 * 24);
const SUPERSEDED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long the long texts of reports are kept after their task is done.
const REPORTS: SignedDuration = SignedDuration::from_hours(7 * 24);

const UNUSED_REASON: &str = "It is older than 90 days, and nothing used it for 30.";
const SUPERSEDED_REASON: &str = "Another took its place more than 30 days ago.";

/// Minimum number of iterations between two merges.
const ITERATIONS_BETWEEN_MERGES: u64 = 10;
/// How many learnings a merge compares, newest first; this is not interruptible.
const MOST_CANDIDATES: u32 = 10_000;
/// Learnings or reports per batch.
const PIECE: u32 = 200;
/// Groups merged per batch; each has up to ten learnings.
const GROUPS_IN_PIECE: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Upkeep {
    /// Learnings merged into others.
    pub merged: usize,
    pub into: usize,
    pub pruned: usize,
    /// Reports shortened.
    #[serde(rename = "reports_shortened")]
    pub shortened: usize,
}

/// The pruning rules as of now.
#[must_use]
pub fn prune_rules(now: Timestamp) -> PruneRules<'static> {
    PruneRules {
        created_before: before(now, OLD),
        unused_since: before(now, UNUSED),
        unused_reason: UNUSED_REASON,
        superseded_before: before(now, SUPERSEDED),
        superseded_reason: SUPERSEDED_REASON,
    }
}

/// Prunes, shortens and merges while there is time. Results are added to `done` even if a later step fails.
///
/// # Errors
/// When the database cannot be used.
pub fn keep_up(
    store: &mut Store,
    settings: &Learning,
    now: Timestamp,
    has_time: &dyn Fn() -> bool,
    done: &mut Upkeep,
) -> Result<(), StoreError> {
    prune(store, now, has_time, done)?;
    shorten(store, now, has_time, done)?;
    merge(store, settings.merge_above, now, (has_time, done))
}

fn prune(store: &mut Store, now: Timestamp, has_time: &dyn Fn() -> bool, done: &mut Upkeep) -> Result<(), StoreError> {
    let rules = prune_rules(now);
    while has_time() {
        let pruned = store.prune_learnings(&rules, PIECE, now)?.len();
        done.pruned += pruned;
        if pruned < PIECE as usize {
            break;
        }
    }
    Ok(())
}

fn shorten(
    store: &mut Store,
    now: Timestamp,
    has_time: &dyn Fn() -> bool,
    done: &mut Upkeep,
) -> Result<(), StoreError> {
    while has_time() {
        let shortened = store.shorten_reports(before(now, REPORTS), PIECE, now)?;
        done.shortened += shortened;
        if shortened < PIECE as usize {
            break;
        }
    }
    Ok(())
}

/// Merges similar learnings if there are too many, and not too often. An interrupted merge continues in the next run.
fn merge(
    store: &mut Store,
    above: Option<u32>,
    now: Timestamp,
    (has_time, done): (&dyn Fn() -> bool, &mut Upkeep),
) -> Result<(), StoreError> {
    let is_too_early = |iterations: u64| iterations < ITERATIONS_BETWEEN_MERGES;
    let Some(above) = above.filter(|_| has_time()) else {
        return Ok(());
    };
    if store.active_learnings()? <= u64::from(above) || store.iterations_since_merge()?.is_some_and(is_too_early) {
        return Ok(());
    }
    let groups = merge_groups(&store.merge_candidates(MOST_CANDIDATES)?);
    for piece in groups.chunks(GROUPS_IN_PIECE) {
        if !has_time() {
            return Ok(());
        }
        let merged = store.merge_learnings(piece, now)?;
        done.merged += merged.merged;
        done.into += merged.into;
    }
    store.record_merge(now)
}

/// The moment `time` ago.
fn before(now: Timestamp, time: SignedDuration) -> Timestamp {
    now.checked_sub(time).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
#[path = "upkeep_tests.rs"]
mod tests;
