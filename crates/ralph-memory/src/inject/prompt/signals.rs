//! The signals of a task by which its learnings are found: words, files and the last failure.

use jiff::Timestamp;
use ralph_model::{Attempt, ErrorCategory, Task};
use ralph_search::{Index, IndexError, task_type_of};
use ralph_store::Store;

use crate::recall::{
    ErrorPattern, FilePatterns, LearningSignals, RelevantLearning, RunLearning, Work, relevant_learnings, run_learnings,
};

/// The maximum number of learnings considered.
const MAX_CONSIDERED: usize = 10;
/// The maximum number of files from earlier attempts.
const MAX_FILES: usize = 50;

/// The signals of a task.
pub(super) struct PromptSignals<'a> {
    task: &'a Task,
    parent: Option<&'a Task>,
    /// The last attempt, if it failed.
    last: Option<&'a Attempt>,
    /// The files changed or named by earlier attempts.
    files: Vec<String>,
}

impl<'a> PromptSignals<'a> {
    pub(super) fn of(task: &'a Task, parent: Option<&'a Task>, attempts: &'a [Attempt]) -> Self {
        let mut files: Vec<String> = Vec::new();
        for attempt in attempts.iter().rev() {
            let named = attempt.report.iter().flat_map(|kept| &kept.report.relevant_files);
            for file in attempt.row.row.files_modified.iter().chain(named) {
                if files.len() < MAX_FILES && !files.contains(file) {
                    files.push(file.clone());
                }
            }
        }
        Self {
            task,
            parent,
            last: attempts.last(),
            files,
        }
    }

    /// The category of the last failure.
    fn category(&self) -> Option<ErrorCategory> {
        let last = self.last?;
        let reported = last.report.as_ref().map(|kept| kept.report.category);
        reported.or(last.row.row.error_category)
    }

    /// The relevant learnings of iterations.
    pub(super) fn learnings(&self, sources: (&Index, &Store)) -> Result<Vec<RelevantLearning>, IndexError> {
        let signals = LearningSignals {
            task: &self.task.id,
            title: &self.task.title,
            description: &self.task.description,
            parent: self
                .parent
                .map(|parent| (parent.title.as_str(), parent.description.as_str())),
            files: &self.files,
            category: self.category(),
        };
        relevant_learnings(sources, &signals, MAX_CONSIDERED)
    }

    /// The relevant learnings of earlier runs.
    pub(super) fn run_learnings(
        &self,
        sources: (&Index, &Store),
        now: Timestamp,
    ) -> Result<Vec<RunLearning>, IndexError> {
        let Task { title, description, .. } = self.task;
        let parent = self.parent.map(|parent| parent.title.as_str()).unwrap_or_default();
        let report = self.last.and_then(|last| last.report.as_ref());
        let headline = report.map(|kept| kept.report.headline()).unwrap_or_default();
        let category = self.category().filter(|category| *category != ErrorCategory::Unknown);
        let errors = category.map(|category| category.word().replace('_', " "));
        let errors = errors.iter().map(String::as_str).chain([headline]);
        let mut files = self.files.clone();
        files.extend(
            paths_in(title)
                .chain(paths_in(description))
                .take(MAX_FILES)
                .map(str::to_owned),
        );
        let work = Work {
            task_type: task_type_of(title, description),
            text: &format!("{title}\n{description}\n{parent}\n{headline}"),
            files: FilePatterns::around(&files),
            errors: errors.filter_map(ErrorPattern::of).collect(),
            failure: report.and_then(|kept| kept.signature.as_ref()),
        };
        run_learnings(sources, &work, now)
    }
}

/// Words of a text that look like file paths.
fn paths_in(text: &str) -> impl Iterator<Item = &str> {
    let is_around = |c: char| !c.is_alphanumeric() && c != '_';
    text.split_whitespace()
        .filter(|word| word.contains('/') && !word.contains("://"))
        .map(move |word| word.trim_matches(is_around))
}
