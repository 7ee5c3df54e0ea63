//! What can stand on a shelf: a note, or a guardrail in the old form.

use serde::{Serialize, Serializer};

use crate::Note;

/// A note, or a guardrail in the old form, which has no kind, no tags and no day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteOrSign {
    /// A note.
    Note(Note),
    /// A Sign.
    Sign {
        /// The id it is named by.
        id: String,
        /// What it says.
        text: String,
        /// Its lines in the file.
        lines: String,
    },
}

impl NoteOrSign {
    /// The word for a Sign where notes have their kind.
    pub const SIGN: &'static str = "sign";

    /// The id it is named by.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Note(note) => note.id.as_str(),
            Self::Sign { id, .. } => id,
        }
    }

    /// What it says.
    #[must_use]
    pub fn content(&self) -> &str {
        match self {
            Self::Note(note) => &note.content,
            Self::Sign { text, .. } => text,
        }
    }

    /// The note, unless it is a Sign.
    #[must_use]
    pub fn note(&self) -> Option<&Note> {
        match self {
            Self::Note(note) => Some(note),
            Self::Sign { .. } => None,
        }
    }
}

/// A Sign has the keys of a note, so that whoever reads the list finds what they look for.
impl Serialize for NoteOrSign {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let (id, text) = match self {
            Self::Note(note) => return note.serialize(serializer),
            Self::Sign { id, text, .. } => (id, text),
        };
        let mut object = serializer.serialize_struct("Sign", 5)?;
        object.serialize_field("id", id)?;
        object.serialize_field("memory_type", Self::SIGN)?;
        object.serialize_field("content", text)?;
        object.serialize_field::<[&str]>("tags", &[])?;
        object.serialize_field("created", &None::<&str>)?;
        object.end()
    }
}
