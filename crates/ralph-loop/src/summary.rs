//! The record of a finished turn: enough for another process to settle it, should this one be killed.

use ralph_agent::{Denial, TurnEnd};
use ralph_model::{Captured, Control, Usage, Verdict};
use serde::{Deserialize, Serialize};

/// A finished turn, as recorded with the iteration. Its text is already cleaned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnSummary {
    pub end: TurnEnd,
    /// Why ralph stopped it, if it did.
    pub cause: Option<StopCause>,
    /// The limit for which it was stopped, in a sentence.
    #[serde(default)]
    pub limit: Option<String>,
    /// The user's guidance after stopping it.
    #[serde(default)]
    pub guidance: Option<String>,
    /// Whether the disk was full at the end, and the task was not reported done.
    #[serde(default)]
    pub no_room: bool,
    /// Control messages to the loop.
    pub control: Control,
    /// What it reported for later use.
    pub captured: Captured,
    pub spoke: bool,
    /// A hint if it said nothing.
    #[serde(default)]
    pub hint: Option<String>,
    /// The end of its last message, without sigils.
    #[serde(default)]
    pub last_words: String,
    /// Denied tool calls.
    pub denials: Vec<Denial>,
    pub usage: Usage,
    /// The files named in its write calls.
    pub writes: Vec<String>,
    pub duration_ms: u64,
    /// The agent's own name for the session.
    pub session: Option<String>,
}

impl TurnSummary {
    /// A turn whose end was not seen and that left nothing behind.
    #[must_use]
    pub fn lost() -> Self {
        Self {
            end: TurnEnd::Stopped,
            cause: Some(StopCause::RalphDied),
            limit: None,
            guidance: None,
            no_room: false,
            control: Control::default(),
            captured: Captured::default(),
            spoke: false,
            hint: None,
            last_words: String::new(),
            denials: Vec::new(),
            usage: Usage::default(),
            writes: Vec::new(),
            duration_ms: 0,
            session: None,
        }
    }
}

/// The result of the verifier. Its text is already cleaned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    pub agent: String,
    pub end: TurnEnd,
    /// Why ralph stopped it, if it did.
    pub cause: Option<StopCause>,
    /// The limit for which it was stopped, in a sentence.
    pub limit: Option<String>,
    /// `None` if it gave no verdict.
    pub verdict: Option<Verdict>,
    /// What changed while it ran: project files, branches and tags, the checked-out commit.
    pub changed: Vec<String>,
    /// Whether its own write calls named one of these.
    pub wrote: bool,
    /// Whether such a change was already excused once since the task was last done.
    pub forgiven_before: bool,
    /// Why changes may be missing.
    pub unseen: Option<String>,
    pub usage: Usage,
    pub duration_ms: u64,
    /// The agent's own name for the session.
    pub session: Option<String>,
}

impl Verification {
    #[must_use]
    pub fn passes(&self) -> bool {
        let came_to_its_end = self.end == TurnEnd::Finished && self.cause.is_none();
        came_to_its_end && self.changed.is_empty() && self.verdict == Some(Verdict::Pass)
    }

    /// Whether the model answered at all.
    pub(crate) fn was_answered(&self) -> bool {
        matches!(
            self.end,
            TurnEnd::Finished | TurnEnd::Refusal(_) | TurnEnd::TokenLimit | TurnEnd::TurnLimit
        )
    }
}

/// Why ralph stopped a turn, or did not see its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopCause {
    Interrupt,
    /// The iteration took too long.
    Timeout,
    /// The agent was silent for too long.
    Idle,
    /// A limit of the run was reached.
    RunLimit,
    /// The attempts at the task have used up its limit.
    TaskLimit,
    RalphDied,
}
