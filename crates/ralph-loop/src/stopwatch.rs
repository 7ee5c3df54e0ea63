//! Measures how long a run has lasted, by a monotonic clock, and how long the computer slept.

use std::fs;
use std::time::{Duration, Instant};

/// Smaller differences only mean that the two clocks were not read at the same moment.
const LEAST_SLEEP: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Stopwatch {
    begun: Instant,
    uptime: Option<Duration>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self {
            begun: Instant::now(),
            uptime: uptime(),
        }
    }

    /// The time that passed while the computer was awake.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// How long the computer has slept since the start; zero if the system does not tell.
    pub(crate) fn slept(&self) -> Duration {
        let (Some(then), Some(now)) = (self.uptime, uptime()) else {
            return Duration::ZERO;
        };
        slept(now.saturating_sub(then), self.elapsed())
    }
}

fn slept(up: Duration, awake: Duration) -> Duration {
    let slept = up.saturating_sub(awake);
    if slept < LEAST_SLEEP { Duration::ZERO } else { slept }
}

/// How long the computer has been on, including sleep. It cannot be set by users.
fn uptime() -> Option<Duration> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_difference_counts_as_sleep() {
        let seconds = Duration::from_secs_f64;
        assert_eq!(slept(seconds(3600.02), seconds(60.0)), seconds(3540.02));
        assert_eq!(slept(seconds(60.02), seconds(60.0)), Duration::ZERO);
        assert_eq!(slept(seconds(59.9), seconds(60.0)), Duration::ZERO);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn awake_computer_has_not_slept() {
        assert!(uptime().is_some());
        assert_eq!(Stopwatch::start().slept(), Duration::ZERO);
    }
}
