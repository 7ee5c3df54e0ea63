//! Candidates: the entries that share the most telling words with a question.
//!
//! Walking through the list of a term costs as much as the list is long, and a task of two hundred words has many common
//! ones. So the rarest terms are walked through, up to a limit; the others are counted when the candidates are weighed.

use std::collections::HashSet;

use ralph_model::Shelf;
use ralph_store::index::{Index, IndexError, Outline};

use super::numbers::NumberMap;
use super::question::Terms;
use super::{Question, Reach};
use crate::catalogue::source_name;

/// How many places in the lists of words are looked at, when only the best are wanted.
const MAX_PLACES: u64 = 8_000;
/// So many terms are looked for however common they are.
const LEAST_TERMS: usize = 2;
/// How many candidates are weighed.
const MAX_CANDIDATES: usize = 128;

/// The entries that may fit a question, those first that share most.
pub(super) fn candidates(index: &Index, question: &Question<'_>, terms: &Terms) -> Result<Vec<Outline>, IndexError> {
    let mut shared: NumberMap<i64, f64> = NumberMap::default();
    let mut places = 0;
    for (position, asked) in terms.known.iter().filter(|asked| asked.telling).enumerate() {
        places += asked.known.entries;
        if question.reach != Reach::All && position >= LEAST_TERMS && places > MAX_PLACES {
            break;
        }
        index.entries_with(asked.known.number, &mut |entry| {
            *shared.entry(entry).or_default() += asked.weight;
        })?;
    }
    let mut ranked: Vec<(i64, f64)> = shared.into_iter().collect();
    ranked.sort_unstable_by(|(_, weight), (_, heavier)| heavier.total_cmp(weight));
    let most = match question.reach {
        Reach::Best(most) => most.max(MAX_CANDIDATES),
        Reach::All => usize::MAX,
    };
    let mut chosen = Vec::new();
    let filter = Filter::of(index, question)?;
    // Those that share the same terms are taken together or not at all: which of them is the best is seen only when they
    // are weighed, and the order of their numbers is that of the index's history.
    for alike in ranked.chunk_by(|(_, one), (_, other)| one.total_cmp(other).is_eq()) {
        if chosen.len() >= most {
            break;
        }
        for outline in index.outlines(alike.iter().map(|(number, _)| *number))? {
            if filter.lets_through(index, &outline)? {
                chosen.push(outline);
            }
        }
    }
    Ok(chosen)
}

/// What may be found at all.
struct Filter<'q> {
    question: &'q Question<'q>,
    sources: Vec<i64>,
    superseded: HashSet<String>,
}

impl<'q> Filter<'q> {
    fn of(index: &Index, question: &'q Question<'q>) -> Result<Self, IndexError> {
        let numbers = index.source_numbers()?;
        let number = |shelf: &Shelf| numbers.get(source_name(*shelf)).copied();
        Ok(Self {
            sources: question.shelves.iter().filter_map(number).collect(),
            superseded: index.superseded()?,
            question,
        })
    }

    fn lets_through(&self, index: &Index, outline: &Outline) -> Result<bool, IndexError> {
        if !self.sources.contains(&outline.source) || self.superseded.contains(&outline.id) {
            return Ok(false);
        }
        let wanted = self.question.wanted;
        Ok(wanted.is_everything() || wanted.matches(&index.item(outline.number)?))
    }
}
