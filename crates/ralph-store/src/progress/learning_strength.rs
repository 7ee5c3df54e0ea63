//! Confidence of learnings, and how support raises it.

use ralph_model::Facts;

pub(super) const FIRST_CONFIDENCE: f64 = 0.5;
/// Upper limit of what support alone gives.
const MOST_CONFIDENCE: f64 = 0.95;
/// Share of the remaining doubt that each support removes.
const STEP: f64 = 0.1;

/// Confidence after one more support.
pub(super) fn strengthened(confidence: f64) -> f64 {
    let surer = confidence + (1.0 - confidence) * STEP;
    // A higher confidence comes from elsewhere and is kept.
    surer.min(MOST_CONFIDENCE).max(confidence)
}

/// Confidence after support by a run, limited to what the facts give, if there are any.
pub(super) fn strengthened_by_run(confidence: f64, facts: Option<&Facts>) -> f64 {
    let most = facts.map_or(MOST_CONFIDENCE, Facts::max_confidence);
    strengthened(confidence).min(most).max(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn support_raises_confidence_below_certainty() {
        assert!((strengthened(FIRST_CONFIDENCE) - 0.55).abs() < 1e-9);
        let after_many = (0..1000).fold(FIRST_CONFIDENCE, |confidence, _| strengthened(confidence));
        assert!((after_many - MOST_CONFIDENCE).abs() < 1e-9);
        assert!((strengthened(1.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn facts_limit_the_confidence() {
        let strategy = Facts::Strategy {
            effectiveness: 1.0,
            iterations: 2,
        };
        let antipattern = Facts::Antipattern {
            occurrences: 9,
            impact: "high".to_owned(),
            error: None,
        };
        for (facts, confidence, expected) in [
            (Some(&strategy), 0.9, 0.9),
            (Some(&strategy), 0.8, 0.82),
            (Some(&strategy), 0.93, 0.93),
            (Some(&antipattern), 0.79, 0.8),
            (None, 0.9, 0.91),
        ] {
            let surer = strengthened_by_run(confidence, facts);
            assert!((surer - expected).abs() < 1e-9, "{facts:?} {confidence}: {surer}");
        }
    }
}
