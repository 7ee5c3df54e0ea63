//! An entry of a note file: a note or a legacy Sign.

use serde::{Serialize, Serializer};

use crate::Note;

/// A note, or a legacy guardrail without type, tags and date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteOrSign {
    Note(Note),
    Sign {
        id: String,
        text: String,
        /// Its lines in the file.
        lines: String,
    },
}

impl NoteOrSign {
    /// The type that JSON gives a Sign.
    pub const SIGN: &'static str = "sign";

    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Note(note) => note.id.as_str(),
            Self::Sign { id, .. } => id,
        }
    }

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

/// A Sign has the same keys as a note, so that readers of a list can treat both alike.
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
