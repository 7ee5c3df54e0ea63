//! The log of note changes: every version of every note, and how it appeared or disappeared.

use std::str::FromStr;

use jiff::Timestamp;
use ralph_model::{Author, Extra, FileStamp, Note, NoteId, NoteKind, RunId, Tags};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Store;
use super::authorship::author_at;
use super::columns::moment;
use crate::StoreError;

/// A notes file in one worktree. The main worktree's name is empty, so that a project can be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteFile {
    /// The linked worktree's name; empty for the main one.
    pub worktree: String,
    /// The path from the worktree's root.
    pub path: String,
}

/// The state of a file when it was last read or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    pub stamp: FileStamp,
    /// The commit that was checked out; none without git.
    pub head: Option<String>,
}

impl FileRecord {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            stamp: FileStamp {
                inode: row.get::<_, i64>("inode")?.cast_unsigned(),
                size: row.get::<_, i64>("size")?.cast_unsigned(),
                mtime_ns: row.get("mtime_ns")?,
                ctime_ns: row.get("ctime_ns")?,
            },
            head: row.get("head")?,
        })
    }
}

/// How a note changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteAction {
    Added,
    Edited,
    Deleted,
    Restored,
    /// Found in the file: written by hand.
    Adopted,
    /// Found changed in the file: edited by hand.
    Changed,
    /// Found in the file again after it was missing.
    Returned,
    /// Missing from the file without a deletion.
    Vanished,
    /// Missing from the file after the checked-out commit changed.
    CheckedOut,
}

/// Each action with its word in the database.
const ACTIONS: [(NoteAction, &str); 9] = [
    (NoteAction::Added, "added"),
    (NoteAction::Edited, "edited"),
    (NoteAction::Deleted, "deleted"),
    (NoteAction::Restored, "restored"),
    (NoteAction::Adopted, "adopted"),
    (NoteAction::Changed, "changed"),
    (NoteAction::Returned, "returned"),
    (NoteAction::Vanished, "vanished"),
    (NoteAction::CheckedOut, "checked_out"),
];

/// Whether a note is in its file after an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Present,
    Gone,
}

impl NoteAction {
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let found = ACTIONS.into_iter().find(|(_, other)| *other == word);
        found.map(|(action, _)| action)
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        ACTIONS
            .into_iter()
            .find(|(action, _)| *action == self)
            .map_or("", |(_, word)| word)
    }

    #[must_use]
    pub fn presence(self) -> Presence {
        match self {
            Self::Deleted | Self::Vanished | Self::CheckedOut => Presence::Gone,
            Self::Added | Self::Edited | Self::Restored | Self::Adopted | Self::Changed | Self::Returned => {
                Presence::Present
            }
        }
    }
}

/// A change of a note to record, with the text after it, or the last text of a removed note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteChange {
    pub action: NoteAction,
    pub note: Note,
    pub author: Author,
}

/// The last recorded state of a note in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNote {
    pub action: NoteAction,
    pub at: Timestamp,
    /// The note's current or last text.
    pub note: Note,
}

/// One version in the history of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteVersion {
    /// Counted from 1 for each note.
    pub number: usize,
    pub at: Timestamp,
    pub action: NoteAction,
    pub note: Note,
    pub file: NoteFile,
    pub author: Author,
}

impl Store {
    /// The recorded state of a file; `None` if it was never seen.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn note_file(&self, file: &NoteFile) -> Result<Option<FileRecord>, StoreError> {
        let sql = "SELECT inode, size, mtime_ns, ctime_ns, head FROM note_files WHERE worktree = ?1 AND path = ?2";
        self.sql(
            self.connection
                .prepare_cached(sql)
                .and_then(|mut statement| statement.query_row([&file.worktree, &file.path], FileRecord::read))
                .optional(),
        )
    }

    /// Records changes of notes together with the state of their file, in one transaction.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is recorded.
    pub fn record_notes(
        &mut self,
        file: &NoteFile,
        record: &FileRecord,
        changes: &[NoteChange],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            let id = put_file(transaction, file, record)?;
            changes
                .iter()
                .try_for_each(|change| put_change(transaction, id, change, at))
        })
    }

    /// The last recorded state of every note that was ever in a file, by id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn known_notes(&self, file: &NoteFile) -> Result<Vec<KnownNote>, StoreError> {
        // With MAX, SQLite takes the other columns from the row that holds the maximum.
        let sql = "SELECT MAX(seq), at, action, note, kind, content, tags, created, extra FROM note_log
                   WHERE file = (SELECT id FROM note_files WHERE worktree = ?1 AND path = ?2)
                   GROUP BY note ORDER BY note";
        let rows = self.sql(self.connection.prepare(sql).and_then(|mut statement| {
            statement
                .query_map([&file.worktree, &file.path], LoggedNote::read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        }))?;
        rows.into_iter()
            .map(|row| {
                let (at, action, note) = row.decode().map_err(|what| self.damaged(what))?;
                Ok(KnownNote { action, at, note })
            })
            .collect()
    }

    /// Whether a note with this id was ever recorded in any file.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn knows_note(&self, id: &NoteId) -> Result<bool, StoreError> {
        self.sql(
            self.connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM note_log WHERE note = ?1)")
                .and_then(|mut statement| statement.query_row([id.as_str()], |row| row.get(0))),
        )
    }

    /// Whether every logged change of a note was made by an agent. False for a note without logged changes, whose
    /// author is unknown.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_written_by_agents(&self, id: &str) -> Result<bool, StoreError> {
        let sql =
            "SELECT count(*) > 0 AND count(*) = count(iif(author = 'agent', 1, NULL)) FROM note_log WHERE note = ?1";
        self.sql(
            self.connection
                .prepare_cached(sql)
                .and_then(|mut statement| statement.query_row([id], |row| row.get(0))),
        )
    }

    /// All versions of the memories and guardrails with this id prefix, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn note_history(&self, id_prefix: &str) -> Result<Vec<NoteVersion>, StoreError> {
        let sql =
            "SELECT seq, at, action, note, kind, content, tags, created, extra, worktree, path, author, run, iteration
                   FROM note_log JOIN note_files ON note_files.id = note_log.file
                   WHERE note >= ?1 AND note < ?1 || char(0x10ffff) AND kind NOT IN ('knowledge', 'scratchpad') ORDER BY seq";
        let rows = self.sql(self.connection.prepare(sql).and_then(|mut statement| {
            statement
                .query_map([id_prefix], |row| {
                    let file = NoteFile {
                        worktree: row.get(9)?,
                        path: row.get(10)?,
                    };
                    Ok((LoggedNote::read(row)?, file, author_at(row)?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()
        }))?;
        let mut counts = std::collections::HashMap::new();
        rows.into_iter()
            .map(|(row, file, author)| {
                let (at, action, note) = row.decode().map_err(|what| self.damaged(what))?;
                let number = counts.entry(note.id.clone()).or_insert(0);
                *number += 1;
                Ok(NoteVersion {
                    number: *number,
                    at,
                    action,
                    note,
                    file,
                    author,
                })
            })
            .collect()
    }
}

pub(super) fn put_file(transaction: &Transaction<'_>, file: &NoteFile, record: &FileRecord) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached(
            "INSERT INTO note_files (worktree, path, inode, size, mtime_ns, ctime_ns, head)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (worktree, path) DO UPDATE SET inode = ?3, size = ?4, mtime_ns = ?5, ctime_ns = ?6, head = ?7
             RETURNING id",
        )?
        .query_row(
            params![
                file.worktree,
                file.path,
                record.stamp.inode.cast_signed(),
                record.stamp.size.cast_signed(),
                record.stamp.mtime_ns,
                record.stamp.ctime_ns,
                record.head,
            ],
            |row| row.get(0),
        )
}

fn put_change(transaction: &Transaction<'_>, file: i64, change: &NoteChange, at: Timestamp) -> rusqlite::Result<()> {
    let note = &change.note;
    let pairs: Vec<(&str, &str)> = note.extra.iter().collect();
    let extra = serde_json::to_string(&pairs).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    transaction
        .prepare_cached(
            "INSERT INTO note_log (file, at, note, action, kind, content, tags, created, extra, author, run, iteration)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            file,
            moment(at),
            note.id.as_str(),
            change.action.word(),
            note.kind.word(),
            note.content,
            note.tags.to_string(),
            note.created.to_string(),
            extra,
            change.author.kind.word(),
            change.author.run.as_ref().map(RunId::as_str),
            change.author.iteration,
        ])
        .map(|_| ())
}

/// A raw row of the log.
pub(super) struct LoggedNote {
    at: String,
    pub(super) action: String,
    id: String,
    kind: String,
    pub(super) content: String,
    tags: String,
    created: String,
    extra: String,
}

impl LoggedNote {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            at: row.get(1)?,
            action: row.get(2)?,
            id: row.get(3)?,
            kind: row.get(4)?,
            content: row.get(5)?,
            tags: row.get(6)?,
            created: row.get(7)?,
            extra: row.get(8)?,
        })
    }

    pub(super) fn decode(self) -> Result<(Timestamp, NoteAction, Note), String> {
        let action = NoteAction::parse(&self.action).ok_or_else(|| format!("the action {:?}", self.action))?;
        let pairs: Vec<(String, String)> = serde_json::from_str(&self.extra).map_err(|error| error.to_string())?;
        let mut extra = Extra::default();
        for (key, value) in &pairs {
            extra.set(key, value);
        }
        let note = Note {
            id: NoteId::parse(&self.id, &NoteId::PREFIXES).ok_or_else(|| format!("the id {:?}", self.id))?,
            kind: NoteKind::from_str(&self.kind)?,
            content: self.content,
            tags: Tags::parse(&self.tags).map_err(|error| error.to_string())?,
            created: self.created.parse().map_err(|error: jiff::Error| error.to_string())?,
            extra,
        };
        let at = self.at.parse().map_err(|error: jiff::Error| error.to_string())?;
        Ok((at, action, note))
    }
}
