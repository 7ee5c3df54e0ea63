//! What can be done to notes: add, edit, delete, start anew.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_model::{Entropy, Extra, Note, NoteId, NoteKind};
use ralph_notes::{Document, Entry, FileError, Patches, write_new_file};
use ralph_store::{NoteAction, Store};

use super::log::Edit;
use super::{Draft, Notebook, NotebookError, Stored};

/// How many random suffixes are tried before the id's second is moved on.
const SUFFIX_TRIES: usize = 64;

impl Notebook<'_> {
    /// Adds notes.
    ///
    /// # Errors
    /// When the file cannot be written, or a note that is to be superseded is not there.
    pub fn add(&self, drafts: &[Draft], entropy: &mut dyn Entropy) -> Result<Stored, NotebookError> {
        for old in drafts.iter().filter_map(|draft| draft.extra.get(Extra::SUPERSEDES)) {
            self.refuse_without_file(old)?;
        }
        let entropy = RefCell::new(entropy);
        let mut ids: Vec<NoteId> = Vec::new();
        self.change(|document, log| {
            let now = self.clock.now();
            let mut notes = Vec::with_capacity(drafts.len());
            for (index, draft) in drafts.iter().enumerate() {
                if ids.len() == index {
                    ids.push(self.new_id(document, log, draft.kind, (&ids, &entropy)));
                }
                if let Some(id) = ids.get(index) {
                    notes.push(self.note_of(draft, id.clone(), now, document)?);
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
                notes,
            })
        })
    }

    /// Changes one note by a function of what it says now; no note is returned when it says so already.
    ///
    /// # Errors
    /// When there is no such note, the function refuses, or the file cannot be written.
    pub fn edit(
        &self,
        selector: &str,
        mut edit: impl FnMut(&Note) -> Result<Note, NotebookError>,
    ) -> Result<Stored, NotebookError> {
        self.refuse_without_file(selector)?;
        self.change(|document, _| {
            let entry = self.select(document, selector)?;
            let old = self.note_at(document, entry)?;
            let new = edit(&old)?;
            let patches = document.change(entry, &new);
            Ok(Edit {
                // What changes nothing is no version of its own.
                notes: if patches.is_empty() { Vec::new() } else { vec![new] },
                patches,
                action: NoteAction::Edited,
            })
        })
    }

    /// Deletes notes: all of them or, when one is not there, none.
    ///
    /// # Errors
    /// When one is not there, or the file cannot be written.
    pub fn delete(&self, selectors: &[String]) -> Result<Stored, NotebookError> {
        for selector in selectors {
            self.refuse_without_file(selector)?;
        }
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
                notes,
            })
        })
    }

    /// Starts with an empty file. An existing one is copied beside it first; the copy's path is returned.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn start_anew(&self) -> Result<(Stored, Option<PathBuf>), NotebookError> {
        let mut backup = None;
        let stored = self.change(|document, _| {
            if self.path.exists() {
                backup = Some(back_up(&self.path, document.bytes())?);
            }
            let notes = document
                .entries()
                .iter()
                .filter_map(|entry| document.note(entry))
                .collect();
            Ok(Edit {
                patches: Patches::whole(document.bytes(), self.shelf.template().into_bytes()),
                action: NoteAction::Deleted,
                notes,
            })
        })?;
        Ok((stored, backup))
    }

    /// Where there is no file there is no note either, and no reason to make a folder, a lock and a log.
    fn refuse_without_file(&self, selector: &str) -> Result<(), NotebookError> {
        match self.path.try_exists() {
            Ok(false) => Err(self.not_found(selector)),
            Ok(true) | Err(_) => Ok(()),
        }
    }

    fn note_of(
        &self,
        draft: &Draft,
        id: NoteId,
        now: Timestamp,
        document: &Document<'_>,
    ) -> Result<Note, NotebookError> {
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
            created: now.to_zoned(TimeZone::UTC).date(),
            extra,
        })
    }

    /// An id that neither the file nor the log has seen.
    fn new_id(
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
                if !known && !taken.contains(&id) && document.find(id.as_str()).next().is_none() {
                    return id;
                }
            }
            second += 1;
        }
    }
}

/// Copies a file's bytes to the first free of `.bak`, `.bak-2`, …
fn back_up(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
    let mut number = 1;
    loop {
        let mut name = path.to_owned().into_os_string();
        name.push(if number == 1 {
            ".bak".to_owned()
        } else {
            format!(".bak-{number}")
        });
        let backup = PathBuf::from(name);
        match write_new_file(&backup, bytes) {
            Ok(()) => return Ok(backup),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}
