//! Lessons that nobody has judged yet, and the rules by which they are judged.

use crate::{DrawnLesson, Learning, LearningKind, TaskType};

/// What is less sure than this is no lesson.
const LEAST_CONFIDENCE: f64 = 0.3;
/// What succeeds more often than this is no anti-pattern, and …
const MOST_OF_ANTIPATTERN: f64 = 0.2;
/// … what succeeds less often than this no strategy.
const LEAST_OF_STRATEGY: f64 = 0.5;

/// What is judged of a lesson.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'a> {
    /// What kind of lesson it is.
    pub kind: LearningKind,
    /// The kind of work that it was learned at.
    pub task_type: Option<TaskType>,
    /// What it says.
    pub content: &'a str,
    /// How sure it is.
    pub confidence: f64,
    /// How often what it says succeeds.
    pub success_rate: f64,
}

impl<'a> From<&'a DrawnLesson> for Candidate<'a> {
    fn from(drawn: &'a DrawnLesson) -> Self {
        Self {
            kind: drawn.kind,
            task_type: Some(drawn.task_type),
            content: &drawn.content,
            confidence: drawn.confidence,
            success_rate: drawn.success_rate,
        }
    }
}

impl<'a> From<&'a Learning> for Candidate<'a> {
    /// By how often it succeeded before anybody counted here: what was counted since judges it in prompts, not whether it is
    /// one.
    fn from(learning: &'a Learning) -> Self {
        Self {
            kind: learning.kind,
            task_type: learning.task_type,
            content: &learning.content,
            confidence: learning.confidence,
            success_rate: learning.first_success_rate,
        }
    }
}

impl Candidate<'_> {
    /// Why it cannot be a lesson; none where it can. The words are those by which other tools know the reasons.
    #[must_use]
    pub fn rejection(&self) -> Option<&'static str> {
        let is_a_share = |number: f64| (0.0..=1.0).contains(&number);
        if self.task_type.is_none() || !has_text(self.content) {
            Some("Missing required fields")
        } else if !is_a_share(self.confidence) {
            Some("Confidence must be between 0 and 1")
        } else if !is_a_share(self.success_rate) {
            Some("Success rate must be between 0 and 1")
        } else if self.confidence < LEAST_CONFIDENCE {
            Some("Confidence too low (< 0.3)")
        } else {
            match self.kind {
                LearningKind::Antipattern if self.success_rate > MOST_OF_ANTIPATTERN => {
                    Some("Anti-patterns should have low success rate")
                }
                LearningKind::Strategy if self.success_rate < LEAST_OF_STRATEGY => {
                    Some("Strategies should have success rate >= 0.5")
                }
                _ => None,
            }
        }
    }
}

/// Whether there is anything that says something: signs alone do not.
pub(crate) fn has_text(content: &str) -> bool {
    content.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: Candidate<'_> = Candidate {
        kind: LearningKind::Strategy,
        task_type: Some(TaskType::BugFix),
        content: "Look first.",
        confidence: 0.5,
        success_rate: 1.0,
    };

    #[track_caller]
    fn check(candidate: Candidate<'_>, expected: Option<&str>) {
        assert_eq!(candidate.rejection(), expected, "{candidate:?}");
    }

    #[test]
    fn what_can_be_true_is_not_rejected() {
        check(SOUND, None);
        for (kind, success_rate) in [
            (LearningKind::Strategy, 0.5),
            (LearningKind::Antipattern, 0.2),
            (LearningKind::Estimate, 0.0),
            (LearningKind::Convention, 0.4),
        ] {
            let confidence = 0.3;
            check(
                Candidate {
                    kind,
                    confidence,
                    success_rate,
                    ..SOUND
                },
                None,
            );
        }
        check(
            Candidate {
                content: "日本",
                ..SOUND
            },
            None,
        );
    }

    #[test]
    fn each_rule_has_its_reason() {
        let missing = Some("Missing required fields");
        check(Candidate { content: "", ..SOUND }, missing);
        check(
            Candidate {
                content: "!? → 🚀",
                ..SOUND
            },
            missing,
        );
        check(
            Candidate {
                task_type: None,
                ..SOUND
            },
            missing,
        );
        for confidence in [-0.1, 1.1, f64::NAN] {
            check(
                Candidate { confidence, ..SOUND },
                Some("Confidence must be between 0 and 1"),
            );
        }
        for success_rate in [-0.1, 1.1, f64::INFINITY] {
            check(
                Candidate { success_rate, ..SOUND },
                Some("Success rate must be between 0 and 1"),
            );
        }
        check(
            Candidate {
                confidence: 0.29,
                ..SOUND
            },
            Some("Confidence too low (< 0.3)"),
        );
        check(
            Candidate {
                success_rate: 0.49,
                ..SOUND
            },
            Some("Strategies should have success rate >= 0.5"),
        );
        let antipattern = Candidate {
            kind: LearningKind::Antipattern,
            ..SOUND
        };
        check(antipattern, Some("Anti-patterns should have low success rate"));
    }
}
