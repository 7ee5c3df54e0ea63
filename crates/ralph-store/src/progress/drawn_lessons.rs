//! Taking in what a whole run teaches: each lesson is judged, kept once however many runs teach it, and made surer by every
//! further one. What a run has taught it teaches once, however often it is asked.

use jiff::Timestamp;
use ralph_model::config::Promote;
use ralph_model::{
    Candidate, DrawnLesson, Entropy, Extraction, Facts, Learning, LearningId, LearningKind, LearningSource,
    LearningStatus,
};
use rusqlite::{Transaction, params};

use super::Store;
use super::columns::{moment, to_json};
use super::learning_changes::{standing_for, unite_tags, write_support};
use super::learning_reading::{if_readable, read_learning};
use super::learning_strength::{FIRST_CONFIDENCE, strengthened_by_run};
use super::learning_update::is_rated_by_person;
use super::learning_warnings::note_warnings;
use super::same_lesson::{Meant, Retold, Saying, keep_words};
use super::{learning_terms, lesson_of, tag_terms};
use crate::StoreError;

/// By how much numbers may differ that were counted in another order.
const ROUNDING: f64 = 1e-9;

/// What a run teaches.
#[derive(Debug, Clone, Copy)]
pub struct Taught<'a> {
    /// The run, one of ours or another tool's.
    pub run: &'a str,
    /// Its lessons.
    pub drawn: &'a [DrawnLesson],
    /// Which of these say nearly what another lesson says, in their order.
    pub retold: &'a [Option<Retold>],
    /// How far a lesson comes by itself.
    pub promote: Promote,
}

impl Store {
    /// Whether lessons were drawn from a run before.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn was_drawn_from(&self, run: &str) -> Result<bool, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM extractions WHERE run = ?1)")
            .and_then(|mut statement| statement.query_row([run], |row| row.get(0)));
        self.sql(found)
    }

    /// Keeps what a run teaches, and notes that lessons were drawn from it. The same lesson is made surer and its numbers are
    /// united; one that cannot be true is kept with why; one that a person rejected, or that has its place taken by another,
    /// and one that this run had taught already, is left as it is.
    ///
    /// # Errors
    /// When the database cannot be written, or other lessons came in since these were compared; then nothing was kept.
    pub fn take_in_drawn(
        &mut self,
        taught: &Taught<'_>,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Extraction, StoreError> {
        self.write_compared(taught.retold.iter().flatten(), |transaction| {
            let mut done = Extraction::default();
            let teaches_anew = teaches_anew(transaction, taught.run)?;
            // Under which ids those are kept that were taken in.
            let mut taken: Vec<LearningId> = Vec::new();
            for (place, drawn) in taught.drawn.iter().enumerate() {
                let retold = taught.retold.get(place).and_then(Option::as_ref);
                let retold = retold.and_then(|retold| retold.among(|place| taken.get(place).cloned()));
                let lesson = Drawn {
                    transaction,
                    taught,
                    drawn,
                    retold,
                    teaches_anew,
                    now,
                };
                let (id, became) = lesson.take_in(&taken, entropy)?;
                taken.push(id);
                done = done.and(became);
            }
            note_extraction(transaction, taught.run, done, now)?;
            Ok(done)
        })
    }
}

/// Whether nothing was drawn from a run of ours yet: then a lesson that names it was told in it, and what the whole of it
/// teaches is still to come. Of another tool's run, whoever names it has drawn from it.
fn teaches_anew(transaction: &Transaction<'_>, run: &str) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached(
            "SELECT NOT EXISTS (SELECT 1 FROM extractions WHERE run = ?1)
                    AND EXISTS (SELECT 1 FROM journal WHERE run_id = ?1)",
        )?
        .query_row([run], |row| row.get(0))
}

/// Writes what came of a run the first time.
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

/// A lesson of a run, on its way in.
struct Drawn<'a> {
    transaction: &'a Transaction<'a>,
    taught: &'a Taught<'a>,
    drawn: &'a DrawnLesson,
    /// A lesson that says nearly the same.
    retold: Option<Meant>,
    /// Whether nothing was drawn from the run before.
    teaches_anew: bool,
    now: Timestamp,
}

impl Drawn<'_> {
    /// Takes the lesson in, unless it is one of those that this run has supported or brought just now; under which id it is
    /// kept, and what became of it.
    fn take_in(&self, taken: &[LearningId], entropy: &mut dyn Entropy) -> rusqlite::Result<(LearningId, Extraction)> {
        let known = self.known()?;
        let held = known
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
            known: if held { is(LearningStatus::Promoted) } else { 0 },
            skipped: u32::from(status.is_none()),
        };
        Ok((id, became))
    }

    /// The same lesson, where it is known, in the same words or in others. Estimates of the same complexity are the same,
    /// whatever they say.
    fn known(&self) -> rusqlite::Result<Option<Learning>> {
        let saying = Saying {
            kind: self.drawn.kind,
            task_type: Some(self.drawn.task_type),
            content: &self.drawn.content,
        };
        if let Some(known) = saying.known(self.transaction)? {
            return Ok(Some(known));
        }
        if let Facts::Estimate { complexity, .. } = &self.drawn.facts {
            let known = self.estimate(complexity)?;
            return known.map(|known| standing_for(self.transaction, known)).transpose();
        }
        let retold = self.retold.as_ref().map(|meant| saying.retold(self.transaction, meant));
        Ok(retold.transpose()?.flatten().map(|mut known| {
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
                       AND CASE WHEN json_valid(facts) THEN facts ->> '$.complexity' END = ?3
                 ORDER BY seq LIMIT 1",
            )?
            .query_row(
                [LearningKind::Estimate.word(), self.drawn.task_type.word(), complexity],
                read_learning,
            );
        if_readable(known)
    }

    /// Whether this run has nothing to add to a lesson.
    fn is_skipped(&self, known: &Learning) -> rusqlite::Result<bool> {
        let is_taught = !self.teaches_anew && known.source_loops.iter().any(|run| run == self.taught.run);
        let is_replaced = known.superseded_by.is_some();
        let is_rejected = known.status == LearningStatus::Rejected && !is_rejected_by_rule(known);
        // What an agent told is as sure as those who told it have made it, and they told it themselves.
        let is_an_agents = known.source == LearningSource::Sigil;
        Ok(is_taught || is_replaced || is_rejected || is_an_agents && self.is_told_by_all(known)?)
    }

    /// Whether every iteration that the lesson is drawn from has told it, or what was merged into it.
    fn is_told_by_all(&self, known: &Learning) -> rusqlite::Result<bool> {
        let mut told = self.transaction.prepare_cached(
            "SELECT EXISTS (
                 SELECT 1 FROM learning_sources
                 WHERE journal = ?2 AND NOT drawn
                       AND learning IN (SELECT seq FROM learnings WHERE id = ?1 OR superseded_by = ?1))",
        )?;
        for journal in &self.drawn.journal {
            if !told.query_row(params![known.id.as_str(), journal], |row| row.get(0))? {
                return Ok(false);
            }
        }
        Ok(!self.drawn.journal.is_empty())
    }

    /// Makes a known lesson surer; how far it has come by that.
    fn support(&self, mut known: Learning) -> rusqlite::Result<LearningStatus> {
        let facts = match &known.facts {
            Some(facts) => facts.united(&self.drawn.facts),
            None => self.drawn.facts.clone(),
        };
        let by_numbers = facts.confidence().filter(|_| !is_less_sure_than_its_numbers(&known));
        // Those who told it themselves have made it surer by that.
        if !self.is_told_by_all(&known)? {
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
        self.write_standing(&known, &facts, status, rejection)?;
        // Of what somebody told, the rows that are noted are those that told it.
        if known.source == LearningSource::Extracted {
            self.note_sources(&known.id)?;
        }
        note_warnings(self.transaction, &known.id, &self.drawn.signatures)?;
        Ok(status)
    }

    /// Writes the numbers of a lesson, what they make of its success rate, and how far it has come.
    fn write_standing(
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

    /// Keeps a new lesson, judged; its id, and how far it has come.
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

    /// Writes a new lesson; says whether its id was free.
    fn insert(&self, id: &LearningId, status: LearningStatus, rejection: Option<&str>) -> rusqlite::Result<bool> {
        let drawn = self.drawn;
        let rows = self
            .transaction
            .prepare_cached(
                "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, first_success_rate,
                                        source, source_loops, journal, status, reason, created_at, updated_at, task_type,
                                        lesson, terms, tag_terms, facts)
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
                lesson_of(&drawn.content),
                learning_terms(&drawn.content, &drawn.tags),
                to_json(&tag_terms(&drawn.tags))?,
                to_json(&drawn.facts)?,
            ])?;
        Ok(rows == 1)
    }

    /// How far a lesson comes that cannot be true for this reason, or can.
    fn status(&self, rejection: Option<&str>) -> LearningStatus {
        match (rejection, self.taught.promote) {
            (Some(_), _) => LearningStatus::Rejected,
            (None, Promote::Evidence | Promote::Auto) => LearningStatus::Promoted,
            (None, Promote::Review) => LearningStatus::Validated,
        }
    }

    /// Notes what a lesson was drawn from; what was told there stays told.
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

/// Whether somebody has said that a lesson is less sure than its numbers make it, or what happened since it was shown has: then
/// support makes it surer step by step, and more of the same numbers do not bring it back at once.
fn is_less_sure_than_its_numbers(known: &Learning) -> bool {
    let by_numbers = known.facts.as_ref().map_or(Some(FIRST_CONFIDENCE), Facts::confidence);
    by_numbers.is_some_and(|by_numbers| known.confidence < by_numbers - ROUNDING)
}

/// Whether no person but a rule rejected a lesson: then it may come to hold once there is more behind it.
fn is_rejected_by_rule(learning: &Learning) -> bool {
    let rejection = Candidate::from(learning).rejection();
    rejection.is_some() && learning.reason.as_deref() == rejection
}
