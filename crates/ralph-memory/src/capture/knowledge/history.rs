//! The log of the folder. Every change of an entry is a row with the full text of the file and its author. Changes made
//! without ralph are found by comparing file stamps; only files with a different stamp are read, and their secrets are
//! masked.

use std::collections::HashMap;

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, FileStamp};
use ralph_notes::{FileText, LockedFolder, MAX_KNOWLEDGE_BYTES, PlaceOutcome};
use ralph_store::{
    KnowledgeChange, KnowledgeRecord, KnowledgeState, KnowledgeVersion, NoteAction, Presence, Store, StoreError, Wait,
};

use super::{KnowledgeError, KnowledgeFolder};
use crate::secrets::mask;
use ralph_search::{SourceError, knowledge_stamps};

/// The temporary name during a restore. The folder is locked, so one is enough.
const STAGED: &str = ".ralph-restored";

/// An entry that is no longer in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKnowledge {
    pub file: String,
    pub last: KnowledgeVersion,
}

/// Outcome of restoring a file to another state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreOutcome {
    Done,
    Unchanged,
    /// Left alone: it is not in the expected state.
    Kept,
}

/// The log while the folder is locked. Without a database, changes are made anyway and logged later.
pub(super) struct Log<'s, 'f> {
    pub(super) store: Option<&'s mut Store>,
    pub(super) folder: &'f KnowledgeFolder<'f>,
    pub(super) at: Timestamp,
    pub(super) author: Author,
    /// The outbox row being written.
    pub(super) outbox: Option<i64>,
    /// Why a command's change is not recorded. The file is safe, and the next command finds the change.
    pub(super) unrecorded: Option<StoreError>,
}

impl Log<'_, '_> {
    /// Records changes made without ralph.
    pub(super) fn record_found(&mut self, locked: &LockedFolder<'_>) -> Result<(), KnowledgeError> {
        let Some(store) = self.store.as_deref_mut() else {
            return Ok(());
        };
        let found = self.folder.found(store, locked)?;
        if !found.is_empty() {
            self.record(&found.seen, &found.changes)?;
        }
        Ok(())
    }

    /// Ensures that the log has the text that is about to be replaced or deleted.
    pub(super) fn record_old(&mut self, name: &str, old: &FileText) -> Result<(), KnowledgeError> {
        let Some(store) = self.store.as_deref_mut() else {
            return Ok(());
        };
        let Ok(text) = std::str::from_utf8(&old.bytes) else {
            return Ok(());
        };
        let known = store.knowledge_text(&self.folder.log.file, name)?;
        let masked = mask(text);
        if known.as_deref().is_some_and(|known| known == text || known == masked) {
            return Ok(());
        }
        let text = &*masked;
        let author = self.folder.found_author(store, name, text)?;
        let action = known.map_or(NoteAction::Adopted, |_| NoteAction::Changed);
        let change = change(action, name, text, author);
        self.record_stamps(&[(name.to_owned(), old.stamp)], &[change], None)
    }

    /// Records a change and completes its outbox row.
    pub(super) fn record_made(
        &mut self,
        action: NoteAction,
        (name, text): (&str, &str),
        stamp: Option<FileStamp>,
    ) -> Result<(), KnowledgeError> {
        let change = change(action, name, text, self.author.clone());
        let seen: Vec<(String, FileStamp)> = stamp.map(|stamp| (name.to_owned(), stamp)).into_iter().collect();
        match self.record_stamps(&seen, &[change], self.outbox) {
            Err(KnowledgeError::Store(error)) if self.outbox.is_none() => {
                self.unrecorded = Some(error);
                Ok(())
            }
            recorded => recorded,
        }
    }

    /// Whether the current text was written by an agent.
    pub(super) fn is_agents(&self, name: &str, text: &FileText) -> Result<bool, KnowledgeError> {
        let (Some(store), Ok(text)) = (self.store.as_deref(), std::str::from_utf8(&text.bytes)) else {
            return Ok(false);
        };
        let author = store.knowledge_author(name, text)?;
        Ok(author.is_some_and(|author| author.kind == AuthorKind::Agent))
    }

    fn record(&mut self, seen: &[(String, FileStamp)], changes: &[KnowledgeChange]) -> Result<(), KnowledgeError> {
        self.record_stamps(seen, changes, None)
    }

    fn record_stamps(
        &mut self,
        seen: &[(String, FileStamp)],
        changes: &[KnowledgeChange],
        outbox: Option<i64>,
    ) -> Result<(), KnowledgeError> {
        let Some(store) = self.store.as_deref_mut() else {
            return Ok(());
        };
        store.record_knowledge(&KnowledgeRecord {
            folder: &self.folder.log.file,
            seen,
            changes,
            head: self.folder.project_env.head().as_deref(),
            at: self.at,
            outbox,
        })?;
        Ok(())
    }
}

/// Changes made without ralph.
#[derive(Default)]
struct Found {
    seen: Vec<(String, FileStamp)>,
    changes: Vec<KnowledgeChange>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.changes.is_empty()
    }
}

impl KnowledgeFolder<'_> {
    /// Compares the folder with the log and records changes. A run does this before and after each iteration, so that
    /// changes are attributed correctly.
    ///
    /// # Errors
    /// If the folder cannot be read or the log cannot be written.
    pub fn sync_log(&self, store: &mut Store, at: Timestamp) -> Result<(), KnowledgeError> {
        if !self.path().is_dir() && store.knowledge_states(&self.log.file)?.is_empty() {
            return Ok(());
        }
        let locked = self.lock()?;
        self.logged(Some(store), at).record_found(&locked)
    }

    /// The same for read-only commands: it does nothing without a log or while another process writes.
    pub fn detect_changes(&self, at: Timestamp) {
        let Ok(Some(mut store)) = Store::open_existing(&self.log.database, Wait::Brief) else {
            return;
        };
        if !self.path().is_dir() {
            return;
        }
        // What cannot be recorded now is found by the next command.
        if let Ok(locked) = LockedFolder::lock(self.path(), &self.patience.none()) {
            drop(self.logged(Some(&mut store), at).record_found(&locked));
        }
    }

    /// All versions of an entry, oldest first; empty without a log.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn history(&self, file: &str) -> Result<Vec<KnowledgeVersion>, KnowledgeError> {
        match Store::open_existing(&self.log.database, Wait::Long)? {
            Some(store) => Ok(store.knowledge_history(&self.log.file, file)?),
            None => Ok(Vec::new()),
        }
    }

    /// The entries that are no longer in the folder, by name.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn missing(&self) -> Result<Vec<MissingKnowledge>, KnowledgeError> {
        let Some(store) = Store::open_existing(&self.log.database, Wait::Long)? else {
            return Ok(Vec::new());
        };
        let mut gone = Vec::new();
        for state in store.knowledge_states(&self.log.file)? {
            if state.presence == Presence::Gone {
                let last = store.knowledge_history(&self.log.file, &state.file)?.pop();
                gone.extend(last.map(|last| MissingKnowledge { file: state.file, last }));
            }
        }
        Ok(gone)
    }

    /// Writes or deletes a file if it is in the expected state; `None` means no file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put_back(
        &self,
        store: &mut Store,
        file: &str,
        (expected, wanted): (Option<&str>, Option<&str>),
        at: Timestamp,
    ) -> Result<RestoreOutcome, KnowledgeError> {
        let mut locked = self.lock()?;
        let mut log = self.logged(Some(store), at);
        log.record_found(&locked)?;
        let current = locked.read(file)?;
        let text = current.as_ref().map(|current| current.bytes.as_slice());
        if text == wanted.map(str::as_bytes) {
            return Ok(RestoreOutcome::Unchanged);
        }
        if text != expected.map(str::as_bytes) {
            return Ok(RestoreOutcome::Kept);
        }
        let is_done = match (wanted, &current) {
            (Some(wanted), current) => {
                locked.stage(STAGED, wanted.as_bytes(), current.as_ref())?;
                let placed = match current {
                    Some(current) => locked.place_over(STAGED, file, current)? == PlaceOutcome::Replaced,
                    None => locked.place_new(STAGED, file)?,
                };
                locked.unstage(STAGED)?;
                placed
            }
            (None, Some(current)) => locked.remove(file, current)?,
            (None, None) => true,
        };
        if !is_done {
            return Ok(RestoreOutcome::Kept);
        }
        match wanted {
            Some(text) => log.record_made(NoteAction::Restored, (file, text), locked.stamp(file))?,
            None => log.record_made(NoteAction::Deleted, (file, expected.unwrap_or_default()), None)?,
        }
        Ok(RestoreOutcome::Done)
    }

    pub(super) fn logged<'s>(&'s self, store: Option<&'s mut Store>, at: Timestamp) -> Log<'s, 's> {
        Log {
            store,
            folder: self,
            at,
            author: self.author.clone(),
            outbox: None,
            unrecorded: None,
        }
    }

    /// Opens the log for a change; creates it if it is missing.
    pub(super) fn open_log(&self) -> Result<Store, StoreError> {
        self.log.open_or_create(&self.project_env)
    }

    /// The differences between the folder and the log.
    fn found(&self, store: &Store, locked: &LockedFolder<'_>) -> Result<Found, KnowledgeError> {
        let mut known: HashMap<String, KnowledgeState> = store
            .knowledge_states(&self.log.file)?
            .into_iter()
            .map(|state| (state.file.clone(), state))
            .collect();
        let head = self.project_env.head();
        let mut found = Found::default();
        let stamps = knowledge_stamps(&self.index).map_err(|source| SourceError::Folder {
            path: self.path().to_owned(),
            source,
        })?;
        for (name, stamp) in stamps {
            let state = known.remove(&name);
            let is_there = |state: &KnowledgeState| state.presence == Presence::Present;
            if state
                .as_ref()
                .is_some_and(|state| is_there(state) && state.record.stamp == stamp)
            {
                continue;
            }
            if usize::try_from(stamp.size).is_ok_and(|size| size > MAX_KNOWLEDGE_BYTES) {
                continue;
            }
            let Some(file) = locked.read(&name)? else { continue };
            let Ok(text) = std::str::from_utf8(&file.bytes).map(mask) else {
                continue;
            };
            found.seen.push((name.clone(), file.stamp));
            let action = match state {
                None => NoteAction::Adopted,
                Some(state) if !is_there(&state) => NoteAction::Returned,
                Some(_) if store.knowledge_text(&self.log.file, &name)?.as_deref() == Some(&text) => continue,
                Some(_) => NoteAction::Changed,
            };
            let author = self.found_author(store, &name, &text)?;
            found.changes.push(change(action, &name, &text, author));
        }
        let gone = known.into_values().filter(|state| state.presence == Presence::Present);
        for state in gone {
            let action = if state.record.head == head {
                NoteAction::Vanished
            } else {
                NoteAction::CheckedOut
            };
            let text = store.knowledge_text(&self.log.file, &state.file)?.unwrap_or_default();
            let author = self.unknown(store)?;
            found.changes.push(change(action, &state.file, &text, author));
        }
        found.changes.sort_by(|one, other| one.file.cmp(&other.file));
        Ok(found)
    }

    /// The author of a text found in the folder: the agent whose settlement was killed after the file was written, else
    /// the author of the same text earlier or in another worktree, else unknown.
    fn found_author(&self, store: &Store, name: &str, text: &str) -> Result<Author, KnowledgeError> {
        let outbox = store.outbox(&self.log.file.worktree)?;
        if let Some(staged) = outbox.into_iter().find(|file| file.staged.as_deref() == Some(text)) {
            return Ok(staged.author);
        }
        match store.knowledge_author(name, text)? {
            Some(author) => Ok(author),
            None => self.unknown(store),
        }
    }

    fn unknown(&self, store: &Store) -> Result<Author, KnowledgeError> {
        Ok(store.author_of_found(&self.log.file.worktree)?)
    }
}

fn change(action: NoteAction, file: &str, text: &str, author: Author) -> KnowledgeChange {
    KnowledgeChange {
        action,
        file: file.to_owned(),
        text: text.to_owned(),
        author,
    }
}
