//! The numbers behind a lesson that was drawn from what happened.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{LearningKind, Signature, TaskType, duration};

word_enum! {
    /// How much work something is, by how many iterations and files it took.
    pub enum Complexity {
        /// At most two iterations and two files.
        Low = "low",
        /// At most five of each.
        Medium = "medium",
        /// More.
        High = "high",
    }
}

impl Complexity {
    /// How much work so many iterations and files are.
    #[must_use]
    pub fn of(iterations: usize, files: usize) -> Self {
        match iterations.max(files) {
            0..=2 => Self::Low,
            3..=5 => Self::Medium,
            _ => Self::High,
        }
    }
}

/// The numbers behind a lesson. What they are called is what other tools call them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Facts {
    /// Of a way that works.
    Strategy {
        /// The share of the iterations that were done which used it.
        effectiveness: f64,
        /// In how many iterations that were done it was used.
        iterations: u32,
    },
    /// Of a way that does not.
    Antipattern {
        /// How often it was met.
        occurrences: u32,
        /// How bad it is: `high`, `medium`, `low`; other tools may have other words.
        impact: String,
    },
    /// Of how long something takes.
    Estimate {
        /// How long an iteration takes, in milliseconds.
        avg_iteration_time: f64,
        /// How many iterations a task takes.
        total_iterations: f64,
        /// How much work it is.
        complexity: String,
        /// The share of the iterations that were done.
        success_rate: f64,
        /// How many iterations that were done this is drawn from.
        #[serde(default)]
        sampled: u32,
    },
    /// Of how things are done here.
    Convention {
        /// Files that show it.
        examples: Vec<String>,
    },
}

/// How many files show a convention, at most: more help nobody who reads it.
pub const MOST_FACT_EXAMPLES: usize = 3;
/// How sure the numbers behind a lesson can make it.
const MOST_OF_STRATEGY: f64 = 0.9;
const MOST_OF_ANTIPATTERN: f64 = 0.8;
const MOST_OF_ESTIMATE: f64 = 0.9;
const MOST_OF_CONVENTION: f64 = 0.95;
/// So many occurrences would make an anti-pattern certain, and so many samples an estimate.
const CERTAIN_OCCURRENCES: f64 = 4.0;
const CERTAIN_SAMPLES: u32 = 5;
/// From so many occurrences on an anti-pattern does much harm.
const HIGH_IMPACT: u32 = 3;

impl Facts {
    /// How sure the numbers alone make a lesson; none where there are none.
    #[must_use]
    pub fn confidence(&self) -> Option<f64> {
        let sure = match self {
            Self::Strategy { effectiveness, .. } => *effectiveness,
            Self::Antipattern { occurrences, .. } => f64::from(*occurrences) / CERTAIN_OCCURRENCES,
            Self::Estimate { sampled, .. } => f64::from(*sampled) / f64::from(CERTAIN_SAMPLES),
            Self::Convention { .. } => return None,
        };
        Some(sure.min(self.most_confidence()))
    }

    /// How sure such a lesson becomes at most by being drawn again.
    #[must_use]
    pub fn most_confidence(&self) -> f64 {
        match self {
            Self::Strategy { .. } => MOST_OF_STRATEGY,
            Self::Antipattern { .. } => MOST_OF_ANTIPATTERN,
            Self::Estimate { .. } => MOST_OF_ESTIMATE,
            Self::Convention { .. } => MOST_OF_CONVENTION,
        }
    }

    /// How often what the lesson says succeeds, where the numbers tell.
    #[must_use]
    pub fn success_rate(&self) -> Option<f64> {
        match self {
            Self::Strategy { effectiveness, .. } => Some(*effectiveness),
            Self::Estimate { success_rate, .. } => Some(*success_rate),
            Self::Antipattern { .. } | Self::Convention { .. } => None,
        }
    }

    /// How many samples make an estimate so sure that does not say how many it was drawn from; one at least.
    #[must_use]
    pub fn samples_behind(confidence: f64) -> u32 {
        let wanted = (confidence * f64::from(CERTAIN_SAMPLES)).round();
        let fewer = (1..CERTAIN_SAMPLES).take_while(|samples| f64::from(*samples) < wanted);
        fewer.last().map_or(1, |fewer| fewer + 1)
    }

    /// What an estimate says, in words; none of anything else.
    #[must_use]
    pub fn figures(&self) -> Option<String> {
        let (iterations, time) = (self.shown_iterations()?, self.iteration_time()?);
        Some(match iterations.as_str() {
            "1" => format!("about 1 iteration, {}", duration(time)),
            more => format!("about {more} iterations, {} each", duration(time)),
        })
    }

    /// How many iterations a task takes by an estimate, as it is shown.
    pub(crate) fn shown_iterations(&self) -> Option<String> {
        match self {
            Self::Estimate { total_iterations, .. } => Some(format!("{:.0}", total_iterations.max(1.0))),
            _ => None,
        }
    }

    /// How long an iteration takes by an estimate; none where it is no time.
    pub(crate) fn iteration_time(&self) -> Option<Duration> {
        let Self::Estimate { avg_iteration_time, .. } = self else {
            return None;
        };
        Duration::try_from_secs_f64(avg_iteration_time / 1000.0).ok()
    }

    /// How bad something is that was met so often.
    #[must_use]
    pub fn impact_of(occurrences: u32) -> &'static str {
        if occurrences >= HIGH_IMPACT { "high" } else { "medium" }
    }

    /// These numbers and others of the same lesson, as if they had been counted together. Where they are of another kind,
    /// these alone.
    #[must_use]
    pub fn united(&self, other: &Self) -> Self {
        match (self, other) {
            (
                Self::Strategy {
                    effectiveness: rate,
                    iterations: used,
                },
                Self::Strategy {
                    effectiveness: other_rate,
                    iterations: other_used,
                },
            ) => Self::Strategy {
                effectiveness: united_rate((*rate, *used), (*other_rate, *other_used)),
                iterations: used.saturating_add(*other_used),
            },
            (
                Self::Antipattern {
                    occurrences: met,
                    impact,
                },
                Self::Antipattern {
                    occurrences: other_met, ..
                },
            ) => {
                let occurrences = met.saturating_add(*other_met);
                // A word that is not ours was somebody's judgement.
                let is_counted = impact == Self::impact_of(*met);
                let impact = if is_counted {
                    Self::impact_of(occurrences)
                } else {
                    impact
                };
                Self::Antipattern {
                    occurrences,
                    impact: impact.to_owned(),
                }
            }
            (Self::Estimate { .. }, Self::Estimate { .. }) => self.united_estimate(other),
            (Self::Convention { examples }, Self::Convention { examples: others }) => {
                let new = others.iter().filter(|other| !examples.contains(other));
                let all = examples.iter().chain(new).take(MOST_FACT_EXAMPLES.max(examples.len()));
                Self::Convention {
                    examples: all.cloned().collect(),
                }
            }
            _ => self.clone(),
        }
    }

    fn united_estimate(&self, other: &Self) -> Self {
        let (
            Self::Estimate {
                avg_iteration_time,
                total_iterations,
                complexity,
                success_rate,
                sampled,
            },
            Self::Estimate {
                avg_iteration_time: other_time,
                total_iterations: other_iterations,
                success_rate: other_rate,
                sampled: other_sampled,
                ..
            },
        ) = (self, other)
        else {
            return self.clone();
        };
        let (own, others) = (
            Sample::of(*sampled, *success_rate, *total_iterations),
            Sample::of(*other_sampled, *other_rate, *other_iterations),
        );
        // Whoever names a time has seen one iteration that took it.
        let (weight, other_weight) = (own.done.max(1.0), others.done.max(1.0));
        let iterations = own.iterations + others.iterations;
        Self::Estimate {
            avg_iteration_time: (avg_iteration_time * weight + other_time * other_weight) / (weight + other_weight),
            total_iterations: iterations / (own.tasks + others.tasks),
            complexity: complexity.clone(),
            success_rate: (own.done + others.done) / iterations,
            sampled: sampled.saturating_add(*other_sampled),
        }
    }
}

/// What an estimate was drawn from.
struct Sample {
    /// Iterations that were done.
    done: f64,
    /// All iterations that count.
    iterations: f64,
    /// The tasks that these worked at.
    tasks: f64,
}

impl Sample {
    /// What gives these numbers. Who does not say how much theirs was drawn from has seen one task.
    fn of(sampled: u32, success_rate: f64, total_iterations: f64) -> Self {
        let of_one_task = if total_iterations > 0.0 { total_iterations } else { 1.0 };
        if sampled == 0 || success_rate <= 0.0 {
            return Self {
                done: of_one_task * success_rate.clamp(0.0, 1.0),
                iterations: of_one_task,
                tasks: 1.0,
            };
        }
        let iterations = f64::from(sampled) / success_rate;
        Self {
            done: f64::from(sampled),
            iterations,
            tasks: iterations / of_one_task,
        }
    }
}

/// The share that two shares make together, each with how many it counts: of how many follows from both.
fn united_rate((rate, counted): (f64, u32), (other_rate, other_counted): (f64, u32)) -> f64 {
    // A share of nothing is one of which nothing counts, however many are named.
    let of = |rate: f64, counted: f64| {
        if rate > 0.0 {
            (counted, counted / rate)
        } else {
            (0.0, counted)
        }
    };
    let (own, others) = (of(rate, f64::from(counted)), of(other_rate, f64::from(other_counted)));
    let all = own.1 + others.1;
    if all > 0.0 { (own.0 + others.0) / all } else { rate }
}

/// What an estimate is an estimate of.
#[must_use]
pub fn estimate_of(task_type: TaskType, complexity: &str) -> String {
    format!("{} tasks of {complexity} complexity", task_type.word())
}

/// What a lesson says, an estimate with its figures, as people read it.
#[must_use]
pub fn with_figures(content: &str, facts: Option<&Facts>) -> String {
    match facts.and_then(Facts::figures) {
        Some(figures) => format!("{}: {figures}", content.trim_end()),
        None => content.to_owned(),
    }
}

/// A lesson that was drawn from a run.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnLesson {
    /// What kind of lesson it is.
    pub kind: LearningKind,
    /// The kind of work that it was drawn from.
    pub task_type: TaskType,
    /// What it says. Of an estimate, what it is an estimate of.
    pub content: String,
    /// By what it can be found beside its words.
    pub tags: Vec<String>,
    /// The numbers behind it.
    pub facts: Facts,
    /// How sure it is.
    pub confidence: f64,
    /// How often what it says succeeds.
    pub success_rate: f64,
    /// The rows of the journal that it was drawn from; none where it comes from a file.
    pub journal: Vec<i64>,
    /// The failures that it warns of.
    pub signatures: Vec<Signature>,
}

/// What became of the lessons of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Extraction {
    /// How many were drawn.
    pub extracted: u32,
    /// How many of them can be true.
    pub validated: u32,
    /// How many cannot.
    pub rejected: u32,
    /// How many hold from now on, or are surer than they were.
    pub promoted: u32,
    /// How many of those held before.
    pub known: u32,
    /// How many were left out: this run had taught them already, or a person had rejected them.
    pub skipped: u32,
}

impl Extraction {
    /// These and those of another run.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            extracted: self.extracted.saturating_add(other.extracted),
            validated: self.validated.saturating_add(other.validated),
            rejected: self.rejected.saturating_add(other.rejected),
            promoted: self.promoted.saturating_add(other.promoted),
            known: self.known.saturating_add(other.known),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complexity_is_that_of_the_larger_number() {
        for (iterations, files, expected) in [
            (0, 0, Complexity::Low),
            (2, 2, Complexity::Low),
            (2, 3, Complexity::Medium),
            (5, 5, Complexity::Medium),
            (6, 1, Complexity::High),
            (1, 6, Complexity::High),
        ] {
            assert_eq!(
                Complexity::of(iterations, files),
                expected,
                "{iterations} iterations, {files} files"
            );
        }
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn numbers_say_how_sure_a_lesson_is_and_never_certain() {
        let strategy = |effectiveness| Facts::Strategy {
            effectiveness,
            iterations: 12,
        };
        let antipattern = |occurrences| Facts::Antipattern {
            occurrences,
            impact: "high".to_owned(),
        };
        let estimate = |sampled| Facts::Estimate {
            avg_iteration_time: 45_000.0,
            total_iterations: 3.0,
            complexity: "medium".to_owned(),
            success_rate: 0.85,
            sampled,
        };
        for (facts, expected) in [
            (strategy(0.85), 0.85),
            (strategy(1.0), 0.9),
            (antipattern(2), 0.5),
            (antipattern(3), 0.75),
            (antipattern(4), 0.8),
            (antipattern(99), 0.8),
            (estimate(0), 0.0),
            (estimate(3), 0.6),
            (estimate(5), 0.9),
        ] {
            assert!(
                facts.confidence().is_some_and(|sure| close(sure, expected)),
                "{facts:?}"
            );
        }
        assert_eq!(Facts::Convention { examples: vec![] }.confidence(), None);
    }

    #[test]
    fn how_sure_an_estimate_is_tells_how_much_it_was_drawn_from() {
        for (confidence, expected) in [
            (0.0, 1),
            (0.1, 1),
            (0.4, 2),
            (0.6, 3),
            (0.9, 5),
            (1.0, 5),
            (7.0, 5),
            (-1.0, 1),
            (f64::NAN, 1),
        ] {
            assert_eq!(Facts::samples_behind(confidence), expected, "{confidence}");
        }
    }

    #[test]
    fn united_numbers_are_those_of_one_count() {
        let strategy = |effectiveness, iterations| Facts::Strategy {
            effectiveness,
            iterations,
        };
        // 3 of 4, and 6 of 6.
        assert_eq!(strategy(0.75, 3).united(&strategy(1.0, 6)), strategy(0.9, 9));
        let met = |occurrences, impact: &str| Facts::Antipattern {
            occurrences,
            impact: impact.to_owned(),
        };
        assert_eq!(met(2, "medium").united(&met(2, "medium")), met(4, "high"));
        assert_eq!(met(2, "critical").united(&met(2, "medium")), met(4, "critical"));
        let estimate = |time, iterations, success_rate, sampled| Facts::Estimate {
            avg_iteration_time: time,
            total_iterations: iterations,
            complexity: "low".to_owned(),
            success_rate,
            sampled,
        };
        // 1 of 1, and 3 of 6.
        let united = estimate(1000.0, 1.0, 1.0, 1).united(&estimate(2000.0, 2.0, 0.5, 3));
        assert_eq!(united, estimate(1750.0, 1.75, 4.0 / 7.0, 4));
        let shown = |examples: &[&str]| Facts::Convention {
            examples: examples.iter().map(|example| (*example).to_owned()).collect(),
        };
        assert_eq!(
            shown(&["a", "b"]).united(&shown(&["b", "c", "d"])),
            shown(&["a", "b", "c"])
        );
        assert_eq!(
            shown(&["a"]).united(&met(2, "medium")),
            shown(&["a"]),
            "no kind becomes another"
        );
    }

    #[test]
    fn united_estimates_count_tasks_and_what_others_estimate_counts_as_one() {
        let estimate = |time, iterations, success_rate, sampled| Facts::Estimate {
            avg_iteration_time: time,
            total_iterations: iterations,
            complexity: "low".to_owned(),
            success_rate,
            sampled,
        };
        // One task of two iterations, and three of one; and the same again.
        let (one, three) = (estimate(1000.0, 2.0, 1.0, 2), estimate(1000.0, 1.0, 1.0, 3));
        let united = one.united(&three);
        assert_eq!(united, estimate(1000.0, 1.25, 1.0, 5));
        assert_eq!(united.united(&united), estimate(1000.0, 1.25, 1.0, 10));
        // Nobody knows of how many tasks: three iterations and none of them done, and two that were.
        let foreign = estimate(4000.0, 3.0, 0.0, 0);
        let own = estimate(1000.0, 1.0, 1.0, 2);
        assert_eq!(foreign.united(&own), estimate(2000.0, 5.0 / 3.0, 0.4, 2));
        assert_eq!(foreign.united(&foreign), foreign);
        let nothing = estimate(0.0, 0.0, 0.0, 0);
        assert_eq!(
            nothing.united(&nothing),
            estimate(0.0, 1.0, 0.0, 0),
            "no division by nothing"
        );
    }

    #[test]
    fn fault_26_a_rating_of_nothing_stays_nothing() {
        let never = Facts::Strategy {
            effectiveness: 0.0,
            iterations: 0,
        };
        assert_eq!(never.confidence(), Some(0.0));
        assert_eq!(never.success_rate(), Some(0.0));
        assert_eq!(never.united(&never), never);
        let strategy = |effectiveness, iterations| Facts::Strategy {
            effectiveness,
            iterations,
        };
        assert_eq!(strategy(0.0, 6).united(&strategy(1.0, 2)), strategy(0.25, 8));
    }
}
