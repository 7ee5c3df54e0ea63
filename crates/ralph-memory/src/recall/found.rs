//! What can be found: a note on a shelf, a long note, or a lesson.

use ralph_model::{Learning, NoteOrSign, Shelf};
use ralph_store::index::KnowledgeOutline;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
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
    /// A lesson.
    Learning(Box<Learning>),
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
    /// The word for what a lesson is.
    pub const LEARNING: &'static str = "learning";

    /// The id it is named by; that of a long note is the name of its file.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::OnShelf { item, .. } => item.id(),
            Self::Knowledge(note) => &note.outline.file,
            Self::Learning(learning) => learning.id.as_str(),
        }
    }

    /// What it says.
    #[must_use]
    pub fn content(&self) -> &str {
        match self {
            Self::OnShelf { item, .. } => item.content(),
            Self::Knowledge(note) => &note.body,
            Self::Learning(learning) => &learning.content,
        }
    }

    /// What stands on a shelf, if it does.
    #[must_use]
    pub fn on_shelf(self) -> Option<NoteOrSign> {
        match self {
            Self::OnShelf { item, .. } => Some(item),
            Self::Knowledge(_) | Self::Learning(_) => None,
        }
    }

    /// Where it is kept, in a word.
    #[must_use]
    pub fn shelf_word(&self) -> &'static str {
        match self {
            Self::OnShelf { shelf, .. } => shelf.words().many,
            Self::Knowledge(_) => Self::KNOWLEDGE,
            Self::Learning(_) => "learnings",
        }
    }
}

/// The day on which a lesson was learned.
#[must_use]
pub fn day_of(learning: &Learning) -> String {
    learning.created_at.strftime("%Y-%m-%d").to_string()
}

/// Long notes and lessons have the keys of a memory, and those that only they have.
impl Serialize for Found {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = match self {
            Self::OnShelf { item, .. } => return item.serialize(serializer),
            Self::Knowledge(_) | Self::Learning(_) => serializer.serialize_map(None)?,
        };
        map.serialize_entry("id", self.id())?;
        match self {
            Self::OnShelf { .. } => {}
            Self::Knowledge(note) => {
                let outline = &note.outline;
                map.serialize_entry("memory_type", Self::KNOWLEDGE)?;
                map.serialize_entry("title", &outline.title)?;
                map.serialize_entry("content", &note.body)?;
                map.serialize_entry("tags", &outline.tags)?;
                map.serialize_entry("feature", &outline.feature)?;
                map.serialize_entry("created", &note.day)?;
            }
            Self::Learning(learning) => {
                map.serialize_entry("memory_type", Self::LEARNING)?;
                map.serialize_entry("content", &learning.content)?;
                map.serialize_entry("tags", &learning.tags)?;
                map.serialize_entry("created", &day_of(learning))?;
                map.serialize_entry("category", &learning.category)?;
                map.serialize_entry("status", &learning.status)?;
            }
        }
        map.end()
    }
}
