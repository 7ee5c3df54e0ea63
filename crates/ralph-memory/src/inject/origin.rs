//! Who an injected entry comes from. Entries carry it as one short mark, so that an agent can weigh what it reads.

use std::collections::HashMap;
use std::fmt;

use ralph_model::{AuthorKind, Learning, LearningSource};

/// Who wrote the text of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A person.
    Human,
    /// An agent, in an iteration.
    Agent,
    /// ralph or another tool extracted it from finished runs.
    Extracted,
    /// Its file was edited directly while an agent was at work.
    Unknown,
}

impl Origin {
    /// The origin of a learning.
    #[must_use]
    pub fn of_learning(learning: &Learning) -> Self {
        match learning.source {
            LearningSource::Sigil => Self::Agent,
            LearningSource::Human => Self::Human,
            LearningSource::Extracted | LearningSource::Imported => Self::Extracted,
        }
    }

    /// One word for it.
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

/// The mark in front of a text within a line: `(by agent)`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Human | Self::Agent | Self::Unknown => write!(f, "(by {})", self.word()),
            Self::Extracted => write!(f, "({})", self.word()),
        }
    }
}

/// Who wrote which notes: the ids of memories and guardrails, and the file names of knowledge entries, whose present text was
/// written in an iteration. All others count as a person's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins(HashMap<String, AuthorKind>);

impl Origins {
    /// The origin of a note by its id or file name.
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
