//! A note file and its log. Every change is written to the file first, then to the log, and acknowledged after both.
//! Changes missing from the log (a manual edit, a killed process) are found by comparing and logged then.

mod compare;
mod error;
mod log;
mod migrate;
mod new_ids;
mod operations;
mod promote;
mod restore;
mod take_in;

use std::path::PathBuf;

use jiff::Timestamp;
use ralph_model::{Author, Clock, Extra, FileStamp, Note, NoteFileKind, NoteKind, Tags};
use ralph_notes::{Document, Entry, Lookup, Patience, Sign, read_file};
use ralph_store::{DatabasePlace, NoteFile, Store, StoreError};

pub use error::NoteRepositoryError;
pub use operations::Start;
pub use promote::Promoted;
pub use take_in::ImportedNotes;

use crate::capture::{ProjectEnv, SecretPolicy};
use ralph_search::IndexPlace;

/// Where the log of a file is stored.
#[derive(Debug, Clone)]
pub struct LogPlace {
    pub database: DatabasePlace,
    /// The file's key in the log.
    pub file: NoteFile,
}

impl LogPlace {
    /// Opens the database for a change; creates it if it is missing.
    pub(in crate::capture) fn open_or_create(&self, project_env: &ProjectEnv) -> Result<Store, StoreError> {
        if let Some(folder) = self.database.path.parent() {
            let made = project_env.prepare_database_folder(folder);
            made.map_err(|error| StoreError::Sql {
                path: self.database.path.clone(),
                reason: error.to_string(),
            })?;
        }
        Store::open_or_create(&self.database)
    }
}

/// A note file with its log.
pub struct NoteRepository<'a> {
    pub file_kind: NoteFileKind,
    pub path: PathBuf,
    pub log: LogPlace,
    pub author: Author,
    /// The index that is updated with each change.
    pub index: IndexPlace<'a>,
    pub project_env: ProjectEnv,
    pub clock: &'a dyn Clock,
    /// How long to wait for other writers.
    pub patience: Patience<'a>,
}

/// A note before validation, without an id.
#[derive(Debug, Clone)]
pub struct Draft {
    pub kind: NoteKind,
    pub content: String,
    pub tags: Tags,
    /// Other fields; a superseded id may be a prefix.
    pub extra: Extra,
    pub secrets: SecretPolicy,
    /// The time of creation; `None` for now.
    pub at: Option<Timestamp>,
}

/// Whether a change is in the log.
#[derive(Debug)]
pub enum History {
    Recorded,
    /// The note is safe in its file, and the log catches up with the next change.
    NotRecorded(StoreError),
}

/// Changes found to be made without ralph.
#[derive(Debug, Default)]
pub struct Findings {
    /// Notes that disappeared without a deletion.
    pub vanished: Vec<Note>,
}

/// Notes that disappeared without a deletion.
#[derive(Debug, Default)]
pub struct Vanished {
    /// Already reported.
    pub before: Vec<Note>,
    /// Not reported yet.
    pub since: Vec<Note>,
}

#[derive(Debug)]
pub struct Stored {
    /// The current or last state of the notes.
    pub notes: Vec<Note>,
    pub history: History,
    pub findings: Findings,
}

/// A note file as read.
#[derive(Debug)]
pub struct Reading {
    file_kind: NoteFileKind,
    bytes: Vec<u8>,
    stamp: Option<FileStamp>,
}

impl Reading {
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        Document::parse(self.file_kind, &self.bytes)
    }

    /// The file's stamp; `None` if there is no file.
    #[must_use]
    pub fn stamp(&self) -> Option<FileStamp> {
        self.stamp
    }

    #[must_use]
    pub fn exists(&self) -> bool {
        self.stamp.is_some()
    }
}

impl NoteRepository<'_> {
    /// Reads the file; a missing one counts as empty.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self) -> Result<Reading, NoteRepositoryError> {
        let text = read_file(&self.path)?;
        Ok(Reading {
            file_kind: self.file_kind,
            stamp: text.as_ref().map(|text| text.stamp),
            bytes: text.map(|text| text.bytes).unwrap_or_default(),
        })
    }

    /// The entry with this id or id prefix.
    ///
    /// # Errors
    /// If none or several match.
    pub fn select<'d>(&self, document: &'d Document<'_>, selector: &str) -> Result<&'d Entry, NoteRepositoryError> {
        self.select_in(&document.lookup(1), selector)
    }

    /// The entries with these ids or id prefixes, in the same order.
    ///
    /// # Errors
    /// If for one of them none or several match.
    pub fn select_all<'d, S: AsRef<str>>(
        &self,
        document: &'d Document<'_>,
        selectors: &[S],
    ) -> Result<Vec<&'d Entry>, NoteRepositoryError> {
        let lookup = document.lookup(selectors.len());
        selectors
            .iter()
            .map(|selector| self.select_in(&lookup, selector.as_ref()))
            .collect()
    }

    pub(super) fn select_in<'d>(
        &self,
        lookup: &Lookup<'d, '_>,
        selector: &str,
    ) -> Result<&'d Entry, NoteRepositoryError> {
        let document = lookup.document();
        match lookup.find(selector).as_slice() {
            [] => {}
            [one] => return Ok(one),
            several => {
                let places = several.iter().map(|entry| document.place(entry));
                return Err(NoteRepositoryError::Twice {
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
                Some(sign) => NoteRepositoryError::IsSign { id: sign.id.clone() },
                None => self.not_found(selector),
            }),
            [one] => Ok(one),
            several => {
                let ids: Vec<&str> = several.iter().map(|entry| document.id(entry)).collect();
                Err(NoteRepositoryError::ambiguous(selector, &ids))
            }
        }
    }

    /// The Signs with these ids or id prefixes, in the same order; `None` for each that is not a Sign.
    ///
    /// # Errors
    /// If several match one of them.
    pub fn find_signs<S: AsRef<str>>(
        &self,
        document: &Document<'_>,
        selectors: &[S],
    ) -> Result<Vec<Option<Sign>>, NoteRepositoryError> {
        let signs = document.signs();
        selectors
            .iter()
            .map(|selector| Ok(find_sign(&signs, selector.as_ref())?.cloned()))
            .collect()
    }

    #[must_use]
    pub fn not_found(&self, id: &str) -> NoteRepositoryError {
        NoteRepositoryError::NotFound {
            file_kind: self.file_kind,
            id: id.to_owned(),
        }
    }

    pub(super) fn note_at(&self, document: &Document<'_>, entry: &Entry) -> Result<Note, NoteRepositoryError> {
        document.note(entry).ok_or_else(|| self.not_found(document.id(entry)))
    }
}

/// The Sign with this id or id prefix.
fn find_sign<'s>(signs: &'s [Sign], selector: &str) -> Result<Option<&'s Sign>, NoteRepositoryError> {
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
            Err(NoteRepositoryError::ambiguous(selector, &ids))
        }
    }
}
