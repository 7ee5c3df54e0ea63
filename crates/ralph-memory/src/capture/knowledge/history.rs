//! The log of the folder. Every change of an entry is a row with the whole text of its file and its author, so that nothing
//! that an entry ever said is lost, except secrets in what was written without ralph. What happened without ralph is found by
//! comparing stamps; only files whose stamp differs are read.

use std::collections::HashMap;

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, FileStamp};
use ralph_notes::{FileText, LockedFolder, MAX_KNOWLEDGE_BYTES, Put};
use ralph_store::{
    KnowledgeChange, KnowledgeRecord, KnowledgeState, KnowledgeVersion, NoteAction, Presence, RunProcess, Store,
    StoreError, Wait,
};

use super::{KnowledgeError, KnowledgeFolder};
use crate::catalogue::{CatalogueError, knowledge_stamps};
use crate::secrets::mask;

/// What a text is called while it is put back. The folder is locked, so there is only one.
const STAGED: &str = ".ralph-restored";

/// An entry that is not in the folder any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoneKnowledge {
    /// The name of its file.
    pub file: String,
    /// Its last version.
    pub last: KnowledgeVersion,
}

/// Outcome of putting an entry back to another state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutBack {
    /// It is in that state now.
    Done,
    /// It was already.
    Before,
    /// It was left as it is: it is not in the expected state.
    Kept,
}

/// The log while the folder is locked. Without a database changes are made all the same, and the log takes them up later.
pub(super) struct Log<'s, 'f> {
    pub(super) store: Option<&'s mut Store>,
    pub(super) folder: &'f KnowledgeFolder<'f>,
    pub(super) at: Timestamp,
    /// Who makes the changes.
    pub(super) author: Author,
    /// The row of the outbox that is being written.
    pub(super) outbox: Option<i64>,
    /// Why a change that was made by a command is not recorded. The file is safe, and the next command finds the change.
    pub(super) unrecorded: Option<StoreError>,
}

impl Log<'_, '_> {
    /// Records what happened to the folder without ralph.
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

    /// Makes sure that the log has the text that is about to be replaced or removed.
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

    /// Records a change that was made; it ends the row of the outbox.
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

    /// Whether the present text of an entry is an agent's.
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
            head: self.folder.surroundings.head().as_deref(),
            at: self.at,
            outbox,
        })?;
        Ok(())
    }
}

/// What was found to have happened without ralph.
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
    /// Compares the folder with the log and records what is new. A run does so before and after each iteration, so that what is
    /// found is credited to the right time.
    ///
    /// # Errors
    /// When the folder cannot be read or the log not be written.
    pub fn take_stock(&self, store: &mut Store, at: Timestamp) -> Result<(), KnowledgeError> {
        if !self.path().is_dir() && store.knowledge_states(&self.log.file)?.is_empty() {
            return Ok(());
        }
        let locked = self.lock()?;
        self.logged(Some(store), at).record_found(&locked)
    }

    /// The same for a command that only reads: where there is no log, or somebody else writes, nothing is done.
    pub fn look(&self, at: Timestamp) {
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

    /// Every version of an entry, the oldest first; none without a log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn history(&self, file: &str) -> Result<Vec<KnowledgeVersion>, KnowledgeError> {
        match Store::open_existing(&self.log.database, Wait::Long)? {
            Some(store) => Ok(store.knowledge_history(&self.log.file, file)?),
            None => Ok(Vec::new()),
        }
    }

    /// The entries that are not in the folder any more, by name.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn gone(&self) -> Result<Vec<GoneKnowledge>, KnowledgeError> {
        let Some(store) = Store::open_existing(&self.log.database, Wait::Long)? else {
            return Ok(Vec::new());
        };
        let mut gone = Vec::new();
        for state in store.knowledge_states(&self.log.file)? {
            if state.presence == Presence::Gone {
                let last = store.knowledge_history(&self.log.file, &state.file)?.pop();
                gone.extend(last.map(|last| GoneKnowledge { file: state.file, last }));
            }
        }
        Ok(gone)
    }

    /// Gives an entry another text, or removes it, if it is in the expected state; none stands for a file that is not there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put_back(
        &self,
        store: &mut Store,
        file: &str,
        (expected, wanted): (Option<&str>, Option<&str>),
        at: Timestamp,
    ) -> Result<PutBack, KnowledgeError> {
        let mut locked = self.lock()?;
        let mut log = self.logged(Some(store), at);
        log.record_found(&locked)?;
        let current = locked.read(file)?;
        let text = current.as_ref().map(|current| current.bytes.as_slice());
        if text == wanted.map(str::as_bytes) {
            return Ok(PutBack::Before);
        }
        if text != expected.map(str::as_bytes) {
            return Ok(PutBack::Kept);
        }
        let is_done = match (wanted, &current) {
            (Some(wanted), current) => {
                locked.stage(STAGED, wanted.as_bytes(), current.as_ref())?;
                let placed = match current {
                    Some(current) => locked.place_over(STAGED, file, current)? == Put::Over,
                    None => locked.place_new(STAGED, file)?,
                };
                locked.unstage(STAGED)?;
                placed
            }
            (None, Some(current)) => locked.remove(file, current)?,
            (None, None) => true,
        };
        if !is_done {
            return Ok(PutBack::Kept);
        }
        match wanted {
            Some(text) => log.record_made(NoteAction::Restored, (file, text), locked.stamp(file))?,
            None => log.record_made(NoteAction::Deleted, (file, expected.unwrap_or_default()), None)?,
        }
        Ok(PutBack::Done)
    }

    /// The log, for whoever uses this folder.
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

    /// Opens the log for a change, and makes it where there is none.
    pub(super) fn open_log(&self) -> Result<Store, StoreError> {
        self.log.open_or_create(self.surroundings)
    }

    /// What the folder has that the log does not know, and the other way round.
    fn found(&self, store: &Store, locked: &LockedFolder<'_>) -> Result<Found, KnowledgeError> {
        let mut known: HashMap<String, KnowledgeState> = store
            .knowledge_states(&self.log.file)?
            .into_iter()
            .map(|state| (state.file.clone(), state))
            .collect();
        let head = self.surroundings.head();
        let mut found = Found::default();
        let stamps = knowledge_stamps(&self.catalogue).map_err(|source| CatalogueError::Folder {
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

    /// Who wrote a text that was found: the agent whose settlement was killed after the file was put in place, whoever wrote the
    /// same text before, in this or another worktree, else nobody knows.
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
        let is_alive = |process: &RunProcess| self.surroundings.is_alive(process);
        Ok(store.author_of_found(&self.log.file.worktree, &is_alive)?)
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
