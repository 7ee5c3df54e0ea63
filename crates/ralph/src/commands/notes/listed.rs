//! The common interface of list entries: notes, Signs, knowledge entries and learnings.

use ralph_memory::recall::{Found, day_of};
use ralph_model::{Note, NoteOrSign, preview};
use ralph_notes::{entry_text, item_text};
use serde::Serialize;

pub(crate) trait Listed: Serialize {
    fn id(&self) -> &str;
    fn kind(&self) -> &str;
    /// The creation day; empty if unknown.
    fn created(&self) -> String;
    fn tags(&self) -> String;
    /// Further fields as key and value.
    fn details(&self) -> Vec<(String, String)>;
    fn content(&self) -> String;
    /// The entry as Markdown, as in its file.
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

impl Listed for NoteOrSign {
    fn id(&self) -> &str {
        Self::id(self)
    }

    fn kind(&self) -> &str {
        match self {
            Self::Note(note) => Listed::kind(note),
            Self::Sign { .. } => Self::SIGN,
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
        Self::content(self).to_owned()
    }

    fn markdown(&self) -> String {
        item_text(self)
    }
}

impl Listed for Found {
    fn id(&self) -> &str {
        Self::id(self)
    }

    fn kind(&self) -> &str {
        match self {
            Self::Note { item, .. } => item.kind(),
            Self::Knowledge(_) => Self::KNOWLEDGE,
            Self::Learning(_) => Self::LEARNING,
        }
    }

    fn created(&self) -> String {
        match self {
            Self::Note { item, .. } => Listed::created(item),
            Self::Knowledge(note) => note.day.clone(),
            Self::Learning(learning) => day_of(learning),
        }
    }

    fn tags(&self) -> String {
        match self {
            Self::Note { item, .. } => Listed::tags(item),
            Self::Knowledge(note) => note.outline.tags.join(", "),
            Self::Learning(learning) => learning.tags.join(", "),
        }
    }

    fn details(&self) -> Vec<(String, String)> {
        match self {
            Self::Note { item, .. } => item.details(),
            Self::Knowledge(note) => {
                let feature = note.outline.feature.iter();
                feature.map(|name| ("feature".to_owned(), name.clone())).collect()
            }
            Self::Learning(learning) => [
                ("category", learning.category.as_str()),
                ("status", learning.status.word()),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec(),
        }
    }

    /// For knowledge, the title is the first line.
    fn content(&self) -> String {
        match self {
            Self::Note { item, .. } => item.content().to_owned(),
            Self::Knowledge(note) => format!("{}\n{}", note.outline.title, note.body),
            Self::Learning(learning) => learning.content.clone(),
        }
    }

    fn markdown(&self) -> String {
        match self {
            Self::Note { item, .. } => item_text(item),
            Self::Knowledge(note) => {
                let outline = &note.outline;
                let title = preview(&outline.title, usize::MAX);
                format!("### {title}\n_Tags: {}_\n\n{}\n", outline.tags.join(", "), note.body)
            }
            Self::Learning(learning) => {
                let about = preview(&learning.category, usize::MAX);
                let tags = learning.tags.join(", ");
                format!(
                    "### {}\n_[{about}] Tags: {tags}_\n\n{}\n",
                    learning.id, learning.content
                )
            }
        }
    }
}
