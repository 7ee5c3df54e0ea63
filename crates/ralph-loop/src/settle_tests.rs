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

fn said(control: Control) -> TurnSummary {
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

/// Outcome, what made it end, the task, the run; of a turn that the gates are not asked about.
#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a table reads better without marks of borrowing"
)]
fn check(turn: &TurnSummary, expected: (Outcome, StopReason, Fate, Then)) {
    check_of(turn, false, &expected);
}

#[track_caller]
fn check_of(turn: &TurnSummary, overflowed_before: bool, expected: &(Outcome, StopReason, Fate, Then)) {
    match judged(turn, TaskKind::Once, overflowed_before) {
        Judgement::Settled(ruling) => {
            assert!(!ruling.reason.is_empty());
            assert_eq!(&(ruling.outcome, ruling.stop, ruling.task, ruling.then), expected);
        }
        Judgement::AskGates(claimed) => panic!("the gates are asked: {claimed:?}"),
    }
}

#[track_caller]
fn gates(turn: &TurnSummary, kind: TaskKind, refusal: Option<&str>) -> (Outcome, StopReason, Fate, Then) {
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
    let ruling = judge_gates(&facts, claimed, &verdict);
    assert_eq!(ruling.reason, refusal.unwrap_or_default());
    (ruling.outcome, ruling.stop, ruling.task, ruling.then)
}

use Fate::{Again, Attempt, Progress};
use Outcome::{Blocked, Failed, Interrupted, Retried};

#[test]
fn done_and_the_gates_pass() {
    let expected = (Outcome::Done, StopReason::TaskDone, Fate::Done, Then::GoOn);
    assert_eq!(gates(&said(done(&[OURS])), TaskKind::Once, None), expected);
}

#[test]
fn done_and_a_gate_refuses() {
    let expected = (Retried, StopReason::TaskDone, Attempt, Then::GoOn);
    assert_eq!(gates(&said(done(&[OURS])), TaskKind::Once, Some("red")), expected);
}

#[test]
fn done_wins_over_failed_and_over_what_was_denied() {
    let mut both = done(&["t-000002", OURS]);
    both.failed = vec![(OURS.to_owned(), String::new())];
    let mut turn = said(both);
    turn.denials = vec![denial()];
    let expected = (Outcome::Done, StopReason::TaskDone, Fate::Done, Then::GoOn);
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
fn failed_in_every_way() {
    let failed = |stop| (Failed, stop, Attempt, Then::GoOn);
    check(&said(failed_sigil(OURS, "no network")), failed(StopReason::TaskFailed));
    check(&turn(TurnEnd::Refusal("no".into())), failed(StopReason::Refusal));
    check(&turn(TurnEnd::Crash("exit code 3".into())), failed(StopReason::Crash));
    check(&turn(TurnEnd::Garbage("{".into())), failed(StopReason::Garbage));
    check(&turn(TurnEnd::OutputLimit), failed(StopReason::OutputLimit));
    check(&turn(TurnEnd::Stopped), failed(StopReason::Crash));
    for (cause, stop) in [
        (StopCause::Timeout, StopReason::Timeout),
        (StopCause::Idle, StopReason::Idle),
    ] {
        let mut late = said(done(&[OURS]));
        late.cause = Some(cause);
        check(&late, failed(stop));
    }
    let overflow = turn(TurnEnd::ContextOverflow(String::new()));
    check_of(&overflow, true, &failed(StopReason::ContextOverflow));
}

#[test]
fn blocked_in_every_way() {
    let blocked = |stop| (Blocked, stop, Attempt, Then::GoOn);
    check(&said(Control::default()), blocked(StopReason::NoSigil));
    check(&said(promise(Promise::Complete)), blocked(StopReason::NoSigil));
    check(&said(done(&["t-0000a2"])), blocked(StopReason::WrongTask));
    check(&said(failed_sigil("t-0000a2", "")), blocked(StopReason::WrongTask));
    check(&turn(TurnEnd::TokenLimit), blocked(StopReason::TokenLimit));
    check(&turn(TurnEnd::TurnLimit), blocked(StopReason::TurnLimit));
    let mut denied = said(Control::default());
    denied.denials = vec![denial()];
    check(&denied, blocked(StopReason::PermissionDenied));
    let mut silent = said(Control::default());
    silent.spoke = false;
    check(&silent, blocked(StopReason::EmptyAnswer));
    let stop = Then::Stop(StopRun::FailurePromise);
    check(
        &said(promise(Promise::Failure)),
        (Blocked, StopReason::FailurePromise, Attempt, stop),
    );
}

#[test]
fn a_failure_promise_stops_the_run_whatever_became_of_the_task() {
    let mut control = done(&[OURS]);
    control.promise = Some(Promise::Failure);
    let stop = Then::Stop(StopRun::FailurePromise);
    assert_eq!(
        gates(&said(control), TaskKind::Once, None),
        (Outcome::Done, StopReason::TaskDone, Fate::Done, stop.clone())
    );
    let mut control = failed_sigil(OURS, "");
    control.promise = Some(Promise::Failure);
    check(&said(control), (Failed, StopReason::TaskFailed, Attempt, stop));
}

#[test]
fn interrupted_in_every_way_and_nothing_counts() {
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
        let mut stopped = said(done(&[OURS]));
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
fn sigils_do_not_count_when_the_turn_did_not_come_to_its_end() {
    for end in [
        TurnEnd::Crash(String::new()),
        TurnEnd::TokenLimit,
        TurnEnd::Transient(String::new()),
    ] {
        let cut = TurnSummary {
            end,
            ..said(done(&[OURS]))
        };
        assert!(matches!(judged(&cut, TaskKind::Once, false), Judgement::Settled(_)));
    }
}

#[test]
fn a_prompt_loop_goes_on_until_it_is_complete() {
    let of_loop = TaskKind::PromptLoop;
    let part = said(Control::default());
    assert_eq!(
        gates(&part, of_loop, None),
        (Outcome::Done, StopReason::NoSigil, Progress, Then::GoOn)
    );
    assert_eq!(
        gates(&part, of_loop, Some("red")),
        (Retried, StopReason::NoSigil, Again, Then::GoOn)
    );
    let complete = said(promise(Promise::Complete));
    assert_eq!(
        gates(&complete, of_loop, None),
        (Outcome::Done, StopReason::TaskDone, Fate::Done, Then::GoOn)
    );
    assert_eq!(
        gates(&complete, of_loop, Some("red")),
        (Retried, StopReason::TaskDone, Again, Then::GoOn)
    );
}

#[test]
fn a_limit_is_told_with_its_key_and_its_value() {
    let reason = |cause, end| {
        let turn = TurnSummary {
            cause,
            end,
            ..TurnSummary::lost()
        };
        match judged(&turn, TaskKind::Once, false) {
            Judgement::Settled(ruling) => ruling.reason,
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
    assert_eq!(reason(Some(StopCause::Interrupt), TurnEnd::Stopped), "It was stopped.");
}

#[test]
fn what_fails_while_the_disk_is_full_does_not_count_and_what_is_done_is_done() {
    for end in [TurnEnd::Crash("exit code 101".to_owned()), TurnEnd::Finished] {
        let turn = TurnSummary {
            no_room: true,
            ..turn(end)
        };
        let Judgement::Settled(ruling) = judged(&turn, TaskKind::Once, false) else {
            panic!("{turn:?}")
        };
        assert_eq!(
            (ruling.outcome, ruling.task, ruling.then),
            (Outcome::Interrupted, Fate::Again, Then::GoOn)
        );
        assert!(
            ruling
                .reason
                .ends_with("\nThe disk was full, so the attempt does not count."),
            "{}",
            ruling.reason
        );
    }
    let turn = TurnSummary {
        no_room: true,
        ..said(done(&[OURS]))
    };
    assert_eq!(judged(&turn, TaskKind::Once, false), Judgement::AskGates(Claimed::Done));
}
