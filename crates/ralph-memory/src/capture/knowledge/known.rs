//! What is known of the notes in the folder while it is locked. People edit them without a lock, so the one that is to be
//! changed is read again before.

use ralph_model::CapturedKnowledge;
use ralph_notes::{FileError, FileText, Knowledge, LockedFolder, capped_to_words, title_key};

use super::KnowledgeError;
use super::history::Log;
use super::same_note::{Outline, same_note};
use crate::catalogue::{Catalogue, CatalogueError, CataloguePlace};

/// What a new entry of an agent means for those that are there.
pub(super) enum Match {
    /// It is a new one.
    None,
    /// It updates this one.
    Updates(String, FileText),
    /// This one, which a person wrote, says it already.
    Says(String),
}

/// The notes that stand in the folder.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<Outline>);

impl Known {
    /// Asks the catalogue, which reads only the files that have changed since it was asked last. What is no note cannot be
    /// brought up to date either.
    pub(super) fn read(place: &CataloguePlace<'_>) -> Result<Self, CatalogueError> {
        let outlines = Catalogue::ask_knowledge(place, &[], Catalogue::knowledge_outlines)?;
        let known = outlines
            .iter()
            .map(|note| Outline::new(&note.file, &note.title, &note.tags));
        Ok(Self(known.collect()))
    }

    /// The file of the note that a new one brings up to date, as it stands now.
    pub(super) fn find(
        &mut self,
        folder: &LockedFolder<'_>,
        note: &CapturedKnowledge,
    ) -> Result<Option<(String, FileText)>, FileError> {
        let new = Outline::new("", &note.title, &note.tags);
        // Each turn either ends it or makes an outline newer that a person has outdated, so they come to an end.
        for _ in 0..=self.0.len() {
            let Some(found) = same_note(&new, &self.0).cloned() else {
                return Ok(None);
            };
            let file = folder.read(&found.file)?;
            let now = file.as_ref().and_then(|file| Outline::read(&found.file, &file.bytes));
            match file {
                Some(file) if now.as_ref() == Some(&found) => return Ok(Some((found.file, file))),
                _ => self.put(&found.file, now),
            }
        }
        Ok(None)
    }

    /// The same for an agent, which never replaces what a person wrote or edited: then it may update an entry of its own with the
    /// same title.
    pub(super) fn find_for_agent(
        &mut self,
        (folder, log): (&LockedFolder<'_>, &Log<'_, '_>),
        note: &CapturedKnowledge,
    ) -> Result<Match, KnowledgeError> {
        let title = title_key(&note.title);
        let mut own = None;
        let mut namesakes: Vec<&Outline> = self.0.iter().filter(|old| old.title == title).collect();
        namesakes.sort_by(|one, other| one.file.cmp(&other.file));
        for old in namesakes {
            let Some(file) = folder.read(&old.file)? else { continue };
            if log.is_agents(&old.file, &file)? {
                own.get_or_insert((old.file.clone(), file));
            } else if Knowledge::parse(&file.bytes).is_ok_and(|says| says.body == capped_to_words(&note.body)) {
                return Ok(Match::Says(old.file.clone()));
            }
        }
        let found = match own {
            Some(own) => Some(own),
            None => self.find(folder, note)?,
        };
        match found {
            Some((name, file)) if log.is_agents(&name, &file)? => Ok(Match::Updates(name, file)),
            _ => Ok(Match::None),
        }
    }

    /// Takes in what a file says now.
    pub(super) fn put(&mut self, name: &str, outline: Option<Outline>) {
        self.0.retain(|old| old.file != name);
        self.0.extend(outline);
    }
}
