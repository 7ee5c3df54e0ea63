//! How sure a lesson is, and how it becomes surer.

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
}
