//! Selects and ranks the knowledge entries for the prompt of a task.
//!
//! An entry scores by its tags: 2 for each tag that matches the task's title or description, 2 for each that matches
//! the name of its feature, 1 for each that matches a recent file's path. Then links count, in both directions: every
//! entry at one hop from an entry that scored by tags gets 2, at two hops 1; only the best of these counts. So an entry
//! without matching tags can come in by a link, but leads to no further one. Entries with a score of 0 are left out.

use std::collections::{BTreeMap, BTreeSet};

use ralph_search::{DocKind, Index, IndexError, Phrase, Phrases, SearchIndex};

const KIND: DocKind = DocKind::Knowledge;

/// Score of a tag that matches the task, its feature …
const OF_TASK: u32 = 2;
const OF_FEATURE: u32 = 2;
/// … or a recent file.
const OF_FILES: u32 = 1;
/// Score of an entry that is one link, or two, from one that scored by tags.
const ONE_HOP: u32 = 2;
const TWO_HOPS: u32 = 1;
/// Separators between the words of a path …
const PATH_SEPARATORS: [char; 4] = ['/', '.', '-', '_'];
/// … and the length up to which words are ignored: extensions and abbreviations.
const SHORT_PATH_WORD: usize = 2;

/// The properties of a task that knowledge entries are selected by.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskSignals<'a> {
    pub title: &'a str,
    pub description: &'a str,
    pub feature: Option<&'a str>,
    /// Files changed by the last iteration.
    pub recent_files: &'a [String],
}

/// A knowledge entry that is relevant to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relevant {
    pub file: String,
    pub by_tags: u32,
    pub by_links: u32,
    pub(crate) number: i64,
}

impl Relevant {
    #[must_use]
    pub fn score(&self) -> u32 {
        self.by_tags.saturating_add(self.by_links)
    }
}

/// The knowledge entries relevant to a task, best first; ties go to the newest, then by file name. They are read
/// lazily: most prompts have a budget for a few of many.
pub struct RelevantKnowledge<'c> {
    index: &'c Index,
    total: usize,
    /// Entries not yet ordered, by score; ascending by number.
    waiting: BTreeMap<u32, Vec<Scored>>,
    /// Entries already in order.
    next: std::vec::IntoIter<Relevant>,
}

/// A knowledge entry that has been scored but not read.
#[derive(Debug, Clone, Copy)]
struct Scored {
    number: i64,
    by_tags: u32,
    by_links: u32,
}

/// Finds the knowledge entries relevant to a task; none if the index was opened without knowledge.
///
/// # Errors
/// When the index cannot be read.
pub fn relevant_knowledge<'c>(
    index: &'c SearchIndex,
    signals: &TaskSignals<'_>,
) -> Result<RelevantKnowledge<'c>, IndexError> {
    let mut relevant = RelevantKnowledge {
        index,
        total: 0,
        waiting: BTreeMap::new(),
        next: Vec::new().into_iter(),
    };
    if !index.includes_knowledge() || index.totals(&[KIND])?.docs == 0 {
        return Ok(relevant);
    }
    let by_tags = scored_by_tags(index, signals)?;
    let by_links = scored_by_links(index, &by_tags)?;
    let all: BTreeSet<i64> = by_tags.keys().chain(by_links.keys()).copied().collect();
    relevant.total = all.len();
    for number in all {
        let scored = Scored {
            number,
            by_tags: by_tags.get(&number).copied().unwrap_or_default(),
            by_links: by_links.get(&number).copied().unwrap_or_default(),
        };
        let score = scored.by_tags.saturating_add(scored.by_links);
        relevant.waiting.entry(score).or_default().push(scored);
    }
    Ok(relevant)
}

impl RelevantKnowledge<'_> {
    /// How many there are in all, including those already taken.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Orders entries of equal score.
    fn in_order(&self, equals: &[Scored]) -> Result<Vec<Relevant>, IndexError> {
        let mut ages = self.index.knowledge_ages(equals.iter().map(|note| note.number))?;
        ages.sort_unstable_by(|one, other| {
            let newer = other.second.cmp(&one.second);
            newer.then_with(|| one.file.cmp(&other.file))
        });
        let relevant = ages.into_iter().filter_map(|age| {
            let place = equals.binary_search_by_key(&age.number, |note| note.number).ok()?;
            let scored = equals.get(place)?;
            Some(Relevant {
                by_tags: scored.by_tags,
                by_links: scored.by_links,
                number: age.number,
                file: age.file,
            })
        });
        Ok(relevant.collect())
    }
}

impl Iterator for RelevantKnowledge<'_> {
    type Item = Result<Relevant, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(note) = self.next.next() {
                return Some(Ok(note));
            }
            let (_, equals) = self.waiting.pop_last()?;
            match self.in_order(&equals) {
                Ok(notes) => self.next = notes.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The scores by tags of the entries that have any.
fn scored_by_tags(index: &Index, signals: &TaskSignals<'_>) -> Result<BTreeMap<i64, u32>, IndexError> {
    let paths: Vec<String> = signals.recent_files.iter().map(|path| path_words(path)).collect();
    let signals = [
        (OF_TASK, Phrases::of([signals.title, signals.description])),
        (OF_FEATURE, Phrases::of(signals.feature)),
        (OF_FILES, Phrases::of(paths.iter().map(String::as_str))),
    ];
    let words: BTreeSet<&str> = signals.iter().flat_map(|(_, phrases)| phrases.words()).collect();
    // A tag may be found by more than one word; count it once.
    let mut tagged: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
    for word in words {
        index.tagged(KIND, word, usize::MAX, &mut |tag, note| {
            if let Some(notes) = tagged.get_mut(tag) {
                notes.insert(note);
            } else {
                tagged.insert(tag.to_owned(), BTreeSet::from([note]));
            }
        })?;
    }
    let mut scores: BTreeMap<i64, u32> = BTreeMap::new();
    for (tag, notes) in tagged {
        let Some(phrase) = Phrase::of(&tag) else { continue };
        let matching = signals.iter().filter(|(_, phrases)| phrases.hold(&phrase));
        let worth: u32 = matching.map(|(worth, _)| worth).sum();
        if worth == 0 {
            continue;
        }
        for note in notes {
            *scores.entry(note).or_default() += worth;
        }
    }
    Ok(scores)
}

/// The link score of the entries one or two links away from an entry that scored by tags (other than itself).
fn scored_by_links(index: &Index, scored: &BTreeMap<i64, u32>) -> Result<BTreeMap<i64, u32>, IndexError> {
    let of_scored = index.linked_knowledge(scored.keys().copied())?;
    let mut reached: BTreeMap<i64, Sources> = BTreeMap::new();
    for (from, to) in &of_scored {
        let sources = reached.entry(*to).or_insert(Sources {
            first: *from,
            several: false,
        });
        sources.several |= sources.first != *from;
    }
    let mut bonus: BTreeMap<i64, u32> = reached.keys().map(|note| (*note, ONE_HOP)).collect();
    // The links of those that scored are already known.
    let of_others = index.linked_knowledge(reached.keys().filter(|note| !scored.contains_key(note)).copied())?;
    for (through, to) in of_scored.iter().chain(&of_others) {
        let sources = reached.get(through);
        if sources.is_some_and(|sources| sources.several || sources.first != *to) {
            bonus.entry(*to).or_insert(TWO_HOPS);
        }
    }
    Ok(bonus)
}

/// The tag-scored entries that are one link away from an entry: the first, and whether there are more.
#[derive(Debug, Clone, Copy)]
struct Sources {
    first: i64,
    several: bool,
}

/// The words of a path, without short ones.
fn path_words(path: &str) -> String {
    let words = path
        .split(PATH_SEPARATORS)
        .filter(|word| word.chars().count() > SHORT_PATH_WORD);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_and_short_words_dropped() {
        assert_eq!(path_words("src/db/connection_pool-v2.rs"), "src connection pool");
        assert_eq!(path_words("größe/ßü/日本語.md"), "größe 日本語");
        assert_eq!(path_words(""), "");
    }
}
