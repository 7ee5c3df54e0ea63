//! Which lessons may stand in prompts, by how it went with those that saw them.

use crate::{Learning, LearningKind};

/// How often a strategy has to succeed before it stands in a prompt for the first time …
const ENTERS_AT: f64 = 0.6;
/// … and how often one that did, so that it stays.
const LEAVES_BELOW: f64 = 0.4;
/// In so many prompts it stands before what happened there is held against it: one bad iteration says little.
const USES_THAT_TELL: u32 = 5;

impl Learning {
    /// In how many iterations that count it stood in the prompt here.
    #[must_use]
    pub fn uses_here(&self) -> u32 {
        self.use_count.saturating_sub(self.first_use_count)
    }

    /// Whether it may stand in a prompt by how often it succeeds. Only a strategy has to: what is to be avoided fails, and how
    /// things are done here, or how long they take, is no promise.
    #[must_use]
    pub fn may_be_shown(&self) -> bool {
        match (self.kind, self.uses_here()) {
            (LearningKind::Antipattern | LearningKind::Estimate | LearningKind::Convention, _) => true,
            (LearningKind::Strategy, 0) => self.success_rate >= ENTERS_AT,
            (LearningKind::Strategy, uses) => uses < USES_THAT_TELL || self.success_rate >= LEAVES_BELOW,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{LearningId, LearningSource, LearningStatus};

    fn lesson(kind: LearningKind, success_rate: f64, (use_count, first_use_count): (u32, u32)) -> Learning {
        Learning {
            id: LearningId::new(1),
            kind,
            category: "other".to_owned(),
            task_type: None,
            content: "Run the tests first.".to_owned(),
            tags: Vec::new(),
            confidence: 0.5,
            success_rate,
            first_success_rate: success_rate,
            use_count,
            first_use_count,
            successes: 0,
            source: LearningSource::Sigil,
            source_loops: Vec::new(),
            task: None,
            journal: None,
            status: LearningStatus::Promoted,
            reason: None,
            superseded_by: None,
            examples: Vec::new(),
            facts: None,
            foreign_id: None,
            last_used_at: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_strategy_enters_prompts_by_another_measure_than_it_leaves_them() {
        for (rate, uses, expected) in [
            (0.6, (0, 0), true),
            (0.59, (0, 0), false),
            // What was counted elsewhere has not been tried here.
            (0.59, (50, 50), false),
            (0.0, (4, 0), true),
            (0.39, (5, 0), false),
            (0.4, (5, 0), true),
            (0.39, (54, 50), true),
            (0.39, (55, 50), false),
        ] {
            let strategy = lesson(LearningKind::Strategy, rate, uses);
            assert_eq!(strategy.may_be_shown(), expected, "{rate} after {uses:?}");
        }
    }

    #[test]
    fn what_is_no_strategy_stands_whatever_its_rate() {
        for kind in [
            LearningKind::Antipattern,
            LearningKind::Convention,
            LearningKind::Estimate,
        ] {
            assert!(lesson(kind, 0.0, (9, 0)).may_be_shown(), "{kind}");
        }
    }
}
