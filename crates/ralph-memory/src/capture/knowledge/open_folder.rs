//! The locked folder of knowledge entries, and the only way to write an entry: its text is written to a temporary file,
//! which is then renamed into place.

use std::path::PathBuf;

use ralph_model::{AuthorKind, CapturedKnowledge, FileStamp};
use ralph_notes::{FileText, LockedFolder, PlaceOutcome, knowledge_file_name, knowledge_text, updated_knowledge};
use ralph_store::NoteAction;

use super::history::Log;
use super::known::{Known, Match};
use super::same_note::Outline;
use super::{KnowledgeError, KnowledgeFolder, Placement};

/// How often a write is retried while another process saves the same file.
const MAX_TRIES: usize = 20;
/// The maximum number of files whose names differ only by number.
const MAX_SAME_NAME: usize = 10_000;

/// The locked folder and its entries.
pub(super) struct OpenFolder<'a> {
    path: PathBuf,
    pub(super) locked: LockedFolder<'a>,
    known: Known,
}

impl<'a> KnowledgeFolder<'a> {
    /// Locks the folder; creates it if it is missing.
    pub(super) fn lock(&self) -> Result<LockedFolder<'a>, KnowledgeError> {
        self.project_env.prepare_knowledge_folder(self.path())?;
        Ok(LockedFolder::lock(self.path(), &self.patience)?)
    }

    /// Locks the folder and reads its entries.
    pub(super) fn open(&self) -> Result<OpenFolder<'a>, KnowledgeError> {
        let locked = self.lock()?;
        Ok(OpenFolder {
            path: self.path().to_owned(),
            known: Known::read(&self.index)?,
            locked,
        })
    }
}

impl OpenFolder<'_> {
    /// Writes an entry and records it. `ready` is called after each step.
    pub(super) fn put(
        &mut self,
        note: &CapturedKnowledge,
        staged: &str,
        log: &mut Log<'_, '_>,
        ready: &mut dyn FnMut(&mut Log<'_, '_>, Step<'_>) -> Result<(), KnowledgeError>,
    ) -> Result<Placement, KnowledgeError> {
        for _ in 0..MAX_TRIES {
            let found = match self.find(note, log)? {
                Match::None => None,
                Match::Updates(name, file) => Some((name, file)),
                Match::SameText(name) => {
                    self.locked.unstage(staged)?;
                    return Ok(Placement::Unchanged(self.path.join(name)));
                }
            };
            let text = text_of(note, log.at, found.as_ref())?;
            if let Some((name, old)) = &found {
                if old.bytes == text.as_bytes() {
                    self.locked.unstage(staged)?;
                    return Ok(Placement::Unchanged(self.path.join(name)));
                }
                log.record_old(name, old)?;
            }
            self.locked
                .stage(staged, text.as_bytes(), found.as_ref().map(|(_, old)| old))?;
            ready(log, Step::Staged(&text))?;
            let before = self.locked.stamp(staged);
            let Some((name, placement)) = self.place(staged, note, found)? else {
                continue;
            };
            ready(log, Step::Placed)?;
            let action = match placement {
                Placement::Created(_) => NoteAction::Added,
                _ => NoteAction::Edited,
            };
            let stamp = stamp_of(before, self.locked.stamp(&name));
            log.record_made(action, (&name, &text), stamp)?;
            self.known.put(&name, Outline::read(&name, text.as_bytes()));
            return Ok(placement);
        }
        Err(KnowledgeError::NoPlace {
            title: note.title.clone(),
        })
    }

    fn find(&mut self, note: &CapturedKnowledge, log: &Log<'_, '_>) -> Result<Match, KnowledgeError> {
        if log.author.kind == AuthorKind::Agent {
            return self.known.find_for_agent((&self.locked, log), note);
        }
        let found = self.known.find(&self.locked, note)?;
        Ok(found.map_or(Match::None, |(name, file)| Match::Updates(name, file)))
    }

    /// Moves a staged entry into place; `None` if another process was faster.
    fn place(
        &mut self,
        staged: &str,
        note: &CapturedKnowledge,
        found: Option<(String, FileText)>,
    ) -> Result<Option<(String, Placement)>, KnowledgeError> {
        if let Some((name, old)) = found {
            if self.locked.place_over(staged, &name, &old)? == PlaceOutcome::Replaced {
                let path = self.path.join(&name);
                return Ok(Some((name, Placement::Updated(path))));
            }
            // Another process saved the file since it was read, and may have changed its title.
            let now = self.locked.read(&name)?;
            let now = now.and_then(|file| Outline::read(&name, &file.bytes));
            self.known.put(&name, now);
            return Ok(None);
        }
        for number in 1..=MAX_SAME_NAME {
            let name = knowledge_file_name(&note.title, number);
            if self.locked.place_new(staged, &name)? {
                let path = self.path.join(&name);
                return Ok(Some((name, Placement::Created(path))));
            }
        }
        Ok(None)
    }
}

/// Progress of a write.
pub(super) enum Step<'t> {
    /// The text is in the temporary file.
    Staged(&'t str),
    /// In place, not yet recorded.
    Placed,
}

/// The stamp of the written file. If another process saved it since, the stamp of the staged file, so that the next
/// command reads the file.
fn stamp_of(staged: Option<FileStamp>, now: Option<FileStamp>) -> Option<FileStamp> {
    match (staged, now) {
        (Some(staged), Some(now)) if now.same_content(&staged) => Some(now),
        (staged, _) => staged,
    }
}

/// The text of the file: a new entry, or the old one with the new body.
fn text_of(
    note: &CapturedKnowledge,
    at: jiff::Timestamp,
    found: Option<&(String, FileText)>,
) -> Result<String, KnowledgeError> {
    let Some((name, old)) = found else {
        return Ok(knowledge_text(note, at));
    };
    updated_knowledge(&old.bytes, &note.tags, &note.body).map_err(|problem| KnowledgeError::Unchangeable {
        name: name.clone(),
        problem,
    })
}
