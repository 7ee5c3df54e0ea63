//! The folder of long notes while it is locked, and the one way in which a note is put in place there: the text is written
//! whole beside its place, under a name of its own, and leaves that name in the step in which it gets its place.

use std::path::PathBuf;

use jiff::Timestamp;
use ralph_model::CapturedKnowledge;
use ralph_notes::{
    FileText, Knowledge, LockedFolder, OldText, PlacedOver, capped_to_words, knowledge_file_name, knowledge_text,
    updated_knowledge,
};

use super::known::Known;
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
    /// Puts a note in place. Its text stands ready under a name beside first, and `ready` is called each time it does.
    pub(super) fn put(
        &mut self,
        note: &CapturedKnowledge,
        at: Timestamp,
        staged: &str,
        ready: &mut dyn FnMut() -> Result<(), KnowledgeError>,
    ) -> Result<Placement, KnowledgeError> {
        for _ in 0..MAX_TRIES {
            let found = self.known.find(&self.locked, note)?;
            let text = text_of(note, at, found.as_ref())?;
            if let Some((name, old)) = &found
                && old.bytes == text.as_bytes()
            {
                self.locked.unstage(staged)?;
                return Ok(Placement::Known(self.path.join(name)));
            }
            self.locked
                .stage(staged, text.as_bytes(), found.as_ref().map(|(_, old)| old))?;
            ready()?;
            let Some((name, placement)) = self.place(staged, note, found)? else {
                continue;
            };
            let outline = Outline::read(&name, text.as_bytes());
            self.known.put(&name, outline);
            return Ok(placement);
        }
        Err(KnowledgeError::NoPlace {
            title: note.title.clone(),
        })
    }

    /// Gives a staged note its place; none when somebody came first.
    fn place(
        &mut self,
        staged: &str,
        note: &CapturedKnowledge,
        found: Option<(String, FileText)>,
    ) -> Result<Option<(String, Placement)>, KnowledgeError> {
        if let Some((name, old)) = found {
            let keep = old_text(&old, note);
            if let PlacedOver::Yes { replaced } = self.locked.place_over(staged, &name, &old, keep)? {
                let path = self.path.join(&name);
                return Ok(Some((name, Placement::Changed { path, replaced })));
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

/// What becomes of the text that a note had. A person may have written it, and git need not know of it.
fn old_text(old: &FileText, note: &CapturedKnowledge) -> OldText {
    match Knowledge::parse(&old.bytes) {
        Ok(old) if old.body == capped_to_words(&note.body) => OldText::Drop,
        _ => OldText::Keep,
    }
}

/// What the file is to say: a new note, or the old one with the new text.
fn text_of(
    note: &CapturedKnowledge,
    at: Timestamp,
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
