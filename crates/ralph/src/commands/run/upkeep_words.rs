//! What the upkeep at the end of a run did, in a line.

use ralph_memory::learn::Upkeep;
use ralph_model::count;

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
