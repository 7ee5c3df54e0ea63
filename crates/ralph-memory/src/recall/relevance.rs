//! Scores learnings of earlier runs: relevance to a piece of work, and support on their own. Both are sums or products
//! of few terms, each of which can be shown.

use jiff::Timestamp;
use ralph_model::{Learning, LearningKind, TaskType};
use ralph_store::LearningStrength;
use serde::Serialize;

/// Maximum of each term of a relevance.
const CONFIDENCE: f64 = 0.4;
const TASK_TYPE: f64 = 0.3;
const SUCCESS: f64 = 0.2;
const RECENCY: f64 = 0.1;
/// Score per error that a learning warns of.
const ERROR: f64 = 0.3;
/// The age at which recency reaches 0.
const OLD_DAYS: f64 = 90.0;
const SECONDS_OF_DAY: f64 = 86_400.0;

/// The relevance of a learning to a piece of work: the terms of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Relevance {
    pub confidence: f64,
    /// Whether it was learned at this kind of work.
    pub task_type: f64,
    pub success: f64,
    pub recency: f64,
    /// From the number of errors it warns of.
    pub errors: f64,
}

impl Relevance {
    /// The relevance to a kind of work, for a learning that warns of `errors` errors.
    #[must_use]
    pub fn of(learning: &Learning, work: Option<TaskType>, errors: u32, now: Timestamp) -> Self {
        let is_of_type = work.is_some() && learning.task_type == work;
        let age = now.duration_since(learning.created_at).as_secs_f64() / SECONDS_OF_DAY;
        Self {
            confidence: learning.confidence * CONFIDENCE,
            task_type: if is_of_type { TASK_TYPE } else { 0.0 },
            success: rate(learning.kind, learning.success_rate) * SUCCESS,
            // A timestamp in the future counts as new, not as more than that.
            recency: ((OLD_DAYS - age) / OLD_DAYS).clamp(0.0, 1.0) * RECENCY,
            errors: f64::from(errors) * ERROR,
        }
    }

    /// The sum, 1 at most.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.sum().min(1.0)
    }

    /// The sum without the cap, which also orders those above it.
    pub(super) fn sum(&self) -> f64 {
        self.confidence + self.task_type + self.success + self.recency + self.errors
    }
}

/// The support of a learning: the factors of a product.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Support {
    pub confidence: f64,
    pub rate: f64,
    /// From the number of uses, with diminishing returns.
    pub uses: f64,
}

impl Support {
    #[must_use]
    pub fn of(learning: &Learning) -> Self {
        Self {
            confidence: learning.confidence,
            rate: rate(learning.kind, learning.success_rate),
            uses: uses(learning.use_count),
        }
    }

    /// The same for a partially read learning.
    pub(super) fn of_strength(strength: &LearningStrength) -> Self {
        Self {
            confidence: strength.confidence,
            rate: rate(strength.kind, strength.success_rate),
            uses: uses(strength.use_count),
        }
    }

    #[must_use]
    pub fn total(&self) -> f64 {
        self.confidence * self.rate * self.uses
    }
}

/// How often a learning proves right. An anti-pattern is right as often as what it warns of fails.
fn rate(kind: LearningKind, success_rate: f64) -> f64 {
    match kind {
        LearningKind::Antipattern => 1.0 - success_rate,
        LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => success_rate,
    }
}

fn uses(use_count: u32) -> f64 {
    (f64::from(use_count) + 10.0).log10()
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;
    use ralph_testkit::run_learning;

    use super::*;

    fn now() -> Timestamp {
        "2026-02-03T10:30:00Z".parse().unwrap()
    }

    fn learning(kind: LearningKind, task_type: TaskType, confidence: f64, success_rate: f64, age: i64) -> Learning {
        let created_at = now() - (24 * age).hours();
        Learning {
            confidence,
            success_rate,
            created_at,
            ..run_learning(1, kind, task_type, "Small steps")
        }
    }

    #[track_caller]
    fn check(learning: &Learning, errors: u32, expected: &str) {
        let relevance = Relevance::of(learning, Some(TaskType::TestFix), errors, now());
        assert_eq!(format!("{:.3}", relevance.total()), expected, "{relevance:?}");
    }

    #[test]
    fn same_task_type_outweighs_confidence() {
        let (strategy, test_fix) = (LearningKind::Strategy, TaskType::TestFix);
        check(&learning(strategy, test_fix, 0.8, 0.75, 10), 0, "0.859");
        check(&learning(strategy, TaskType::Feature, 0.9, 0.85, 60), 0, "0.563");
    }

    #[test]
    fn warning_scores_by_failure_rate() {
        let warning = learning(LearningKind::Antipattern, TaskType::Feature, 0.5, 0.0, 90);
        check(&warning, 0, "0.400");
        check(&warning, 1, "0.700");
        check(&warning, 2, "1.000");
        check(&warning, 3, "1.000");
    }

    #[test]
    fn age_affects_only_its_own_term() {
        for (age, expected) in [
            (-100, "0.700"),
            (0, "0.700"),
            (45, "0.650"),
            (90, "0.600"),
            (9_000, "0.600"),
        ] {
            check(
                &learning(LearningKind::Strategy, TaskType::Feature, 1.0, 1.0, age),
                0,
                expected,
            );
        }
    }

    #[test]
    fn unknown_task_type_matches_nothing() {
        let mut learning = learning(LearningKind::Strategy, TaskType::General, 1.0, 1.0, 0);
        learning.task_type = None;
        assert!((Relevance::of(&learning, None, 0, now()).total() - 0.7).abs() < 1e-9);
    }

    /// A rate of 0 is not an unknown rate.
    #[test]
    fn fault_26_success_rate_of_0_gives_no_support() {
        let mut learning = learning(LearningKind::Strategy, TaskType::TestFix, 0.5, 0.0, 90);
        learning.use_count = 90;
        assert!(Support::of(&learning).total().abs() < f64::EPSILON);
        let strength = LearningStrength {
            number: 1,
            kind: learning.kind,
            confidence: learning.confidence,
            success_rate: learning.success_rate,
            use_count: learning.use_count,
        };
        assert!(Support::of_strength(&strength).total().abs() < f64::EPSILON);
        check(&learning, 0, "0.500");
    }

    #[test]
    fn support_grows_with_use() {
        let mut learning = learning(LearningKind::Strategy, TaskType::General, 0.5, 0.8, 0);
        assert!((Support::of(&learning).total() - 0.4).abs() < 1e-9);
        learning.use_count = 90;
        assert!((Support::of(&learning).total() - 0.8).abs() < 1e-9);
        learning.kind = LearningKind::Antipattern;
        assert!((Support::of(&learning).total() - 0.2).abs() < 1e-9);
    }
}
