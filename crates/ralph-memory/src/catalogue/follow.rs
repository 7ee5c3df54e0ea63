//! Taking a change of our own along, while the file's lock is held.

use ralph_model::{Extra, FileStamp, Shelf};
use ralph_notes::{Document, Patches};
use ralph_store::index::{Change, Index, IndexError};

use super::fresh::{digest_of_pieces, is_settled, state_of};
use super::{CataloguePlace, fresh, now_ns, source_name};

/// A change that was made to a shelf's file.
pub(crate) struct Made<'a> {
    /// The shelf.
    pub(crate) shelf: Shelf,
    /// The stamp of the file that was read; none when there was no file.
    pub(crate) read: Option<FileStamp>,
    /// The stamp of the file that was written.
    pub(crate) written: FileStamp,
    /// What was read.
    pub(crate) before: &'a [u8],
    /// What was done to it.
    pub(crate) patches: &'a Patches,
    /// The same entry by entry, where that says it all.
    pub(crate) changes: Option<&'a [Change]>,
}

/// Takes a change along into the index, if there is one. It is a convenience: where it fails, the next reader finds that
/// the file has changed and reads it.
pub(crate) fn follow(place: &CataloguePlace<'_>, made: &Made<'_>) {
    drop(try_follow(place, made));
}

fn try_follow(place: &CataloguePlace<'_>, made: &Made<'_>) -> Result<(), IndexError> {
    if !place.database.exists() {
        return Ok(());
    }
    let name = source_name(made.shelf);
    let writer = Index::write(&place.database)?;
    let known = writer.source(name)?;
    let digest = digest_of_pieces(made.patches.pieces(made.before));
    // Lines of problems move with every change above them, so they are found anew; and so is what an entry that
    // contradicts another one leads to. A stamp that was taken too soon after the file's last change may be that of
    // another text.
    let in_step = known.filter(|state| {
        Some(state.stamp) == made.read
            && state.problems.is_empty()
            && (is_settled(&state.stamp, state.indexed_ns) || state.digest == fresh::digest(made.before))
    });
    let changes = made.changes.filter(|changes| !changes.iter().any(names_a_conflict));
    if let (Some(mut state), Some(changes)) = (in_step, changes)
        && writer.follow(name, changes)?
    {
        (state.stamp, state.digest, state.indexed_ns) = (made.written, digest, now_ns(place));
        writer.put_source(name, &state)?;
    } else {
        let after = made.patches.apply(made.before);
        let document = Document::parse(made.shelf, &after);
        writer.put_source(name, &state_of(&document, made.written, digest, now_ns(place)))?;
        writer.replace_entries(name, document.items())?;
    }
    writer.commit().map(drop)
}

fn names_a_conflict(change: &Change) -> bool {
    match change {
        Change::Added { note, .. } | Change::Edited(note) => note.extra.get(Extra::CONFLICTS).is_some(),
        Change::Removed(_) => false,
    }
}
