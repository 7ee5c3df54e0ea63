//! Whether lessons are what was written, count what happened, and are found by what they say. What ralph can draw anew from
//! other rows it can mend; what a person wrote it cannot.

mod counters;
mod derived;
mod references;

use jiff::Timestamp;
use ralph_model::{Learning, LearningStatus};
use rusqlite::{Connection, Row};

use super::Store;
use super::learning_reading::{AllowedTypes, UnreadableLearning};
use super::learning_seal::{STANDING, SealState, WORDS, newest, seal_changed};
use crate::StoreError;
use counters::Counters;
use derived::Derived;

/// What kind of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LearningFaultKind {
    /// A row that cannot be read.
    Unreadable,
    /// A share that is no number from 0 to 1.
    OutOfRange,
    /// A lesson that holds and says nothing.
    NoText,
    /// A row that does not say what was written.
    Changed,
    /// A row that does not stand as was written.
    Standing,
    /// Counts that are not those of the journal.
    Counters,
    /// A reference to what is not there.
    Reference,
    /// A lesson that another one took the place of which is not there.
    Replaced,
    /// A lesson that another one is already.
    Duplicate,
    /// Lessons that have taken each other's place.
    Ring,
    /// What lessons are found by, and does not fit what they say.
    Derived,
}

impl LearningFaultKind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::OutOfRange => "out_of_range",
            Self::NoText => "no_text",
            Self::Changed => "changed",
            Self::Standing => "standing",
            Self::Counters => "counters",
            Self::Reference => "reference",
            Self::Replaced => "replaced",
            Self::Duplicate => "duplicate",
            Self::Ring => "ring",
            Self::Derived => "derived",
        }
    }

    /// Whether it can be mended without asking a person.
    #[must_use]
    pub fn is_mendable(self) -> bool {
        match self {
            Self::Counters | Self::Reference | Self::Replaced | Self::Derived => true,
            Self::Unreadable
            | Self::OutOfRange
            | Self::NoText
            | Self::Changed
            | Self::Standing
            | Self::Duplicate
            | Self::Ring => false,
        }
    }
}

/// Something that is wrong with lessons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningFault {
    /// What kind of fault it is.
    pub kind: LearningFaultKind,
    /// The lesson, as it is called; none where it is about all of them.
    pub id: Option<String>,
    /// What is wrong, as a sentence without its end.
    pub what: String,
}

/// What was found, and what is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MendedLearnings {
    /// Everything that was wrong.
    pub found: Vec<LearningFault>,
    /// What still is.
    pub left: Vec<LearningFault>,
}

impl Store {
    /// Everything that is wrong with lessons.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verify_learnings(&self) -> Result<Vec<LearningFault>, StoreError> {
        let moment = self.look();
        let mut faults = self.sql(moment.and_then(|moment| examine(&moment)))?;
        // This one takes the lock of a writer for a moment; whoever may not have it is told of the rest.
        faults.extend(derived::word_index(&self.connection).unwrap_or_default());
        Ok(faults)
    }

    /// Mends what is wrong with lessons as far as no person is needed: counts and what lessons are found by are drawn anew,
    /// references to nothing are taken out. What was replaced by a lesson that is not there does not hold again: it is
    /// rejected.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing was mended.
    pub fn mend_learnings(&mut self, now: Timestamp) -> Result<MendedLearnings, StoreError> {
        self.write(|transaction| {
            let mut found = examine(transaction)?;
            found.extend(derived::word_index(transaction)?);
            if !found.iter().any(|fault| fault.kind.is_mendable()) {
                let left = found.clone();
                return Ok(MendedLearnings { found, left });
            }
            references::mend(transaction, now)?;
            derived::mend(transaction)?;
            counters::mend(transaction)?;
            // What was not what was written before it was mended still is not.
            seal_changed(transaction, newest(transaction)?)?;
            let mut left = examine(transaction)?;
            left.extend(derived::word_index(transaction)?);
            Ok(MendedLearnings { found, left })
        })
    }
}

/// Looks at everything, row by row, and then at what is drawn from the rows.
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

/// A row that is not what was written. Those of an older program have no hash until something is written again.
fn changed(row: &Row<'_>, learning: &Learning) -> rusqlite::Result<Vec<LearningFault>> {
    let mut faults = Vec::new();
    for (seal, kind, what) in [
        (
            WORDS,
            LearningFaultKind::Changed,
            "it is not what was written: its hash is another, so something else than ralph has changed it",
        ),
        (
            STANDING,
            LearningFaultKind::Standing,
            "it does not stand as was written: the hash of its status, its confidence and where it comes from is another, so \
             something else than ralph has changed them",
        ),
    ] {
        if seal.state(row)? == SealState::Broken {
            faults.push(fault_of(kind, learning, what.to_owned()));
        }
    }
    Ok(faults)
}

/// Numbers that cannot be.
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
    let what = format!("{name}, which is no number from 0 to 1");
    Some(fault_of(LearningFaultKind::OutOfRange, learning, what))
}

/// A lesson that holds and says nothing.
fn no_text(learning: &Learning) -> Option<LearningFault> {
    let is_empty = learning.status == LearningStatus::Promoted && !learning.has_text();
    is_empty.then(|| {
        let what = "it holds and has no text, so it stands in no prompt";
        fault_of(LearningFaultKind::NoText, learning, what.to_owned())
    })
}

/// A row that cannot be read, by whatever it has for an id.
fn unreadable(learning: &UnreadableLearning) -> LearningFault {
    LearningFault {
        kind: LearningFaultKind::Unreadable,
        id: Some(learning.id.clone()),
        what: format!("it holds what cannot be read: {}", learning.why),
    }
}
