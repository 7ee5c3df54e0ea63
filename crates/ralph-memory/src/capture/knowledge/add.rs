//! Adds, deletes and restores knowledge entries for commands.

use jiff::Timestamp;
use ralph_model::CapturedKnowledge;
use ralph_notes::title_key;
use ralph_store::NoteAction;
use std::collections::HashSet;

use ralph_search::{KnowledgeMetadata, SearchIndex, Sources};

use super::super::note_repository::History;
use super::{KnowledgeError, KnowledgeFolder, Placement, RestoreOutcome};

/// The temporary name during a write. The folder is locked, so one is enough.
const STAGED: &str = ".ralph-added";

/// A write and whether it is in the log.
#[derive(Debug)]
pub struct KnowledgeWritten<T> {
    pub outcome: T,
    pub history: History,
}

impl KnowledgeFolder<'_> {
    /// Stores an entry that [`accept_knowledge`](super::accept_knowledge) accepted. It is durable on return.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&self, note: &CapturedKnowledge, at: Timestamp) -> Result<KnowledgeWritten<Placement>, KnowledgeError> {
        let mut folder = self.open()?;
        let (mut store, history) = self.try_open_log();
        let mut log = self.logged(store.as_mut(), at);
        log.record_found(&folder.locked)?;
        let outcome = folder.put(note, STAGED, &mut log, &mut |_, _| Ok(()))?;
        let history = log.unrecorded.map_or(history, History::NotRecorded);
        Ok(KnowledgeWritten { outcome, history })
    }

    /// The files of the entries with these titles or file names, in file order.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn named(&self, names: &[String]) -> Result<Vec<String>, KnowledgeError> {
        let names: HashSet<String> = names.iter().map(|name| title_key(name)).collect();
        let outlines = SearchIndex::ask(&self.index, (&[], Sources::KNOWLEDGE), |index| index.all_knowledge())?;
        let is_named = |note: &KnowledgeMetadata| {
            let file = title_key(&note.file);
            let stem = file.strip_suffix(".md").unwrap_or(&file);
            names.contains(&title_key(&note.title)) || names.contains(&file) || names.contains(stem)
        };
        let named = outlines.into_iter().filter(is_named);
        Ok(named.map(|note| note.file).collect())
    }

    /// Deletes an entry by file name; `None` if there is none. Its text stays in the log.
    ///
    /// # Errors
    /// If it cannot be deleted.
    pub fn delete(&self, name: &str, at: Timestamp) -> Result<Option<KnowledgeWritten<()>>, KnowledgeError> {
        if !self.path().is_dir() {
            return Ok(None);
        }
        let mut locked = self.lock()?;
        let (mut store, history) = self.try_open_log();
        let mut log = self.logged(store.as_mut(), at);
        log.record_found(&locked)?;
        loop {
            let Some(file) = locked.read(name)? else {
                return Ok(None);
            };
            log.record_old(name, &file)?;
            if locked.remove(name, &file)? {
                let text = String::from_utf8_lossy(&file.bytes);
                log.record_made(NoteAction::Deleted, (name, &text), None)?;
                let history = log.unrecorded.map_or(history, History::NotRecorded);
                return Ok(Some(KnowledgeWritten { outcome: (), history }));
            }
        }
    }

    /// Restores a version of an entry, or the last one of a deleted entry.
    ///
    /// # Errors
    /// If there is no such version, the entry exists and no version is named, or it cannot be written.
    pub fn restore(&self, name: &str, version: Option<usize>, at: Timestamp) -> Result<RestoreOutcome, KnowledgeError> {
        let mut store = self.open_log()?;
        self.sync_log(&mut store, at)?;
        let versions = store.knowledge_history(&self.log.file, name)?;
        let wanted = match version {
            Some(number) => versions.iter().find(|version| version.number == number),
            None => versions.last(),
        };
        let wanted = wanted.ok_or_else(|| KnowledgeError::NoVersion {
            name: name.to_owned(),
            versions: versions.len(),
        })?;
        let is_there = |version: &&ralph_store::KnowledgeVersion| {
            version.change.action.presence() == ralph_store::Presence::Present
        };
        let current = versions
            .last()
            .filter(is_there)
            .map(|version| version.change.text.as_str());
        if version.is_none() && current.is_some() {
            return Ok(RestoreOutcome::Unchanged);
        }
        self.put_back(&mut store, name, (current, Some(&wanted.change.text)), at)
    }

    /// The log, or why it is not available.
    fn try_open_log(&self) -> (Option<ralph_store::Store>, History) {
        match self.open_log() {
            Ok(store) => (Some(store), History::Recorded),
            Err(error) => (None, History::NotRecorded(error)),
        }
    }
}
