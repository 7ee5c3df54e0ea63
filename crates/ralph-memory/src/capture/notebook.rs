//! A file of notes together with its log. Every change goes to the file first, then to the log, and is acknowledged
//! after both; what the log missed (a hand edit, a killed process) is found by comparing and written down then.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_model::{Clock, Entropy, Extra, FileStamp, Note, NoteId, NoteKind, Shelf, Tags};
use ralph_notes::{
    Document, Entry, FileError, LockedFile, Patches, Patience, UpdateError, Updated, read_file, write_new_file,
};
use ralph_store::{FileRecord, NoteAction, NoteChange, NoteFile, Store, StoreError};

use super::Refusal;
use super::compare::{Head, compare};

/// How many random suffixes are tried before the id's second is moved on.
const SUFFIX_TRIES: usize = 64;

/// Where the log of a file is kept.
#[derive(Debug, Clone)]
pub struct LogPlace {
    /// The database.
    pub database: PathBuf,
    /// The file's name in it.
    pub file: NoteFile,
}

/// A file of notes with its log.
pub struct Notebook<'a> {
    /// What kind of notes it holds.
    pub shelf: Shelf,
    /// The file.
    pub path: PathBuf,
    /// Where its log is kept.
    pub log: LogPlace,
    /// The commit that is checked out now; asked for only when something is written down.
    pub head: &'a dyn Fn() -> Option<String>,
    /// Makes the folder of a database that is not there yet.
    pub prepare_folder: &'a dyn Fn(&Path) -> Result<(), FileError>,
    /// The present moment.
    pub clock: &'a dyn Clock,
    /// How long to wait for others who write.
    pub patience: Patience<'a>,
}

/// A note before it has an id.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What it is about.
    pub kind: NoteKind,
    /// Its text, accepted by the gate.
    pub content: String,
    /// Its tags.
    pub tags: Tags,
    /// Everything else to record; a superseded id may be given by its beginning.
    pub extra: Extra,
}

/// Whether a change is in the log.
#[derive(Debug)]
pub enum History {
    /// It is.
    Recorded,
    /// It is not; the note itself is safe in its file, and the log takes it up at the next change.
    NotRecorded(StoreError),
}

/// What was found to have happened without ralph.
#[derive(Debug, Default)]
pub struct Findings {
    /// Notes that are gone without a deletion.
    pub vanished: Vec<Note>,
}

/// What a change did.
#[derive(Debug)]
pub struct Stored {
    /// The notes as they are now, or last were.
    pub notes: Vec<Note>,
    /// Whether it is in the log.
    pub history: History,
    /// What was found on the way.
    pub findings: Findings,
    /// Other people's saves that could not be merged and were kept beside the file.
    pub kept: Vec<PathBuf>,
}

/// A file of notes as it was read.
#[derive(Debug)]
pub struct Reading {
    shelf: Shelf,
    bytes: Vec<u8>,
    stamp: Option<FileStamp>,
}

/// Why a notebook could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum NotebookError {
    /// The file system said no.
    #[error(transparent)]
    File(#[from] FileError),
    /// The log said no, where it was needed.
    #[error(transparent)]
    Log(#[from] StoreError),
    /// The gate refused the text.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no such note.
    #[error("{noun} not found: {id}")]
    NotFound {
        /// What kind of note was looked for.
        noun: &'static str,
        /// The id, or the beginning of one.
        id: String,
    },
    /// Several notes begin so.
    #[error("{prefix} is the beginning of {} ids: {}", ids.len(), ids.join(", "))]
    Ambiguous {
        /// The beginning.
        prefix: String,
        /// The ids.
        ids: Vec<String>,
    },
    /// The file has two entries with this id.
    #[error("{id} stands more than once in the file, on lines {}", lines.join(" and "))]
    Twice {
        /// The id.
        id: String,
        /// The lines.
        lines: Vec<String>,
    },
    /// A note was changed by somebody else since it was shown.
    #[error("{id} was changed by somebody else in the meantime")]
    ChangedMeanwhile {
        /// The id.
        id: String,
    },
    /// There is nothing to restore.
    #[error("{0}")]
    NothingToRestore(String),
}

impl Reading {
    /// The file's structure.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        Document::parse(self.shelf, &self.bytes)
    }

    /// Whether the file is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.stamp.is_some()
    }
}

impl Notebook<'_> {
    /// Reads the file; a missing one reads as empty.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> Result<Reading, NotebookError> {
        let text = read_file(&self.path)?;
        Ok(Reading {
            shelf: self.shelf,
            stamp: text.as_ref().map(|text| text.stamp),
            bytes: text.map(|text| text.bytes).unwrap_or_default(),
        })
    }

    /// Notices what happened to the file without ralph since the last look, and writes it down.
    ///
    /// Readers call it, so it never waits and never makes anything: where the log is missing, busy or unreadable there
    /// are no findings, and the next change looks again.
    #[must_use]
    pub fn look(&self, reading: &Reading) -> Findings {
        self.try_look(reading).unwrap_or_default()
    }

    fn try_look(&self, reading: &Reading) -> Option<Findings> {
        let mut store = Store::open_existing(&self.log.database).ok()??;
        let record = store.note_file(&self.log.file).ok()??;
        if reading.stamp == Some(record.stamp) {
            return None;
        }
        // A writer that holds the lock may be between the file and the log; it looks for itself.
        // Where even the folder is gone there is none, and no reason to make it again.
        let folder_is_gone = self.path.parent().is_some_and(|folder| !folder.exists());
        let lock = (!folder_is_gone).then(|| LockedFile::lock(&self.path, &Patience::NONE));
        let _lock = lock.transpose().ok()?;
        let text = read_file(&self.path).ok()?;
        let stamp = text.as_ref().map_or(record.stamp, |text| text.stamp);
        let bytes = text.map(|text| text.bytes).unwrap_or_default();
        let document = Document::parse(self.shelf, &bytes);
        let (changes, head) = self.since_last_look(&store, &document).ok()?;
        store
            .record_notes(&self.log.file, &FileRecord { stamp, head }, &changes, self.clock.now())
            .ok()?;
        Some(findings(&changes))
    }

    /// Adds notes.
    ///
    /// # Errors
    /// When the file cannot be written, or a note that is to be superseded is not there.
    pub fn add(&self, drafts: &[Draft], entropy: &mut dyn Entropy) -> Result<Stored, NotebookError> {
        for old in drafts.iter().filter_map(|draft| draft.extra.get(Extra::SUPERSEDES)) {
            self.refuse_without_file(old)?;
        }
        let entropy = RefCell::new(entropy);
        let mut ids: Vec<NoteId> = Vec::new();
        self.change(|document, log| {
            let now = self.clock.now();
            let mut notes = Vec::with_capacity(drafts.len());
            for (index, draft) in drafts.iter().enumerate() {
                if ids.len() == index {
                    ids.push(self.new_id(document, log, draft.kind, (&ids, &entropy)));
                }
                if let Some(id) = ids.get(index) {
                    notes.push(self.note_of(draft, id.clone(), now, document)?);
                }
            }
            // A save by somebody else may hold them already, when this is not the first try.
            let missing: Vec<Note> = notes
                .iter()
                .filter(|note| document.find(note.id.as_str()).next().is_none())
                .cloned()
                .collect();
            Ok(Edit {
                patches: document.add(&missing),
                action: NoteAction::Added,
                notes,
            })
        })
    }

    /// Changes one note by a function of what it says now.
    ///
    /// # Errors
    /// When there is no such note, the function refuses, or the file cannot be written.
    pub fn edit(
        &self,
        selector: &str,
        mut edit: impl FnMut(&Note) -> Result<Note, NotebookError>,
    ) -> Result<Stored, NotebookError> {
        self.refuse_without_file(selector)?;
        self.change(|document, _| {
            let entry = self.select(document, selector)?;
            let old = self.note_at(document, entry)?;
            let new = edit(&old)?;
            Ok(Edit {
                patches: document.change(entry, &new),
                action: NoteAction::Edited,
                notes: vec![new],
            })
        })
    }

    /// Deletes notes: all of them or, when one is not there, none.
    ///
    /// # Errors
    /// When one is not there, or the file cannot be written.
    pub fn delete(&self, selectors: &[String]) -> Result<Stored, NotebookError> {
        for selector in selectors {
            self.refuse_without_file(selector)?;
        }
        let mut resolved: Vec<String> = Vec::new();
        self.change(|document, _| {
            if resolved.is_empty() {
                for selector in selectors {
                    let id = document.id(self.select(document, selector)?).to_owned();
                    if !resolved.contains(&id) {
                        resolved.push(id);
                    }
                }
            }
            let entries: Vec<&Entry> = resolved.iter().filter_map(|id| document.find(id).next()).collect();
            let notes = entries
                .iter()
                .map(|entry| self.note_at(document, entry))
                .collect::<Result<_, _>>()?;
            Ok(Edit {
                patches: document.delete(&entries),
                action: NoteAction::Deleted,
                notes,
            })
        })
    }

    /// Starts with an empty file. An existing one is copied beside it first; the copy's path is returned.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn start_anew(&self) -> Result<(Stored, Option<PathBuf>), NotebookError> {
        let mut backup = None;
        let stored = self.change(|document, _| {
            if self.path.exists() {
                backup = Some(back_up(&self.path, document.bytes())?);
            }
            let notes = document
                .entries()
                .iter()
                .filter_map(|entry| document.note(entry))
                .collect();
            Ok(Edit {
                patches: Patches::whole(document.bytes(), self.shelf.template().into_bytes()),
                action: NoteAction::Deleted,
                notes,
            })
        })?;
        Ok((stored, backup))
    }

    /// The entry that an id, or the beginning of one, names.
    ///
    /// # Errors
    /// When it names none or several.
    pub fn select<'d>(&self, document: &'d Document<'_>, selector: &str) -> Result<&'d Entry, NotebookError> {
        let mut exact = document.find(selector);
        if let Some(first) = exact.next() {
            if exact.next().is_some() {
                let lines = document
                    .find(selector)
                    .map(|entry| document.line_number(document.place(entry)).to_string())
                    .collect();
                return Err(NotebookError::Twice {
                    id: selector.to_owned(),
                    lines,
                });
            }
            return Ok(first);
        }
        let candidates: Vec<&Entry> = if selector.is_empty() {
            Vec::new()
        } else {
            document.find_prefix(selector).collect()
        };
        match candidates.as_slice() {
            [] => Err(self.not_found(selector)),
            [one] => Ok(one),
            several => Err(NotebookError::Ambiguous {
                prefix: selector.to_owned(),
                ids: several.iter().map(|entry| document.id(entry).to_owned()).collect(),
            }),
        }
    }

    /// The error for a note that is not there.
    #[must_use]
    pub fn not_found(&self, id: &str) -> NotebookError {
        NotebookError::NotFound {
            noun: match self.shelf {
                Shelf::Memories => "Memory",
                Shelf::Guardrails => "Guardrail",
            },
            id: id.to_owned(),
        }
    }

    /// Where there is no file there is no note either, and no reason to make a folder, a lock and a log.
    fn refuse_without_file(&self, selector: &str) -> Result<(), NotebookError> {
        match self.path.try_exists() {
            Ok(false) => Err(self.not_found(selector)),
            Ok(true) | Err(_) => Ok(()),
        }
    }

    pub(super) fn note_at(&self, document: &Document<'_>, entry: &Entry) -> Result<Note, NotebookError> {
        document.note(entry).ok_or_else(|| self.not_found(document.id(entry)))
    }

    /// Applies an edit to the file, then records it, under the file's lock.
    pub(super) fn change(
        &self,
        mut edit: impl FnMut(&Document<'_>, Option<&Store>) -> Result<Edit, NotebookError>,
    ) -> Result<Stored, NotebookError> {
        let mut locked = LockedFile::lock(&self.path, &self.patience)?;
        let log = self.open_log();
        let mut last: Option<Edit> = None;
        let template = self.shelf.template();
        let updated = locked
            .update(template.as_bytes(), |bytes| {
                let document = Document::parse(self.shelf, bytes);
                let made = edit(&document, log.as_ref().ok())?;
                let patches = made.patches.clone();
                last = Some(made);
                Ok::<Patches, NotebookError>(patches)
            })
            .map_err(|error| match error {
                UpdateError::File(error) => NotebookError::File(error),
                UpdateError::Edit(error) => error,
            })?;
        let made = last.unwrap_or_default();
        let recorded = log.and_then(|mut store| self.record(&mut store, &updated, &made));
        let (history, findings) = match recorded {
            Ok(findings) => (History::Recorded, findings),
            Err(error) => (History::NotRecorded(error), Findings::default()),
        };
        Ok(Stored {
            notes: made.notes,
            history,
            findings,
            kept: locked.kept().to_vec(),
        })
    }

    /// Opens the log for writing, and makes it where there is none.
    fn open_log(&self) -> Result<Store, StoreError> {
        if let Some(folder) = self.log.database.parent()
            && !self.log.database.exists()
        {
            (self.prepare_folder)(folder).map_err(|error| StoreError::Sql {
                path: self.log.database.clone(),
                reason: error.to_string(),
            })?;
        }
        Store::open_or_create(&self.log.database)
    }

    /// Writes down an edit, and before it whatever the log had missed.
    fn record(&self, store: &mut Store, updated: &Updated, made: &Edit) -> Result<Findings, StoreError> {
        let last = store.note_file(&self.log.file)?;
        let up_to_date = !updated.overtaken && last.as_ref().map(|record| record.stamp) == updated.read;
        let (mut changes, head) = if up_to_date {
            (Vec::new(), (self.head)())
        } else {
            self.since_last_look(store, &Document::parse(self.shelf, &updated.before))?
        };
        let found = findings(&changes);
        changes.extend(made.notes.iter().map(|note| NoteChange {
            action: made.action,
            note: note.clone(),
        }));
        if let Some(stamp) = updated.written.or(updated.read) {
            store.record_notes(&self.log.file, &FileRecord { stamp, head }, &changes, self.clock.now())?;
        }
        Ok(found)
    }

    fn since_last_look(
        &self,
        store: &Store,
        document: &Document<'_>,
    ) -> Result<(Vec<NoteChange>, Option<String>), StoreError> {
        let now = (self.head)();
        let last = store.note_file(&self.log.file)?;
        let head = if last.is_some_and(|record| record.head != now) {
            Head::Moved
        } else {
            Head::Same
        };
        Ok((compare(store.known_notes(&self.log.file)?, document, head), now))
    }

    fn note_of(
        &self,
        draft: &Draft,
        id: NoteId,
        now: Timestamp,
        document: &Document<'_>,
    ) -> Result<Note, NotebookError> {
        let mut extra = draft.extra.clone();
        if let Some(old) = draft.extra.get(Extra::SUPERSEDES) {
            let old = document.id(self.select(document, old)?).to_owned();
            extra.set(Extra::SUPERSEDES, &old);
        }
        Ok(Note {
            id,
            kind: draft.kind,
            content: draft.content.clone(),
            tags: draft.tags.clone(),
            created: now.to_zoned(TimeZone::UTC).date(),
            extra,
        })
    }

    /// An id that neither the file nor the log has seen.
    fn new_id(
        &self,
        document: &Document<'_>,
        log: Option<&Store>,
        kind: NoteKind,
        (taken, entropy): (&[NoteId], &RefCell<&mut dyn Entropy>),
    ) -> NoteId {
        let mut second = self.clock.now().as_second();
        loop {
            for _ in 0..SUFFIX_TRIES {
                let suffix = u16::try_from(entropy.borrow_mut().next_bits() >> 48).unwrap_or_default();
                let id = NoteId::new(self.shelf.id_prefix(kind), second, suffix);
                let known = log.is_some_and(|log| log.knows_note(&id).unwrap_or(false));
                if !known && !taken.contains(&id) && document.find(id.as_str()).next().is_none() {
                    return id;
                }
            }
            second += 1;
        }
    }
}

/// An edit of a document: the patches, and what they do to which notes.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) patches: Patches,
    pub(super) action: NoteAction,
    pub(super) notes: Vec<Note>,
}

impl Default for Edit {
    fn default() -> Self {
        Self {
            patches: Patches::none(),
            action: NoteAction::Edited,
            notes: Vec::new(),
        }
    }
}

/// Copies a file's bytes to the first free of `.bak`, `.bak-2`, …
fn back_up(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
    let mut number = 1;
    loop {
        let mut name = path.to_owned().into_os_string();
        name.push(if number == 1 {
            ".bak".to_owned()
        } else {
            format!(".bak-{number}")
        });
        let backup = PathBuf::from(name);
        match write_new_file(&backup, bytes) {
            Ok(()) => return Ok(backup),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

fn findings(changes: &[NoteChange]) -> Findings {
    Findings {
        vanished: changes
            .iter()
            .filter(|change| change.action == NoteAction::Vanished)
            .map(|change| change.note.clone())
            .collect(),
    }
}
