//! Applies our own changes to the index while the file's lock is held.

use ralph_model::{Extra, FileStamp, NoteFileKind};
use ralph_notes::{Document, Patches};

use super::fresh::{digest_of_pieces, is_settled, state_of};
use super::{IndexPlace, fresh, now_ns};
use crate::DocKind;
use crate::index::{Change, Index, IndexError, Update};

/// A change that was written to a notes file.
pub struct FileChange<'a> {
    pub file_kind: NoteFileKind,
    /// The stamp of the file that was read; `None` if there was no file.
    pub read: Option<FileStamp>,
    pub written: FileStamp,
    pub before: &'a [u8],
    pub patches: &'a Patches,
    /// The same entry by entry, if that is complete.
    pub changes: Option<&'a [Change]>,
}

/// Applies a change to the index, if there is one. This is an optimization: if it fails, the next reader notices that
/// the file has changed and reads it.
pub fn follow(place: &IndexPlace<'_>, change: &FileChange<'_>) {
    drop(try_follow(place, change));
}

fn try_follow(place: &IndexPlace<'_>, change: &FileChange<'_>) -> Result<(), IndexError> {
    if !place.database.exists() {
        return Ok(());
    }
    let (kind, name) = (DocKind::of_file(change.file_kind), change.file_kind.file_name());
    let writer = Index::write(&place.database)?;
    let known = writer.file(kind, name)?;
    let digest = digest_of_pieces(change.patches.pieces(change.before));
    // Line numbers of problems move with every change above them, so they are found again; and so are conflicts. A
    // stamp taken too soon after the file's last change may belong to another text.
    let in_step = known.filter(|state| {
        Some(state.stamp) == change.read
            && state.problems.is_empty()
            && (is_settled(&state.stamp, state.indexed_ns) || state.digest == fresh::digest(change.before))
    });
    let changes = change.changes.filter(|changes| !changes.iter().any(names_a_conflict));
    let mut update = Update::of(&writer)?;
    let followed = match (in_step, changes) {
        (Some(state), Some(changes)) if update.follow(kind, changes)? => Some(state),
        _ => None,
    };
    if let Some(mut state) = followed {
        (state.stamp, state.digest, state.indexed_ns) = (change.written, digest, now_ns(place));
        writer.put_file(kind, name, &state)?;
    } else {
        let after = change.patches.apply(change.before);
        let document = Document::parse(change.file_kind, &after);
        writer.put_file(kind, name, &state_of(&document, change.written, digest, now_ns(place)))?;
        update.replace_notes(kind, document.items())?;
    }
    update.finish()?;
    writer.commit().map(drop)
}

fn names_a_conflict(change: &Change) -> bool {
    match change {
        Change::Added { note, .. } | Change::Edited(note) => note.extra.get(Extra::CONFLICTS).is_some(),
        Change::Removed(_) => false,
    }
}
