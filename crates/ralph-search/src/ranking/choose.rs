//! Picks and orders the scored documents: near-duplicates once, and of several on one subject the newest first.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Duplicates;
use super::question::Question;
use super::score::Score;
use crate::DocKind;
use crate::index::{Age, Doc};
use ralph_model::{are_most, common, prefix_len};

/// Two documents are on the same subject if they share the same words with the question and this percentage of all
/// their words.
const SAME_SUBJECT_PERCENT: usize = 50;
/// Ordering by subject is limited to this many of the best documents.
const BY_SUBJECT: usize = 256;
/// Extra documents to compare, because duplicates are dropped.
const SPARE: usize = 30;

/// How new a document is among those of all kinds. Places are comparable within one kind only: across kinds their
/// numbers depend on the history of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Newness<'d> {
    created: &'d str,
    second: i64,
    kind: Reverse<usize>,
    place: i64,
    /// Knowledge entries have no place; of two from the same second, the first by name wins.
    id: Reverse<&'d str>,
}

#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    pub(super) question: &'a Question,
    /// The searched kinds, in the order of the question.
    pub(super) kinds: &'a [DocKind],
    pub(super) duplicates: Duplicates,
    /// Maximum number of results.
    pub(super) most: usize,
}

impl Selection<'_> {
    fn newness<'d>(&self, doc: &'d Doc) -> Newness<'d> {
        let Age { created, second, place } = &doc.age;
        let kind = self.kinds.iter().position(|kind| *kind == doc.id.kind);
        Newness {
            created,
            second: *second,
            kind: Reverse(kind.unwrap_or(usize::MAX)),
            place: *place,
            id: Reverse(&doc.id.id),
        }
    }
}

/// A document with the features that are compared.
struct Compared {
    doc: Doc,
    score: Score,
    /// Its terms, sorted, each once …
    terms: Vec<u32>,
    /// … and those of the question.
    shared: Vec<u32>,
}

pub(super) fn choose(selection: &Selection<'_>, mut scored: Vec<(Score, Doc)>) -> Vec<(Score, Doc)> {
    scored.sort_by(|(one, doc), (other, better)| {
        let by_score = other.total().total_cmp(&one.total());
        by_score.then_with(|| selection.newness(better).cmp(&selection.newness(doc)))
    });
    scored.truncate(selection.most.saturating_add(SPARE));
    let compared = scored
        .into_iter()
        .map(|(score, doc)| Compared::of(selection.question, score, doc))
        .collect();
    let distinct = match selection.duplicates {
        Duplicates::Keep => compared,
        Duplicates::Drop => without_duplicates(selection, compared),
    };
    let mut chosen = newest_of_a_subject_first(selection, distinct);
    chosen.truncate(selection.most);
    chosen
        .into_iter()
        .map(|compared| (compared.score, compared.doc))
        .collect()
}

impl Compared {
    fn of(question: &Question, score: Score, doc: Doc) -> Self {
        let mut terms = doc.terms.clone();
        terms.sort_unstable();
        terms.dedup();
        let asked = |number: &u32| question.by_number.contains_key(number);
        Self {
            shared: terms.iter().copied().filter(asked).collect(),
            terms,
            doc,
            score,
        }
    }

    /// Whether they are near-duplicates, and either both notes or both facts.
    fn repeats(&self, other: &Self) -> bool {
        let (one, other_doc) = (&self.doc, &other.doc);
        let is_fact = one.id.kind.is_fact();
        one.facts == other_doc.facts
            && is_fact == other_doc.id.kind.is_fact()
            && (!is_fact || one.id.kind == other_doc.id.kind && one.topic == other_doc.topic)
            && are_most(
                common(&self.terms, &other.terms),
                self.terms.len().max(other.terms.len()),
            )
    }

    /// A prefix filter: any near-duplicate shares at least one of these terms. Two sets that have most elements in
    /// common also share one of the few elements that sort last, and high numbers belong to rare words.
    fn rarest(&self) -> &[u32] {
        let most = prefix_len(self.terms.len());
        self.terms.get(self.terms.len() - most..).unwrap_or_default()
    }

    fn is_on_the_subject_of(&self, other: &Self) -> bool {
        // Cheap check first: most documents share different words with the question.
        if self.shared != other.shared {
            return false;
        }
        let common = common(&self.terms, &other.terms);
        let all = self.terms.len() + other.terms.len() - common;
        common * 100 >= all * SAME_SUBJECT_PERCENT
    }
}

/// Drops duplicates; the newest of them gets the best place that one of them had.
fn without_duplicates(selection: &Selection<'_>, compared: Vec<Compared>) -> Vec<Compared> {
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
        let repeated = alike
            .into_iter()
            .find(|position| kept.get(*position).is_some_and(|earlier| entry.repeats(earlier)));
        let position = repeated.unwrap_or(kept.len());
        match kept.get_mut(position) {
            None => kept.push(entry),
            Some(earlier) if selection.newness(&entry.doc) > selection.newness(&earlier.doc) => *earlier = entry,
            Some(_) => {}
        }
        for term in rarest {
            by_term.entry(term).or_default().push(position);
        }
    }
    kept
}

fn newest_of_a_subject_first(selection: &Selection<'_>, entries: Vec<Compared>) -> Vec<Compared> {
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
            entry.map(|entry| selection.newness(&entry.doc))
        });
        // Move the newest here and shift those between down by one.
        if let Some(stretch) = newest.and_then(|newest| places.get_mut(first..=newest)) {
            stretch.rotate_right(1);
        }
    }
    places.into_iter().flatten().collect()
}
