//! Recall: finding notes and lessons again.
//!
//! The index gives candidates by the words that tell most, `score` weighs each against the whole question, and `choose`
//! decides what of it is shown: near-duplicates once, of several on the same subject the newest first.

mod candidates;
mod choose;
mod corpus;
mod everything;
mod forgive;
mod found;
mod journal;
mod knowledge;
mod known_lessons;
mod learnings;
mod likeness;
mod notes;
mod numbers;
mod patterns;
mod question;
mod relevance;
mod relevant_learnings;
mod retold;
mod rows;
mod said;
mod score;
mod shelves;
mod wanted;
mod warnings;

use std::collections::HashSet;

use ralph_model::Shelf;
use ralph_store::Store;
use ralph_store::index::{Age, IndexError, Outline, places_of};

pub use found::{Found, FoundKnowledge, day_of};
pub use journal::{related_rows, search_rows};
pub use knowledge::{Relevant, RelevantKnowledge, TaskSignals, relevant_knowledge};
pub use known_lessons::{KnownLesson, Work, known_lessons, most_known};
pub use learnings::{best_supported, recall_learnings};
pub use likeness::Likeness;
pub use patterns::{ErrorPattern, FilePatterns, shown_by};
pub use relevance::{Relevance, Support};
pub use relevant_learnings::{LearningSignals, RelevantLearning, relevant_learnings};
pub use retold::{keep_compared, retold};
pub use said::{Said, keep_foreign};
pub use score::Score;
pub use shelves::{Newest, Superseded};
pub use wanted::{Wanted, first_day};
pub use warnings::warnings_of;

use crate::catalogue::Catalogue;
use candidates::candidates;
use choose::{Choosing, choose};
use corpus::{Corpus, Forgiving};
use everything::{Everything, Unreadable};
use notes::Notes;
use question::{CommonWords, Terms};
use score::score;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The text; any text whatever.
    pub text: &'a str,
    /// The shelves to look on.
    pub shelves: &'a [Shelf],
    /// Whether to look among the long notes, too.
    pub knowledge: LongNotes,
    /// Which notes are wanted.
    pub wanted: &'a Wanted,
    /// How far to look.
    pub reach: Reach,
}

/// Whether long notes are looked for. They are found only where the catalogue was asked about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongNotes {
    /// They are not.
    Left,
    /// They are, among everything else.
    Sought,
}

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// For the best so many.
    Best(usize),
    /// For everything that shares a word that tells something.
    All,
}

/// What was found, best first.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The notes.
    pub hits: Vec<Hit>,
    /// Words of the question that nothing held, with the words that were taken for them.
    pub forgiven: Vec<(String, String)>,
    /// The terms that were looked for.
    pub terms: HashSet<String>,
    /// Why lessons were not looked at, although they should have been.
    pub without_learnings: Option<String>,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// What was found.
    pub item: Found,
    /// Its age.
    pub age: Age,
    /// How well it fits, and why.
    pub score: Score,
}

impl Answer {
    /// Where in a text the words stand that were looked for.
    #[must_use]
    pub fn places_in(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        places_of(text, |term| self.terms.contains(term))
    }
}

/// Finds the notes that fit a question.
///
/// # Errors
/// When the index cannot be read.
pub fn recall(catalogue: &Catalogue, question: &Question<'_>) -> Result<Answer, IndexError> {
    recall_with_learnings(catalogue, None, question)
}

/// Finds what fits a question, among lessons, too. Where these cannot be read, the answer is of notes, and says so.
///
/// # Errors
/// When the index cannot be read.
pub fn recall_with_learnings(
    catalogue: &Catalogue,
    learnings: Option<&Store>,
    question: &Question<'_>,
) -> Result<Answer, IndexError> {
    match answer(catalogue, learnings, question) {
        Ok(answer) => Ok(answer),
        Err(Unreadable::Notes(error)) => Err(error),
        Err(Unreadable::Learnings(error)) => Ok(Answer {
            without_learnings: Some(error.to_string()),
            ..recall(catalogue, question)?
        }),
    }
}

fn answer(catalogue: &Catalogue, learnings: Option<&Store>, question: &Question<'_>) -> Result<Answer, Unreadable> {
    let all = Everything::of(Notes::of(catalogue, question)?, learnings, question)?;
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
        forgiven: fitting.forgiven,
        terms: fitting.terms.all(),
        ..Answer::default()
    })
}

/// What fits a question that somebody asks.
struct Fitting {
    /// The entries, best first.
    found: Vec<(Score, Outline)>,
    /// Words of the question that nothing held, with the words that were taken for them.
    forgiven: Vec<(String, String)>,
    /// The terms that were looked for.
    terms: Terms,
}

/// What of a corpus fits a text. Where nothing does, its words are taken for near ones.
fn fitting<C: Forgiving>(corpus: &C, sources: &[i64], reach: Reach, text: &str) -> Result<Fitting, C::Error> {
    let mut terms = Terms::of(corpus, text, CommonWords::AreMeant)?;
    let mut found = best(corpus, sources, reach, &terms)?;
    let mut forgiven = Vec::new();
    if found.is_empty() {
        forgiven = forgive::forgive(corpus, &mut terms)?;
        if !forgiven.is_empty() {
            found = best(corpus, sources, reach, &terms)?;
        }
    }
    Ok(Fitting { found, forgiven, terms })
}

/// The entries of a corpus that fit a question best.
fn best<C: Corpus>(
    corpus: &C,
    sources: &[i64],
    reach: Reach,
    terms: &Terms,
) -> Result<Vec<(Score, Outline)>, C::Error> {
    let candidates = candidates(corpus, reach, terms)?;
    let totals = corpus.totals()?;
    let scored = candidates
        .into_iter()
        .map(|outline| (score(terms, &totals, &outline), outline))
        .filter(|(score, _)| score.total() > 0.0)
        .collect();
    let choosing = Choosing {
        corpus,
        terms,
        sources,
        most: match reach {
            Reach::Best(most) => most,
            Reach::All => usize::MAX,
        },
    };
    choose(&choosing, scored)
}
