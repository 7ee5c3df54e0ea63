//! Making a memory of a guardrail that lasts.
//!
//! Two files change. The memory is written and on record before the guardrail goes, so that a crash between the two leaves
//! the note twice, never not at all; and the memory names the guardrail it came from, so that a second run finds it.

use ralph_model::{Entropy, Extra, Note};
use ralph_notes::{Document, resolve};
use ralph_store::NoteAction;

use super::log::Edit;
use super::new_ids::{NewIds, within_ids};
use super::operations::pass_draft;
use super::{Draft, Notebook, NotebookError, Stored};
use crate::capture::SecretPolicy;

/// What became of a guardrail that was to be promoted.
#[derive(Debug)]
pub struct Promoted {
    /// The memory.
    pub memory: Note,
    /// What was done to the file of memories; nothing where the memory stood there before.
    pub stored: Option<Stored>,
    /// What was done to the file of guardrails; nothing where the guardrail was gone before.
    pub removed: Option<Stored>,
}

impl Notebook<'_> {
    /// Makes a memory of a guardrail of this file, and takes it out here. Doing so again changes nothing.
    ///
    /// # Errors
    /// When there is no such guardrail, the gate refuses it, the memory it became says something else by now, or a file
    /// cannot be written; then the guardrail still stands.
    pub fn promote(
        &self,
        memories: &Notebook<'_>,
        selector: &str,
        (secrets, entropy): (SecretPolicy, &mut dyn Entropy),
    ) -> Result<Promoted, NotebookError> {
        if resolve(&self.path)? == resolve(&memories.path)? {
            // Its lock would be waited for while it is held.
            return Err(NotebookError::HeldBack {
                id: selector.to_owned(),
                reason: "guardrails and memories stand in one file".to_owned(),
            });
        }
        let mut kept: Option<(Note, Option<Stored>)> = None;
        let removed = self.refuse_unknown([selector]).and_then(|()| {
            self.change(|document, _| {
                let entry = self.select(document, selector)?;
                let note = self.note_at(document, entry)?;
                refuse_half_of_a_pair(document, &note)?;
                let adopted = memories.adopt(&note, (secrets, &mut *entropy))?;
                // When somebody saved at the same time this is not the first try, and the first one stored it.
                let before = kept.take().and_then(|(_, stored)| stored);
                kept = Some((adopted.0, adopted.1.or(before)));
                Ok(Edit {
                    patches: document.delete(&[entry]),
                    action: NoteAction::Deleted,
                    entries: None,
                    notes: vec![note],
                })
            })
        });
        match (removed, kept) {
            (Ok(removed), Some((memory, stored))) => Ok(Promoted {
                memory,
                stored,
                removed: Some(removed),
            }),
            (Err(error @ NotebookError::NotFound { .. }), _) => {
                let reading = memories.read()?;
                let memory = memories.made_from(&reading.document(), selector).ok_or(error)?;
                Ok(Promoted {
                    memory,
                    stored: None,
                    removed: None,
                })
            }
            (Err(error), _) => Err(error),
            (Ok(_), None) => Err(self.not_found(selector)),
        }
    }

    /// Adds a note of another shelf, with an id of this one, unless it was added before.
    fn adopt(
        &self,
        note: &Note,
        (secrets, entropy): (SecretPolicy, &mut dyn Entropy),
    ) -> Result<(Note, Option<Stored>), NotebookError> {
        let draft = pass_draft(&Draft {
            kind: note.kind,
            content: note.content.clone(),
            tags: note.tags.clone(),
            extra: note.extra.clone(),
            secrets,
            at: None,
        })?;
        let mut known: Option<Note> = None;
        let stored = self.change(|document, log| {
            if let Some(memory) = self.made_from(document, note.id.as_str()) {
                if memory.content != note.content {
                    return Err(NotebookError::PromotedDifferently {
                        id: note.id.to_string(),
                        memory: memory.id.to_string(),
                    });
                }
                known = Some(memory);
                return Ok(Edit::default());
            }
            let mut extra = draft.extra.clone();
            extra.set(Extra::SOURCE, note.id.as_str());
            let lookup = document.lookup(1);
            let second = within_ids(self.clock.now()).as_second();
            let memory = Note {
                id: NewIds::new(&lookup, log, entropy).next(self.shelf.id_prefix(note.kind), second),
                content: draft.content.clone(),
                extra,
                ..note.clone()
            };
            Ok(Edit {
                patches: document.add(std::slice::from_ref(&memory)),
                action: NoteAction::Added,
                entries: None,
                notes: vec![memory],
            })
        })?;
        match (stored.notes.first().cloned(), known) {
            (Some(memory), _) => Ok((memory, Some(stored))),
            (None, Some(memory)) => Ok((memory, None)),
            (None, None) => Err(self.not_found(note.id.as_str())),
        }
    }

    /// The note that was made from another one.
    fn made_from(&self, document: &Document<'_>, source: &str) -> Option<Note> {
        let entry = document
            .entries()
            .iter()
            .find(|entry| document.extra(entry).get(Extra::SOURCE) == Some(source))?;
        document.note(entry)
    }
}

/// Refuses to part a note from the one that it replaces or that replaces it: on another shelf nothing would hold the old
/// one back any more.
fn refuse_half_of_a_pair(document: &Document<'_>, note: &Note) -> Result<(), NotebookError> {
    let id = note.id.as_str();
    let replaced = note.extra.get(Extra::SUPERSEDES);
    let stands = |old: &&str| document.find(old).next().is_some();
    let newer = document
        .entries()
        .iter()
        .find(|entry| document.extra(entry).get(Extra::SUPERSEDES) == Some(id));
    let reason = match (replaced.filter(stands), newer) {
        (Some(old), _) => format!("{old}, which it supersedes, stands beside it"),
        (None, Some(newer)) => format!("{} supersedes it", document.id(newer)),
        (None, None) => return Ok(()),
    };
    Err(NotebookError::HeldBack {
        id: id.to_owned(),
        reason,
    })
}
