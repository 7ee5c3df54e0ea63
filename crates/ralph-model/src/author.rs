//! Who wrote or changed something, and who runs a command.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::RunId;
use crate::word_enum::word_enum;

word_enum! {
    pub enum AuthorKind {
        Human = "human",
        /// A coding agent or anything it started.
        Agent = "agent",
        /// ralph itself: settlement, extraction or maintenance.
        Ralph = "ralph",
        /// A file was edited directly, or the row predates author tracking.
        Unknown = "unknown",
    }
}

/// The author of a change. `run` and `iteration` are set if the change happened inside one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    #[serde(rename = "author")]
    pub kind: AuthorKind,
    pub run: Option<RunId>,
    /// Counted from 1.
    pub iteration: Option<u32>,
}

impl Author {
    pub const HUMAN: Self = Self::outside(AuthorKind::Human);
    pub const RALPH: Self = Self::outside(AuthorKind::Ralph);
    /// Author and time are unknown.
    pub const UNKNOWN: Self = Self::outside(AuthorKind::Unknown);

    const fn outside(kind: AuthorKind) -> Self {
        Self {
            kind,
            run: None,
            iteration: None,
        }
    }

    #[must_use]
    pub fn in_iteration(kind: AuthorKind, run: RunId, iteration: u32) -> Self {
        Self {
            kind,
            run: Some(run),
            iteration: Some(iteration),
        }
    }
}

impl Default for Author {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        if let Some(run) = &self.run {
            write!(f, ", {run}")?;
        }
        match self.iteration {
            Some(iteration) => write!(f, ", iteration {iteration}"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A person, in their own shell or script.
    Person,
    /// An agent, or a gate, check, setup command, verifier or git hook of a live run.
    Agent {
        /// The run, if known.
        run: Option<RunId>,
        /// The iteration, if known; `None` before the first.
        iteration: Option<u32>,
    },
}

impl Actor {
    /// The author recorded for what the command writes.
    #[must_use]
    pub fn author(&self) -> Author {
        match self {
            Self::Person => Author::HUMAN,
            Self::Agent { run, iteration } => Author {
                kind: AuthorKind::Agent,
                run: run.clone(),
                iteration: *iteration,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn author_display_includes_run_and_iteration() {
        let run = RunId::new(7);
        let unknown = Author::in_iteration(AuthorKind::Unknown, run.clone(), 3);
        assert_eq!(unknown.to_string(), "unknown, run-00000007, iteration 3");
        assert_eq!(Author::HUMAN.to_string(), "human");
        let actor = Actor::Agent {
            run: Some(run),
            iteration: None,
        };
        assert_eq!(actor.author().to_string(), "agent, run-00000007");
        assert_eq!(Actor::Person.author(), Author::HUMAN);
    }
}
