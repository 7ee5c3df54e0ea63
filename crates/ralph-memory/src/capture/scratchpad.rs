//! The scratchpad: the state of the current work, as text without entries.

use std::path::{Path, PathBuf};

use ralph_notes::{LockedFile, Patches, Patience, read_file, write_new_file};

use super::note_repository::NoteRepositoryError;
use super::{ProjectEnv, SecretPolicy, accept, keep_backup};

pub struct Scratchpad<'a> {
    pub path: PathBuf,
    pub project_env: ProjectEnv,
    /// How long to wait for other writers.
    pub patience: Patience<'a>,
}

impl Scratchpad<'_> {
    #[must_use]
    pub fn at(&self, path: PathBuf) -> Self {
        Self {
            path,
            project_env: self.project_env.clone(),
            patience: self.patience,
        }
    }

    /// Its text; empty if there is no file. Invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self) -> Result<String, NoteRepositoryError> {
        let bytes = read_file(&self.path)?.map(|text| text.bytes).unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Appends a text on lines of its own, durably.
    ///
    /// # Errors
    /// If the text is refused or the file cannot be written; it is then unchanged.
    pub fn append(&self, text: &str, secrets: SecretPolicy) -> Result<(), NoteRepositoryError> {
        let text = accept(text, secrets).map_err(|refusal| NoteRepositoryError::Refused {
            part: String::new(),
            refusal,
        })?;
        self.project_env.prepare_note_folder(&self.path)?;
        self.update(|bytes| {
            let mut patches = Patches::none();
            patches.insert(bytes.len(), on_lines_of_its_own(bytes, &text));
            Ok(patches)
        })
    }

    /// Empties it and keeps the old text as a backup; does nothing if it is empty.
    ///
    /// # Errors
    /// If a file cannot be written; the scratchpad is then unchanged.
    pub fn clear(&self) -> Result<Option<ClearedScratchpad>, NoteRepositoryError> {
        if read_file(&self.path)?.is_none_or(|text| text.bytes.is_empty()) {
            return Ok(None);
        }
        let mut cleared = None;
        self.update(|bytes| {
            if bytes.is_empty() {
                return Ok(Patches::none());
            }
            cleared = Some(ClearedScratchpad {
                kept: keep_backup(&self.path, bytes)?,
                text: String::from_utf8_lossy(bytes).into_owned(),
            });
            Ok(Patches::whole(bytes, Vec::new()))
        })?;
        Ok(cleared)
    }

    /// Removes an appended text. Does nothing if it is no longer there: the scratchpad of a complete run is moved away.
    ///
    /// # Errors
    /// If the file cannot be written; it is then unchanged.
    pub fn remove(&self, text: &str) -> Result<(), NoteRepositoryError> {
        self.update(|bytes| {
            let lines = on_lines_of_its_own(b"", text);
            let starts_line = |at: &usize| *at == 0 || bytes.get(at - 1) == Some(&b'\n');
            let found = bytes.windows(lines.len()).rposition(|window| window == lines);
            Ok(match found.filter(starts_line) {
                Some(at) => Patches::whole(bytes, [&bytes[..at], &bytes[at + lines.len()..]].concat()),
                None => Patches::none(),
            })
        })
    }

    /// Restores an old text before the current one.
    ///
    /// # Errors
    /// If the file cannot be written; it is then unchanged.
    pub fn put_in_front(&self, text: &str) -> Result<(), NoteRepositoryError> {
        self.project_env.prepare_note_folder(&self.path)?;
        self.update(|bytes| {
            let mut patches = Patches::none();
            if !bytes.starts_with(text.as_bytes()) {
                patches.insert(0, on_lines_of_its_own(b"", text));
            }
            Ok(patches)
        })
    }

    /// Moves its text to a file that nothing else uses.
    ///
    /// # Errors
    /// If a file cannot be written; the scratchpad is then unchanged.
    pub fn move_to(&self, place: &Path) -> Result<Moved, NoteRepositoryError> {
        if read_file(&self.path)?.is_none_or(|text| text.bytes.is_empty()) {
            return Ok(Moved::Nothing);
        }
        self.update(|bytes| {
            // An earlier attempt may have left an older file. If it cannot be removed, the write below fails.
            drop(std::fs::remove_file(place));
            write_new_file(place, bytes)?;
            Ok(Patches::whole(bytes, Vec::new()))
        })?;
        Ok(Moved::Everything)
    }

    fn update(
        &self,
        edit: impl FnMut(&[u8]) -> Result<Patches, NoteRepositoryError>,
    ) -> Result<(), NoteRepositoryError> {
        let mut locked = LockedFile::lock(&self.path, &self.patience)?;
        locked.update(b"", edit).map(drop)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearedScratchpad {
    /// The backup file.
    pub kept: PathBuf,
    pub text: String,
}

/// Whether there was anything to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// The scratchpad is empty now.
    Everything,
    Nothing,
}

/// The text with line breaks that separate it from the text around it.
fn on_lines_of_its_own(before: &[u8], text: &str) -> Vec<u8> {
    let mut added = String::with_capacity(text.len() + 2);
    if !before.is_empty() && !before.ends_with(b"\n") {
        added.push('\n');
    }
    added.push_str(text);
    if !text.ends_with('\n') {
        added.push('\n');
    }
    added.into_bytes()
}
