//! How a run ends, and the exit code that tells it.

use ralph_store::Standing;

use super::{Reached, Standstill};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Everything is done.
    Complete,
    /// There was nothing to do.
    NothingToDo,
    /// All that could be done is done; the rest is for a person.
    LeftForPerson(Standing),
    /// A limit was reached.
    Limit(Reached),
    /// The same came back again and again, and nothing changed.
    NoProgress(Standstill),
    /// The agent said that the run has to stop.
    FailurePromise,
    /// The person wished that it ends after the iteration that went on, and tasks are left.
    AsWished(Standing),
    /// Ctrl+C.
    Interrupted,
    /// Something is broken, in words.
    Error(String),
}

impl End {
    /// How a run ends that finds no task to work on, after it has settled so many iterations.
    pub(super) fn without_work(standing: Standing, settled: u32) -> Self {
        if standing.failed + standing.waiting + standing.open > 0 {
            Self::LeftForPerson(standing)
        } else if settled == 0 {
            Self::NothingToDo
        } else {
            Self::Complete
        }
    }

    /// The exit code of the command.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            // Nothing went wrong; but what waits for a person is told as ever.
            Self::AsWished(standing) if standing.failed + standing.waiting > 0 => 4,
            Self::Complete | Self::AsWished(_) => 0,
            Self::Error(_) => 1,
            Self::NothingToDo => 3,
            Self::LeftForPerson(_) | Self::Limit(_) | Self::NoProgress(_) | Self::FailurePromise => 4,
            Self::Interrupted => 130,
        }
    }

    /// It in a sentence, where so many tasks are left that the run was not asked for.
    #[must_use]
    pub fn sentence_beside(&self, what: &str, left: u32) -> String {
        let others = ralph_model::count(left as usize, "other task is not done", "other tasks are not done");
        match self {
            Self::Complete => format!("{what} is done. {others}."),
            other => other.sentence(),
        }
    }

    /// It in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Complete => "Everything is done.".to_owned(),
            Self::NothingToDo => "There is nothing to do.".to_owned(),
            Self::LeftForPerson(standing) => {
                let waiting = standing.waiting + standing.open;
                let failed = ralph_model::count(standing.failed as usize, "task has failed", "tasks have failed");
                let behind = ralph_model::count(waiting as usize, "task waits", "tasks wait");
                match (standing.failed, waiting) {
                    (_, 0) => format!("The rest is for you: {failed}."),
                    (0, _) => format!("The rest is for you: {behind}."),
                    _ => format!("The rest is for you: {failed}, {behind}."),
                }
            }
            Self::Limit(limit) => limit.said.clone(),
            Self::NoProgress(standstill) => standstill.sentence(),
            Self::FailurePromise => "The agent said that the run has to stop.".to_owned(),
            Self::AsWished(standing) => {
                let left = standing.failed + standing.waiting + standing.open;
                let left = ralph_model::count(left as usize, "task is left", "tasks are left");
                format!("It stopped where you wanted it to: {left}.")
            }
            Self::Interrupted => "It was stopped.".to_owned(),
            Self::Error(reason) => reason.clone(),
        }
    }
}
