//! Taking over lessons of another store. One that is known by its id is brought up to date, one that says the same as another
//! makes that one surer, and nothing is there twice however often it is taken over.

use jiff::Timestamp;
use ralph_model::config::Promote;
use ralph_model::{
    Candidate, Entropy, Facts, Learning, LearningId, LearningKind, LearningSource, LearningStatus, TaskType,
};
use rusqlite::{OptionalExtension, Transaction, params};

use super::Store;
use super::columns::{moment, to_json};
use super::foreign_update::{LastTold, bring_up_to_date};
use super::learning_changes::{standing_for, unite, unite_tags, write_support};
use super::learning_reading::read_learning;
use super::lifecycle::prune;
use super::same_lesson::{Meant, Retold, Saying, another_saying, keep_words};
use super::{learning_terms, lesson_of, tag_terms};
use crate::StoreError;

/// How many uses the first success rate weighs.
const FIRST_WEIGHT: f64 = 5.0;

/// A lesson of another store, with texts that may be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignLearning {
    /// Its id there.
    pub id: Option<String>,
    /// What kind of lesson it is.
    pub kind: LearningKind,
    /// What it is about.
    pub category: String,
    /// The kind of work that it was learned at; none where it does not say.
    pub task_type: Option<TaskType>,
    /// What it says.
    pub content: String,
    /// By what it can be found beside its words.
    pub tags: Vec<String>,
    /// The numbers behind it.
    pub facts: Option<Facts>,
    /// How sure it is, in any number: it is judged here.
    pub confidence: f64,
    /// How often what it says succeeds, in any number.
    pub success_rate: f64,
    /// How often it was used there.
    pub use_count: u32,
    /// The runs that taught it.
    pub source_loops: Vec<String>,
    /// How far it has come there.
    pub standing: ForeignStanding,
    /// All that is said of it there, as JSON; none where that must not be kept.
    pub original: Option<String>,
    /// When it was first learned.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// A lesson that says nearly the same, known here or among those that come with it.
    pub retold: Option<Retold>,
}

/// How far a lesson has come in another store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignStanding {
    /// It holds.
    Promoted,
    /// It can be true.
    Validated,
    /// Nobody has judged it.
    Pending,
    /// It was rejected, for this reason.
    Rejected(String),
}

/// What became of a lesson that was taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenLearning {
    /// Its id here.
    pub id: LearningId,
    /// What became of it.
    pub taken: Taken,
    /// How far it has come.
    pub status: LearningStatus,
    /// Why it was rejected, if it was.
    pub reason: Option<String>,
}

/// How a lesson was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is new.
    Added,
    /// It was taken over before, and has changed since.
    Updated,
    /// Another one said the same, and is surer now.
    Strengthened,
    /// Another one says it in other words, and is surer now; it was kept as merged into that one.
    Reworded,
    /// Nothing of it was new.
    Unchanged,
}

impl Store {
    /// Takes lessons of another store over, all of them or none; what became of each, in their order. What a person here has
    /// rejected or taken out stays so.
    ///
    /// # Errors
    /// When the database cannot be written, or other lessons came in since these were compared.
    pub fn import_learnings(
        &mut self,
        lessons: &[ForeignLearning],
        promote: Promote,
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Vec<TakenLearning>, StoreError> {
        let compared = lessons.iter().filter_map(|lesson| lesson.retold.as_ref());
        self.write_compared(compared, |transaction| {
            let mut taken = Vec::with_capacity(lessons.len());
            for lesson in lessons {
                let incoming = Incoming {
                    transaction,
                    lesson,
                    retold: retold(lesson, &taken),
                    promote,
                    now,
                };
                taken.push(incoming.take(entropy)?);
            }
            Ok(taken)
        })
    }

    /// Hands lessons in to be judged, all of them or none; what became of each, in their order. One that is known, whatever
    /// was thought of it, stays as it is: what nobody has judged supports nothing.
    ///
    /// # Errors
    /// When the database cannot be written, or other lessons came in since these were compared.
    pub fn stage_learnings(
        &mut self,
        lessons: &[ForeignLearning],
        entropy: &mut dyn Entropy,
        now: Timestamp,
    ) -> Result<Vec<TakenLearning>, StoreError> {
        let compared = lessons.iter().filter_map(|lesson| lesson.retold.as_ref());
        self.write_compared(compared, |transaction| {
            let mut staged = Vec::with_capacity(lessons.len());
            for lesson in lessons {
                let incoming = Incoming {
                    transaction,
                    lesson,
                    retold: retold(lesson, &staged),
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

    /// Every lesson with all that was said of it where it was taken over from, the oldest first.
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

/// The lesson here that says nearly the same, after these were taken in.
fn retold(lesson: &ForeignLearning, taken: &[TakenLearning]) -> Option<Meant> {
    let id_of = |place| taken.get(place).map(|taken: &TakenLearning| taken.id.clone());
    lesson.retold.as_ref()?.among(id_of)
}

/// What becomes of a lesson that says nothing new of one that is known.
fn unchanged(known: Learning) -> TakenLearning {
    TakenLearning {
        id: known.id,
        taken: Taken::Unchanged,
        status: known.status,
        reason: known.reason,
    }
}

/// A lesson on its way in.
struct Incoming<'a> {
    transaction: &'a Transaction<'a>,
    lesson: &'a ForeignLearning,
    /// The lesson here that says nearly the same.
    retold: Option<Meant>,
    promote: Promote,
    now: Timestamp,
}

/// How a lesson that is there already has to do with one that comes in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinship {
    /// It is that one.
    Same,
    /// It says the same.
    Alike,
    /// It stands for the one that it is or that says the same, which keeps its own id.
    StandsFor,
    /// It says nearly the same, in other words. What comes in is kept with its own id, as merged into it.
    Reworded,
}

impl Incoming<'_> {
    fn take(&self, entropy: &mut dyn Entropy) -> rusqlite::Result<TakenLearning> {
        match self.known()? {
            // What nobody here has judged, or somebody there has rejected, is no part of what holds: it stays by itself.
            Some((_, Kinship::Reworded)) if !self.supports() => self.keep(entropy),
            Some((known, _)) if !self.supports() => Ok(unchanged(known)),
            Some((known, Kinship::Reworded)) => {
                let own = self.keep(entropy)?;
                let reason = format!("Merged into {}.", known.id);
                prune(self.transaction, &own.id, (&reason, Some(&known.id)), self.now)?;
                self.unite(&known, Kinship::Reworded)
            }
            Some((known, kinship)) => self.unite(&known, kinship),
            None => self.keep(entropy),
        }
    }

    /// Whether it tells anything of one that is known: what nobody has judged, what was rejected and what cannot be true
    /// does not.
    fn supports(&self) -> bool {
        let (status, _) = self.judged();
        !matches!(status, LearningStatus::Pending | LearningStatus::Rejected)
    }

    /// The lesson that this one is, or that says the same. Where it was merged into another, that one.
    fn known(&self) -> rusqlite::Result<Option<(Learning, Kinship)>> {
        let by_id = self.by_id()?;
        // An id that another lesson has cannot be given to one that says the same.
        let kinship = if by_id.is_some() {
            Kinship::StandsFor
        } else {
            Kinship::Alike
        };
        let (found, kinship) = match by_id {
            Some(same) if self.is_told_again(&same)? => (same, Kinship::Same),
            _ => match self.alike()? {
                Some(alike) => (alike, kinship),
                None => return self.reworded(),
            },
        };
        let id = found.id.clone();
        let stands = standing_for(self.transaction, found)?;
        if let Some(other) = self.another_saying_so(&stands)? {
            return Ok(Some((other, Kinship::StandsFor)));
        }
        let kinship = if stands.id == id { kinship } else { Kinship::StandsFor };
        Ok(Some((stands, kinship)))
    }

    fn reworded(&self) -> rusqlite::Result<Option<(Learning, Kinship)>> {
        let retold = self.retold.as_ref();
        let known = retold
            .map(|meant| self.saying().retold(self.transaction, meant))
            .transpose()?;
        Ok(known.flatten().map(|known| (known, Kinship::Reworded)))
    }

    /// Whether a lesson with the same id is this one, and not just named alike by two stores that know nothing of each other.
    fn is_told_again(&self, known: &Learning) -> rusqlite::Result<bool> {
        let last = LastTold::read(self.original(&known.id)?.as_deref());
        Ok(last.is_of(self.lesson, known))
    }

    /// Another lesson that says already what this one has come to say since it was taken over.
    fn another_saying_so(&self, known: &Learning) -> rusqlite::Result<Option<Learning>> {
        if lesson_of(&known.content) == lesson_of(&self.lesson.content) {
            return Ok(None);
        }
        let mut reworded = known.clone();
        reworded.content.clone_from(&self.lesson.content);
        let other = another_saying(self.transaction, &reworded)?;
        let stands = other.map(|other| standing_for(self.transaction, other)).transpose()?;
        Ok(stands.filter(|stands| stands.id != known.id))
    }

    fn by_id(&self) -> rusqlite::Result<Option<Learning>> {
        self.transaction
            .prepare_cached(
                "SELECT * FROM learnings WHERE foreign_id = ?1 OR id = ?1 ORDER BY foreign_id IS ?1 DESC LIMIT 1",
            )?
            .query_row([&self.lesson.id], read_learning)
            .optional()
    }

    /// One of the same kind, for the same kind of work, in the same words; estimates of the same complexity are the same,
    /// whatever they say.
    fn alike(&self) -> rusqlite::Result<Option<Learning>> {
        match (self.saying().unmerged(self.transaction)?, &self.lesson.facts) {
            (None, Some(Facts::Estimate { complexity, .. })) => self.estimate_of(complexity),
            (found, _) => Ok(found),
        }
    }

    fn estimate_of(&self, complexity: &str) -> rusqlite::Result<Option<Learning>> {
        self.transaction
            .prepare_cached(
                "SELECT * FROM learnings INDEXED BY learnings_estimates
                 WHERE kind = 'estimate' AND task_type IS ?1
                       AND CASE WHEN json_valid(facts) THEN facts ->> '$.complexity' END = ?2
                 ORDER BY status = 'pruned', seq LIMIT 1",
            )?
            .query_row(
                params![self.lesson.task_type.map(TaskType::word), complexity],
                read_learning,
            )
            .optional()
    }

    fn saying(&self) -> Saying<'_> {
        Saying {
            kind: self.lesson.kind,
            task_type: self.lesson.task_type,
            content: &self.lesson.content,
        }
    }

    /// Brings a known lesson up to date, or makes it surer.
    fn unite(&self, known: &Learning, kinship: Kinship) -> rusqlite::Result<TakenLearning> {
        let lesson = self.lesson;
        let mut next = known.clone();
        unite(&mut next.source_loops, &lesson.source_loops);
        unite_tags(&mut next.tags, &lesson.tags);
        next.confidence = share(lesson.confidence).max(known.confidence);
        // Not a sum: the next time the same uses would be counted again. What it is itself may have been here before, with all
        // that was counted here.
        let counted = match kinship {
            Kinship::Same | Kinship::StandsFor => known.use_count,
            Kinship::Alike => known.first_use_count,
            Kinship::Reworded => {
                keep_words(&mut next, &lesson.content);
                // As of all that is merged into it, for which it gives them back where that is undone.
                let is_part = next.examples.contains(&lesson.content);
                if is_part { 0 } else { known.use_count }
            }
        };
        let more_uses = lesson.use_count.saturating_sub(counted);
        next.first_use_count += more_uses;
        next.use_count = known.use_count.saturating_add(more_uses);
        let earlier = self.original(&known.id)?;
        let mut original = earlier.clone();
        let last = LastTold::read(earlier.as_deref());
        if kinship == Kinship::Same && lesson.kind == known.kind && last.is_before(lesson, known) {
            bring_up_to_date(self.transaction, &mut next, lesson, &last)?;
            original = lesson.original.clone();
        }
        if kinship == Kinship::Alike && known.foreign_id.is_none() && lesson.id.as_deref() != Some(known.id.as_str()) {
            next.foreign_id.clone_from(&lesson.id);
            original = lesson.original.clone();
        }
        next.success_rate = success_rate(&next);
        next.status = self.raised(known);
        let is_unchanged = next == *known && original == earlier;
        if !is_unchanged {
            write_support(self.transaction, &next, self.now)?;
            self.write_rest(&next, original.as_deref())?;
        }
        Ok(TakenLearning {
            taken: match kinship {
                Kinship::Reworded => Taken::Reworded,
                _ if is_unchanged => Taken::Unchanged,
                Kinship::Same => Taken::Updated,
                Kinship::Alike | Kinship::StandsFor => Taken::Strengthened,
            },
            id: next.id,
            status: next.status,
            reason: next.reason,
        })
    }

    /// How far a known lesson comes by this one: further at most.
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

    /// Writes what changes in a lesson beside what support changes.
    fn write_rest(&self, next: &Learning, original: Option<&str>) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "UPDATE learnings SET content = ?2, lesson = ?3, facts = ?4, foreign_id = ?5, original = ?6,
                     first_use_count = ?7, first_success_rate = ?8, success_rate = ?9, status = ?10
                 WHERE id = ?1",
            )?
            .execute(params![
                next.id.as_str(),
                next.content,
                lesson_of(&next.content),
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

    /// Keeps a new lesson, judged. Its id is kept where no other lesson has it, and is ours if it has our form.
    fn keep(&self, entropy: &mut dyn Entropy) -> rusqlite::Result<TakenLearning> {
        let foreign_id = match self.by_id()? {
            Some(_) => None,
            None => self.lesson.id.as_deref(),
        };
        let own = foreign_id.and_then(LearningId::parse);
        let mut id = own.unwrap_or_else(|| LearningId::new(entropy.next_bits()));
        let (status, reason) = self.judged();
        while !self.insert((&id, foreign_id), status, reason.as_deref())? {
            id = LearningId::new(entropy.next_bits());
        }
        Ok(TakenLearning {
            id,
            taken: Taken::Added,
            status,
            reason,
        })
    }

    /// How far it comes here, and why not further.
    fn judged(&self) -> (LearningStatus, Option<String>) {
        let lesson = self.lesson;
        match &lesson.standing {
            ForeignStanding::Pending => (LearningStatus::Pending, None),
            ForeignStanding::Validated => (LearningStatus::Validated, None),
            ForeignStanding::Rejected(reason) => (LearningStatus::Rejected, Some(reason.clone())),
            ForeignStanding::Promoted => {
                let candidate = Candidate {
                    kind: lesson.kind,
                    task_type: lesson.task_type,
                    content: &lesson.content,
                    confidence: lesson.confidence,
                    success_rate: lesson.success_rate,
                };
                match (candidate.rejection(), self.promote) {
                    (Some(reason), _) => (LearningStatus::Rejected, Some(reason.to_owned())),
                    (None, Promote::Evidence | Promote::Auto) => (LearningStatus::Promoted, None),
                    (None, Promote::Review) => (LearningStatus::Validated, None),
                }
            }
        }
    }

    /// Writes a new lesson under its id here and that of the other store; says whether its id was free.
    fn insert(
        &self,
        (id, foreign_id): (&LearningId, Option<&str>),
        status: LearningStatus,
        reason: Option<&str>,
    ) -> rusqlite::Result<bool> {
        let lesson = self.lesson;
        let rows = self
            .transaction
            .prepare_cached(
                "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, first_success_rate,
                                        use_count, first_use_count, source, source_loops, status, reason, created_at,
                                        updated_at, task_type, lesson, terms, tag_terms, facts, foreign_id, original)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                         ?21)
                 ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                id.as_str(),
                lesson.kind.word(),
                lesson.category,
                lesson.content,
                to_json(&lesson.tags)?,
                share(lesson.confidence),
                share(lesson.success_rate),
                lesson.use_count,
                LearningSource::Imported.word(),
                to_json(&lesson.source_loops)?,
                status.word(),
                reason,
                moment(lesson.created_at),
                // From now on it has its time to prove itself here.
                moment(self.now),
                lesson.task_type.map(TaskType::word),
                lesson_of(&lesson.content),
                learning_terms(&lesson.content, &lesson.tags),
                to_json(&tag_terms(&lesson.tags))?,
                lesson.facts.as_ref().map(to_json).transpose()?,
                foreign_id,
                lesson.original,
            ])?;
        Ok(rows == 1)
    }
}

/// A number as the share that it is meant to be. What is no number is nothing.
pub(super) fn share(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number.clamp(0.0, 1.0) }
}

/// How often what a lesson says succeeds: what was said of it at first, as if of some uses, and what was counted since.
fn success_rate(learning: &Learning) -> f64 {
    let uses = learning.use_count.saturating_sub(learning.first_use_count);
    // Without any use it is that number to the last digit.
    if uses == 0 || learning.kind == LearningKind::Antipattern {
        return learning.first_success_rate;
    }
    let successes = FIRST_WEIGHT * learning.first_success_rate + f64::from(learning.successes);
    successes / (FIRST_WEIGHT + f64::from(uses))
}
