//! Imports learnings of another store. A known id is updated, a duplicate raises the confidence of the existing
//! learning, and repeating the import adds nothing.

use jiff::Timestamp;
use ralph_model::config::Promote;
use ralph_model::{
    Entropy, Facts, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskType, TextFeatures,
};
use rusqlite::{OptionalExtension, Transaction, params};

use super::Store;
use super::foreign_update::{LastImport, bring_up_to_date};
use super::learning_changes::resolve_merged;
use super::learning_reading::read_learning;
use super::learning_writer::{Repeated, Source, add, draft, upsert, validate};
use super::lifecycle::prune;
use super::normalized;
use super::same_learning::{self, Likeness, other_duplicate};
use crate::StoreError;

/// A learning of another store, with texts that are safe to store.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignLearning {
    pub id: Option<String>,
    pub kind: LearningKind,
    pub category: String,
    /// `None` if the other store does not say.
    pub task_type: Option<TaskType>,
    pub content: String,
    /// Those of the content.
    pub features: TextFeatures,
    /// Additional words that find it.
    pub tags: Vec<String>,
    pub facts: Option<Facts>,
    /// Any number; it is limited to the valid range here.
    pub confidence: f64,
    /// Any number, like the confidence.
    pub success_rate: f64,
    pub use_count: u32,
    pub source_loops: Vec<String>,
    pub standing: ForeignLearningStatus,
    /// The original record as JSON; `None` if it must not be stored.
    pub original: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Status of a learning in the other store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignLearningStatus {
    Promoted,
    Validated,
    Pending,
    Rejected(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedLearning {
    pub id: LearningId,
    pub taken: ImportOutcome,
    pub status: LearningStatus,
    /// Why it was rejected, if it was.
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    Added,
    /// It was imported before, and has changed since.
    Updated,
    /// A duplicate; the confidence of the existing learning was raised.
    Strengthened,
    /// A near-duplicate; the confidence of the existing learning was raised, and this one was stored as merged into it.
    Reworded,
    /// Nothing about it was new.
    Unchanged,
}

impl Store {
    /// Imports learnings, all or none. Returns the results in order. Learnings that a user rejected or removed here
    /// stay so.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn import_learnings(
        &mut self,
        learnings: &[ForeignLearning],
        promote: Promote,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Vec<ImportedLearning>, StoreError> {
        self.write_foreign(learnings, Mode::Import(promote), entropy, now)
    }

    /// Submits learnings for review, all or none. Returns the results in order. A known learning stays as it is,
    /// whatever its status: an unreviewed one is not evidence.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn stage_learnings(
        &mut self,
        learnings: &[ForeignLearning],
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Vec<ImportedLearning>, StoreError> {
        self.write_foreign(learnings, Mode::Staging, entropy, now)
    }

    fn write_foreign(
        &mut self,
        learnings: &[ForeignLearning],
        mode: Mode,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Vec<ImportedLearning>, StoreError> {
        self.write(|transaction| {
            let mut imported = Vec::with_capacity(learnings.len());
            for learning in learnings {
                imported.push(import(transaction, learning, mode, entropy, now)?);
            }
            Ok(imported)
        })
    }

    /// Returns every learning with the record that it was imported from, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learnings_with_originals(&self) -> Result<Vec<(Learning, Option<String>)>, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM learnings ORDER BY seq")
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| Ok((read_learning(row)?, row.get("original")?)))?
                    .collect()
            });
        self.sql(found)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Import(Promote),
    /// Learnings to be reviewed are not evidence for known ones.
    Staging,
}

fn import(
    transaction: &Transaction<'_>,
    learning: &ForeignLearning,
    mode: Mode,
    entropy: &mut dyn Entropy,
    now: Timestamp,
) -> rusqlite::Result<ImportedLearning> {
    let by_id = by_id(transaction, learning)?;
    let mut new = learning.as_new(mode, now);
    // An id that another learning has cannot be given to this one.
    new.foreign_id = learning.id.clone().filter(|_| by_id.is_none());
    let mut source = Import {
        learning,
        mode,
        by_id,
        own_id: new.foreign_id.as_deref().and_then(LearningId::parse),
        is_evidence: !matches!(new.status, LearningStatus::Pending | LearningStatus::Rejected),
        takes_original: false,
        entropy,
    };
    let upserted = upsert(transaction, new, &learning.features, &mut source)?;
    Ok(ImportedLearning {
        taken: match upserted.known {
            None => ImportOutcome::Added,
            Some((_, Likeness::Near)) if mode != Mode::Staging => ImportOutcome::Reworded,
            Some(_) if !upserted.is_changed => ImportOutcome::Unchanged,
            Some((_, Likeness::Record)) => ImportOutcome::Updated,
            Some(_) => ImportOutcome::Strengthened,
        },
        id: upserted.learning.id,
        status: upserted.learning.status,
        reason: upserted.learning.reason,
    })
}

fn by_id(transaction: &Transaction<'_>, learning: &ForeignLearning) -> rusqlite::Result<Option<Learning>> {
    transaction
        .prepare_cached(
            "SELECT * FROM learnings WHERE foreign_id = ?1 OR id = ?1 ORDER BY foreign_id IS ?1 DESC LIMIT 1",
        )?
        .query_row([&learning.id], read_learning)
        .optional()
}

impl ForeignLearning {
    /// As it is stored here if it is new.
    fn as_new(&self, mode: Mode, now: Timestamp) -> Learning {
        let mut new = Learning {
            category: self.category.clone(),
            task_type: self.task_type,
            content: self.content.clone(),
            tags: self.tags.clone(),
            confidence: self.confidence,
            first_success_rate: self.success_rate,
            use_count: self.use_count,
            first_use_count: self.use_count,
            source_loops: self.source_loops.clone(),
            facts: self.facts.clone(),
            created_at: self.created_at,
            // The unused period before pruning starts now.
            ..draft(LearningSource::Imported, self.kind, now)
        };
        match (&self.standing, mode) {
            (ForeignLearningStatus::Pending, _) => {}
            (ForeignLearningStatus::Validated, _) => new.status = LearningStatus::Validated,
            (ForeignLearningStatus::Rejected(reason), _) => {
                (new.status, new.reason) = (LearningStatus::Rejected, Some(reason.clone()));
            }
            (ForeignLearningStatus::Promoted, Mode::Import(Promote::Evidence | Promote::Auto)) => {
                validate(&mut new, LearningStatus::Promoted);
            }
            (ForeignLearningStatus::Promoted, Mode::Import(Promote::Review) | Mode::Staging) => {
                validate(&mut new, LearningStatus::Validated);
            }
        }
        // Numbers out of range are limited after they were validated.
        new.confidence = share(new.confidence);
        new.first_success_rate = share(new.first_success_rate);
        new.success_rate = new.first_success_rate;
        new
    }
}

/// A learning to import.
struct Import<'a> {
    learning: &'a ForeignLearning,
    mode: Mode,
    /// The learning here that has its id.
    by_id: Option<Learning>,
    /// The id for it here, if its own has our form.
    own_id: Option<LearningId>,
    /// Whether it is evidence for a known learning. Unreviewed, rejected and invalid ones are not.
    is_evidence: bool,
    /// Whether the known learning gets its original record.
    takes_original: bool,
    entropy: &'a mut dyn Entropy,
}

impl Source for Import<'_> {
    fn known(
        &self,
        transaction: &Transaction<'_>,
        new: &Learning,
        features: &TextFeatures,
    ) -> rusqlite::Result<Option<(Learning, Likeness)>> {
        let known = match self.same_record(transaction)? {
            Some(record) => Some(same_learning::resolved(transaction, record, Likeness::Record)?),
            None => same_learning::known(transaction, new, features)?,
        };
        match known {
            // A near-duplicate that is not evidence is stored separately.
            Some((_, Likeness::Near)) if !self.is_evidence && self.mode != Mode::Staging => Ok(None),
            None | Some((_, Likeness::Near)) => Ok(known),
            Some((known, likeness)) => {
                let other = self.other_with_these_words(transaction, &known)?;
                Ok(Some(other.map_or((known, likeness), |other| (other, Likeness::Part))))
            }
        }
    }

    fn support(
        &mut self,
        transaction: &Transaction<'_>,
        repeated: Repeated<'_>,
        next: &mut Learning,
    ) -> rusqlite::Result<bool> {
        if !self.is_evidence || self.mode == Mode::Staging {
            return Ok(false);
        }
        let Repeated { known, new, likeness } = repeated;
        if likeness == Likeness::Near {
            self.store_as_part(transaction, repeated)?;
        }
        next.confidence = new.confidence.max(known.confidence);
        next.status = raised(known.status, new.status);
        let is_duplicate = likeness == Likeness::Identical && self.by_id.is_none();
        // Not a sum, or repeated imports would count the same uses again. The same record may include uses that were
        // counted here. A near-duplicate that became a part brings its own, so that undoing a merge gives them back.
        let counted = match likeness {
            Likeness::Near if next.examples.contains(&new.content) => 0,
            _ if is_duplicate => known.first_use_count,
            _ => known.use_count,
        };
        let more_uses = new.use_count.saturating_sub(counted);
        next.first_use_count += more_uses;
        next.use_count = known.use_count.saturating_add(more_uses);
        let original = original(transaction, &known.id)?;
        let last = LastImport::read(original.as_deref());
        if likeness == Likeness::Record && new.kind == known.kind && last.is_before(self.learning, known) {
            bring_up_to_date(transaction, next, self.learning, &last)?;
            self.takes_original = true;
        }
        if is_duplicate && known.foreign_id.is_none() && self.learning.id.as_deref() != Some(known.id.as_str()) {
            next.foreign_id.clone_from(&self.learning.id);
            self.takes_original = true;
        }
        next.success_rate = next.counted_success_rate();
        Ok(next != known || self.takes_original && self.learning.original != original)
    }

    fn next_id(&mut self) -> LearningId {
        let own = self.own_id.take();
        own.unwrap_or_else(|| LearningId::new(self.entropy.next_bits()))
    }

    fn record(
        &mut self,
        transaction: &Transaction<'_>,
        id: &LearningId,
        known: Option<&Learning>,
    ) -> rusqlite::Result<()> {
        if known.is_some() && !self.takes_original {
            return Ok(());
        }
        transaction
            .prepare_cached("UPDATE learnings SET original = ?2 WHERE id = ?1")?
            .execute(params![id.as_str(), self.learning.original])
            .map(drop)
    }
}

impl Import<'_> {
    /// Returns an earlier import of the same record, rather than another learning with the same id.
    fn same_record(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Option<Learning>> {
        let Some(known) = &self.by_id else {
            return Ok(None);
        };
        let last = LastImport::read(original(transaction, &known.id)?.as_deref());
        Ok(last.is_of(self.learning, known).then(|| known.clone()))
    }

    /// Returns another learning that has the words to which this one was changed since its last import.
    fn other_with_these_words(
        &self,
        transaction: &Transaction<'_>,
        known: &Learning,
    ) -> rusqlite::Result<Option<Learning>> {
        if normalized(&known.content) == normalized(&self.learning.content) {
            return Ok(None);
        }
        let reworded = Learning {
            content: self.learning.content.clone(),
            ..known.clone()
        };
        let other = other_duplicate(transaction, &reworded)?;
        let survivor = other.map(|other| resolve_merged(transaction, other)).transpose()?;
        Ok(survivor.filter(|survivor| survivor.id != known.id))
    }

    /// Stores a near-duplicate under its own id, as merged into the known learning.
    fn store_as_part(&mut self, transaction: &Transaction<'_>, repeated: Repeated<'_>) -> rusqlite::Result<()> {
        let Repeated { known, new, .. } = repeated;
        let part = add(transaction, new.clone(), &self.learning.features, self)?;
        let reason = format!("Merged into {}.", known.id);
        prune(transaction, &part.id, (&reason, Some(&known.id)), new.updated_at)
    }
}

/// Status of a known learning after an imported one; it is never lowered.
fn raised(known: LearningStatus, imported: LearningStatus) -> LearningStatus {
    match (known, imported) {
        (LearningStatus::Pending | LearningStatus::Validated, LearningStatus::Promoted)
        | (LearningStatus::Pending, LearningStatus::Validated) => imported,
        _ => known,
    }
}

fn original(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<Option<String>> {
    transaction
        .prepare_cached("SELECT original FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
}

/// Clamps a number to 0–1. Not-a-number becomes 0.
pub(super) fn share(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number.clamp(0.0, 1.0) }
}
