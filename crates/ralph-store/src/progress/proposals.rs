//! Changes that agents propose: commands that ralph did not run because they would change what a person wrote, or a
//! learning. A person accepts or rejects them.

use jiff::Timestamp;
use ralph_model::{Author, Entropy, ProposalId, RunId, serialize_timestamp};
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::Store;
use super::authorship::author_at;
use super::columns::{from_json, moment, time_at, to_json, word_at};
use super::id_prefix::IdPrefix;
use crate::StoreError;

/// A command of an agent that needs a person's approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedCommand {
    /// The arguments, without the program's name.
    pub arguments: Vec<String>,
    /// The command's standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

/// An open proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    pub id: ProposalId,
    /// The command words, such as `memory edit`.
    pub change: String,
    /// The affected ids, separated by spaces.
    pub target: String,
    #[serde(flatten)]
    pub command: ProposedCommand,
    #[serde(flatten)]
    pub author: Author,
    #[serde(serialize_with = "serialize_timestamp")]
    pub at: Timestamp,
}

/// A proposal to be stored.
#[derive(Debug, Clone)]
pub struct NewProposal<'a> {
    pub change: &'a str,
    pub target: &'a str,
    pub command: &'a ProposedCommand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The command was run.
    Accepted,
    Rejected,
}

impl Store {
    /// Stores a proposal of the current author; an identical open one is not stored again.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn propose(
        &mut self,
        new: &NewProposal<'_>,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<ProposalId, StoreError> {
        let author = self.author.clone();
        self.write(|transaction| {
            let payload = to_json(new.command)?;
            let known = transaction
                .prepare_cached("SELECT id FROM proposals WHERE payload = ?1 AND state = 'open'")?
                .query_row([&payload], |row| word_at(row, "id", ProposalId::parse))
                .optional()?;
            if let Some(known) = known {
                return Ok(known);
            }
            loop {
                let id = ProposalId::new(entropy.next_bits());
                let run = author.run.as_ref().map(RunId::as_str);
                let rows = transaction
                    .prepare_cached(
                        "INSERT INTO proposals (id, change, target, payload, author, run, iteration, at, state)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'open') ON CONFLICT (id) DO NOTHING",
                    )?
                    .execute(params![
                        id.as_str(),
                        new.change,
                        new.target,
                        payload,
                        author.kind.word(),
                        run,
                        author.iteration,
                        moment(now),
                    ])?;
                if rows == 1 {
                    return Ok(id);
                }
            }
        })
    }

    /// The open proposals, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn open_proposals(&self) -> Result<Vec<Proposal>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM proposals WHERE state = 'open' ORDER BY seq")
            .and_then(|mut statement| statement.query_map([], read_proposal)?.collect());
        self.sql(found)
    }

    /// The number of undecided changes and tasks that a run's agents proposed.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn proposed_in(&self, run: &RunId) -> Result<u32, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM proposals WHERE state = 'open' AND run = ?1)
                        + (SELECT count(*) FROM tasks WHERE status = 'proposed'
                           AND id IN (SELECT task FROM task_log WHERE author = 'agent' AND run = ?1))";
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([run.as_str()], |row| row.get(0)));
        self.sql(found)
    }

    /// The open proposal with this id or id prefix; none if there is none or several.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn find_proposal(&self, text: &str) -> Result<Option<Proposal>, StoreError> {
        let sql = "SELECT id, change FROM proposals WHERE id >= ?1 AND id < ?1 || 'g' AND state = 'open' ORDER BY id";
        let IdPrefix::One(id) = self.id_prefix(text, ProposalId::PREFIX, sql, ProposalId::parse)? else {
            return Ok(None);
        };
        self.proposal(id.as_str())
    }

    /// The proposal with this id, decided or not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn proposal(&self, id: &str) -> Result<Option<Proposal>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM proposals WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id], read_proposal).optional());
        self.sql(found)
    }

    /// Records a person's decision. Returns whether the proposal was still open.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn decide_proposal(&mut self, id: &ProposalId, decision: Decision, now: Timestamp) -> Result<bool, StoreError> {
        let state = match decision {
            Decision::Accepted => "accepted",
            Decision::Rejected => "rejected",
        };
        self.write(|transaction| {
            let rows = transaction
                .prepare_cached("UPDATE proposals SET state = ?2, decided_at = ?3 WHERE id = ?1 AND state = 'open'")?
                .execute(params![id.as_str(), state, moment(now)])?;
            Ok(rows == 1)
        })
    }
}

fn read_proposal(row: &Row<'_>) -> rusqlite::Result<Proposal> {
    Ok(Proposal {
        id: word_at(row, "id", ProposalId::parse)?,
        change: row.get("change")?,
        target: row.get("target")?,
        command: from_json(&row.get::<_, String>("payload")?, "payload")?,
        author: author_at(row)?,
        at: time_at(row, "at")?,
    })
}
