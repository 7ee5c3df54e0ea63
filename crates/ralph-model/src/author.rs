//! Who wrote or changed something, and who gives a command.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::RunId;
use crate::word_enum::word_enum;

word_enum! {
    /// The kinds of authors.
    pub enum AuthorKind {
        /// A person.
        Human = "human",
        /// A coding agent, or anything that it started.
        Agent = "agent",
        /// ralph itself: a settlement, an extraction, upkeep.
        Ralph = "ralph",
        /// Nobody knows: a file was edited directly, or the row is older than the record of authors.
        Unknown = "unknown",
    }
}

/// The author of a change. Run and iteration are set where the change happened inside one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// What kind of author it is.
    #[serde(rename = "author")]
    pub kind: AuthorKind,
    /// The run in which it happened.
    pub run: Option<RunId>,
    /// The iteration of that run, from 1.
    pub iteration: Option<u32>,
}

impl Author {
    /// A person.
    pub const HUMAN: Self = Self::outside(AuthorKind::Human);
    /// ralph, outside a run.
    pub const RALPH: Self = Self::outside(AuthorKind::Ralph);
    /// An unknown author, at an unknown time.
    pub const UNKNOWN: Self = Self::outside(AuthorKind::Unknown);

    const fn outside(kind: AuthorKind) -> Self {
        Self {
            kind,
            run: None,
            iteration: None,
        }
    }

    /// An author of this kind inside an iteration.
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

/// Who gives a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A person, in a shell or script of their own.
    Person,
    /// An agent, or a gate, check, set-up command, verifier or git hook of a live run.
    Agent {
        /// The run, where it can be told.
        run: Option<RunId>,
        /// The iteration; none before the first, or where it cannot be told.
        iteration: Option<u32>,
    },
}

impl Actor {
    /// The author of what the command writes.
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
    fn an_author_is_shown_with_run_and_iteration() {
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
