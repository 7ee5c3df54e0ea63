//! The breaker: what counts as no progress, what begins anew, and that it can be switched off.

use super::*;
use crate::gates::{Changed, GateResult};

/// A round of a prompt: what the gate says, and whether anything changed.
#[derive(Clone, Copy)]
enum Round {
    Red(&'static str),
    RedAndChanged(&'static str),
    Green,
    GreenAndChanged,
    Complete,
    Overloaded,
    Refused(&'static str),
}

use Round::{Complete, Green, GreenAndChanged, Overloaded, Red, RedAndChanged, Refused};

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

fn draft_of(round: Round) -> Draft {
    let (outcome, task) = match round {
        Red(_) | RedAndChanged(_) => (ralph_model::Outcome::Retried, Fate::Again),
        Green | GreenAndChanged => (ralph_model::Outcome::Done, Fate::Progress),
        Complete => (ralph_model::Outcome::Done, Fate::Done),
        Overloaded => (ralph_model::Outcome::Interrupted, Fate::Again),
        Refused(_) => (ralph_model::Outcome::Failed, Fate::Again),
    };
    let then = match round {
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
    Draft {
        current: Box::new(Current::of(&RunId::new(1), 1, &claim, chosen)),
        turn: Box::new(turn_done(1)),
        ruling: crate::settle::Ruling {
            outcome,
            stop: ralph_model::StopReason::NoSigil,
            task,
            then,
            reason: match round {
                Refused(why) => why.to_owned(),
                Green | GreenAndChanged | Complete => String::new(),
                _ => "The gate `make test` failed (exit code 1):\nerror: 3 of 17".to_owned(),
            },
        },
        files: Vec::new(),
        unseen: None,
        changed_before: false,
        basis_changed: Vec::new(),
        unverified: None,
        changed: match round {
            RedAndChanged(_) | GreenAndChanged => Changed::Something,
            _ => Changed::Nothing,
        },
        gates: match round {
            Red(failure) | RedAndChanged(failure) => vec![gate(Some(failure))],
            Green | GreenAndChanged | Complete => vec![gate(None)],
            Overloaded | Refused(_) => Vec::new(),
        },
        baseline: None,
        commit: None,
        landed_on: None,
        moves: 0,
        verification: None,
        unlooked: None,
        lost_looks: LostLooks::default(),
        pause: PauseChange::Keep,
        verifier_pause: PauseChange::Keep,
    }
}

/// After how many of these rounds the run ends; none when it goes on after them.
fn ends_after(no_progress: Option<u32>, rounds: &[Round]) -> Option<usize> {
    let mut plan = plan();
    plan.limits.no_progress = no_progress;
    let (mut state, _) = State::begin(plan);
    let after = rounds.iter().position(|round| {
        state.phase = Phase::Settling(Box::new(draft_of(*round)));
        let effects = state.step(event(Duration::ZERO, Happening::Settled));
        assert_eq!(effects, [Effect::FinishOutbox]);
        matches!(&state.phase, Phase::Closing(End::NoProgress(_)))
    });
    after.map(|before| before + 1)
}

#[test]
fn the_same_failure_without_a_change_ends_the_run_when_it_has_come_often_enough() {
    let red = Red("test a ... FAILED after 0.3 s");
    assert_eq!(ends_after(Some(5), &[red; 9]), Some(5));
    assert_eq!(ends_after(Some(1), &[red; 9]), Some(1));
    assert_eq!(ends_after(Some(5), &[red; 4]), None);
    assert_eq!(ends_after(None, &[red; 50]), None);
    // Numbers make no difference.
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
fn what_is_done_or_changed_or_fails_otherwise_begins_anew_and_what_was_interrupted_is_passed_over() {
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
fn rounds_that_end_well_and_change_nothing_are_no_progress_either_when_they_are_more_than_a_few() {
    assert_eq!(ends_after(Some(5), &[Green; 9]), Some(5));
    assert_eq!(ends_after(None, &[Green; 50]), None);
    // One that only looks or waits is none yet, however strict the limit is.
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
fn the_end_says_that_rounds_changed_nothing() {
    let mut plan = plan();
    plan.limits.no_progress = Some(3);
    let (mut state, _) = State::begin(plan);
    for _ in 0..3 {
        state.phase = Phase::Settling(Box::new(draft_of(Green)));
        drop(state.step(event(Duration::ZERO, Happening::Settled)));
    }
    let Phase::Closing(end) = &state.phase else {
        panic!("{state:?}")
    };
    assert_eq!(
        (end.code(), end.sentence().as_str()),
        (
            4,
            "There is no progress: 3 iterations in a row ended well, but changed nothing on disk, and the agent did not say \
             that everything is complete."
        )
    );
}

#[test]
fn the_end_says_what_came_back_and_how_often() {
    let mut plan = plan();
    plan.limits.no_progress = Some(1);
    let (mut state, _) = State::begin(plan);
    state.phase = Phase::Settling(Box::new(draft_of(Refused("The model refused: no."))));
    drop(state.step(event(Duration::ZERO, Happening::Settled)));
    let Phase::Closing(end) = &state.phase else {
        panic!("{state:?}")
    };
    assert_eq!(end.code(), 4);
    assert_eq!(
        end.sentence(),
        "There is no progress: 1 iteration changed nothing on disk and ended in the same way. The last one: The model refused: no."
    );
}

/// Settles an attempt at a task, and says what becomes of the task.
fn attempt(state: &mut State, task: u64, round: Round) -> Fate {
    let mut draft = Box::new(draft_of(round));
    draft.current.task = TaskId::new(task);
    draft.current.kind = TaskKind::Once;
    draft.ruling.task = Fate::Attempt;
    let effects = state.settle(draft.clone(), clock(Duration::ZERO));
    let [Effect::Settle(settled)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let effects = state.step(event(Duration::ZERO, Happening::Settled));
    assert_eq!(effects, [Effect::FinishOutbox]);
    assert_eq!(state.phase, Phase::Tidying, "the run goes on");
    settled.ruling.task
}

#[test]
fn a_task_that_is_stuck_is_given_up_and_the_run_goes_on() {
    let mut plan = plan();
    plan.limits.no_progress = Some(3);
    let (mut state, _) = State::begin(plan);
    let red = Red("test a ... FAILED");
    assert_eq!(attempt(&mut state, 1, red), Fate::Attempt);
    assert_eq!(attempt(&mut state, 1, red), Fate::Attempt);
    // Another task's failures are its own.
    assert_eq!(attempt(&mut state, 2, red), Fate::Attempt);
    assert_eq!(
        attempt(&mut state, 2, RedAndChanged("test a ... FAILED")),
        Fate::Attempt
    );
    assert_eq!(attempt(&mut state, 1, red), Fate::GiveUp);
    assert_eq!(attempt(&mut state, 2, red), Fate::Attempt);
}

#[test]
fn consecutive_failures_are_counted_for_each_task() {
    let mut plan = plan();
    plan.limits.consecutive_failures = Some(2);
    let (mut state, _) = State::begin(plan);
    let red = |name| RedAndChanged(name);
    assert_eq!(attempt(&mut state, 1, red("a")), Fate::Attempt);
    assert_eq!(attempt(&mut state, 2, red("b")), Fate::Attempt);
    assert_eq!(attempt(&mut state, 1, red("c")), Fate::GiveUp);
    assert_eq!(attempt(&mut state, 3, red("d")), Fate::Attempt);
}
