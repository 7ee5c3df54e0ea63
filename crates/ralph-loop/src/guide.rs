//! Guidance: what the person who watches a run says about a turn that they have stopped. How they are asked is for whoever
//! starts the run to say; the loop knows only that they can be.

use ralph_memory::capture::clean;
use ralph_model::TaskId;
use ralph_process::StopHandle;

/// The most that is kept of what a person says, in characters. More than that is a specification, and belongs into a file.
pub const GUIDANCE_CHARACTERS: usize = 16 << 10;

/// Somebody who can be asked.
pub trait Guide: Send + Sync {
    /// Asks the person, and answers when they have. It is called from a thread of its own. Once the asking is given up
    /// (the second Ctrl+C), it has to answer at once, with the lines that were finished by then.
    fn ask(&self, about: &Asked, given_up: &StopHandle) -> Guided;
}

/// What the person is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Which iteration was stopped.
    pub iteration: u32,
    /// Its task.
    pub task: TaskId,
    /// The task's title.
    pub title: String,
    /// The files that the turn has changed, in order.
    pub files: Vec<String>,
}

/// What the person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guided {
    /// What the agent should do differently; none when they had nothing to say.
    pub text: Option<String>,
    /// Whether the run goes on.
    pub next: WhatNext,
}

/// Whether a run goes on after the person was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhatNext {
    /// It does, with the same task.
    GoOn,
    /// It ends.
    Stop,
}

/// Whether there is somebody to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asking {
    /// Nobody: the first Ctrl+C stops the run.
    #[default]
    Nobody,
    /// Somebody sits at the terminal: the first Ctrl+C stops the turn and asks.
    Possible,
}

/// What a person wishes of the run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// That it ends when the iteration that goes on is settled.
    LastIteration,
    /// That it goes on after all.
    GoOn,
}

impl Guided {
    /// What is kept of it: nothing that a terminal would obey, no secret, no blank ends, not more than there may be.
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
    fn no_secret_is_kept_of_what_was_typed() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let guided = Guided {
            text: Some(format!("use {token}\nfor the upload ")),
            next: WhatNext::GoOn,
        };
        let kept = guided.kept().text.unwrap();
        assert!(
            kept.starts_with("use [secret: ") && kept.ends_with("]\nfor the upload"),
            "{kept}"
        );
    }
}
