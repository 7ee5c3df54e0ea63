//! The upkeep at the end of a run, piece by piece, until it is done or its time is up. Every piece is whole by itself: what
//! is not done waits for the next run.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ralph_model::config::Learning;
use ralph_store::{PruneRules, Store, StoreError};

use super::groups::alike;

/// How long the upkeep may take at the end of a run. It is looked at between pieces, each of which takes little.
pub const LIFECYCLE_TIME: Duration = Duration::from_secs(2);

/// How old a lesson must be to be pruned, how long unused, and how long one may stand that another has taken the place of.
const OLD: SignedDuration = SignedDuration::from_hours(90 * 24);
const UNUSED: SignedDuration = SignedDuration::from_hours(30 * 24);
const SUPERSEDED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long the long texts of reports are kept when their task is done.
const REPORTS: SignedDuration = SignedDuration::from_hours(7 * 24);

const UNUSED_REASON: &str = "It is older than 90 days, and nothing used it for 30.";
const SUPERSEDED_REASON: &str = "Another took its place more than 30 days ago.";

/// How many iterations have to end between two merges.
const ITERATIONS_BETWEEN_MERGES: u64 = 10;
/// How many lessons a merge looks at, the newest: they are compared in one piece.
const MOST_CANDIDATES: u32 = 10_000;
/// How many lessons or reports a piece of the upkeep is about.
const PIECE: u32 = 200;
/// How many groups are merged in a piece; each has up to ten lessons.
const GROUPS_IN_PIECE: usize = 25;

/// What the upkeep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Upkeep {
    /// How many lessons were merged into others.
    pub merged: usize,
    /// Into how many.
    pub into: usize,
    /// How many were pruned.
    pub pruned: usize,
    /// How many reports were shortened.
    pub shortened: usize,
}

/// By which rules lessons are pruned at this moment.
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

/// Keeps lessons and reports in order as long as there is time. What was done is added to `done`, also where something goes
/// wrong later.
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

/// Merges alike lessons where there are too many, and not too often. A merge that did not come to its end goes on with the
/// next run: only what is done is on record.
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
    let groups = alike(&store.merge_candidates(MOST_CANDIDATES)?);
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

/// The moment so long ago; the first of all times where there is none.
fn before(now: Timestamp, time: SignedDuration) -> Timestamp {
    now.checked_sub(time).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
#[path = "upkeep_tests.rs"]
mod tests;
