//! Searches learnings alone.

use ralph_model::Learning;
use ralph_search::{Doc, DocKind, Duplicates, Index, IndexError, Limits, Reach, Searcher};
use ralph_store::{LearningQuery, Store, StoreError};

use super::found::read_found;
use super::relevance::Support;
use super::{Answer, Hit};

pub(super) const KIND: DocKind = DocKind::Learning;
pub(super) const KINDS: [DocKind; 1] = [KIND];
/// A result must contain this percentage of the question's words that the best result contains.
const MATCHING_PERCENT: usize = 70;
/// Minimum number of learnings to score when only the best are wanted.
const MAX_SCORED: usize = 128;

/// Finds learnings by a question and a filter: all of them, or the best. Unlike a search over all notes, results that
/// match much less of the question than the best one are dropped, so the rest can be sorted in any other order; and
/// duplicates are kept, because one of them may be the one to reject.
///
/// # Errors
/// When the index or the store cannot be read.
pub fn recall_learnings(
    (index, store): (&Index, &Store),
    text: &str,
    wanted: &LearningQuery,
    reach: Reach,
) -> Result<Answer, IndexError> {
    let reach = match reach {
        Reach::Best(most) => Reach::Best(most.max(MAX_SCORED)),
        Reach::All => Reach::All,
    };
    let _snapshot = store.snapshot()?;
    let searcher = Searcher::new(index, &KINDS, Limits::FACTS)?;
    let mut accept = |doc: &Doc| -> Result<bool, IndexError> { Ok(store.matches_query(doc.age.place, wanted)?) };
    let answer = searcher.search(text, (reach, Duplicates::Keep), &mut accept)?;
    let words = |doc: &Doc| answer.question.shared(doc).words;
    let most = answer.hits.iter().map(|(_, doc)| words(doc)).max();
    let mut hits = Vec::new();
    for (score, doc) in &answer.hits {
        if words(doc) * 100 < most.unwrap_or_default() * MATCHING_PERCENT {
            continue;
        }
        hits.extend(read_found(index, Some(store), doc)?.map(|item| Hit {
            item,
            age: doc.age.clone(),
            score: *score,
        }));
    }
    Ok(Answer {
        hits,
        terms: answer.terms(),
        corrected: answer.corrected,
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
