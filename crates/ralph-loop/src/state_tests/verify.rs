//! The verifier: when it runs, how it is stopped, and what follows from its verdict.

use super::*;
use crate::settle::{StopRun, Then};
use ralph_model::{Outcome, StopReason};

fn verified_by(verifier: VerifierKind) -> Plan {
    Plan {
        verifier,
        commit: Commit::Task,
        ..plan()
    }
}

/// A run whose first turn is over and is being verified.
fn verifying(world: &mut World, plan: Plan) -> State {
    let state = world.begin(plan);
    let state = world.happens(state, Input::TurnEnded(Box::new(turn_done(1))), 10);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    state
}

fn usage_limit() -> TurnEnd {
    TurnEnd::UsageLimit {
        resets_at: Some(clock(Duration::from_secs(500))),
        message: String::new(),
    }
}

#[test]
fn approved_work_is_committed_and_done() {
    let mut world = World::with_tasks(1);
    let state = verifying(&mut world, verified_by(VerifierKind::SameAgent));
    assert_eq!(world.done.last().unwrap(), "Verify");
    let state = world.happens(state, verified(TurnEnd::Finished, Some(Verdict::Pass)), 20);
    let draft = &world.settled[0];
    assert_eq!(
        (draft.decision.outcome, draft.decision.task),
        (Outcome::Done, TaskTransition::Done)
    );
    assert_eq!(draft.commit, Some(Ok("c".to_owned())));
    assert_eq!(state.end(), Some(&End::Complete));
}

#[test]
fn refused_work_is_neither_committed_nor_done() {
    let mut world = World::with_tasks(2);
    let state = verifying(&mut world, verified_by(VerifierKind::SameAgent));
    let refused = verified(TurnEnd::Finished, Some(Verdict::Fail("a test is missing".to_owned())));
    let state = world.happens(state, refused, 20);
    let decision = &world.settled[0].decision;
    assert_eq!(
        (decision.outcome, decision.task),
        (Outcome::Retried, TaskTransition::Attempt)
    );
    assert_eq!(decision.reason, "The verifier refused: a test is missing.");
    assert!(!world.done.contains(&"Commit".to_owned()));
    assert!(matches!(state.phase, Phase::Working(_)), "{:?}", state.phase);
}

#[test]
fn unfinished_work_is_not_verified() {
    let mut parts = verified_by(VerifierKind::SameAgent);
    parts.limits.iterations = Some(1);
    let mut failed = turn_done(1);
    failed.control.done.clear();
    let mut world = World::with_tasks(1);
    let state = world.begin(parts);
    world.happens(state, Input::TurnEnded(Box::new(failed)), 1);
    assert!(!world.done.contains(&"Verify".to_owned()));
    assert_eq!(world.settled.len(), 1);
}

#[test]
fn verifier_has_the_same_time_limits() {
    for (signs, due, cause) in [
        (vec![], 910, StopCause::Idle),
        (
            vec![800, 1600, 2400, 3200, 4000, 4800, 5600, 6400, 7200],
            7210,
            StopCause::Timeout,
        ),
    ] {
        let mut world = World::with_tasks(1);
        let mut state = verifying(&mut world, verified_by(VerifierKind::SameAgent));
        for sign in signs {
            state = world.happens(state, Input::Activity, sign);
        }
        assert_eq!(state.deadline(), Some(Duration::from_secs(due)));
        world.happens(state, Input::Tick, due);
        let draft = &world.settled[0];
        assert_eq!(draft.verification.as_ref().unwrap().cause, Some(cause));
        assert_eq!(
            (draft.decision.outcome, draft.decision.task),
            (Outcome::Retried, TaskTransition::Attempt)
        );
    }
}

#[test]
fn verifier_usage_counts_for_run_limits() {
    let mut limited = verified_by(VerifierKind::SameAgent);
    limited.limits.cost_usd = Some(3.0);
    let costs = |cost_usd| Usage {
        cost_usd,
        ..Usage::default()
    };
    let mut world = World::with_tasks(2);
    let state = world.begin(limited);
    let mut turn = turn_done(1);
    turn.usage = costs(2.0);
    let state = world.happens(state, Input::TurnEnded(Box::new(turn)), 1);
    let state = world.happens(state, Input::Used(costs(0.5)), 2);
    assert!(matches!(state.phase, Phase::Verifying(_)));
    let state = world.happens(state, Input::Used(costs(1.0)), 3);
    let decision = &world.settled[0].decision;
    assert_eq!(
        (decision.outcome, decision.stop),
        (Outcome::Interrupted, StopReason::RunLimit)
    );
    assert_eq!(decision.task, TaskTransition::Again);
    let reason = "The limit `[limits] cost_usd = 3` is reached: the run has cost $3.00.";
    assert_eq!(decision.reason, reason);
    assert_eq!(state.end().map(End::code), Some(4));
}

#[test]
fn verifier_does_not_start_over_a_limit() {
    let mut limited = verified_by(VerifierKind::SameAgent);
    limited.limits.tokens = Some(10);
    let mut world = World::with_tasks(2);
    let state = world.begin(limited);
    let mut turn = turn_done(1);
    turn.usage.output_tokens = 10;
    world.happens(state, Input::TurnEnded(Box::new(turn)), 1);
    assert!(!world.done.contains(&"Verify".to_owned()));
    assert_eq!(world.settled[0].decision.stop, StopReason::RunLimit);
}

#[test]
fn turn_and_verifier_usage_are_both_counted() {
    let mut world = World::with_tasks(1);
    let state = world.begin(verified_by(VerifierKind::SameAgent));
    let mut turn = turn_done(1);
    turn.usage.input_tokens = 7;
    let state = world.happens(state, Input::TurnEnded(Box::new(turn)), 1);
    let Input::Verified(mut found) = verified(TurnEnd::Finished, Some(Verdict::Pass)) else {
        unreachable!()
    };
    found.usage.input_tokens = 5;
    let state = world.happens(state, Input::Verified(found), 2);
    assert_eq!(world.settled[0].usage().input_tokens, 12);
    assert_eq!(state.spent.input_tokens, 12);
}

#[test]
fn second_interrupt_kills_the_verifier() {
    let mut world = World::with_tasks(2);
    let mut state = verifying(&mut world, verified_by(VerifierKind::SameAgent));
    let at = Duration::from_secs(11);
    assert_eq!(state.step(event(at, Input::Interrupt)), [Effect::StopAgent]);
    assert_eq!(state.step(event(at, Input::Interrupt)), [Effect::KillAgent]);
    // A late verdict does not count.
    let state = world.happens(state, verified(TurnEnd::Finished, Some(Verdict::Pass)), 12);
    let decision = &world.settled[0].decision;
    assert_eq!(
        (decision.outcome, decision.task),
        (Outcome::Interrupted, TaskTransition::Again)
    );
    assert_eq!(decision.then, Then::Stop(StopRun::Interrupt));
    assert_eq!(state.end(), Some(&End::Interrupted));
}

#[test]
fn interrupt_before_verification_leaves_work_undecided() {
    for moment in ["Examine", "Verify"] {
        let mut world = World::with_tasks(2);
        let mut state = world.begin(verified_by(VerifierKind::SameAgent));
        let ended = Input::TurnEnded(Box::new(turn_done(1)));
        let mut open: VecDeque<Effect> = state.step(event(Duration::ZERO, ended)).into();
        while let Some(effect) = open.pop_front() {
            let answer = world.answer(&effect, clock(Duration::ZERO));
            if world.done.last().unwrap() == moment {
                open.extend(state.step(event(Duration::ZERO, Input::Interrupt)));
            }
            open.extend(
                answer
                    .map(|what| state.step(event(Duration::ZERO, what)))
                    .unwrap_or_default(),
            );
        }
        assert_eq!(world.settled[0].decision.outcome, Outcome::Interrupted, "{moment}");
        assert_eq!(world.done.contains(&"Verify".to_owned()), moment == "Verify");
        assert_eq!(state.end(), Some(&End::Interrupted));
    }
}

#[test]
fn usage_limit_of_the_same_agent_pauses_it() {
    let mut world = World::with_tasks(2);
    let state = verifying(&mut world, verified_by(VerifierKind::SameAgent));
    let state = world.happens(state, verified(usage_limit(), None), 20);
    let draft = &world.settled[0];
    assert_eq!(
        (draft.decision.outcome, draft.decision.stop),
        (Outcome::Interrupted, StopReason::UsageLimit)
    );
    assert!(matches!(&draft.pause, PauseChange::Put(pause) if pause.until == clock(Duration::from_secs(500))));
    assert_eq!(draft.verifier_pause, PauseChange::Keep);
    assert!(matches!(state.phase, Phase::Waiting(_)), "{:?}", state.phase);
}

#[test]
fn usage_limit_of_another_agent_pauses_that_one() {
    let mut world = World::with_tasks(2);
    let state = verifying(&mut world, verified_by(VerifierKind::OtherAgent));
    world.happens(state, verified(usage_limit(), None), 20);
    let draft = &world.settled[0];
    assert_eq!(draft.pause, PauseChange::Lift, "the agent finished its turn");
    let PauseChange::Put(pause) = &draft.verifier_pause else {
        panic!("{draft:?}")
    };
    assert_eq!((pause.reason, pause.times), (PauseReason::UsageLimit, 1));
    assert!(
        pause.said.starts_with("The verifier, claude, could not run."),
        "{}",
        pause.said
    );
}

#[test]
fn eighth_service_failure_of_the_verifier_ends_the_run() {
    let known = |times| Pause {
        agent: "verifier".to_owned(),
        what: NewPause {
            reason: PauseReason::Transient,
            until: clock(Duration::from_secs(5)),
            times,
            said: String::new(),
        },
        run: RunId::new(1),
        created_at: clock(Duration::ZERO),
    };
    for (times, ends) in [(6, false), (7, true)] {
        let mut world = World::with_tasks(2);
        let mut state = verifying(&mut world, verified_by(VerifierKind::OtherAgent));
        if let Phase::Verifying(verifying) = &mut state.phase {
            verifying.draft.current.verifier_pause = Some(known(times));
        }
        let state = world.happens(state, verified(TurnEnd::Transient("503".to_owned()), None), 20);
        assert_eq!(state.end().is_some(), ends, "{:?}", state.phase);
    }
}

#[test]
fn missing_login_of_the_verifier_ends_the_run() {
    let mut world = World::with_tasks(2);
    let state = verifying(&mut world, verified_by(VerifierKind::OtherAgent));
    let state = world.happens(state, verified(TurnEnd::Auth("no key".to_owned()), None), 20);
    assert_eq!(world.settled[0].decision.task, TaskTransition::Again);
    assert_eq!(state.end().map(End::code), Some(1));
}

#[test]
fn verification_is_repeated_after_a_full_disk() {
    let mut world = World::with_tasks(1);
    let mut state = verifying(&mut world, verified_by(VerifierKind::SameAgent));
    let discarded = Input::VerifiedOnFullDisk(verification(5, TurnEnd::Finished, None));
    assert_eq!(state.step(event(Duration::ZERO, discarded)), [Effect::WaitForDiskSpace]);
    let again = state.step(event(Duration::ZERO, Input::DiskSpaceFound));
    assert!(matches!(again[..], [Effect::Verify(_)]), "{again:?}");
    let state = world.run(state, again, Duration::ZERO);
    assert!(matches!(state.phase, Phase::Verifying(_)));
    // The usage of the first one counts.
    let found = verification(2, TurnEnd::Finished, Some(Verdict::Pass));
    let state = world.happens(state, Input::Verified(found), 1);
    let draft = &world.settled[0];
    assert_eq!((draft.usage().input_tokens, draft.verifier_ms()), (7, 7000));
    assert_eq!(state.spent.input_tokens, 7);
}

/// A verification that used this many tokens and seconds.
fn verification(used: u64, end: TurnEnd, verdict: Option<Verdict>) -> Box<Verification> {
    let Input::Verified(mut found) = verified(end, verdict) else {
        unreachable!()
    };
    found.usage.input_tokens = used;
    found.duration_ms = used * 1000;
    found
}

#[test]
fn unusable_verifier_ends_the_run() {
    let mut world = World::with_tasks(2);
    let mut state = world.begin(verified_by(VerifierKind::OtherAgent));
    let mut open = VecDeque::from([Input::TurnEnded(Box::new(turn_done(1)))]);
    while let Some(what) = open.pop_front() {
        for effect in state.step(event(Duration::ZERO, what)) {
            let answer = world.answer(&effect, clock(Duration::ZERO));
            open.extend(match effect {
                Effect::Verify(_) => Some(Input::VerifierUnusable("verifier: no such file.".to_owned())),
                _ => answer,
            });
        }
    }
    let decision = &world.settled[0].decision;
    assert_eq!(
        (decision.outcome, decision.task),
        (Outcome::Interrupted, TaskTransition::Again)
    );
    let reason =
        "The verifier cannot be started: verifier: no such file. Fix `[verify] verifier`, or run with --no-verify.";
    assert_eq!(decision.reason, reason);
    assert_eq!(state.end(), Some(&End::Error(reason.to_owned())));
}

#[test]
fn leftovers_wait_for_the_verifiers_pause() {
    let until = clock(Duration::from_secs(500));
    let pause = Pause {
        agent: "verifier".to_owned(),
        what: NewPause {
            reason: PauseReason::UsageLimit,
            until,
            times: 1,
            said: String::new(),
        },
        run: RunId::new(98),
        created_at: clock(Duration::ZERO),
    };
    let begin = |first_try, turn: TurnSummary| {
        let Leftover::Ended(mut current, _) = leftover_of_dead_run(turn_done(7)) else {
            unreachable!()
        };
        current.verifier_pause = Some(pause.clone());
        let mut world = World::with_tasks(3);
        let (state, _) = State::begin(Plan {
            first_try,
            ..verified_by(VerifierKind::OtherAgent)
        });
        let left = vec![Leftover::Ended(current, Box::new(turn))];
        let state = world.happens(state, Input::Recovered(left), 0);
        (world, state)
    };
    let (mut world, state) = begin(FirstTry::AfterThePause, turn_done(7));
    assert!(matches!(state.phase, Phase::Waiting(_)), "{:?}", state.phase);
    // Neither the gates nor another task start meanwhile.
    let state = world.happens(state, Input::Tick, 100);
    assert_eq!(world.done, ["Notify", "Notify"]);
    let state = world.happens(state, Input::Tick, 600);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    let state = world.happens(state, verified(TurnEnd::Finished, Some(Verdict::Pass)), 601);
    assert_eq!(world.settled[0].decision.task, TaskTransition::Done);
    assert!(matches!(state.phase, Phase::Working(_)), "{:?}", state.phase);
    // With `AtOnce`, or without anything to verify, there is no wait.
    let (_, state) = begin(FirstTry::AtOnce, turn_done(7));
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    let (world, _) = begin(FirstTry::AfterThePause, TurnSummary::lost());
    assert_eq!(world.settled.len(), 1);
}

fn leftover_of_dead_run(turn: TurnSummary) -> Leftover {
    let ClaimAnswer::Claimed(claim) = claim(7) else {
        unreachable!()
    };
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    let current = Current::of(&RunId::new(99), 4, &claim, chosen);
    Leftover::Ended(Box::new(current), Box::new(turn))
}

#[test]
fn verification_of_leftovers_counts_for_this_run() {
    let mut turn = turn_done(7);
    turn.usage.input_tokens = 100;
    let left = leftover_of_dead_run(turn);
    let mut world = World::with_tasks(0);
    let (state, _) = State::begin(verified_by(VerifierKind::SameAgent));
    let state = world.happens(state, Input::Recovered(vec![left]), 0);
    let Input::Verified(mut found) = verified(TurnEnd::Finished, Some(Verdict::Pass)) else {
        unreachable!()
    };
    found.usage.input_tokens = 5;
    let state = world.happens(state, Input::Verified(found), 1);
    assert_eq!(world.settled[0].decision.task, TaskTransition::Done);
    assert_eq!(state.spent.input_tokens, 5);
}

#[test]
fn task_limit_does_not_stop_the_verifier() {
    let mut plan = verified_by(VerifierKind::SameAgent);
    plan.limits.task_tokens = Some(1000);
    let mut world = World::with_tasks(1);
    let state = verifying(&mut world, plan);
    let used = Usage {
        input_tokens: 5000,
        ..Usage::default()
    };
    let state = world.happens(state, Input::Used(used), 20);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    world.happens(state, verified(TurnEnd::Finished, Some(Verdict::Pass)), 30);
    assert_eq!(world.settled[0].decision.task, TaskTransition::Done);
}
