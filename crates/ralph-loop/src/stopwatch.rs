//! How long a run has lasted: by a clock that never jumps, and with the time for which the computer slept.

use std::fs;
use std::time::{Duration, Instant};

/// Less is not the sleep of a computer but that of two clocks which are not read at the same moment.
const LEAST_SLEEP: Duration = Duration::from_secs(1);

/// A stopwatch that runs since the beginning of a run.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    begun: Instant,
    uptime: Option<Duration>,
}

impl Stopwatch {
    /// One that starts now.
    pub(crate) fn start() -> Self {
        Self {
            begun: Instant::now(),
            uptime: uptime(),
        }
    }

    /// The time that has passed while the computer was awake.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// For how long the computer has slept since the beginning; nothing where the system does not say so.
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

/// How long the computer is on. Its sleep counts, and nobody can set it.
fn uptime() -> Option<Duration> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_two_clocks_differ_by_is_sleep_unless_it_is_next_to_nothing() {
        let seconds = Duration::from_secs_f64;
        assert_eq!(slept(seconds(3600.02), seconds(60.0)), seconds(3540.02));
        assert_eq!(slept(seconds(60.02), seconds(60.0)), Duration::ZERO);
        assert_eq!(slept(seconds(59.9), seconds(60.0)), Duration::ZERO);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_computer_that_is_awake_has_not_slept() {
        assert!(uptime().is_some());
        assert_eq!(Stopwatch::start().slept(), Duration::ZERO);
    }
}
