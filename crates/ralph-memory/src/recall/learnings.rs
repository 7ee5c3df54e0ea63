//! Learnings as a searchable corpus.

use ralph_model::{Learning, LearningStatus};
use ralph_store::index::{Age, DocFeatures, KnownTerm, Totals};
use ralph_store::{LearningDoc, LearningQuery, Searched, Store, StoreError};

use super::corpus::{Corpus, FuzzyCorpus};
use super::question::Terms;
use super::relevance::Support;
use super::rows::Rows;
use super::{Answer, Found, Hit, Reach, fitting};

/// Learnings have no files; all of them count as one source.
pub(super) const LEARNINGS_SOURCE: i64 = i64::MIN;

/// A result must contain this percentage of the question's words that the best result contains.
const MATCHING_PERCENT: usize = 70;

/// Minimum number of learnings to score when only the best are wanted.
const MAX_SCORED: usize = 128;

/// Finds learnings by a question and a filter: all of them, or the best. Unlike a search over all notes, results that
/// match much less of the question than the best one are dropped, so the rest can be sorted in any other order.
///
/// # Errors
/// When the database cannot be read.
pub fn recall_learnings(store: &Store, text: &str, wanted: &LearningQuery, reach: Reach) -> Result<Answer, StoreError> {
    let learnings = Learnings {
        wanted: Some(wanted),
        ..Learnings::of(store)
    };
    let reach = match reach {
        Reach::Best(most) => Reach::Best(most.max(MAX_SCORED)),
        Reach::All => Reach::All,
    };
    let fitting = fitting(&learnings, &[LEARNINGS_SOURCE], reach, text)?;
    let words = |outline: &DocFeatures| words_in(outline, &fitting.terms);
    let most = fitting.found.iter().map(|(_, outline)| words(outline)).max();
    let mut hits = Vec::new();
    for (score, outline) in &fitting.found {
        if words(outline) * 100 < most.unwrap_or_default() * MATCHING_PERCENT {
            continue;
        }
        let learning = learnings.learning(outline.number)?;
        hits.extend(learning.map(|learning| Hit {
            item: Found::Learning(Box::new(learning)),
            age: outline.age.clone(),
            score: *score,
        }));
    }
    Ok(Answer {
        hits,
        fuzzy: fitting.fuzzy,
        terms: fitting.terms.all(),
        ..Answer::default()
    })
}

/// The best supported learnings that match a filter, best first; ties go to the newest.
///
/// # Errors
/// When the database cannot be read.
pub fn best_supported(store: &Store, wanted: &LearningQuery, reach: Reach) -> Result<Vec<Learning>, StoreError> {
    let mut strengths: Vec<(f64, i64)> = Vec::new();
    let most = match reach {
        Reach::Best(most) => most,
        Reach::All => usize::MAX,
    };
    let better =
        |(support, number): &(f64, i64), (other, later): &(f64, i64)| other.total_cmp(support).then(later.cmp(number));
    let mut worst = f64::NEG_INFINITY;
    store.learning_strengths(wanted, &mut |strength| {
        let support = Support::of_strength(&strength).total();
        if support < worst {
            return;
        }
        strengths.push((support, strength.number));
        // Keep memory bounded: drop the worse half at twice the limit.
        if strengths.len() >= most.saturating_mul(2) {
            strengths.sort_unstable_by(better);
            strengths.truncate(most);
            worst = strengths.last().map_or(worst, |(support, _)| *support);
        }
    })?;
    strengths.sort_unstable_by(better);
    strengths.truncate(most);
    let numbers: Vec<i64> = strengths.into_iter().map(|(_, number)| number).collect();
    store.learnings_numbered(&numbers)
}

/// How many words of a question an entry contains, common ones included.
fn words_in(outline: &DocFeatures, terms: &Terms) -> usize {
    let holds = |number: &u32| outline.terms.contains(number) || outline.tag_terms.contains(number);
    terms.known.iter().filter(|asked| holds(&asked.known.number)).count()
}

/// Whether a search may return a learning: active or proposed, and not superseded.
fn may_be_found(outline: &LearningDoc) -> bool {
    let status = match outline.status {
        LearningStatus::Promoted | LearningStatus::Validated | LearningStatus::Pending => true,
        LearningStatus::Rejected | LearningStatus::Pruned => false,
    };
    status && !outline.is_superseded
}

/// Outlines that cover learnings' texts only, without ids and tags.
pub(super) fn outlines_of_texts(rows: &Rows<'_>, texts: Vec<(i64, String)>) -> Vec<DocFeatures> {
    let outline = |(number, terms): (i64, String)| DocFeatures {
        number,
        source: LEARNINGS_SOURCE,
        id: String::new(),
        age: Age::default(),
        terms: rows.numbers_of(&terms),
        tag_terms: Vec::new(),
    };
    texts.into_iter().map(outline).collect()
}

pub(super) struct Learnings<'s> {
    pub(super) rows: Rows<'s>,
    wanted: Option<&'s LearningQuery>,
}

impl<'s> Learnings<'s> {
    pub(super) fn of(store: &'s Store) -> Self {
        Self {
            rows: Rows::of(store, Searched::Learnings),
            wanted: None,
        }
    }

    fn found(&self, numbers: &[i64]) -> Result<Vec<LearningDoc>, StoreError> {
        if let Some(wanted) = self.wanted {
            return self.rows.store.matching_learning_docs(numbers, wanted);
        }
        let mut outlines = self.rows.store.learning_docs(numbers)?;
        outlines.retain(may_be_found);
        Ok(outlines)
    }

    pub(super) fn learning(&self, number: i64) -> Result<Option<Learning>, StoreError> {
        Ok(self.rows.store.learnings_numbered(&[number])?.pop())
    }
}

impl FuzzyCorpus for Learnings<'_> {
    fn all_terms(&self, visit: &mut dyn FnMut(&str, u64)) -> Result<(), StoreError> {
        self.rows.plain_terms(visit)
    }
}

impl Corpus for Learnings<'_> {
    type Error = StoreError;

    const TIE_BATCH: usize = 32;

    fn totals(&self) -> Result<Totals, StoreError> {
        self.rows.totals()
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, StoreError> {
        self.rows.term(term)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), StoreError> {
        self.rows.with(term, visit)
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<DocFeatures>, StoreError> {
        let day = |outline: &LearningDoc| outline.created_at.strftime("%Y-%m-%d").to_string();
        let found = self.found(numbers)?.into_iter();
        Ok(found
            .map(|outline| DocFeatures {
                number: outline.number,
                source: LEARNINGS_SOURCE,
                id: outline.id.to_string(),
                age: Age {
                    created: day(&outline),
                    second: outline.created_at.as_second(),
                    place: outline.number,
                },
                terms: self.rows.numbers_of(&outline.terms),
                tag_terms: self.rows.numbers_of(&outline.tag_terms),
            })
            .collect())
    }

    /// A search of learnings alone shows each: a duplicate may be the one to reject.
    fn may_collapse(&self, _one: i64, _other: i64) -> Result<bool, StoreError> {
        Ok(self.wanted.is_none())
    }

    fn text(&self, number: i64) -> Result<String, StoreError> {
        let learning = self.learning(number)?;
        Ok(learning.map(|learning| learning.content).unwrap_or_default())
    }
}
