//! Operations on notes: add, edit, delete, start anew. All text is validated here.

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_model::{Entropy, Extra, Note, NoteId};
use ralph_notes::{Document, Entry, Gap, Lookup, Patches, link_beside, resolve};
use ralph_search::{Change, Neighbours};
use ralph_store::{NoteAction, Store, Wait};

use super::log::Edit;
use super::new_ids::{NewIds, within_ids};
use super::restore::Found;
use super::{Draft, NoteRepository, NoteRepositoryError, Stored};
use crate::capture::{SecretPolicy, accept};

/// What to do about an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Fail.
    OnlyIfMissing,
    /// Keep it as a backup.
    KeepBackup,
}

impl NoteRepository<'_> {
    /// The note with exactly this text.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn find_same(&self, content: &str) -> Result<Option<Note>, NoteRepositoryError> {
        let content = content.replace("\r\n", "\n").replace('\r', "\n");
        let reading = self.read()?;
        let first_line = content.lines().next().unwrap_or_default().trim();
        // Most texts are new, and then the file need not be parsed.
        if !String::from_utf8_lossy(&reading.bytes).contains(first_line) {
            return Ok(None);
        }
        let document = reading.document();
        let mut notes = document.entries().iter().filter_map(|entry| document.note(entry));
        Ok(notes.find(|note| note.content == content))
    }

    /// Adds notes.
    ///
    /// # Errors
    /// If one is refused, a superseded note does not exist, or the file cannot be written.
    pub fn add(&self, drafts: &[Draft], entropy: &mut dyn Entropy) -> Result<Stored, NoteRepositoryError> {
        let accepted: Vec<Draft> = drafts.iter().map(validate_draft).collect::<Result<_, _>>()?;
        let superseded = accepted.iter().filter_map(|draft| draft.extra.get(Extra::SUPERSEDES));
        self.refuse_unknown(superseded)?;
        let mut now_once: Option<Timestamp> = None;
        let mut ids: Vec<NoteId> = Vec::new();
        self.change(|document, log| {
            let now = *now_once.get_or_insert_with(|| within_ids(self.clock.now()));
            let lookup = document.lookup(accepted.len());
            if ids.is_empty() {
                let mut new_ids = NewIds::new(&lookup, log, entropy);
                ids.extend(accepted.iter().map(|draft| {
                    let second = draft.at.unwrap_or(now).as_second();
                    new_ids.next(self.file_kind.id_prefix(draft.kind), second)
                }));
            }
            let notes = accepted
                .iter()
                .zip(&ids)
                .map(|(draft, id)| self.note_of(draft, id.clone(), draft.at.unwrap_or(now), &lookup))
                .collect::<Result<Vec<Note>, _>>()?;
            // After a retry, another process may have saved them already.
            let missing: Vec<Note> = notes
                .iter()
                .filter(|note| lookup.find(note.id.as_str()).is_empty())
                .cloned()
                .collect();
            Ok(Edit {
                patches: document.add(&missing),
                action: NoteAction::Added,
                entries: added(document, &missing),
                notes,
            })
        })
    }

    /// Edits a note with a function of its current state. Returns no note if nothing changes.
    ///
    /// # Errors
    /// If there is no such note, the change is refused, or the file cannot be written.
    pub fn edit(
        &self,
        selector: &str,
        secrets: SecretPolicy,
        mut edit: impl FnMut(&Note) -> Result<Note, NoteRepositoryError>,
    ) -> Result<Stored, NoteRepositoryError> {
        self.refuse_unknown([selector])?;
        self.change(|document, _| {
            let entry = self.select(document, selector)?;
            let old = self.note_at(document, entry)?;
            let new = validate_changes(&old, edit(&old)?, secrets)?;
            let stays = (old.kind == new.kind).then(|| vec![Change::Edited(new.clone())]);
            let edit = Edit::of_one(document.change(entry, &new), NoteAction::Edited, new);
            Ok(Edit { entries: stays, ..edit })
        })
    }

    /// Deletes all of these notes or, if one does not exist, none. A note that disappeared without a deletion is
    /// recorded as deleted and no longer reported.
    ///
    /// # Errors
    /// If a note does not exist and did not disappear this way, or the file cannot be written.
    pub fn delete(&self, selectors: &[String]) -> Result<Stored, NoteRepositoryError> {
        self.refuse_unknown_to_delete(selectors)?;
        let mut resolved: Vec<String> = Vec::new();
        let mut gone: Vec<Note> = Vec::new();
        self.change(|document, log| {
            let lookup = document.lookup(selectors.len());
            if resolved.is_empty() && gone.is_empty() {
                let mut seen = HashSet::new();
                for selector in selectors {
                    match self.find_or_vanished(&lookup, log, selector)? {
                        Found::InFile(entry) if seen.insert(document.id(entry).to_owned()) => {
                            resolved.push(document.id(entry).to_owned());
                        }
                        Found::Vanished(note) if seen.insert(note.id.to_string()) => gone.push(note),
                        Found::InFile(_) | Found::Vanished(_) => {}
                    }
                }
            }
            let entries: Vec<&Entry> = resolved
                .iter()
                .filter_map(|id| lookup.find(id).first().copied())
                .collect();
            let notes: Vec<Note> = entries
                .iter()
                .map(|entry| self.note_at(document, entry))
                .collect::<Result<_, _>>()?;
            Ok(Edit {
                patches: document.delete(&entries),
                action: NoteAction::Deleted,
                entries: Some(resolved.iter().cloned().map(Change::Removed).collect()),
                notes: notes.into_iter().chain(gone.iter().cloned()).collect(),
            })
        })
    }

    /// Starts with an empty file and returns the backup of the old one.
    ///
    /// # Errors
    /// If the file exists and must not be replaced, or a file cannot be written.
    pub fn start_over(&self, start: Start) -> Result<(Stored, Option<PathBuf>), NoteRepositoryError> {
        let refuse_existing = || match start {
            Start::OnlyIfMissing if self.path.exists() => Err(NoteRepositoryError::Exists {
                path: self.path.clone(),
            }),
            Start::OnlyIfMissing | Start::KeepBackup => Ok(()),
        };
        // Checked before anything is created, and again under the lock, when it is final.
        refuse_existing()?;
        let mut aside = None;
        let stored = self.change(|document, _| {
            refuse_existing()?;
            if self.path.exists() {
                let file = resolve(&self.path)?;
                aside = Some(link_beside(&file, ".bak")?);
            }
            let notes = document
                .entries()
                .iter()
                .filter_map(|entry| document.note(entry))
                .collect();
            Ok(Edit {
                patches: Patches::whole(document.bytes(), self.file_kind.template().into_bytes()),
                action: NoteAction::Deleted,
                entries: None,
                notes,
            })
        })?;
        Ok((stored, aside))
    }

    /// Refuses ids that can neither be deleted nor have disappeared, before anything is locked or created.
    fn refuse_unknown_to_delete(&self, selectors: &[String]) -> Result<(), NoteRepositoryError> {
        let reading = self.read()?;
        let document = reading.document();
        let lookup = document.lookup(selectors.len());
        for selector in selectors {
            match self.select_in(&lookup, selector) {
                Ok(_) => {}
                Err(error @ NoteRepositoryError::NotFound { .. }) => {
                    let log = Store::open_existing(&self.log.database, Wait::Long).ok().flatten();
                    let log = log.ok_or(error)?;
                    self.find_or_vanished(&lookup, Some(&log), selector)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Refuses unknown ids before anything is locked or created.
    pub(super) fn refuse_unknown<'s>(
        &self,
        selectors: impl IntoIterator<Item = &'s str>,
    ) -> Result<(), NoteRepositoryError> {
        let selectors: Vec<&str> = selectors.into_iter().collect();
        if selectors.is_empty() {
            return Ok(());
        }
        let reading = self.read()?;
        self.select_all(&reading.document(), &selectors).map(drop)
    }

    fn note_of(
        &self,
        draft: &Draft,
        id: NoteId,
        at: Timestamp,
        lookup: &Lookup<'_, '_>,
    ) -> Result<Note, NoteRepositoryError> {
        let mut extra = draft.extra.clone();
        if let Some(old) = draft.extra.get(Extra::SUPERSEDES) {
            let old = lookup.document().id(self.select_in(lookup, old)?).to_owned();
            extra.set(Extra::SUPERSEDES, &old);
        }
        Ok(Note {
            id,
            kind: draft.kind,
            content: draft.content.clone(),
            tags: draft.tags.clone(),
            created: day_of(at),
            extra,
        })
    }
}

/// The UTC day of a timestamp.
pub(super) fn day_of(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

/// The index changes for new notes: in file order, each after the previous one. Empty sections share a gap, so notes
/// are grouped by gap, not by type.
fn added(document: &Document<'_>, notes: &[Note]) -> Option<Vec<Change>> {
    let mut standing = notes
        .iter()
        .map(|note| Some((document.gap_for(note.kind)?, note)))
        .collect::<Option<Vec<(Gap<'_>, &Note)>>>()?;
    standing.sort_by_key(|(gap, _)| gap.at);
    let mut last: Option<(Gap<'_>, &Note)> = None;
    let changes = standing.into_iter().map(|(gap, note)| {
        let in_same_gap = last.filter(|(other, _)| (other.before, other.after) == (gap.before, gap.after));
        let before = in_same_gap.map_or(gap.before, |(_, before)| Some(before.id.as_str()));
        last = Some((gap, note));
        Change::Added {
            note: note.clone(),
            between: Neighbours {
                before: before.map(str::to_owned),
                after: gap.after.map(str::to_owned),
            },
        }
    });
    Some(changes.collect())
}

/// Validates a draft.
pub(super) fn validate_draft(draft: &Draft) -> Result<Draft, NoteRepositoryError> {
    let mut passed = draft.clone();
    passed.at = draft.at.map(within_ids);
    passed.content = pass(TEXT, &draft.content, draft.secrets)?;
    if !draft.tags.is_empty() {
        pass(TAGS, &draft.tags.to_string(), draft.secrets)?;
    }
    for (key, value) in draft.extra.iter() {
        passed.extra.set(key, &pass(key, value, draft.secrets)?);
    }
    Ok(passed)
}

/// Validates what is new in a note; the rest was accepted before.
fn validate_changes(old: &Note, mut new: Note, secrets: SecretPolicy) -> Result<Note, NoteRepositoryError> {
    if new.content != old.content {
        new.content = pass(TEXT, &new.content, secrets)?;
    }
    if new.tags != old.tags && !new.tags.is_empty() {
        pass(TAGS, &new.tags.to_string(), secrets)?;
    }
    Ok(new)
}

/// The parts of a note, as named in messages.
const TEXT: &str = "text";
const TAGS: &str = "tags";

fn pass(part: &str, text: &str, secrets: SecretPolicy) -> Result<String, NoteRepositoryError> {
    accept(text, secrets)
        .map(std::borrow::Cow::into_owned)
        .map_err(|refusal| NoteRepositoryError::Refused {
            part: if part == TEXT {
                String::new()
            } else {
                format!("{part}: ")
            },
            refusal,
        })
}
