//! A note, its kind, and the shelf it stands on.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::{NoteId, Tags};

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// How this code base does things.
    Pattern,
    /// Why something was chosen.
    Decision,
    /// The solution of a problem that comes back.
    Fix,
    /// A fact about the project.
    Context,
}

impl NoteKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Pattern, Self::Decision, Self::Fix, Self::Context];

    /// The word for it in commands and JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Decision => "decision",
            Self::Fix => "fix",
            Self::Context => "context",
        }
    }

    /// The heading of its section.
    #[must_use]
    pub fn section(self) -> &'static str {
        match self {
            Self::Pattern => "Patterns",
            Self::Decision => "Decisions",
            Self::Fix => "Fixes",
            Self::Context => "Context",
        }
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for NoteKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let word = word.trim().to_lowercase();
        Self::ALL
            .into_iter()
            .find(|kind| kind.word() == word)
            .ok_or_else(|| format!("{word:?} is no kind of note; there are pattern, decision, fix and context"))
    }
}

/// A file of notes: which sections it has and how its ids begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shelf {
    /// `memories.md`: what holds for the project.
    Memories,
    /// `guardrails.md`: what holds for the current work.
    Guardrails,
}

impl Shelf {
    /// The shelves that prompts get notes from.
    #[must_use]
    pub fn in_prompts(config: &Config) -> Vec<Self> {
        let memories = config.memories.enabled.then_some(Self::Memories);
        let guardrails = config.guardrails.enabled.then_some(Self::Guardrails);
        memories.into_iter().chain(guardrails).collect()
    }

    /// The name of its file.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Memories => "memories.md",
            Self::Guardrails => "guardrails.md",
        }
    }

    /// The title of its file.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Memories => "Memories",
            Self::Guardrails => "Guardrails",
        }
    }

    /// How messages speak of it.
    #[must_use]
    pub fn words(self) -> ShelfWords {
        match self {
            Self::Memories => ShelfWords {
                one: "memory",
                many: "memories",
                title: "Memory",
                command: "ralph memory",
                example_id: "mem-1737372000-a1b2",
            },
            Self::Guardrails => ShelfWords {
                one: "guardrail",
                many: "guardrails",
                title: "Guardrail",
                command: "ralph guardrails",
                example_id: "fix-1737372000-a1b2",
            },
        }
    }

    /// Reads the word for one of its kinds.
    ///
    /// # Errors
    /// When it is none of them; the message names them all.
    pub fn parse_kind(self, word: &str) -> Result<NoteKind, String> {
        let found = word.parse().ok().filter(|kind| self.kinds().contains(kind));
        found.ok_or_else(|| {
            let one = self.words().one;
            format!(
                "{word:?} is no kind of {one}; there are {}",
                self.list_of_kinds(" and ")
            )
        })
    }

    /// The words for its kinds, with commas, and before the last one what is given.
    #[must_use]
    pub fn list_of_kinds(self, before_last: &str) -> String {
        let words: Vec<&str> = self.kinds().iter().map(|kind| kind.word()).collect();
        match words.split_last() {
            Some((last, rest)) => format!("{}{before_last}{last}", rest.join(", ")),
            None => String::new(),
        }
    }

    /// Its kinds of notes, in the order of their sections.
    #[must_use]
    pub fn kinds(self) -> &'static [NoteKind] {
        use NoteKind::{Context, Decision, Fix, Pattern};
        match self {
            Self::Memories => &[Pattern, Decision, Fix, Context],
            Self::Guardrails => &[Fix, Decision, Pattern],
        }
    }

    /// How the ids of its notes may begin.
    #[must_use]
    pub fn id_prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Memories => &["mem"],
            Self::Guardrails => &["fix", "decision", "pattern"],
        }
    }

    /// How the id of a new note of this kind begins.
    #[must_use]
    pub fn id_prefix(self, kind: NoteKind) -> &'static str {
        match self {
            Self::Memories => "mem",
            Self::Guardrails => kind.word(),
        }
    }

    /// The kind whose section has this heading.
    #[must_use]
    pub fn kind_of_section(self, heading: &[u8]) -> Option<NoteKind> {
        self.kinds()
            .iter()
            .copied()
            .find(|kind| kind.section().as_bytes() == heading)
    }

    /// An empty file of this shelf.
    #[must_use]
    pub fn template(self) -> String {
        let mut text = format!("# {}\n", self.title());
        for kind in self.kinds() {
            text.push_str("\n## ");
            text.push_str(kind.section());
            text.push('\n');
        }
        text
    }
}

/// The words for a shelf and for what stands on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShelfWords {
    /// One of its notes, within a sentence.
    pub one: &'static str,
    /// Several of them.
    pub many: &'static str,
    /// One of them, at the beginning of a line.
    pub title: &'static str,
    /// The command for them.
    pub command: &'static str,
    /// An id as help texts show it.
    pub example_id: &'static str,
}

/// What stands on the second comment line of a note: reason, source, what it supersedes.
///
/// Keys that are not known here are kept as they were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra(Vec<(String, String)>);

impl Extra {
    /// The key under which a note names the one it replaces.
    pub const SUPERSEDES: &'static str = "supersedes";
    /// The key for what a note was made from: a Sign, a guardrail.
    pub const SOURCE: &'static str = "source";
    /// The key for why a note was written.
    pub const REASON: &'static str = "reason";
    /// The key for the paths whose change a guardrail refuses.
    pub const DENY_PATH: &'static str = "deny-path";
    /// The key for the command that must pass for a guardrail.
    pub const CHECK: &'static str = "check";
    /// The key under which a note names the one that says something else since a merge.
    pub const CONFLICTS: &'static str = "conflicts";

    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Sets or replaces the value under a key.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its id.
    pub id: NoteId,
    /// What it is about.
    pub kind: NoteKind,
    /// Its text, lines separated by LF.
    pub content: String,
    /// Its tags.
    pub tags: Tags,
    /// The UTC day on which it was made.
    pub created: Date,
    /// Everything else that is recorded about it.
    pub extra: Extra,
}

/// A note in JSON has exactly these keys; other tools read them.
impl Serialize for Note {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut object = serializer.serialize_struct("Note", 5)?;
        object.serialize_field("id", &self.id)?;
        object.serialize_field("memory_type", &self.kind)?;
        object.serialize_field("content", &self.content)?;
        object.serialize_field("tags", &self.tags)?;
        object.serialize_field("created", &self.created.to_string())?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_have_their_sections_in_order() {
        assert_eq!(
            Shelf::Memories.template(),
            "# Memories\n\n## Patterns\n\n## Decisions\n\n## Fixes\n\n## Context\n"
        );
        assert_eq!(
            Shelf::Guardrails.template(),
            "# Guardrails\n\n## Fixes\n\n## Decisions\n\n## Patterns\n"
        );
    }

    #[test]
    fn kinds_are_read_by_their_words_alone() {
        assert_eq!("Fix".parse(), Ok(NoteKind::Fix));
        assert!("fixes".parse::<NoteKind>().unwrap_err().contains("pattern, decision"));
    }

    #[test]
    fn a_shelf_takes_its_own_kinds_and_names_them_when_it_refuses_one() {
        assert_eq!(Shelf::Memories.parse_kind("Context"), Ok(NoteKind::Context));
        assert_eq!(Shelf::Guardrails.parse_kind(" fix"), Ok(NoteKind::Fix));
        assert_eq!(
            Shelf::Guardrails.parse_kind("context").unwrap_err(),
            "\"context\" is no kind of guardrail; there are fix, decision and pattern"
        );
    }
}
