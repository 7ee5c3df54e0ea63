//! Features: several tasks that serve one purpose, with a text that says what is wanted and one that says how.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;
use crate::{FeatureId, TaskId, TaskStatus, serialize_moment};

/// The most bytes that the name of a feature may have.
pub const MAX_FEATURE_NAME_BYTES: usize = 64;

word_enum! {
    /// Where a feature stands. Nobody says it: it follows from where its tasks stand, see [`TaskCounts::status`].
    pub enum FeatureStatus {
        /// Nothing of it was begun.
        Pending = "pending",
        /// Something of it was begun, and something is still to be done.
        InProgress = "in_progress",
        /// All of it is done.
        Done = "done",
        /// What is not done of it has failed, or waits for a task that has; it waits for a person.
        Failed = "failed",
    }
}

/// How many tasks of a feature stand where. Tasks that have parts do not count; their parts do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TaskCounts {
    /// Done.
    pub done: u32,
    /// Those of the done ones that are unverified.
    pub unverified: u32,
    /// A run works on them.
    pub in_progress: u32,
    /// Failed.
    pub failed: u32,
    /// They cannot go on before a person has seen to a failed task.
    pub behind_failed: u32,
    /// To be done, now or after others.
    pub open: u32,
}

impl TaskCounts {
    /// Counts so many tasks more that stand so. A proposed task is no work yet.
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

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.done + self.in_progress + self.failed + self.behind_failed + self.open
    }

    /// Where a feature stands whose tasks stand so; of these lines the first that holds:
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

/// Whether a task cannot go on before a person has seen to a failed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BehindFailed {
    /// It cannot.
    Yes,
    /// Nothing that failed is in its way.
    No,
}

/// A feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// Its id.
    pub id: FeatureId,
    /// Its name, which is also that of its folder.
    pub name: FeatureName,
    /// Where it stands.
    pub status: FeatureStatus,
    /// How many of its tasks stand where.
    pub tasks: TaskCounts,
    /// When it was made.
    #[serde(serialize_with = "serialize_moment")]
    pub created_at: Timestamp,
    /// When it, or a task of it, last changed.
    #[serde(serialize_with = "serialize_moment")]
    pub updated_at: Timestamp,
}

/// The name of a feature. It is the name of a folder too, so it is short and made of few signs, and of two that differ
/// in capitals only there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FeatureName(String);

/// Why a text is no name for a feature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeatureNameError {
    /// There is nothing.
    #[error("a feature needs a name")]
    Empty,
    /// It is too long.
    #[error("the name of a feature has at most {MAX_FEATURE_NAME_BYTES} bytes, this one has {bytes}")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// It has a sign that may not stand in a name.
    #[error("{name:?} is no name for a feature: {sign:?} may not stand in it, only letters, digits, `-`, `_` and `.`")]
    Sign {
        /// The name.
        name: String,
        /// The sign.
        sign: char,
    },
    /// It begins with a sign that it may only hold.
    #[error("{name:?} is no name for a feature: it begins with {sign:?}")]
    Start {
        /// The name.
        name: String,
        /// The sign.
        sign: char,
    },
    /// It could be taken for an id.
    #[error("{name:?} is no name for a feature: it looks like the id of a {of}")]
    LikeId {
        /// The name.
        name: String,
        /// What has such ids.
        of: &'static str,
    },
}

impl FeatureName {
    /// Takes a text for a name.
    ///
    /// # Errors
    /// When it may be none.
    pub fn new(text: &str) -> Result<Self, FeatureNameError> {
        let name = text.to_owned();
        let Some(first) = text.chars().next() else {
            return Err(FeatureNameError::Empty);
        };
        if let Some(sign) = text
            .chars()
            .find(|sign| !sign.is_alphanumeric() && !"-_.".contains(*sign))
        {
            return Err(FeatureNameError::Sign { name, sign });
        }
        if text.len() > MAX_FEATURE_NAME_BYTES {
            return Err(FeatureNameError::TooLong { bytes: text.len() });
        }
        if first == '.' || first == '-' {
            return Err(FeatureNameError::Start { name, sign: first });
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

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is this name, whatever is written in capitals.
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
    fn a_name_is_one_that_a_folder_can_have_anywhere() {
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
        assert_eq!(refused(""), "a feature needs a name");
        assert_eq!(
            refused("my feature"),
            r#""my feature" is no name for a feature: ' ' may not stand in it, only letters, digits, `-`, `_` and `.`"#
        );
        assert_eq!(
            refused(&"é".repeat(40)),
            "the name of a feature has at most 64 bytes, this one has 80"
        );
        assert_eq!(refused(".x"), r#"".x" is no name for a feature: it begins with '.'"#);
        assert_eq!(
            refused("f-12"),
            r#""f-12" is no name for a feature: it looks like the id of a feature"#
        );
        assert!(FeatureName::new("Größe").unwrap().is("GRÖßE"));
    }

    /// The tasks of a feature as a person would look at them, one after the other.
    fn by_the_rule(tasks: &[(TaskStatus, BehindFailed)]) -> FeatureStatus {
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
        fn the_status_is_that_of_the_rule(
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
            prop_assert_eq!(counts.status(), by_the_rule(&tasks));
        }
    }
}
