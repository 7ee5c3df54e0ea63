//! Parses the figures of an estimate that a person edited, in the format in which they are displayed.

use std::time::Duration;

use crate::config::parse_time_with_unit;
use crate::duration;
use crate::facts::{Facts, with_figures};

/// The separator between the description and the figures of an estimate.
const FIGURES_SEPARATOR: &str = ": about ";
/// The suffix of the time if there are several iterations.
const TIME_SUFFIX: &str = " each";
/// Words that a description cannot contain, because the figures contain them.
const UNITS: [&str; 4] = ["iteration", "second", "minute", "hour"];

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

    /// Parses figures. Values equal to the displayed ones are `None`, because the display is rounded.
    fn read(text: &str, was: &Facts) -> Option<Self> {
        let (iterations, time) = text.split_once(',')?;
        let (number, unit) = iterations.trim().split_once(' ')?;
        matches!(unit.trim(), "iteration" | "iterations").then_some(())?;
        let time = time.trim().trim_end_matches('.');
        let time = time.strip_suffix(TIME_SUFFIX).unwrap_or(time).trim_end();
        let is_unchanged = |shown: Option<String>, text: &str| shown.as_deref() == Some(text);
        Some(Self {
            iterations: match is_unchanged(was.shown_iterations(), number) {
                true => None,
                false => Some(number.parse().ok().filter(|number| *number > 0)?),
            },
            time: match is_unchanged(was.iteration_time().map(duration), time) {
                true => None,
                false => Some(read_time(time)?),
            },
        })
    }
}

/// Parses an edited estimate into its description and numbers. `None` if the figures cannot be parsed or the
/// description would contradict them.
#[must_use]
pub fn read_estimate(text: &str, (content, facts): (&str, &Facts)) -> Option<(String, Facts)> {
    let text = text.trim();
    if text == with_figures(content, Some(facts)).trim() {
        return Some((content.to_owned(), facts.clone()));
    }
    let (words, figures) = match text.rsplit_once(FIGURES_SEPARATOR) {
        Some((words, figures)) => (words.trim_end(), EstimateFigures::read(figures, facts)?),
        None => (text, EstimateFigures::default()),
    };
    let is_consistent = words == content.trim() || !mentions_figures(words);
    let facts = figures.apply_to(facts).filter(|_| is_consistent)?;
    Some((words.to_owned(), facts))
}

/// Parses a time as displayed or as written in the configuration.
fn read_time(text: &str) -> Option<Duration> {
    let fraction = text
        .strip_suffix('s')
        .and_then(|seconds| seconds.trim_end().parse().ok());
    let as_configured = || parse_time_with_unit(&text.replace(' ', "").replace("min", "m"));
    let time = match fraction {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => as_configured(),
    };
    time.filter(|time| !time.is_zero())
}

fn mentions_figures(words: &str) -> bool {
    let words = words.to_lowercase();
    words.contains(|c: char| c.is_ascii_digit()) || UNITS.iter().any(|unit| words.contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(time: f64, iterations: f64) -> Facts {
        Facts::Estimate {
            avg_iteration_time: time,
            total_iterations: iterations,
            complexity: "low".to_owned(),
            success_rate: 0.5,
            sampled: 3,
        }
    }

    fn check(text: &str, expected: Option<(&str, Facts)>) {
        let was = estimate(22_345.0, 2.25);
        let read = read_estimate(text, ("tasks of 2024", &was));
        let expected = expected.map(|(words, facts)| (words.to_owned(), facts));
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn displayed_figures_parse() {
        for (text, words, time, iterations) in [
            (
                "tasks of 2024: about 2 iterations, 22 s each\n",
                "tasks of 2024",
                22_345.0,
                2.25,
            ),
            (
                "tasks of 2024: about 9 iterations, 22 s each",
                "tasks of 2024",
                22_345.0,
                9.0,
            ),
            (
                "tasks of 2024: about 2 iterations, 23 s each",
                "tasks of 2024",
                23_000.0,
                2.25,
            ),
            ("tasks of 2024: about 1 iteration, 0.5 s", "tasks of 2024", 500.0, 1.0),
            (
                "slow tasks: about 9 iterations, 1 min 05 s each.",
                "slow tasks",
                65_000.0,
                9.0,
            ),
            (
                "slow tasks: about 9 iterations, 1 h 05 min each",
                "slow tasks",
                3_900_000.0,
                9.0,
            ),
            (
                "slow tasks: about 9 iterations, 2h30m each",
                "slow tasks",
                9_000_000.0,
                9.0,
            ),
            ("slow tasks", "slow tasks", 22_345.0, 2.25),
            ("tasks of 2024", "tasks of 2024", 22_345.0, 2.25),
        ] {
            check(text, Some((words, estimate(time, iterations))));
        }
    }

    #[test]
    fn invalid_or_contradictory_figures_are_rejected() {
        for text in [
            "tasks of 2025",
            "slow tasks take nine iterations",
            "slow tasks take an hour",
            "slow tasks: about 9 iterations",
            "slow tasks: about 9 iterations, a while each",
            "slow tasks: about 0 iterations, 5 s each",
            "slow tasks: about 2 iterations, 0 s each",
            "slow tasks: about 2.5 iterations, 5 s each",
            "slow tasks: about 2 iterations, inf s each",
            "slow tasks: about 3 rounds, 5 s each",
            "9 rounds: about 2 iterations, 22 s each",
        ] {
            check(text, None);
        }
        let strategy = Facts::Strategy {
            effectiveness: 1.0,
            iterations: 2,
        };
        assert_eq!(EstimateFigures::default().apply_to(&strategy), None);
    }
}
