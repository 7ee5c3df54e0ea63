//! Guidance: what the user says about a turn they stopped. The caller of the loop implements how the user is asked.

use ralph_memory::capture::clean;
use ralph_model::TaskId;
use ralph_process::StopHandle;

/// The maximum length of guidance, in characters. Anything longer is a specification and belongs in a file.
pub const GUIDANCE_CHARACTERS: usize = 16 << 10;

/// Asks the user for guidance.
pub trait Guide: Send + Sync {
    /// Asks the user and returns the answer; runs in its own thread. When `given_up` is stopped (the second Ctrl+C), it
    /// must return at once with the lines finished so far.
    fn ask(&self, about: &GuidanceQuestion, given_up: &StopHandle) -> GuidanceAnswer;
}

/// The turn that the user is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuidanceQuestion {
    pub iteration: u32,
    pub task: TaskId,
    pub title: String,
    /// The files that the turn changed.
    pub files: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuidanceAnswer {
    /// What the agent should do differently; `None` if the user had nothing to say.
    pub text: Option<String>,
    pub next: AfterGuidance,
}

/// Whether a run continues after the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterGuidance {
    /// Continue with the same task.
    GoOn,
    Stop,
}

/// Whether the user can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attendance {
    /// The first Ctrl+C stops the run.
    #[default]
    Unattended,
    /// The user is at the terminal: the first Ctrl+C stops the turn and asks.
    Attended,
}

/// A request about the run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunRequest {
    /// End the run after the current iteration.
    StopAfterIteration,
    /// Take that back.
    GoOn,
}

impl GuidanceAnswer {
    /// Cleans the text for the record: no control sequences, no secrets, trimmed and limited in length.
    #[must_use]
    pub fn kept(self) -> Self {
        let text = self.text.map(|text| clean(&text, GUIDANCE_CHARACTERS));
        Self {
            text: text.filter(|text| !text.is_empty()),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_guidance_are_masked() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let guided = GuidanceAnswer {
            text: Some(format!("use {token}\nfor the upload ")),
            next: AfterGuidance::GoOn,
        };
        let kept = guided.kept().text.unwrap();
        assert!(
            kept.starts_with("use [secret: ") && kept.ends_with("]\nfor the upload"),
            "{kept}"
        );
    }
}
