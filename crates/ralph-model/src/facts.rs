//! The numbers behind an extracted learning.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{LearningKind, Signature, TaskType, duration};

word_enum! {
    /// Complexity of a task, by the iterations and files it took.
    pub enum Complexity {
        /// At most two iterations and two files.
        Low = "low",
        /// At most five of each.
        Medium = "medium",
        High = "high",
    }
}

impl Complexity {
    #[must_use]
    pub fn of(iterations: usize, files: usize) -> Self {
        match iterations.max(files) {
            0..=2 => Self::Low,
            3..=5 => Self::Medium,
            _ => Self::High,
        }
    }
}

/// The numbers behind a learning. Field names are those of other tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Facts {
    /// For a strategy.
    Strategy {
        /// The share of done iterations that used it.
        effectiveness: f64,
        /// The number of done iterations that used it.
        iterations: u32,
    },
    /// For an anti-pattern.
    Antipattern {
        occurrences: u32,
        /// `high`, `medium` or `low`; other tools may use other words.
        impact: String,
        /// What it warns of: the name of a known failure, or the words of an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// For an estimate.
    Estimate {
        /// Average time of an iteration in milliseconds.
        avg_iteration_time: f64,
        /// Iterations per task.
        total_iterations: f64,
        complexity: String,
        /// The share of iterations that were done.
        success_rate: f64,
        /// The number of done iterations in the sample.
        #[serde(default)]
        sampled: u32,
    },
    /// For a convention.
    Convention { examples: Vec<String> },
}

/// The maximum number of example files for a convention.
pub const MAX_FACT_EXAMPLES: usize = 3;
/// Confidence limits of extracted learnings.
const MAX_STRATEGY_CONFIDENCE: f64 = 0.9;
const MAX_ANTIPATTERN_CONFIDENCE: f64 = 0.8;
const MAX_ESTIMATE_CONFIDENCE: f64 = 0.9;
const MAX_CONVENTION_CONFIDENCE: f64 = 0.95;
/// Occurrences at which an anti-pattern is certain, and samples at which an estimate is.
const OCCURRENCES_FOR_CERTAINTY: f64 = 4.0;
const SAMPLES_FOR_CERTAINTY: u32 = 5;
/// From this many occurrences on, an anti-pattern has high impact.
const HIGH_IMPACT: u32 = 3;

impl Facts {
    /// The confidence that the numbers alone justify, if there are any.
    #[must_use]
    pub fn confidence(&self) -> Option<f64> {
        let sure = match self {
            Self::Strategy { effectiveness, .. } => *effectiveness,
            Self::Antipattern { occurrences, .. } => f64::from(*occurrences) / OCCURRENCES_FOR_CERTAINTY,
            Self::Estimate { sampled, .. } => f64::from(*sampled) / f64::from(SAMPLES_FOR_CERTAINTY),
            Self::Convention { .. } => return None,
        };
        Some(sure.min(self.max_confidence()))
    }

    /// The highest confidence that repeated extraction can reach.
    #[must_use]
    pub fn max_confidence(&self) -> f64 {
        match self {
            Self::Strategy { .. } => MAX_STRATEGY_CONFIDENCE,
            Self::Antipattern { .. } => MAX_ANTIPATTERN_CONFIDENCE,
            Self::Estimate { .. } => MAX_ESTIMATE_CONFIDENCE,
            Self::Convention { .. } => MAX_CONVENTION_CONFIDENCE,
        }
    }

    /// The success rate, if the numbers contain one.
    #[must_use]
    pub fn success_rate(&self) -> Option<f64> {
        match self {
            Self::Strategy { effectiveness, .. } => Some(*effectiveness),
            Self::Estimate { success_rate, .. } => Some(*success_rate),
            Self::Antipattern { .. } | Self::Convention { .. } => None,
        }
    }

    /// The sample size that explains this confidence, for an estimate without one; at least 1.
    #[must_use]
    pub fn samples_behind(confidence: f64) -> u32 {
        let wanted = (confidence * f64::from(SAMPLES_FOR_CERTAINTY)).round();
        let fewer = (1..SAMPLES_FOR_CERTAINTY).take_while(|samples| f64::from(*samples) < wanted);
        fewer.last().map_or(1, |fewer| fewer + 1)
    }

    /// The figures of an estimate in words; `None` for other kinds.
    #[must_use]
    pub fn figures(&self) -> Option<String> {
        let Self::Estimate {
            avg_iteration_time,
            total_iterations,
            ..
        } = self
        else {
            return None;
        };
        let time = Duration::try_from_secs_f64(avg_iteration_time / 1000.0).ok()?;
        Some(match format!("{:.0}", total_iterations.max(1.0)).as_str() {
            "1" => format!("about 1 iteration, {}", duration(time)),
            more => format!("about {more} iterations, {} each", duration(time)),
        })
    }

    /// The impact of this many occurrences.
    #[must_use]
    pub fn impact_of(occurrences: u32) -> &'static str {
        if occurrences >= HIGH_IMPACT { "high" } else { "medium" }
    }

    /// These numbers and those of a repeat, as if counted together. Numbers of another kind are ignored.
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
                effectiveness: merged_rate((*rate, *used), (*other_rate, *other_used)),
                iterations: used.saturating_add(*other_used),
            },
            (
                Self::Antipattern {
                    occurrences: met,
                    impact,
                    error,
                },
                Self::Antipattern {
                    occurrences: other_met, ..
                },
            ) => {
                let occurrences = met.saturating_add(*other_met);
                // A value that we did not compute is a judgement; keep it.
                let is_counted = impact == Self::impact_of(*met);
                let impact = if is_counted {
                    Self::impact_of(occurrences)
                } else {
                    impact
                };
                Self::Antipattern {
                    occurrences,
                    impact: impact.to_owned(),
                    error: error.clone(),
                }
            }
            (Self::Estimate { .. }, Self::Estimate { .. }) => self.merge_estimate(other),
            (Self::Convention { examples }, Self::Convention { examples: others }) => {
                let new = others.iter().filter(|other| !examples.contains(other));
                let all = examples.iter().chain(new).take(MAX_FACT_EXAMPLES.max(examples.len()));
                Self::Convention {
                    examples: all.cloned().collect(),
                }
            }
            _ => self.clone(),
        }
    }

    fn merge_estimate(&self, other: &Self) -> Self {
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
        // An estimate with a time has at least one iteration behind it.
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

/// The sample behind an estimate.
struct Sample {
    done: f64,
    iterations: f64,
    tasks: f64,
}

impl Sample {
    /// Derives the sample from these numbers; without a sample size it assumes one task.
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

/// Combines two shares, each with its count of hits; the totals follow from both.
fn merged_rate((rate, counted): (f64, u32), (other_rate, other_counted): (f64, u32)) -> f64 {
    // A share of 0 counts as no hits, whatever the count.
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

/// What an estimate describes.
#[must_use]
pub fn estimate_of(task_type: TaskType, complexity: &str) -> String {
    format!("{} tasks of {complexity} complexity", task_type.word())
}

/// The content as displayed, with the figures of an estimate.
#[must_use]
pub fn with_figures(content: &str, facts: Option<&Facts>) -> String {
    match facts.and_then(Facts::figures) {
        Some(figures) => format!("{}: {figures}", content.trim_end()),
        None => content.to_owned(),
    }
}

/// A learning extracted from a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedLearning {
    pub kind: LearningKind,
    pub task_type: TaskType,
    /// For an estimate, what it describes.
    pub content: String,
    pub tags: Vec<String>,
    pub facts: Facts,
    pub confidence: f64,
    pub success_rate: f64,
    /// The journal entries it was extracted from; empty if it comes from a file.
    pub journal: Vec<i64>,
    /// The failures it warns about.
    pub signatures: Vec<Signature>,
}

/// Counts of one extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Extraction {
    pub extracted: u32,
    pub validated: u32,
    pub rejected: u32,
    /// The number activated, or active with a higher confidence.
    pub promoted: u32,
    /// How many of those were active before.
    pub known: u32,
    /// Already extracted from this run, or rejected by a person.
    pub skipped: u32,
}

impl Extraction {
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
    fn numbers_determine_confidence_below_certainty() {
        let strategy = |effectiveness| Facts::Strategy {
            effectiveness,
            iterations: 12,
        };
        let antipattern = |occurrences| Facts::Antipattern {
            occurrences,
            impact: "high".to_owned(),
            error: None,
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
    fn confidence_of_an_estimate_implies_its_sample() {
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
    fn merged_numbers_equal_a_single_count() {
        let strategy = |effectiveness, iterations| Facts::Strategy {
            effectiveness,
            iterations,
        };
        // 3 of 4, and 6 of 6.
        assert_eq!(strategy(0.75, 3).united(&strategy(1.0, 6)), strategy(0.9, 9));
        let met = |occurrences, impact: &str| Facts::Antipattern {
            occurrences,
            impact: impact.to_owned(),
            error: None,
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
            "the kind does not change"
        );
    }

    #[test]
    fn imported_estimates_count_as_one_task() {
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
        // The number of tasks is unknown: three iterations, none done; and two that were.
        let foreign = estimate(4000.0, 3.0, 0.0, 0);
        let own = estimate(1000.0, 1.0, 1.0, 2);
        assert_eq!(foreign.united(&own), estimate(2000.0, 5.0 / 3.0, 0.4, 2));
        assert_eq!(foreign.united(&foreign), foreign);
        let nothing = estimate(0.0, 0.0, 0.0, 0);
        assert_eq!(
            nothing.united(&nothing),
            estimate(0.0, 1.0, 0.0, 0),
            "no division by zero"
        );
    }

    #[test]
    fn fault_26_zero_rating_stays_zero() {
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
