//! Settles the learnings of an iteration: each is validated and stored once, and every further iteration that reports
//! it raises its confidence.

use std::collections::BTreeSet;

use ralph_model::config::Promote;
use ralph_model::{
    Candidate, CapturedLearning, EntryKind, Evidence, Injection, InjectionReason, Learning, LearningId, LearningKind,
    LearningSource, LearningStatus, Outcome, TaskType,
};
use rusqlite::{Row, Transaction, params};

use super::{Settlement, TaskChange};
use crate::progress::columns::{moment, to_json, word_at};
use crate::progress::learning_changes::{unite_tags, words_of};
use crate::progress::learning_strength::{FIRST_CONFIDENCE, strengthened_by_run};
use crate::progress::learning_warnings::note_warnings;
use crate::progress::same_learning::{DuplicateKey, keep_words};
use crate::progress::{learning_terms, normalized, tag_terms};

/// Stores the learnings of an iteration and returns how many of them are new.
pub(super) fn put(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    journal: i64,
    injections: &[Injection],
) -> rusqlite::Result<usize> {
    let shown = injected_ids(injections);
    // Ids under which the learnings of this iteration were stored, since a later one may be a paraphrase of an earlier
    // one.
    let mut kept: Vec<LearningId> = Vec::new();
    let mut new = 0;
    for (place, (id, learning)) in settlement.learnings.iter().enumerate() {
        let reported = ReportedLearning {
            transaction,
            settlement,
            journal,
            shown: &shown,
            learning,
            kind: LearningKind::of_category(&learning.category),
        };
        let duplicate_key = reported.duplicate_key();
        let id_of_known = match duplicate_key.known(transaction)? {
            Some(known) => reported.support(known)?,
            None => {
                let paraphrase = settlement.paraphrase.get(place).and_then(Option::as_ref);
                let paraphrase = paraphrase.and_then(|paraphrase| paraphrase.among(|place| kept.get(place).cloned()));
                match paraphrase
                    .map(|paraphrase| duplicate_key.paraphrase(transaction, &paraphrase))
                    .transpose()?
                    .flatten()
                {
                    Some(known) => reported.support_paraphrase(known)?,
                    None => {
                        new += 1;
                        reported.keep(id)?
                    }
                }
            }
        };
        kept.push(id_of_known);
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
    let pending: Vec<PendingLearning> = transaction
        .prepare_cached(
            "SELECT seq, kind, learnings.task_type, content, confidence, success_rate,
                    outcome = 'done' AND evidence <> 'none' AND NOT unverified AS is_proof
             FROM learnings INDEXED BY learnings_unjudged JOIN journal ON journal.id = learnings.journal
             WHERE learnings.status = 'pending' AND learnings.source = 'sigil'",
        )?
        .query_map([], read_pending)?
        .collect::<rusqlite::Result<_>>()?;
    for learning in pending {
        let candidate = Candidate {
            content: &learning.content,
            kind: learning.kind,
            task_type: learning.task_type,
            confidence: learning.confidence,
            success_rate: learning.success_rate,
        };
        let rejection = candidate.rejection();
        let status = match rejection {
            Some(_) => LearningStatus::Rejected,
            None => settlement.status_of_valid(learning.is_proof),
        };
        transaction
            .prepare_cached("UPDATE learnings SET status = ?2, reason = ?3, updated_at = ?4 WHERE seq = ?1")?
            .execute(params![
                learning.seq,
                status.word(),
                rejection,
                moment(settlement.row.created_at)
            ])?;
    }
    Ok(())
}

/// The columns that validation needs.
struct PendingLearning {
    seq: i64,
    kind: LearningKind,
    task_type: Option<TaskType>,
    content: String,
    confidence: f64,
    success_rate: f64,
    /// Whether its iteration is evidence for it.
    is_proof: bool,
}

fn read_pending(row: &Row<'_>) -> rusqlite::Result<PendingLearning> {
    let task_type: Option<String> = row.get("task_type")?;
    Ok(PendingLearning {
        seq: row.get("seq")?,
        kind: word_at(row, "kind", LearningKind::parse)?,
        task_type: task_type.and_then(|word| TaskType::parse(&word)),
        content: row.get("content")?,
        confidence: row.get("confidence")?,
        success_rate: row.get("success_rate")?,
        is_proof: row.get("is_proof")?,
    })
}

/// Whether the outcome of an iteration is evidence about learnings.
pub(super) fn is_counted(outcome: Outcome) -> bool {
    outcome.is_failure().is_some()
}

/// A learning that an iteration reported.
struct ReportedLearning<'a> {
    transaction: &'a Transaction<'a>,
    settlement: &'a Settlement,
    journal: i64,
    /// Ids of the learnings that were in the prompt.
    shown: &'a BTreeSet<&'a str>,
    learning: &'a CapturedLearning,
    kind: LearningKind,
}

impl ReportedLearning<'_> {
    fn duplicate_key(&self) -> DuplicateKey<'_> {
        DuplicateKey {
            kind: self.kind,
            task_type: Some(self.settlement.row.task_type),
            content: &self.learning.content,
        }
    }

    /// Records that this iteration reported a learning in other words, which are stored as an example.
    fn support_paraphrase(&self, mut known: Learning) -> rusqlite::Result<LearningId> {
        if keep_words(&mut known, &self.learning.content) {
            self.transaction
                .prepare_cached("UPDATE learnings SET examples = ?2, terms = ?3 WHERE id = ?1")?
                .execute(params![
                    known.id.as_str(),
                    to_json(&known.examples)?,
                    words_of(&known, &known.tags),
                ])?;
        }
        self.support(known)
    }

    /// Records that this iteration also reported a known learning. Rejected and superseded ones stay as they are; one
    /// that was pruned because it was unused is restored as new.
    fn support(&self, mut known: Learning) -> rusqlite::Result<LearningId> {
        let is_first_report = self.note_source(&known.id)?;
        let is_superseded = known.status == LearningStatus::Pruned && known.superseded_by.is_some();
        if known.status == LearningStatus::Rejected || is_superseded {
            return Ok(known.id);
        }
        self.note_warning(&known.id)?;
        self.add_tags(&known)?;
        if !is_first_report {
            return Ok(known.id);
        }
        let row = &self.settlement.row;
        let run = row.run.as_str();
        if !known.source_loops.iter().any(|known| known == run) {
            known.source_loops.push(run.to_owned());
        }
        // A failed iteration that repeats an injected learning is not evidence for it.
        let is_independent = self.settlement.is_evidence() || !self.shown.contains(known.id.as_str());
        // An interrupted attempt and its retry count once.
        let is_supported = is_counted(row.outcome)
            && is_independent
            && (known.source != LearningSource::Sigil || self.has_two_reports(&known.id)?);
        if is_supported {
            known.confidence = strengthened_by_run(known.confidence, known.facts.as_ref());
        }
        let status = match known.status {
            LearningStatus::Promoted => LearningStatus::Promoted,
            // Learnings that a user submitted for review wait for that user.
            LearningStatus::Pending if known.source != LearningSource::Sigil => LearningStatus::Pending,
            _ if is_supported => self.settlement.status_of_supported(),
            _ => self.settlement.status_of_valid(self.settlement.is_evidence()),
        };
        self.transaction
            .prepare_cached(
                "UPDATE learnings SET source_loops = ?2, confidence = ?3, status = ?4, reason = NULL, pruned_from = NULL,
                                      updated_at = ?5
                 WHERE id = ?1",
            )?
            .execute(params![
                known.id.as_str(),
                to_json(&known.source_loops)?,
                known.confidence,
                status.word(),
                moment(row.created_at),
            ])?;
        Ok(known.id)
    }

    /// Adds the reported tags to a learning.
    fn add_tags(&self, known: &Learning) -> rusqlite::Result<()> {
        let mut tags = known.tags.clone();
        unite_tags(&mut tags, &self.learning.tags);
        if tags == known.tags {
            return Ok(());
        }
        self.transaction
            .prepare_cached("UPDATE learnings SET tags = ?2, terms = ?3, tag_terms = ?4 WHERE id = ?1")?
            .execute(params![
                known.id.as_str(),
                to_json(&tags)?,
                words_of(known, &tags),
                to_json(&tag_terms(&tags))?,
            ])
            .map(drop)
    }

    /// Validates and stores a new learning; returns its id.
    fn keep(&self, id: &LearningId) -> rusqlite::Result<LearningId> {
        let mut id = id.clone();
        // Ids are random. If one is taken, the next one is used, since the whole settlement would fail otherwise.
        while !self.insert(&id)? {
            id = next_id(&id);
        }
        self.note_source(&id)?;
        self.note_warning(&id)?;
        Ok(id)
    }

    /// Links a warning to the failure of the iteration that reported it.
    fn note_warning(&self, id: &LearningId) -> rusqlite::Result<()> {
        let is_warning = self.kind == LearningKind::Antipattern && is_counted(self.settlement.row.outcome);
        match &self.settlement.signature {
            Some(signature) if is_warning => note_warnings(self.transaction, id, std::slice::from_ref(signature)),
            _ => Ok(()),
        }
    }

    /// Returns `false` if the id is taken.
    fn insert(&self, id: &LearningId) -> rusqlite::Result<bool> {
        let Self { learning, kind, .. } = self;
        let row = &self.settlement.row;
        let candidate = Candidate {
            kind: *kind,
            task_type: Some(row.task_type),
            content: &learning.content,
            confidence: FIRST_CONFIDENCE,
            success_rate: kind.first_success_rate(),
        };
        let rejection = candidate.rejection();
        let status = match rejection {
            Some(_) => LearningStatus::Rejected,
            None => self.settlement.status_of_valid(self.settlement.is_evidence()),
        };
        let rows = self
            .transaction
            .prepare_cached(
                "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, first_success_rate,
                                        source, source_loops, task, journal, status, reason, created_at, updated_at, task_type, normalized, terms,
                                        tag_terms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 'sigil', ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14, ?15, ?16, ?17)
                 ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                id.as_str(),
                kind.word(),
                learning.category,
                learning.content,
                to_json(&learning.tags)?,
                candidate.confidence,
                candidate.success_rate,
                to_json(&[row.run.as_str()])?,
                row.task.as_ref().map(ralph_model::TaskId::as_str),
                self.journal,
                status.word(),
                rejection,
                moment(row.created_at),
                row.task_type.word(),
                normalized(&learning.content),
                learning_terms(&learning.content, &learning.tags),
                to_json(&tag_terms(&learning.tags))?,
            ])?;
        Ok(rows == 1)
    }

    /// Records that this iteration reported a learning. Returns `false` if that was recorded before.
    fn note_source(&self, id: &LearningId) -> rusqlite::Result<bool> {
        let rows = self
            .transaction
            .prepare_cached(
                "INSERT INTO learning_sources (learning, journal) SELECT seq, ?2 FROM learnings WHERE id = ?1
                 ON CONFLICT DO UPDATE SET drawn = 0 WHERE drawn",
            )?
            .execute(params![id.as_str(), self.journal])?;
        Ok(rows == 1)
    }

    /// Whether at least two iterations that count reported a learning without having it in the prompt.
    fn has_two_reports(&self, id: &LearningId) -> rusqlite::Result<bool> {
        self.transaction
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
