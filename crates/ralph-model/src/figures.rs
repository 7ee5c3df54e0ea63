//! New figures of an estimate.

use std::time::Duration;

use crate::facts::Facts;

/// New figures of an estimate; `None` keeps the old value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EstimateFigures {
    /// Iterations per task.
    pub iterations: Option<u32>,
    pub time: Option<Duration>,
}

impl EstimateFigures {
    /// Applies the figures to an estimate; `None` for other kinds of learnings.
    #[must_use]
    pub fn apply_to(self, facts: &Facts) -> Option<Facts> {
        let mut changed = facts.clone();
        let Facts::Estimate {
            avg_iteration_time,
            total_iterations,
            ..
        } = &mut changed
        else {
            return None;
        };
        *total_iterations = self.iterations.map_or(*total_iterations, f64::from);
        *avg_iteration_time = self
            .time
            .map_or(*avg_iteration_time, |time| time.as_secs_f64() * 1000.0);
        Some(changed)
    }
}
