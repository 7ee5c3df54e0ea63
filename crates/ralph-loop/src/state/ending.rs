//! How a run ends, and the exit code that tells it.

use ralph_store::{Standing, UnverifiedCounts};

use super::{Reached, Standstill};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Everything is done.
    Complete,
    /// There was nothing to do.
    NothingToDo,
    /// All that could be done is done; a person has to see to the rest, or to review what is unverified.
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

/// How the sentences begin by which these ends are told apart on record.
const LEFT_FOR_PERSON: &str = "The rest is for you";
const UNVERIFIED: &str = "done, unverified";
const AS_WISHED: &str = "It stopped where you wanted it to";

/// What the record of a run says of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedEnd {
    /// Nothing was left to do.
    Complete,
    /// It went through all that could be done; the rest is for a person.
    WentThrough,
    /// It was ended before: by a limit, by a person, by a fault.
    Stopped,
}

impl RecordedEnd {
    /// By the sentence and the exit code that a run has left; one that was killed has no code.
    #[must_use]
    pub fn of(sentence: &str, code: Option<u8>) -> Self {
        match code {
            Some(0) if !sentence.starts_with(AS_WISHED) => Self::Complete,
            Some(4) if sentence.starts_with(LEFT_FOR_PERSON) || sentence.contains(UNVERIFIED) => Self::WentThrough,
            _ => Self::Stopped,
        }
    }
}

impl End {
    /// The same end if the tasks stand so when all claims are released, else one that says what is left.
    pub(crate) fn confirmed_by(&self, standing: Standing) -> Self {
        let is_left = standing.for_a_person() + standing.open > 0;
        match self {
            Self::Complete | Self::NothingToDo if is_left => Self::LeftForPerson(standing),
            other => other.clone(),
        }
    }

    /// How a run ends that finds no task to work on, after it has settled so many iterations.
    pub(super) fn without_work(standing: Standing, settled: u32) -> Self {
        if standing.for_a_person() + standing.open > 0 {
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
            Self::AsWished(standing) if standing.for_a_person() > 0 => 4,
            Self::Complete | Self::AsWished(_) => 0,
            Self::Error(_) => 1,
            Self::NothingToDo => 3,
            Self::LeftForPerson(_) | Self::Limit(_) | Self::NoProgress(_) | Self::FailurePromise => 4,
            Self::Interrupted => 130,
        }
    }

    /// It in a sentence, where tasks need work or review that the run was not asked for.
    #[must_use]
    pub fn sentence_beside(&self, what: &str, elsewhere: &Standing) -> String {
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

    /// It in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Complete => "Everything is done.".to_owned(),
            Self::NothingToDo => "There is nothing to do.".to_owned(),
            Self::LeftForPerson(standing) => left_for_person(standing),
            Self::Limit(limit) => limit.said.clone(),
            Self::NoProgress(standstill) => standstill.sentence(),
            Self::FailurePromise => "The agent said that the run has to stop.".to_owned(),
            Self::AsWished(standing) => {
                let left = standing.failed + standing.waiting + standing.open;
                let left = ralph_model::count(left as usize, "task is left", "tasks are left");
                format!("{AS_WISHED}: {left}.")
            }
            Self::Interrupted => "It was stopped.".to_owned(),
            Self::Error(reason) => reason.clone(),
        }
    }
}

/// What needs a person when a run has done all that it could.
fn left_for_person(standing: &Standing) -> String {
    let unverified = unverified(&standing.unverified);
    let waiting = standing.waiting + standing.open;
    let counted = [
        (standing.failed, "task has failed", "tasks have failed"),
        (waiting, "task waits", "tasks wait"),
    ];
    let rest = sentences(counted);
    match (rest.is_empty(), unverified) {
        (true, unverified) => format!("{}. Run `ralph review`.", unverified.unwrap_or_default()),
        (false, None) => format!("{LEFT_FOR_PERSON}: {}.", rest.join(", ")),
        (false, Some(unverified)) => format!("{LEFT_FOR_PERSON}: {}. {unverified}.", rest.join(", ")),
    }
}

/// What there is of it, each counted.
fn sentences(counted: [(u32, &str, &str); 2]) -> Vec<String> {
    let counted = counted.into_iter().filter(|(n, ..)| *n > 0);
    counted
        .map(|(n, one, many)| ralph_model::count(n as usize, one, many))
        .collect()
}

/// How many tasks are done and unverified, with the reason if it is the same for all; none when there are none.
fn unverified(counts: &UnverifiedCounts) -> Option<String> {
    let tasks = ralph_model::count(counts.all() as usize, "task", "tasks");
    match counts.only_reason() {
        _ if counts.all() == 0 => None,
        Some(reason) => Some(format!("{tasks} {UNVERIFIED}: {}", reason.words_for(counts.all()))),
        None => Some(format!("{tasks} {UNVERIFIED}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_tells_what_was_left_and_who_ended_it() {
        let left = Standing {
            open: 2,
            ..Standing::default()
        };
        let failed = Standing {
            failed: 1,
            ..Standing::default()
        };
        for (end, expected) in [
            (End::Complete, RecordedEnd::Complete),
            (End::LeftForPerson(failed), RecordedEnd::WentThrough),
            (End::LeftForPerson(left), RecordedEnd::WentThrough),
            (End::AsWished(left), RecordedEnd::Stopped),
            (End::AsWished(failed), RecordedEnd::Stopped),
            (End::Interrupted, RecordedEnd::Stopped),
            (End::FailurePromise, RecordedEnd::Stopped),
            (End::Error("The disk is full.".to_owned()), RecordedEnd::Stopped),
        ] {
            assert_eq!(RecordedEnd::of(&end.sentence(), Some(end.code())), expected, "{end:?}");
        }
        let unverified = Standing {
            unverified: UnverifiedCounts {
                no_evidence: 1,
                ..UnverifiedCounts::default()
            },
            ..Standing::default()
        };
        let end = End::LeftForPerson(unverified);
        assert_eq!(
            RecordedEnd::of(&end.sentence(), Some(end.code())),
            RecordedEnd::WentThrough
        );
        assert_eq!(
            end.sentence(),
            "1 task done, unverified: no gate or verifier confirmed it. Run `ralph review`."
        );
        let beside = End::Complete.sentence_beside("The feature", &Standing { open: 3, ..unverified });
        assert_eq!(
            beside,
            "The feature is done. 3 other tasks are not done. 1 other task is done, unverified."
        );
        assert_eq!(RecordedEnd::of(&beside, Some(0)), RecordedEnd::Complete);
        assert_eq!(RecordedEnd::of("It was killed.", None), RecordedEnd::Stopped);
    }
}
