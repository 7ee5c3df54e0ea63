//! The entries of the locked folder. People edit files without a lock, so an entry is read again before it is changed.

use ralph_model::CapturedKnowledge;
use ralph_notes::{FileError, FileText, Knowledge, LockedFolder, capped_to_words, title_key};

use super::KnowledgeError;
use super::history::Log;
use super::same_note::{Outline, same_note};
use ralph_search::{IndexPlace, SearchIndex, SourceError, Sources};

/// How a new entry relates to the existing ones.
pub(super) enum Match {
    None,
    Updates(String, FileText),
    /// An entry written by a person says the same.
    SameText(String),
}

/// The entries in the folder.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<Outline>);

impl Known {
    /// Reads from the index, which only parses files that have changed. Files without valid frontmatter are ignored.
    pub(super) fn read(place: &IndexPlace<'_>) -> Result<Self, SourceError> {
        let outlines = SearchIndex::ask(place, (&[], Sources::KNOWLEDGE), |index| index.all_knowledge())?;
        let known = outlines
            .iter()
            .map(|note| Outline::new(&note.file, &note.title, &note.tags));
        Ok(Self(known.collect()))
    }

    /// The entry that a new one updates, and its current file.
    pub(super) fn find(
        &mut self,
        folder: &LockedFolder<'_>,
        note: &CapturedKnowledge,
    ) -> Result<Option<(String, FileText)>, FileError> {
        let new = Outline::new("", &note.title, &note.tags);
        // Each pass returns or refreshes an outdated outline, so the loop ends.
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

    /// Like [`Self::find`], but never replaces what a person wrote or edited; then it may update the agent's own entry
    /// with the same title.
    pub(super) fn find_for_agent(
        &mut self,
        (folder, log): (&LockedFolder<'_>, &Log<'_, '_>),
        note: &CapturedKnowledge,
    ) -> Result<Match, KnowledgeError> {
        let title = title_key(&note.title);
        let mut own = None;
        let mut same_title: Vec<&Outline> = self.0.iter().filter(|old| old.title == title).collect();
        same_title.sort_by(|one, other| one.file.cmp(&other.file));
        for old in same_title {
            let Some(file) = folder.read(&old.file)? else { continue };
            if log.is_agents(&old.file, &file)? {
                own.get_or_insert((old.file.clone(), file));
            } else if Knowledge::parse(&file.bytes).is_ok_and(|says| says.body == capped_to_words(&note.body)) {
                return Ok(Match::SameText(old.file.clone()));
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

    pub(super) fn put(&mut self, name: &str, outline: Option<Outline>) {
        self.0.retain(|old| old.file != name);
        self.0.extend(outline);
    }
}
