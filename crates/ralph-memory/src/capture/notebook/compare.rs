//! What happened to a file of notes behind ralph's back: the log compared with the file.

use std::collections::HashMap;

use crate::secrets::mask;
use ralph_model::{Author, Note};
use ralph_notes::Document;
use ralph_store::{KnownNote, NoteAction, NoteChange, Presence};

/// Whether the checked-out commit is the one of the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    Same,
    Moved,
}

/// The changes that lead from what is known to what stands in the file.
pub(super) fn compare(known: Vec<KnownNote>, document: &Document<'_>, head: Head, author: &Author) -> Vec<NoteChange> {
    let mut standing: HashMap<&str, Note> = HashMap::with_capacity(document.entries().len());
    let mut order = Vec::with_capacity(document.entries().len());
    for entry in document.entries() {
        let id = document.id(entry);
        // Of two entries with one id the first counts; `validate` reports the second.
        if !standing.contains_key(id)
            && let Some(note) = document.note(entry)
        {
            // The file is the user's, the log is ralph's.
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
            // It still stands, in a part that is not read, which is said elsewhere.
            (None, Presence::Present) if lookup.stands_unread(&note.id) => {}
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

/// A note as it is logged when it is found in the file.
fn masked(note: &Note) -> Note {
    Note {
        content: mask(&note.content).into_owned(),
        ..note.clone()
    }
}
