//! What can stand in a list: a note, or a guardrail in the old form.

use ralph_model::Note;
use ralph_notes::{Document, Sign, entry_text};
use serde::{Serialize, Serializer};

/// Something that can be listed and shown.
pub(crate) trait Listed: Serialize {
    /// The id it is named by.
    fn id(&self) -> &str;
    /// The word for what it is about.
    fn kind(&self) -> &str;
    /// The day it was made; nothing where nobody knows.
    fn created(&self) -> String;
    /// Its tags, with commas.
    fn tags(&self) -> String;
    /// Everything else that is recorded about it.
    fn details(&self) -> Vec<(String, String)>;
    /// What it says.
    fn content(&self) -> String;
    /// Its lines in the file.
    fn markdown(&self) -> String;
}

impl Listed for Note {
    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn kind(&self) -> &str {
        self.kind.word()
    }

    fn created(&self) -> String {
        self.created.to_string()
    }

    fn tags(&self) -> String {
        self.tags.to_string()
    }

    fn details(&self) -> Vec<(String, String)> {
        let pairs = self.extra.iter();
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn content(&self) -> String {
        self.content.clone()
    }

    fn markdown(&self) -> String {
        entry_text(self)
    }
}

/// A note, or a guardrail in the old form, which has no kind, no tags and no day.
#[derive(Debug)]
pub(crate) enum NoteOrSign {
    Note(Note),
    Sign {
        id: String,
        text: String,
        /// Its lines in the file.
        lines: String,
    },
}

impl NoteOrSign {
    /// A Sign as it stands in its file.
    pub(crate) fn sign(document: &Document<'_>, sign: Sign) -> Self {
        Self::Sign {
            text: sign.text(),
            lines: document.sign_lines(&sign),
            id: sign.id,
        }
    }
}

impl Listed for NoteOrSign {
    fn id(&self) -> &str {
        match self {
            Self::Note(note) => Listed::id(note),
            Self::Sign { id, .. } => id,
        }
    }

    fn kind(&self) -> &str {
        match self {
            Self::Note(note) => Listed::kind(note),
            Self::Sign { .. } => "sign",
        }
    }

    fn created(&self) -> String {
        match self {
            Self::Note(note) => Listed::created(note),
            Self::Sign { .. } => String::new(),
        }
    }

    fn tags(&self) -> String {
        match self {
            Self::Note(note) => Listed::tags(note),
            Self::Sign { .. } => String::new(),
        }
    }

    fn details(&self) -> Vec<(String, String)> {
        match self {
            Self::Note(note) => note.details(),
            Self::Sign { .. } => Vec::new(),
        }
    }

    fn content(&self) -> String {
        match self {
            Self::Note(note) => Listed::content(note),
            Self::Sign { text, .. } => text.clone(),
        }
    }

    fn markdown(&self) -> String {
        match self {
            Self::Note(note) => note.markdown(),
            Self::Sign { lines, .. } if lines.ends_with('\n') => lines.clone(),
            Self::Sign { lines, .. } => format!("{lines}\n"),
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
        object.serialize_field("memory_type", self.kind())?;
        object.serialize_field("content", text)?;
        object.serialize_field::<[&str]>("tags", &[])?;
        object.serialize_field("created", &None::<&str>)?;
        object.end()
    }
}
