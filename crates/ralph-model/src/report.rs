//! Failure reports, and signatures that tell whether two attempts failed the same way.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{ErrorCategory, JournalRow, Outcome};

word_enum! {
    /// Who wrote a report.
    pub enum ReportOrigin {
        Agent = "agent",
        /// Derived by ralph from what it observed.
        Ralph = "ralph",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureReport {
    /// Empty if the agent said nothing.
    pub what_tried: String,
    pub why_failed: String,
    pub category: ErrorCategory,
    pub relevant_files: Vec<String>,
    /// The lines of the failing program's output that explain the failure.
    pub error_output: Option<String>,
    #[serde(default = "agent")]
    pub origin: ReportOrigin,
    #[serde(default)]
    pub gate: Option<FailedGate>,
}

impl FailureReport {
    /// Whether `what_tried` quotes the agent's last message, which was not meant as a report.
    #[must_use]
    pub fn quotes_last_message(&self) -> bool {
        self.origin == ReportOrigin::Ralph && !self.what_tried.is_empty()
    }

    /// The best explanation of the failure. The order is: output of the gate that refused the work, the agent's own
    /// words, output of the failing program, ralph's words.
    #[must_use]
    pub fn headline(&self) -> &str {
        let printed = self.error_output.as_deref().filter(|output| !output.trim().is_empty());
        let is_refused = self.gate.is_some() || self.origin == ReportOrigin::Ralph;
        printed.filter(|_| is_refused).unwrap_or(&self.why_failed)
    }
}

/// For reports stored before `origin` existed.
fn agent() -> ReportOrigin {
    ReportOrigin::Agent
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedGate {
    pub command: String,
    /// How it ended, such as `exit code 101`.
    pub end: String,
}

/// Identifies equal failures, as 16 hex digits. It covers the category, the files and the message without its variable
/// parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(String);

impl Signature {
    #[must_use]
    pub fn new(digest: u64) -> Self {
        Self(format!("{digest:016x}"))
    }

    /// Parses a signature.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 16 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

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

/// A stored report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredReport {
    /// If it was shortened, only first lines are left.
    #[serde(flatten)]
    pub report: FailureReport,
    pub suggestion: Option<String>,
    /// The failure's signature; `None` in older rows.
    pub signature: Option<Signature>,
    pub shortened: bool,
}

/// A suggestion of one attempt for the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub attempt: u32,
    pub outcome: Outcome,
    pub text: String,
}

/// An attempt at a task and its failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// Its journal entry.
    #[serde(flatten)]
    pub row: JournalRow,
    /// Its report, if there is one.
    pub report: Option<StoredReport>,
}

/// The failed attempts at a task since it was last done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FailedAttempts {
    /// Oldest first.
    pub attempts: Vec<Attempt>,
    /// Failed attempts before those, since the task was last done.
    pub earlier: u32,
    pub was_done: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_output_is_preferred_to_the_agents_words() {
        let headline_of = |origin, error_output: Option<&str>, gate: Option<FailedGate>| {
            let report = FailureReport {
                what_tried: String::new(),
                why_failed: "why".to_owned(),
                category: ErrorCategory::Unknown,
                relevant_files: Vec::new(),
                error_output: error_output.map(str::to_owned),
                origin,
                gate,
            };
            report.headline().to_owned()
        };
        let headline = |origin, error_output| headline_of(origin, error_output, None);
        let gate = || {
            Some(FailedGate {
                command: "make".to_owned(),
                end: "exit code 1".to_owned(),
            })
        };
        assert_eq!(headline_of(ReportOrigin::Agent, Some("printed"), gate()), "printed");
        assert_eq!(headline_of(ReportOrigin::Agent, None, gate()), "why");
        assert_eq!(headline(ReportOrigin::Agent, Some("printed")), "why");
        assert_eq!(headline(ReportOrigin::Ralph, Some("printed")), "printed");
        assert_eq!(headline(ReportOrigin::Ralph, Some(" \n")), "why");
        assert_eq!(headline(ReportOrigin::Ralph, None), "why");
    }
}
