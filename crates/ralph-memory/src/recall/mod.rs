//! Recall: finding notes again.
//!
//! The index gives candidates by the words that tell most, `score` weighs each against the whole question, and `choose`
//! decides what of it is shown: near-duplicates once, of several on the same subject the newest first.

mod candidates;
mod choose;
mod corpus;
mod forgive;
mod found;
mod journal;
mod knowledge;
mod notes;
mod numbers;
mod question;
mod score;
mod shelves;
mod wanted;

use std::collections::HashSet;

use ralph_model::Shelf;
use ralph_store::index::{Age, IndexError, Outline, places_of};

pub use found::{Found, FoundKnowledge};
pub use journal::{related_rows, search_rows};
pub use knowledge::{Relevant, TaskSignals, relevant_knowledge};
pub use score::Score;
pub use shelves::{Newest, Superseded};
pub use wanted::{Wanted, first_day};

use crate::catalogue::Catalogue;
use candidates::candidates;
use choose::{Choosing, choose};
use corpus::Corpus;
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

/// Finds what fits a question.
///
/// # Errors
/// When the index cannot be read.
pub fn recall(catalogue: &Catalogue, question: &Question<'_>) -> Result<Answer, IndexError> {
    let notes = Notes::of(catalogue, question)?;
    if !notes.has_any {
        return Ok(Answer::default());
    }
    let mut terms = Terms::of(&notes, question.text, CommonWords::AreMeant)?;
    let mut answer = ask(&notes, question.reach, &terms)?;
    if answer.hits.is_empty() {
        let forgiven = forgive::forgive(&notes, &mut terms)?;
        if !forgiven.is_empty() {
            answer = ask(&notes, question.reach, &terms)?;
            answer.forgiven = forgiven;
        }
    }
    answer.terms = terms.all();
    Ok(answer)
}

fn ask(notes: &Notes<'_>, reach: Reach, terms: &Terms) -> Result<Answer, IndexError> {
    let mut hits = Vec::new();
    for (score, outline) in best(notes, &notes.sources, reach, terms)? {
        hits.push(Hit {
            item: notes.found(&outline)?,
            age: outline.age,
            score,
        });
    }
    Ok(Answer {
        hits,
        ..Answer::default()
    })
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
