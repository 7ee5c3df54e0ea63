//! What becomes of the lessons of an iteration: each is judged and kept once, however often it is told, and every further
//! iteration that tells it makes it surer.

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
use crate::progress::same_lesson::{Saying, keep_words};
use crate::progress::{learning_terms, lesson_of, tag_terms};

/// Keeps what was learned, and says how many lessons of it are new.
pub(super) fn put(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    journal: i64,
    injections: &[Injection],
) -> rusqlite::Result<usize> {
    let shown = shown(injections);
    // Under which ids those of this iteration are kept that others of it may say again.
    let mut kept: Vec<LearningId> = Vec::new();
    let mut new = 0;
    for (place, (id, learning)) in settlement.learnings.iter().enumerate() {
        let telling = Telling {
            transaction,
            settlement,
            journal,
            shown: &shown,
            learning,
            kind: LearningKind::of_category(&learning.category),
        };
        let saying = telling.saying();
        let id_of_known = match saying.known(transaction)? {
            Some(known) => telling.support(known)?,
            None => {
                let retold = settlement.retold.get(place).and_then(Option::as_ref);
                let retold = retold.and_then(|retold| retold.among(|place| kept.get(place).cloned()));
                match retold
                    .map(|retold| saying.retold(transaction, &retold))
                    .transpose()?
                    .flatten()
                {
                    Some(known) => telling.support_in_own_words(known)?,
                    None => {
                        new += 1;
                        telling.keep(id)?
                    }
                }
            }
        };
        kept.push(id_of_known);
    }
    Ok(new)
}

/// The lessons that stood in the prompt.
pub(super) fn shown(injections: &[Injection]) -> BTreeSet<&str> {
    let stood = injections
        .iter()
        .filter(|injection| injection.kind == EntryKind::Learning && injection.reason == InjectionReason::Shown);
    stood.map(|injection| injection.id.as_str()).collect()
}

/// Gives the iteration the learnings that its agent added with commands, as if it had reported them in tags.
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

/// Judges learnings of settled iterations that nobody has judged: those that the agent added with commands, and after an
/// upgrade those of the time before any were. What was added outside of an iteration, or in one that is not settled, waits.
pub(super) fn judge_waiting(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<()> {
    let waiting: Vec<Waiting> = transaction
        .prepare_cached(
            "SELECT seq, kind, learnings.task_type, content, confidence, success_rate,
                    outcome = 'done' AND evidence <> 'none' AND NOT unverified AS is_proof
             FROM learnings INDEXED BY learnings_unjudged JOIN journal ON journal.id = learnings.journal
             WHERE learnings.status = 'pending' AND learnings.source = 'sigil'",
        )?
        .query_map([], read_waiting)?
        .collect::<rusqlite::Result<_>>()?;
    for waiting in waiting {
        let candidate = Candidate {
            content: &waiting.content,
            kind: waiting.kind,
            task_type: waiting.task_type,
            confidence: waiting.confidence,
            success_rate: waiting.success_rate,
        };
        let rejection = candidate.rejection();
        let status = match rejection {
            Some(_) => LearningStatus::Rejected,
            None => settlement.status_of_sound(waiting.is_proof),
        };
        transaction
            .prepare_cached("UPDATE learnings SET status = ?2, reason = ?3, updated_at = ?4 WHERE seq = ?1")?
            .execute(params![
                waiting.seq,
                status.word(),
                rejection,
                moment(settlement.row.created_at)
            ])?;
    }
    Ok(())
}

/// What is judged of a lesson. Its tags are not: what cannot be read of them must not keep an iteration from its end.
struct Waiting {
    seq: i64,
    kind: LearningKind,
    task_type: Option<TaskType>,
    content: String,
    confidence: f64,
    success_rate: f64,
    /// Whether its iteration is evidence for it.
    is_proof: bool,
}

fn read_waiting(row: &Row<'_>) -> rusqlite::Result<Waiting> {
    let task_type: Option<String> = row.get("task_type")?;
    Ok(Waiting {
        seq: row.get("seq")?,
        kind: word_at(row, "kind", LearningKind::parse)?,
        task_type: task_type.and_then(|word| TaskType::parse(&word)),
        content: row.get("content")?,
        confidence: row.get("confidence")?,
        success_rate: row.get("success_rate")?,
        is_proof: row.get("is_proof")?,
    })
}

/// Whether an iteration says anything about a lesson.
pub(super) fn counts(outcome: Outcome) -> bool {
    outcome.is_failure().is_some()
}

/// A lesson that an iteration tells.
struct Telling<'a> {
    transaction: &'a Transaction<'a>,
    settlement: &'a Settlement,
    journal: i64,
    /// The lessons that stood in the prompt.
    shown: &'a BTreeSet<&'a str>,
    learning: &'a CapturedLearning,
    kind: LearningKind,
}

impl Telling<'_> {
    fn saying(&self) -> Saying<'_> {
        Saying {
            kind: self.kind,
            task_type: Some(self.settlement.row.task_type),
            content: &self.learning.content,
        }
    }

    /// Notes that this iteration has told a lesson in other words, which are kept beside it.
    fn support_in_own_words(&self, mut known: Learning) -> rusqlite::Result<LearningId> {
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

    /// Notes that this iteration has told a lesson, too. One that was rejected stays so, however often it is told, and so does
    /// one that is gone because another took its place; one that was pruned because nobody had needed it for long comes back,
    /// as new.
    fn support(&self, mut known: Learning) -> rusqlite::Result<LearningId> {
        let is_first_of_turn = self.note_source(&known.id)?;
        let is_gone_for_another = known.status == LearningStatus::Pruned && known.superseded_by.is_some();
        if known.status == LearningStatus::Rejected || is_gone_for_another {
            return Ok(known.id);
        }
        self.note_warning(&known.id)?;
        self.add_tags(&known)?;
        if !is_first_of_turn {
            return Ok(known.id);
        }
        let row = &self.settlement.row;
        let run = row.run.as_str();
        if !known.source_loops.iter().any(|known| known == run) {
            known.source_loops.push(run.to_owned());
        }
        // Who fails with a lesson before their eyes and repeats it adds nothing to it.
        let is_own_word = self.settlement.is_proof() || !self.shown.contains(known.id.as_str());
        // An attempt that was killed and its repetition are one, and tell one thing.
        let is_supported = counts(row.outcome)
            && is_own_word
            && (known.source != LearningSource::Sigil || self.is_told_twice(&known.id)?);
        if is_supported {
            known.confidence = strengthened_by_run(known.confidence, known.facts.as_ref());
        }
        let status = match known.status {
            LearningStatus::Promoted => LearningStatus::Promoted,
            // What a person has handed in to be judged waits for that person.
            LearningStatus::Pending if known.source != LearningSource::Sigil => LearningStatus::Pending,
            _ if is_supported => self.settlement.status_of_supported(),
            _ => self.settlement.status_of_sound(self.settlement.is_proof()),
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

    /// Unites the tags of a lesson with those of this telling.
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

    /// Keeps a new lesson, judged; its id is the answer.
    fn keep(&self, id: &LearningId) -> rusqlite::Result<LearningId> {
        let mut id = id.clone();
        // Ids are random: one that is taken gives way to the next, or the whole settlement would fail.
        while !self.insert(&id)? {
            id = next_id(&id);
        }
        self.note_source(&id)?;
        self.note_warning(&id)?;
        Ok(id)
    }

    /// Notes what a warning warns of: the failure of the iteration that tells it.
    fn note_warning(&self, id: &LearningId) -> rusqlite::Result<()> {
        let is_warning = self.kind == LearningKind::Antipattern && counts(self.settlement.row.outcome);
        match &self.settlement.signature {
            Some(signature) if is_warning => note_warnings(self.transaction, id, std::slice::from_ref(signature)),
            _ => Ok(()),
        }
    }

    /// Writes a new lesson; says whether its id was free.
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
            None => self.settlement.status_of_sound(self.settlement.is_proof()),
        };
        let rows = self
            .transaction
            .prepare_cached(
                "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, first_success_rate,
                                        source, source_loops, task, journal, status, reason, created_at, updated_at, task_type, lesson, terms,
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
                lesson_of(&learning.content),
                learning_terms(&learning.content, &learning.tags),
                to_json(&tag_terms(&learning.tags))?,
            ])?;
        Ok(rows == 1)
    }

    /// Notes that this iteration tells a lesson; says whether it had not done so before.
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

    /// Whether more than one iteration that counts has told a lesson, and had not merely read it.
    fn is_told_twice(&self, id: &LearningId) -> rusqlite::Result<bool> {
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
    /// Whether the iteration is evidence for what was learned in it: done, confirmed by a gate or the verifier, and not in need
    /// of review.
    pub(super) fn is_proof(&self) -> bool {
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

    /// The status of a valid learning whose iteration is evidence for it, or is not.
    fn status_of_sound(&self, is_proof: bool) -> LearningStatus {
        match self.promote {
            Promote::Evidence if is_proof => LearningStatus::Promoted,
            Promote::Auto => LearningStatus::Promoted,
            Promote::Evidence | Promote::Review => LearningStatus::Validated,
        }
    }

    /// How far a lesson comes that there is evidence for.
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
