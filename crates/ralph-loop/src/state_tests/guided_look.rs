//! Ctrl+C around the look of a second session, where somebody can be asked what should be done differently.

use super::guidance::{WILL_ASK, at_terminal, count_of, said, steps};
use super::*;
use crate::settle::{StopRun, Then};
use ralph_model::Outcome;

/// A run at a terminal whose work is looked at and committed.
fn watched() -> Plan {
    Plan {
        has_gates: true,
        verifier: WhoVerifies::SameAgent,
        commit: Commit::Task,
        ..at_terminal()
    }
}

/// A world of two tasks in which the person says this when asked, and a run whose first turn is over.
fn turn_over(guided: Guided) -> (World, State) {
    let mut world = World {
        guided,
        ..World::with_tasks(2)
    };
    let mut state = world.begin(watched());
    let effects = steps(
        &mut state,
        [Happening::TurnEnded(Box::new(turn_done(1))), Happening::EndRecorded],
    );
    assert!(matches!(effects[..], [Effect::RecordEnd(_), Effect::Examine(_)]));
    (world, state)
}

/// The same, where the gates have passed and the work is being looked at.
fn looking(guided: Guided) -> (World, State) {
    let (mut world, state) = turn_over(guided);
    let state = world.happens(state, Happening::Examined(Box::default()), 1);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    (world, state)
}

fn place_of(world: &World, effect: &str) -> usize {
    world.done.iter().position(|done| done == effect).unwrap()
}

#[test]
fn the_first_one_stops_the_look_and_asks_and_with_guidance_the_work_is_interrupted_and_the_run_goes_on() {
    // Whatever it says at its end: the person knows better.
    for (end, verdict) in [
        (TurnEnd::Stopped, None),
        (TurnEnd::Finished, Some(Verdict::Pass)),
        (TurnEnd::Finished, Some(Verdict::Fail("no".to_owned()))),
    ] {
        let (mut world, mut state) = looking(said("not like this", WhatNext::GoOn));
        assert_eq!(steps(&mut state, [Happening::Interrupt]), [Effect::StopAgent, WILL_ASK]);
        let state = world.happens(state, looked(end, verdict), 2);
        let draft = &world.settled[0];
        assert_eq!(
            (draft.ruling.outcome, draft.ruling.task),
            (Outcome::Interrupted, Fate::Again)
        );
        assert_eq!(draft.ruling.then, Then::GoOn);
        assert_eq!(draft.ruling.reason, "It was stopped, with guidance.");
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
fn without_guidance_and_at_the_end_what_nobody_has_looked_at_is_interrupted() {
    let (mut world, state) = looking(said("", WhatNext::Stop));
    let state = world.happens(state, Happening::Interrupt, 2);
    let ruling = &world.settled[0].ruling;
    assert_eq!((ruling.outcome, ruling.task), (Outcome::Interrupted, Fate::Again));
    assert_eq!(ruling.then, Then::Stop(StopRun::Interrupt));
    assert_eq!(ruling.reason, "It was stopped.");
    assert_eq!(count_of(&world, "Ask"), 1);
    assert_eq!((count_of(&world, "RecordGuidance"), count_of(&world, "Verify")), (0, 1));
    assert_eq!(state.end(), Some(&End::Interrupted));
}

#[test]
fn without_guidance_where_the_run_goes_on_the_work_is_looked_at_again_and_not_done_again() {
    let (mut world, state) = looking(said("", WhatNext::GoOn));
    let state = world.happens(state, Happening::Interrupt, 2);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    assert_eq!((world.settled.len(), count_of(&world, "Verify")), (0, 2));
    assert_eq!((count_of(&world, "Ask"), count_of(&world, "Spawn")), (1, 1));
    assert_eq!((state.interrupts, state.is_to_stop()), (0, false));
    let state = world.happens(state, looked(TurnEnd::Finished, Some(Verdict::Pass)), 3);
    let draft = &world.settled[0];
    assert_eq!((draft.ruling.outcome, draft.ruling.task), (Outcome::Done, Fate::Done));
    assert_eq!(state.end(), None);
}

#[test]
fn the_second_one_while_the_look_is_being_stopped_kills_it_and_nobody_is_asked() {
    for second in [Happening::Interrupt, Happening::Stop] {
        let (mut world, mut state) = looking(said("x", WhatNext::GoOn));
        assert_eq!(
            steps(&mut state, [Happening::Interrupt, second]),
            [Effect::StopAgent, WILL_ASK, Effect::KillAgent]
        );
        let state = world.happens(state, looked(TurnEnd::Finished, Some(Verdict::Pass)), 2);
        assert_eq!(world.settled[0].ruling.outcome, Outcome::Interrupted);
        assert_eq!((count_of(&world, "Ask"), count_of(&world, "Commit")), (0, 0));
        assert_eq!(state.end(), Some(&End::Interrupted));
    }
}

#[test]
fn one_while_the_session_starts_stops_it_as_soon_as_it_is_there_and_asks() {
    let (mut world, mut state) = turn_over(said("not like this", WhatNext::GoOn));
    let started = steps(&mut state, [Happening::Examined(Box::default())]);
    assert!(matches!(started[..], [Effect::Verify(_)]), "{started:?}");
    world.verifying = true;
    assert_eq!(steps(&mut state, [Happening::Interrupt]), [WILL_ASK]);
    let state = world.happens(state, Happening::Spawned, 2);
    assert_eq!(count_of(&world, "StopAgent"), 1);
    assert_eq!(world.settled[0].turn.guidance.as_deref(), Some("not like this"));
    assert_eq!((state.end(), state.interrupts), (None, 0));
}

#[test]
fn gates_that_pass_all_the_same_are_followed_by_a_look_where_nothing_was_said_and_the_run_goes_on() {
    let (mut world, mut state) = turn_over(said("", WhatNext::GoOn));
    assert_eq!(steps(&mut state, [Happening::Interrupt]), [Effect::StopGates, WILL_ASK]);
    let state = world.happens(state, Happening::Examined(Box::default()), 1);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    assert_eq!((world.settled.len(), count_of(&world, "Verify")), (0, 1));
    // What was stopped before is not stopped any more when the session starts.
    assert!(place_of(&world, "GoOn") < place_of(&world, "Verify"));
    assert_eq!((state.interrupts, state.is_to_stop()), (0, false));
    let state = world.happens(state, looked(TurnEnd::Finished, Some(Verdict::Pass)), 2);
    let draft = &world.settled[0];
    assert_eq!((draft.ruling.outcome, draft.ruling.task), (Outcome::Done, Fate::Done));
    assert_eq!(draft.commit, Some(Ok("c".to_owned())));
    assert_eq!((state.end(), count_of(&world, "Ask")), (None, 1));
}

#[test]
fn after_that_question_the_next_one_asks_again() {
    let (mut world, mut state) = turn_over(said("", WhatNext::GoOn));
    steps(&mut state, [Happening::Interrupt]);
    let mut state = world.happens(state, Happening::Examined(Box::default()), 1);
    world.guided = said("not like this", WhatNext::GoOn);
    assert_eq!(steps(&mut state, [Happening::Interrupt]), [Effect::StopAgent, WILL_ASK]);
    let state = world.happens(state, looked(TurnEnd::Stopped, None), 2);
    assert_eq!(count_of(&world, "Ask"), 2);
    assert_eq!(world.settled[0].turn.guidance.as_deref(), Some("not like this"));
    assert_eq!(state.end(), None);
}

#[test]
fn gates_that_pass_all_the_same_are_followed_by_no_look_where_the_person_spoke_or_stops() {
    for (text, next) in [
        ("not like this", WhatNext::GoOn),
        ("not like this", WhatNext::Stop),
        ("", WhatNext::Stop),
    ] {
        let (mut world, mut state) = turn_over(said(text, next));
        steps(&mut state, [Happening::Interrupt]);
        let state = world.happens(state, Happening::Examined(Box::default()), 1);
        let ruling = &world.settled[0].ruling;
        assert_eq!(
            (ruling.outcome, ruling.task),
            (Outcome::Interrupted, Fate::Again),
            "{text}"
        );
        assert_eq!((count_of(&world, "Verify"), count_of(&world, "Commit")), (0, 0));
        let stops = next == WhatNext::Stop;
        assert_eq!(state.end(), stops.then_some(&End::Interrupted));
    }
}

#[test]
fn a_look_that_took_too_long_is_held_against_the_work_unless_the_person_speaks() {
    for (text, outcome) in [("", Outcome::Retried), ("not like this", Outcome::Interrupted)] {
        let (mut world, mut state) = looking(said(text, WhatNext::GoOn));
        let late = Duration::from_secs(901);
        assert_eq!(state.step(event(late, Happening::Tick)), [Effect::StopAgent]);
        assert_eq!(state.step(event(late, Happening::Interrupt)), [WILL_ASK]);
        let state = world.happens(state, looked(TurnEnd::Stopped, None), 902);
        let draft = &world.settled[0];
        assert_eq!(draft.ruling.outcome, outcome);
        let cause = draft.verification.as_ref().and_then(|found| found.cause);
        assert_eq!(cause, Some(StopCause::Idle));
        assert_eq!((state.end(), count_of(&world, "Ask")), (None, 1));
    }
}
