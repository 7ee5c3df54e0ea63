//! Summarizes what the user did in a review.

use ralph_model::count;

/// What was done with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// A task will be retried.
    Reset,
    Accepted,
    Undone,
    Promoted,
    /// A learning was rejected.
    Rejected,
    /// A conflict between two learnings was settled.
    Settled,
    ProposalAccepted,
    ProposalRejected,
    Restored,
    /// A missing note was deleted for good.
    Deleted,
    Left,
    /// An earlier answer settled it, so the user was not asked.
    SettledByEarlierAnswer,
    /// Someone else settled it first.
    SettledElsewhere,
}

#[derive(Debug, Default)]
pub(super) struct Summary(Vec<Action>);

impl Summary {
    pub(super) fn add(&mut self, action: Action) {
        self.0.push(action);
    }

    /// A sentence with all counts and how many of the items are left.
    pub(super) fn sentence(&self, of: usize) -> String {
        let left = of - self.0.iter().filter(|action| **action != Action::Left).count().min(of);
        let actions = [
            (Action::Reset, "task reset", "tasks reset"),
            (Action::Accepted, "task accepted", "tasks accepted"),
            (Action::Undone, "task undone", "tasks undone"),
            (Action::Promoted, "learning promoted", "learnings promoted"),
            (Action::Rejected, "learning rejected", "learnings rejected"),
            (Action::Settled, "conflict settled", "conflicts settled"),
            (Action::ProposalAccepted, "proposal accepted", "proposals accepted"),
            (Action::ProposalRejected, "proposal rejected", "proposals rejected"),
            (Action::Restored, "note restored", "notes restored"),
            (Action::Deleted, "note deleted", "notes deleted"),
            (
                Action::SettledElsewhere,
                "settled by someone else",
                "settled by someone else",
            ),
        ];
        let parts = actions.into_iter().filter_map(|(action, one, many)| {
            let done = self.0.iter().filter(|other| **other == action).count();
            (done > 0).then(|| count(done, one, many))
        });
        let mut parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            parts.push("Nothing changed".to_owned());
        }
        let still = match left {
            0 => "nothing left to review".to_owned(),
            left => format!("{left} left to review"),
        };
        format!("{}; {still}.", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_counted() {
        let mut summary = Summary::default();
        assert_eq!(summary.sentence(2), "Nothing changed; 2 left to review.");
        for action in [Action::Promoted, Action::Reset, Action::Promoted, Action::Left] {
            summary.add(action);
        }
        assert_eq!(
            summary.sentence(4),
            "1 task reset, 2 learnings promoted; 1 left to review."
        );
        assert_eq!(
            summary.sentence(3),
            "1 task reset, 2 learnings promoted; nothing left to review."
        );
        summary.add(Action::SettledByEarlierAnswer);
        assert_eq!(
            summary.sentence(5),
            "1 task reset, 2 learnings promoted; 1 left to review."
        );
    }
}
