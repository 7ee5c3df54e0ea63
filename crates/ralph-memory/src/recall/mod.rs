//! Recall: search over notes and learnings.
//!
//! The index gives candidates by the question's most distinctive words, `score` ranks each against the whole question,
//! and `choose` picks the results: near-duplicates once, and of several on one subject the newest first.

mod candidates;
mod choose;
mod corpus;
mod everything;
mod found;
mod fuzzy_terms;
mod journal;
mod knowledge;
mod learnings;
mod note_filter;
mod note_listing;
mod notes;
mod numbers;
mod patterns;
mod question;
mod relevance;
mod relevant_learnings;
mod rows;
mod run_learnings;
mod score;
mod warnings;

use std::collections::HashSet;

use ralph_model::NoteFileKind;
use ralph_store::Store;
use ralph_store::index::{Age, DocFeatures, IndexError, places_of};

pub use found::{Found, FoundKnowledge, day_of};
pub use journal::{related_rows, search_rows};
pub use knowledge::{Relevant, RelevantKnowledge, TaskSignals, relevant_knowledge};
pub use learnings::{best_supported, recall_learnings};
pub use note_filter::{NoteFilter, first_day};
pub use note_listing::{Newest, Superseded};
pub use patterns::{ErrorPattern, FilePatterns, example_files};
pub use relevance::{Relevance, Support};
pub use relevant_learnings::{LearningSignals, RelevantLearning, relevant_learnings};
pub use run_learnings::{RunLearning, Work, max_in_prompt, run_learnings};
pub use score::Score;
pub use warnings::warnings_of;

use crate::note_index::NoteIndex;
use candidates::candidates;
use choose::{Selection, choose};
use corpus::{Corpus, FuzzyCorpus};
use everything::{CorpusError, Everything};
use notes::Notes;
use question::{CommonWords, Terms};
use score::score;

#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Free text.
    pub text: &'a str,
    /// The files to search.
    pub file_kinds: &'a [NoteFileKind],
    pub knowledge: KnowledgeSearch,
    pub wanted: &'a NoteFilter,
    pub reach: Reach,
}

/// Whether knowledge entries are searched. They are found only if the note index was opened with knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnowledgeSearch {
    Exclude,
    Include,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The N best results.
    Best(usize),
    /// Every entry that shares a distinctive word.
    All,
}

/// Search results, best first.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub hits: Vec<Hit>,
    /// Unknown words of the question, with the words that replaced them.
    pub fuzzy: Vec<(String, String)>,
    /// The searched terms.
    pub terms: HashSet<String>,
    /// Why learnings were not searched, if they should have been.
    pub without_learnings: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub item: Found,
    pub age: Age,
    pub score: Score,
}

impl Answer {
    /// The ranges of the searched words in a text.
    #[must_use]
    pub fn places_in(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        places_of(text, |term| self.terms.contains(term))
    }
}

/// Searches notes.
///
/// # Errors
/// When the index cannot be read.
pub fn recall(note_index: &NoteIndex, question: &Question<'_>) -> Result<Answer, IndexError> {
    recall_with_learnings(note_index, None, question)
}

/// Searches notes and learnings. If learnings cannot be read, the answer has notes only and says why.
///
/// # Errors
/// When the index cannot be read.
pub fn recall_with_learnings(
    note_index: &NoteIndex,
    learnings: Option<&Store>,
    question: &Question<'_>,
) -> Result<Answer, IndexError> {
    match answer(note_index, learnings, question) {
        Ok(answer) => Ok(answer),
        Err(CorpusError::Notes(error)) => Err(error),
        Err(CorpusError::Learnings(error)) => Ok(Answer {
            without_learnings: Some(error.to_string()),
            ..recall(note_index, question)?
        }),
    }
}

fn answer(note_index: &NoteIndex, learnings: Option<&Store>, question: &Question<'_>) -> Result<Answer, CorpusError> {
    let all = Everything::of(Notes::of(note_index, question)?, learnings, question)?;
    if !all.has_any() {
        return Ok(Answer::default());
    }
    let fitting = fitting(&all, &all.sources, question.reach, question.text)?;
    let mut hits = Vec::new();
    for (score, outline) in fitting.found {
        hits.extend(all.found(&outline)?.map(|item| Hit {
            item,
            age: outline.age,
            score,
        }));
    }
    Ok(Answer {
        hits,
        fuzzy: fitting.fuzzy,
        terms: fitting.terms.all(),
        ..Answer::default()
    })
}

/// The ranked entries of one search.
struct Fitting {
    found: Vec<(Score, DocFeatures)>,
    /// Unknown words of the question, with the words that replaced them.
    fuzzy: Vec<(String, String)>,
    /// The searched terms.
    terms: Terms,
}

/// Searches a corpus; if nothing matches, retries with corrected typos.
fn fitting<C: FuzzyCorpus>(corpus: &C, sources: &[i64], reach: Reach, text: &str) -> Result<Fitting, C::Error> {
    let mut terms = Terms::of(corpus, text, CommonWords::Search)?;
    let mut found = best(corpus, sources, reach, &terms)?;
    let mut fuzzy = Vec::new();
    if found.is_empty() {
        fuzzy = fuzzy_terms::fuzzy_terms(corpus, &mut terms)?;
        if !fuzzy.is_empty() {
            found = best(corpus, sources, reach, &terms)?;
        }
    }
    Ok(Fitting { found, fuzzy, terms })
}

/// The best entries of a corpus for a question.
fn best<C: Corpus>(
    corpus: &C,
    sources: &[i64],
    reach: Reach,
    terms: &Terms,
) -> Result<Vec<(Score, DocFeatures)>, C::Error> {
    let candidates = candidates(corpus, reach, terms)?;
    let totals = corpus.totals()?;
    let scored = candidates
        .into_iter()
        .map(|outline| (score(terms, &totals, &outline), outline))
        .filter(|(score, _)| score.total() > 0.0)
        .collect();
    let selection = Selection {
        corpus,
        terms,
        sources,
        most: match reach {
            Reach::Best(most) => most,
            Reach::All => usize::MAX,
        },
    };
    choose(&selection, scored)
}
