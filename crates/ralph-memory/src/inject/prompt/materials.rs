//! Gathers what the database knows about a task for its prompt.

use jiff::Timestamp;
use jiff::civil::Date;
use ralph_model::config::Config;
use ralph_model::{FailedAttempts, Feature, JournalRow, LearningId, RunId, Suggestion, Task, TaskStatus, TrackRecord};
use ralph_search::{Index, IndexError};
use ralph_store::Store;

use super::signals::PromptSignals;
use super::{
    AttemptNumber, BrokenGate, Counted, IterationInfo, MemoryShare, PromptRequest, RECENT_ROWS, RELATED_ROWS, about,
};
use crate::inject::feature_texts::FeatureTexts;
use crate::inject::origin::Origins;
use crate::recall::{RelevantLearning, RunLearning, related_rows};

/// The maximum number of failed attempts considered, newest first; about a dozen fit.
const MAX_ATTEMPTS: u32 = 20;

/// What the database knows about a task.
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
    known: Vec<RunLearning>,
    settled: Vec<(LearningId, LearningId)>,
    track_record: TrackRecord,
    recent: Vec<JournalRow>,
    related: Vec<(JournalRow, f64)>,
    /// The files changed by the latest iteration.
    recent_files: Vec<String>,
    origins: Origins,
}

/// What a prompt needs in addition to the database.
#[derive(Debug, Clone, Copy)]
pub struct PromptContext<'a> {
    /// The texts of the task's feature, see [`Materials::feature`].
    pub feature: Option<&'a FeatureTexts>,
    /// The current iteration; `None` outside of a run.
    pub iteration_info: Option<IterationInfo<'a>>,
    /// The gates that failed before the first iteration.
    pub red_gates: &'a [String],
    /// The gates broken by earlier attempts in the same folder.
    pub broken_gates: &'a [BrokenGate],
    /// Whether the task has a checkout of its own.
    pub in_checkout: bool,
    pub scratchpad: &'a str,
    pub config: &'a Config,
    pub today: Date,
    /// How much of the memory is included; half if the whole was too long before.
    pub share: MemoryShare,
}

impl Materials {
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    #[must_use]
    pub fn parent(&self) -> Option<&Task> {
        self.parent.as_ref()
    }

    /// Gathers what is known about a task; `run` is the current run, if there is one. The index must include the facts
    /// of the store. Recent learnings weigh more than old ones.
    ///
    /// # Errors
    /// If the index or the database cannot be read.
    pub fn gather(
        (index, store): (&Index, &Store),
        task: Task,
        run: Option<&RunId>,
        now: Timestamp,
    ) -> Result<Self, IndexError> {
        // One consistent snapshot, with a single lock.
        let _one_look = store.snapshot()?;
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
        let failed = store.last_failed_attempts(&task.id, MAX_ATTEMPTS)?;
        let signals = PromptSignals::of(&task, parent.as_ref(), &failed.attempts);
        Ok(Self {
            learnings: signals.learnings((index, store))?,
            known: signals.run_learnings((index, store), now)?,
            settled: store.settled_conflicts()?,
            parent,
            prerequisites,
            feature,
            last: store.journal_last_counted(&task.id)?,
            overflowed_before: store.has_overflowed(&task.id)?,
            failed,
            suggestion: store.last_suggestion(&task.id)?,
            track_record: store.track_record(&task.id)?,
            recent: match run {
                Some(run) => store.journal_recent(run, RECENT_ROWS)?,
                None => Vec::new(),
            },
            related: related_rows((index, store), &about(&task), run, RELATED_ROWS)?,
            recent_files: store
                .journal_last()?
                .map(|last| last.row.files_modified)
                .unwrap_or_default(),
            origins: store.notes_written_in_iterations()?.into_iter().collect(),
            task,
        })
    }

    /// The materials of a new project's first task, without a database.
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
            track_record: TrackRecord::default(),
            recent: Vec::new(),
            related: Vec::new(),
            recent_files: Vec::new(),
            origins: Origins::default(),
        }
    }

    #[must_use]
    pub fn feature(&self) -> Option<&Feature> {
        self.feature.as_ref()
    }

    /// Whether an earlier prompt of the task was too long for the model.
    #[must_use]
    pub fn overflowed_before(&self) -> bool {
        self.overflowed_before
    }

    /// The number of the next counted attempt; if all are used up, of the last.
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

    /// How the attempt with these numbers is counted.
    fn counted(&self, number: u32, overall: u32) -> Counted {
        let failed = u32::try_from(self.failed.attempts.len()).unwrap_or(u32::MAX);
        let failed = failed.saturating_add(self.failed.earlier);
        match overall {
            overall if overall <= number => Counted::All,
            // A done task, or one whose failures no longer count, was reset by a person.
            overall if self.failed.was_done || failed >= number => Counted::SinceReset(overall),
            overall => Counted::Finished(overall),
        }
    }

    #[must_use]
    pub fn request<'a>(&'a self, context: &PromptContext<'a>) -> PromptRequest<'a> {
        let config = context.config;
        PromptRequest {
            task: &self.task,
            parent: self.parent.as_ref(),
            prerequisites: &self.prerequisites,
            feature: context.feature,
            attempt: self.attempt(config),
            last_reason: self.last_reason(),
            red_gates: context.red_gates,
            broken_gates: context.broken_gates,
            in_checkout: context.in_checkout,
            gates: &config.verify.commands,
            scratchpad: context.scratchpad,
            attempts: &self.failed.attempts,
            earlier_attempts: self.failed.earlier,
            suggestion: self.suggestion.as_ref(),
            learnings: &self.learnings,
            known: &self.known,
            settled: &self.settled,
            track_record: self.track_record,
            iteration_info: context.iteration_info,
            recent: &self.recent,
            related: &self.related,
            recent_files: &self.recent_files,
            config,
            today: context.today,
            share: match context.share {
                MemoryShare::Whole if self.overflowed_before() => MemoryShare::Half,
                share => share,
            },
            origins: &self.origins,
        }
    }

    /// Why the last counted attempt failed.
    fn last_reason(&self) -> Option<&str> {
        let JournalRow { row, .. } = self.last.as_ref()?;
        let failed = row.outcome.is_failure() == Some(true);
        (failed && !row.reason.is_empty()).then_some(row.reason.as_str())
    }
}
