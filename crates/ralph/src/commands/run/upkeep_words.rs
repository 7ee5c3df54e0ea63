//! Lines about learnings extracted at the end of a run and about upkeep.

use ralph_memory::learn::Upkeep;
use ralph_model::{Extraction, count};

pub(super) fn learned(done: &Extraction) -> String {
    format!("Learned from the run: {}.", counts(done))
}

/// For earlier runs whose learnings had not been extracted yet.
pub(super) fn learned_earlier(done: &Extraction) -> String {
    format!("Learned from earlier runs: {}.", counts(done))
}

fn counts(done: &Extraction) -> String {
    let Extraction {
        extracted,
        validated,
        rejected,
        promoted,
        skipped,
        ..
    } = done;
    let known = known(done);
    format!(
        "{extracted} extracted, {validated} validated, {rejected} rejected, {promoted} promoted{known}, {skipped} skipped"
    )
}

/// A suffix with the number of promoted learnings that were already known; empty if there are none.
pub(crate) fn known(done: &Extraction) -> String {
    match done.known {
        0 => String::new(),
        known => format!(" ({known} already known)"),
    }
}

pub(super) fn kept_up(done: &Upkeep) -> String {
    let merged = (done.merged > 0).then(|| format!("{} merged into {}", done.merged, done.into));
    let pruned = (done.pruned > 0).then(|| format!("{} pruned", done.pruned));
    let learnings: Vec<String> = merged.into_iter().chain(pruned).collect();
    let them = if done.merged + done.pruned == 1 { "it" } else { "them" };
    let learnings = (!learnings.is_empty()).then(|| {
        format!(
            "Learnings: {}; restore {them} with `ralph learnings restore`.",
            learnings.join(", ")
        )
    });
    let reports = (done.shortened > 0).then(|| {
        let reports = count(done.shortened, "report", "reports");
        format!("Shortened {reports} of finished work.")
    });
    learnings.into_iter().chain(reports).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_learnings_are_counted() {
        let done = Extraction {
            extracted: 5,
            validated: 5,
            promoted: 5,
            known: 3,
            ..Extraction::default()
        };
        assert_eq!(
            learned(&done),
            "Learned from the run: 5 extracted, 5 validated, 0 rejected, 5 promoted (3 already known), 0 skipped."
        );
    }

    #[test]
    fn upkeep_lines() {
        let check = |merged, into, pruned, shortened, line: &str| {
            let done = Upkeep {
                merged,
                into,
                pruned,
                shortened,
            };
            assert_eq!(kept_up(&done), line);
        };
        let back = "; restore them with `ralph learnings restore`.";
        check(12, 3, 4, 0, &format!("Learnings: 12 merged into 3, 4 pruned{back}"));
        check(
            0,
            0,
            4,
            1,
            &format!("Learnings: 4 pruned{back} Shortened 1 report of finished work."),
        );
        check(
            0,
            0,
            1,
            0,
            "Learnings: 1 pruned; restore it with `ralph learnings restore`.",
        );
        check(0, 0, 0, 2, "Shortened 2 reports of finished work.");
    }
}
