//! Candidate learnings and the rules that validate them.

use crate::{ExtractedLearning, Learning, LearningKind, TaskType};

/// Lower confidence is rejected.
const MIN_CONFIDENCE: f64 = 0.3;
/// An anti-pattern with a higher success rate is rejected.
const MAX_ANTIPATTERN_RATE: f64 = 0.2;
/// A strategy with a lower success rate is rejected.
const MIN_STRATEGY_RATE: f64 = 0.5;

/// The fields of a learning that validation reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'a> {
    pub kind: LearningKind,
    pub task_type: Option<TaskType>,
    pub content: &'a str,
    pub confidence: f64,
    pub success_rate: f64,
}

impl<'a> From<&'a ExtractedLearning> for Candidate<'a> {
    fn from(extracted: &'a ExtractedLearning) -> Self {
        Self {
            kind: extracted.kind,
            task_type: Some(extracted.task_type),
            content: &extracted.content,
            confidence: extracted.confidence,
            success_rate: extracted.success_rate,
        }
    }
}

impl<'a> From<&'a Learning> for Candidate<'a> {
    /// Uses the initial success rate. Later outcomes decide whether a learning is injected, not whether it is valid.
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
    /// The reason for rejection, or `None` if valid. Other tools know the reasons by these exact words.
    #[must_use]
    pub fn rejection(&self) -> Option<&'static str> {
        let is_share = |number: f64| (0.0..=1.0).contains(&number);
        if self.task_type.is_none() || !has_text(self.content) {
            Some("Missing required fields")
        } else if !is_share(self.confidence) {
            Some("Confidence must be between 0 and 1")
        } else if !is_share(self.success_rate) {
            Some("Success rate must be between 0 and 1")
        } else if self.confidence < MIN_CONFIDENCE {
            Some("Confidence too low (< 0.3)")
        } else {
            match self.kind {
                LearningKind::Antipattern if self.success_rate > MAX_ANTIPATTERN_RATE => {
                    Some("Anti-patterns should have low success rate")
                }
                LearningKind::Strategy if self.success_rate < MIN_STRATEGY_RATE => {
                    Some("Strategies should have success rate >= 0.5")
                }
                _ => None,
            }
        }
    }
}

/// Whether the content has any letter or digit.
pub(crate) fn has_text(content: &str) -> bool {
    content.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: Candidate<'_> = Candidate {
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
    fn valid_candidates_are_not_rejected() {
        check(VALID, None);
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
                    ..VALID
                },
                None,
            );
        }
        check(
            Candidate {
                content: "日本",
                ..VALID
            },
            None,
        );
    }

    #[test]
    fn each_rule_has_its_reason() {
        let missing = Some("Missing required fields");
        check(Candidate { content: "", ..VALID }, missing);
        check(
            Candidate {
                content: "!? → 🚀",
                ..VALID
            },
            missing,
        );
        check(
            Candidate {
                task_type: None,
                ..VALID
            },
            missing,
        );
        for confidence in [-0.1, 1.1, f64::NAN] {
            check(
                Candidate { confidence, ..VALID },
                Some("Confidence must be between 0 and 1"),
            );
        }
        for success_rate in [-0.1, 1.1, f64::INFINITY] {
            check(
                Candidate { success_rate, ..VALID },
                Some("Success rate must be between 0 and 1"),
            );
        }
        check(
            Candidate {
                confidence: 0.29,
                ..VALID
            },
            Some("Confidence too low (< 0.3)"),
        );
        check(
            Candidate {
                success_rate: 0.49,
                ..VALID
            },
            Some("Strategies should have success rate >= 0.5"),
        );
        let antipattern = Candidate {
            kind: LearningKind::Antipattern,
            ..VALID
        };
        check(antipattern, Some("Anti-patterns should have low success rate"));
    }
}
