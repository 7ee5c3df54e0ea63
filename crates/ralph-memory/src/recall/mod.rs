//! Recall: finding notes again.
//!
//! The index gives candidates by the words that tell most, `score` weighs each against the whole question, and `choose`
//! decides what of it is shown: near-duplicates once, of several on the same subject the newest first.

mod candidates;
mod choose;
mod forgive;
mod numbers;
mod question;
mod score;
mod shelves;
mod wanted;

use std::collections::HashSet;

use ralph_model::{NoteOrSign, Shelf};
use ralph_store::index::{Age, IndexError, places_of};

pub use score::Score;
pub use shelves::{Newest, Superseded};
pub use wanted::{Wanted, first_day};

use crate::catalogue::{Catalogue, source_name};
use candidates::candidates;
use choose::{Choosing, choose};
use question::Terms;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The text; any text whatever.
    pub text: &'a str,
    /// The shelves to look on.
    pub shelves: &'a [Shelf],
    /// Which notes are wanted.
    pub wanted: &'a Wanted,
    /// How far to look.
    pub reach: Reach,
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
    pub item: NoteOrSign,
    /// The shelf it stands on.
    pub shelf: Shelf,
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
    let index = &catalogue.index;
    let mut terms = Terms::of(index, question.text)?;
    let mut answer = ask(catalogue, question, &terms)?;
    if answer.hits.is_empty() {
        let forgiven = forgive::forgive(index, &mut terms)?;
        if !forgiven.is_empty() {
            answer = ask(catalogue, question, &terms)?;
            answer.forgiven = forgiven;
        }
    }
    answer.terms = terms.all();
    Ok(answer)
}

fn ask(catalogue: &Catalogue, question: &Question<'_>, terms: &Terms) -> Result<Answer, IndexError> {
    let index = &catalogue.index;
    let candidates = candidates(index, question, terms)?;
    let totals = index.totals()?;
    let scored = candidates
        .into_iter()
        .map(|outline| (score::score(terms, &totals, &outline), outline))
        .filter(|(score, _)| score.total() > 0.0)
        .collect();
    let numbers = index.source_numbers()?;
    let number = |shelf: &Shelf| numbers.get(source_name(*shelf)).copied();
    let sources: Vec<i64> = question.shelves.iter().filter_map(number).collect();
    let shelf_of = |source: i64| {
        let named = |shelf: &&Shelf| number(shelf) == Some(source);
        question.shelves.iter().find(named).copied().unwrap_or(Shelf::Memories)
    };
    let choosing = Choosing {
        index,
        terms,
        sources: &sources,
        most: match question.reach {
            Reach::Best(most) => most,
            Reach::All => usize::MAX,
        },
    };
    let hits = choose(&choosing, scored)?
        .into_iter()
        .map(|chosen| Hit {
            shelf: shelf_of(chosen.source),
            item: chosen.item,
            age: chosen.age,
            score: chosen.score,
        })
        .collect();
    Ok(Answer {
        hits,
        ..Answer::default()
    })
}
