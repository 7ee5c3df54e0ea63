//! What somebody does to knowledge entries by a command: adds one, deletes one, restores one.

use jiff::Timestamp;
use ralph_model::CapturedKnowledge;
use ralph_notes::title_key;
use ralph_store::NoteAction;
use std::collections::HashSet;

use crate::catalogue::{Catalogue, KnowledgeOutline};

use super::super::notebook::History;
use super::{KnowledgeError, KnowledgeFolder, Placement, PutBack};

/// What a note is called while it is written. The folder is locked, so there is only one.
const STAGED: &str = ".ralph-added";

/// What became of an entry, and whether it is in the log.
#[derive(Debug)]
pub struct KnowledgeWritten<T> {
    /// What became of it.
    pub outcome: T,
    /// Whether that is in the log.
    pub history: History,
}

impl KnowledgeFolder<'_> {
    /// Keeps a note that was accepted (see [`accept_knowledge`](super::accept_knowledge)). When this returns, it is
    /// durable.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&self, note: &CapturedKnowledge, at: Timestamp) -> Result<KnowledgeWritten<Placement>, KnowledgeError> {
        let mut folder = self.open()?;
        let (mut store, history) = self.log_or_not();
        let mut log = self.logged(store.as_mut(), at);
        log.record_found(&folder.locked)?;
        let outcome = folder.put(note, STAGED, &mut log, &mut |_, _| Ok(()))?;
        let history = log.unrecorded.map_or(history, History::NotRecorded);
        Ok(KnowledgeWritten { outcome, history })
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

    /// Deletes an entry by the name of its file; none when there is none. The log keeps its text.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn delete(&self, name: &str, at: Timestamp) -> Result<Option<KnowledgeWritten<()>>, KnowledgeError> {
        if !self.path().is_dir() {
            return Ok(None);
        }
        let mut locked = self.lock()?;
        let (mut store, history) = self.log_or_not();
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

    /// Gives an entry the text of one of its versions again, or that of the last where none is named.
    ///
    /// # Errors
    /// When there is no such version, the entry is there and no version is named, or it cannot be written.
    pub fn restore(&self, name: &str, version: Option<usize>, at: Timestamp) -> Result<PutBack, KnowledgeError> {
        let mut store = self.open_log()?;
        self.take_stock(&mut store, at)?;
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
            return Ok(PutBack::Before);
        }
        self.put_back(&mut store, name, (current, Some(&wanted.change.text)), at)
    }

    /// The log, or why there is none.
    fn log_or_not(&self) -> (Option<ralph_store::Store>, History) {
        match self.open_log() {
            Ok(store) => (Some(store), History::Recorded),
            Err(error) => (None, History::NotRecorded(error)),
        }
    }
}
