//! The numbers behind a lesson that was drawn from what happened.

use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{LearningKind, Signature, TaskType};

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
    /// How many were left out: this run had taught them already, or a person had rejected them.
    pub skipped: u32,
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
}
