//! Bringing notes back from the log.

use ralph_model::Note;
use ralph_notes::{Document, Entry, Lookup};
use ralph_store::{KnownNote, NoteAction, NoteVersion, Presence, Store, StoreError, Wait};

use super::log::{Edit, findings};
use super::{Notebook, NotebookError, Stored, Vanished};
use crate::capture::knowledge::PutBack;

/// What an id names.
pub(super) enum Found<'d> {
    /// An entry of the file.
    Standing(&'d Entry),
    /// A note that is gone without a deletion.
    Vanished(Note),
}

impl Notebook<'_> {
    /// Every version of the notes whose id begins with this text, oldest first; none without a log or without a text.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn history(&self, id_prefix: &str) -> Result<Vec<NoteVersion>, NotebookError> {
        let store = Store::open_existing(&self.log.database, Wait::Long)?;
        let mut versions = match store {
            Some(store) if !id_prefix.is_empty() => store.note_history(id_prefix)?,
            Some(_) | None => Vec::new(),
        };
        let prefixes = self.shelf.id_prefixes();
        versions.retain(|version| {
            prefixes
                .iter()
                .any(|prefix| version.note.id.as_str().starts_with(prefix))
        });
        Ok(versions)
    }

    /// The notes that are gone from this file, the last to go first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn gone(&self) -> Result<Vec<KnownNote>, NotebookError> {
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

    /// What is gone without a deletion, told from a log that is only looked at.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn vanished(&self, log: &Store, document: &Document<'_>) -> Result<Vanished, StoreError> {
        let since = self.since_last_look(log, document, self.surroundings.head().as_deref())?;
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

    /// The note that an id, or the beginning of one, names: an entry of the file, or what is gone from it without a deletion.
    pub(super) fn standing_or_vanished<'d>(
        &self,
        lookup: &Lookup<'d, '_>,
        log: Option<&Store>,
        selector: &str,
    ) -> Result<Found<'d>, NotebookError> {
        let not_found = match self.select_in(lookup, selector) {
            Ok(entry) => return Ok(Found::Standing(entry)),
            Err(error @ NotebookError::NotFound { .. }) if !selector.is_empty() => error,
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
                Err(NotebookError::ambiguous(selector, &ids))
            }
        }
    }

    /// Brings notes back that are gone, as they last were in this file.
    ///
    /// # Errors
    /// When there is no such note, one is not gone, or the file cannot be written; then none comes back.
    pub fn restore(&self, selectors: &[String]) -> Result<Stored, NotebookError> {
        let gone = self.gone()?;
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
                    let reason = format!("{} is not gone; name a version to go back to one", note.id);
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

    /// Takes a note back to a version; no note is returned when it says so already.
    ///
    /// # Errors
    /// When there is no such note or version, or the file cannot be written.
    pub fn go_back(&self, selector: &str, number: usize) -> Result<Stored, NotebookError> {
        let versions = self.versions(selector)?;
        let last = versions.len();
        if last == 0 {
            return Err(self.not_found(selector));
        }
        let Some(version) = versions.into_iter().find(|version| version.number == number) else {
            let reason = format!("{selector} has no version {number}; there are 1 to {last}");
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

    /// Gives a note another text, or removes it, if it is in the expected state; none stands for a note that is not there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put_back(
        &self,
        id: &str,
        (expected, wanted): (Option<&Note>, Option<&Note>),
    ) -> Result<(PutBack, Stored), NotebookError> {
        let mut outcome = PutBack::Done;
        let stored = self.change(|document, _| {
            let entry = document.find(id).next();
            let current = entry.and_then(|entry| document.note(entry));
            outcome = match &current {
                current if current.as_ref() == wanted => PutBack::Before,
                current if current.as_ref() != expected => PutBack::Kept,
                _ => PutBack::Done,
            };
            if outcome != PutBack::Done {
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

    /// Every version of the one note that an id, or the beginning of one, names; none when there is none.
    fn versions(&self, selector: &str) -> Result<Vec<NoteVersion>, NotebookError> {
        let mut versions = self.history(selector)?;
        if versions.iter().any(|version| version.note.id.as_str() == selector) {
            versions.retain(|version| version.note.id.as_str() == selector);
        }
        let mut ids: Vec<&str> = versions.iter().map(|version| version.note.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        match ids.as_slice() {
            [] | [_] => Ok(versions),
            several => Err(NotebookError::ambiguous(selector, several)),
        }
    }

    /// Refuses to bring a note back that still stands in a part of the file that is not read.
    fn refuse_unread(&self, file: &Lookup<'_, '_>, note: &Note) -> Result<(), NotebookError> {
        if file.stands_unread(&note.id) {
            return Err(self.nothing_to_restore(format!(
                "{} still stands in the file, where it is not read; `{} validate` says where",
                note.id,
                self.shelf.words().command
            )));
        }
        Ok(())
    }

    fn nothing_to_restore(&self, reason: String) -> NotebookError {
        NotebookError::NothingToRestore {
            shelf: self.shelf,
            reason,
        }
    }
}
