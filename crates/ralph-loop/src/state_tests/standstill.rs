//! The circuit breaker: what counts as no progress, what resets it, and switching it off.

use super::*;
use crate::gates::{Changed, GateResult};

/// An iteration of a prompt loop: the gate's result, and whether anything changed.
#[derive(Clone, Copy)]
enum Iteration {
    Red(&'static str),
    RedAndChanged(&'static str),
    Green,
    GreenAndChanged,
    Complete,
    Overloaded,
    Refused(&'static str),
}

use Iteration::{Complete, Green, GreenAndChanged, Overloaded, Red, RedAndChanged, Refused};

fn gate(failure: Option<&str>) -> GateResult {
    GateResult {
        command: "make test".to_owned(),
        end: failure.map_or(GateEnd::Passed, |_| GateEnd::Failed("exit code 1".to_owned())),
        output: failure.unwrap_or_default().to_owned(),
        duration_ms: 1,
        failures: failure.map(crate::gates::failure_lines).unwrap_or_default(),
        why: failure.unwrap_or_default().to_owned(),
    }
}

fn draft_of(iteration: Iteration) -> PendingSettlement {
    let (outcome, task) = match iteration {
        Red(_) | RedAndChanged(_) => (ralph_model::Outcome::Retried, TaskTransition::Again),
        Green | GreenAndChanged => (ralph_model::Outcome::Done, TaskTransition::Progress),
        Complete => (ralph_model::Outcome::Done, TaskTransition::Done),
        Overloaded => (ralph_model::Outcome::Interrupted, TaskTransition::Again),
        Refused(_) => (ralph_model::Outcome::Failed, TaskTransition::Again),
    };
    let then = match iteration {
        Overloaded => crate::settle::Then::BackOff,
        _ => crate::settle::Then::GoOn,
    };
    let ClaimAnswer::Claimed(mut claim) = claim(1) else {
        unreachable!()
    };
    claim.task.kind = TaskKind::PromptLoop;
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    PendingSettlement {
        current: Box::new(Current::of(&RunId::new(1), 1, &claim, chosen)),
        turn: Box::new(turn_done(1)),
        decision: crate::settle::SettlementDecision {
            outcome,
            stop: ralph_model::StopReason::NoSigil,
            task,
            then,
            reason: match iteration {
                Refused(why) => why.to_owned(),
                Green | GreenAndChanged | Complete => String::new(),
                _ => "The gate `make test` failed (exit code 1):\nerror: 3 of 17".to_owned(),
            },
            quoted: String::new(),
        },
        files: Vec::new(),
        unseen: None,
        changed_before: false,
        basis_changed: Vec::new(),
        unverified: None,
        changed: match iteration {
            RedAndChanged(_) | GreenAndChanged => Changed::Something,
            _ => Changed::Nothing,
        },
        gates: match iteration {
            Red(failure) | RedAndChanged(failure) => vec![gate(Some(failure))],
            Green | GreenAndChanged | Complete => vec![gate(None)],
            Overloaded | Refused(_) => Vec::new(),
        },
        baseline: None,
        commit: None,
        landed_on: None,
        moves: 0,
        verification: None,
        decision_before_verifier: None,
        discarded: DiscardedVerifications::default(),
        pause: PauseChange::Keep,
        verifier_pause: PauseChange::Keep,
    }
}

/// After how many of these iterations the run ends, if it does.
fn ends_after(no_progress: Option<u32>, iterations: &[Iteration]) -> Option<usize> {
    let mut plan = plan();
    plan.limits.no_progress = no_progress;
    let (mut state, _) = State::begin(plan);
    let after = iterations.iter().position(|iteration| {
        state.phase = Phase::Settling(Box::new(draft_of(*iteration)));
        let effects = state.step(event(Duration::ZERO, Input::Settled));
        assert_eq!(effects, [Effect::FinishOutbox]);
        matches!(&state.phase, Phase::Closing(End::NoProgress(_)))
    });
    after.map(|before| before + 1)
}

#[test]
fn repeated_failure_without_change_ends_the_run() {
    let red = Red("test a ... FAILED after 0.3 s");
    assert_eq!(ends_after(Some(5), &[red; 9]), Some(5));
    assert_eq!(ends_after(Some(1), &[red; 9]), Some(1));
    assert_eq!(ends_after(Some(5), &[red; 4]), None);
    assert_eq!(ends_after(None, &[red; 50]), None);
    // Numbers do not matter.
    let again = [red, Red("test a ... FAILED after 17 s")];
    assert_eq!(ends_after(Some(4), &[again, again].concat()), Some(4));
    assert_eq!(
        ends_after(
            Some(3),
            &[Refused("exit code 1"), Refused("exit code 2"), Refused("exit code 3")]
        ),
        Some(3)
    );
}

#[test]
fn progress_resets_the_count_and_interruptions_are_ignored() {
    let red = Red("test a ... FAILED");
    for between in [Green, GreenAndChanged, Complete] {
        assert_eq!(ends_after(Some(3), &[red, red, between, red, red, red]), Some(6));
    }
    assert_eq!(
        ends_after(Some(3), &[red, red, RedAndChanged("test a ... FAILED"), red, red, red]),
        Some(6)
    );
    assert_eq!(
        ends_after(Some(3), &[red, red, Red("test b ... FAILED"), red, red, red]),
        Some(6)
    );
    assert_eq!(ends_after(Some(3), &[red, red, Refused("no"), red, red, red]), Some(6));
    assert_eq!(ends_after(Some(3), &[red, Overloaded, red, Overloaded, red]), Some(5));
}

#[test]
fn repeated_success_without_change_ends_the_run() {
    assert_eq!(ends_after(Some(5), &[Green; 9]), Some(5));
    assert_eq!(ends_after(None, &[Green; 50]), None);
    // Reading or waiting once is no standstill, however strict the limit is.
    assert_eq!(ends_after(Some(1), &[Green; 9]), Some(3));
    assert_eq!(
        ends_after(Some(3), &[Green, Overloaded, Green, Overloaded, Green]),
        Some(5)
    );
    for between in [GreenAndChanged, Complete, Red("test a ... FAILED")] {
        assert_eq!(
            ends_after(Some(3), &[Green, Green, between, Green, Green, Green]),
            Some(6)
        );
    }
    assert_eq!(ends_after(Some(3), &[Complete; 9]), None);
}

#[test]
fn end_reports_iterations_without_change() {
    let mut plan = plan();
    plan.limits.no_progress = Some(3);
    let (mut state, _) = State::begin(plan);
    for _ in 0..3 {
        state.phase = Phase::Settling(Box::new(draft_of(Green)));
        drop(state.step(event(Duration::ZERO, Input::Settled)));
    }
    let Phase::Closing(end) = &state.phase else {
        panic!("{state:?}")
    };
    assert_eq!(
        (end.code(), end.sentence().as_str()),
        (
            4,
            "No progress: 3 iterations in a row ended well but changed nothing on disk, and the agent did not report \
             that everything is complete."
        )
    );
}

#[test]
fn end_reports_the_repeated_failure() {
    let mut plan = plan();
    plan.limits.no_progress = Some(1);
    let (mut state, _) = State::begin(plan);
    state.phase = Phase::Settling(Box::new(draft_of(Refused("The model refused: no."))));
    drop(state.step(event(Duration::ZERO, Input::Settled)));
    let Phase::Closing(end) = &state.phase else {
        panic!("{state:?}")
    };
    assert_eq!(end.code(), 4);
    assert_eq!(
        end.sentence(),
        "No progress: 1 iteration changed nothing on disk and ended the same way. Last reason: The model refused: no."
    );
}

/// Settles an attempt and returns what happens to the task.
fn attempt(state: &mut State, task: u64, iteration: Iteration) -> TaskTransition {
    let mut draft = Box::new(draft_of(iteration));
    draft.current.task = TaskId::new(task);
    draft.current.kind = TaskKind::Once;
    draft.decision.task = TaskTransition::Attempt;
    let effects = state.settle(draft.clone(), clock(Duration::ZERO));
    let [Effect::Settle(settled)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let effects = state.step(event(Duration::ZERO, Input::Settled));
    assert_eq!(effects, [Effect::FinishOutbox]);
    assert_eq!(state.phase, Phase::Tidying, "the run goes on");
    settled.decision.task
}

#[test]
fn stuck_task_is_given_up() {
    let mut plan = plan();
    plan.limits.no_progress = Some(3);
    let (mut state, _) = State::begin(plan);
    let red = Red("test a ... FAILED");
    assert_eq!(attempt(&mut state, 1, red), TaskTransition::Attempt);
    assert_eq!(attempt(&mut state, 1, red), TaskTransition::Attempt);
    // Failures of other tasks do not count.
    assert_eq!(attempt(&mut state, 2, red), TaskTransition::Attempt);
    assert_eq!(
        attempt(&mut state, 2, RedAndChanged("test a ... FAILED")),
        TaskTransition::Attempt
    );
    assert_eq!(attempt(&mut state, 1, red), TaskTransition::GiveUp);
    assert_eq!(attempt(&mut state, 2, red), TaskTransition::Attempt);
}

#[test]
fn consecutive_failures_are_counted_for_each_task() {
    let mut plan = plan();
    plan.limits.consecutive_failures = Some(2);
    let (mut state, _) = State::begin(plan);
    let red = |name| RedAndChanged(name);
    assert_eq!(attempt(&mut state, 1, red("a")), TaskTransition::Attempt);
    assert_eq!(attempt(&mut state, 2, red("b")), TaskTransition::Attempt);
    assert_eq!(attempt(&mut state, 1, red("c")), TaskTransition::GiveUp);
    assert_eq!(attempt(&mut state, 3, red("d")), TaskTransition::Attempt);
}
