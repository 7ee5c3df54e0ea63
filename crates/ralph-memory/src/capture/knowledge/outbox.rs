//! Writes the long notes that wait in the outbox: each once, none lost, none back after a person has deleted or edited it,
//! wherever ralph is killed.
//!
//! The text is written whole beside its place, under a name with the outbox's number (`.ralph-outbox-7`). Then the database
//! notes that it stands ready there. Then it is renamed into its place, and that name is gone in the same step. Then it is
//! ticked off. Whoever finds it noted as ready later looks for that name: it is there, so the note has not been put in
//! place, and all is done again; or it is gone, so the note was put in place, and whatever a person did to it since stays.
//! The one name tells, so nothing of ralph's has to stand in the note itself.

use ralph_store::{OutboxFile, Store};

use super::history::Log;
use super::open_folder::{OpenFolder, Step};
use super::{KnowledgeError, KnowledgeFolder, Placement};

/// What became of the outbox.
#[derive(Debug, Default)]
pub struct Outboxed {
    /// The notes that are written.
    pub written: Vec<Written>,
    /// The titles of those that could not be written, and why. They are tried again the next time.
    pub failed: Vec<(String, KnowledgeError)>,
}

/// A note of the outbox that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its title.
    pub title: String,
    /// How it came to its place.
    pub placement: Placement,
}

impl KnowledgeFolder<'_> {
    /// Writes what waits in the outbox of a worktree. One note that cannot be written keeps no other from it.
    ///
    /// # Errors
    /// When the folder or the database cannot be had.
    pub fn write_outbox(&self, store: &mut Store, worktree: &str) -> Result<Outboxed, KnowledgeError> {
        self.write_step_by_step(store, worktree, &mut || {})
    }

    /// The same; `step` is called between each two steps.
    pub(super) fn write_step_by_step(
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
        // Only now: another process may have written them while this one waited.
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
        return Ok(Placement::Before);
    }
    let placement = folder.put(&file.knowledge, &staged, log, &mut |log, reached| {
        step();
        if let (Step::Staged(text), Some(store)) = (reached, log.store.as_deref_mut()) {
            store.outbox_staged(file.id, text)?;
            step();
        }
        Ok(())
    })?;
    if let Placement::Known(_) = placement {
        done(log)?;
    }
    step();
    Ok(placement)
}
