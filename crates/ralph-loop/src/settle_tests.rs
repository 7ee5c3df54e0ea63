//! Every row of the settlement table.

use ralph_agent::Denial;
use ralph_model::{Control, Usage};

use super::*;

fn turn(end: TurnEnd) -> TurnSummary {
    TurnSummary {
        end,
        cause: None,
        spoke: true,
        usage: Usage::default(),
        ..TurnSummary::lost()
    }
}

fn finished_with(control: Control) -> TurnSummary {
    TurnSummary {
        control,
        ..turn(TurnEnd::Finished)
    }
}

fn done(ids: &[&str]) -> Control {
    Control {
        done: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..Control::default()
    }
}

fn failed_sigil(id: &str, reason: &str) -> Control {
    Control {
        failed: vec![(id.to_owned(), reason.to_owned())],
        ..Control::default()
    }
}

fn promise(promise: Promise) -> Control {
    Control {
        promise: Some(promise),
        ..Control::default()
    }
}

const OURS: &str = "t-0000a1";

fn judged(turn: &TurnSummary, kind: TaskKind, overflowed_before: bool) -> Judgement {
    let assigned = TaskId::parse(OURS).unwrap();
    judge(&Facts {
        assigned: &assigned,
        kind,
        turn,
        overflowed_before,
        complete_is_done: false,
        limits: Limits::default(),
    })
}

/// Outcome, stop reason, task and run for a turn whose gates do not run.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "tables read better without borrows")]
fn check(turn: &TurnSummary, expected: (Outcome, StopReason, TaskTransition, Then)) {
    check_of(turn, false, &expected);
}

#[track_caller]
fn check_of(turn: &TurnSummary, overflowed_before: bool, expected: &(Outcome, StopReason, TaskTransition, Then)) {
    match judged(turn, TaskKind::Once, overflowed_before) {
        Judgement::Settled(decision) => {
            assert!(!decision.reason.is_empty());
            assert_eq!(
                &(decision.outcome, decision.stop, decision.task, decision.then),
                expected
            );
        }
        Judgement::AskGates(claimed) => panic!("the gates are asked: {claimed:?}"),
    }
}

#[track_caller]
fn gates(turn: &TurnSummary, kind: TaskKind, refusal: Option<&str>) -> (Outcome, StopReason, TaskTransition, Then) {
    let Judgement::AskGates(claimed) = judged(turn, kind, false) else {
        panic!("the gates are not asked")
    };
    let assigned = TaskId::parse(OURS).unwrap();
    let facts = Facts {
        assigned: &assigned,
        kind,
        turn,
        overflowed_before: false,
        complete_is_done: false,
        limits: Limits::default(),
    };
    let verdict = match refusal {
        Some(why) => Verdict::Refused(why.to_owned()),
        None => Verdict::Passes {
            still_failing: Vec::new(),
        },
    };
    let decision = judge_gates(&facts, claimed, &verdict);
    assert_eq!(decision.reason, refusal.unwrap_or_default());
    (decision.outcome, decision.stop, decision.task, decision.then)
}

use Outcome::{Blocked, Failed, Interrupted, Retried};
use TaskTransition::{Again, Attempt, Progress};

#[test]
fn done_with_passing_gates() {
    let expected = (Outcome::Done, StopReason::TaskDone, TaskTransition::Done, Then::GoOn);
    assert_eq!(gates(&finished_with(done(&[OURS])), TaskKind::Once, None), expected);
}

#[test]
fn done_with_a_refusing_gate() {
    let expected = (Retried, StopReason::TaskDone, Attempt, Then::GoOn);
    assert_eq!(
        gates(&finished_with(done(&[OURS])), TaskKind::Once, Some("red")),
        expected
    );
}

#[test]
fn done_wins_over_failed_and_denials() {
    let mut both = done(&["t-000002", OURS]);
    both.failed = vec![(OURS.to_owned(), String::new())];
    let mut turn = finished_with(both);
    turn.denials = vec![denial()];
    let expected = (Outcome::Done, StopReason::TaskDone, TaskTransition::Done, Then::GoOn);
    assert_eq!(gates(&turn, TaskKind::Once, None), expected);
}

fn denial() -> Denial {
    Denial {
        tool: "Bash".to_owned(),
        about: "cargo test".to_owned(),
        permit: Some("allow it".to_owned()),
    }
}

#[test]
fn all_ways_to_fail() {
    let failed = |stop| (Failed, stop, Attempt, Then::GoOn);
    check(
        &finished_with(failed_sigil(OURS, "no network")),
        failed(StopReason::TaskFailed),
    );
    check(&turn(TurnEnd::Refusal("no".into())), failed(StopReason::Refusal));
    check(&turn(TurnEnd::Crash("exit code 3".into())), failed(StopReason::Crash));
    check(&turn(TurnEnd::Garbage("{".into())), failed(StopReason::Garbage));
    check(&turn(TurnEnd::OutputLimit), failed(StopReason::OutputLimit));
    check(&turn(TurnEnd::Stopped), failed(StopReason::Crash));
    for (cause, stop) in [
        (StopCause::Timeout, StopReason::Timeout),
        (StopCause::Idle, StopReason::Idle),
    ] {
        let mut late = finished_with(done(&[OURS]));
        late.cause = Some(cause);
        check(&late, failed(stop));
    }
    let overflow = turn(TurnEnd::ContextOverflow(String::new()));
    check_of(&overflow, true, &failed(StopReason::ContextOverflow));
}

#[test]
fn all_ways_to_be_blocked() {
    let blocked = |stop| (Blocked, stop, Attempt, Then::GoOn);
    check(&finished_with(Control::default()), blocked(StopReason::NoSigil));
    check(&finished_with(promise(Promise::Complete)), blocked(StopReason::NoSigil));
    check(&finished_with(done(&["t-0000a2"])), blocked(StopReason::WrongTask));
    check(
        &finished_with(failed_sigil("t-0000a2", "")),
        blocked(StopReason::WrongTask),
    );
    check(&turn(TurnEnd::TokenLimit), blocked(StopReason::TokenLimit));
    check(&turn(TurnEnd::TurnLimit), blocked(StopReason::TurnLimit));
    let mut denied = finished_with(Control::default());
    denied.denials = vec![denial()];
    check(&denied, blocked(StopReason::PermissionDenied));
    let mut silent = finished_with(Control::default());
    silent.spoke = false;
    check(&silent, blocked(StopReason::EmptyAnswer));
    let stop = Then::Stop(StopRun::FailurePromise);
    check(
        &finished_with(promise(Promise::Failure)),
        (Blocked, StopReason::FailurePromise, Attempt, stop),
    );
}

#[test]
fn failure_promise_always_stops_the_run() {
    let mut control = done(&[OURS]);
    control.promise = Some(Promise::Failure);
    let stop = Then::Stop(StopRun::FailurePromise);
    assert_eq!(
        gates(&finished_with(control), TaskKind::Once, None),
        (Outcome::Done, StopReason::TaskDone, TaskTransition::Done, stop.clone())
    );
    let mut control = failed_sigil(OURS, "");
    control.promise = Some(Promise::Failure);
    check(&finished_with(control), (Failed, StopReason::TaskFailed, Attempt, stop));
}

#[test]
fn interruptions_do_not_count() {
    let interrupted = |stop, then| (Interrupted, stop, Again, then);
    for (cause, stop, then) in [
        (
            StopCause::Interrupt,
            StopReason::Cancelled,
            Then::Stop(StopRun::Interrupt),
        ),
        (StopCause::RalphDied, StopReason::RalphDied, Then::GoOn),
        (StopCause::RunLimit, StopReason::RunLimit, Then::Stop(StopRun::Limit)),
    ] {
        let mut stopped = finished_with(done(&[OURS]));
        stopped.cause = Some(cause);
        check(&stopped, interrupted(stop, then));
    }
    let resets_at = Some(Timestamp::UNIX_EPOCH);
    let usage = TurnEnd::UsageLimit {
        resets_at,
        message: String::new(),
    };
    check(
        &turn(usage),
        interrupted(StopReason::UsageLimit, Then::WaitForUsage { resets_at }),
    );
    check(
        &turn(TurnEnd::Transient("503".into())),
        interrupted(StopReason::Transient, Then::BackOff),
    );
    let overflow = turn(TurnEnd::ContextOverflow(String::new()));
    check(&overflow, interrupted(StopReason::ContextOverflow, Then::GoOn));
    let stop = || Then::Stop(StopRun::AgentUnusable);
    check(
        &turn(TurnEnd::Auth("401".into())),
        interrupted(StopReason::Auth, stop()),
    );
    check(
        &turn(TurnEnd::Billing("402".into())),
        interrupted(StopReason::Billing, stop()),
    );
}

#[test]
fn sigils_of_unfinished_turns_do_not_count() {
    for end in [
        TurnEnd::Crash(String::new()),
        TurnEnd::TokenLimit,
        TurnEnd::Transient(String::new()),
    ] {
        let cut = TurnSummary {
            end,
            ..finished_with(done(&[OURS]))
        };
        assert!(matches!(judged(&cut, TaskKind::Once, false), Judgement::Settled(_)));
    }
}

#[test]
fn prompt_loop_continues_until_complete() {
    let of_loop = TaskKind::PromptLoop;
    let part = finished_with(Control::default());
    assert_eq!(
        gates(&part, of_loop, None),
        (Outcome::Done, StopReason::NoSigil, Progress, Then::GoOn)
    );
    assert_eq!(
        gates(&part, of_loop, Some("red")),
        (Retried, StopReason::NoSigil, Again, Then::GoOn)
    );
    let complete = finished_with(promise(Promise::Complete));
    assert_eq!(
        gates(&complete, of_loop, None),
        (Outcome::Done, StopReason::TaskDone, TaskTransition::Done, Then::GoOn)
    );
    assert_eq!(
        gates(&complete, of_loop, Some("red")),
        (Retried, StopReason::TaskDone, Again, Then::GoOn)
    );
}

#[test]
fn limits_are_shown_with_key_and_value() {
    let reason = |cause, end| {
        let turn = TurnSummary {
            cause,
            end,
            ..TurnSummary::lost()
        };
        match judged(&turn, TaskKind::Once, false) {
            Judgement::Settled(decision) => decision.reason,
            Judgement::AskGates(_) => panic!("the gates are not asked"),
        }
    };
    assert_eq!(
        reason(Some(StopCause::Timeout), TurnEnd::Stopped),
        "The iteration took longer than `[limits] iteration_time = 2h` allows."
    );
    assert_eq!(
        reason(Some(StopCause::Idle), TurnEnd::Stopped),
        "The agent was silent for longer than `[limits] idle_time = 15m` allows."
    );
    assert_eq!(
        reason(None, TurnEnd::OutputLimit),
        "The agent printed more than `[limits] output_bytes = 256 MiB` allows."
    );
    assert_eq!(
        reason(Some(StopCause::Interrupt), TurnEnd::Stopped),
        "Stopped on request."
    );
}

#[test]
fn failures_on_a_full_disk_do_not_count() {
    for end in [TurnEnd::Crash("exit code 101".to_owned()), TurnEnd::Finished] {
        let turn = TurnSummary {
            no_room: true,
            ..turn(end)
        };
        let Judgement::Settled(decision) = judged(&turn, TaskKind::Once, false) else {
            panic!("{turn:?}")
        };
        assert_eq!(
            (decision.outcome, decision.task, decision.then),
            (Outcome::Interrupted, TaskTransition::Again, Then::GoOn)
        );
        assert!(
            decision
                .reason
                .ends_with("\nThe disk was full, so the attempt does not count."),
            "{}",
            decision.reason
        );
    }
    let turn = TurnSummary {
        no_room: true,
        ..finished_with(done(&[OURS]))
    };
    assert_eq!(judged(&turn, TaskKind::Once, false), Judgement::AskGates(Claimed::Done));
}
