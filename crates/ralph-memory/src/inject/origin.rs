//! The author of an injected entry, shown as a short mark so that an agent can judge it.

use std::collections::HashMap;
use std::fmt;

use ralph_model::{AuthorKind, Learning, LearningSource};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Human,
    /// An agent, in an iteration.
    Agent,
    /// Extracted from finished runs, by ralph or another tool.
    Extracted,
    /// The file was edited directly while an agent was at work.
    Unknown,
}

impl Origin {
    #[must_use]
    pub fn of_learning(learning: &Learning) -> Self {
        match learning.source {
            LearningSource::Sigil => Self::Agent,
            LearningSource::Human => Self::Human,
            LearningSource::Extracted | LearningSource::Imported => Self::Extracted,
        }
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Extracted => "extracted",
            Self::Unknown => "unknown",
        }
    }
}

/// The mark before a text: `(by agent)`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Human | Self::Agent | Self::Unknown => write!(f, "(by {})", self.word()),
            Self::Extracted => write!(f, "({})", self.word()),
        }
    }
}

/// The authors of notes written in iterations, by memory id, guardrail id or knowledge file name. All others count as
/// human.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins(HashMap<String, AuthorKind>);

impl Origins {
    /// The origin of a note by id or file name.
    #[must_use]
    pub fn of(&self, id: &str) -> Origin {
        match self.0.get(id) {
            Some(AuthorKind::Agent) => Origin::Agent,
            Some(AuthorKind::Unknown) => Origin::Unknown,
            Some(AuthorKind::Human | AuthorKind::Ralph) | None => Origin::Human,
        }
    }
}

impl FromIterator<(String, AuthorKind)> for Origins {
    fn from_iter<I: IntoIterator<Item = (String, AuthorKind)>>(written: I) -> Self {
        Self(written.into_iter().collect())
    }
}
