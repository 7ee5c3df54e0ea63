//! Features: groups of tasks with a common specification and plan.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{FeatureId, TaskId, TaskStatus, serialize_timestamp};

/// Maximum length of a feature name.
pub const MAX_FEATURE_NAME_BYTES: usize = 64;

word_enum! {
    /// Status of a feature, derived from its tasks by [`TaskCounts::status`].
    pub enum FeatureStatus {
        /// No task was started.
        Pending = "pending",
        /// Some tasks were started and some are still open.
        InProgress = "in_progress",
        /// All tasks are done.
        Done = "done",
        /// All remaining tasks failed or depend on a failed one; needs attention.
        Failed = "failed",
    }
}

/// The tasks of a feature by status. Only tasks without subtasks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TaskCounts {
    pub done: u32,
    /// Done tasks that are unverified.
    pub unverified: u32,
    /// Claimed by a run.
    pub in_progress: u32,
    pub failed: u32,
    /// Blocked until a person resolves a failed task.
    pub behind_failed: u32,
    /// Ready now or after other tasks.
    pub open: u32,
}

impl TaskCounts {
    /// Counts more tasks with this status. Proposed tasks are ignored.
    pub fn add(&mut self, status: TaskStatus, behind_failed: BehindFailed, tasks: u32) {
        let counter = match (status, behind_failed) {
            (TaskStatus::Proposed, _) => return,
            (TaskStatus::Done, _) => &mut self.done,
            (TaskStatus::InProgress, _) => &mut self.in_progress,
            (TaskStatus::Failed, _) => &mut self.failed,
            (TaskStatus::Pending | TaskStatus::Blocked, BehindFailed::Yes) => &mut self.behind_failed,
            (TaskStatus::Pending | TaskStatus::Blocked, BehindFailed::No) => &mut self.open,
        };
        *counter = counter.saturating_add(tasks);
    }

    #[must_use]
    pub fn total(&self) -> u32 {
        self.done + self.in_progress + self.failed + self.behind_failed + self.open
    }

    /// The status of a feature with these tasks: the first matching row of
    ///
    /// | tasks | feature |
    /// |---|---|
    /// | none | pending |
    /// | all done | done |
    /// | a run works on one | in progress |
    /// | none open: each is done, failed, or behind a failed one | failed |
    /// | one is done or failed, others are open | in progress |
    /// | all open, or some behind a failed task of another feature | pending |
    #[must_use]
    pub fn status(&self) -> FeatureStatus {
        match *self {
            counts if counts.total() == 0 => FeatureStatus::Pending,
            counts if counts.done == counts.total() => FeatureStatus::Done,
            Self { in_progress: 1.., .. } => FeatureStatus::InProgress,
            Self { open: 0, .. } => FeatureStatus::Failed,
            Self { done: 1.., .. } | Self { failed: 1.., .. } => FeatureStatus::InProgress,
            _ => FeatureStatus::Pending,
        }
    }
}

/// Whether a failed task blocks this one until a person acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BehindFailed {
    Yes,
    /// No failed task blocks it.
    No,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feature {
    pub id: FeatureId,
    /// Also the name of its folder.
    pub name: FeatureName,
    pub status: FeatureStatus,
    pub tasks: TaskCounts,
    #[serde(serialize_with = "serialize_timestamp")]
    pub created_at: Timestamp,
    /// The latest change of the feature or of one of its tasks.
    #[serde(serialize_with = "serialize_timestamp")]
    pub updated_at: Timestamp,
}

/// The name of a feature. It is also a folder name, so the length and the characters are limited, and names are unique
/// ignoring case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FeatureName(String);

/// Why a feature name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeatureNameError {
    #[error("a feature name cannot be empty")]
    Empty,
    #[error("the feature name is {bytes} bytes long; the maximum is {MAX_FEATURE_NAME_BYTES}")]
    TooLong { bytes: usize },
    /// It contains a character that is not allowed.
    #[error("invalid feature name {name:?}: {character:?} is not allowed; use letters, digits, `-`, `_` and `.`")]
    InvalidCharacter { name: String, character: char },
    /// It begins with a character that is only allowed later.
    #[error("invalid feature name {name:?}: it cannot begin with {character:?}")]
    Start { name: String, character: char },
    #[error("invalid feature name {name:?}: it looks like a {of} id")]
    LikeId { name: String, of: &'static str },
}

impl FeatureName {
    /// Parses a feature name.
    ///
    /// # Errors
    /// If the name is invalid.
    pub fn new(text: &str) -> Result<Self, FeatureNameError> {
        let name = text.to_owned();
        let Some(first) = text.chars().next() else {
            return Err(FeatureNameError::Empty);
        };
        if let Some(character) = text
            .chars()
            .find(|character| !character.is_alphanumeric() && !"-_.".contains(*character))
        {
            return Err(FeatureNameError::InvalidCharacter { name, character });
        }
        if text.len() > MAX_FEATURE_NAME_BYTES {
            return Err(FeatureNameError::TooLong { bytes: text.len() });
        }
        if first == '.' || first == '-' {
            return Err(FeatureNameError::Start { name, character: first });
        }
        let lower = text.to_lowercase();
        for (prefix, of) in [(TaskId::PREFIX, "task"), (FeatureId::PREFIX, "feature")] {
            let digits = lower.strip_prefix(prefix);
            if digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
                return Err(FeatureNameError::LikeId { name, of });
            }
        }
        Ok(Self(name))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is this name, ignoring case.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.0.to_lowercase() == text.to_lowercase()
    }
}

impl std::fmt::Display for FeatureName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn refused(name: &str) -> String {
        FeatureName::new(name).unwrap_err().to_string()
    }

    #[test]
    fn names_are_portable_folder_names() {
        for good in [
            "search",
            "Search-2.0",
            "_x",
            "größe",
            "検索",
            "t-shirt",
            "f-word",
            "a".repeat(64).as_str(),
        ] {
            assert_eq!(FeatureName::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "a/b", "a b", "a\n", "..", ".hidden", "-x", "a\0b", "🦀", "t-1a2b3c", "F-1A", "t-", "a:b", "a\\b",
        ] {
            assert!(FeatureName::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(refused(""), "a feature name cannot be empty");
        assert_eq!(
            refused("my feature"),
            r#"invalid feature name "my feature": ' ' is not allowed; use letters, digits, `-`, `_` and `.`"#
        );
        assert_eq!(
            refused(&"é".repeat(40)),
            "the feature name is 80 bytes long; the maximum is 64"
        );
        assert_eq!(refused(".x"), r#"invalid feature name ".x": it cannot begin with '.'"#);
        assert_eq!(
            refused("f-12"),
            r#"invalid feature name "f-12": it looks like a feature id"#
        );
        assert!(FeatureName::new("Größe").unwrap().is("GRÖßE"));
    }

    /// An independent implementation of the table in [`TaskCounts::status`].
    fn reference_status(tasks: &[(TaskStatus, BehindFailed)]) -> FeatureStatus {
        let is = |wanted: TaskStatus| tasks.iter().any(|(status, _)| *status == wanted);
        let is_resolved = |(status, behind): &(TaskStatus, BehindFailed)| match status {
            TaskStatus::Done | TaskStatus::Failed => true,
            TaskStatus::InProgress | TaskStatus::Proposed => false,
            TaskStatus::Pending | TaskStatus::Blocked => *behind == BehindFailed::Yes,
        };
        if tasks.is_empty() {
            FeatureStatus::Pending
        } else if tasks.iter().all(|(status, _)| *status == TaskStatus::Done) {
            FeatureStatus::Done
        } else if is(TaskStatus::InProgress) {
            FeatureStatus::InProgress
        } else if tasks.iter().all(is_resolved) {
            FeatureStatus::Failed
        } else if is(TaskStatus::Done) || is(TaskStatus::Failed) {
            FeatureStatus::InProgress
        } else {
            FeatureStatus::Pending
        }
    }

    proptest! {
        #[test]
        fn status_matches_the_reference(
            tasks in prop::collection::vec((prop::sample::select(TaskStatus::ALL), any::<bool>()), 0..8)
        ) {
            let behind = |is: bool| if is { BehindFailed::Yes } else { BehindFailed::No };
            let tasks: Vec<_> = tasks.into_iter().map(|(status, is)| (status, behind(is))).collect();
            let mut counts = TaskCounts::default();
            for (status, behind) in &tasks {
                counts.add(*status, *behind, 1);
            }
            let tasks: Vec<_> = tasks.into_iter().filter(|(status, _)| *status != TaskStatus::Proposed).collect();
            prop_assert_eq!(counts.total() as usize, tasks.len());
            prop_assert_eq!(counts.status(), reference_status(&tasks));
        }
    }
}
