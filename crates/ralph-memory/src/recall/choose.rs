//! Picks and orders the scored entries: near-duplicates once, and of several on one subject the newest first.

use std::cmp::Reverse;
use std::collections::HashMap;

use ralph_store::index::{Age, DocFeatures};

use super::corpus::Corpus;
use super::question::Terms;
use super::score::Score;
use crate::similarity::{TextFacts, common};

/// Two entries are on the same subject if they share the same words with the question and this percentage of all their
/// words.
const SAME_SUBJECT_PERCENT: usize = 50;
/// One entry repeats another if it has this percentage of its words and no others.
const REPEATS_PERCENT: usize = 90;
/// Ordering by subject is limited to this many of the best entries.
const BY_SUBJECT: usize = 256;
/// Extra entries to compare, because duplicates are dropped.
const SPARE: usize = 30;
/// How new an entry is among those of all files. Places are comparable within one file only: across files their numbers
/// depend on the history of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Newness<'o> {
    created: &'o str,
    second: i64,
    file_kind: Reverse<usize>,
    place: i64,
    /// Knowledge entries have no place; of two from the same second, the first by name wins.
    id: Reverse<&'o str>,
}

#[derive(Clone, Copy)]
pub(super) struct Selection<'a, C> {
    pub(super) corpus: &'a C,
    pub(super) terms: &'a Terms,
    /// The numbers of the searched files, in the order of the question.
    pub(super) sources: &'a [i64],
    /// Maximum number of results.
    pub(super) most: usize,
}

impl<C> Selection<'_, C> {
    fn newness<'o>(&self, outline: &'o DocFeatures) -> Newness<'o> {
        let Age { created, second, place } = &outline.age;
        let file_kind = self.sources.iter().position(|source| *source == outline.source);
        Newness {
            created,
            second: *second,
            file_kind: Reverse(file_kind.unwrap_or(usize::MAX)),
            place: *place,
            id: Reverse(&outline.id),
        }
    }
}

/// An entry with the features that are compared.
struct Compared {
    outline: DocFeatures,
    score: Score,
    terms: Vec<u32>,
    shared: Vec<u32>,
}

pub(super) fn choose<C: Corpus>(
    selection: &Selection<'_, C>,
    mut scored: Vec<(Score, DocFeatures)>,
) -> Result<Vec<(Score, DocFeatures)>, C::Error> {
    scored.sort_by(|(one, entry), (other, better)| {
        let by_score = other.total().total_cmp(&one.total());
        by_score.then_with(|| selection.newness(better).cmp(&selection.newness(entry)))
    });
    scored.truncate(selection.most.saturating_add(SPARE));
    let compared = scored
        .into_iter()
        .map(|(score, outline)| Compared::of(selection.terms, score, outline))
        .collect();
    let mut chosen = newest_of_a_subject_first(selection, without_duplicates(selection, compared)?);
    chosen.truncate(selection.most);
    Ok(chosen
        .into_iter()
        .map(|compared| (compared.score, compared.outline))
        .collect())
}

impl Compared {
    fn of(question: &Terms, score: Score, outline: DocFeatures) -> Self {
        let mut terms = outline.terms.clone();
        terms.sort_unstable();
        terms.dedup();
        let asked = |number: &u32| question.by_number.contains_key(number);
        Self {
            shared: terms.iter().copied().filter(asked).collect(),
            terms,
            outline,
            score,
        }
    }

    /// Whether one entry's words are all in the other, which has hardly any more.
    fn repeats(&self, other: &Self) -> bool {
        let common = common(&self.terms, &other.terms);
        let (fewer, more) = order(self.terms.len(), other.terms.len());
        common == fewer && common > 0 && common * 100 >= more * REPEATS_PERCENT
    }

    /// A prefix filter: any entry that repeats this one shares at least one of these words. Two sets that have nearly
    /// everything in common also share one of the few elements that sort last, and high numbers belong to rare words.
    fn rarest(&self) -> &[u32] {
        let shared = (self.terms.len() * REPEATS_PERCENT).div_ceil(100);
        self.terms.get(shared.saturating_sub(1)..).unwrap_or_default()
    }

    fn is_on_the_subject_of(&self, other: &Self) -> bool {
        // Cheap check first: most entries share different words with the question.
        if self.shared != other.shared {
            return false;
        }
        let common = common(&self.terms, &other.terms);
        let all = self.terms.len() + other.terms.len() - common;
        common * 100 >= all * SAME_SUBJECT_PERCENT
    }
}

/// Drops duplicates; the newest of them gets the best place that one of them had.
fn without_duplicates<C: Corpus>(
    selection: &Selection<'_, C>,
    compared: Vec<Compared>,
) -> Result<Vec<Compared>, C::Error> {
    let mut kept: Vec<Compared> = Vec::new();
    let mut by_term: HashMap<u32, Vec<usize>> = HashMap::new();
    for entry in compared {
        let rarest = entry.rarest().to_vec();
        let mut alike: Vec<usize> = rarest
            .iter()
            .filter_map(|term| by_term.get(term))
            .flatten()
            .copied()
            .collect();
        alike.sort_unstable();
        alike.dedup();
        let position = match duplicate_position(selection, &entry, &kept, &alike)? {
            None => {
                kept.push(entry);
                kept.len() - 1
            }
            Some(position) => {
                if let Some(earlier) = kept.get_mut(position)
                    && selection.newness(&entry.outline) > selection.newness(&earlier.outline)
                {
                    *earlier = entry;
                }
                position
            }
        };
        for term in rarest {
            by_term.entry(term).or_default().push(position);
        }
    }
    Ok(kept)
}

/// The position of the first kept entry that this one repeats.
fn duplicate_position<C: Corpus>(
    selection: &Selection<'_, C>,
    entry: &Compared,
    kept: &[Compared],
    alike: &[usize],
) -> Result<Option<usize>, C::Error> {
    for position in alike {
        if let Some(earlier) = kept.get(*position)
            && entry.repeats(earlier)
            && have_same_facts(selection.corpus, &entry.outline, &earlier.outline)?
        {
            return Ok(Some(*position));
        }
    }
    Ok(None)
}

/// Whether both have the same numbers and negations: "use port 1" and "do not use port 2" share every distinctive word.
fn have_same_facts<C: Corpus>(corpus: &C, one: &DocFeatures, other: &DocFeatures) -> Result<bool, C::Error> {
    let (one, other) = (one.number, other.number);
    Ok(corpus.may_collapse(one, other)? && TextFacts::of(&corpus.text(one)?) == TextFacts::of(&corpus.text(other)?))
}

fn newest_of_a_subject_first<C>(selection: &Selection<'_, C>, entries: Vec<Compared>) -> Vec<Compared> {
    let mut places: Vec<Option<Compared>> = entries.into_iter().map(Some).collect();
    let end = places.len().min(BY_SUBJECT);
    for first in 0..end {
        let Some(entry) = places.get(first).and_then(Option::as_ref) else {
            continue;
        };
        let on_it = |place: &usize| {
            places
                .get(*place)
                .and_then(Option::as_ref)
                .is_some_and(|other| *place == first || other.is_on_the_subject_of(entry))
        };
        let newest = (first..end).filter(on_it).max_by_key(|place| {
            let entry = places.get(*place).and_then(Option::as_ref);
            entry.map(|entry| selection.newness(&entry.outline))
        });
        // Move the newest here and shift those between down by one.
        if let Some(stretch) = newest.and_then(|newest| places.get_mut(first..=newest)) {
            stretch.rotate_right(1);
        }
    }
    places.into_iter().flatten().collect()
}

fn order(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}
