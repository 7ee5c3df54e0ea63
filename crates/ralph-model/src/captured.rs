//! What an agent says to ralph in its own text: sigils, read.

use serde::{Deserialize, Serialize};

use crate::{Difficulty, FailureReport};

/// The sigils that steer the loop, from the agent's final text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Control {
    /// The ids that were said to be done.
    pub done: Vec<String>,
    /// The ids that were said to be impossible, each with the reason that follows it.
    pub failed: Vec<(String, String)>,
    /// What was said about the whole run.
    pub promise: Option<Promise>,
    /// The model that the next iteration should have.
    pub next_model: Option<String>,
}

/// What an agent says about the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Promise {
    /// There is nothing left to do.
    Complete,
    /// It has to stop.
    Failure,
}

/// What a verifier found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The work is as it should be.
    Pass,
    /// It is not, for this reason.
    Fail(String),
}

/// The sigils that are kept, from all of the agent's own text in a turn; cleaned, capped and without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Captured {
    /// What it noted for the journal.
    pub journal: Option<String>,
    /// What it found out about the project.
    pub knowledge: Vec<CapturedKnowledge>,
    /// What it learned.
    pub learnings: Vec<CapturedLearning>,
    /// How it failed.
    pub failure: Option<FailureReport>,
    /// What the next attempt should do.
    pub retry_suggestion: Option<String>,
    /// How hard it was.
    pub difficulty: Option<Difficulty>,
    /// The injected notes that it relied on.
    pub memory_used: Vec<String>,
    /// How many sigils could not be read.
    pub malformed: u32,
}

/// A long note that an agent wrote down, or that somebody hands in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CapturedKnowledge {
    /// Its title.
    pub title: String,
    /// Its tags, lower case, at least one.
    pub tags: Vec<String>,
    /// The name of the feature that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// What it says.
    pub body: String,
}

/// A lesson that an agent drew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedLearning {
    /// What it is about: `pitfall`, `code_structure`, …; words that are not known are kept.
    pub category: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// What it says.
    pub content: String,
}
