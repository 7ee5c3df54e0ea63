//! Imports learnings of another store. A known id is updated, a duplicate raises the confidence of the existing
//! learning, and repeating the import adds nothing.

use jiff::Timestamp;
use ralph_model::config::Promote;
use ralph_model::{
    Candidate, Entropy, Facts, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskType,
};
use rusqlite::{OptionalExtension, Transaction, params};

use super::Store;
use super::columns::{moment, to_json};
use super::foreign_update::{LastImport, bring_up_to_date};
use super::learning_changes::{resolve_merged, unite, unite_tags, write_support};
use super::learning_reading::read_learning;
use super::lifecycle::prune;
use super::same_learning::{ComparedLearning, DuplicateKey, Paraphrase, keep_words, other_duplicate};
use super::{learning_terms, normalized, tag_terms};
use crate::StoreError;

/// Number of uses that the first success rate counts for.
const FIRST_WEIGHT: f64 = 5.0;

/// A learning of another store, with texts that are safe to store.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignLearning {
    pub id: Option<String>,
    pub kind: LearningKind,
    pub category: String,
    /// `None` if the other store does not say.
    pub task_type: Option<TaskType>,
    pub content: String,
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
    /// A near-duplicate, known here or earlier in the same import.
    pub paraphrase: Option<Paraphrase>,
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
    /// A paraphrase; the confidence of the existing learning was raised, and this one was stored as merged into it.
    Reworded,
    /// Nothing about it was new.
    Unchanged,
}

impl Store {
    /// Imports learnings, all or none. Returns the results in order. Learnings that a user rejected or removed here
    /// stay so.
    ///
    /// # Errors
    /// When the database cannot be written, or other learnings were added since these were compared.
    pub fn import_learnings(
        &mut self,
        learnings: &[ForeignLearning],
        promote: Promote,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Vec<ImportedLearning>, StoreError> {
        let compared = learnings.iter().filter_map(|learning| learning.paraphrase.as_ref());
        self.write_compared(compared, |transaction| {
            let mut taken = Vec::with_capacity(learnings.len());
            for learning in learnings {
                let incoming = Incoming {
                    transaction,
                    learning,
                    paraphrase: paraphrase(learning, &taken),
                    promote,
                    now,
                };
                taken.push(incoming.take(entropy)?);
            }
            Ok(taken)
        })
    }

    /// Submits learnings for review, all or none. Returns the results in order. A known learning stays as it is,
    /// whatever its status: an unreviewed one is not evidence.
    ///
    /// # Errors
    /// When the database cannot be written, or other learnings were added since these were compared.
    pub fn stage_learnings(
        &mut self,
        learnings: &[ForeignLearning],
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Vec<ImportedLearning>, StoreError> {
        let compared = learnings.iter().filter_map(|learning| learning.paraphrase.as_ref());
        self.write_compared(compared, |transaction| {
            let mut staged = Vec::with_capacity(learnings.len());
            for learning in learnings {
                let incoming = Incoming {
                    transaction,
                    learning,
                    paraphrase: paraphrase(learning, &staged),
                    promote: Promote::Review,
                    now,
                };
                staged.push(match incoming.known()? {
                    Some((known, _)) => unchanged(known),
                    None => incoming.keep(entropy)?,
                });
            }
            Ok(staged)
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

/// Resolves the near-duplicate of a learning, given the results so far.
fn paraphrase(learning: &ForeignLearning, taken: &[ImportedLearning]) -> Option<ComparedLearning> {
    let id_of = |place| taken.get(place).map(|taken: &ImportedLearning| taken.id.clone());
    learning.paraphrase.as_ref()?.among(id_of)
}

fn unchanged(known: Learning) -> ImportedLearning {
    ImportedLearning {
        id: known.id,
        taken: ImportOutcome::Unchanged,
        status: known.status,
        reason: known.reason,
    }
}

/// A learning to import.
struct Incoming<'a> {
    transaction: &'a Transaction<'a>,
    learning: &'a ForeignLearning,
    /// Its near-duplicate here.
    paraphrase: Option<ComparedLearning>,
    promote: Promote,
    now: Timestamp,
}

/// How an existing learning relates to an incoming one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Same,
    Duplicate,
    /// Identical or a duplicate; the existing learning keeps its id.
    Survivor,
    /// A paraphrase. The incoming learning is stored under its own id as merged into the existing one.
    Reworded,
}

impl Incoming<'_> {
    fn take(&self, entropy: &mut dyn Entropy) -> rusqlite::Result<ImportedLearning> {
        match self.known()? {
            // Learnings that were not reviewed here, or were rejected there, are not evidence and are stored
            // separately.
            Some((_, Relation::Reworded)) if !self.supports() => self.keep(entropy),
            Some((known, _)) if !self.supports() => Ok(unchanged(known)),
            Some((known, Relation::Reworded)) => {
                let own = self.keep(entropy)?;
                let reason = format!("Merged into {}.", known.id);
                prune(self.transaction, &own.id, (&reason, Some(&known.id)), self.now)?;
                self.unite(&known, Relation::Reworded)
            }
            Some((known, relation)) => self.unite(&known, relation),
            None => self.keep(entropy),
        }
    }

    /// Whether it is evidence for a known learning. Unreviewed, rejected and invalid learnings are not.
    fn supports(&self) -> bool {
        let (status, _) = self.judged();
        !matches!(status, LearningStatus::Pending | LearningStatus::Rejected)
    }

    /// Returns the same or a duplicate learning. A merged one is resolved to the one that it was merged into.
    fn known(&self) -> rusqlite::Result<Option<(Learning, Relation)>> {
        let by_id = self.by_id()?;
        // An id that another learning has cannot be given to a duplicate.
        let relation = if by_id.is_some() {
            Relation::Survivor
        } else {
            Relation::Duplicate
        };
        let (found, relation) = match by_id {
            Some(same) if self.is_same_learning(&same)? => (same, Relation::Same),
            _ => match self.duplicate()? {
                Some(duplicate) => (duplicate, relation),
                None => return self.reworded(),
            },
        };
        let id = found.id.clone();
        let survivor = resolve_merged(self.transaction, found)?;
        if let Some(other) = self.other_with_these_words(&survivor)? {
            return Ok(Some((other, Relation::Survivor)));
        }
        let relation = if survivor.id == id {
            relation
        } else {
            Relation::Survivor
        };
        Ok(Some((survivor, relation)))
    }

    fn reworded(&self) -> rusqlite::Result<Option<(Learning, Relation)>> {
        let paraphrase = self.paraphrase.as_ref();
        let known = paraphrase
            .map(|meant| self.duplicate_key().paraphrase(self.transaction, meant))
            .transpose()?;
        Ok(known.flatten().map(|known| (known, Relation::Reworded)))
    }

    /// Whether a known learning with the same id is this one, rather than an id collision between two stores.
    fn is_same_learning(&self, known: &Learning) -> rusqlite::Result<bool> {
        let last = LastImport::read(self.original(&known.id)?.as_deref());
        Ok(last.is_of(self.learning, known))
    }

    /// Returns another learning that has the words to which this one was changed since its last import.
    fn other_with_these_words(&self, known: &Learning) -> rusqlite::Result<Option<Learning>> {
        if normalized(&known.content) == normalized(&self.learning.content) {
            return Ok(None);
        }
        let mut reworded = known.clone();
        reworded.content.clone_from(&self.learning.content);
        let other = other_duplicate(self.transaction, &reworded)?;
        let survivor = other.map(|other| resolve_merged(self.transaction, other)).transpose()?;
        Ok(survivor.filter(|survivor| survivor.id != known.id))
    }

    fn by_id(&self) -> rusqlite::Result<Option<Learning>> {
        self.transaction
            .prepare_cached(
                "SELECT * FROM learnings WHERE foreign_id = ?1 OR id = ?1 ORDER BY foreign_id IS ?1 DESC LIMIT 1",
            )?
            .query_row([&self.learning.id], read_learning)
            .optional()
    }

    /// Returns one of the same kind and task type with the same words. Estimates of the same complexity are duplicates,
    /// whatever their text.
    fn duplicate(&self) -> rusqlite::Result<Option<Learning>> {
        match (self.duplicate_key().unmerged(self.transaction)?, &self.learning.facts) {
            (None, Some(Facts::Estimate { complexity, .. })) => self.estimate_of(complexity),
            (found, _) => Ok(found),
        }
    }

    fn estimate_of(&self, complexity: &str) -> rusqlite::Result<Option<Learning>> {
        self.transaction
            .prepare_cached(
                "SELECT * FROM learnings INDEXED BY learnings_estimates
                 WHERE kind = 'estimate' AND task_type IS ?1
                       AND facts ->> '$.complexity' = ?2
                 ORDER BY status = 'pruned', seq LIMIT 1",
            )?
            .query_row(
                params![self.learning.task_type.map(TaskType::word), complexity],
                read_learning,
            )
            .optional()
    }

    fn duplicate_key(&self) -> DuplicateKey<'_> {
        DuplicateKey {
            kind: self.learning.kind,
            task_type: self.learning.task_type,
            content: &self.learning.content,
        }
    }

    /// Updates a known learning, or adds support to it.
    fn unite(&self, known: &Learning, relation: Relation) -> rusqlite::Result<ImportedLearning> {
        let learning = self.learning;
        let mut next = known.clone();
        unite(&mut next.source_loops, &learning.source_loops);
        unite_tags(&mut next.tags, &learning.tags);
        next.confidence = share(learning.confidence).max(known.confidence);
        // Not a sum, or repeated imports would count the same uses again. The identical learning may include uses that
        // were counted here.
        let counted = match relation {
            Relation::Same | Relation::Survivor => known.use_count,
            Relation::Duplicate => known.first_use_count,
            Relation::Reworded => {
                keep_words(&mut next, &learning.content);
                // The maximum over all learnings merged into it, so that undoing a merge gives the counts back.
                let is_part = next.examples.contains(&learning.content);
                if is_part { 0 } else { known.use_count }
            }
        };
        let more_uses = learning.use_count.saturating_sub(counted);
        next.first_use_count += more_uses;
        next.use_count = known.use_count.saturating_add(more_uses);
        let earlier = self.original(&known.id)?;
        let mut original = earlier.clone();
        let last = LastImport::read(earlier.as_deref());
        if relation == Relation::Same && learning.kind == known.kind && last.is_before(learning, known) {
            bring_up_to_date(self.transaction, &mut next, learning, &last)?;
            original = learning.original.clone();
        }
        if relation == Relation::Duplicate
            && known.foreign_id.is_none()
            && learning.id.as_deref() != Some(known.id.as_str())
        {
            next.foreign_id.clone_from(&learning.id);
            original = learning.original.clone();
        }
        next.success_rate = success_rate(&next);
        next.status = self.raised(known);
        let is_unchanged = next == *known && original == earlier;
        if !is_unchanged {
            write_support(self.transaction, &next, self.now)?;
            self.write_rest(&next, original.as_deref())?;
        }
        Ok(ImportedLearning {
            taken: match relation {
                Relation::Reworded => ImportOutcome::Reworded,
                _ if is_unchanged => ImportOutcome::Unchanged,
                Relation::Same => ImportOutcome::Updated,
                Relation::Duplicate | Relation::Survivor => ImportOutcome::Strengthened,
            },
            id: next.id,
            status: next.status,
            reason: next.reason,
        })
    }

    /// Status of a known learning after this one; it is never lowered.
    fn raised(&self, known: &Learning) -> LearningStatus {
        let (status, _) = self.judged();
        match (known.status, status) {
            (LearningStatus::Pending | LearningStatus::Validated, LearningStatus::Promoted) => LearningStatus::Promoted,
            (LearningStatus::Pending, LearningStatus::Validated) => LearningStatus::Validated,
            (status, _) => status,
        }
    }

    fn original(&self, id: &LearningId) -> rusqlite::Result<Option<String>> {
        self.transaction
            .prepare_cached("SELECT original FROM learnings WHERE id = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
    }

    /// Writes the fields that `write_support` does not.
    fn write_rest(&self, next: &Learning, original: Option<&str>) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "UPDATE learnings SET content = ?2, normalized = ?3, facts = ?4, foreign_id = ?5, original = ?6,
                     first_use_count = ?7, first_success_rate = ?8, success_rate = ?9, status = ?10
                 WHERE id = ?1",
            )?
            .execute(params![
                next.id.as_str(),
                next.content,
                normalized(&next.content),
                next.facts.as_ref().map(to_json).transpose()?,
                next.foreign_id,
                original,
                next.first_use_count,
                next.first_success_rate,
                next.success_rate,
                next.status.word(),
            ])
            .map(drop)
    }

    /// Validates and stores a new learning. Its id is kept if it is free, and becomes our id if it has our format.
    fn keep(&self, entropy: &mut dyn Entropy) -> rusqlite::Result<ImportedLearning> {
        let foreign_id = match self.by_id()? {
            Some(_) => None,
            None => self.learning.id.as_deref(),
        };
        let own = foreign_id.and_then(LearningId::parse);
        let mut id = own.unwrap_or_else(|| LearningId::new(entropy.next_bits()));
        let (status, reason) = self.judged();
        while !self.insert((&id, foreign_id), status, reason.as_deref())? {
            id = LearningId::new(entropy.next_bits());
        }
        Ok(ImportedLearning {
            id,
            taken: ImportOutcome::Added,
            status,
            reason,
        })
    }

    /// Status that it gets here, and the reason if it is rejected.
    fn judged(&self) -> (LearningStatus, Option<String>) {
        let learning = self.learning;
        match &learning.standing {
            ForeignLearningStatus::Pending => (LearningStatus::Pending, None),
            ForeignLearningStatus::Validated => (LearningStatus::Validated, None),
            ForeignLearningStatus::Rejected(reason) => (LearningStatus::Rejected, Some(reason.clone())),
            ForeignLearningStatus::Promoted => {
                let candidate = Candidate {
                    kind: learning.kind,
                    task_type: learning.task_type,
                    content: &learning.content,
                    confidence: learning.confidence,
                    success_rate: learning.success_rate,
                };
                match (candidate.rejection(), self.promote) {
                    (Some(reason), _) => (LearningStatus::Rejected, Some(reason.to_owned())),
                    (None, Promote::Evidence | Promote::Auto) => (LearningStatus::Promoted, None),
                    (None, Promote::Review) => (LearningStatus::Validated, None),
                }
            }
        }
    }

    /// Writes a new learning under its id here and its original id. Returns `false` if the id is taken.
    fn insert(
        &self,
        (id, foreign_id): (&LearningId, Option<&str>),
        status: LearningStatus,
        reason: Option<&str>,
    ) -> rusqlite::Result<bool> {
        let learning = self.learning;
        let rows = self
            .transaction
            .prepare_cached(
                "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, first_success_rate,
                                        use_count, first_use_count, source, source_loops, status, reason, created_at,
                                        updated_at, task_type, normalized, terms, tag_terms, facts, foreign_id, original)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                         ?21)
                 ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                id.as_str(),
                learning.kind.word(),
                learning.category,
                learning.content,
                to_json(&learning.tags)?,
                share(learning.confidence),
                share(learning.success_rate),
                learning.use_count,
                LearningSource::Imported.word(),
                to_json(&learning.source_loops)?,
                status.word(),
                reason,
                moment(learning.created_at),
                // The unused period before pruning starts now.
                moment(self.now),
                learning.task_type.map(TaskType::word),
                normalized(&learning.content),
                learning_terms(&learning.content, &learning.tags),
                to_json(&tag_terms(&learning.tags))?,
                learning.facts.as_ref().map(to_json).transpose()?,
                foreign_id,
                learning.original,
            ])?;
        Ok(rows == 1)
    }
}

/// Clamps a number to 0–1. Not-a-number becomes 0.
pub(super) fn share(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number.clamp(0.0, 1.0) }
}

/// Success rate: the imported rate, weighted as a number of uses, and the counts since.
fn success_rate(learning: &Learning) -> f64 {
    let uses = learning.use_count.saturating_sub(learning.first_use_count);
    // Without any use the result is exactly the imported rate.
    if uses == 0 || learning.kind == LearningKind::Antipattern {
        return learning.first_success_rate;
    }
    let successes = FIRST_WEIGHT * learning.first_success_rate + f64::from(learning.successes);
    successes / (FIRST_WEIGHT + f64::from(uses))
}
