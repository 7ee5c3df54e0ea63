//! The notes as a body of texts that can be asked: those of the shelves and the kinds that are wanted.

use std::collections::HashSet;

use ralph_model::Shelf;
use ralph_store::index::{Index, IndexError, KnownTerm, Outline, Totals};

use super::Question;
use super::corpus::Corpus;
use crate::catalogue::source_name;

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
    /// Whether there is anything on the shelves.
    pub(super) has_any: bool,
}

impl<'q> Notes<'q> {
    pub(super) fn of(index: &'q Index, question: &'q Question<'q>) -> Result<Self, IndexError> {
        let numbers = index.source_numbers()?;
        let known = |shelf: &Shelf| Some((*numbers.get(source_name(*shelf))?, *shelf));
        let (sources, shelves): (Vec<i64>, Vec<Shelf>) = question.shelves.iter().filter_map(known).unzip();
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
        Ok(Self {
            only,
            has_any: entries > 0,
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
        match &self.only {
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
