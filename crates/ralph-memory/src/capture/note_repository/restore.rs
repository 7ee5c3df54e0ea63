//! Restores notes from the log.

use ralph_model::Note;
use ralph_notes::{Document, Entry, Lookup};
use ralph_store::{KnownNote, NoteAction, NoteVersion, Presence, Store, StoreError, Wait};

use super::log::{Edit, findings};
use super::{NoteRepository, NoteRepositoryError, Stored, Vanished};
use crate::capture::knowledge::RestoreOutcome;

pub(super) enum Found<'d> {
    InFile(&'d Entry),
    /// A note that disappeared without a deletion.
    Vanished(Note),
}

impl NoteRepository<'_> {
    /// All versions of the notes with this id prefix, oldest first; empty without a log or for an empty prefix.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn history(&self, id_prefix: &str) -> Result<Vec<NoteVersion>, NoteRepositoryError> {
        let store = Store::open_existing(&self.log.database, Wait::Long)?;
        let mut versions = match store {
            Some(store) if !id_prefix.is_empty() => store.note_history(id_prefix)?,
            Some(_) | None => Vec::new(),
        };
        let prefixes = self.file_kind.id_prefixes();
        versions.retain(|version| {
            prefixes
                .iter()
                .any(|prefix| version.note.id.as_str().starts_with(prefix))
        });
        Ok(versions)
    }

    /// The notes that are no longer in this file, most recently deleted first.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn missing(&self) -> Result<Vec<KnownNote>, NoteRepositoryError> {
        let Some(store) = Store::open_existing(&self.log.database, Wait::Long)? else {
            return Ok(Vec::new());
        };
        let mut gone: Vec<KnownNote> = store
            .known_notes(&self.log.file)?
            .into_iter()
            .filter(|known| known.action.presence() == Presence::Gone)
            .collect();
        gone.sort_by(|one, other| other.at.cmp(&one.at).then_with(|| one.note.id.cmp(&other.note.id)));
        Ok(gone)
    }

    /// The notes that disappeared without a deletion. Does not change the log.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn vanished(&self, log: &Store, document: &Document<'_>) -> Result<Vanished, StoreError> {
        let since = self.changes_since_last_comparison(log, document, self.project_env.head().as_deref())?;
        let is_back = |note: &Note| since.iter().any(|change| change.note.id == note.id);
        let before = log.known_notes(&self.log.file)?.into_iter();
        Ok(Vanished {
            before: before
                .filter(|known| known.action == NoteAction::Vanished && !is_back(&known.note))
                .map(|known| known.note)
                .collect(),
            since: findings(&since).vanished,
        })
    }

    /// The note with this id or id prefix: an entry of the file, or one that disappeared without a deletion.
    pub(super) fn find_or_vanished<'d>(
        &self,
        lookup: &Lookup<'d, '_>,
        log: Option<&Store>,
        selector: &str,
    ) -> Result<Found<'d>, NoteRepositoryError> {
        let not_found = match self.select_in(lookup, selector) {
            Ok(entry) => return Ok(Found::InFile(entry)),
            Err(error @ NoteRepositoryError::NotFound { .. }) if !selector.is_empty() => error,
            Err(error) => return Err(error),
        };
        let Some(log) = log else { return Err(not_found) };
        let Vanished { mut before, since } = self.vanished(log, lookup.document())?;
        before.extend(since);
        if let Some(exact) = before.iter().find(|note| note.id.as_str() == selector) {
            return Ok(Found::Vanished(exact.clone()));
        }
        before.retain(|note| note.id.as_str().starts_with(selector));
        match before.as_slice() {
            [] => Err(not_found),
            [one] => Ok(Found::Vanished(one.clone())),
            several => {
                let ids: Vec<&str> = several.iter().map(|note| note.id.as_str()).collect();
                Err(NoteRepositoryError::ambiguous(selector, &ids))
            }
        }
    }

    /// Restores deleted notes to their last state in this file.
    ///
    /// # Errors
    /// If a note does not exist or is not deleted, or the file cannot be written; then none is restored.
    pub fn restore(&self, selectors: &[String]) -> Result<Stored, NoteRepositoryError> {
        let gone = self.missing()?;
        let mut wanted: Vec<Note> = Vec::new();
        for selector in selectors {
            let versions = self.versions(selector)?;
            let last = versions.last().ok_or_else(|| self.not_found(selector))?;
            let here = gone.iter().find(|known| known.note.id == last.note.id);
            let note = here.map_or(&last.note, |known| &known.note);
            if !wanted.iter().any(|other| other.id == note.id) {
                wanted.push(note.clone());
            }
        }
        self.change(|document, _| {
            let lookup = document.lookup(wanted.len());
            for note in &wanted {
                if !lookup.find(note.id.as_str()).is_empty() {
                    let reason = format!("{} is not deleted; name a version to go back to", note.id);
                    return Err(self.nothing_to_restore(reason));
                }
                self.refuse_unread(&lookup, note)?;
            }
            Ok(Edit {
                patches: document.add(&wanted),
                action: NoteAction::Restored,
                entries: None,
                notes: wanted.clone(),
            })
        })
    }

    /// Reverts a note to a version. Returns no note if nothing changes.
    ///
    /// # Errors
    /// If there is no such note or version, or the file cannot be written.
    pub fn revert_to(&self, selector: &str, number: usize) -> Result<Stored, NoteRepositoryError> {
        let versions = self.versions(selector)?;
        let last = versions.len();
        if last == 0 {
            return Err(self.not_found(selector));
        }
        let Some(version) = versions.into_iter().find(|version| version.number == number) else {
            let reason = format!("{selector} has no version {number}; it has versions 1 to {last}");
            return Err(self.nothing_to_restore(reason));
        };
        self.change(|document, _| {
            let note = version.note.clone();
            let patches = match document.find(note.id.as_str()).next() {
                Some(_) => document.change(self.select(document, note.id.as_str())?, &note),
                None => {
                    self.refuse_unread(&document.lookup(1), &note)?;
                    document.add(std::slice::from_ref(&note))
                }
            };
            Ok(Edit::of_one(patches, NoteAction::Restored, note))
        })
    }

    /// Changes or deletes a note if it is in the expected state; `None` means no note.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put_back(
        &self,
        id: &str,
        (expected, wanted): (Option<&Note>, Option<&Note>),
    ) -> Result<(RestoreOutcome, Stored), NoteRepositoryError> {
        let mut outcome = RestoreOutcome::Done;
        let stored = self.change(|document, _| {
            let entry = document.find(id).next();
            let current = entry.and_then(|entry| document.note(entry));
            outcome = match &current {
                current if current.as_ref() == wanted => RestoreOutcome::Unchanged,
                current if current.as_ref() != expected => RestoreOutcome::Kept,
                _ => RestoreOutcome::Done,
            };
            if outcome != RestoreOutcome::Done {
                return Ok(Edit::default());
            }
            Ok(match (entry, wanted, expected) {
                (Some(entry), Some(note), _) => {
                    Edit::of_one(document.change(entry, note), NoteAction::Restored, note.clone())
                }
                (None, Some(note), _) => {
                    let patches = document.add(std::slice::from_ref(note));
                    Edit::of_one(patches, NoteAction::Restored, note.clone())
                }
                (Some(entry), None, Some(note)) => {
                    Edit::of_one(document.delete(&[entry]), NoteAction::Deleted, note.clone())
                }
                _ => Edit::default(),
            })
        })?;
        Ok((outcome, stored))
    }

    /// All versions of the note with this id or id prefix; empty if there is none.
    fn versions(&self, selector: &str) -> Result<Vec<NoteVersion>, NoteRepositoryError> {
        let mut versions = self.history(selector)?;
        if versions.iter().any(|version| version.note.id.as_str() == selector) {
            versions.retain(|version| version.note.id.as_str() == selector);
        }
        let mut ids: Vec<&str> = versions.iter().map(|version| version.note.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        match ids.as_slice() {
            [] | [_] => Ok(versions),
            several => Err(NoteRepositoryError::ambiguous(selector, several)),
        }
    }

    /// Refuses to restore a note that is still in a part of the file that is not read.
    fn refuse_unread(&self, file: &Lookup<'_, '_>, note: &Note) -> Result<(), NoteRepositoryError> {
        if file.is_outside_entries(&note.id) {
            return Err(self.nothing_to_restore(format!(
                "{} is still in the file, in a part that is not read; `{} validate` shows where",
                note.id,
                self.file_kind.words().command
            )));
        }
        Ok(())
    }

    fn nothing_to_restore(&self, reason: String) -> NoteRepositoryError {
        NoteRepositoryError::NothingToRestore {
            file_kind: self.file_kind,
            reason,
        }
    }
}
