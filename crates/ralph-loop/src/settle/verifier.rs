//! The rows of the settlement table that the verifier decides.

use ralph_agent::TurnEnd;
use ralph_model::config::duration_text;
use ralph_model::{Outcome, StopReason, TaskKind, Verdict};

use super::{
    Facts, SettlementDecision, StopRun, TaskTransition, Then, broken_off, gates_interrupted, interrupted, set,
    with_reason,
};
use crate::summary::{StopCause, Verification};

/// How many changed files a reason names.
const MAX_NAMES: usize = 10;

/// Decides from the verifier's result on work that passed the gates. What prevented the verification does not count
/// against the work, but a verification without a verdict does.
#[must_use]
pub fn judge_verifier(facts: &Facts<'_>, passed: SettlementDecision, found: &Verification) -> SettlementDecision {
    if let Some(mut decision) = prevented(facts, found) {
        if let Some(sentence) = changed_meanwhile(found) {
            decision.also(&sentence);
        }
        return decision;
    }
    let refused = |reason: String| SettlementDecision {
        outcome: Outcome::Retried,
        task: match facts.kind {
            TaskKind::Once => TaskTransition::Attempt,
            TaskKind::PromptLoop => TaskTransition::Again,
        },
        reason,
        ..passed.clone()
    };
    let mut decision = match (why_unfinished(facts, found), &found.verdict) {
        _ if found.wrote => {
            let names = names(&found.changed);
            return refused(format!(
                "The verifier changed {names}, although it must not change anything, so its verdict does not count."
            ));
        }
        (Some(why), _) => refused(format!("The verifier gave no verdict. {why}")),
        (None, None) => refused("The verifier gave no verdict.".to_owned()),
        (None, Some(Verdict::Fail(why))) => refused(with_reason("The verifier refused", why)).quoting(why),
        (None, Some(Verdict::Pass)) if !found.changed.is_empty() => {
            let names = names(&found.changed);
            let what = format!("While the verifier was running, {names} changed");
            return if found.forgiven_before {
                refused(format!(
                    "{what}, and not for the first time, so its verdict does not count."
                ))
            } else {
                excused(passed, &what)
            };
        }
        (None, Some(Verdict::Pass)) => passed.clone(),
    };
    let unseen = found.unseen.as_ref();
    let unseen = unseen.map(|why| format!("Some changes during verification may have been missed: {why}"));
    for sentence in changed_meanwhile(found).into_iter().chain(unseen) {
        decision.also(&sentence);
    }
    decision
}

/// The decision if the work passed but something changed that the verifier did not report writing. It may well have
/// been the user, so this does not count against the work, but no one has verified the current state. It is excused
/// only once, so that a recurring change is reported.
fn excused(passed: SettlementDecision, what: &str) -> SettlementDecision {
    SettlementDecision {
        outcome: Outcome::Interrupted,
        task: TaskTransition::Again,
        reason: format!("{what}, so its verdict does not count, and this once neither does the attempt."),
        ..passed
    }
}

/// What changed while the verifier ran, in a sentence.
fn changed_meanwhile(found: &Verification) -> Option<String> {
    let names = names(&found.changed);
    match found.changed.as_slice() {
        [] => None,
        _ if found.wrote => Some(format!("The verifier changed {names}.")),
        _ => Some(format!("While the verifier was running, {names} changed.")),
    }
}

/// The decision if the verifier cannot be started.
pub(crate) fn no_verifier(why: &str) -> SettlementDecision {
    let reason = format!(
        "{} Fix `[verify] verifier`, or run with --no-verify.",
        with_reason("The verifier cannot be started", why)
    );
    interrupted(StopReason::Crash, Then::Stop(StopRun::AgentUnusable), &reason)
}

/// The decision if a limit of the run prevents verification.
pub(crate) fn over_the_limit(said: &str) -> SettlementDecision {
    interrupted(StopReason::RunLimit, Then::Stop(StopRun::Limit), said)
}

/// The decision if something prevented verification that says nothing about the work.
fn prevented(facts: &Facts<'_>, found: &Verification) -> Option<SettlementDecision> {
    match (found.cause, &found.end) {
        (Some(StopCause::Interrupt | StopCause::RalphDied), _) => Some(gates_interrupted()),
        (Some(StopCause::RunLimit), _) => {
            let said = found.limit.as_deref();
            Some(over_the_limit(said.unwrap_or(
                "A limit of the run was reached while the verifier was running.",
            )))
        }
        (None, end @ (TurnEnd::UsageLimit { .. } | TurnEnd::Transient(_) | TurnEnd::Auth(_) | TurnEnd::Billing(_))) => {
            let decision = broken_off(end, facts);
            let reason = format!("The verifier, {}, could not run. {}", found.agent, decision.reason);
            Some(SettlementDecision { reason, ..decision })
        }
        _ => None,
    }
}

/// Why the verifier did not finish, in a sentence; `None` if it did.
fn why_unfinished(facts: &Facts<'_>, found: &Verification) -> Option<String> {
    let limits = &facts.limits;
    match (found.cause, &found.end) {
        (Some(StopCause::Timeout), _) => {
            let most = set("iteration_time", limits.iteration_time.map(duration_text));
            Some(format!("It took longer than {most} allows."))
        }
        (Some(StopCause::Idle), _) => {
            let most = set("idle_time", limits.idle_time.map(duration_text));
            Some(format!("It was silent for longer than {most} allows."))
        }
        (_, TurnEnd::Finished) => None,
        (_, TurnEnd::ContextOverflow(_)) => Some("Its prompt was too long for the model.".to_owned()),
        (_, end) => Some(broken_off(end, facts).reason),
    }
}

/// The names of files, shortened.
fn names(files: &[String]) -> String {
    let named: Vec<&str> = files.iter().take(MAX_NAMES).map(String::as_str).collect();
    let named = named.join(", ");
    match files.len().saturating_sub(MAX_NAMES) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settle::{Claimed, Verdict as OfGates, judge_gates};
    use crate::summary::TurnSummary;
    use ralph_model::config::Limits;
    use ralph_model::{TaskId, Usage};

    fn found(end: TurnEnd, verdict: Option<Verdict>) -> Verification {
        Verification {
            agent: "codex".to_owned(),
            end,
            cause: None,
            limit: None,
            verdict,
            changed: Vec::new(),
            wrote: false,
            forgiven_before: false,
            unseen: None,
            usage: Usage::default(),
            duration_ms: 0,
            session: None,
        }
    }

    fn judged(kind: TaskKind, found: &Verification) -> SettlementDecision {
        let (assigned, turn) = (TaskId::new(1), TurnSummary::lost());
        let facts = Facts {
            assigned: &assigned,
            kind,
            turn: &turn,
            overflowed_before: false,
            complete_is_done: false,
            limits: Limits::default(),
        };
        let still_failing = vec!["make lint".to_owned()];
        let passed = judge_gates(&facts, Claimed::Done, &OfGates::Passes { still_failing });
        judge_verifier(&facts, passed, found)
    }

    #[track_caller]
    fn check(found: &Verification, expected: (Outcome, StopReason, TaskTransition), reason: &str) {
        let decision = judged(TaskKind::Once, found);
        let is = (decision.outcome, decision.stop, decision.task);
        assert_eq!((is, decision.reason.as_str()), (expected, reason));
    }

    const REFUSED: (Outcome, StopReason, TaskTransition) =
        (Outcome::Retried, StopReason::TaskDone, TaskTransition::Attempt);

    #[test]
    fn verdict_is_required_and_decides() {
        let finished = |verdict| found(TurnEnd::Finished, verdict);
        let done = (Outcome::Done, StopReason::TaskDone, TaskTransition::Done);
        let still_failing = "The gate `make lint` still fails, as before the run.";
        check(&finished(Some(Verdict::Pass)), done, still_failing);
        let fail = finished(Some(Verdict::Fail("The limit is missing.\nSee a.rs.".to_owned())));
        check(&fail, REFUSED, "The verifier refused: The limit is missing.\nSee a.rs.");
        let no_reason = finished(Some(Verdict::Fail(String::new())));
        check(&no_reason, REFUSED, "The verifier refused.");
        check(&finished(None), REFUSED, "The verifier gave no verdict.");
        // The iterations of a prompt loop are not counted.
        assert_eq!(judged(TaskKind::PromptLoop, &fail).task, TaskTransition::Again);
    }

    #[test]
    fn verifier_that_writes_loses_its_verdict() {
        let changed = Verification {
            changed: vec!["a.rs".to_owned(), "b.rs".to_owned()],
            wrote: true,
            ..found(TurnEnd::Finished, Some(Verdict::Pass))
        };
        let reason =
            "The verifier changed a.rs, b.rs, although it must not change anything, so its verdict does not count.";
        check(&changed, REFUSED, reason);
        let many = Verification {
            changed: (0..12).map(|file| file.to_string()).collect(),
            ..changed
        };
        assert!(judged(TaskKind::Once, &many).reason.contains("8, 9 and 2 more,"));
    }

    #[test]
    fn second_unreported_change_counts_against_the_work() {
        let meddled = |verdict| Verification {
            changed: vec!["a.rs".to_owned()],
            ..found(TurnEnd::Finished, verdict)
        };
        let reason = "While the verifier was running, a.rs changed, so its verdict does not count, and this once \
                      neither does the attempt.";
        let again = (Outcome::Interrupted, StopReason::TaskDone, TaskTransition::Again);
        check(&meddled(Some(Verdict::Pass)), again, reason);
        let once_more = |verdict| Verification {
            forgiven_before: true,
            ..meddled(verdict)
        };
        let reason = "While the verifier was running, a.rs changed, and not for the first time, so its verdict \
                      does not count.";
        check(&once_more(Some(Verdict::Pass)), REFUSED, reason);
        // A refusal counts regardless of changes.
        let reason = "The verifier refused: no.\nWhile the verifier was running, a.rs changed.";
        let refusal = Some(Verdict::Fail("no".to_owned()));
        check(&meddled(refusal.clone()), REFUSED, reason);
        check(&once_more(refusal), REFUSED, reason);
    }

    #[test]
    fn missed_changes_are_noted_in_the_reason() {
        let half_seen = Verification {
            unseen: Some("git has no time".to_owned()),
            ..found(TurnEnd::Finished, Some(Verdict::Pass))
        };
        let reason = "The gate `make lint` still fails, as before the run.\n\
                      Some changes during verification may have been missed: git has no time";
        check(
            &half_seen,
            (Outcome::Done, StopReason::TaskDone, TaskTransition::Done),
            reason,
        );
    }

    #[test]
    fn missing_verdict_refuses() {
        let crash = found(TurnEnd::Crash("exit code 1".to_owned()), Some(Verdict::Pass));
        let reason = "The verifier gave no verdict. The agent crashed: exit code 1.";
        check(&crash, REFUSED, reason);
        let ends = [
            TurnEnd::Refusal("no".to_owned()),
            TurnEnd::Garbage("?".to_owned()),
            TurnEnd::ContextOverflow(String::new()),
            TurnEnd::TokenLimit,
            TurnEnd::TurnLimit,
            TurnEnd::OutputLimit,
            TurnEnd::Stopped,
        ];
        for end in ends {
            let decision = judged(TaskKind::Once, &found(end.clone(), None));
            assert_eq!((decision.outcome, decision.stop, decision.task), REFUSED, "{end:?}");
            assert!(
                decision.reason.starts_with("The verifier gave no verdict. "),
                "{}",
                decision.reason
            );
        }
        for (cause, what) in [
            (StopCause::Timeout, "iteration_time = 2h"),
            (StopCause::Idle, "idle_time = 15m"),
        ] {
            let stopped = Verification {
                cause: Some(cause),
                ..found(TurnEnd::Stopped, None)
            };
            let decision = judged(TaskKind::Once, &stopped);
            assert_eq!((decision.outcome, decision.stop, decision.task), REFUSED);
            assert!(decision.reason.contains(what), "{}", decision.reason);
        }
    }

    #[test]
    fn prevented_verification_does_not_count_against_the_work() {
        let limit = TurnEnd::UsageLimit {
            resets_at: None,
            message: "resets 3pm".to_owned(),
        };
        let reason = "The verifier, codex, could not run. The usage limit is reached: resets 3pm.";
        let again = |stop| (Outcome::Interrupted, stop, TaskTransition::Again);
        check(&found(limit.clone(), None), again(StopReason::UsageLimit), reason);
        assert_eq!(
            judged(TaskKind::Once, &found(limit, None)).then,
            Then::WaitForUsage { resets_at: None }
        );
        for (end, stop, then) in [
            (
                TurnEnd::Transient("503".to_owned()),
                StopReason::Transient,
                Then::BackOff,
            ),
            (
                TurnEnd::Auth("no".to_owned()),
                StopReason::Auth,
                Then::Stop(StopRun::AgentUnusable),
            ),
            (
                TurnEnd::Billing("no".to_owned()),
                StopReason::Billing,
                Then::Stop(StopRun::AgentUnusable),
            ),
        ] {
            let decision = judged(TaskKind::Once, &found(end, None));
            assert_eq!((decision.outcome, decision.stop, decision.task), again(stop));
            assert_eq!(decision.then, then);
        }
        let stopped = Verification {
            cause: Some(StopCause::Interrupt),
            changed: vec!["a.rs".to_owned()],
            wrote: true,
            ..found(TurnEnd::Finished, Some(Verdict::Pass))
        };
        let reason = "Stopped on request.\nThe verifier changed a.rs.";
        check(&stopped, again(StopReason::Cancelled), reason);
    }
}
