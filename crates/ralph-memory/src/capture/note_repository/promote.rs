//! Promotes a guardrail to a memory.
//!
//! Two files change. The memory is written and logged before the guardrail is deleted, so a crash in between leaves the
//! note twice, never lost. The memory names its source guardrail, so a second run recognises it.

use ralph_model::{Entropy, Extra, Note};
use ralph_notes::{Document, resolve};
use ralph_store::NoteAction;

use super::log::Edit;
use super::new_ids::{NewIds, within_ids};
use super::operations::validate_draft;
use super::{Draft, NoteRepository, NoteRepositoryError, Stored};
use crate::capture::SecretPolicy;

/// Outcome of a promotion.
#[derive(Debug)]
pub struct Promoted {
    pub memory: Note,
    /// The change of the memories; `None` if the memory existed before.
    pub stored: Option<Stored>,
    /// The change of the guardrails; `None` if the guardrail was deleted before.
    pub removed: Option<Stored>,
}

impl NoteRepository<'_> {
    /// Converts a guardrail of this file to a memory and deletes it here. Idempotent.
    ///
    /// # Errors
    /// If there is no such guardrail, it is refused, its memory was changed since, or a file cannot be written; then
    /// the guardrail is kept.
    pub fn promote(
        &self,
        memories: &NoteRepository<'_>,
        selector: &str,
        (secrets, entropy): (SecretPolicy, &mut dyn Entropy),
    ) -> Result<Promoted, NoteRepositoryError> {
        if resolve(&self.path)? == resolve(&memories.path)? {
            // Waiting for its lock would deadlock.
            return Err(NoteRepositoryError::CannotPromote {
                id: selector.to_owned(),
                reason: "guardrails and memories are in the same file".to_owned(),
            });
        }
        let mut kept: Option<(Note, Option<Stored>)> = None;
        let removed = self.refuse_unknown([selector]).and_then(|()| {
            self.change(|document, _| {
                let entry = self.select(document, selector)?;
                let note = self.note_at(document, entry)?;
                refuse_to_separate(document, &note)?;
                let adopted = memories.adopt(&note, (secrets, &mut *entropy))?;
                // After a retry because of a concurrent save, the first attempt has stored it.
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
            (Err(error @ NoteRepositoryError::NotFound { .. }), _) => {
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

    /// Adds a note of another file under a new id, unless it was added before.
    fn adopt(
        &self,
        note: &Note,
        (secrets, entropy): (SecretPolicy, &mut dyn Entropy),
    ) -> Result<(Note, Option<Stored>), NoteRepositoryError> {
        let draft = validate_draft(&Draft {
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
                    return Err(NoteRepositoryError::PromotedDifferently {
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
                id: NewIds::new(&lookup, log, entropy).next(self.file_kind.id_prefix(note.kind), second),
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

    /// The note that was made from this source.
    fn made_from(&self, document: &Document<'_>, source: &str) -> Option<Note> {
        let entry = document
            .entries()
            .iter()
            .find(|entry| document.extra(entry).get(Extra::SOURCE) == Some(source))?;
        document.note(entry)
    }
}

/// Refuses to separate a note from the one it supersedes or that supersedes it: in another file the old one would be
/// active again.
fn refuse_to_separate(document: &Document<'_>, note: &Note) -> Result<(), NoteRepositoryError> {
    let id = note.id.as_str();
    let replaced = note.extra.get(Extra::SUPERSEDES);
    let is_in_file = |old: &&str| document.find(old).next().is_some();
    let newer = document
        .entries()
        .iter()
        .find(|entry| document.extra(entry).get(Extra::SUPERSEDES) == Some(id));
    let reason = match (replaced.filter(is_in_file), newer) {
        (Some(old), _) => format!("it supersedes {old}, which is still in the file"),
        (None, Some(newer)) => format!("it is superseded by {}", document.id(newer)),
        (None, None) => return Ok(()),
    };
    Err(NoteRepositoryError::CannotPromote {
        id: id.to_owned(),
        reason,
    })
}
