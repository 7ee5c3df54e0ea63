//! What somebody does to long notes on purpose: hands one in, takes one away.

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::Timestamp;
use ralph_model::CapturedKnowledge;
use ralph_notes::{title_key, with_room_for_suffix};

use crate::catalogue::{Catalogue, KnowledgeOutline};

use super::{KnowledgeError, KnowledgeFolder, Placement};

/// What a note is called while it is written. The folder is locked, so there is only one.
const STAGED: &str = ".ralph-added";

/// A note that was taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The file that is gone.
    pub path: PathBuf,
    /// Where its text is kept.
    pub kept: PathBuf,
}

impl KnowledgeFolder<'_> {
    /// Keeps a note that was accepted (see [`accept_knowledge`](super::accept_knowledge)). When this returns, it is
    /// durable.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&self, note: &CapturedKnowledge, at: Timestamp) -> Result<Placement, KnowledgeError> {
        self.open()?.put(note, at, STAGED, &mut || Ok(()))
    }

    /// The files of the notes that are named, by their titles or their files, in the order of the files.
    ///
    /// # Errors
    /// When it cannot be told what stands in the folder.
    pub fn named(&self, names: &[String]) -> Result<Vec<String>, KnowledgeError> {
        let names: HashSet<String> = names.iter().map(|name| title_key(name)).collect();
        let outlines = Catalogue::ask_knowledge(&self.catalogue, &[], Catalogue::knowledge_outlines)?;
        let is_named = |note: &KnowledgeOutline| {
            let file = title_key(&note.file);
            let stem = file.strip_suffix(".md").unwrap_or(&file);
            names.contains(&title_key(&note.title)) || names.contains(&file) || names.contains(stem)
        };
        let named = outlines.into_iter().filter(is_named);
        Ok(named.map(|note| note.file).collect())
    }

    /// Where the texts are kept that later ones have taken the place of in a file, the oldest first.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn replaced(&self, name: &str) -> Result<Vec<PathBuf>, KnowledgeError> {
        Ok(ralph_notes::replaced_texts(self.path(), name)?)
    }

    /// Takes a note away by the name of its file; none when there is none. Its text is kept beside, where it is no note.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn delete(&self, name: &str) -> Result<Option<Deleted>, KnowledgeError> {
        if !self.path().is_dir() {
            return Ok(None);
        }
        let kept = format!(".{}.ralph-deleted", with_room_for_suffix(name));
        let kept = self.lock()?.put_away(name, &kept)?;
        Ok(kept.map(|kept| Deleted {
            path: self.path().join(name),
            kept,
        }))
    }
}
