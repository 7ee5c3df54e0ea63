//! How much a lesson of earlier runs is worth: for a piece of work, and by itself. Both are sums and products of few terms,
//! and each term can be shown.

use jiff::Timestamp;
use ralph_model::{Learning, LearningKind, TaskType};
use ralph_store::LearningStrength;
use serde::Serialize;

/// What each term of a relevance counts at most.
const CONFIDENCE: f64 = 0.4;
const TASK_TYPE: f64 = 0.3;
const SUCCESS: f64 = 0.2;
const RECENCY: f64 = 0.1;
/// What each kind of error counts that a lesson warns of.
const ERROR: f64 = 0.3;
/// After so many days a lesson is old.
const OLD_DAYS: f64 = 90.0;
const SECONDS_OF_DAY: f64 = 86_400.0;

/// How well a lesson fits a piece of work: the terms of the sum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Relevance {
    /// How sure it is.
    pub confidence: f64,
    /// Whether it was learned at such work.
    pub task_type: f64,
    /// How often it holds.
    pub success: f64,
    /// How new it is.
    pub recency: f64,
    /// How many of the errors that were met it warns of.
    pub errors: f64,
}

impl Relevance {
    /// How well a lesson fits work of a kind, of whose errors it warns of so many.
    #[must_use]
    pub fn of(learning: &Learning, work: Option<TaskType>, errors: u32, now: Timestamp) -> Self {
        let is_of_type = work.is_some() && learning.task_type == work;
        let age = now.duration_since(learning.created_at).as_secs_f64() / SECONDS_OF_DAY;
        Self {
            confidence: learning.confidence * CONFIDENCE,
            task_type: if is_of_type { TASK_TYPE } else { 0.0 },
            success: rate(learning.kind, learning.success_rate) * SUCCESS,
            // One that comes from a clock that is ahead is new, and no more than that.
            recency: ((OLD_DAYS - age) / OLD_DAYS).clamp(0.0, 1.0) * RECENCY,
            errors: f64::from(errors) * ERROR,
        }
    }

    /// The sum, 1 at most.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.sum().min(1.0)
    }

    /// The sum as it is, by which even those are put in order that are worth the most.
    pub(super) fn sum(&self) -> f64 {
        self.confidence + self.task_type + self.success + self.recency + self.errors
    }
}

/// How well a lesson is supported by itself: the factors of the product.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Support {
    /// How sure it is.
    pub confidence: f64,
    /// How often it holds.
    pub rate: f64,
    /// How often it was used; more counts ever less.
    pub uses: f64,
}

impl Support {
    /// How well a lesson is supported.
    #[must_use]
    pub fn of(learning: &Learning) -> Self {
        Self {
            confidence: learning.confidence,
            rate: rate(learning.kind, learning.success_rate),
            uses: uses(learning.use_count),
        }
    }

    /// The same of one that was not read whole.
    pub(super) fn of_strength(strength: &LearningStrength) -> Self {
        Self {
            confidence: strength.confidence,
            rate: rate(strength.kind, strength.success_rate),
            uses: uses(strength.use_count),
        }
    }

    /// The product.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.confidence * self.rate * self.uses
    }
}

/// How often a lesson holds. What warns of a way holds as often as that way fails.
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
    use ralph_testkit::known_lesson;

    use super::*;

    fn now() -> Timestamp {
        "2026-02-03T10:30:00Z".parse().unwrap()
    }

    fn lesson(kind: LearningKind, task_type: TaskType, confidence: f64, success_rate: f64, age: i64) -> Learning {
        let created_at = now() - (24 * age).hours();
        Learning {
            confidence,
            success_rate,
            created_at,
            ..known_lesson(1, kind, task_type, "Small steps")
        }
    }

    #[track_caller]
    fn check(learning: &Learning, errors: u32, expected: &str) {
        let relevance = Relevance::of(learning, Some(TaskType::TestFix), errors, now());
        assert_eq!(format!("{:.3}", relevance.total()), expected, "{relevance:?}");
    }

    #[test]
    fn of_two_lessons_the_less_sure_one_of_the_same_work_is_the_more_relevant() {
        let (strategy, test_fix) = (LearningKind::Strategy, TaskType::TestFix);
        check(&lesson(strategy, test_fix, 0.8, 0.75, 10), 0, "0.859");
        check(&lesson(strategy, TaskType::Feature, 0.9, 0.85, 60), 0, "0.563");
    }

    #[test]
    fn what_fails_always_is_what_a_warning_is_worth() {
        let warning = lesson(LearningKind::Antipattern, TaskType::Feature, 0.5, 0.0, 90);
        check(&warning, 0, "0.400");
        check(&warning, 1, "0.700");
        check(&warning, 2, "1.000");
        check(&warning, 3, "1.000");
    }

    #[test]
    fn age_takes_nothing_away_beyond_its_own_term() {
        for (age, expected) in [
            (-100, "0.700"),
            (0, "0.700"),
            (45, "0.650"),
            (90, "0.600"),
            (9_000, "0.600"),
        ] {
            check(
                &lesson(LearningKind::Strategy, TaskType::Feature, 1.0, 1.0, age),
                0,
                expected,
            );
        }
    }

    #[test]
    fn where_the_work_is_unknown_nothing_was_learned_at_it() {
        let mut learning = lesson(LearningKind::Strategy, TaskType::General, 1.0, 1.0, 0);
        learning.task_type = None;
        assert!((Relevance::of(&learning, None, 0, now()).total() - 0.7).abs() < 1e-9);
    }

    /// Nought is a rate like any other, and not one that is unknown.
    #[test]
    fn fault_26_what_never_succeeds_is_worth_nothing() {
        let mut learning = lesson(LearningKind::Strategy, TaskType::TestFix, 0.5, 0.0, 90);
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
        let mut learning = lesson(LearningKind::Strategy, TaskType::General, 0.5, 0.8, 0);
        assert!((Support::of(&learning).total() - 0.4).abs() < 1e-9);
        learning.use_count = 90;
        assert!((Support::of(&learning).total() - 0.8).abs() < 1e-9);
        learning.kind = LearningKind::Antipattern;
        assert!((Support::of(&learning).total() - 0.2).abs() < 1e-9);
    }
}
