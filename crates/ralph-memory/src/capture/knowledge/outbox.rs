//! Writes the entries in the outbox: each exactly once, even if ralph is killed, and never again after a person deleted
//! or edited it.
//!
//! The text is written to a temporary file named by the outbox row (`.ralph-outbox-7`), the database records that it is
//! staged, the file is renamed into place, and the row is completed. If a row is staged and its temporary file still
//! exists, the rename did not happen and the write is repeated. If the temporary file is missing, the entry was put in
//! place, and later edits are kept. So the entry itself needs no marker.

use ralph_store::{OutboxFile, Store};

use super::history::Log;
use super::open_folder::{OpenFolder, Step};
use super::{KnowledgeError, KnowledgeFolder, Placement};

/// Outcome of writing the outbox.
#[derive(Debug, Default)]
pub struct Outboxed {
    pub written: Vec<Written>,
    /// Titles of the entries that could not be written, with the error. They are retried next time.
    pub failed: Vec<(String, KnowledgeError)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub title: String,
    pub placement: Placement,
}

impl KnowledgeFolder<'_> {
    /// Writes the outbox of a worktree. An entry that fails does not block the others.
    ///
    /// # Errors
    /// If the folder or the database is not available.
    pub fn write_outbox(&self, store: &mut Store, worktree: &str) -> Result<Outboxed, KnowledgeError> {
        self.write_with_steps(store, worktree, &mut || {})
    }

    /// The same; `step` is called between steps.
    pub(super) fn write_with_steps(
        &self,
        store: &mut Store,
        worktree: &str,
        step: &mut dyn FnMut(),
    ) -> Result<Outboxed, KnowledgeError> {
        let mut outboxed = Outboxed::default();
        if store.outbox(worktree)?.is_empty() {
            return Ok(outboxed);
        }
        let mut folder = self.open()?;
        // Read after locking: another process may have written them meanwhile.
        let files = store.outbox(worktree)?;
        if let Some(first) = files.first() {
            self.logged(Some(store), first.created_at)
                .record_found(&folder.locked)?;
        }
        for file in files {
            let title = file.knowledge.title.clone();
            let mut log = Log {
                author: file.author.clone(),
                outbox: Some(file.id),
                ..self.logged(Some(store), file.created_at)
            };
            match put(&mut log, &mut folder, &file, step) {
                Ok(placement) => outboxed.written.push(Written { title, placement }),
                Err(error) => outboxed.failed.push((title, error)),
            }
        }
        Ok(outboxed)
    }
}

fn put(
    log: &mut Log<'_, '_>,
    folder: &mut OpenFolder<'_>,
    file: &OutboxFile,
    step: &mut dyn FnMut(),
) -> Result<Placement, KnowledgeError> {
    let staged = format!(".ralph-outbox-{}", file.id);
    let done = |log: &mut Log<'_, '_>| match log.store.as_deref_mut() {
        Some(store) => store.outbox_done(file.id),
        None => Ok(()),
    };
    if file.staged.is_some() && !folder.locked.has(&staged) {
        done(log)?;
        return Ok(Placement::AlreadyPlaced);
    }
    let placement = folder.put(&file.knowledge, &staged, log, &mut |log, reached| {
        step();
        if let (Step::Staged(text), Some(store)) = (reached, log.store.as_deref_mut()) {
            store.outbox_staged(file.id, text)?;
            step();
        }
        Ok(())
    })?;
    if let Placement::Unchanged(_) = placement {
        done(log)?;
    }
    step();
    Ok(placement)
}
