//! The notes as a body of texts that can be asked: those of the shelves and the kinds that are wanted.

use std::collections::HashSet;

use ralph_model::Shelf;
use ralph_store::index::{Index, IndexError, KnownTerm, Outline, Totals};

use super::Question;
use super::corpus::Corpus;
use crate::catalogue::source_name;

/// The notes that a question is about.
pub(super) struct Notes<'q> {
    pub(super) index: &'q Index,
    question: &'q Question<'q>,
    /// The numbers of the shelves' files, in the order of the question.
    pub(super) sources: Vec<i64>,
    shelves: Vec<Shelf>,
    superseded: HashSet<String>,
}

impl<'q> Notes<'q> {
    pub(super) fn of(index: &'q Index, question: &'q Question<'q>) -> Result<Self, IndexError> {
        let numbers = index.source_numbers()?;
        let known = |shelf: &Shelf| Some((*numbers.get(source_name(*shelf))?, *shelf));
        let (sources, shelves) = question.shelves.iter().filter_map(known).unzip();
        Ok(Self {
            sources,
            shelves,
            superseded: index.superseded()?,
            index,
            question,
        })
    }

    /// The shelf whose file has this number.
    pub(super) fn shelf_of(&self, source: i64) -> Shelf {
        let position = self.sources.iter().position(|number| *number == source);
        let shelf = position.and_then(|position| self.shelves.get(position));
        shelf.copied().unwrap_or(Shelf::Memories)
    }

    fn may_be_found(&self, outline: &Outline) -> Result<bool, IndexError> {
        if !self.sources.contains(&outline.source) || self.superseded.contains(&outline.id) {
            return Ok(false);
        }
        let wanted = self.question.wanted;
        Ok(wanted.is_everything() || wanted.matches(&self.index.item(outline.number)?))
    }
}

impl Corpus for Notes<'_> {
    type Error = IndexError;

    const ALIKE: usize = usize::MAX;

    fn totals(&self) -> Result<Totals, IndexError> {
        self.index.totals()
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, IndexError> {
        self.index.term(term)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        self.index.entries_with(term.number, visit)
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<Outline>, IndexError> {
        let mut found = Vec::new();
        for outline in self.index.outlines(numbers.iter().copied())? {
            if self.may_be_found(&outline)? {
                found.push(outline);
            }
        }
        Ok(found)
    }

    fn text(&self, number: i64) -> Result<String, IndexError> {
        Ok(self.index.item(number)?.content().to_owned())
    }
}
