//! The part of the note log about the scratchpad. The scratchpad has no entries, so each change is a note of its own:
//! the text that was appended or cleared.

use jiff::Timestamp;
use ralph_model::{Author, RunId};
use rusqlite::params;

use super::Store;
use super::columns::moment;
use super::note_log::{FileRecord, NoteAction, NoteFile, put_file};
use crate::StoreError;

pub(super) const KIND: &str = "scratchpad";

/// A change of the scratchpad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScratchpadChange<'a> {
    Appended(&'a str),
    /// This text was cleared.
    Cleared(&'a str),
    /// A rollback removed the text of an earlier change.
    Removed {
        note: &'a str,
        text: &'a str,
    },
    /// A rollback put it back.
    Restored {
        note: &'a str,
        text: &'a str,
    },
}

impl Store {
    /// Records a change of the scratchpad together with the state of its file, in one transaction.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is recorded.
    pub fn record_scratchpad(
        &mut self,
        (file, record): (&NoteFile, &FileRecord),
        change: ScratchpadChange<'_>,
        author: &Author,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let unknown = Author::UNKNOWN;
        let by_author = |action| vec![(action, author)];
        let (earlier, text, rows) = match change {
            ScratchpadChange::Appended(text) => (None, text, by_author(NoteAction::Added)),
            ScratchpadChange::Cleared(text) => (
                None,
                text,
                vec![(NoteAction::Adopted, &unknown), (NoteAction::Deleted, author)],
            ),
            ScratchpadChange::Removed { note, text } => (Some(note), text, by_author(NoteAction::Deleted)),
            ScratchpadChange::Restored { note, text } => (Some(note), text, by_author(NoteAction::Restored)),
        };
        self.write(|transaction| {
            let id = put_file(transaction, file, record)?;
            let note = match earlier {
                Some(note) => note.to_owned(),
                None => {
                    let number: i64 = transaction
                        .prepare_cached("SELECT coalesce(max(seq), 0) + 1 FROM note_log")?
                        .query_row([], |row| row.get(0))?;
                    format!("{KIND}-{number}")
                }
            };
            for (action, author) in &rows {
                transaction
                    .prepare_cached(
                        "INSERT INTO note_log (file, at, note, action, kind, content, tags, created, extra, author, run, iteration)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', '', '[]', ?7, ?8, ?9)",
                    )?
                    .execute(params![
                        id,
                        moment(at),
                        note,
                        action.word(),
                        KIND,
                        text,
                        author.kind.word(),
                        author.run.as_ref().map(RunId::as_str),
                        author.iteration,
                    ])?;
            }
            Ok(())
        })
    }
}
