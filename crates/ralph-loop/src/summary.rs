//! What is kept of a turn when it is over: enough to settle it, also by another process, should this one be killed.

use ralph_agent::{Denial, TurnEnd};
use ralph_model::{Captured, Control, Usage, Verdict};
use serde::{Deserialize, Serialize};

/// A turn that is over, as it stands in the record of the iteration. Its text is cleaned already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnSummary {
    /// How it ended.
    pub end: TurnEnd,
    /// Why ralph stopped it, if it did.
    pub cause: Option<StopCause>,
    /// The limit of the run for which it was stopped, in a sentence.
    #[serde(default)]
    pub limit: Option<String>,
    /// What the person who stopped it says that should be done differently.
    #[serde(default)]
    pub guidance: Option<String>,
    /// Whether the disk was full when it ended, and it did not say that its task is done.
    #[serde(default)]
    pub no_room: bool,
    /// What it said to the loop.
    pub control: Control,
    /// What it said for later.
    pub captured: Captured,
    /// Whether it said anything at all.
    pub spoke: bool,
    /// What may help where it said nothing.
    #[serde(default)]
    pub hint: Option<String>,
    /// The end of what it said last, without sigils.
    #[serde(default)]
    pub last_words: String,
    /// What it was not allowed to do.
    pub denials: Vec<Denial>,
    /// What it used.
    pub usage: Usage,
    /// The files that its write calls named.
    pub writes: Vec<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// The agent's own name for the session.
    pub session: Option<String>,
}

impl TurnSummary {
    /// What can be said of a turn that nobody saw the end of, and that left nothing.
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

/// What came of a second session, which looked at finished work and was to change nothing. Its text is cleaned already.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// Who looked.
    pub agent: String,
    /// How its turn ended.
    pub end: TurnEnd,
    /// Why ralph stopped it, if it did.
    pub cause: Option<StopCause>,
    /// The limit of the run for which it was stopped, in a sentence.
    pub limit: Option<String>,
    /// What it found; none when it did not say.
    pub verdict: Option<Verdict>,
    /// What is not as it was when it began: files of the project, branches and tags, the commit that is checked out.
    pub changed: Vec<String>,
    /// Whether its own write calls named one of these files.
    pub wrote: bool,
    /// Whether such a change, by whomever, was forgiven already since the task was last done.
    pub forgiven_before: bool,
    /// Why there may be more of them.
    pub unseen: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// How long it took.
    pub duration_ms: u64,
    /// The agent's own name for the session.
    pub session: Option<String>,
}

impl Verification {
    /// Whether it found the work to be as it should be.
    #[must_use]
    pub fn passes(&self) -> bool {
        let came_to_its_end = self.end == TurnEnd::Finished && self.cause.is_none();
        came_to_its_end && self.changed.is_empty() && self.verdict == Some(Verdict::Pass)
    }

    /// Whether the model answered it, whatever it said.
    pub(crate) fn was_answered(&self) -> bool {
        matches!(
            self.end,
            TurnEnd::Finished | TurnEnd::Refusal(_) | TurnEnd::TokenLimit | TurnEnd::TurnLimit
        )
    }
}

/// Why ralph ended a turn, or did not see its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopCause {
    /// The person said so.
    Interrupt,
    /// The iteration took too long.
    Timeout,
    /// The agent was silent for too long.
    Idle,
    /// A limit of the run was reached.
    RunLimit,
    /// The attempts at the task have used what a task may use.
    TaskLimit,
    /// ralph itself was killed.
    RalphDied,
}
