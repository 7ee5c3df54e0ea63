//! Notes, their kinds and the files that hold them.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::{NoteId, Tags};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// How this project does things.
    Pattern,
    Decision,
    /// The solution of a recurring problem.
    Fix,
    /// A fact about the project.
    Context,
}

impl NoteKind {
    pub const ALL: [Self; 4] = [Self::Pattern, Self::Decision, Self::Fix, Self::Context];

    /// The word used in commands and JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Decision => "decision",
            Self::Fix => "fix",
            Self::Context => "context",
        }
    }

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
            .ok_or_else(|| format!("unknown note type {word:?}; use pattern, decision, fix or context"))
    }
}

/// A file of notes, with its sections and id prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoteFileKind {
    /// `memories.md`: notes about the project.
    Memories,
    /// `guardrails.md`: rules for the current work.
    Guardrails,
}

impl NoteFileKind {
    /// The files whose notes are injected.
    #[must_use]
    pub fn injected(config: &Config) -> Vec<Self> {
        let memories = config.memories.enabled.then_some(Self::Memories);
        let guardrails = config.guardrails.enabled.then_some(Self::Guardrails);
        memories.into_iter().chain(guardrails).collect()
    }

    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Memories => "memories.md",
            Self::Guardrails => "guardrails.md",
        }
    }

    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Memories => "Memories",
            Self::Guardrails => "Guardrails",
        }
    }

    /// The words for its notes in messages.
    #[must_use]
    pub fn words(self) -> NoteFileNouns {
        match self {
            Self::Memories => NoteFileNouns {
                one: "memory",
                many: "memories",
                title: "Memory",
                command: "ralph memory",
                example_id: "mem-1737372000-a1b2",
            },
            Self::Guardrails => NoteFileNouns {
                one: "guardrail",
                many: "guardrails",
                title: "Guardrail",
                command: "ralph guardrails",
                example_id: "fix-1737372000-a1b2",
            },
        }
    }

    /// Parses a note type that this file accepts.
    ///
    /// # Errors
    /// If it accepts no such type; the message lists those it accepts.
    pub fn parse_kind(self, word: &str) -> Result<NoteKind, String> {
        let found = word.parse().ok().filter(|kind| self.kinds().contains(kind));
        found.ok_or_else(|| {
            let one = self.words().one;
            format!("unknown {one} type {word:?}; use {}", self.list_of_kinds(" or "))
        })
    }

    /// Its note types, separated by commas, with `before_last` before the last one.
    #[must_use]
    pub fn list_of_kinds(self, before_last: &str) -> String {
        let words: Vec<&str> = self.kinds().iter().map(|kind| kind.word()).collect();
        match words.split_last() {
            Some((last, rest)) => format!("{}{before_last}{last}", rest.join(", ")),
            None => String::new(),
        }
    }

    /// Its note types, in section order.
    #[must_use]
    pub fn kinds(self) -> &'static [NoteKind] {
        use NoteKind::{Context, Decision, Fix, Pattern};
        match self {
            Self::Memories => &[Pattern, Decision, Fix, Context],
            Self::Guardrails => &[Fix, Decision, Pattern],
        }
    }

    #[must_use]
    pub fn id_prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Memories => &["mem"],
            Self::Guardrails => &["fix", "decision", "pattern"],
        }
    }

    /// The id prefix of a new note of this type.
    #[must_use]
    pub fn id_prefix(self, kind: NoteKind) -> &'static str {
        match self {
            Self::Memories => "mem",
            Self::Guardrails => kind.word(),
        }
    }

    /// The type whose section has this heading.
    #[must_use]
    pub fn kind_of_section(self, heading: &[u8]) -> Option<NoteKind> {
        self.kinds()
            .iter()
            .copied()
            .find(|kind| kind.section().as_bytes() == heading)
    }

    /// The content of an empty file.
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

/// The words for a note file and its notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteFileNouns {
    /// Singular, within a sentence.
    pub one: &'static str,
    pub many: &'static str,
    /// Singular, at the start of a line.
    pub title: &'static str,
    pub command: &'static str,
    /// An example id for help texts.
    pub example_id: &'static str,
}

/// The fields of a note's second comment line: reason, source, what it supersedes.
///
/// Unknown keys are preserved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra(Vec<(String, String)>);

impl Extra {
    /// The note that this one replaces.
    pub const SUPERSEDES: &'static str = "supersedes";
    /// What the note was made from, such as a Sign or a guardrail.
    pub const SOURCE: &'static str = "source";
    /// Why the note was written.
    pub const REASON: &'static str = "reason";
    /// The paths that a guardrail protects from changes.
    pub const DENY_PATH: &'static str = "deny-path";
    /// The command that must pass for a guardrail.
    pub const CHECK: &'static str = "check";
    /// The note that conflicts with this one since a merge.
    pub const CONFLICTS: &'static str = "conflicts";

    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    pub fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub id: NoteId,
    pub kind: NoteKind,
    /// Lines are separated by LF.
    pub content: String,
    pub tags: Tags,
    /// The UTC day of creation.
    pub created: Date,
    /// All other fields.
    pub extra: Extra,
}

/// Other tools read exactly these keys.
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
            NoteFileKind::Memories.template(),
            "# Memories\n\n## Patterns\n\n## Decisions\n\n## Fixes\n\n## Context\n"
        );
        assert_eq!(
            NoteFileKind::Guardrails.template(),
            "# Guardrails\n\n## Fixes\n\n## Decisions\n\n## Patterns\n"
        );
    }

    #[test]
    fn kinds_parse_by_exact_word() {
        assert_eq!("Fix".parse(), Ok(NoteKind::Fix));
        assert!("fixes".parse::<NoteKind>().unwrap_err().contains("pattern, decision"));
    }

    #[test]
    fn each_file_accepts_only_its_own_kinds() {
        assert_eq!(NoteFileKind::Memories.parse_kind("Context"), Ok(NoteKind::Context));
        assert_eq!(NoteFileKind::Guardrails.parse_kind(" fix"), Ok(NoteKind::Fix));
        assert_eq!(
            NoteFileKind::Guardrails.parse_kind("context").unwrap_err(),
            "unknown guardrail type \"context\"; use fix, decision or pattern"
        );
    }
}
