//! Shelves by age: the newest notes, whatever they say, and the ones that an id names.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ralph_model::{NoteOrSign, Shelf};
use ralph_store::index::{Age, IndexError};

use super::Wanted;
use crate::catalogue::{Catalogue, source_name};

/// What about notes that a later one replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superseded {
    /// They are notes like all others.
    Shown,
    /// They are not there.
    Hidden,
}

/// Which notes of a shelf, by age.
#[derive(Debug, Clone, Copy)]
pub struct Newest<'a> {
    /// The shelf.
    pub shelf: Shelf,
    /// Only this kind, by its word.
    pub kind: Option<&'a str>,
    /// Which notes are wanted.
    pub wanted: &'a Wanted,
    /// What about those that are replaced.
    pub superseded: Superseded,
}

impl Catalogue {
    /// Walks through a shelf, newest first, until the visitor has enough.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn walk(
        &self,
        newest: &Newest<'_>,
        mut visit: impl FnMut(NoteOrSign, Age) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        let hidden = match newest.superseded {
            Superseded::Shown => HashSet::new(),
            Superseded::Hidden => self.index.superseded()?,
        };
        self.index
            .walk_newest(source_name(newest.shelf), newest.kind, &mut |item, age| {
                if !hidden.contains(item.id()) && newest.wanted.matches(&item) {
                    visit(item, age)
                } else {
                    ControlFlow::Continue(())
                }
            })
    }

    /// The newest so many notes, newest first.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn newest(&self, newest: &Newest<'_>, most: usize) -> Result<Vec<NoteOrSign>, IndexError> {
        let mut notes = Vec::new();
        if most > 0 {
            self.walk(newest, |item, _| {
                notes.push(item);
                if notes.len() < most {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
        }
        Ok(notes)
    }

    /// How many notes there are of those that are asked for.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn count(&self, newest: &Newest<'_>) -> Result<usize, IndexError> {
        if newest.wanted.is_everything() && newest.kind.is_none() {
            let source = source_name(newest.shelf);
            let hidden = match newest.superseded {
                Superseded::Shown => 0,
                Superseded::Hidden => self.index.superseded_in(source)?,
            };
            return Ok(self.index.entries_in(source)?.saturating_sub(hidden));
        }
        let mut count = 0;
        self.walk(newest, |_, _| {
            count += 1;
            ControlFlow::Continue(())
        })?;
        Ok(count)
    }

    /// The notes of a shelf that a later one replaces, the last ids first, at most so many.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn replaced(&self, shelf: Shelf, most: usize) -> Result<Vec<NoteOrSign>, IndexError> {
        let mut ids: Vec<String> = self.index.superseded()?.into_iter().collect();
        ids.sort_unstable_by(|one, other| other.cmp(one));
        let mut notes = Vec::new();
        for id in ids {
            if notes.len() >= most {
                break;
            }
            notes.extend(self.index.with_id(source_name(shelf), &id)?);
        }
        notes.truncate(most);
        Ok(notes)
    }

    /// Whether anything stands on a shelf.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn has_any(&self, shelf: Shelf) -> Result<bool, IndexError> {
        Ok(self.index.entries_in(source_name(shelf))? > 0)
    }

    /// What an id, or the beginning of one, names; `None` where that is nothing or not clear.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn find(&self, shelf: Shelf, selector: &str) -> Result<Option<NoteOrSign>, IndexError> {
        let source = source_name(shelf);
        let mut found = self.index.with_id(source, selector)?;
        if found.is_empty() && !selector.is_empty() {
            found = self.index.with_id_prefix(source, selector)?;
        }
        Ok(found.pop().filter(|_| found.is_empty()))
    }
}
