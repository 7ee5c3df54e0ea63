//! Memories that read like real ones: varied English sentences, the same ones every time.
//!
//! They are written one after the other and never held together, so that this process stays small (see `sys::wait`).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;

use super::words::{FIXED, OPENERS, SLOTS, TAGS, TEMPLATES};
use crate::random::Random;

/// The sections of the file, in their order.
const SECTIONS: [&str; 4] = ["Patterns", "Decisions", "Fixes", "Context"];
/// The first memory is of the first day of 2024, in seconds since 1970.
const FIRST_SECOND: usize = 1_704_067_200;
/// The memories are spread over two years.
const SPAN_SECONDS: usize = 2 * 365 * 24 * 60 * 60;
/// The most tags that a memory has.
const MAX_TAGS: usize = 4;
/// How long a memory's text may be, in characters.
const TEXT_CHARACTERS: std::ops::RangeInclusive<usize> = 40..=300;

/// One memory as a person would have written it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Its id.
    pub(crate) id: String,
    /// Its text.
    pub(crate) text: String,
    section: usize,
    tags: Vec<&'static str>,
    created: String,
}

impl Memory {
    /// The memory at this place among so many.
    pub(crate) fn at(index: usize, total: usize) -> Self {
        let mut random = Random::seeded(index as u64);
        let step = SPAN_SECONDS / total.max(1);
        let second = FIRST_SECOND + index * step + random.below(step);
        let created = i64::try_from(second)
            .ok()
            .and_then(|second| Timestamp::from_second(second).ok())
            .map(|moment| moment.strftime("%Y-%m-%d").to_string())
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

    /// Its tags.
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

/// Writes a file of so many memories.
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

/// A text of one to four sentences. Now and then one begins a new line.
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

/// One sentence: a template with its slots filled, `{name}` by a word of that list and `{#}` by a number.
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
    fn memories_are_of_the_promised_length_and_all_different() {
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
    fn a_template_names_only_slots_that_there_are() {
        for template in TEMPLATES.concat().iter().chain(FIXED) {
            for part in template.split('{').skip(1) {
                let slot = part.split_once('}').unwrap().0;
                assert!(slot == "#" || SLOTS.iter().any(|(name, _)| *name == slot), "{template}");
            }
        }
    }

    #[test]
    fn the_same_file_is_written_every_time() {
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
