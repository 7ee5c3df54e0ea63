//! The folder of knowledge entries while it is locked, and the one way in which an entry is put in place there: the text is
//! written whole beside its place, under a name of its own, and leaves that name in the step in which it gets its place.

use std::path::PathBuf;

use ralph_model::{AuthorKind, CapturedKnowledge, FileStamp};
use ralph_notes::{FileText, LockedFolder, Put, knowledge_file_name, knowledge_text, updated_knowledge};
use ralph_store::NoteAction;

use super::history::Log;
use super::known::{Known, Match};
use super::same_note::Outline;
use super::{KnowledgeError, KnowledgeFolder, Placement};

/// How often a note gives way to somebody who saves the same file.
const MAX_TRIES: usize = 20;
/// How many files may have the same name but for their number.
const MAX_NAMESAKES: usize = 10_000;

/// The folder, locked, and what is known of its notes.
pub(super) struct OpenFolder<'a> {
    path: PathBuf,
    pub(super) locked: LockedFolder<'a>,
    known: Known,
}

impl<'a> KnowledgeFolder<'a> {
    /// Locks the folder, which is made where there is none.
    pub(super) fn lock(&self) -> Result<LockedFolder<'a>, KnowledgeError> {
        self.surroundings.prepare_knowledge_folder(self.path())?;
        Ok(LockedFolder::lock(self.path(), &self.patience)?)
    }

    /// Locks the folder and looks at what stands in it.
    pub(super) fn open(&self) -> Result<OpenFolder<'a>, KnowledgeError> {
        let locked = self.lock()?;
        Ok(OpenFolder {
            path: self.path().to_owned(),
            known: Known::read(&self.catalogue)?,
            locked,
        })
    }
}

impl OpenFolder<'_> {
    /// Puts an entry in place and records it. Its text stands ready under a name beside first, and `ready` is called with it
    /// each time it does.
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
                Match::Says(name) => {
                    self.locked.unstage(staged)?;
                    return Ok(Placement::Known(self.path.join(name)));
                }
            };
            let text = text_of(note, log.at, found.as_ref())?;
            if let Some((name, old)) = &found {
                if old.bytes == text.as_bytes() {
                    self.locked.unstage(staged)?;
                    return Ok(Placement::Known(self.path.join(name)));
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
                Placement::Made(_) => NoteAction::Added,
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

    /// Gives a staged note its place; none when somebody came first.
    fn place(
        &mut self,
        staged: &str,
        note: &CapturedKnowledge,
        found: Option<(String, FileText)>,
    ) -> Result<Option<(String, Placement)>, KnowledgeError> {
        if let Some((name, old)) = found {
            if self.locked.place_over(staged, &name, &old)? == Put::Over {
                let path = self.path.join(&name);
                return Ok(Some((name, Placement::Changed(path))));
            }
            // Somebody has saved the file since it was read, and may have given it another title.
            let now = self.locked.read(&name)?;
            let now = now.and_then(|file| Outline::read(&name, &file.bytes));
            self.known.put(&name, now);
            return Ok(None);
        }
        for number in 1..=MAX_NAMESAKES {
            let name = knowledge_file_name(&note.title, number);
            if self.locked.place_new(staged, &name)? {
                let path = self.path.join(&name);
                return Ok(Some((name, Placement::Made(path))));
            }
        }
        Ok(None)
    }
}

/// How far an entry that is being put in place has come.
pub(super) enum Step<'t> {
    /// Its text stands ready beside its place.
    Staged(&'t str),
    /// It has its place, and is not recorded yet.
    Placed,
}

/// The stamp of the file that was put in place. Where somebody has saved it since, it is that of the staged one, so that the
/// next command looks at the file.
fn stamp_of(staged: Option<FileStamp>, now: Option<FileStamp>) -> Option<FileStamp> {
    match (staged, now) {
        (Some(staged), Some(now)) if now.same_content(&staged) => Some(now),
        (staged, _) => staged,
    }
}

/// What the file is to say: a new note, or the old one with the new text.
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
