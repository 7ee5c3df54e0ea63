//! How an attempt failed, and when two attempts failed the same way.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{ErrorCategory, JournalRow, Outcome};

word_enum! {
    /// Whose words a report is in.
    pub enum ReportOrigin {
        /// The agent's own.
        Agent = "agent",
        /// ralph's, drawn from what it saw.
        Ralph = "ralph",
    }
}

/// How an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureReport {
    /// What was tried.
    pub what_tried: String,
    /// Why it did not work.
    pub why_failed: String,
    /// What kind of failure it was.
    pub category: ErrorCategory,
    /// The files that it is about.
    pub relevant_files: Vec<String>,
    /// What the failing program printed, the lines that say why.
    pub error_output: Option<String>,
    /// Whose words it is in.
    #[serde(default = "agent")]
    pub origin: ReportOrigin,
    /// The gate that refused the work.
    #[serde(default)]
    pub gate: Option<FailedGate>,
}

/// How it begins what was tried, where the agent said nothing that ralph could tell instead.
pub const SAID_NOTHING: &str = "It said nothing about what it did";

impl FailureReport {
    /// Whether what was tried is told in the last words of an agent that did not mean them as a report.
    #[must_use]
    pub fn tells_last_words(&self) -> bool {
        self.origin == ReportOrigin::Ralph && !self.what_tried.starts_with(SAID_NOTHING)
    }

    /// What says most about why it failed: what a gate printed that refused the work, else the agent's own words, else what
    /// the failing program printed, else ralph's.
    #[must_use]
    pub fn gist(&self) -> &str {
        let printed = self.error_output.as_deref().filter(|output| !output.trim().is_empty());
        let is_refused = self.gate.is_some() || self.origin == ReportOrigin::Ralph;
        printed.filter(|_| is_refused).unwrap_or(&self.why_failed)
    }
}

/// Reports that were recorded before anybody but agents wrote them.
fn agent() -> ReportOrigin {
    ReportOrigin::Agent
}

/// A gate that refused the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedGate {
    /// Its command.
    pub command: String,
    /// How it ended, in words: `exit code 101`.
    pub end: String,
}

/// What makes a failure the same as another one, as 16 hex digits: its category, its message without what differs from time
/// to time, its files.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(String);

impl Signature {
    /// The signature that a digest makes.
    #[must_use]
    pub fn new(digest: u64) -> Self {
        Self(format!("{digest:016x}"))
    }

    /// Reads a signature; `None` when it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 16 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// The signature as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A report as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptReport {
    /// What it says. Of one that was shortened only the first lines are left.
    #[serde(flatten)]
    pub report: FailureReport,
    /// What the next attempt should do.
    pub suggestion: Option<String>,
    /// What makes it the same as another one; none where that was not known yet when it was written.
    pub signature: Option<Signature>,
    /// Whether its long texts were dropped.
    pub shortened: bool,
}

/// What an attempt suggests for the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The attempt's number.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What it suggests.
    pub text: String,
}

/// An attempt at a task, and how it failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// What the journal says of it.
    #[serde(flatten)]
    pub row: JournalRow,
    /// How it failed; none of one that did not, or of which nothing more is known.
    pub report: Option<KeptReport>,
}

/// The last attempts at a task that failed since it was last done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FailedAttempts {
    /// The attempts, the oldest first.
    pub attempts: Vec<Attempt>,
    /// How many failed before them, since it was last done.
    pub earlier: u32,
    /// Whether it was ever done before.
    pub was_done: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gate_printed_says_most_and_then_the_agents_words() {
        let gist_of = |origin, error_output: Option<&str>, gate: Option<FailedGate>| {
            let report = FailureReport {
                what_tried: String::new(),
                why_failed: "why".to_owned(),
                category: ErrorCategory::Unknown,
                relevant_files: Vec::new(),
                error_output: error_output.map(str::to_owned),
                origin,
                gate,
            };
            report.gist().to_owned()
        };
        let gist = |origin, error_output| gist_of(origin, error_output, None);
        let gate = || {
            Some(FailedGate {
                command: "make".to_owned(),
                end: "exit code 1".to_owned(),
            })
        };
        assert_eq!(gist_of(ReportOrigin::Agent, Some("printed"), gate()), "printed");
        assert_eq!(gist_of(ReportOrigin::Agent, None, gate()), "why");
        assert_eq!(gist(ReportOrigin::Agent, Some("printed")), "why");
        assert_eq!(gist(ReportOrigin::Ralph, Some("printed")), "printed");
        assert_eq!(gist(ReportOrigin::Ralph, Some(" \n")), "why");
        assert_eq!(gist(ReportOrigin::Ralph, None), "why");
    }
}
