//! The notes as a body of texts that can be asked: those of the shelves and the kinds that are wanted.

use std::collections::HashSet;

use ralph_model::Shelf;
use ralph_store::index::{Holders, Index, IndexError, KNOWLEDGE_SOURCE, KnownTerm, Outline, Totals};

use super::corpus::Corpus;
use super::{Found, FoundKnowledge, LongNotes, Question};
use crate::catalogue::{Catalogue, source_name};

/// One in so many entries of the index are only a few.
const FEW_OF_ALL: usize = 4;

/// The notes that a question is about.
pub(super) struct Notes<'q> {
    pub(super) index: &'q Index,
    question: &'q Question<'q>,
    /// The numbers of the shelves' files, in the order of the question.
    pub(super) sources: Vec<i64>,
    shelves: Vec<Shelf>,
    superseded: HashSet<String>,
    /// The entries that may be found at all, where they are only a few of those in the index: looking at each of the
    /// others to see where it stands would take longer.
    only: Option<HashSet<i64>>,
    /// Whose words count.
    holders: Holders,
    /// Whether there is anything to be found.
    pub(super) has_any: bool,
}

impl<'q> Notes<'q> {
    pub(super) fn of(catalogue: &'q Catalogue, question: &'q Question<'q>) -> Result<Self, IndexError> {
        let index = &catalogue.index;
        let numbers = index.source_numbers()?;
        let known = |shelf: &Shelf| Some((*numbers.get(source_name(*shelf))?, *shelf));
        let (mut sources, shelves): (Vec<i64>, Vec<Shelf>) = question.shelves.iter().filter_map(known).unzip();
        let (mut all, mut entries) = (0, 0);
        for (name, number) in &numbers {
            let of_file = index.entries_in(name)?;
            all += of_file;
            if sources.contains(number) {
                entries += of_file;
            }
        }
        let only = if entries * FEW_OF_ALL < all {
            Some(index.numbers_in(&sources)?)
        } else {
            None
        };
        let mut has_any = entries > 0;
        let holders = match question.knowledge {
            LongNotes::Sought if catalogue.knows_knowledge() => {
                has_any |= index.knowledge_totals()?.entries > 0;
                sources.push(KNOWLEDGE_SOURCE);
                if shelves.is_empty() {
                    Holders::Knowledge
                } else {
                    Holders::All
                }
            }
            LongNotes::Sought | LongNotes::Left => Holders::Shelves,
        };
        Ok(Self {
            only,
            holders,
            has_any,
            sources,
            shelves,
            superseded: index.superseded()?,
            index,
            question,
        })
    }

    /// What an outline is of.
    pub(super) fn found(&self, outline: &Outline) -> Result<Found, IndexError> {
        if let Some(number) = long_note(outline.number) {
            let day = outline.age.created.clone();
            let (outline, body) = self.index.knowledge_note(number)?;
            return Ok(Found::Knowledge(Box::new(FoundKnowledge { outline, day, body })));
        }
        Ok(Found::OnShelf {
            shelf: self.shelf_of(outline.source),
            item: self.index.item(outline.number)?,
        })
    }

    /// Every term that is held by something that may be found.
    pub(super) fn all_terms(&self, visit: &mut dyn FnMut(KnownTerm)) -> Result<(), IndexError> {
        self.index.all_terms(self.holders, visit)
    }

    /// The shelf whose file has this number.
    fn shelf_of(&self, source: i64) -> Shelf {
        let position = self.sources.iter().position(|number| *number == source);
        let shelf = position.and_then(|position| self.shelves.get(position));
        shelf.copied().unwrap_or(Shelf::Memories)
    }

    fn may_be_found(&self, outline: &Outline) -> Result<bool, IndexError> {
        if !self.sources.contains(&outline.source) || self.superseded.contains(&outline.id) {
            return Ok(false);
        }
        let wanted = self.question.wanted;
        if wanted.is_everything() {
            return Ok(true);
        }
        Ok(match long_note(outline.number) {
            Some(number) => wanted.matches_knowledge(&self.index.knowledge_outline(number)?, &outline.age),
            None => wanted.matches(&self.index.item(outline.number)?),
        })
    }

    fn outline(&self, number: i64) -> Result<Vec<Outline>, IndexError> {
        match long_note(number) {
            Some(own) => Ok(vec![Outline {
                number,
                ..self.index.knowledge_ranking(own)?
            }]),
            None => self.index.outlines([number]),
        }
    }
}

/// The number of a long note, if it is one's: among entries of the shelves, long notes have the numbers below zero.
fn long_note(number: i64) -> Option<i64> {
    (number < 0).then(|| number.saturating_neg())
}

impl Corpus for Notes<'_> {
    type Error = IndexError;

    const ALIKE: usize = usize::MAX;

    fn totals(&self) -> Result<Totals, IndexError> {
        let (none, shelves) = (Totals { entries: 0, terms: 0 }, self.index.totals()?);
        let (shelves, knowledge) = match self.holders {
            Holders::Shelves => return Ok(shelves),
            Holders::Knowledge => (none, self.index.knowledge_totals()?),
            Holders::All => (shelves, self.index.knowledge_totals()?),
        };
        Ok(Totals {
            entries: shelves.entries + knowledge.entries,
            terms: shelves.terms + knowledge.terms,
        })
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, IndexError> {
        self.index.term(term, self.holders)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        if self.holders != Holders::Shelves {
            self.index
                .knowledge_with(term.number, &mut |note| visit(note.saturating_neg()))?;
        }
        match &self.only {
            _ if self.holders == Holders::Knowledge => Ok(()),
            None => self.index.entries_with(term.number, visit),
            Some(only) => self.index.entries_with(term.number, &mut |entry| {
                if only.contains(&entry) {
                    visit(entry);
                }
            }),
        }
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<Outline>, IndexError> {
        let mut found = Vec::new();
        for number in numbers {
            for outline in self.outline(*number)? {
                if self.may_be_found(&outline)? {
                    found.push(outline);
                }
            }
        }
        Ok(found)
    }

    fn text(&self, number: i64) -> Result<String, IndexError> {
        match long_note(number) {
            Some(number) => self.index.knowledge_text(number),
            None => Ok(self.index.item(number)?.content().to_owned()),
        }
    }
}
