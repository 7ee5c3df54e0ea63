//! What somebody does to long notes on purpose: hands one in, takes one away.

use std::path::PathBuf;

use jiff::Timestamp;
use ralph_model::CapturedKnowledge;

use super::{KnowledgeError, KnowledgeFolder, Placement};

/// What a note is called while it is written. The folder is locked, so there is only one.
const STAGED: &str = ".ralph-added";

/// A note that was taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The file that is gone.
    pub path: PathBuf,
    /// Where its text is kept until another note of its name is taken away.
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

    /// Takes a note away by the name of its file; none when there is none. Its text is kept beside, where it is no note.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn delete(&self, name: &str) -> Result<Option<Deleted>, KnowledgeError> {
        if !self.path().is_dir() {
            return Ok(None);
        }
        let kept = format!(".{name}.ralph-deleted");
        let deleted = Deleted {
            path: self.path().join(name),
            kept: self.path().join(&kept),
        };
        let mut folder = self.lock()?;
        Ok(folder.put_away(name, &kept)?.then_some(deleted))
    }
}
