//! Values parsed from the sigils in an agent's text.

use serde::{Deserialize, Serialize};

use crate::{Difficulty, FailureReport};

/// The control sigils in the agent's final text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Control {
    /// Ids reported as done.
    pub done: Vec<String>,
    /// Ids reported as failed, each with its reason.
    pub failed: Vec<(String, String)>,
    pub promise: Option<Promise>,
    pub next_model: Option<String>,
}

/// The agent's verdict on the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Promise {
    /// No work is left.
    Complete,
    Failure,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    Pass,
    /// Rejected for this reason.
    Fail(String),
}

/// The capture sigils of one session, cleaned, capped and with secrets masked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Captured {
    pub journal: Option<String>,
    pub knowledge: Vec<CapturedKnowledge>,
    pub learnings: Vec<CapturedLearning>,
    pub failure: Option<FailureReport>,
    pub retry_suggestion: Option<String>,
    pub difficulty: Option<Difficulty>,
    /// Injected notes that the agent relied on.
    pub memory_used: Vec<String>,
    /// The number of malformed sigils.
    pub malformed: u32,
}

/// A knowledge entry from an agent or the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CapturedKnowledge {
    pub title: String,
    /// Lower case, at least one.
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    pub body: String,
}

/// A learning reported by an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedLearning {
    /// `pitfall`, `code_structure`, …; unknown words are kept.
    pub category: String,
    pub tags: Vec<String>,
    pub content: String,
}
