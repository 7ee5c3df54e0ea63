//! Verifies learnings: checksums, counts, references and search data. Whatever derives from other rows can be repaired;
//! what a user wrote cannot.

mod counters;
mod derived;
mod references;

use jiff::Timestamp;
use ralph_model::{Learning, LearningStatus};
use rusqlite::{Connection, Row};

use super::Store;
use super::learning_checksum::{ChecksumState, STATUS_CHECKSUM, TEXT_CHECKSUM, newest, update_checksums};
use super::learning_reading::{AllowedTypes, UnreadableLearning};
use crate::StoreError;
use counters::Counters;
use derived::Derived;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LearningFaultKind {
    Unreadable,
    /// A rate outside of 0 to 1.
    OutOfRange,
    /// An active learning without text.
    NoText,
    /// The text was altered.
    Changed,
    /// The status was altered.
    Status,
    /// Counts that differ from the journal.
    Counters,
    /// A reference to a missing row.
    Reference,
    /// A learning that is superseded by a missing one.
    Replaced,
    /// A duplicate of another learning.
    Duplicate,
    /// Learnings that supersede each other in a cycle.
    Ring,
    /// Search data that does not match the text.
    Derived,
}

impl LearningFaultKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::OutOfRange => "out_of_range",
            Self::NoText => "no_text",
            Self::Changed => "changed",
            Self::Status => "standing",
            Self::Counters => "counters",
            Self::Reference => "reference",
            Self::Replaced => "replaced",
            Self::Duplicate => "duplicate",
            Self::Ring => "ring",
            Self::Derived => "derived",
        }
    }

    /// Whether it can be repaired without asking a user.
    #[must_use]
    pub fn is_repairable(self) -> bool {
        match self {
            Self::Counters | Self::Reference | Self::Replaced | Self::Derived => true,
            Self::Unreadable
            | Self::OutOfRange
            | Self::NoText
            | Self::Changed
            | Self::Status
            | Self::Duplicate
            | Self::Ring => false,
        }
    }
}

/// A problem with a learning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningFault {
    pub kind: LearningFaultKind,
    /// The id; `None` if it concerns all of them.
    pub id: Option<String>,
    /// A sentence without a period.
    pub what: String,
}

/// What was found, and what remains after the repair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairedLearnings {
    pub found: Vec<LearningFault>,
    pub left: Vec<LearningFault>,
}

impl Store {
    /// Returns every problem with learnings.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verify_learnings(&self) -> Result<Vec<LearningFault>, StoreError> {
        let moment = self.begin_read();
        let mut faults = self.sql(moment.and_then(|moment| examine(&moment)))?;
        // This check takes the write lock briefly; without it the other problems are still reported.
        faults.extend(derived::word_index(&self.connection).unwrap_or_default());
        Ok(faults)
    }

    /// Repairs what needs no user: counts and search data are recomputed, dangling references removed. A learning that
    /// is superseded by a missing one does not become active again: it is rejected.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is repaired.
    pub fn repair_learnings(&mut self, now: Timestamp) -> Result<RepairedLearnings, StoreError> {
        self.write(|transaction| {
            let mut found = examine(transaction)?;
            found.extend(derived::word_index(transaction)?);
            if !found.iter().any(|fault| fault.kind.is_repairable()) {
                let left = found.clone();
                return Ok(RepairedLearnings { found, left });
            }
            references::repair(transaction, now)?;
            derived::repair(transaction)?;
            counters::repair(transaction)?;
            // Rows that were altered before the repair stay marked as altered.
            update_checksums(transaction, newest(transaction)?)?;
            let mut left = examine(transaction)?;
            left.extend(derived::word_index(transaction)?);
            Ok(RepairedLearnings { found, left })
        })
    }
}

/// Checks each row, then the data derived from the rows.
fn examine(connection: &Connection) -> rusqlite::Result<Vec<LearningFault>> {
    let mut faults = Vec::new();
    let counters = Counters::of(connection)?;
    let mut derived = Derived::new(connection);
    let allowed = AllowedTypes::of(connection)?;
    let mut statement = connection.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match allowed.read(row) {
            Ok(learning) => {
                faults.extend(changed(row, &learning)?);
                faults.extend(numbers(&learning));
                faults.extend(no_text(&learning));
                faults.extend(counters.fault(&learning));
                faults.extend(derived.fault(row, &learning)?);
            }
            Err(error) => match UnreadableLearning::in_error(&error) {
                Some(learning) => faults.push(unreadable(learning)),
                None => return Err(error),
            },
        }
        derived.count(row)?;
    }
    faults.extend(references::faults(connection)?);
    faults.extend(derived.finish()?);
    Ok(faults)
}

fn fault_of(kind: LearningFaultKind, learning: &Learning, what: String) -> LearningFault {
    LearningFault {
        kind,
        id: Some(learning.id.to_string()),
        what,
    }
}

/// Rows of an older version have no checksum until the next writes.
fn changed(row: &Row<'_>, learning: &Learning) -> rusqlite::Result<Vec<LearningFault>> {
    let mut faults = Vec::new();
    for (seal, kind, what) in [
        (
            TEXT_CHECKSUM,
            LearningFaultKind::Changed,
            "its text does not match its checksum, so something other than ralph has changed it",
        ),
        (
            STATUS_CHECKSUM,
            LearningFaultKind::Status,
            "its status, confidence or origin does not match its checksum, so something other than ralph has changed it",
        ),
    ] {
        if seal.state(row)? == ChecksumState::Broken {
            faults.push(fault_of(kind, learning, what.to_owned()));
        }
    }
    Ok(faults)
}

fn numbers(learning: &Learning) -> Option<LearningFault> {
    let is_share = |number: f64| (0.0..=1.0).contains(&number);
    let name = if !is_share(learning.confidence) {
        format!("its confidence is {}", learning.confidence)
    } else if !is_share(learning.first_success_rate) {
        format!("its first success rate is {}", learning.first_success_rate)
    } else if !is_share(learning.success_rate) {
        format!("its success rate is {}", learning.success_rate)
    } else {
        return None;
    };
    let what = format!("{name}, which is not between 0 and 1");
    Some(fault_of(LearningFaultKind::OutOfRange, learning, what))
}

fn no_text(learning: &Learning) -> Option<LearningFault> {
    let is_empty = learning.status == LearningStatus::Promoted && !learning.has_text();
    is_empty.then(|| {
        let what = "it is active but has no text, so it is never injected";
        fault_of(LearningFaultKind::NoText, learning, what.to_owned())
    })
}

/// Identifies an unreadable row by whatever it has as id.
fn unreadable(learning: &UnreadableLearning) -> LearningFault {
    LearningFault {
        kind: LearningFaultKind::Unreadable,
        id: Some(learning.id.clone()),
        what: format!("it cannot be read: {}", learning.why),
    }
}
