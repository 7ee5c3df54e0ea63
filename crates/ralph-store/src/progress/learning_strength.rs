//! How sure a lesson is, and how it becomes surer.

use ralph_model::Facts;

/// How sure a lesson is before anything has supported it.
pub(super) const FIRST_CONFIDENCE: f64 = 0.5;
/// How sure support alone can make it.
const MOST_CONFIDENCE: f64 = 0.95;
/// Which part of the doubt that is left goes with each support.
const STEP: f64 = 0.1;

/// How sure a lesson is after somebody has said it once more.
pub(super) fn strengthened(confidence: f64) -> f64 {
    let surer = confidence + (1.0 - confidence) * STEP;
    // One that is surer already has it from elsewhere, and keeps it.
    surer.min(MOST_CONFIDENCE).max(confidence)
}

/// How sure a lesson is after a run has said it once more: where it has numbers, no surer than such numbers make it.
pub(super) fn strengthened_by_run(confidence: f64, facts: Option<&Facts>) -> f64 {
    let most = facts.map_or(MOST_CONFIDENCE, Facts::most_confidence);
    strengthened(confidence).min(most).max(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn support_makes_surer_but_never_certain_and_never_less_sure() {
        assert!((strengthened(FIRST_CONFIDENCE) - 0.55).abs() < 1e-9);
        let after_many = (0..1000).fold(FIRST_CONFIDENCE, |confidence, _| strengthened(confidence));
        assert!((after_many - MOST_CONFIDENCE).abs() < 1e-9);
        assert!((strengthened(1.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn runs_make_a_lesson_no_surer_than_its_numbers_can() {
        let strategy = Facts::Strategy {
            effectiveness: 1.0,
            iterations: 2,
        };
        let antipattern = Facts::Antipattern {
            occurrences: 9,
            impact: "high".to_owned(),
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
