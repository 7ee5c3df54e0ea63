//! What a search can find: a note, a knowledge entry or a learning.

use ralph_model::{Learning, NoteFileKind, NoteOrSign};
use ralph_search::{Doc, DocKind, Index, IndexError, KnowledgeMetadata};
use ralph_store::Store;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A memory or guardrail.
    Note {
        file_kind: NoteFileKind,
        item: NoteOrSign,
    },
    Knowledge(Box<FoundKnowledge>),
    Learning(Box<Learning>),
}

/// A knowledge entry that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKnowledge {
    /// Its front matter.
    pub outline: KnowledgeMetadata,
    /// The day it was created; empty if unknown.
    pub day: String,
    pub body: String,
}

impl Found {
    /// The word for a knowledge entry.
    pub const KNOWLEDGE: &'static str = "knowledge";
    /// The word for a learning.
    pub const LEARNING: &'static str = "learning";

    /// Its id; for a knowledge entry, the file name.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Note { item, .. } => item.id(),
            Self::Knowledge(note) => &note.outline.file,
            Self::Learning(learning) => learning.id.as_str(),
        }
    }

    #[must_use]
    pub fn content(&self) -> &str {
        match self {
            Self::Note { item, .. } => item.content(),
            Self::Knowledge(note) => &note.body,
            Self::Learning(learning) => &learning.content,
        }
    }

    /// The memory or guardrail, if it is one.
    #[must_use]
    pub fn into_item(self) -> Option<NoteOrSign> {
        match self {
            Self::Note { item, .. } => Some(item),
            Self::Knowledge(_) | Self::Learning(_) => None,
        }
    }

    /// The word for where it is stored.
    #[must_use]
    pub fn source_word(&self) -> &'static str {
        match self {
            Self::Note { file_kind, .. } => file_kind.words().many,
            Self::Knowledge(_) => Self::KNOWLEDGE,
            Self::Learning(_) => "learnings",
        }
    }
}

/// Reads a document; none if it was deleted meanwhile, or is of a kind that a search does not return.
pub(super) fn read_found(index: &Index, store: Option<&Store>, doc: &Doc) -> Result<Option<Found>, IndexError> {
    let note = |file_kind| {
        let item = index.note(doc.number)?;
        Ok(Some(Found::Note { file_kind, item }))
    };
    match (doc.id.kind, store) {
        (DocKind::Memory, _) => note(NoteFileKind::Memories),
        (DocKind::Guardrail, _) => note(NoteFileKind::Guardrails),
        (DocKind::Knowledge, _) => {
            let (outline, body) = index.knowledge_entry(doc.number)?;
            let day = doc.age.created.clone();
            Ok(Some(Found::Knowledge(Box::new(FoundKnowledge { outline, day, body }))))
        }
        (DocKind::Learning, Some(store)) => {
            let learning = store.learnings_numbered(&[doc.age.place])?.pop();
            Ok(learning.map(|learning| Found::Learning(Box::new(learning))))
        }
        (DocKind::Learning | DocKind::Journal, _) => Ok(None),
    }
}

#[must_use]
pub fn day_of(learning: &Learning) -> String {
    learning.created_at.strftime("%Y-%m-%d").to_string()
}

/// Knowledge entries and learnings have the keys of a memory plus their own.
impl Serialize for Found {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = match self {
            Self::Note { item, .. } => return item.serialize(serializer),
            Self::Knowledge(_) | Self::Learning(_) => serializer.serialize_map(None)?,
        };
        map.serialize_entry("id", self.id())?;
        match self {
            Self::Note { .. } => {}
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
