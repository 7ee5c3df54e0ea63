//! How a run ends, and its exit code.

use ralph_model::EndKind;
use ralph_store::{ScopeCounts, UnverifiedCounts};

use super::{LimitReached, Standstill};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Complete,
    NothingToDo,
    /// The run did all it could; the rest needs a person, or a review of unverified tasks.
    NeedsAttention(ScopeCounts),
    Limit(LimitReached),
    /// Iterations repeated themselves without changing anything.
    NoProgress(Standstill),
    FailurePromise,
    /// The user asked the run to end after the current iteration, and tasks are left.
    StoppedAsRequested(ScopeCounts),
    Interrupted,
    Error(String),
}

impl End {
    /// This end if the tasks confirm it once all claims are released; otherwise one that says what is left.
    pub(crate) fn confirmed_by(&self, standing: ScopeCounts) -> Self {
        let is_left = standing.needing_attention() + standing.open > 0;
        match self {
            Self::Complete | Self::NothingToDo if is_left => Self::NeedsAttention(standing),
            other => other.clone(),
        }
    }

    /// The end of a run that finds no task to work on, after this many settled iterations.
    pub(super) fn without_work(standing: ScopeCounts, settled: u32) -> Self {
        if standing.needing_attention() + standing.open > 0 {
            Self::NeedsAttention(standing)
        } else if settled == 0 {
            Self::NothingToDo
        } else {
            Self::Complete
        }
    }

    /// The kind to record.
    pub(crate) fn kind(&self) -> EndKind {
        match self {
            Self::Complete => EndKind::Complete,
            Self::NeedsAttention(_) => EndKind::NeedsAttention,
            _ => EndKind::Stopped,
        }
    }

    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            // Nothing went wrong, but tasks that need a person still set the exit code.
            Self::StoppedAsRequested(standing) if standing.needing_attention() > 0 => 4,
            Self::Complete | Self::StoppedAsRequested(_) => 0,
            Self::Error(_) => 1,
            Self::NothingToDo => 3,
            Self::NeedsAttention(_) | Self::Limit(_) | Self::NoProgress(_) | Self::FailurePromise => 4,
            Self::Interrupted => 130,
        }
    }

    /// The key in `[limits]` that ended the run.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Limit(limit) if !limit.key.is_empty() => Some(limit.key),
            Self::NoProgress(_) => Some("no_progress"),
            _ => None,
        }
    }

    /// The sentence when tasks outside the run's scope still need work or review.
    #[must_use]
    pub fn sentence_beside(&self, what: &str, elsewhere: &ScopeCounts) -> String {
        let open = elsewhere.failed + elsewhere.waiting + elsewhere.open;
        let counted = [
            (open, "other task is not done", "other tasks are not done"),
            (
                elsewhere.unverified.all(),
                "other task is done, unverified",
                "other tasks are done, unverified",
            ),
        ];
        match self {
            Self::Complete => format!("{what} is done. {}.", sentences(counted).join(". ")),
            other => other.sentence(),
        }
    }

    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Complete => "Everything is done.".to_owned(),
            Self::NothingToDo => "There is nothing to do.".to_owned(),
            Self::NeedsAttention(standing) => needs_attention(standing),
            Self::Limit(limit) => limit.message.clone(),
            Self::NoProgress(standstill) => standstill.sentence(),
            Self::FailurePromise => "The agent asked to stop the run.".to_owned(),
            Self::StoppedAsRequested(standing) => {
                let left = standing.failed + standing.waiting + standing.open;
                let left = ralph_model::count(left as usize, "task remains", "tasks remain");
                format!("Stopped as requested. {left}.")
            }
            Self::Interrupted => "Stopped on request.".to_owned(),
            Self::Error(reason) => reason.clone(),
        }
    }
}

fn needs_attention(standing: &ScopeCounts) -> String {
    let unverified = unverified(&standing.unverified);
    let waiting = standing.waiting + standing.open;
    let counted = [
        (standing.failed, "task failed", "tasks failed"),
        (waiting, "task is waiting", "tasks are waiting"),
    ];
    let rest = sentences(counted);
    match (rest.is_empty(), unverified) {
        (true, unverified) => format!("{}. Run `ralph review`.", unverified.unwrap_or_default()),
        (false, None) => format!("Stopped: {}.", rest.join(", ")),
        (false, Some(unverified)) => format!("Stopped: {}. {unverified}.", rest.join(", ")),
    }
}

/// One phrase for each count that is not zero.
fn sentences(counted: [(u32, &str, &str); 2]) -> Vec<String> {
    let counted = counted.into_iter().filter(|(n, ..)| *n > 0);
    counted
        .map(|(n, one, many)| ralph_model::count(n as usize, one, many))
        .collect()
}

/// The number of unverified tasks, with the reason if all share it.
fn unverified(counts: &UnverifiedCounts) -> Option<String> {
    let tasks = ralph_model::count(counts.all() as usize, "task", "tasks");
    match counts.only_reason() {
        _ if counts.all() == 0 => None,
        Some(reason) => Some(format!("{tasks} done, unverified: {}", reason.words_for(counts.all()))),
        None => Some(format!("{tasks} done, unverified")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_what_is_unverified() {
        let unverified = ScopeCounts {
            unverified: UnverifiedCounts {
                no_evidence: 1,
                ..UnverifiedCounts::default()
            },
            ..ScopeCounts::default()
        };
        assert_eq!(
            End::NeedsAttention(unverified).sentence(),
            "1 task done, unverified: no gate or verifier confirmed it. Run `ralph review`."
        );
        assert_eq!(
            End::Complete.sentence_beside("The feature", &ScopeCounts { open: 3, ..unverified }),
            "The feature is done. 3 other tasks are not done. 1 other task is done, unverified."
        );
    }
}
