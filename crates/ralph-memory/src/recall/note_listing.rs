//! Note listings by age, and lookup by id.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ralph_model::{NoteFileKind, NoteOrSign};
use ralph_store::index::{Age, IndexError};

use super::NoteFilter;
use crate::note_index::{NoteIndex, source_name};

/// Whether notes that a newer one supersedes are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superseded {
    Shown,
    Hidden,
}

/// Which notes of a file are listed.
#[derive(Debug, Clone, Copy)]
pub struct Newest<'a> {
    pub file_kind: NoteFileKind,
    /// Only notes of this kind, by its word.
    pub kind: Option<&'a str>,
    pub wanted: &'a NoteFilter,
    pub superseded: Superseded,
}

impl NoteIndex {
    /// Visits the notes of a file, newest first, until the visitor stops.
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
            .walk_newest(source_name(newest.file_kind), newest.kind, &mut |item, age| {
                if !hidden.contains(item.id()) && newest.wanted.matches(&item) {
                    visit(item, age)
                } else {
                    ControlFlow::Continue(())
                }
            })
    }

    /// The newest notes, newest first.
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

    /// Counts the matching notes.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn count(&self, newest: &Newest<'_>) -> Result<usize, IndexError> {
        if newest.wanted.is_everything() && newest.kind.is_none() {
            let source = source_name(newest.file_kind);
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

    /// The superseded notes of a file, highest ids first.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn replaced(&self, file_kind: NoteFileKind, most: usize) -> Result<Vec<NoteOrSign>, IndexError> {
        let mut ids: Vec<String> = self.index.superseded()?.into_iter().collect();
        ids.sort_unstable_by(|one, other| other.cmp(one));
        let mut notes = Vec::new();
        for id in ids {
            if notes.len() >= most {
                break;
            }
            notes.extend(self.index.with_id(source_name(file_kind), &id)?);
        }
        notes.truncate(most);
        Ok(notes)
    }

    /// Whether a file has any notes.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn has_any(&self, file_kind: NoteFileKind) -> Result<bool, IndexError> {
        Ok(self.index.entries_in(source_name(file_kind))? > 0)
    }

    /// The note with this id or unique id prefix; `None` if there is none or the prefix is ambiguous.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn find(&self, file_kind: NoteFileKind, selector: &str) -> Result<Option<NoteOrSign>, IndexError> {
        let source = source_name(file_kind);
        let mut found = self.index.with_id(source, selector)?;
        if found.is_empty() && !selector.is_empty() {
            found = self.index.with_id_prefix(source, selector)?;
        }
        Ok(found.pop().filter(|_| found.is_empty()))
    }
}
