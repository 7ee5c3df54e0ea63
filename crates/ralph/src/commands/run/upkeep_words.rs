//! What was learned at the end of a run and what the upkeep did, a line each.

use ralph_memory::learn::Upkeep;
use ralph_model::{Extraction, count};

/// What the run taught, in a line.
pub(super) fn learned(done: &Extraction) -> String {
    format!("Learned from the run: {}.", counts(done))
}

/// What earlier runs taught that nothing had been drawn from yet, in a line.
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

/// How many of those that hold did before, behind their number; nothing where none did.
pub(crate) fn known(done: &Extraction) -> String {
    match done.known {
        0 => String::new(),
        known => format!(" ({known} known already)"),
    }
}

/// What was done, in a line.
pub(super) fn kept_up(done: &Upkeep) -> String {
    let merged = (done.merged > 0).then(|| format!("{} merged into {}", done.merged, done.into));
    let pruned = (done.pruned > 0).then(|| format!("{} pruned", done.pruned));
    let learnings: Vec<String> = merged.into_iter().chain(pruned).collect();
    let them = if done.merged + done.pruned == 1 { "it" } else { "them" };
    let learnings = (!learnings.is_empty()).then(|| {
        format!(
            "Learnings: {}; `ralph learnings restore` brings {them} back.",
            learnings.join(", ")
        )
    });
    let reports = (done.shortened > 0).then(|| {
        let reports = count(
            done.shortened,
            "report of finished work is",
            "reports of finished work are",
        );
        format!("{reports} shortened.")
    });
    learnings.into_iter().chain(reports).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_known_is_told() {
        let done = Extraction {
            extracted: 5,
            validated: 5,
            promoted: 5,
            known: 3,
            ..Extraction::default()
        };
        assert_eq!(
            learned(&done),
            "Learned from the run: 5 extracted, 5 validated, 0 rejected, 5 promoted (3 known already), 0 skipped."
        );
    }

    #[test]
    fn what_was_done_is_told_and_nothing_else() {
        let check = |merged, into, pruned, shortened, line: &str| {
            let done = Upkeep {
                merged,
                into,
                pruned,
                shortened,
            };
            assert_eq!(kept_up(&done), line);
        };
        let back = "; `ralph learnings restore` brings them back.";
        check(12, 3, 4, 0, &format!("Learnings: 12 merged into 3, 4 pruned{back}"));
        check(
            0,
            0,
            4,
            1,
            &format!("Learnings: 4 pruned{back} 1 report of finished work is shortened."),
        );
        check(
            0,
            0,
            1,
            0,
            "Learnings: 1 pruned; `ralph learnings restore` brings it back.",
        );
        check(0, 0, 0, 2, "2 reports of finished work are shortened.");
    }
}
