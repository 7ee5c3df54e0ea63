//! Note listings by age, and lookup by id.

use std::ops::ControlFlow;

use ralph_model::{NoteFileKind, NoteOrSign};
use ralph_search::{Age, DocKind, Index, IndexError};

use super::NoteFilter;

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

/// Visits the notes of a file, newest first, until the visitor stops.
///
/// # Errors
/// When the index cannot be read.
pub fn walk_notes(
    index: &Index,
    newest: &Newest<'_>,
    mut visit: impl FnMut(NoteOrSign, Age) -> ControlFlow<()>,
) -> Result<(), IndexError> {
    let hides = newest.superseded == Superseded::Hidden;
    let kind = DocKind::of_file(newest.file_kind);
    index.walk_newest(kind, newest.kind, &mut |item, age, is_superseded| {
        if !(hides && is_superseded) && newest.wanted.matches(&item) {
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
pub fn newest_notes(index: &Index, newest: &Newest<'_>, most: usize) -> Result<Vec<NoteOrSign>, IndexError> {
    let mut notes = Vec::new();
    if most > 0 {
        walk_notes(index, newest, |item, _| {
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
pub fn count_notes(index: &Index, newest: &Newest<'_>) -> Result<usize, IndexError> {
    if newest.wanted.is_everything() && newest.kind.is_none() {
        let kind = DocKind::of_file(newest.file_kind);
        let hidden = match newest.superseded {
            Superseded::Shown => 0,
            Superseded::Hidden => index.count_superseded(kind)?,
        };
        let all = usize::try_from(index.totals(&[kind])?.docs).unwrap_or(usize::MAX);
        return Ok(all.saturating_sub(hidden));
    }
    let mut count = 0;
    walk_notes(index, newest, |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// The superseded notes of a file, highest ids first.
///
/// # Errors
/// When the index cannot be read.
pub fn superseded_notes(index: &Index, file_kind: NoteFileKind, most: usize) -> Result<Vec<NoteOrSign>, IndexError> {
    index.superseded_notes(DocKind::of_file(file_kind), most)
}

/// The note with this id or unique id prefix; `None` if there is none or the prefix is ambiguous.
///
/// # Errors
/// When the index cannot be read.
pub fn find_note(index: &Index, file_kind: NoteFileKind, selector: &str) -> Result<Option<NoteOrSign>, IndexError> {
    index.find_note(DocKind::of_file(file_kind), selector)
}
