//! Settles the learnings of an iteration: each is validated and stored once, and every further iteration that reports
//! it raises its confidence.

use std::collections::BTreeSet;

use ralph_model::config::Promote;
use ralph_model::{
    CapturedLearning, EntryKind, Evidence, Injection, InjectionReason, Learning, LearningId, LearningKind,
    LearningSource, LearningStatus, Outcome,
};
use rusqlite::{Transaction, params};

use super::{Settlement, TaskChange};
use crate::progress::learning_reading::read_learning;
use crate::progress::learning_strength::strengthened_by_run;
use crate::progress::learning_warnings::note_warnings;
use crate::progress::learning_writer::{Repeated, Source, draft, save, upsert, validate};

/// Stores the learnings of an iteration and returns how many of them are new.
pub(super) fn put(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    journal: i64,
    injections: &[Injection],
) -> rusqlite::Result<usize> {
    let shown = injected_ids(injections);
    let mut new = 0;
    for (place, (id, learning)) in settlement.learnings.iter().enumerate() {
        let mut report = Report {
            settlement,
            journal,
            shown: &shown,
            next_id: id.clone(),
            is_warning: LearningKind::of_category(&learning.category) == LearningKind::Antipattern,
        };
        let features = settlement.features.get(place).cloned().unwrap_or_default();
        let learning = report.learning(learning);
        let upserted = upsert(transaction, learning, &features, &mut report)?;
        new += usize::from(upserted.known.is_none());
    }
    Ok(new)
}

/// Ids of the learnings that were in the prompt.
pub(super) fn injected_ids(injections: &[Injection]) -> BTreeSet<&str> {
    let in_prompt = injections
        .iter()
        .filter(|injection| injection.kind == EntryKind::Learning && injection.reason == InjectionReason::Shown);
    in_prompt.map(|injection| injection.id.as_str()).collect()
}

/// Attributes the learnings that the agent added with commands to the iteration, as if it had reported them in tags.
pub(super) fn adopt_proposed(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    journal: i64,
) -> rusqlite::Result<()> {
    let row = &settlement.row;
    let adopted: Vec<i64> = transaction
        .prepare_cached(
            "UPDATE learnings SET journal = ?1, task = ?2, task_type = coalesce(task_type, ?3)
             WHERE status = 'pending' AND source = 'sigil' AND journal IS NULL AND EXISTS (
                 SELECT 1 FROM learning_log WHERE learning = learnings.id AND action = 'added' AND author = 'agent'
                                                  AND run = ?4 AND iteration = ?5)
             RETURNING seq",
        )?
        .query_map(
            params![
                journal,
                row.task.as_ref().map(ralph_model::TaskId::as_str),
                row.task_type.word(),
                row.run.as_str(),
                row.iteration,
            ],
            |row| row.get(0),
        )?
        .collect::<rusqlite::Result<_>>()?;
    for seq in adopted {
        transaction
            .prepare_cached("INSERT INTO learning_sources (learning, journal) VALUES (?1, ?2)")?
            .execute([seq, journal])?;
    }
    Ok(())
}

/// Validates pending learnings of settled iterations: those that the agent added with commands and, after an upgrade,
/// those stored before validation existed. Learnings that were added outside of an iteration, or in one that is not
/// settled, stay pending.
pub(super) fn validate_pending(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<()> {
    let pending: Vec<(Learning, bool)> = transaction
        .prepare_cached(
            "SELECT learnings.*,
                    outcome = 'done' AND evidence <> 'none' AND NOT unverified AS is_proof
             FROM learnings INDEXED BY learnings_unjudged JOIN journal ON journal.id = learnings.journal
             WHERE learnings.status = 'pending' AND learnings.source = 'sigil'",
        )?
        .query_map([], |row| Ok((read_learning(row)?, row.get("is_proof")?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (mut learning, is_proof) in pending {
        validate(&mut learning, settlement.status_of_valid(is_proof));
        learning.updated_at = settlement.row.created_at;
        save(transaction, &learning, None)?;
    }
    Ok(())
}

/// Whether the outcome of an iteration is evidence about learnings.
pub(super) fn is_counted(outcome: Outcome) -> bool {
    outcome.is_failure().is_some()
}

/// The report of a learning by an iteration.
struct Report<'a> {
    settlement: &'a Settlement,
    journal: i64,
    /// Ids of the learnings that were in the prompt.
    shown: &'a BTreeSet<&'a str>,
    next_id: LearningId,
    is_warning: bool,
}

impl Source for Report<'_> {
    /// Rejected and superseded ones stay as they are; one that was pruned because it was unused is restored as new.
    fn support(
        &mut self,
        transaction: &Transaction<'_>,
        Repeated { known, .. }: Repeated<'_>,
        next: &mut Learning,
    ) -> rusqlite::Result<bool> {
        let is_first_report = self.note_source(transaction, &known.id)?;
        let is_superseded = known.status == LearningStatus::Pruned && known.superseded_by.is_some();
        if known.status == LearningStatus::Rejected || is_superseded {
            return Ok(false);
        }
        if !is_first_report {
            return Ok(true);
        }
        // A failed iteration that repeats an injected learning is not evidence for it.
        let is_independent = self.settlement.is_evidence() || !self.shown.contains(known.id.as_str());
        // An interrupted attempt and its retry count once.
        let is_supported = is_counted(self.settlement.row.outcome)
            && is_independent
            && (known.source != LearningSource::Sigil || has_two_reports(transaction, &known.id)?);
        if is_supported {
            next.confidence = strengthened_by_run(known.confidence, known.facts.as_ref());
        }
        next.status = match known.status {
            LearningStatus::Promoted => LearningStatus::Promoted,
            // Learnings that a user submitted for review wait for that user.
            LearningStatus::Pending if known.source != LearningSource::Sigil => LearningStatus::Pending,
            _ if is_supported => self.settlement.status_of_supported(),
            _ => self.settlement.status_of_valid(self.settlement.is_evidence()),
        };
        next.reason = None;
        Ok(true)
    }

    /// Ids are random. If one is taken, the next one is used, since the whole settlement would fail otherwise.
    fn next_id(&mut self) -> LearningId {
        let next = next_id(&self.next_id);
        std::mem::replace(&mut self.next_id, next)
    }

    fn record(
        &mut self,
        transaction: &Transaction<'_>,
        id: &LearningId,
        _known: Option<&Learning>,
    ) -> rusqlite::Result<()> {
        self.note_source(transaction, id)?;
        // A warning is linked to the failure of the iteration that reported it.
        let is_warning = self.is_warning && is_counted(self.settlement.row.outcome);
        match &self.settlement.signature {
            Some(signature) if is_warning => note_warnings(transaction, id, std::slice::from_ref(signature)),
            _ => Ok(()),
        }
    }
}

impl Report<'_> {
    /// The learning as it is stored if it is new.
    fn learning(&self, captured: &CapturedLearning) -> Learning {
        let row = &self.settlement.row;
        let kind = LearningKind::of_category(&captured.category);
        let mut learning = Learning {
            category: captured.category.clone(),
            task_type: Some(row.task_type),
            content: captured.content.clone(),
            tags: captured.tags.clone(),
            source_loops: vec![row.run.as_str().to_owned()],
            task: row.task.clone(),
            journal: Some(self.journal),
            ..draft(LearningSource::Sigil, kind, row.created_at)
        };
        let is_evidence = self.settlement.is_evidence();
        validate(&mut learning, self.settlement.status_of_valid(is_evidence));
        learning
    }

    /// Records that this iteration reported a learning. Returns `false` if that was recorded before.
    fn note_source(&self, transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<bool> {
        let rows = transaction
            .prepare_cached(
                "INSERT INTO learning_sources (learning, journal) SELECT seq, ?2 FROM learnings WHERE id = ?1
                 ON CONFLICT DO UPDATE SET drawn = 0 WHERE drawn",
            )?
            .execute(params![id.as_str(), self.journal])?;
        Ok(rows == 1)
    }
}

/// Whether at least two iterations that count reported a learning without having it in the prompt.
fn has_two_reports(transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached(
            "SELECT count(*) = 2 FROM (
                 SELECT 1 FROM learning_sources JOIN journal ON journal.id = learning_sources.journal
                 WHERE learning = (SELECT seq FROM learnings WHERE id = ?1) AND NOT drawn AND outcome <> 'interrupted'
                       AND (outcome = 'done' AND evidence <> 'none' AND NOT unverified OR NOT EXISTS (
                           SELECT 1 FROM injections WHERE injections.journal = journal.id AND kind = 'learning'
                                                          AND entry = ?1 AND injections.reason = 'shown'))
                 LIMIT 2)",
        )?
        .query_row([id.as_str()], |row| row.get(0))
}

impl Settlement {
    /// Whether the iteration is evidence for its learnings: done, confirmed by a gate or the verifier, and not in need
    /// of review.
    pub(super) fn is_evidence(&self) -> bool {
        self.row.outcome == Outcome::Done && self.row.evidence != Evidence::None && !self.is_unverified()
    }

    pub(super) fn is_unverified(&self) -> bool {
        matches!(
            &self.task,
            TaskChange::Done {
                unverified: Some(_),
                ..
            }
        )
    }

    /// Status of a valid learning, depending on whether its iteration is evidence for it.
    fn status_of_valid(&self, is_proof: bool) -> LearningStatus {
        match self.promote {
            Promote::Evidence if is_proof => LearningStatus::Promoted,
            Promote::Auto => LearningStatus::Promoted,
            Promote::Evidence | Promote::Review => LearningStatus::Validated,
        }
    }

    /// Status of a learning that has evidence.
    fn status_of_supported(&self) -> LearningStatus {
        match self.promote {
            Promote::Evidence | Promote::Auto => LearningStatus::Promoted,
            Promote::Review => LearningStatus::Validated,
        }
    }
}

fn next_id(id: &LearningId) -> LearningId {
    let digits = id.as_str().strip_prefix(LearningId::PREFIX).unwrap_or_default();
    let bits = u64::from_str_radix(digits, 16).unwrap_or_default();
    LearningId::new(bits + 1)
}
