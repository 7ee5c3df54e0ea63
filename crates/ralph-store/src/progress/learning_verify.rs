//! Whether lessons are what was written, count what happened, and are found by what they say. What ralph can draw anew from
//! other rows it can mend; what a person wrote it cannot.

mod counters;
mod derived;
mod references;

use ralph_model::Learning;
use rusqlite::{Connection, Row};

use super::Store;
use super::learning_reading::read_learning;
use super::learning_seal::seal;
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
    /// A row that is not what was written.
    Changed,
    /// Counts that are not those of the journal.
    Counters,
    /// A reference to what is not there.
    Reference,
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
            Self::Changed => "changed",
            Self::Counters => "counters",
            Self::Reference => "reference",
            Self::Duplicate => "duplicate",
            Self::Ring => "ring",
            Self::Derived => "derived",
        }
    }

    /// Whether it can be mended without asking a person.
    #[must_use]
    pub fn is_mendable(self) -> bool {
        match self {
            Self::Counters | Self::Reference | Self::Derived => true,
            Self::Unreadable | Self::OutOfRange | Self::Changed | Self::Duplicate | Self::Ring => false,
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
        let moment = self.connection.unchecked_transaction();
        let mut faults = self.sql(moment.and_then(|moment| examine(&moment)))?;
        // This one takes the lock of a writer for a moment; whoever may not have it is told of the rest.
        faults.extend(derived::word_index(&self.connection).unwrap_or_default());
        Ok(faults)
    }

    /// Mends what is wrong with lessons as far as no person is needed: counts and what lessons are found by are drawn anew,
    /// references to nothing are taken out.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing was mended.
    pub fn mend_learnings(&mut self) -> Result<MendedLearnings, StoreError> {
        self.write(|transaction| {
            let mut found = examine(transaction)?;
            found.extend(derived::word_index(transaction)?);
            if !found.iter().any(|fault| fault.kind.is_mendable()) {
                let left = found.clone();
                return Ok(MendedLearnings { found, left });
            }
            references::mend(transaction)?;
            derived::mend(transaction)?;
            counters::mend(transaction)?;
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
    let mut statement = connection.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match read_learning(row) {
            Ok(learning) => {
                faults.extend(changed(row, &learning)?);
                faults.extend(numbers(&learning));
                faults.extend(counters.fault(&learning));
                faults.extend(derived.fault(row, &learning)?);
            }
            Err(error) => faults.push(unreadable(row, &error)),
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
fn changed(row: &Row<'_>, learning: &Learning) -> rusqlite::Result<Option<LearningFault>> {
    let hash = row.get_ref("hash")?.as_bytes_or_null()?;
    if hash.is_none_or(|hash| seal(row).is_ok_and(|seal| seal.as_bytes() == hash)) {
        return Ok(None);
    }
    let what = "it is not what was written: its hash is another, so something else than ralph has changed it";
    Ok(Some(fault_of(LearningFaultKind::Changed, learning, what.to_owned())))
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

/// A row that cannot be read, by whatever it has for an id.
fn unreadable(row: &Row<'_>, error: &rusqlite::Error) -> LearningFault {
    let id = row.get_ref("id").ok().and_then(|id| id.as_bytes().ok());
    let why = match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, what) => what.to_string(),
        other => other.to_string(),
    };
    LearningFault {
        kind: LearningFaultKind::Unreadable,
        id: id.map(|id| String::from_utf8_lossy(id).into_owned()),
        what: format!("it holds what cannot be read: {why}"),
    }
}
