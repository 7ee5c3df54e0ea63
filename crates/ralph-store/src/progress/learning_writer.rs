//! The one writer of learnings. An incoming learning of any source is compared with the stored ones and stored, or
//! supports the one that it repeats, in the caller's transaction. What differs between sources is in [`Source`].

use jiff::Timestamp;
use ralph_model::{
    Candidate, Learning, LearningId, LearningKind, LearningSource, LearningStatus, MAX_EXAMPLES, TaskId, TaskType,
    TextFeatures,
};
use rusqlite::{Transaction, params};

use super::columns::{moment, to_json};
use super::learning_changes::fetch;
use super::learning_strength::FIRST_CONFIDENCE;
use super::normalized;
use super::same_learning::{self, Likeness};

/// Maximum number of tags. Reports and merges add tags, and a learning with every tag would match every task.
const MOST_TAGS: usize = 40;

/// What differs between the sources of learnings.
pub(super) trait Source {
    /// Returns the stored learning that a new one repeats.
    fn known(
        &self,
        transaction: &Transaction<'_>,
        new: &Learning,
        features: &TextFeatures,
    ) -> rusqlite::Result<Option<(Learning, Likeness)>> {
        same_learning::known(transaction, new, features)
    }

    /// Changes a known learning that is learned again; `next` has the new tags, runs and words already. Returns `false`
    /// to leave it as it was.
    fn support(
        &mut self,
        transaction: &Transaction<'_>,
        repeated: Repeated<'_>,
        next: &mut Learning,
    ) -> rusqlite::Result<bool>;

    /// Returns the id for a new learning, and another one if that is taken.
    fn next_id(&mut self) -> LearningId;

    /// Records the origin of a learning that was stored, or supported if it was known.
    fn record(
        &mut self,
        _transaction: &Transaction<'_>,
        _id: &LearningId,
        _known: Option<&Learning>,
    ) -> rusqlite::Result<()> {
        Ok(())
    }
}

/// A known learning and the new one that repeats it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeated<'a> {
    pub(super) known: &'a Learning,
    pub(super) new: &'a Learning,
    pub(super) likeness: Likeness,
}

/// The result of storing a learning.
#[derive(Debug)]
pub(super) struct Upserted {
    /// As it is stored now.
    pub(super) learning: Learning,
    /// How it was before, if it was known.
    pub(super) known: Option<(Learning, Likeness)>,
    pub(super) is_changed: bool,
}

/// Stores a new learning, or supports the one that it repeats.
pub(super) fn upsert(
    transaction: &Transaction<'_>,
    new: Learning,
    features: &TextFeatures,
    source: &mut impl Source,
) -> rusqlite::Result<Upserted> {
    let Some((known, likeness)) = source.known(transaction, &new, features)? else {
        return Ok(Upserted {
            learning: add(transaction, new, features, source)?,
            known: None,
            is_changed: true,
        });
    };
    let repeated = Repeated {
        known: &known,
        new: &new,
        likeness,
    };
    let mut next = united(repeated);
    let is_changed = source.support(transaction, repeated, &mut next)?;
    if is_changed {
        next.updated_at = new.updated_at;
        let features = (next.content != known.content).then_some(features);
        save(transaction, &next, features)?;
        source.record(transaction, &next.id, Some(&known))?;
    }
    Ok(Upserted {
        learning: fetch(transaction, &known.id)?.unwrap_or(next),
        known: Some((known, likeness)),
        is_changed,
    })
}

/// Stores a new learning under a free id.
pub(super) fn add(
    transaction: &Transaction<'_>,
    mut new: Learning,
    features: &TextFeatures,
    source: &mut impl Source,
) -> rusqlite::Result<Learning> {
    new.id = source.next_id();
    while fetch(transaction, &new.id)?.is_some() {
        new.id = source.next_id();
    }
    save(transaction, &new, Some(features))?;
    source.record(transaction, &new.id, None)?;
    Ok(fetch(transaction, &new.id)?.unwrap_or(new))
}

/// A learning without text; it gets its id when it is stored.
pub(super) fn draft(source: LearningSource, kind: LearningKind, now: Timestamp) -> Learning {
    Learning {
        id: LearningId::new(0),
        kind,
        category: kind.word().to_owned(),
        task_type: None,
        content: String::new(),
        tags: Vec::new(),
        confidence: FIRST_CONFIDENCE,
        success_rate: kind.first_success_rate(),
        first_success_rate: kind.first_success_rate(),
        use_count: 0,
        first_use_count: 0,
        successes: 0,
        source,
        source_loops: Vec::new(),
        task: None,
        journal: None,
        status: LearningStatus::Pending,
        reason: None,
        superseded_by: None,
        examples: Vec::new(),
        facts: None,
        foreign_id: None,
        last_used_at: None,
        created_at: now,
        updated_at: now,
    }
}

/// Validates a learning: it gets this status, or is rejected with the reason.
pub(super) fn validate(learning: &mut Learning, if_valid: LearningStatus) {
    let rejection = Candidate::from(&*learning).rejection();
    learning.status = rejection.map_or(if_valid, |_| LearningStatus::Rejected);
    learning.reason = rejection.map(str::to_owned);
}

/// A known learning with the tags and runs of a new one, and with its words as an example if they are others.
fn united(Repeated { known, new, likeness }: Repeated<'_>) -> Learning {
    let mut next = known.clone();
    unite_tags(&mut next.tags, &new.tags);
    unite(&mut next.source_loops, &new.source_loops);
    let is_new = next.content != new.content && !next.examples.contains(&new.content);
    if likeness == Likeness::Near && is_new && next.examples.len() < MAX_EXAMPLES {
        next.examples.push(new.content.clone());
    }
    next
}

/// Appends missing items, in order.
pub(super) fn unite<'t>(own: &mut Vec<String>, others: impl IntoIterator<Item = &'t String>) {
    for other in others {
        if !own.contains(other) {
            own.push(other.clone());
        }
    }
}

/// Appends missing tags up to the limit.
pub(super) fn unite_tags(own: &mut Vec<String>, others: &[String]) {
    let already = own.len();
    unite(own, others);
    own.truncate(MOST_TAGS.max(already));
}

/// Writes a new or changed learning with everything that follows from it. A text that is new or changed comes with its
/// features.
pub(super) fn save(
    transaction: &Transaction<'_>,
    learning: &Learning,
    features: Option<&TextFeatures>,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO learnings (id, kind, category, task_type, content, tags, confidence, success_rate,
                 first_success_rate, use_count, first_use_count, successes, source, source_loops, task, journal, status,
                 reason, superseded_by, examples, facts, foreign_id, last_used_at, created_at, updated_at, normalized,
                 features)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
                 ?23, ?24, ?25, ?26, ?27)
             ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, category = excluded.category,
                 task_type = excluded.task_type, content = excluded.content, tags = excluded.tags,
                 confidence = excluded.confidence, success_rate = excluded.success_rate,
                 first_success_rate = excluded.first_success_rate, use_count = excluded.use_count,
                 first_use_count = excluded.first_use_count, successes = excluded.successes,
                 source_loops = excluded.source_loops, status = excluded.status, reason = excluded.reason,
                 superseded_by = excluded.superseded_by, examples = excluded.examples, facts = excluded.facts,
                 foreign_id = excluded.foreign_id, last_used_at = excluded.last_used_at,
                 updated_at = excluded.updated_at, normalized = excluded.normalized,
                 features = coalesce(excluded.features, features),
                 pruned_from = CASE WHEN excluded.status = 'pruned' THEN pruned_from END",
        )?
        .execute(params![
            learning.id.as_str(),
            learning.kind.word(),
            learning.category,
            learning.task_type.map(TaskType::word),
            learning.content,
            to_json(&learning.tags)?,
            learning.confidence,
            learning.counted_success_rate(),
            learning.first_success_rate,
            learning.use_count,
            learning.first_use_count,
            learning.successes,
            learning.source.word(),
            to_json(&learning.source_loops)?,
            learning.task.as_ref().map(TaskId::as_str),
            learning.journal,
            learning.status.word(),
            learning.reason,
            learning.superseded_by.as_ref().map(LearningId::as_str),
            to_json(&learning.examples)?,
            learning.facts.as_ref().map(to_json).transpose()?,
            learning.foreign_id,
            learning.last_used_at.map(moment),
            moment(learning.created_at),
            moment(learning.updated_at),
            normalized(&learning.content),
            features.map(TextFeatures::to_bytes),
        ])?;
    features.map_or(Ok(()), |features| save_prefixes(transaction, &learning.id, features))
}

fn save_prefixes(transaction: &Transaction<'_>, id: &LearningId, features: &TextFeatures) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM learning_prefixes WHERE learning = (SELECT seq FROM learnings WHERE id = ?1)")?
        .execute([id.as_str()])?;
    for stem in features.prefix() {
        transaction
            .prepare_cached(
                "INSERT INTO learning_prefixes (stem, learning) SELECT ?2, seq FROM learnings WHERE id = ?1",
            )?
            .execute(params![id.as_str(), stem.cast_signed()])?;
    }
    Ok(())
}
