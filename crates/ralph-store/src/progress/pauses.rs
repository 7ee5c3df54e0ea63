//! Pauses: an agent must not be started for a while, whichever run found that out.
//!
//! A pause ends at a wall-clock time, and the clock may jump. So a run never waits longer than the pause lasted when it
//! was created, and a run that has waited long enough by its own count says so when it claims.

use std::time::Duration;

use jiff::Timestamp;
use ralph_model::RunId;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::Store;
use super::columns::{count_at, moment, time_at, word_at};
use super::settle::Settlement;
use crate::StoreError;

/// Why an agent should not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseReason {
    /// The user's usage limit is reached.
    UsageLimit,
    Transient,
}

impl PauseReason {
    /// The word in the database and for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::UsageLimit => "usage_limit",
            Self::Transient => "transient",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::UsageLimit, Self::Transient]
            .into_iter()
            .find(|reason| reason.word() == word)
    }
}

/// A pause to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPause {
    pub reason: PauseReason,
    pub until: Timestamp,
    /// How many times in a row this reason occurred.
    pub times: u32,
    /// The agent's explanation, as a sentence.
    pub said: String,
}

/// A pause of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    pub agent: String,
    pub what: NewPause,
    /// The run that encountered it.
    pub run: RunId,
    pub created_at: Timestamp,
}

impl Pause {
    /// The remaining time; none if it is over. Never more than its original length, in case the clock was set back.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        let whole = self.what.until.duration_since(self.created_at);
        let left = self.what.until.duration_since(now).min(whole);
        Duration::try_from(left).ok().filter(|left| !left.is_zero())
    }

    /// Whether both were created by the same run at the same time.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.agent == other.agent && self.run == other.run && self.created_at == other.created_at
    }
}

/// Which pauses keep a run from claiming a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PausePolicy<'a> {
    Respect,
    /// All except this one, which the run has waited out.
    Except(&'a Pause),
    Ignore,
}

impl PausePolicy<'_> {
    pub(super) fn applies(self, pause: &Pause, now: Timestamp) -> bool {
        let is_respected = match self {
            Self::Respect => true,
            Self::Except(waited) => !pause.is(waited),
            Self::Ignore => false,
        };
        is_respected && pause.left(now).is_some()
    }
}

/// How a settlement changes an agent's pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseChange {
    /// Nothing was learned about it.
    Keep,
    /// The pause known at the claim is over. One that another run has created since stays.
    Lift,
    /// There is a new pause. A longer one that another run has created since stays.
    Put(NewPause),
}

/// A change of an agent's pause, such as the verifier's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPauseChange {
    pub agent: String,
    /// Its pause that was on record at the claim.
    pub seen: Option<Pause>,
    pub change: PauseChange,
}

impl Store {
    /// The pause of an agent, over or not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn pause_of_agent(&self, agent: &str) -> Result<Option<Pause>, StoreError> {
        self.sql(pause_of_agent(&self.connection, agent))
    }

    /// The pause of a run's agent, over or not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn pause_of(&self, run: &RunId) -> Result<Option<Pause>, StoreError> {
        self.sql(pause_of(&self.connection, run))
    }
}

pub(super) fn pause_of(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<Pause>> {
    connection
        .prepare_cached("SELECT pauses.* FROM pauses JOIN runs ON runs.agent = pauses.agent WHERE runs.id = ?1")?
        .query_row([run.as_str()], read_pause)
        .optional()
}

pub(super) fn pause_of_agent(connection: &Connection, agent: &str) -> rusqlite::Result<Option<Pause>> {
    connection
        .prepare_cached("SELECT * FROM pauses WHERE agent = ?1")?
        .query_row([agent], read_pause)
        .optional()
}

pub(super) fn all_pauses(connection: &Connection) -> rusqlite::Result<Vec<Pause>> {
    connection
        .prepare_cached("SELECT * FROM pauses ORDER BY agent")?
        .query_map([], read_pause)?
        .collect()
}

/// Applies a settlement's changes to the pauses of the run's agents.
pub(super) fn change(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<()> {
    let agent: Option<String> = transaction
        .prepare_cached("SELECT agent FROM runs WHERE id = ?1")?
        .query_row([settlement.row.run.as_str()], |row| row.get(0))
        .optional()?;
    let own = agent.map(|agent| AgentPauseChange {
        agent,
        seen: settlement.seen_pause.clone(),
        change: settlement.pause.clone(),
    });
    let mut all = own.iter().chain(&settlement.verifier_pause);
    all.try_for_each(|pause| change_one(transaction, settlement, pause))
}

fn change_one(transaction: &Transaction<'_>, settlement: &Settlement, of: &AgentPauseChange) -> rusqlite::Result<()> {
    let there = pause_of_agent(transaction, &of.agent)?;
    let is_seen = |pause: &Pause| of.seen.as_ref().is_some_and(|seen| seen.is(pause));
    match (&of.change, there) {
        (PauseChange::Lift, Some(pause)) if is_seen(&pause) => transaction
            .prepare_cached("DELETE FROM pauses WHERE agent = ?1")?
            .execute([&pause.agent])
            .map(drop),
        (PauseChange::Put(new), there) if there.as_ref().is_none_or(|it| is_seen(it) || it.what.until < new.until) => {
            put(transaction, settlement, &of.agent, new)
        }
        (PauseChange::Keep | PauseChange::Lift | PauseChange::Put(_), _) => Ok(()),
    }
}

fn put(transaction: &Transaction<'_>, settlement: &Settlement, agent: &str, new: &NewPause) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO pauses (agent, reason, until, times, said, run, created_at)
             VALUES (?7, ?2, ?3, ?4, ?5, ?1, ?6)",
        )?
        .execute(params![
            settlement.row.run.as_str(),
            new.reason.word(),
            moment(new.until),
            new.times,
            new.said,
            moment(settlement.row.created_at),
            agent,
        ])
        .map(drop)
}

fn read_pause(row: &Row<'_>) -> rusqlite::Result<Pause> {
    Ok(Pause {
        agent: row.get("agent")?,
        what: NewPause {
            reason: word_at(row, "reason", PauseReason::parse)?,
            until: time_at(row, "until")?,
            times: count_at(row, "times")?,
            said: row.get("said")?,
        },
        run: word_at(row, "run", RunId::parse)?,
        created_at: time_at(row, "created_at")?,
    })
}
