//! What of the scored entries is shown, and in which order: near-duplicates once, of several on the same subject the
//! newest first.

use std::cmp::Reverse;
use std::collections::HashMap;

use ralph_store::index::{Age, Outline};

use super::corpus::Corpus;
use super::question::Terms;
use super::score::Score;
use crate::negations::{is_negation, is_not};

/// Two entries are on the same subject when they share the same words with the question and so many in a hundred of all
/// their words.
const SAME_SUBJECT_PERCENT: usize = 50;
/// One entry repeats another when it holds so many in a hundred of its words, and nothing else.
const REPEATS_PERCENT: usize = 90;
/// So many of the best are put in order by their subjects; whoever reads further has seen the newest ones.
const BY_SUBJECT: usize = 256;
/// Beyond what is shown so many more are compared, because repetitions fall away.
const SPARE: usize = 30;
/// Words that tell nothing about a text, and yet turn its meaning round, beside those that say no.
const TURNING: [&str; 15] = [
    "above", "after", "against", "all", "any", "before", "below", "down", "few", "more", "most", "off", "only", "out",
    "over",
];

/// How new an entry is among those of all shelves. Places say something within one file only: across files their numbers
/// are an accident of the index's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Newness<'o> {
    created: &'o str,
    second: i64,
    shelf: Reverse<usize>,
    place: i64,
    /// Long notes have no place; of two that were made in the same second the first by name goes first.
    id: Reverse<&'o str>,
}

/// What is chosen from, and how much of it.
#[derive(Clone, Copy)]
pub(super) struct Choosing<'a, C> {
    pub(super) corpus: &'a C,
    /// The terms of the question.
    pub(super) terms: &'a Terms,
    /// The numbers of the files that entries may stand in, in the order of the question.
    pub(super) sources: &'a [i64],
    /// How many are shown at most.
    pub(super) most: usize,
}

impl<C> Choosing<'_, C> {
    fn newness<'o>(&self, outline: &'o Outline) -> Newness<'o> {
        let Age { created, second, place } = &outline.age;
        let shelf = self.sources.iter().position(|source| *source == outline.source);
        Newness {
            created,
            second: *second,
            shelf: Reverse(shelf.unwrap_or(usize::MAX)),
            place: *place,
            id: Reverse(&outline.id),
        }
    }
}

/// An entry with what is compared of it.
struct Compared {
    outline: Outline,
    score: Score,
    terms: Vec<u32>,
    shared: Vec<u32>,
}

/// Chooses what is shown.
pub(super) fn choose<C: Corpus>(
    choosing: &Choosing<'_, C>,
    mut scored: Vec<(Score, Outline)>,
) -> Result<Vec<(Score, Outline)>, C::Error> {
    scored.sort_by(|(one, entry), (other, better)| {
        let by_score = other.total().total_cmp(&one.total());
        by_score.then_with(|| choosing.newness(better).cmp(&choosing.newness(entry)))
    });
    scored.truncate(choosing.most.saturating_add(SPARE));
    let compared = scored
        .into_iter()
        .map(|(score, outline)| Compared::of(choosing.terms, score, outline))
        .collect();
    let mut chosen = newest_of_a_subject_first(choosing, without_repetitions(choosing, compared)?);
    chosen.truncate(choosing.most);
    Ok(chosen
        .into_iter()
        .map(|compared| (compared.score, compared.outline))
        .collect())
}

impl Compared {
    fn of(question: &Terms, score: Score, outline: Outline) -> Self {
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

    /// Whether all of one entry's words stand in the other, which has hardly any more.
    fn repeats(&self, other: &Self) -> bool {
        let common = common(&self.terms, &other.terms);
        let (fewer, more) = order(self.terms.len(), other.terms.len());
        common == fewer && common > 0 && common * 100 >= more * REPEATS_PERCENT
    }

    /// So many of its words that every entry that it repeats, or that repeats it, has one of them among its own: two sets
    /// that share nearly all also share one of the few that come last in any order. Late numbers are those of rare words.
    fn rarest(&self) -> &[u32] {
        let shared = (self.terms.len() * REPEATS_PERCENT).div_ceil(100);
        self.terms.get(shared.saturating_sub(1)..).unwrap_or_default()
    }

    fn is_on_the_subject_of(&self, other: &Self) -> bool {
        // Most entries share other words, and that is seen at once.
        if self.shared != other.shared {
            return false;
        }
        let common = common(&self.terms, &other.terms);
        let all = self.terms.len() + other.terms.len() - common;
        common * 100 >= all * SAME_SUBJECT_PERCENT
    }
}

/// Of entries that say the same, the newest takes the best place that one of them has.
fn without_repetitions<C: Corpus>(
    choosing: &Choosing<'_, C>,
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
        let position = match repeated(choosing, &entry, &kept, &alike)? {
            None => {
                kept.push(entry);
                kept.len() - 1
            }
            Some(position) => {
                if let Some(earlier) = kept.get_mut(position)
                    && choosing.newness(&entry.outline) > choosing.newness(&earlier.outline)
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

/// Where the first of these stands that an entry repeats.
fn repeated<C: Corpus>(
    choosing: &Choosing<'_, C>,
    entry: &Compared,
    kept: &[Compared],
    alike: &[usize],
) -> Result<Option<usize>, C::Error> {
    for position in alike {
        if let Some(earlier) = kept.get(*position)
            && entry.repeats(earlier)
            && says_the_same(choosing.corpus, &entry.outline, &earlier.outline)?
        {
            return Ok(Some(*position));
        }
    }
    Ok(None)
}

/// The same numbers and the same words that turn a meaning round: "use port 1" and "do not use port 2" share every word
/// that tells something.
fn says_the_same<C: Corpus>(corpus: &C, one: &Outline, other: &Outline) -> Result<bool, C::Error> {
    let (one, other) = (one.number, other.number);
    Ok(corpus.may_stand_for_both(one, other)? && facts(&corpus.text(one)?) == facts(&corpus.text(other)?))
}

/// The numbers in a text, and the words in it that turn a meaning round.
pub(super) type Facts = (Vec<String>, Vec<String>);

pub(super) fn facts(text: &str) -> Facts {
    let text = text.to_lowercase().replace('’', "'");
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let turning = words.filter_map(|word| {
        if is_not(word) {
            Some("not".to_owned())
        } else {
            (is_negation(word) || TURNING.contains(&word)).then(|| word.to_owned())
        }
    });
    let numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    (numbers.map(str::to_owned).collect(), turning.collect())
}

fn newest_of_a_subject_first<C>(choosing: &Choosing<'_, C>, entries: Vec<Compared>) -> Vec<Compared> {
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
            entry.map(|entry| choosing.newness(&entry.outline))
        });
        // The newest comes here, and those between move down by one.
        if let Some(stretch) = newest.and_then(|newest| places.get_mut(first..=newest)) {
            stretch.rotate_right(1);
        }
    }
    places.into_iter().flatten().collect()
}

/// How many numbers two ascending lists have in common.
pub(super) fn common<N: Ord>(one: &[N], other: &[N]) -> usize {
    one.iter().filter(|number| other.binary_search(number).is_ok()).count()
}

fn order(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_tell_sentences_apart_that_share_their_words() {
        assert_eq!(facts("Use port 5432."), facts("use the port 5432"));
        assert_ne!(facts("use port 5432"), facts("use port 5433"));
        assert_ne!(facts("use the cache"), facts("do not use the cache"));
        assert_ne!(facts("it starts"), facts("it doesn’t start"));
        assert_ne!(facts("you can use tabs"), facts("you can't use tabs"));
        assert_ne!(facts("test before you commit"), facts("test after you commit"));
        assert_eq!(facts("do not use tabs"), facts("don't use the tabs"));
        assert_ne!(facts("use tabs"), facts("avoid tabs"));
        assert_ne!(facts("somebody reads it"), facts("nobody reads it"));
    }
}
