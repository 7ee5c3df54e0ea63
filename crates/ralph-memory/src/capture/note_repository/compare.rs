//! Finds changes made without ralph by comparing the log with the file.

use std::collections::HashMap;

use crate::secrets::mask;
use ralph_model::{Author, Note};
use ralph_notes::Document;
use ralph_store::{KnownNote, NoteAction, NoteChange, Presence};

/// Whether the checked-out commit is that of the last comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    Same,
    Moved,
}

/// The changes from the logged notes to those in the file.
pub(super) fn compare(known: Vec<KnownNote>, document: &Document<'_>, head: Head, author: &Author) -> Vec<NoteChange> {
    let mut standing: HashMap<&str, Note> = HashMap::with_capacity(document.entries().len());
    let mut order = Vec::with_capacity(document.entries().len());
    for entry in document.entries() {
        let id = document.id(entry);
        // Of two entries with the same id the first counts; `validate` reports the second.
        if !standing.contains_key(id)
            && let Some(note) = document.note(entry)
        {
            // Secrets in the user's file are not copied to our log.
            standing.insert(id, masked(&note));
            order.push(id);
        }
    }
    let lookup = document.lookup(known.len());
    let mut changes = Vec::new();
    let mut record = |action, note| {
        changes.push(NoteChange {
            action,
            note,
            author: author.clone(),
        });
    };
    for KnownNote { action, note, .. } in known {
        match (standing.remove(note.id.as_str()), action.presence()) {
            (Some(found), Presence::Gone) => record(NoteAction::Returned, found),
            (Some(found), Presence::Present) if found != masked(&note) => record(NoteAction::Changed, found),
            (Some(_), Presence::Present) | (None, Presence::Gone) => {}
            // It is still in a part of the file that is not read, which is reported elsewhere.
            (None, Presence::Present) if lookup.is_outside_entries(&note.id) => {}
            (None, Presence::Present) => match head {
                Head::Same => record(NoteAction::Vanished, note),
                Head::Moved => record(NoteAction::CheckedOut, note),
            },
        }
    }
    for id in order {
        if let Some(note) = standing.remove(id) {
            record(NoteAction::Adopted, note);
        }
    }
    changes
}

/// A note as logged when found in the file.
fn masked(note: &Note) -> Note {
    Note {
        content: mask(&note.content).into_owned(),
        ..note.clone()
    }
}
