//! The part of the note log about knowledge entries. An entry is identified by its file name, a row holds the full text
//! of the file, and every file has its own row in `note_files`.

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, FileStamp, RunId};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Store;
use super::authorship::author_at;
use super::columns::{moment, time_at, word_at};
use super::note_log::{FileRecord, NoteAction, NoteFile, Presence, put_file};
use super::outbox::put_state;
use crate::StoreError;

const KIND: &str = "knowledge";

/// The last recorded state of an entry's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeState {
    /// The name of the file.
    pub file: String,
    /// The stamp and the commit that was checked out.
    pub record: FileRecord,
    pub presence: Presence,
}

/// A change of an entry to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeChange {
    pub action: NoteAction,
    /// The name of the file.
    pub file: String,
    /// The full text after the change, or the last one before the file was removed.
    pub text: String,
    pub author: Author,
}

/// One version of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeVersion {
    /// Its row id in the log.
    pub seq: i64,
    /// Counted from 1 for each file.
    pub number: usize,
    pub at: Timestamp,
    pub change: KnowledgeChange,
}

/// Data recorded in one transaction.
#[derive(Debug, Clone)]
pub struct KnowledgeRecord<'a> {
    pub folder: &'a NoteFile,
    /// Files with their current stamps.
    pub seen: &'a [(String, FileStamp)],
    /// In order.
    pub changes: &'a [KnowledgeChange],
    /// The checked-out commit.
    pub head: Option<&'a str>,
    pub at: Timestamp,
    /// The outbox row that this write completes.
    pub outbox: Option<i64>,
}

impl Store {
    /// The recorded states of a folder's files, by name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn knowledge_states(&self, folder: &NoteFile) -> Result<Vec<KnowledgeState>, StoreError> {
        let sql = "SELECT path, inode, size, mtime_ns, ctime_ns, head,
                       (SELECT action FROM note_log WHERE file = note_files.id ORDER BY seq DESC LIMIT 1) AS action
                   FROM note_files WHERE worktree = ?1 AND path > ?2 || '/' AND path < ?2 || '0' ORDER BY path";
        let read = |row: &Row<'_>| {
            let path: String = row.get("path")?;
            let action: Option<String> = row.get("action")?;
            let presence = action
                .and_then(|word| NoteAction::parse(&word))
                .map_or(Presence::Gone, NoteAction::presence);
            Ok(KnowledgeState {
                file: path.rsplit('/').next().unwrap_or_default().to_owned(),
                record: FileRecord::read(row)?,
                presence,
            })
        };
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map([&folder.worktree, &folder.path], read)?.collect());
        self.sql(found)
    }

    /// All versions of an entry in a folder, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn knowledge_history(&self, folder: &NoteFile, file: &str) -> Result<Vec<KnowledgeVersion>, StoreError> {
        let sql = "SELECT note_log.* FROM note_log JOIN note_files ON note_files.id = note_log.file
                   WHERE worktree = ?1 AND path = ?2 ORDER BY seq";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            statement
                .query_map([&folder.worktree, &in_folder(folder, file)], read_version)?
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        let mut versions = self.sql(found)?;
        for (number, version) in (1..).zip(&mut versions) {
            version.number = number;
        }
        Ok(versions)
    }

    /// The last recorded text of an entry.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn knowledge_text(&self, folder: &NoteFile, file: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT content FROM note_log JOIN note_files ON note_files.id = note_log.file
                   WHERE worktree = ?1 AND path = ?2 ORDER BY seq DESC LIMIT 1";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            statement
                .query_row([&folder.worktree, &in_folder(folder, file)], |row| row.get(0))
                .optional()
        });
        self.sql(found)
    }

    /// The first author of this text of an entry, in any worktree, if recorded.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn knowledge_author(&self, file: &str, text: &str) -> Result<Option<Author>, StoreError> {
        let sql = "SELECT author, run, iteration FROM note_log
                   WHERE note = ?1 AND kind = ?2 AND content = ?3 ORDER BY seq LIMIT 1";
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([file, KIND, text], author_at).optional());
        self.sql(found)
    }

    /// The ids of memories and guardrails and the file names of knowledge entries whose last text was written by an
    /// agent, or by an unknown author while an agent was working.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn notes_written_in_iterations(&self) -> Result<Vec<(String, AuthorKind)>, StoreError> {
        let sql = "WITH written AS (
                       SELECT DISTINCT note, (
                           SELECT content FROM note_log last WHERE last.note = changed.note ORDER BY seq DESC LIMIT 1
                       ) AS text FROM note_log changed
                       WHERE author = 'agent' OR author = 'unknown' AND run IS NOT NULL
                   ), first AS (
                       SELECT note, (SELECT seq FROM note_log
                                     WHERE note_log.note = written.note AND content = written.text
                                     ORDER BY seq LIMIT 1) AS seq
                       FROM written
                   )
                   SELECT first.note, author FROM first JOIN note_log USING (seq)
                   WHERE author = 'agent' OR author = 'unknown' AND run IS NOT NULL";
        let read = |row: &Row<'_>| Ok((row.get(0)?, word_at(row, "author", AuthorKind::parse)?));
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map([], read)?.collect());
        self.sql(found)
    }

    /// Records changes of entries together with the state of their files, in one transaction.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is recorded.
    pub fn record_knowledge(&mut self, record: &KnowledgeRecord<'_>) -> Result<(), StoreError> {
        self.write(|transaction| {
            for (file, stamp) in record.seen {
                let now_true = FileRecord {
                    stamp: *stamp,
                    head: record.head.map(str::to_owned),
                };
                put_file(transaction, &file_in(record.folder, file), &now_true)?;
            }
            for change in record.changes {
                put_change(transaction, record, change)?;
            }
            match record.outbox {
                Some(id) => put_state(transaction, id, "done", None),
                None => Ok(()),
            }
        })
    }
}

/// A file of the folder.
fn file_in(folder: &NoteFile, file: &str) -> NoteFile {
    NoteFile {
        worktree: folder.worktree.clone(),
        path: in_folder(folder, file),
    }
}

fn in_folder(folder: &NoteFile, file: &str) -> String {
    format!("{}/{file}", folder.path)
}

fn put_change(
    transaction: &Transaction<'_>,
    record: &KnowledgeRecord<'_>,
    change: &KnowledgeChange,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO note_log (file, at, note, action, kind, content, tags, created, extra, author, run, iteration)
             SELECT id, ?3, ?4, ?5, ?6, ?7, '', substr(?3, 1, 10), '[]', ?8, ?9, ?10
             FROM note_files WHERE worktree = ?1 AND path = ?2",
        )?
        .execute(params![
            record.folder.worktree,
            in_folder(record.folder, &change.file),
            moment(record.at),
            change.file,
            change.action.word(),
            KIND,
            change.text,
            change.author.kind.word(),
            change.author.run.as_ref().map(RunId::as_str),
            change.author.iteration,
        ])
        .map(drop)
}

fn read_version(row: &Row<'_>) -> rusqlite::Result<KnowledgeVersion> {
    Ok(KnowledgeVersion {
        seq: row.get("seq")?,
        number: 0,
        at: time_at(row, "at")?,
        change: KnowledgeChange {
            action: word_at(row, "action", NoteAction::parse)?,
            file: row.get("note")?,
            text: row.get("content")?,
            author: author_at(row)?,
        },
    })
}
