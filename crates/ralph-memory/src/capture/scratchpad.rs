//! The scratchpad: the state of the current work, as text without entries. It is appended to, read from its end, cleared.

use std::path::{Path, PathBuf};

use ralph_notes::{LockedFile, Patches, Patience, read_file, write_new_file};

use super::notebook::{NotebookError, Surroundings};
use super::{SecretPolicy, accept, keep_beside};

/// A file of working notes.
pub struct Scratchpad<'a> {
    /// The file.
    pub path: PathBuf,
    /// The project around it.
    pub surroundings: &'a dyn Surroundings,
    /// How long to wait for others who write.
    pub patience: Patience<'a>,
}

impl Scratchpad<'_> {
    /// The scratchpad of the same project in another file.
    #[must_use]
    pub fn at(&self, path: PathBuf) -> Self {
        Self {
            path,
            surroundings: self.surroundings,
            patience: self.patience,
        }
    }

    /// What it says; nothing where there is none. Bytes that are no text are shown as such.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> Result<String, NotebookError> {
        let bytes = read_file(&self.path)?.map(|text| text.bytes).unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Adds a text at the end, on lines of its own, durably.
    ///
    /// # Errors
    /// When the gate refuses it, or the file cannot be written; it is then as it was.
    pub fn append(&self, text: &str, secrets: SecretPolicy) -> Result<(), NotebookError> {
        let text = accept(text, secrets).map_err(|refusal| NotebookError::Refused {
            part: String::new(),
            refusal,
        })?;
        self.surroundings.prepare_note_folder(&self.path)?;
        self.update(|bytes| {
            let mut patches = Patches::none();
            patches.insert(bytes.len(), on_lines_of_its_own(bytes, &text));
            Ok(patches)
        })
    }

    /// Empties it. The old text is kept beside it; nothing is done where there is none.
    ///
    /// # Errors
    /// When a file cannot be written; the scratchpad is then as it was.
    pub fn clear(&self) -> Result<Option<ClearedScratchpad>, NotebookError> {
        if read_file(&self.path)?.is_none_or(|text| text.bytes.is_empty()) {
            return Ok(None);
        }
        let mut cleared = None;
        self.update(|bytes| {
            if bytes.is_empty() {
                return Ok(Patches::none());
            }
            cleared = Some(ClearedScratchpad {
                kept: keep_beside(&self.path, bytes)?,
                text: String::from_utf8_lossy(bytes).into_owned(),
            });
            Ok(Patches::whole(bytes, Vec::new()))
        })?;
        Ok(cleared)
    }

    /// Removes a text that was appended. One that is not there any more, on lines of its own, is left alone: the scratchpad
    /// of a complete run is moved away.
    ///
    /// # Errors
    /// When the file cannot be written; it is then as it was.
    pub fn remove(&self, text: &str) -> Result<(), NotebookError> {
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

    /// Puts a text back that was there before what is there now.
    ///
    /// # Errors
    /// When the file cannot be written; it is then as it was.
    pub fn put_in_front(&self, text: &str) -> Result<(), NotebookError> {
        self.surroundings.prepare_note_folder(&self.path)?;
        self.update(|bytes| {
            let mut patches = Patches::none();
            if !bytes.starts_with(text.as_bytes()) {
                patches.insert(0, on_lines_of_its_own(b"", text));
            }
            Ok(patches)
        })
    }

    /// Moves what it says to another file, which must be nobody else's, and says whether there was anything to move.
    ///
    /// # Errors
    /// When a file cannot be written; the scratchpad is then as it was.
    pub fn move_to(&self, place: &Path) -> Result<Moved, NotebookError> {
        if read_file(&self.path)?.is_none_or(|text| text.bytes.is_empty()) {
            return Ok(Moved::Nothing);
        }
        self.update(|bytes| {
            // What an earlier try wrote there is older than this. Where it cannot go, the next line says why.
            drop(std::fs::remove_file(place));
            write_new_file(place, bytes)?;
            Ok(Patches::whole(bytes, Vec::new()))
        })?;
        Ok(Moved::Everything)
    }

    fn update(&self, edit: impl FnMut(&[u8]) -> Result<Patches, NotebookError>) -> Result<(), NotebookError> {
        let mut locked = LockedFile::lock(&self.path, &self.patience)?;
        locked.update(b"", edit).map(drop)
    }
}

/// What was cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearedScratchpad {
    /// The file that keeps it.
    pub kept: PathBuf,
    /// The text.
    pub text: String,
}

/// Whether the scratchpad had anything to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It had, and is empty now.
    Everything,
    /// It said nothing.
    Nothing,
}

/// The text with the line breaks that set it apart from what stands before and what will follow.
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
