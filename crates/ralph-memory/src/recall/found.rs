//! What can be found: a note on a shelf, or a long note.

use ralph_model::{NoteOrSign, Shelf};
use ralph_store::index::KnowledgeOutline;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// What stands on a shelf.
    OnShelf {
        /// The shelf.
        shelf: Shelf,
        /// What stands there.
        item: NoteOrSign,
    },
    /// A long note.
    Knowledge(Box<FoundKnowledge>),
}

/// A long note that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKnowledge {
    /// What stands in front of it.
    pub outline: KnowledgeOutline,
    /// The day it was made; empty where nobody knows.
    pub day: String,
    /// What it says.
    pub body: String,
}

impl Found {
    /// The word for what a long note is.
    pub const KNOWLEDGE: &'static str = "knowledge";

    /// The id it is named by; that of a long note is the name of its file.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::OnShelf { item, .. } => item.id(),
            Self::Knowledge(note) => &note.outline.file,
        }
    }

    /// What it says.
    #[must_use]
    pub fn content(&self) -> &str {
        match self {
            Self::OnShelf { item, .. } => item.content(),
            Self::Knowledge(note) => &note.body,
        }
    }

    /// What stands on a shelf, if it does.
    #[must_use]
    pub fn on_shelf(self) -> Option<NoteOrSign> {
        match self {
            Self::OnShelf { item, .. } => Some(item),
            Self::Knowledge(_) => None,
        }
    }

    /// Where it is kept, in a word.
    #[must_use]
    pub fn shelf_word(&self) -> &'static str {
        match self {
            Self::OnShelf { shelf, .. } => shelf.words().many,
            Self::Knowledge(_) => Self::KNOWLEDGE,
        }
    }
}

/// A long note has the keys of a memory, and those that only it has.
impl Serialize for Found {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let note = match self {
            Self::OnShelf { item, .. } => return item.serialize(serializer),
            Self::Knowledge(note) => note,
        };
        let outline = &note.outline;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &outline.file)?;
        map.serialize_entry("memory_type", Self::KNOWLEDGE)?;
        map.serialize_entry("title", &outline.title)?;
        map.serialize_entry("content", &note.body)?;
        map.serialize_entry("tags", &outline.tags)?;
        map.serialize_entry("feature", &outline.feature)?;
        map.serialize_entry("created", &note.day)?;
        map.end()
    }
}
