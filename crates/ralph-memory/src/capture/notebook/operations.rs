//! What can be done to notes: add, edit, delete, start anew. Whatever is written passes the gate here.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use ralph_model::{Entropy, Extra, Note, NoteId, NoteKind};
use ralph_notes::{Document, Entry, Patches, link_beside, resolve};
use ralph_store::index::{Change, Neighbours};
use ralph_store::{NoteAction, Store};

use super::log::Edit;
use super::{Draft, Notebook, NotebookError, Stored};
use crate::capture::{SecretPolicy, accept};

/// How many random suffixes are tried before the id's second is moved on.
const SUFFIX_TRIES: usize = 64;

/// What starting anew does about a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Nothing: it is an error.
    OnlyIfMissing,
    /// Keeps it beside the new one.
    PutOldAside,
}

impl Notebook<'_> {
    /// Adds notes.
    ///
    /// # Errors
    /// When the gate refuses one, a note that is to be superseded is not there, or the file cannot be written.
    pub fn add(&self, drafts: &[Draft], entropy: &mut dyn Entropy) -> Result<Stored, NotebookError> {
        let accepted: Vec<Draft> = drafts.iter().map(pass_draft).collect::<Result<_, _>>()?;
        let superseded = accepted.iter().filter_map(|draft| draft.extra.get(Extra::SUPERSEDES));
        self.refuse_unknown(superseded)?;
        let entropy = RefCell::new(entropy);
        let mut ids: Vec<NoteId> = Vec::new();
        self.change(|document, log| {
            let mut notes = Vec::with_capacity(accepted.len());
            for (index, draft) in accepted.iter().enumerate() {
                if ids.len() == index {
                    ids.push(self.new_id(document, log, draft.kind, (&ids, &entropy)));
                }
                if let Some(id) = ids.get(index) {
                    notes.push(self.note_of(draft, id.clone(), document)?);
                }
            }
            // A save by somebody else may hold them already, when this is not the first try.
            let missing: Vec<Note> = notes
                .iter()
                .filter(|note| document.find(note.id.as_str()).next().is_none())
                .cloned()
                .collect();
            Ok(Edit {
                patches: document.add(&missing),
                action: NoteAction::Added,
                entries: added(document, &missing),
                notes,
            })
        })
    }

    /// Changes one note by a function of what it says now; no note is returned when it says so already.
    ///
    /// # Errors
    /// When there is no such note, the function or the gate refuses, or the file cannot be written.
    pub fn edit(
        &self,
        selector: &str,
        secrets: SecretPolicy,
        mut edit: impl FnMut(&Note) -> Result<Note, NotebookError>,
    ) -> Result<Stored, NotebookError> {
        self.refuse_unknown([selector])?;
        self.change(|document, _| {
            let entry = self.select(document, selector)?;
            let old = self.note_at(document, entry)?;
            let new = pass_changes(&old, edit(&old)?, secrets)?;
            let stays = (old.kind == new.kind).then(|| vec![Change::Edited(new.clone())]);
            let edit = Edit::of_one(document.change(entry, &new), NoteAction::Edited, new);
            Ok(Edit { entries: stays, ..edit })
        })
    }

    /// Deletes notes: all of them or, when one is not there, none.
    ///
    /// # Errors
    /// When one is not there, or the file cannot be written.
    pub fn delete(&self, selectors: &[String]) -> Result<Stored, NotebookError> {
        self.refuse_unknown(selectors.iter().map(String::as_str))?;
        let mut resolved: Vec<String> = Vec::new();
        self.change(|document, _| {
            if resolved.is_empty() {
                for selector in selectors {
                    let id = document.id(self.select(document, selector)?).to_owned();
                    if !resolved.contains(&id) {
                        resolved.push(id);
                    }
                }
            }
            let entries: Vec<&Entry> = resolved.iter().filter_map(|id| document.find(id).next()).collect();
            let notes = entries
                .iter()
                .map(|entry| self.note_at(document, entry))
                .collect::<Result<_, _>>()?;
            Ok(Edit {
                patches: document.delete(&entries),
                action: NoteAction::Deleted,
                entries: Some(resolved.iter().cloned().map(Change::Removed).collect()),
                notes,
            })
        })
    }

    /// Starts with an empty file. An old one that was put aside is returned.
    ///
    /// # Errors
    /// When there is a file and it may not be put aside, or a file cannot be written.
    pub fn start_anew(&self, start: Start) -> Result<(Stored, Option<PathBuf>), NotebookError> {
        let refuse_existing = || match start {
            Start::OnlyIfMissing if self.path.exists() => Err(NotebookError::Exists {
                path: self.path.clone(),
            }),
            Start::OnlyIfMissing | Start::PutOldAside => Ok(()),
        };
        // Now, so that nothing is made for nothing, and again under the lock, when nobody can make it any more.
        refuse_existing()?;
        let mut aside = None;
        let stored = self.change(|document, _| {
            refuse_existing()?;
            if self.path.exists() {
                let file = resolve(&self.path)?;
                aside = Some(link_beside(&file, ".bak")?);
            }
            let notes = document
                .entries()
                .iter()
                .filter_map(|entry| document.note(entry))
                .collect();
            Ok(Edit {
                patches: Patches::whole(document.bytes(), self.shelf.template().into_bytes()),
                action: NoteAction::Deleted,
                entries: None,
                notes,
            })
        })?;
        Ok((stored, aside))
    }

    /// Refuses ids that are not there before anything is locked or made.
    pub(super) fn refuse_unknown<'s>(&self, selectors: impl IntoIterator<Item = &'s str>) -> Result<(), NotebookError> {
        let mut selectors = selectors.into_iter().peekable();
        if selectors.peek().is_none() {
            return Ok(());
        }
        let reading = self.read()?;
        let document = reading.document();
        for selector in selectors {
            self.select(&document, selector)?;
        }
        Ok(())
    }

    fn note_of(&self, draft: &Draft, id: NoteId, document: &Document<'_>) -> Result<Note, NotebookError> {
        let mut extra = draft.extra.clone();
        if let Some(old) = draft.extra.get(Extra::SUPERSEDES) {
            let old = document.id(self.select(document, old)?).to_owned();
            extra.set(Extra::SUPERSEDES, &old);
        }
        Ok(Note {
            id,
            kind: draft.kind,
            content: draft.content.clone(),
            tags: draft.tags.clone(),
            created: self.today(),
            extra,
        })
    }

    /// An id that neither the file nor the log has seen.
    pub(super) fn new_id(
        &self,
        document: &Document<'_>,
        log: Option<&Store>,
        kind: NoteKind,
        (taken, entropy): (&[NoteId], &RefCell<&mut dyn Entropy>),
    ) -> NoteId {
        let mut second = self.clock.now().as_second();
        loop {
            for _ in 0..SUFFIX_TRIES {
                let suffix = u16::try_from(entropy.borrow_mut().next_bits() >> 48).unwrap_or_default();
                let id = NoteId::new(self.shelf.id_prefix(kind), second, suffix);
                let known = log.is_some_and(|log| log.knows_note(&id).unwrap_or(false));
                if !known && !taken.contains(&id) && !document.mentions(id.as_str()) {
                    return id;
                }
            }
            second += 1;
        }
    }
}

/// What new notes are to the index: each stands after the one before it of its kind.
fn added(document: &Document<'_>, notes: &[Note]) -> Option<Vec<Change>> {
    let mut last_of_kind: HashMap<NoteKind, String> = HashMap::new();
    notes
        .iter()
        .map(|note| {
            let (before, after) = document.neighbours_of_new(note.kind)?;
            let before = last_of_kind
                .insert(note.kind, note.id.to_string())
                .or(before.map(str::to_owned));
            let between = Neighbours {
                before,
                after: after.map(str::to_owned),
            };
            Some(Change::Added {
                note: note.clone(),
                between,
            })
        })
        .collect()
}

/// Passes a draft through the gate.
pub(super) fn pass_draft(draft: &Draft) -> Result<Draft, NotebookError> {
    let mut passed = draft.clone();
    passed.content = pass(TEXT, &draft.content, draft.secrets)?;
    if !draft.tags.is_empty() {
        pass(TAGS, &draft.tags.to_string(), draft.secrets)?;
    }
    for (key, value) in draft.extra.iter() {
        passed.extra.set(key, &pass(key, value, draft.secrets)?);
    }
    Ok(passed)
}

/// Passes what is new in a note through the gate; what it said before was accepted then.
fn pass_changes(old: &Note, mut new: Note, secrets: SecretPolicy) -> Result<Note, NotebookError> {
    if new.content != old.content {
        new.content = pass(TEXT, &new.content, secrets)?;
    }
    if new.tags != old.tags && !new.tags.is_empty() {
        pass(TAGS, &new.tags.to_string(), secrets)?;
    }
    Ok(new)
}

/// The parts of a note, as messages name them.
const TEXT: &str = "text";
const TAGS: &str = "tags";

fn pass(part: &str, text: &str, secrets: SecretPolicy) -> Result<String, NotebookError> {
    accept(text, secrets)
        .map(std::borrow::Cow::into_owned)
        .map_err(|refusal| NotebookError::Refused {
            part: if part == TEXT {
                String::new()
            } else {
                format!("{part}: ")
            },
            refusal,
        })
}
