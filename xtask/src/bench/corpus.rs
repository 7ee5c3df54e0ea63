//! Generates realistic memories: varied English sentences, the same ones every time.
//!
//! They are written one by one and never kept in memory together, so that this process stays small (see `sys::wait`).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;

use super::words::{FIXED, OPENERS, SLOTS, TAGS, TEMPLATES};
use crate::random::Random;

/// The sections of the file, in order.
const SECTIONS: [&str; 4] = ["Patterns", "Decisions", "Fixes", "Context"];
/// The earliest creation time: 2024-01-01, as Unix time.
const FIRST_SECOND: usize = 1_704_067_200;
/// The time span of all memories: two years.
const SPAN_SECONDS: usize = 2 * 365 * 24 * 60 * 60;
const MAX_TAGS: usize = 4;
/// The length of a memory's text, in characters.
const TEXT_CHARACTERS: std::ops::RangeInclusive<usize> = 40..=300;

/// A memory as a person would write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) id: String,
    pub(crate) text: String,
    section: usize,
    tags: Vec<&'static str>,
    created: String,
}

impl Memory {
    /// The memory at this index of `total`.
    pub(crate) fn at(index: usize, total: usize) -> Self {
        let mut random = Random::seeded(index as u64);
        let step = SPAN_SECONDS / total.max(1);
        let second = FIRST_SECOND + index * step + random.below(step);
        let created = i64::try_from(second)
            .ok()
            .and_then(|second| Timestamp::from_second(second).ok())
            .map(|time| time.strftime("%Y-%m-%d").to_string())
            .unwrap_or_default();
        let id = format!("mem-{second}-{:04x}", random.below(1 << 16));
        let section = random.below(SECTIONS.len());
        let mut tags: Vec<&str> = Vec::new();
        for _ in 0..random.below(MAX_TAGS + 1) {
            if let Some(tag) = random.one_of(TAGS)
                && !tags.contains(tag)
            {
                tags.push(tag);
            }
        }
        Self {
            id,
            text: text(&mut random, section),
            section,
            tags,
            created,
        }
    }

    pub(crate) fn tags(&self) -> &[&'static str] {
        &self.tags
    }

    fn write(&self, file: &mut impl Write) -> io::Result<()> {
        writeln!(file, "\n### {}", self.id)?;
        for line in self.text.lines() {
            writeln!(file, "> {line}")?;
        }
        let tags = self.tags.join(", ");
        writeln!(file, "<!-- tags: {tags} | created: {} -->", self.created)
    }
}

/// Writes a file with this many memories.
pub(crate) fn write(path: &Path, total: usize) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "# Memories")?;
    for (number, section) in SECTIONS.iter().enumerate() {
        writeln!(file, "\n## {section}")?;
        for index in 0..total {
            let memory = Memory::at(index, total);
            if memory.section == number {
                memory.write(&mut file)?;
            }
        }
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// A text of one to four sentences, sometimes on separate lines.
fn text(random: &mut Random, section: usize) -> String {
    let wanted = TEXT_CHARACTERS.start() + random.below(TEXT_CHARACTERS.end() - TEXT_CHARACTERS.start());
    let mut text = sentence(random, section);
    while text.chars().count() < wanted {
        let next = sentence(random, section);
        let fits = text.chars().count() + next.chars().count() < *TEXT_CHARACTERS.end();
        if !fits && text.chars().count() >= *TEXT_CHARACTERS.start() {
            break;
        }
        text.push(if random.below(8) == 0 { '\n' } else { ' ' });
        text.push_str(&next);
    }
    text
}

/// A sentence from a template, with `{name}` replaced by a word from that list and `{#}` by a number.
fn sentence(random: &mut Random, section: usize) -> String {
    let own = TEMPLATES.get(section).copied().unwrap_or_default();
    let template = if random.below(4) == 0 {
        random.one_of(FIXED)
    } else {
        random.one_of(own)
    };
    let opener = if random.below(5) == 0 {
        random.one_of(OPENERS)
    } else {
        None
    };
    let mut sentence = opener.map_or_else(String::new, |opener| format!("{opener}: "));
    let mut rest = template.copied().unwrap_or_default();
    while let Some((before, after)) = rest.split_once('{') {
        sentence.push_str(before);
        let (slot, after) = after.split_once('}').unwrap_or((after, ""));
        match SLOTS.iter().find(|(name, _)| *name == slot) {
            Some((_, words)) => sentence.push_str(random.one_of(words).copied().unwrap_or_default()),
            None => sentence.push_str(&(2 + random.below(9_000)).to_string()),
        }
        rest = after;
    }
    sentence.push_str(rest);
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_distinct_and_within_length_limits() {
        let memories: Vec<Memory> = (0..2_000).map(|index| Memory::at(index, 2_000)).collect();
        for memory in &memories {
            let length = memory.text.chars().count();
            assert!(TEXT_CHARACTERS.contains(&length), "{length}: {memory:?}");
            assert!(!memory.text.contains(['{', '}']), "{memory:?}");
            assert!(memory.tags.len() <= MAX_TAGS && memory.section < SECTIONS.len());
        }
        let distinct =
            |of: fn(&Memory) -> &String| memories.iter().map(of).collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(distinct(|memory| &memory.id), 2_000);
        assert!(distinct(|memory| &memory.text) > 1_990);
        assert!(distinct(|memory| &memory.created) > 600);
    }

    #[test]
    fn templates_use_only_known_slots() {
        for template in TEMPLATES.concat().iter().chain(FIXED) {
            for part in template.split('{').skip(1) {
                let slot = part.split_once('}').unwrap().0;
                assert!(slot == "#" || SLOTS.iter().any(|(name, _)| *name == slot), "{template}");
            }
        }
    }

    #[test]
    fn output_is_deterministic() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| {
            let path = folder.path().join(name);
            write(&path, 40).unwrap();
            std::fs::read_to_string(path).unwrap()
        };
        let text = read("a.md");
        assert_eq!(text, read("b.md"));
        assert_eq!(text.matches("\n### mem-").count(), 40);
        assert_eq!(text.matches("\n## ").count(), SECTIONS.len());
    }
}
