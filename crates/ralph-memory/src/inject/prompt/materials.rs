//! What the database has to say in the prompt of a task.

use jiff::Timestamp;
use jiff::civil::Date;
use ralph_model::config::Config;
use ralph_model::{Course, FailedAttempts, Feature, JournalRow, LearningId, RunId, Suggestion, Task, TaskStatus};
use ralph_store::{Store, StoreError};

use super::signs::Signs;
use super::{AttemptNumber, BrokenGate, Counted, MemoryShare, PromptRequest, RECENT_ROWS, RELATED_ROWS, Round, about};
use crate::inject::feature_texts::FeatureTexts;
use crate::inject::origin::Origins;
use crate::recall::{KnownLesson, RelevantLearning, related_rows};

/// How many attempts that failed are considered for a prompt, the last of them. A dozen fits at most.
const MOST_ATTEMPTS: u32 = 20;

/// What the database knows around a task.
#[derive(Debug, Clone)]
pub struct Materials {
    task: Task,
    parent: Option<Task>,
    prerequisites: Vec<Task>,
    feature: Option<Feature>,
    /// The last attempt that counted.
    last: Option<JournalRow>,
    overflowed_before: bool,
    failed: FailedAttempts,
    suggestion: Option<Suggestion>,
    learnings: Vec<RelevantLearning>,
    known: Vec<KnownLesson>,
    settled: Vec<(LearningId, LearningId)>,
    course: Course,
    recent: Vec<JournalRow>,
    related: Vec<(JournalRow, f64)>,
    /// The files that the last iteration of all changed.
    recent_files: Vec<String>,
    origins: Origins,
}

/// What a prompt needs that the database does not know.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// What is written about the task's feature, see [`Materials::feature`].
    pub feature: Option<&'a FeatureTexts>,
    /// Which iteration it is, and what was chosen for it; none where no run is under way.
    pub round: Option<Round<'a>>,
    /// The gates that were red before the first iteration.
    pub red_gates: &'a [String],
    /// The gates that an earlier attempt in the same folder has broken.
    pub broken_gates: &'a [BrokenGate],
    /// Whether the work is done in a checkout of its own.
    pub in_checkout: bool,
    /// The working notes.
    pub scratchpad: &'a str,
    /// The configuration.
    pub config: &'a Config,
    /// The day.
    pub today: Date,
    /// How much of the memory stands in it. Half of the whole, where the whole was too long before.
    pub share: MemoryShare,
}

impl Materials {
    /// The task.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The task that it is a part of.
    #[must_use]
    pub fn parent(&self) -> Option<&Task> {
        self.parent.as_ref()
    }

    /// Gathers what is known around a task; `run` is the run that it is prompted for, if there is one. What was
    /// learned lately counts more than what was learned long before `now`.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn gather(store: &Store, task: Task, run: Option<&RunId>, now: Timestamp) -> Result<Self, StoreError> {
        // All of it as it is now, and without taking and leaving the lock of the database for every question.
        let _one_look = store.moment()?;
        let parent = match &task.parent {
            Some(parent) => store.task(parent)?,
            None => None,
        };
        let mut prerequisites = Vec::new();
        for before in &task.after {
            prerequisites.extend(store.task(before)?.filter(|task| task.status == TaskStatus::Done));
        }
        let feature = match &task.feature {
            Some(feature) => store.feature_of_id(feature)?,
            None => None,
        };
        let failed = store.last_failed_attempts(&task.id, MOST_ATTEMPTS)?;
        let signs = Signs::of(&task, parent.as_ref(), &failed.attempts);
        Ok(Self {
            learnings: signs.learnings(store)?,
            known: signs.known_lessons(store, now)?,
            settled: store.settled_conflicts()?,
            parent,
            prerequisites,
            feature,
            last: store.journal_last_counted(&task.id)?,
            overflowed_before: store.has_overflowed(&task.id)?,
            failed,
            suggestion: store.last_suggestion(&task.id)?,
            course: store.course(&task.id)?,
            recent: match run {
                Some(run) => store.journal_recent(run, RECENT_ROWS)?,
                None => Vec::new(),
            },
            related: related_rows(store, &about(&task), run, RELATED_ROWS)?,
            recent_files: store
                .journal_last()?
                .map(|last| last.row.files_modified)
                .unwrap_or_default(),
            origins: store.notes_written_in_iterations()?.into_iter().collect(),
            task,
        })
    }

    /// What there is around the first task of a project, which no database knows.
    #[must_use]
    pub fn of_new(task: Task) -> Self {
        Self {
            task,
            parent: None,
            prerequisites: Vec::new(),
            feature: None,
            last: None,
            overflowed_before: false,
            failed: FailedAttempts::default(),
            suggestion: None,
            learnings: Vec::new(),
            known: Vec::new(),
            settled: Vec::new(),
            course: Course::default(),
            recent: Vec::new(),
            related: Vec::new(),
            recent_files: Vec::new(),
            origins: Origins::default(),
        }
    }

    /// The feature that the task belongs to.
    #[must_use]
    pub fn feature(&self) -> Option<&Feature> {
        self.feature.as_ref()
    }

    /// Whether an earlier prompt of the task was too long for the model.
    #[must_use]
    pub fn overflowed_before(&self) -> bool {
        self.overflowed_before
    }

    /// Which attempt at the task is the next one, of those that count. Where all are used up, it is the last.
    #[must_use]
    pub fn attempt(&self, config: &Config) -> AttemptNumber {
        let task = &self.task;
        let of = task
            .max_retries
            .unwrap_or(config.execution.max_retries)
            .saturating_add(1);
        let number = task.retries_used.saturating_add(1);
        let counted = match task.status {
            TaskStatus::InProgress => self.counted(number, task.attempts),
            _ => self.counted(number, task.attempts.saturating_add(1)),
        };
        if number > of {
            return AttemptNumber::of_all(of, of);
        }
        AttemptNumber { number, of, counted }
    }

    /// How the attempts are counted, of which it is so many-th of those that count, and of all.
    fn counted(&self, number: u32, overall: u32) -> Counted {
        let failed = u32::try_from(self.failed.attempts.len()).unwrap_or(u32::MAX);
        let failed = failed.saturating_add(self.failed.earlier);
        match overall {
            overall if overall <= number => Counted::All,
            // What was done, or failed and no longer counts, is tried again because a person said so.
            overall if self.failed.was_done || failed >= number => Counted::SinceReset(overall),
            overall => Counted::Finished(overall),
        }
    }

    /// The request for a prompt.
    #[must_use]
    pub fn request<'a>(&'a self, circumstances: &Circumstances<'a>) -> PromptRequest<'a> {
        let config = circumstances.config;
        PromptRequest {
            task: &self.task,
            parent: self.parent.as_ref(),
            prerequisites: &self.prerequisites,
            feature: circumstances.feature,
            attempt: self.attempt(config),
            last_reason: self.last_reason(),
            red_gates: circumstances.red_gates,
            broken_gates: circumstances.broken_gates,
            in_checkout: circumstances.in_checkout,
            gates: &config.verify.commands,
            scratchpad: circumstances.scratchpad,
            attempts: &self.failed.attempts,
            earlier_attempts: self.failed.earlier,
            suggestion: self.suggestion.as_ref(),
            learnings: &self.learnings,
            known: &self.known,
            settled: &self.settled,
            course: self.course,
            round: circumstances.round,
            recent: &self.recent,
            related: &self.related,
            recent_files: &self.recent_files,
            config,
            today: circumstances.today,
            share: match circumstances.share {
                MemoryShare::Whole if self.overflowed_before() => MemoryShare::Half,
                share => share,
            },
            origins: &self.origins,
        }
    }

    /// Why the last attempt that counted did not count as done.
    fn last_reason(&self) -> Option<&str> {
        let JournalRow { row, .. } = self.last.as_ref()?;
        let failed = row.outcome.is_failure() == Some(true);
        (failed && !row.reason.is_empty()).then_some(row.reason.as_str())
    }
}
