//! Chooses our ids for imported records: the original id if it is free, otherwise one derived from it.

use std::collections::HashSet;
use std::hash::Hash;

use ralph_model::{FeatureId, RunId, TaskId};
use xxhash_rust::xxh3::xxh3_64;

/// The id for an imported record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IdMatch<T> {
    Known(T),
    /// It was not imported yet; this id is free.
    New(T),
}

/// How an id is used here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IdUse {
    Free,
    /// By something created at this time.
    CreatedAt(String),
    /// By something deleted that is still referred to.
    Retired,
}

/// The candidate ids for a task, best first: its own id if it has our form, its first characters if they do, then
/// hashes of its id.
pub(super) fn task_ids<'a>(tool: &'a str, id: &'a str) -> impl Iterator<Item = TaskId> + use<'a> {
    let short = prefix(id, "t-0a1b2c".len()).and_then(TaskId::parse);
    short.into_iter().chain(hashes(tool, id).map(TaskId::new))
}

/// The candidate ids for a feature.
pub(super) fn feature_ids<'a>(tool: &'a str, id: &'a str) -> impl Iterator<Item = FeatureId> + use<'a> {
    let short = prefix(id, "f-0a1b2c".len()).and_then(FeatureId::parse);
    short.into_iter().chain(hashes(tool, id).map(FeatureId::new))
}

/// The candidate ids for the run of a journal entry. If two entries claim to be the same iteration of the same run, the
/// later one gets a run of its own.
pub(super) fn run_ids<'a>(tool: &'a str, id: &'a str, row: i64) -> impl Iterator<Item = RunId> + use<'a> {
    let own = RunId::parse(id).or_else(|| hashes(tool, id).next().map(RunId::new));
    let apart = format!("{id} {row}");
    let hashes = (0..=u32::MAX).map(move |round| RunId::new(hash(tool, &apart, round)));
    own.into_iter().chain(hashes)
}

/// Chooses the first id that is free or that belongs to something created at the same time.
pub(super) fn find_id<T: Clone + Eq + Hash>(
    candidates: impl Iterator<Item = T>,
    taken: &mut HashSet<T>,
    made: &str,
    mut id_use: impl FnMut(&T) -> rusqlite::Result<IdUse>,
) -> rusqlite::Result<Option<IdMatch<T>>> {
    for id in candidates {
        if taken.contains(&id) {
            continue;
        }
        let place = match id_use(&id)? {
            IdUse::Free => IdMatch::New(id.clone()),
            IdUse::CreatedAt(moment) if moment == made => IdMatch::Known(id.clone()),
            IdUse::CreatedAt(_) | IdUse::Retired => continue,
        };
        taken.insert(id);
        return Ok(Some(place));
    }
    Ok(None)
}

/// The first characters of an id, if the rest are hex digits too.
fn prefix(id: &str, length: usize) -> Option<&str> {
    let rest = id.get(length..)?;
    let short = id.get(..length)?;
    rest.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(short)
}

fn hashes<'a>(tool: &'a str, id: &'a str) -> impl Iterator<Item = u64> + use<'a> {
    (0..=u32::MAX).map(move |round| hash(tool, id, round))
}

fn hash(tool: &str, id: &str, round: u32) -> u64 {
    xxh3_64(format!("{tool}\0{id}\0{round}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_kept_cut_or_hashed_deterministically() {
        let first = |id: &str| task_ids("x", id).next().map(|id| id.to_string()).unwrap();
        assert_eq!(first("t-1a2b3c"), "t-1a2b3c");
        assert_eq!(first("t-1a2b3c4d"), "t-1a2b3c");
        for other in ["task-1737372000-a1b2", "t-1a2b3cxy", "t-1A2B3C", "", "t-1a2b3é"] {
            assert_eq!(first(other), first(other));
            assert_ne!(first(other), "t-1a2b3c");
        }
        assert_ne!(task_ids("x", "a").next(), task_ids("y", "a").next());
        assert_eq!(run_ids("x", "run-1a2b3c4d", 7).next().unwrap().as_str(), "run-1a2b3c4d");
        assert_ne!(run_ids("x", "r", 7).nth(1), run_ids("x", "r", 8).nth(1));
    }

    #[test]
    fn same_creation_time_identifies_a_known_record() {
        let mut taken = HashSet::new();
        let mut find = |made: &str| {
            find_id([0, 1, 2, 3].into_iter(), &mut taken, made, |id| {
                Ok(match *id {
                    0 => IdUse::Retired,
                    1 => IdUse::CreatedAt("then".to_owned()),
                    _ => IdUse::Free,
                })
            })
            .unwrap()
        };
        assert_eq!(find("now"), Some(IdMatch::New(2)));
        assert_eq!(find("then"), Some(IdMatch::Known(1)));
        assert_eq!(find("now"), Some(IdMatch::New(3)));
        assert_eq!(find("now"), None);
    }
}
