//! By what lessons are found that belong to a task: its words, its files, how its last attempt failed.

use jiff::Timestamp;
use ralph_model::{Attempt, ErrorCategory, Task};
use ralph_store::{Store, StoreError, task_type_of};

use crate::recall::{
    ErrorPattern, FilePatterns, KnownLesson, LearningSignals, RelevantLearning, Work, known_lessons, relevant_learnings,
};

/// How many lessons of iterations are considered for a prompt …
const MOST_CONSIDERED: usize = 10;
/// … and how many files of earlier attempts lessons are found by.
const MOST_FILES: usize = 50;

/// By what lessons are found that belong to a task.
pub(super) struct Signs<'a> {
    task: &'a Task,
    parent: Option<&'a Task>,
    /// The last attempt, if it failed.
    last: Option<&'a Attempt>,
    /// The files that earlier attempts have changed or named.
    files: Vec<String>,
}

impl<'a> Signs<'a> {
    pub(super) fn of(task: &'a Task, parent: Option<&'a Task>, attempts: &'a [Attempt]) -> Self {
        let mut files: Vec<String> = Vec::new();
        for attempt in attempts.iter().rev() {
            let named = attempt.report.iter().flat_map(|kept| &kept.report.relevant_files);
            for file in attempt.row.row.files_modified.iter().chain(named) {
                if files.len() < MOST_FILES && !files.contains(file) {
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

    /// How the last attempt failed.
    fn category(&self) -> Option<ErrorCategory> {
        let last = self.last?;
        let reported = last.report.as_ref().map(|kept| kept.report.category);
        reported.or(last.row.row.error_category)
    }

    /// The lessons of iterations that may stand in the prompt.
    pub(super) fn learnings(&self, store: &Store) -> Result<Vec<RelevantLearning>, StoreError> {
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
        relevant_learnings(store, &signals, MOST_CONSIDERED)
    }

    /// What earlier runs taught that may stand in it.
    pub(super) fn known_lessons(&self, store: &Store, now: Timestamp) -> Result<Vec<KnownLesson>, StoreError> {
        let Task { title, description, .. } = self.task;
        let parent = self.parent.map(|parent| parent.title.as_str()).unwrap_or_default();
        let report = self.last.and_then(|last| last.report.as_ref());
        let gist = report.map(|kept| kept.report.gist()).unwrap_or_default();
        let category = self.category().filter(|category| *category != ErrorCategory::Unknown);
        let errors = category.map(|category| category.word().replace('_', " "));
        let errors = errors.iter().map(String::as_str).chain([gist]);
        let mut files = self.files.clone();
        files.extend(
            paths_in(title)
                .chain(paths_in(description))
                .take(MOST_FILES)
                .map(str::to_owned),
        );
        let work = Work {
            task_type: task_type_of(title, description),
            text: &format!("{title}\n{description}\n{parent}\n{gist}"),
            files: FilePatterns::around(&files),
            errors: errors.filter_map(ErrorPattern::of).collect(),
            failure: report.and_then(|kept| kept.signature.as_ref()),
        };
        known_lessons(store, &work, now)
    }
}

/// What looks like the path of a file in a text.
fn paths_in(text: &str) -> impl Iterator<Item = &str> {
    let is_around = |sign: char| !sign.is_alphanumeric() && sign != '_';
    text.split_whitespace()
        .filter(|word| word.contains('/') && !word.contains("://"))
        .map(move |word| word.trim_matches(is_around))
}
