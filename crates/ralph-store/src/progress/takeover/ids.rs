//! Which id of ours something of another tool gets: its own where that is free, else one that its id leads to.

use std::collections::HashSet;
use std::hash::Hash;

use ralph_model::{FeatureId, RunId, TaskId};
use xxhash_rust::xxh3::xxh3_64;

/// Where something of another tool stands here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place<T> {
    /// It is here already.
    Known(T),
    /// It is not here yet; this is free.
    New(T),
}

/// What stands at an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing ever did.
    Free,
    /// Something that was made in this moment.
    MadeAt(String),
    /// What has it is gone, but still spoken of.
    Spent,
}

/// The ids that a task may have here, the best first: its own where it has our form, what of it has, else any that its id
/// leads to.
pub(super) fn task_ids<'a>(tool: &'a str, id: &'a str) -> impl Iterator<Item = TaskId> + use<'a> {
    let short = beginning(id, "t-0a1b2c".len()).and_then(TaskId::parse);
    short.into_iter().chain(hashes(tool, id).map(TaskId::new))
}

/// The same for a feature.
pub(super) fn feature_ids<'a>(tool: &'a str, id: &'a str) -> impl Iterator<Item = FeatureId> + use<'a> {
    let short = beginning(id, "f-0a1b2c".len()).and_then(FeatureId::parse);
    short.into_iter().chain(hashes(tool, id).map(FeatureId::new))
}

/// The same for the run of a row of a journal. Where two rows say that they are the same iteration of the same run, the later
/// one gets a run of its own.
pub(super) fn run_ids<'a>(tool: &'a str, id: &'a str, row: i64) -> impl Iterator<Item = RunId> + use<'a> {
    let own = RunId::parse(id).or_else(|| hashes(tool, id).next().map(RunId::new));
    let apart = format!("{id} {row}");
    let hashes = (0..=u32::MAX).map(move |round| RunId::new(hash(tool, &apart, round)));
    own.into_iter().chain(hashes)
}

/// Finds the place of something: the first id that is free, or that has what was made in the same moment.
pub(super) fn place<T: Clone + Eq + Hash>(
    candidates: impl Iterator<Item = T>,
    taken: &mut HashSet<T>,
    made: &str,
    mut stands: impl FnMut(&T) -> rusqlite::Result<Standing>,
) -> rusqlite::Result<Option<Place<T>>> {
    for id in candidates {
        if taken.contains(&id) {
            continue;
        }
        let place = match stands(&id)? {
            Standing::Free => Place::New(id.clone()),
            Standing::MadeAt(moment) if moment == made => Place::Known(id.clone()),
            Standing::MadeAt(_) | Standing::Spent => continue,
        };
        taken.insert(id);
        return Ok(Some(place));
    }
    Ok(None)
}

/// The first characters of an id whose rest are hex digits too.
fn beginning(id: &str, length: usize) -> Option<&str> {
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
    fn ids_of_our_form_stay_longer_ones_are_cut_and_others_get_one_that_is_always_the_same() {
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
    fn what_was_made_in_the_same_moment_is_known_and_what_is_not_goes_elsewhere() {
        let mut taken = HashSet::new();
        let mut find = |made: &str| {
            place([0, 1, 2, 3].into_iter(), &mut taken, made, |id| {
                Ok(match *id {
                    0 => Standing::Spent,
                    1 => Standing::MadeAt("then".to_owned()),
                    _ => Standing::Free,
                })
            })
            .unwrap()
        };
        assert_eq!(find("now"), Some(Place::New(2)));
        assert_eq!(find("then"), Some(Place::Known(1)));
        assert_eq!(find("now"), Some(Place::New(3)));
        assert_eq!(find("now"), None);
    }
}
