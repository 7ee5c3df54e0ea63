//! The word of a second session about finished work: the rows of the table that it decides.

use ralph_agent::TurnEnd;
use ralph_model::config::duration_text;
use ralph_model::{Outcome, StopReason, TaskKind, Verdict};

use super::{Facts, Fate, Ruling, StopRun, Then, broken_off, gates_interrupted, interrupted, set, told};
use crate::summary::{StopCause, Verification};

/// How many of the files that a verifier changed are named.
const MOST_NAMES: usize = 10;

/// Decides what the verifier's word means for work that the gates let pass. What kept it from looking is not held against
/// whoever did the work; a look that ended without a word is, since nobody can say that the work is done.
#[must_use]
pub fn judge_verifier(facts: &Facts<'_>, passed: Ruling, found: &Verification) -> Ruling {
    if let Some(mut ruling) = kept_from_looking(facts, found) {
        if let Some(sentence) = changed_meanwhile(found) {
            ruling.also(&sentence);
        }
        return ruling;
    }
    let refused = |reason: String| Ruling {
        outcome: Outcome::Retried,
        task: match facts.kind {
            TaskKind::Once => Fate::Attempt,
            TaskKind::PromptLoop => Fate::Again,
        },
        reason,
        ..passed.clone()
    };
    let mut ruling = match (no_end(facts, found), &found.verdict) {
        _ if found.wrote => {
            let names = names(&found.changed);
            return refused(format!(
                "The verifier changed {names}, and was to change nothing; so its word does not count."
            ));
        }
        (Some(why), _) => refused(format!("The verifier came to no verdict. {why}")),
        (None, None) => refused("The verifier came to no verdict.".to_owned()),
        (None, Some(Verdict::Fail(why))) => refused(told("The verifier refused", why)),
        (None, Some(Verdict::Pass)) if !found.changed.is_empty() => {
            let names = names(&found.changed);
            let what = format!("While the verifier looked, {names} changed, by its hand or by somebody else's");
            return if found.forgiven_before {
                refused(format!(
                    "{what}, and not for the first time; so its word does not count."
                ))
            } else {
                forgiven(passed, &what)
            };
        }
        (None, Some(Verdict::Pass)) => passed.clone(),
    };
    let unseen = found.unseen.as_ref();
    let unseen = unseen.map(|why| format!("Not all that the verifier may have changed was seen: {why}"));
    for sentence in changed_meanwhile(found).into_iter().chain(unseen) {
        ruling.also(&sentence);
    }
    ruling
}

/// What becomes of work that passed while something changed that the verifier has not named. It is kept from changing
/// anything, so it may well have been a person, and that says nothing of the work; but nobody has looked at what is there
/// now. Where it goes on so, somebody has to be told: therefore it is forgiven once.
fn forgiven(passed: Ruling, what: &str) -> Ruling {
    Ruling {
        outcome: Outcome::Interrupted,
        task: Fate::Again,
        reason: format!("{what}; so its word does not count, and this once neither does the attempt."),
        ..passed
    }
}

/// What is not as it was when the verifier began, in a sentence.
fn changed_meanwhile(found: &Verification) -> Option<String> {
    let names = names(&found.changed);
    match found.changed.as_slice() {
        [] => None,
        _ if found.wrote => Some(format!("The verifier had changed {names}.")),
        _ => Some(format!("While the verifier looked, {names} changed.")),
    }
}

/// What becomes of work whose verifier cannot be started.
pub(crate) fn no_verifier(why: &str) -> Ruling {
    let reason = format!(
        "{} `[verify] verifier` names who looks at finished work; --no-verify goes without.",
        told("The verifier cannot be started", why)
    );
    interrupted(StopReason::Crash, Then::Stop(StopRun::AgentUnusable), &reason)
}

/// What becomes of work that a limit of the run keeps from being looked at.
pub(crate) fn over_the_limit(said: &str) -> Ruling {
    interrupted(StopReason::RunLimit, Then::Stop(StopRun::Limit), said)
}

/// What becomes of work that nobody could look at, for a reason that says nothing of it.
fn kept_from_looking(facts: &Facts<'_>, found: &Verification) -> Option<Ruling> {
    match (found.cause, &found.end) {
        (Some(StopCause::Interrupt | StopCause::RalphDied), _) => Some(gates_interrupted()),
        (Some(StopCause::RunLimit), _) => {
            let said = found.limit.as_deref();
            Some(over_the_limit(said.unwrap_or(
                "A limit of the run was reached while the verifier looked at the work.",
            )))
        }
        (None, end @ (TurnEnd::UsageLimit { .. } | TurnEnd::Transient(_) | TurnEnd::Auth(_) | TurnEnd::Billing(_))) => {
            let ruling = broken_off(end, facts);
            let reason = format!("The verifier, {}, could not look. {}", found.agent, ruling.reason);
            Some(Ruling { reason, ..ruling })
        }
        _ => None,
    }
}

/// Why it did not come to its end, in a sentence; none when it did.
fn no_end(facts: &Facts<'_>, found: &Verification) -> Option<String> {
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

/// Files by their names, as far as there is room.
fn names(files: &[String]) -> String {
    let named: Vec<&str> = files.iter().take(MOST_NAMES).map(String::as_str).collect();
    let named = named.join(", ");
    match files.len().saturating_sub(MOST_NAMES) {
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

    fn judged(kind: TaskKind, found: &Verification) -> Ruling {
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
    fn check(found: &Verification, expected: (Outcome, StopReason, Fate), reason: &str) {
        let ruling = judged(TaskKind::Once, found);
        let is = (ruling.outcome, ruling.stop, ruling.task);
        assert_eq!((is, ruling.reason.as_str()), (expected, reason));
    }

    const REFUSED: (Outcome, StopReason, Fate) = (Outcome::Retried, StopReason::TaskDone, Fate::Attempt);

    #[test]
    fn a_word_is_needed_and_decides() {
        let finished = |verdict| found(TurnEnd::Finished, verdict);
        let done = (Outcome::Done, StopReason::TaskDone, Fate::Done);
        let still_failing = "The gate `make lint` still fails, as before the run.";
        check(&finished(Some(Verdict::Pass)), done, still_failing);
        let fail = finished(Some(Verdict::Fail("The limit is missing.\nSee a.rs.".to_owned())));
        check(&fail, REFUSED, "The verifier refused: The limit is missing.\nSee a.rs.");
        let no_reason = finished(Some(Verdict::Fail(String::new())));
        check(&no_reason, REFUSED, "The verifier refused.");
        check(&finished(None), REFUSED, "The verifier came to no verdict.");
        // The rounds of a prompt are not counted.
        assert_eq!(judged(TaskKind::PromptLoop, &fail).task, Fate::Again);
    }

    #[test]
    fn whoever_changed_a_file_has_no_word() {
        let changed = Verification {
            changed: vec!["a.rs".to_owned(), "b.rs".to_owned()],
            wrote: true,
            ..found(TurnEnd::Finished, Some(Verdict::Pass))
        };
        let reason = "The verifier changed a.rs, b.rs, and was to change nothing; so its word does not count.";
        check(&changed, REFUSED, reason);
        let many = Verification {
            changed: (0..12).map(|file| file.to_string()).collect(),
            ..changed
        };
        assert!(judged(TaskKind::Once, &many).reason.contains("8, 9 and 2 more,"));
    }

    #[test]
    fn a_change_that_the_verifier_did_not_name_is_held_against_the_work_the_second_time() {
        let meddled = |verdict| Verification {
            changed: vec!["a.rs".to_owned()],
            ..found(TurnEnd::Finished, verdict)
        };
        let reason = "While the verifier looked, a.rs changed, by its hand or by somebody else's; so its word does not \
                      count, and this once neither does the attempt.";
        let again = (Outcome::Interrupted, StopReason::TaskDone, Fate::Again);
        check(&meddled(Some(Verdict::Pass)), again, reason);
        let once_more = |verdict| Verification {
            forgiven_before: true,
            ..meddled(verdict)
        };
        let reason = "While the verifier looked, a.rs changed, by its hand or by somebody else's, and not for the first \
                      time; so its word does not count.";
        check(&once_more(Some(Verdict::Pass)), REFUSED, reason);
        // A refusal stands, whoever changed something.
        let reason = "The verifier refused: no.\nWhile the verifier looked, a.rs changed.";
        let refusal = Some(Verdict::Fail("no".to_owned()));
        check(&meddled(refusal.clone()), REFUSED, reason);
        check(&once_more(refusal), REFUSED, reason);
    }

    #[test]
    fn where_not_everything_was_seen_the_row_says_so() {
        let half_seen = Verification {
            unseen: Some("git has no time".to_owned()),
            ..found(TurnEnd::Finished, Some(Verdict::Pass))
        };
        let reason = "The gate `make lint` still fails, as before the run.\n\
                      Not all that the verifier may have changed was seen: git has no time";
        check(&half_seen, (Outcome::Done, StopReason::TaskDone, Fate::Done), reason);
    }

    #[test]
    fn an_end_without_a_word_refuses() {
        let crash = found(TurnEnd::Crash("exit code 1".to_owned()), Some(Verdict::Pass));
        let reason = "The verifier came to no verdict. The agent broke down: exit code 1.";
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
            let ruling = judged(TaskKind::Once, &found(end.clone(), None));
            assert_eq!((ruling.outcome, ruling.stop, ruling.task), REFUSED, "{end:?}");
            assert!(
                ruling.reason.starts_with("The verifier came to no verdict. "),
                "{}",
                ruling.reason
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
            let ruling = judged(TaskKind::Once, &stopped);
            assert_eq!((ruling.outcome, ruling.stop, ruling.task), REFUSED);
            assert!(ruling.reason.contains(what), "{}", ruling.reason);
        }
    }

    #[test]
    fn what_kept_it_from_looking_is_not_held_against_the_work() {
        let limit = TurnEnd::UsageLimit {
            resets_at: None,
            message: "resets 3pm".to_owned(),
        };
        let reason = "The verifier, codex, could not look. The usage limit is reached: resets 3pm.";
        let again = |stop| (Outcome::Interrupted, stop, Fate::Again);
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
            let ruling = judged(TaskKind::Once, &found(end, None));
            assert_eq!((ruling.outcome, ruling.stop, ruling.task), again(stop));
            assert_eq!(ruling.then, then);
        }
        let stopped = Verification {
            cause: Some(StopCause::Interrupt),
            changed: vec!["a.rs".to_owned()],
            wrote: true,
            ..found(TurnEnd::Finished, Some(Verdict::Pass))
        };
        let reason = "It was stopped.\nThe verifier had changed a.rs.";
        check(&stopped, again(StopReason::Cancelled), reason);
    }
}
