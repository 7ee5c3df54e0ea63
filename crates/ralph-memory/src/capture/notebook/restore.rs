//! Bringing notes back from the log.

use ralph_model::Note;
use ralph_notes::{Document, Patches};
use ralph_store::{KnownNote, NoteAction, NoteVersion, Presence, Store};

use super::log::Edit;
use super::{Notebook, NotebookError, Stored};

impl Notebook<'_> {
    /// Every version of the notes whose id begins with this text, oldest first; none without a log or without a text.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn history(&self, id_prefix: &str) -> Result<Vec<NoteVersion>, NotebookError> {
        let store = Store::open_existing(&self.log.database)?;
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

    /// The notes that are gone from this file and can be brought back, the last to go first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn restorable(&self) -> Result<Vec<KnownNote>, NotebookError> {
        let Some(store) = Store::open_existing(&self.log.database)? else {
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

    /// Brings notes back: those that are gone as they last were or, with a version, a note to what it said then.
    ///
    /// # Errors
    /// When there is no such note or version, a note is not gone, or the file cannot be written.
    pub fn restore(&self, selectors: &[String], version: Option<usize>) -> Result<Stored, NotebookError> {
        let mut wanted: Vec<Note> = Vec::new();
        for selector in selectors {
            let note = self.version_to_restore(selector, version)?;
            if !wanted.contains(&note) {
                wanted.push(note);
            }
        }
        self.change(|document, _| {
            let mut patches = Patches::none();
            let mut missing = Vec::new();
            for note in &wanted {
                match (self.standing(document, note), version) {
                    (Some(entry), Some(_)) => patches = document.change(entry, note),
                    (Some(_), None) => {
                        return Err(NotebookError::NothingToRestore(format!(
                            "{} is not gone; name a version to go back to one",
                            note.id
                        )));
                    }
                    (None, _) => missing.push(note.clone()),
                }
            }
            if patches.is_empty() {
                patches = document.add(&missing);
            }
            Ok(Edit {
                patches,
                action: NoteAction::Restored,
                notes: wanted.clone(),
            })
        })
    }

    fn standing<'d>(&self, document: &'d Document<'_>, note: &Note) -> Option<&'d ralph_notes::Entry> {
        self.select(document, note.id.as_str()).ok()
    }

    /// The version that a person means: the numbered one, else the last one.
    fn version_to_restore(&self, selector: &str, number: Option<usize>) -> Result<Note, NotebookError> {
        let mut versions = self.history(selector)?;
        if versions.iter().any(|version| version.note.id.as_str() == selector) {
            versions.retain(|version| version.note.id.as_str() == selector);
        }
        let mut ids: Vec<String> = versions.iter().map(|version| version.note.id.to_string()).collect();
        ids.sort();
        ids.dedup();
        if ids.len() > 1 {
            return Err(NotebookError::Ambiguous {
                prefix: selector.to_owned(),
                ids,
            });
        }
        let last = versions.len();
        let found = versions
            .into_iter()
            .find(|version| version.number == number.unwrap_or(last))
            .map(|version| version.note);
        match (found, number) {
            (Some(note), _) => Ok(note),
            (None, Some(number)) if last > 0 => Err(NotebookError::NothingToRestore(format!(
                "{selector} has no version {number}; there are 1 to {last}"
            ))),
            (None, _) => Err(self.not_found(selector)),
        }
    }
}
