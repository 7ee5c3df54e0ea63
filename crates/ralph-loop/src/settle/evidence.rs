//! The rows of the settlement table that depend on evidence: what happens to a task that nothing confirms.

use ralph_model::config::WhenUnverified;
use ralph_model::{Outcome, TaskKind, Unverified};

use super::{SettlementDecision, TaskTransition};

/// Decides about a task that would be done but unverified. The mark is `None` if the task is accepted or retried.
/// Changes to the evidence basis always need a review.
pub(crate) fn judge_evidence(
    kind: TaskKind,
    passed: SettlementDecision,
    unverified: Unverified,
    when: WhenUnverified,
) -> (SettlementDecision, Option<Unverified>) {
    match (when, &unverified) {
        (WhenUnverified::Review, _) | (WhenUnverified::Accept, Unverified::EvidenceChanged(_)) => {
            (passed, Some(unverified))
        }
        (WhenUnverified::Accept, _) => (passed, None),
        (WhenUnverified::Retry, _) => {
            let mut decision = SettlementDecision {
                outcome: Outcome::Retried,
                task: match kind {
                    TaskKind::Once => TaskTransition::Attempt,
                    TaskKind::PromptLoop => TaskTransition::Again,
                },
                ..passed
            };
            decision.also(&format!("Reported done, but unverified: {}.", unverified.words()));
            (decision, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_model::StopReason;

    use super::*;
    use crate::settle::Then;

    fn passed() -> SettlementDecision {
        SettlementDecision {
            outcome: Outcome::Done,
            stop: StopReason::TaskDone,
            task: TaskTransition::Done,
            then: Then::GoOn,
            reason: String::new(),
            quoted: String::new(),
        }
    }

    #[test]
    fn configuration_decides_about_unverified_tasks() {
        let judged = |unverified: &Unverified, when| judge_evidence(TaskKind::Once, passed(), unverified.clone(), when);
        for unverified in [Unverified::NoEvidence, Unverified::NothingChanged] {
            let review = judged(&unverified, WhenUnverified::Review);
            assert_eq!(review, (passed(), Some(unverified.clone())));
            assert_eq!(judged(&unverified, WhenUnverified::Accept), (passed(), None));
            let (retried, mark) = judged(&unverified, WhenUnverified::Retry);
            assert_eq!(
                (retried.outcome, retried.task, mark),
                (Outcome::Retried, TaskTransition::Attempt, None)
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
    fn prompt_loop_retries_do_not_count() {
        let (retried, _) = judge_evidence(
            TaskKind::PromptLoop,
            passed(),
            Unverified::NoEvidence,
            WhenUnverified::Retry,
        );
        assert_eq!(
            (retried.outcome, retried.task),
            (Outcome::Retried, TaskTransition::Again)
        );
    }
}
