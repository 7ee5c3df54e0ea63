//! A file of notes together with its log. Every change goes to the file first, then to the log, and is acknowledged
//! after both; what the log missed (a hand edit, a killed process) is found by comparing and written down then.

mod compare;
mod error;
mod log;
mod migrate;
mod new_ids;
mod operations;
mod promote;
mod restore;
mod take_in;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_model::{Author, Clock, Extra, FileStamp, Note, NoteKind, Shelf, Tags};
use ralph_notes::{Document, Entry, FileError, Lookup, Patience, Sign, create_folder, read_file};
use ralph_store::{DatabasePlace, NoteFile, RunProcess, Store, StoreError};

pub use error::NotebookError;
pub use operations::Start;
pub use promote::Promoted;
pub use take_in::TakenIn;

use crate::capture::SecretPolicy;
use crate::catalogue::CataloguePlace;

/// Where the log of a file is kept.
#[derive(Debug, Clone)]
pub struct LogPlace {
    /// The database.
    pub database: DatabasePlace,
    /// The file's name in it.
    pub file: NoteFile,
}

impl LogPlace {
    /// Opens the database for a change, and makes it where there is none.
    pub(in crate::capture) fn open_or_create(&self, surroundings: &dyn Surroundings) -> Result<Store, StoreError> {
        if let Some(folder) = self.database.path.parent() {
            let made = surroundings.prepare_database_folder(folder);
            made.map_err(|error| StoreError::Sql {
                path: self.database.path.clone(),
                reason: error.to_string(),
            })?;
        }
        Store::open_or_create(&self.database)
    }
}

/// What a notebook needs to know of the project around it. Where nothing else is said, there is no git, and folders are
/// made as they are named.
pub trait Surroundings {
    /// What git has checked out now; none without git.
    fn head(&self) -> Option<String> {
        None
    }

    /// Whether the process of a run lives, as far as it can be told.
    fn is_alive(&self, _process: &RunProcess) -> bool {
        true
    }

    /// Makes the folder of a file of notes that is about to be locked.
    ///
    /// # Errors
    /// When it cannot be made.
    fn prepare_note_folder(&self, file: &Path) -> Result<(), FileError> {
        file.parent().map_or(Ok(()), create_folder)
    }

    /// Makes the folder of a database that is not there yet.
    ///
    /// # Errors
    /// When it cannot be made.
    fn prepare_database_folder(&self, folder: &Path) -> Result<(), FileError> {
        create_folder(folder)
    }

    /// Makes the folder of long notes, which is about to be locked.
    ///
    /// # Errors
    /// When it cannot be made.
    fn prepare_knowledge_folder(&self, folder: &Path) -> Result<(), FileError> {
        create_folder(folder)
    }
}

/// A file of notes with its log.
pub struct Notebook<'a> {
    /// What kind of notes it holds.
    pub shelf: Shelf,
    /// The file.
    pub path: PathBuf,
    /// Where its log is kept.
    pub log: LogPlace,
    /// Who changes notes here.
    pub author: Author,
    /// The index that its changes are taken along into.
    pub catalogue: CataloguePlace<'a>,
    /// The project around it.
    pub surroundings: &'a dyn Surroundings,
    /// The present moment.
    pub clock: &'a dyn Clock,
    /// How long to wait for others who write.
    pub patience: Patience<'a>,
}

/// A note before it has passed the gate and got an id.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What it is about.
    pub kind: NoteKind,
    /// Its text.
    pub content: String,
    /// Its tags.
    pub tags: Tags,
    /// Everything else to record; a superseded id may be given by its beginning.
    pub extra: Extra,
    /// Whether it may hold what looks like a secret.
    pub secrets: SecretPolicy,
    /// When it was made, for its id and its day; none for now.
    pub at: Option<Timestamp>,
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

/// Notes that are gone without a deletion.
#[derive(Debug, Default)]
pub struct Vanished {
    /// Those that were reported before.
    pub before: Vec<Note>,
    /// Those that nobody has been told of.
    pub since: Vec<Note>,
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
}

/// A file of notes as it was read.
#[derive(Debug)]
pub struct Reading {
    shelf: Shelf,
    bytes: Vec<u8>,
    stamp: Option<FileStamp>,
}

impl Reading {
    /// The file's structure.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        Document::parse(self.shelf, &self.bytes)
    }

    /// What the file system said of the file; none where there is none.
    #[must_use]
    pub fn stamp(&self) -> Option<FileStamp> {
        self.stamp
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

    /// The entry that an id, or the beginning of one, names.
    ///
    /// # Errors
    /// When it names none or several.
    pub fn select<'d>(&self, document: &'d Document<'_>, selector: &str) -> Result<&'d Entry, NotebookError> {
        self.select_in(&document.lookup(1), selector)
    }

    /// The entries that ids, or their beginnings, name, in the order of these.
    ///
    /// # Errors
    /// When one of them names none or several.
    pub fn select_all<'d, S: AsRef<str>>(
        &self,
        document: &'d Document<'_>,
        selectors: &[S],
    ) -> Result<Vec<&'d Entry>, NotebookError> {
        let lookup = document.lookup(selectors.len());
        selectors
            .iter()
            .map(|selector| self.select_in(&lookup, selector.as_ref()))
            .collect()
    }

    pub(super) fn select_in<'d>(&self, lookup: &Lookup<'d, '_>, selector: &str) -> Result<&'d Entry, NotebookError> {
        let document = lookup.document();
        match lookup.find(selector).as_slice() {
            [] => {}
            [one] => return Ok(one),
            several => {
                let places = several.iter().map(|entry| document.place(entry));
                return Err(NotebookError::Twice {
                    id: selector.to_owned(),
                    lines: document.line_numbers(places).map(|line| line.to_string()).collect(),
                });
            }
        }
        let candidates: Vec<&Entry> = if selector.is_empty() {
            Vec::new()
        } else {
            lookup.find_prefix(selector)
        };
        match candidates.as_slice() {
            [] => Err(match find_sign(&document.signs(), selector)? {
                Some(sign) => NotebookError::IsSign { id: sign.id.clone() },
                None => self.not_found(selector),
            }),
            [one] => Ok(one),
            several => {
                let ids: Vec<&str> = several.iter().map(|entry| document.id(entry)).collect();
                Err(NotebookError::ambiguous(selector, &ids))
            }
        }
    }

    /// The Signs that ids, or their beginnings, name, in the order of these; none for one that names no Sign.
    ///
    /// # Errors
    /// When one of them is the beginning of several.
    pub fn find_signs<S: AsRef<str>>(
        &self,
        document: &Document<'_>,
        selectors: &[S],
    ) -> Result<Vec<Option<Sign>>, NotebookError> {
        let signs = document.signs();
        selectors
            .iter()
            .map(|selector| Ok(find_sign(&signs, selector.as_ref())?.cloned()))
            .collect()
    }

    /// The error for a note that is not there.
    #[must_use]
    pub fn not_found(&self, id: &str) -> NotebookError {
        NotebookError::NotFound {
            shelf: self.shelf,
            id: id.to_owned(),
        }
    }

    pub(super) fn note_at(&self, document: &Document<'_>, entry: &Entry) -> Result<Note, NotebookError> {
        document.note(entry).ok_or_else(|| self.not_found(document.id(entry)))
    }
}

/// The one among these Signs that an id, or the beginning of one, names.
fn find_sign<'s>(signs: &'s [Sign], selector: &str) -> Result<Option<&'s Sign>, NotebookError> {
    if let Some(exact) = signs.iter().find(|sign| sign.id == selector) {
        return Ok(Some(exact));
    }
    let begins = |sign: &&Sign| !selector.is_empty() && sign.id.starts_with(selector);
    let candidates: Vec<&Sign> = signs.iter().filter(begins).collect();
    match candidates.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => {
            let ids: Vec<&str> = several.iter().map(|sign| sign.id.as_str()).collect();
            Err(NotebookError::ambiguous(selector, &ids))
        }
    }
}
