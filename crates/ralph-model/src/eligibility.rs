//! Which learnings may be injected, based on their content and on outcomes so far.

use crate::candidate::has_text;
use crate::{Learning, LearningKind, LearningStatus};

/// The success rate at which a strategy is first injected.
const ENTERS_AT: f64 = 0.6;
/// The success rate below which a strategy is no longer injected.
const LEAVES_BELOW: f64 = 0.4;
/// Minimum uses before outcomes affect eligibility: one bad iteration is weak evidence.
const MIN_USES: u32 = 5;

/// The weight of the initial success rate, in uses.
const FIRST_USES: f64 = 5.0;

/// The success rate with the initial rate counted as five uses, so that a single iteration changes little.
#[must_use]
pub fn counted_success_rate(first: f64, successes: u32, uses_here: u32) -> f64 {
    // Without rounding, so that a rate from elsewhere stays as it was written.
    if uses_here == 0 {
        return first.clamp(0.0, 1.0);
    }
    let rate = (FIRST_USES * first + f64::from(successes)) / (FIRST_USES + f64::from(uses_here));
    rate.clamp(0.0, 1.0)
}

/// The thresholds of [`Learning::is_eligible`] for use in a database query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EligibilityRule {
    /// For a strategy that was never injected here.
    pub enters_at: f64,
    /// For one that was injected at least `min_uses` times.
    pub leaves_below: f64,
    pub min_uses: u32,
}

impl EligibilityRule {
    pub const STRATEGIES: Self = Self {
        enters_at: ENTERS_AT,
        leaves_below: LEAVES_BELOW,
        min_uses: MIN_USES,
    };
}

impl Learning {
    /// The number of iterations here that had it in their prompt and count.
    #[must_use]
    pub fn uses_here(&self) -> u32 {
        self.use_count.saturating_sub(self.first_use_count)
    }

    /// The success rate from outcomes. Anti-patterns keep the stored rate.
    #[must_use]
    pub fn counted_success_rate(&self) -> f64 {
        match self.kind {
            LearningKind::Antipattern => self.success_rate,
            LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => {
                counted_success_rate(self.first_success_rate, self.successes, self.uses_here())
            }
        }
    }

    #[must_use]
    pub fn has_text(&self) -> bool {
        has_text(&self.content)
    }

    /// Whether it may be injected: it has text and, if it is a strategy, succeeds often enough.
    #[must_use]
    pub fn is_eligible(&self) -> bool {
        self.has_text() && self.succeeds_often_enough()
    }

    fn succeeds_often_enough(&self) -> bool {
        match (self.kind, self.uses_here()) {
            (LearningKind::Antipattern | LearningKind::Estimate | LearningKind::Convention, _) => true,
            (LearningKind::Strategy, 0) => self.success_rate >= ENTERS_AT,
            (LearningKind::Strategy, uses) => uses < MIN_USES || self.success_rate >= LEAVES_BELOW,
        }
    }
}

impl Learning {
    /// Whether another learning supersedes it. A merged learning is retired, not superseded.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        let is_out = matches!(self.status, LearningStatus::Rejected | LearningStatus::Pruned);
        self.superseded_by.is_some() && !is_out
    }

    /// Why an active learning is not injected; `None` if it is eligible.
    #[must_use]
    pub fn ineligible_reason(&self) -> Option<String> {
        if !self.has_text() {
            return Some("it has no text".to_owned());
        }
        if self.is_eligible() {
            return None;
        }
        let rate = whole_percent(self.success_rate);
        Some(match self.uses_here() {
            0 => format!(
                "its success rate is {rate} %, below the required {} %",
                whole_percent(ENTERS_AT)
            ),
            uses => format!(
                "its success rate is {rate} % after {uses} uses, below {} %",
                whole_percent(LEAVES_BELOW)
            ),
        })
    }
}

/// A share in percent, rounded down, so that a value below a threshold is not displayed as equal to it.
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
    fn ineligible_strategy_has_a_reason() {
        let said = |rate, uses| learning(LearningKind::Strategy, rate, uses).ineligible_reason();
        let left = "its success rate is 39 % after 13 uses, below 40 %";
        assert_eq!(said(0.399, (15, 2)).as_deref(), Some(left));
        let never = "its success rate is 58 %, below the required 60 %";
        assert_eq!(said(0.58, (2, 2)).as_deref(), Some(never));
        assert_eq!((said(0.4, (13, 0)), said(0.0, (4, 0))), (None, None));
    }

    #[test]
    fn learning_without_text_is_not_eligible() {
        for kind in LearningKind::ALL.iter().copied() {
            for content in ["", " \n", "…"] {
                let blank = Learning {
                    content: content.to_owned(),
                    ..learning(kind, 0.9, (0, 0))
                };
                assert!(!blank.is_eligible(), "{kind} {content:?}");
                assert_eq!(
                    blank.ineligible_reason().as_deref(),
                    Some("it has no text"),
                    "{kind} {content:?}"
                );
            }
        }
    }

    fn learning(kind: LearningKind, success_rate: f64, (use_count, first_use_count): (u32, u32)) -> Learning {
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
    fn strategy_thresholds_differ_for_entering_and_leaving() {
        for (rate, uses, expected) in [
            (0.6, (0, 0), true),
            (0.59, (0, 0), false),
            // Uses elsewhere do not count here.
            (0.59, (50, 50), false),
            (0.0, (4, 0), true),
            (0.39, (5, 0), false),
            (0.4, (5, 0), true),
            (0.39, (54, 50), true),
            (0.39, (55, 50), false),
        ] {
            let strategy = learning(LearningKind::Strategy, rate, uses);
            assert_eq!(strategy.is_eligible(), expected, "{rate} after {uses:?}");
        }
    }

    #[test]
    fn rate_moves_from_initial_to_counted() {
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
    fn only_strategies_need_a_success_rate() {
        for kind in [
            LearningKind::Antipattern,
            LearningKind::Convention,
            LearningKind::Estimate,
        ] {
            assert!(learning(kind, 0.0, (9, 0)).is_eligible(), "{kind}");
            assert_eq!(learning(kind, 0.0, (9, 0)).ineligible_reason(), None, "{kind}");
        }
    }
}
