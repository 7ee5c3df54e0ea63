//! Ctrl+C during verification of an attended run.

use super::guidance::{WILL_ASK, answer, at_terminal, count_of, steps};
use super::*;
use crate::settle::{StopRun, Then};
use ralph_model::Outcome;

/// An attended run with gates, verifier and commits.
fn verified_plan() -> Plan {
    Plan {
        has_gates: true,
        verifier: VerifierKind::SameAgent,
        commit: Commit::Task,
        ..at_terminal()
    }
}

/// A world of two tasks with this answer of the user, and a run whose first turn is over.
fn turn_over(guided: GuidanceAnswer) -> (World, State) {
    let mut world = World {
        guided,
        ..World::with_tasks(2)
    };
    let mut state = world.begin(verified_plan());
    let effects = steps(
        &mut state,
        [Input::TurnEnded(Box::new(turn_done(1))), Input::EndRecorded],
    );
    assert!(matches!(effects[..], [Effect::RecordEnd(_), Effect::Examine(_)]));
    (world, state)
}

/// The same after the gates have passed, during verification.
fn verifying(guided: GuidanceAnswer) -> (World, State) {
    let (mut world, state) = turn_over(guided);
    let state = world.happens(state, Input::Examined(Box::default()), 1);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    (world, state)
}

fn place_of(world: &World, effect: &str) -> usize {
    world.done.iter().position(|done| done == effect).unwrap()
}

#[test]
fn first_ctrl_c_stops_the_verifier_and_asks() {
    // Guidance overrides any verdict.
    for (end, verdict) in [
        (TurnEnd::Stopped, None),
        (TurnEnd::Finished, Some(Verdict::Pass)),
        (TurnEnd::Finished, Some(Verdict::Fail("no".to_owned()))),
    ] {
        let (mut world, mut state) = verifying(answer("not like this", AfterGuidance::GoOn));
        assert_eq!(steps(&mut state, [Input::Interrupt]), [Effect::StopAgent, WILL_ASK]);
        let state = world.happens(state, verified(end, verdict), 2);
        let draft = &world.settled[0];
        assert_eq!(
            (draft.decision.outcome, draft.decision.task),
            (Outcome::Interrupted, TaskTransition::Again)
        );
        assert_eq!(draft.decision.then, Then::GoOn);
        assert_eq!(draft.decision.reason, "Stopped on request, with guidance.");
        assert_eq!(draft.turn.guidance.as_deref(), Some("not like this"));
        let cause = draft.verification.as_ref().and_then(|found| found.cause);
        assert_eq!(cause, Some(StopCause::Interrupt));
        assert!(place_of(&world, "Ask") < place_of(&world, "RecordGuidance"));
        assert!(place_of(&world, "RecordGuidance") < place_of(&world, "Settle"));
        assert_eq!((count_of(&world, "Commit"), count_of(&world, "Spawn")), (0, 2));
        assert_eq!((state.end(), state.interrupts), (None, 0));
    }
}

#[test]
fn stopping_without_guidance_interrupts_unverified_work() {
    let (mut world, state) = verifying(answer("", AfterGuidance::Stop));
    let state = world.happens(state, Input::Interrupt, 2);
    let decision = &world.settled[0].decision;
    assert_eq!(
        (decision.outcome, decision.task),
        (Outcome::Interrupted, TaskTransition::Again)
    );
    assert_eq!(decision.then, Then::Stop(StopRun::Interrupt));
    assert_eq!(decision.reason, "Stopped on request.");
    assert_eq!(count_of(&world, "Ask"), 1);
    assert_eq!((count_of(&world, "RecordGuidance"), count_of(&world, "Verify")), (0, 1));
    assert_eq!(state.end(), Some(&End::Interrupted));
}

#[test]
fn continuing_without_guidance_verifies_again() {
    let (mut world, state) = verifying(answer("", AfterGuidance::GoOn));
    let state = world.happens(state, Input::Interrupt, 2);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    assert_eq!((world.settled.len(), count_of(&world, "Verify")), (0, 2));
    assert_eq!((count_of(&world, "Ask"), count_of(&world, "Spawn")), (1, 1));
    assert_eq!((state.interrupts, state.is_to_stop()), (0, false));
    let state = world.happens(state, verified(TurnEnd::Finished, Some(Verdict::Pass)), 3);
    let draft = &world.settled[0];
    assert_eq!(
        (draft.decision.outcome, draft.decision.task),
        (Outcome::Done, TaskTransition::Done)
    );
    assert_eq!(state.end(), None);
}

#[test]
fn second_ctrl_c_kills_the_verifier_without_asking() {
    for second in [Input::Interrupt, Input::Stop] {
        let (mut world, mut state) = verifying(answer("x", AfterGuidance::GoOn));
        assert_eq!(
            steps(&mut state, [Input::Interrupt, second]),
            [Effect::StopAgent, WILL_ASK, Effect::KillAgent]
        );
        let state = world.happens(state, verified(TurnEnd::Finished, Some(Verdict::Pass)), 2);
        assert_eq!(world.settled[0].decision.outcome, Outcome::Interrupted);
        assert_eq!((count_of(&world, "Ask"), count_of(&world, "Commit")), (0, 0));
        assert_eq!(state.end(), Some(&End::Interrupted));
    }
}

#[test]
fn ctrl_c_during_verifier_start_stops_it_and_asks() {
    let (mut world, mut state) = turn_over(answer("not like this", AfterGuidance::GoOn));
    let started = steps(&mut state, [Input::Examined(Box::default())]);
    assert!(matches!(started[..], [Effect::Verify(_)]), "{started:?}");
    world.verifying = true;
    assert_eq!(steps(&mut state, [Input::Interrupt]), [WILL_ASK]);
    let state = world.happens(state, Input::Spawned, 2);
    assert_eq!(count_of(&world, "StopAgent"), 1);
    assert_eq!(world.settled[0].turn.guidance.as_deref(), Some("not like this"));
    assert_eq!((state.end(), state.interrupts), (None, 0));
}

#[test]
fn work_is_verified_after_a_question_without_guidance() {
    let (mut world, mut state) = turn_over(answer("", AfterGuidance::GoOn));
    assert_eq!(steps(&mut state, [Input::Interrupt]), [Effect::StopGates, WILL_ASK]);
    let state = world.happens(state, Input::Examined(Box::default()), 1);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    assert_eq!((world.settled.len(), count_of(&world, "Verify")), (0, 1));
    // Earlier stop requests no longer apply when the session starts.
    assert!(place_of(&world, "Resume") < place_of(&world, "Verify"));
    assert_eq!((state.interrupts, state.is_to_stop()), (0, false));
    let state = world.happens(state, verified(TurnEnd::Finished, Some(Verdict::Pass)), 2);
    let draft = &world.settled[0];
    assert_eq!(
        (draft.decision.outcome, draft.decision.task),
        (Outcome::Done, TaskTransition::Done)
    );
    assert_eq!(draft.commit, Some(Ok("c".to_owned())));
    assert_eq!((state.end(), count_of(&world, "Ask")), (None, 1));
}

#[test]
fn ctrl_c_during_repeated_verification_asks_again() {
    let (mut world, mut state) = turn_over(answer("", AfterGuidance::GoOn));
    steps(&mut state, [Input::Interrupt]);
    let mut state = world.happens(state, Input::Examined(Box::default()), 1);
    world.guided = answer("not like this", AfterGuidance::GoOn);
    assert_eq!(steps(&mut state, [Input::Interrupt]), [Effect::StopAgent, WILL_ASK]);
    let state = world.happens(state, verified(TurnEnd::Stopped, None), 2);
    assert_eq!(count_of(&world, "Ask"), 2);
    assert_eq!(world.settled[0].turn.guidance.as_deref(), Some("not like this"));
    assert_eq!(state.end(), None);
}

#[test]
fn work_is_not_verified_after_guidance_or_stop() {
    for (text, next) in [
        ("not like this", AfterGuidance::GoOn),
        ("not like this", AfterGuidance::Stop),
        ("", AfterGuidance::Stop),
    ] {
        let (mut world, mut state) = turn_over(answer(text, next));
        steps(&mut state, [Input::Interrupt]);
        let state = world.happens(state, Input::Examined(Box::default()), 1);
        let decision = &world.settled[0].decision;
        assert_eq!(
            (decision.outcome, decision.task),
            (Outcome::Interrupted, TaskTransition::Again),
            "{text}"
        );
        assert_eq!((count_of(&world, "Verify"), count_of(&world, "Commit")), (0, 0));
        let stops = next == AfterGuidance::Stop;
        assert_eq!(state.end(), stops.then_some(&End::Interrupted));
    }
}

#[test]
fn verifier_timeout_counts_against_the_work() {
    for (text, outcome) in [("", Outcome::Retried), ("not like this", Outcome::Interrupted)] {
        let (mut world, mut state) = verifying(answer(text, AfterGuidance::GoOn));
        let late = Duration::from_secs(901);
        assert_eq!(state.step(event(late, Input::Tick)), [Effect::StopAgent]);
        assert_eq!(state.step(event(late, Input::Interrupt)), [WILL_ASK]);
        let state = world.happens(state, verified(TurnEnd::Stopped, None), 902);
        let draft = &world.settled[0];
        assert_eq!(draft.decision.outcome, outcome);
        let cause = draft.verification.as_ref().and_then(|found| found.cause);
        assert_eq!(cause, Some(StopCause::Idle));
        assert_eq!((state.end(), count_of(&world, "Ask")), (None, 1));
    }
}
