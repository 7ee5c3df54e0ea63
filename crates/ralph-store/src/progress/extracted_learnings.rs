//! Stores learnings extracted from a whole run: each is validated and stored once however many runs teach it, and every
//! further run raises its confidence. Each run counts once, however often it is extracted.

use jiff::Timestamp;
use ralph_model::config::Promote;
use ralph_model::{
    Candidate, Entropy, ExtractedLearning, Extraction, Facts, Learning, LearningId, LearningKind, LearningSource,
    LearningStatus,
};
use rusqlite::{OptionalExtension, Transaction, params};

use super::Store;
use super::columns::{moment, to_json};
use super::learning_changes::{resolve_merged, unite_tags, write_support};
use super::learning_reading::read_learning;
use super::learning_strength::{FIRST_CONFIDENCE, strengthened_by_run};
use super::learning_update::is_rated_by_person;
use super::learning_warnings::note_warnings;
use super::same_learning::{ComparedLearning, DuplicateKey, Paraphrase, keep_words};
use super::{learning_terms, normalized, tag_terms};
use crate::StoreError;

/// Tolerance for numbers that were added in a different order.
const ROUNDING: f64 = 1e-9;

#[derive(Debug, Clone, Copy)]
pub struct Taught<'a> {
    /// The run, one of ours or another tool's.
    pub run: &'a str,
    pub drawn: &'a [ExtractedLearning],
    /// Near-duplicates of these learnings, in the same order.
    pub paraphrase: &'a [Option<Paraphrase>],
    /// How far a learning is promoted automatically.
    pub promote: Promote,
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
    /// When the database cannot be written, or other learnings were added since these were compared; then nothing is
    /// stored.
    pub fn store_extracted(
        &mut self,
        taught: &Taught<'_>,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Extraction, StoreError> {
        self.write_compared(taught.paraphrase.iter().flatten(), |transaction| {
            let mut done = Extraction::default();
            let is_first_extraction = is_first_extraction(transaction, taught.run)?;
            // Ids under which the learnings so far were stored.
            let mut taken: Vec<LearningId> = Vec::new();
            for (place, drawn) in taught.drawn.iter().enumerate() {
                let paraphrase = taught.paraphrase.get(place).and_then(Option::as_ref);
                let paraphrase = paraphrase.and_then(|paraphrase| paraphrase.among(|place| taken.get(place).cloned()));
                let learning = IncomingExtract {
                    transaction,
                    taught,
                    drawn,
                    paraphrase,
                    is_first_extraction,
                    now,
                };
                let (id, became) = learning.save(&taken, entropy)?;
                taken.push(id);
                done = done.and(became);
            }
            note_extraction(transaction, taught.run, done, now)?;
            Ok(done)
        })
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

/// A learning of a run to be stored.
struct IncomingExtract<'a> {
    transaction: &'a Transaction<'a>,
    taught: &'a Taught<'a>,
    drawn: &'a ExtractedLearning,
    /// Its near-duplicate.
    paraphrase: Option<ComparedLearning>,
    /// Whether nothing was extracted from the run before.
    is_first_extraction: bool,
    now: Timestamp,
}

impl IncomingExtract<'_> {
    /// Stores the learning, unless this run has just supported or created it. Returns its id and the result.
    fn save(&self, taken: &[LearningId], entropy: &mut dyn Entropy) -> rusqlite::Result<(LearningId, Extraction)> {
        let known = self.known()?;
        let was_promoted = known
            .as_ref()
            .is_some_and(|known| known.status == LearningStatus::Promoted);
        let (id, status) = match known {
            Some(known) if taken.contains(&known.id) || self.is_skipped(&known)? => (known.id, None),
            Some(known) => (known.id.clone(), Some(self.support(known)?)),
            None => {
                let (id, status) = self.keep(entropy)?;
                (id, Some(status))
            }
        };
        let is = |wanted: LearningStatus| u32::from(status == Some(wanted));
        let became = Extraction {
            extracted: 1,
            validated: is(LearningStatus::Validated) + is(LearningStatus::Promoted),
            rejected: is(LearningStatus::Rejected),
            promoted: is(LearningStatus::Promoted),
            known: if was_promoted { is(LearningStatus::Promoted) } else { 0 },
            skipped: u32::from(status.is_none()),
        };
        Ok((id, became))
    }

    /// Returns the known duplicate or paraphrase. Estimates of the same complexity are duplicates, whatever their text.
    fn known(&self) -> rusqlite::Result<Option<Learning>> {
        let duplicate_key = DuplicateKey {
            kind: self.drawn.kind,
            task_type: Some(self.drawn.task_type),
            content: &self.drawn.content,
        };
        if let Some(known) = duplicate_key.known(self.transaction)? {
            return Ok(Some(known));
        }
        if let Facts::Estimate { complexity, .. } = &self.drawn.facts {
            let known = self.estimate(complexity)?;
            return known.map(|known| resolve_merged(self.transaction, known)).transpose();
        }
        let paraphrase = self
            .paraphrase
            .as_ref()
            .map(|meant| duplicate_key.paraphrase(self.transaction, meant));
        Ok(paraphrase.transpose()?.flatten().map(|mut known| {
            keep_words(&mut known, &self.drawn.content);
            known
        }))
    }

    fn estimate(&self, complexity: &str) -> rusqlite::Result<Option<Learning>> {
        let known = self
            .transaction
            .prepare_cached(
                "SELECT * FROM learnings
                 WHERE kind = ?1 AND task_type = ?2 AND status = 'promoted' AND superseded_by IS NULL
                       AND source IN ('extracted', 'imported')
                       AND facts ->> '$.complexity' = ?3
                 ORDER BY seq LIMIT 1",
            )?
            .query_row(
                [LearningKind::Estimate.word(), self.drawn.task_type.word(), complexity],
                read_learning,
            );
        known.optional()
    }

    /// Whether this run adds nothing to a learning.
    fn is_skipped(&self, known: &Learning) -> rusqlite::Result<bool> {
        let is_taught = !self.is_first_extraction && known.source_loops.iter().any(|run| run == self.taught.run);
        let is_superseded = known.superseded_by.is_some();
        let is_rejected = known.status == LearningStatus::Rejected && !is_rejected_by_rule(known);
        // Reported learnings got their confidence from the same iterations, which reported them themselves.
        let is_reported = known.source == LearningSource::Sigil;
        Ok(is_taught || is_superseded || is_rejected || is_reported && self.is_reported_by_all(known)?)
    }

    /// Whether every iteration behind this learning also reported the known one, or a learning merged into it.
    fn is_reported_by_all(&self, known: &Learning) -> rusqlite::Result<bool> {
        let mut is_reporting = self.transaction.prepare_cached(
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

    /// Adds support to a known learning and returns its new status.
    fn support(&self, mut known: Learning) -> rusqlite::Result<LearningStatus> {
        let facts = match &known.facts {
            Some(facts) => facts.united(&self.drawn.facts),
            None => self.drawn.facts.clone(),
        };
        let by_numbers = facts.confidence().filter(|_| !is_below_its_facts(&known));
        // Iterations that reported it have raised its confidence already.
        if !self.is_reported_by_all(&known)? {
            known.confidence = strengthened_by_run(known.confidence, Some(&facts));
        }
        known.confidence = known.confidence.max(by_numbers.unwrap_or_default());
        if !known.source_loops.iter().any(|run| run == self.taught.run) {
            known.source_loops.push(self.taught.run.to_owned());
        }
        unite_tags(&mut known.tags, &self.drawn.tags);
        write_support(self.transaction, &known, self.now)?;
        if known.source == LearningSource::Extracted && !is_rated_by_person(self.transaction, &known.id)? {
            known.first_success_rate = facts.success_rate().unwrap_or(known.first_success_rate);
        }
        known.task_type = known.task_type.or(Some(self.drawn.task_type));
        let rejection = Candidate::from(&known).rejection();
        let status = match known.status {
            LearningStatus::Promoted => LearningStatus::Promoted,
            _ => self.status(rejection),
        };
        self.write_status(&known, &facts, status, rejection)?;
        // For a reported learning, only iterations that reported it are recorded as sources.
        if known.source == LearningSource::Extracted {
            self.note_sources(&known.id)?;
        }
        note_warnings(self.transaction, &known.id, &self.drawn.signatures)?;
        Ok(status)
    }

    /// Writes facts, the success rate that follows from them, and the status.
    fn write_status(
        &self,
        known: &Learning,
        facts: &Facts,
        status: LearningStatus,
        rejection: Option<&str>,
    ) -> rusqlite::Result<()> {
        let reason = rejection.filter(|_| status == LearningStatus::Rejected);
        self.transaction
            .prepare_cached(
                "UPDATE learnings SET facts = ?2, first_success_rate = ?3, status = ?4, reason = ?5, pruned_from = NULL,
                     success_rate = ?6
                 WHERE id = ?1",
            )?
            .execute(params![
                known.id.as_str(),
                to_json(facts)?,
                known.first_success_rate,
                status.word(),
                reason,
                known.counted_success_rate(),
            ])
            .map(drop)
    }

    /// Validates and stores a new learning; returns id and status.
    fn keep(&self, entropy: &mut dyn Entropy) -> rusqlite::Result<(LearningId, LearningStatus)> {
        let rejection = Candidate::from(self.drawn).rejection();
        let status = self.status(rejection);
        let mut id = LearningId::new(entropy.next_bits());
        while !self.insert(&id, status, rejection)? {
            id = LearningId::new(entropy.next_bits());
        }
        self.note_sources(&id)?;
        note_warnings(self.transaction, &id, &self.drawn.signatures)?;
        Ok((id, status))
    }

    /// Returns `false` if the id is taken.
    fn insert(&self, id: &LearningId, status: LearningStatus, rejection: Option<&str>) -> rusqlite::Result<bool> {
        let drawn = self.drawn;
        let rows = self
            .transaction
            .prepare_cached(
                "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, first_success_rate,
                                        source, source_loops, journal, status, reason, created_at, updated_at, task_type,
                                        normalized, terms, tag_terms, facts)
                 VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?6, 'extracted', ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14, ?15, ?16)
                 ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                id.as_str(),
                drawn.kind.word(),
                drawn.content,
                to_json(&drawn.tags)?,
                drawn.confidence,
                drawn.success_rate,
                to_json(&[self.taught.run])?,
                drawn.journal.first(),
                status.word(),
                rejection,
                moment(self.now),
                drawn.task_type.word(),
                normalized(&drawn.content),
                learning_terms(&drawn.content, &drawn.tags),
                to_json(&tag_terms(&drawn.tags))?,
                to_json(&drawn.facts)?,
            ])?;
        Ok(rows == 1)
    }

    /// Status of a new learning, given the reason for a rejection if there is one.
    fn status(&self, rejection: Option<&str>) -> LearningStatus {
        match (rejection, self.taught.promote) {
            (Some(_), _) => LearningStatus::Rejected,
            (None, Promote::Evidence | Promote::Auto) => LearningStatus::Promoted,
            (None, Promote::Review) => LearningStatus::Validated,
        }
    }

    /// Records the iterations it was extracted from; those that reported it stay marked as reporting.
    fn note_sources(&self, id: &LearningId) -> rusqlite::Result<()> {
        for journal in &self.drawn.journal {
            self.transaction
                .prepare_cached(
                    "INSERT INTO learning_sources (learning, journal, drawn) SELECT seq, ?2, 1 FROM learnings WHERE id = ?1
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![id.as_str(), journal])?;
        }
        Ok(())
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
