//! Which lessons may stand in prompts: those that say something, by how it went with those that saw them.

use crate::candidate::has_text;
use crate::{Learning, LearningKind, LearningStatus};

/// How often a strategy has to succeed before it stands in a prompt for the first time …
const ENTERS_AT: f64 = 0.6;
/// … and how often one that did, so that it stays.
const LEAVES_BELOW: f64 = 0.4;
/// In so many prompts it stands before what happened there is held against it: one bad iteration says little.
const USES_THAT_TELL: u32 = 5;

/// How many uses the first success rate is worth.
const FIRST_USES: f64 = 5.0;

/// How often what a lesson says succeeds: by what was counted here, and before that by what was said of it first, as if of five
/// uses. So one iteration changes little, and many decide.
#[must_use]
pub fn counted_success_rate(first: f64, successes: u32, uses_here: u32) -> f64 {
    let rate = (FIRST_USES * first + f64::from(successes)) / (FIRST_USES + f64::from(uses_here));
    rate.clamp(0.0, 1.0)
}

/// What `Learning::may_be_shown` asks of a strategy, for a question to a database that asks the same of many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StandingRule {
    /// How often one has to succeed that never stood in a prompt here …
    pub enters_at: f64,
    /// … and one that did, so that it stays …
    pub leaves_below: f64,
    /// … after so many uses here.
    pub uses_that_tell: u32,
}

impl StandingRule {
    /// The rule.
    pub const STRATEGIES: Self = Self {
        enters_at: ENTERS_AT,
        leaves_below: LEAVES_BELOW,
        uses_that_tell: USES_THAT_TELL,
    };
}

impl Learning {
    /// In how many iterations that count it stood in the prompt here.
    #[must_use]
    pub fn uses_here(&self) -> u32 {
        self.use_count.saturating_sub(self.first_use_count)
    }

    /// How often it succeeds by what was counted. Of what is to be avoided nobody counts that.
    #[must_use]
    pub fn counted_success_rate(&self) -> f64 {
        match self.kind {
            LearningKind::Antipattern => self.success_rate,
            LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => {
                counted_success_rate(self.first_success_rate, self.successes, self.uses_here())
            }
        }
    }

    /// Whether it says anything at all.
    #[must_use]
    pub fn has_text(&self) -> bool {
        has_text(&self.content)
    }

    /// Whether it may stand in a prompt: it says something, and succeeds often enough. Only a strategy has to: what is to be
    /// avoided fails, and how things are done here, or how long they take, is no promise.
    #[must_use]
    pub fn may_be_shown(&self) -> bool {
        self.has_text() && self.succeeds_often_enough()
    }

    fn succeeds_often_enough(&self) -> bool {
        match (self.kind, self.uses_here()) {
            (LearningKind::Antipattern | LearningKind::Estimate | LearningKind::Convention, _) => true,
            (LearningKind::Strategy, 0) => self.success_rate >= ENTERS_AT,
            (LearningKind::Strategy, uses) => uses < USES_THAT_TELL || self.success_rate >= LEAVES_BELOW,
        }
    }
}

impl Learning {
    /// Whether another one has taken its place. One that was merged into another is part of it, and pruned.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        let is_out = matches!(self.status, LearningStatus::Rejected | LearningStatus::Pruned);
        self.superseded_by.is_some() && !is_out
    }

    /// Why it stands in no prompt although it holds, where it says nothing or does not succeed often enough.
    #[must_use]
    pub fn why_not_shown(&self) -> Option<String> {
        if !self.has_text() {
            return Some("it has no text".to_owned());
        }
        if self.may_be_shown() {
            return None;
        }
        let rate = whole_percent(self.success_rate);
        Some(match self.uses_here() {
            0 => format!(
                "its success rate is {rate} %, below the {} % that a strategy begins with",
                whole_percent(ENTERS_AT)
            ),
            uses => format!(
                "its success rate is {rate} % after {uses} uses, below {} %",
                whole_percent(LEAVES_BELOW)
            ),
        })
    }
}

/// A share as it is shown beside a bound: what is below the bound is not to be rounded up to it.
#[must_use]
pub fn whole_percent(share: f64) -> f64 {
    (share * 100.0 + 1e-9).floor()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{LearningId, LearningSource, LearningStatus};

    #[test]
    fn what_left_the_prompts_says_why() {
        let said = |rate, uses| lesson(LearningKind::Strategy, rate, uses).why_not_shown();
        let left = "its success rate is 39 % after 13 uses, below 40 %";
        assert_eq!(said(0.399, (15, 2)).as_deref(), Some(left));
        let never = "its success rate is 58 %, below the 60 % that a strategy begins with";
        assert_eq!(said(0.58, (2, 2)).as_deref(), Some(never));
        assert_eq!((said(0.4, (13, 0)), said(0.0, (4, 0))), (None, None));
    }

    #[test]
    fn what_says_nothing_stands_in_no_prompt() {
        for kind in LearningKind::ALL.iter().copied() {
            for content in ["", " \n", "…"] {
                let untold = Learning {
                    content: content.to_owned(),
                    ..lesson(kind, 0.9, (0, 0))
                };
                assert!(!untold.may_be_shown(), "{kind} {content:?}");
                assert_eq!(
                    untold.why_not_shown().as_deref(),
                    Some("it has no text"),
                    "{kind} {content:?}"
                );
            }
        }
    }

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
    fn a_rate_begins_with_what_was_said_and_ends_with_what_was_counted() {
        for (first, successes, uses, expected) in [
            (1.0, 0, 0, 1.0),
            (1.0, 0, 5, 0.5),
            (0.6, 5, 5, 0.8),
            (0.0, 0, 9, 0.0),
            (0.5, 9995, 9995, 0.99975),
        ] {
            let rate = counted_success_rate(first, successes, uses);
            assert!((rate - expected).abs() < 1e-9, "{first}, {successes} of {uses}: {rate}");
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
            assert_eq!(lesson(kind, 0.0, (9, 0)).why_not_shown(), None, "{kind}");
        }
    }
}
