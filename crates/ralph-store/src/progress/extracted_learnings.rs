//! Stores learnings extracted from a whole run. Each run counts once for a learning, however often it is extracted.

use jiff::Timestamp;
use ralph_model::config::Promote;
use ralph_model::{
    Candidate, Entropy, ExtractedLearning, Extraction, Facts, Learning, LearningId, LearningSource, LearningStatus,
    TextFeatures,
};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::moment;
use super::learning_strength::{FIRST_CONFIDENCE, strengthened_by_run};
use super::learning_update::is_rated_by_person;
use super::learning_warnings::note_warnings;
use super::learning_writer::{Repeated, Source, Upserted, draft, upsert, validate};
use crate::StoreError;

/// Tolerance for numbers that were added in a different order.
const ROUNDING: f64 = 1e-9;

#[derive(Debug, Clone, Copy)]
pub struct Taught<'a> {
    /// The run, one of ours or another tool's.
    pub run: &'a str,
    pub drawn: &'a [ExtractedLearning],
    /// The features of their texts, in the same order.
    pub features: &'a [TextFeatures],
    /// How far a learning is promoted automatically.
    pub promote: Promote,
}

impl Taught<'_> {
    fn status_of_valid(&self) -> LearningStatus {
        match self.promote {
            Promote::Evidence | Promote::Auto => LearningStatus::Promoted,
            Promote::Review => LearningStatus::Validated,
        }
    }

    /// A learning of the run as it is stored if it is new.
    fn learning(&self, drawn: &ExtractedLearning, now: Timestamp) -> Learning {
        let mut learning = Learning {
            task_type: Some(drawn.task_type),
            content: drawn.content.clone(),
            tags: drawn.tags.clone(),
            confidence: drawn.confidence,
            success_rate: drawn.success_rate,
            first_success_rate: drawn.success_rate,
            source_loops: vec![self.run.to_owned()],
            journal: drawn.journal.first().copied(),
            facts: Some(drawn.facts.clone()),
            ..draft(LearningSource::Extracted, drawn.kind, now)
        };
        validate(&mut learning, self.status_of_valid());
        learning
    }
}

impl Store {
    /// Whether learnings were extracted from a run before.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_extraction(&self, run: &str) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM extractions WHERE run = ?1)")
            .and_then(|mut statement| statement.query_row([run], |row| row.get(0)));
        self.sql(found)
    }

    /// Stores the learnings of a run and records the extraction. A known learning gains confidence and its facts are
    /// united; an invalid one is stored as rejected; one that a user rejected, that is superseded, or that this run
    /// taught before is skipped.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is stored.
    pub fn store_extracted(
        &mut self,
        taught: &Taught<'_>,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Extraction, StoreError> {
        self.write(|transaction| {
            let is_first_extraction = is_first_extraction(transaction, taught.run)?;
            let mut done = Extraction::default();
            let mut stored: Vec<LearningId> = Vec::new();
            for (place, drawn) in taught.drawn.iter().enumerate() {
                let mut source = InRun {
                    taught,
                    drawn,
                    stored: &stored,
                    is_first_extraction,
                    entropy,
                };
                let features = taught.features.get(place).cloned().unwrap_or_default();
                let upserted = upsert(transaction, taught.learning(drawn, now), &features, &mut source)?;
                done = done.and(counts(&upserted));
                stored.push(upserted.learning.id);
            }
            note_extraction(transaction, taught.run, done, now)?;
            Ok(done)
        })
    }
}

fn counts(upserted: &Upserted) -> Extraction {
    let is = |status: LearningStatus| u32::from(upserted.is_changed && upserted.learning.status == status);
    let known = upserted.known.as_ref();
    let was_promoted = known.is_some_and(|(known, _)| known.status == LearningStatus::Promoted);
    Extraction {
        extracted: 1,
        validated: is(LearningStatus::Validated) + is(LearningStatus::Promoted),
        rejected: is(LearningStatus::Rejected),
        promoted: is(LearningStatus::Promoted),
        known: if was_promoted { is(LearningStatus::Promoted) } else { 0 },
        skipped: u32::from(!upserted.is_changed),
    }
}

/// Whether a run still has to be counted. For one of our runs that is so until the first extraction: a learning that
/// names it was only reported in it. For another tool's run, any learning that names it was extracted from it.
fn is_first_extraction(transaction: &Transaction<'_>, run: &str) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached(
            "SELECT NOT EXISTS (SELECT 1 FROM extractions WHERE run = ?1)
                    AND EXISTS (SELECT 1 FROM journal WHERE run_id = ?1)",
        )?
        .query_row([run], |row| row.get(0))
}

/// Records the result of the first extraction from a run.
fn note_extraction(transaction: &Transaction<'_>, run: &str, done: Extraction, now: Timestamp) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO extractions (run, at, extracted, validated, rejected, promoted, skipped)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (run) DO NOTHING",
        )?
        .execute(params![
            run,
            moment(now),
            done.extracted,
            done.validated,
            done.rejected,
            done.promoted,
            done.skipped,
        ])
        .map(drop)
}

/// A learning extracted from a run.
struct InRun<'a> {
    taught: &'a Taught<'a>,
    drawn: &'a ExtractedLearning,
    /// What this extraction has stored or supported so far.
    stored: &'a [LearningId],
    is_first_extraction: bool,
    entropy: &'a mut dyn Entropy,
}

impl Source for InRun<'_> {
    fn support(
        &mut self,
        transaction: &Transaction<'_>,
        Repeated { known, .. }: Repeated<'_>,
        next: &mut Learning,
    ) -> rusqlite::Result<bool> {
        let is_reported = self.is_reported_by_all(transaction, known)?;
        if self.is_skipped(known, is_reported) {
            return Ok(false);
        }
        let drawn = self.drawn;
        let facts = match &known.facts {
            Some(facts) => facts.united(&drawn.facts),
            None => drawn.facts.clone(),
        };
        // Iterations that reported it have raised its confidence already.
        if !is_reported {
            next.confidence = strengthened_by_run(known.confidence, Some(&facts));
        }
        let by_numbers = facts.confidence().filter(|_| !is_below_its_facts(known));
        next.confidence = next.confidence.max(by_numbers.unwrap_or_default());
        if known.source == LearningSource::Extracted && !is_rated_by_person(transaction, &known.id)? {
            next.first_success_rate = facts.success_rate().unwrap_or(known.first_success_rate);
        }
        next.facts = Some(facts);
        if known.status != LearningStatus::Promoted {
            // A general learning is as valid as one for this task type.
            let mut typed = Learning {
                task_type: known.task_type.or(Some(drawn.task_type)),
                ..next.clone()
            };
            validate(&mut typed, self.taught.status_of_valid());
            (next.status, next.reason) = (typed.status, typed.reason);
        }
        Ok(true)
    }

    fn next_id(&mut self) -> LearningId {
        LearningId::new(self.entropy.next_bits())
    }

    /// Records the iterations that it was extracted from; those that reported it stay marked as reporting. For a
    /// reported learning, only iterations that reported it are recorded.
    fn record(
        &mut self,
        transaction: &Transaction<'_>,
        id: &LearningId,
        known: Option<&Learning>,
    ) -> rusqlite::Result<()> {
        let is_extracted = known.is_none_or(|known| known.source == LearningSource::Extracted);
        for journal in self.drawn.journal.iter().filter(|_| is_extracted) {
            transaction
                .prepare_cached(
                    "INSERT INTO learning_sources (learning, journal, drawn) SELECT seq, ?2, 1 FROM learnings WHERE id = ?1
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![id.as_str(), journal])?;
        }
        note_warnings(transaction, id, &self.drawn.signatures)
    }
}

impl InRun<'_> {
    /// Whether this run adds nothing to a learning.
    fn is_skipped(&self, known: &Learning, is_reported: bool) -> bool {
        let is_taught = !self.is_first_extraction && known.source_loops.iter().any(|run| run == self.taught.run);
        let is_rejected = known.status == LearningStatus::Rejected && !is_rejected_by_rule(known);
        // Reported learnings got their confidence from the same iterations, which reported them themselves.
        let is_counted = known.source == LearningSource::Sigil && is_reported;
        self.stored.contains(&known.id) || is_taught || known.superseded_by.is_some() || is_rejected || is_counted
    }

    /// Whether every iteration behind this learning also reported the known one, or a learning merged into it.
    fn is_reported_by_all(&self, transaction: &Transaction<'_>, known: &Learning) -> rusqlite::Result<bool> {
        let mut is_reporting = transaction.prepare_cached(
            "SELECT EXISTS (
                 SELECT 1 FROM learning_sources
                 WHERE journal = ?2 AND NOT drawn
                       AND learning IN (SELECT seq FROM learnings WHERE id = ?1 OR superseded_by = ?1))",
        )?;
        for journal in &self.drawn.journal {
            if !is_reporting.query_row(params![known.id.as_str(), journal], |row| row.get(0))? {
                return Ok(false);
            }
        }
        Ok(!self.drawn.journal.is_empty())
    }
}

/// Whether a user or later outcomes have lowered its confidence below what the facts give. Then support raises it step
/// by step, instead of restoring it at once.
fn is_below_its_facts(known: &Learning) -> bool {
    let by_numbers = known.facts.as_ref().map_or(Some(FIRST_CONFIDENCE), Facts::confidence);
    by_numbers.is_some_and(|by_numbers| known.confidence < by_numbers - ROUNDING)
}

/// Whether a rule, not a user, rejected a learning: more evidence may still promote it.
fn is_rejected_by_rule(learning: &Learning) -> bool {
    let rejection = Candidate::from(learning).rejection();
    rejection.is_some() && learning.reason.as_deref() == rejection
}
