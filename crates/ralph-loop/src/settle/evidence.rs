//! What confirms that a task is done, and what becomes of one that nothing confirms: the rows of the table that evidence decides.

use ralph_model::config::WhenUnverified;
use ralph_model::{Outcome, TaskKind, Unverified};

use super::{Fate, Ruling};

/// Decides what becomes of a task that is about to be done and would be unverified. The mark is none where the task is
/// accepted or tried again. A change of what the evidence rests on is never accepted without a person.
pub(crate) fn judge_evidence(
    kind: TaskKind,
    passed: Ruling,
    unverified: Unverified,
    when: WhenUnverified,
) -> (Ruling, Option<Unverified>) {
    match (when, &unverified) {
        (WhenUnverified::Review, _) | (WhenUnverified::Accept, Unverified::EvidenceChanged(_)) => {
            (passed, Some(unverified))
        }
        (WhenUnverified::Accept, _) => (passed, None),
        (WhenUnverified::Retry, _) => {
            let mut ruling = Ruling {
                outcome: Outcome::Retried,
                task: match kind {
                    TaskKind::Once => Fate::Attempt,
                    TaskKind::PromptLoop => Fate::Again,
                },
                ..passed
            };
            ruling.also(&format!("Reported done, but unverified: {}.", unverified.words()));
            (ruling, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_model::StopReason;

    use super::*;
    use crate::settle::Then;

    fn passed() -> Ruling {
        Ruling {
            outcome: Outcome::Done,
            stop: StopReason::TaskDone,
            task: Fate::Done,
            then: Then::GoOn,
            reason: String::new(),
        }
    }

    #[test]
    fn the_configuration_says_what_becomes_of_an_unverified_task() {
        let judged = |unverified: &Unverified, when| judge_evidence(TaskKind::Once, passed(), unverified.clone(), when);
        for unverified in [Unverified::NoEvidence, Unverified::NothingChanged] {
            let review = judged(&unverified, WhenUnverified::Review);
            assert_eq!(review, (passed(), Some(unverified.clone())));
            assert_eq!(judged(&unverified, WhenUnverified::Accept), (passed(), None));
            let (retried, mark) = judged(&unverified, WhenUnverified::Retry);
            assert_eq!(
                (retried.outcome, retried.task, mark),
                (Outcome::Retried, Fate::Attempt, None)
            );
            let reason = format!("Reported done, but unverified: {}.", unverified.words());
            assert_eq!(retried.reason, reason);
        }
        let changed = Unverified::EvidenceChanged(vec!["check.sh".to_owned()]);
        for when in [WhenUnverified::Review, WhenUnverified::Accept] {
            assert_eq!(judged(&changed, when), (passed(), Some(changed.clone())));
        }
    }

    #[test]
    fn the_retries_of_a_prompt_loop_are_not_counted() {
        let (retried, _) = judge_evidence(
            TaskKind::PromptLoop,
            passed(),
            Unverified::NoEvidence,
            WhenUnverified::Retry,
        );
        assert_eq!((retried.outcome, retried.task), (Outcome::Retried, Fate::Again));
    }
}
