//! Who made a change. The logs of tasks and learnings get their rows unsigned, and the store signs them at the end of
//! the transaction. So a row that another SQLite client causes stays unsigned and has an unknown author.

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, RunId};
use rusqlite::{Connection, Row, params};
use serde::{Serialize, Serializer};

use super::Store;
use super::claims::RunProcess;
use super::columns::{time_at, unreadable, word_at, word_in};
use super::note_log::NoteAction;
use crate::StoreError;

const SIGNED_LOGS: [&str; 2] = [
    "UPDATE task_log SET author = ?1, run = ?2, iteration = ?3 WHERE author IS NULL",
    "UPDATE learning_log SET author = ?1, run = ?2, iteration = ?3 WHERE author IS NULL",
];

/// A logged change of a note, a task or a learning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedChange {
    pub id: String,
    pub at: Timestamp,
    /// An action of the note log or of a learning, or the text of a task log entry.
    pub what: String,
    pub author: Author,
}

/// A note that an agent stored or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentNote {
    /// The id, or the file name of a knowledge entry.
    pub id: String,
    /// The last action.
    #[serde(serialize_with = "serialize_action")]
    pub action: NoteAction,
    /// Agent, or unknown if its file was edited directly.
    pub author: AuthorKind,
    /// The iteration, if known.
    pub iteration: Option<u32>,
    /// The note's text, or its last text.
    #[serde(skip)]
    pub text: String,
}

fn serialize_action<S: Serializer>(action: &NoteAction, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(action.word())
}

impl AgentNote {
    /// Whether it is a knowledge entry, whose text is a whole file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.id.ends_with(".md")
    }
}

/// A run that has not ended, with its iteration once the agent was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIteration {
    pub run: RunId,
    /// The worktree's name; empty for the main one.
    pub worktree: String,
    pub process: RunProcess,
    /// The iteration, once its agent has been started.
    pub iteration: Option<u32>,
}

impl Store {
    /// Sets the author of the following changes. The default is ralph itself.
    pub fn act_as(&mut self, author: Author) {
        self.author = author;
    }

    /// Runs work as another author.
    pub(super) fn acting_as<T>(&mut self, author: Author, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.author, author);
        let done = work(self);
        self.author = before;
        done
    }

    /// Logged changes of the notes, tasks and learnings with this id prefix, by id, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn logged_changes(&self, id_prefix: &str) -> Result<Vec<LoggedChange>, StoreError> {
        let sql = "SELECT task AS id, at, text AS what, author, run, iteration, seq FROM task_log
                       WHERE task >= ?1 AND task < ?1 || char(0x10ffff)
                   UNION ALL SELECT note, at, action, author, run, iteration, seq FROM note_log
                       WHERE note >= ?1 AND note < ?1 || char(0x10ffff)
                   UNION ALL SELECT learning, at, action, author, run, iteration, seq FROM learning_log
                       WHERE learning >= ?1 AND learning < ?1 || char(0x10ffff)
                   ORDER BY id, seq";
        let read = |row: &Row<'_>| {
            Ok(LoggedChange {
                id: row.get("id")?,
                at: time_at(row, "at")?,
                what: row.get("what")?,
                author: author_at(row)?,
            })
        };
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map([id_prefix], read)?.collect());
        self.sql(found)
    }

    /// The runs that have not ended, latest first, each with its iteration if the agent was started.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn open_iterations(&self) -> Result<Vec<OpenIteration>, StoreError> {
        let sql = "SELECT runs.id, runs.worktree, runs.host, runs.pid, runs.pid_started, iterations.iteration
                   FROM runs LEFT JOIN iterations ON iterations.run = runs.id AND iterations.phase <> 'claimed'
                   WHERE runs.ended_at IS NULL AND runs.kind = 'loop' ORDER BY runs.seq DESC";
        let read = |row: &Row<'_>| {
            Ok(OpenIteration {
                run: word_at(row, "id", RunId::parse)?,
                worktree: row.get("worktree")?,
                process: RunProcess::read(row)?,
                iteration: row.get("iteration")?,
            })
        };
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map([], read)?.collect());
        self.sql(found)
    }

    /// The author of a change that was found in a file: unknown, but attributed to the iteration of the live run in
    /// that worktree.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn author_of_found(&self, worktree: &str) -> Result<Author, StoreError> {
        let open = self.open_iterations()?.into_iter();
        let mut here = open.filter(|open| open.worktree == worktree && open.process.is_alive() != Some(false));
        let found = here.find_map(|open| Some((open.run, open.iteration?)));
        Ok(found.map_or(Author::UNKNOWN, |(run, iteration)| {
            Author::in_iteration(AuthorKind::Unknown, run, iteration)
        }))
    }

    /// The notes and scratchpad texts that a run's agents stored or changed, or that were edited directly while they
    /// worked; each once, by its last change.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn notes_by_agents(&self, run: &RunId) -> Result<Vec<AgentNote>, StoreError> {
        // With max, SQLite takes the other columns from the row that holds the maximum.
        let sql = "SELECT max(seq) AS last, note, action, author, iteration, content FROM note_log
                   WHERE author IN ('agent', 'unknown') AND run = ?1 GROUP BY file, note ORDER BY last";
        let read = |row: &Row<'_>| {
            Ok(AgentNote {
                id: row.get("note")?,
                action: word_at(row, "action", NoteAction::parse)?,
                author: word_at(row, "author", AuthorKind::parse)?,
                iteration: row.get("iteration")?,
                text: row.get("content")?,
            })
        };
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map([run.as_str()], read)?.collect());
        self.sql(found)
    }
}

/// Signs the transaction's rows that have no author yet.
pub(super) fn sign(connection: &Connection, author: &Author) -> rusqlite::Result<()> {
    for sql in SIGNED_LOGS {
        let run = author.run.as_ref().map(RunId::as_str);
        connection
            .prepare_cached(sql)?
            .execute(params![author.kind.word(), run, author.iteration])?;
    }
    Ok(())
}

pub(super) fn author_at(row: &Row<'_>) -> rusqlite::Result<Author> {
    let Some(kind) = word_in(row, "author", AuthorKind::parse)? else {
        return Ok(Author::UNKNOWN);
    };
    let iteration: Option<i64> = row.get("iteration")?;
    let iteration = iteration.map(u32::try_from).transpose();
    Ok(Author {
        kind,
        run: word_in(row, "run", RunId::parse)?,
        iteration: iteration.map_err(|error| unreadable(format!("the iteration ({error})")))?,
    })
}
