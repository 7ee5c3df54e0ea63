//! What the index holds.

use ralph_model::NoteFileKind;

/// The kinds of documents. Each has its own statistics, so that the words of one kind do not affect the ranking of
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DocKind {
    Memory,
    Guardrail,
    Knowledge,
    Learning,
    Journal,
}

/// A document: its kind and its id there. That of a knowledge entry is its file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocId {
    pub kind: DocKind,
    pub id: String,
}

impl DocKind {
    pub const ALL: [Self; 5] = [
        Self::Memory,
        Self::Guardrail,
        Self::Knowledge,
        Self::Learning,
        Self::Journal,
    ];

    #[must_use]
    pub const fn of_file(file: NoteFileKind) -> Self {
        match file {
            NoteFileKind::Memories => Self::Memory,
            NoteFileKind::Guardrails => Self::Guardrail,
        }
    }

    /// The note file of this kind, if its documents are in one.
    #[must_use]
    pub const fn file(self) -> Option<NoteFileKind> {
        match self {
            Self::Memory => Some(NoteFileKind::Memories),
            Self::Guardrail => Some(NoteFileKind::Guardrails),
            Self::Knowledge | Self::Learning | Self::Journal => None,
        }
    }

    /// Whether its documents come from the fact store.
    #[must_use]
    pub const fn is_fact(self) -> bool {
        matches!(self, Self::Learning | Self::Journal)
    }

    /// Its number in the index.
    pub(crate) const fn number(self) -> i64 {
        match self {
            Self::Memory => 1,
            Self::Guardrail => 2,
            Self::Knowledge => 3,
            Self::Learning => 4,
            Self::Journal => 5,
        }
    }

    pub(crate) fn numbered(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Its column in the table of terms, and the ending of its table of words.
    pub(crate) const fn column(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Guardrail => "guardrail",
            Self::Knowledge => "knowledge",
            Self::Learning => "learning",
            Self::Journal => "journal",
        }
    }
}
