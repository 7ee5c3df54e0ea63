//! What a person at the terminal may say, and when.

use super::*;
use crate::guide::Wish;
use crate::settle::{StopRun, Then};

pub(super) const WILL_ASK: Effect = Effect::Tell(Notice::WillAsk);

pub(super) fn at_terminal() -> Plan {
    Plan {
        asking: Asking::Possible,
        ..plan()
    }
}

pub(super) fn said(text: &str, next: WhatNext) -> Guided {
    let text = (!text.is_empty()).then(|| text.to_owned());
    Guided { text, next }
}

/// A world of tasks in which the person says this when asked.
fn world(guided: Guided) -> World {
    World {
        guided,
        ..World::with_tasks(2)
    }
}

pub(super) fn count_of(world: &World, effect: &str) -> usize {
    world.done.iter().filter(|done| *done == effect).count()
}

#[test]
fn the_first_ctrl_c_stops_the_turn_and_asks_and_the_run_goes_on() {
    let mut world = world(said("use the other parser", WhatNext::GoOn));
    let state = world.begin(at_terminal());
    let state = world.happens(state, Happening::Interrupt, 1);
    let [first] = &world.settled[..] else {
        panic!("{:?}", world.settled)
    };
    assert_eq!(first.turn.cause, Some(StopCause::Interrupt));
    assert_eq!(first.turn.guidance.as_deref(), Some("use the other parser"));
    assert_eq!((first.ruling.task, &first.ruling.then), (Fate::Again, &Then::GoOn));
    assert_eq!(first.ruling.reason, "It was stopped, with guidance.");
    assert_eq!((state.end(), state.interrupts), (None, 0));
    assert_eq!(count_of(&world, "Spawn"), 2, "another turn goes on");
    let until = |effect: &str| world.done.iter().position(|done| done == effect).unwrap();
    assert!(until("Ask") < until("RecordGuidance") && until("RecordGuidance") < until("Settle"));
}

#[test]
fn after_a_question_the_next_ctrl_c_is_the_first_again() {
    let mut world = world(said("slowly", WhatNext::GoOn));
    let mut state = world.begin(at_terminal());
    for times in 1..4 {
        world.tasks += 1;
        state = world.happens(state, Happening::Interrupt, times);
        assert_eq!(count_of(&world, "Ask"), usize::try_from(times).unwrap());
        assert_eq!((state.end(), count_of(&world, "KillAgent")), (None, 0));
    }
}

#[test]
fn somebody_who_wants_to_stop_after_all_has_their_guidance_kept() {
    for text in ["use the other parser", ""] {
        let mut world = world(said(text, WhatNext::Stop));
        let state = world.begin(at_terminal());
        let state = world.happens(state, Happening::Interrupt, 1);
        assert_eq!(state.end(), Some(&End::Interrupted), "{text}");
        assert_eq!(world.settled[0].turn.guidance.as_deref().unwrap_or_default(), text);
        assert_eq!(world.settled[0].ruling.then, Then::Stop(StopRun::Interrupt));
        assert_eq!(count_of(&world, "RecordGuidance"), usize::from(!text.is_empty()));
    }
}

#[test]
fn where_nobody_can_be_asked_the_first_ctrl_c_stops_the_run() {
    let mut world = world(said("x", WhatNext::GoOn));
    let state = world.begin(plan());
    let state = world.happens(state, Happening::Interrupt, 1);
    assert_eq!(state.end(), Some(&End::Interrupted));
    assert_eq!(count_of(&world, "Ask"), 0);
}

#[test]
fn a_signal_that_no_person_sends_never_asks() {
    let mut world = world(said("x", WhatNext::GoOn));
    let state = world.begin(at_terminal());
    let state = world.happens(state, Happening::Stop, 1);
    assert_eq!(state.end(), Some(&End::Interrupted));
    assert_eq!(count_of(&world, "Ask"), 0);
}

/// The effects of events while the agent does not end when it is told to.
pub(super) fn steps(state: &mut State, all: impl IntoIterator<Item = Happening>) -> Vec<Effect> {
    let mut effects = Vec::new();
    for what in all {
        effects.extend(state.step(event(Duration::ZERO, what)));
    }
    effects
}

#[test]
fn the_second_ctrl_c_before_the_question_kills_the_agent_and_nobody_is_asked() {
    for second in [Happening::Interrupt, Happening::Stop] {
        let mut world = world(said("x", WhatNext::GoOn));
        let mut state = world.begin(at_terminal());
        let effects = steps(&mut state, [Happening::Interrupt, second]);
        assert_eq!(effects, [Effect::StopAgent, WILL_ASK, Effect::KillAgent]);
        let state = world.happens(state, ended(TurnEnd::Stopped), 1);
        assert_eq!(state.end(), Some(&End::Interrupted));
        assert_eq!((count_of(&world, "Ask"), world.settled.len()), (0, 1));
    }
}

#[test]
fn the_second_ctrl_c_while_it_asks_gives_the_asking_up_and_the_run_ends() {
    // Whatever the answer is that comes all the same: the person wants to stop. What they had said is kept.
    for (text, next) in [("", WhatNext::Stop), ("half of it", WhatNext::GoOn)] {
        let mut world = world(said("", WhatNext::Stop));
        let mut state = world.begin(at_terminal());
        let effects = steps(
            &mut state,
            [Happening::Interrupt, ended(TurnEnd::Stopped), Happening::EndRecorded],
        );
        assert!(matches!(
            effects[..],
            [
                Effect::StopAgent,
                Effect::Tell(Notice::WillAsk),
                Effect::RecordEnd(_),
                Effect::Examine(_)
            ]
        ));
        let asked = steps(&mut state, [Happening::Examined(Box::default())]);
        assert!(matches!(asked[..], [Effect::Ask(_)]), "{asked:?}");
        assert_eq!(steps(&mut state, [Happening::Interrupt]), [Effect::GiveUpAsking]);
        let state = world.happens(state, Happening::Guided(said(text, next)), 1);
        assert_eq!(state.end(), Some(&End::Interrupted));
        assert_eq!(world.settled[0].turn.guidance.as_deref().unwrap_or_default(), text);
        assert_eq!(world.settled[0].ruling.task, Fate::Again);
    }
}

#[test]
fn what_the_person_is_asked_about_is_named() {
    let mut world = world(said("", WhatNext::Stop));
    let mut state = world.begin(at_terminal());
    steps(
        &mut state,
        [Happening::Interrupt, ended(TurnEnd::Stopped), Happening::EndRecorded],
    );
    let examined = Examined {
        files: vec!["a.rs".to_owned()],
        ..Examined::default()
    };
    let asked = steps(&mut state, [Happening::Examined(Box::new(examined))]);
    let expected = crate::guide::Asked {
        iteration: 1,
        task: TaskId::new(1),
        title: "task 1".to_owned(),
        files: vec!["a.rs".to_owned()],
    };
    assert_eq!(asked, [Effect::Ask(Box::new(expected))]);
}

/// The settlement of a turn that says it is done, where Ctrl+C comes while its gates run, which end all the same.
fn interrupted_gates(guided: Guided) -> (Draft, Option<End>) {
    let mut world = World {
        guided,
        ..World::with_tasks(1)
    };
    let state = world.begin(Plan {
        has_gates: true,
        ..at_terminal()
    });
    let mut state = state;
    let effects = steps(
        &mut state,
        [Happening::TurnEnded(Box::new(turn_done(1))), Happening::EndRecorded],
    );
    assert!(matches!(
        &effects[..],
        [Effect::RecordEnd(_), Effect::Examine(what)] if what.gates == Gates::Run
    ));
    assert_eq!(steps(&mut state, [Happening::Interrupt]), [Effect::StopGates, WILL_ASK]);
    let state = world.happens(state, Happening::Examined(Box::default()), 1);
    (world.settled.remove(0), state.end().cloned())
}

#[test]
fn guidance_while_the_gates_run_interrupts_what_they_would_have_accepted() {
    let (draft, end) = interrupted_gates(said("not like this", WhatNext::GoOn));
    assert_eq!(
        (draft.ruling.task, draft.turn.cause),
        (Fate::Again, Some(StopCause::Interrupt))
    );
    assert_eq!(end, Some(End::Complete), "this world has no task left");
    let (draft, end) = interrupted_gates(said("not like this", WhatNext::Stop));
    assert_eq!((draft.ruling.task, end), (Fate::Again, Some(End::Interrupted)));
}

#[test]
fn nothing_to_say_while_the_gates_run_leaves_their_word() {
    let (draft, end) = interrupted_gates(said("", WhatNext::GoOn));
    assert_eq!((draft.ruling.task, end), (Fate::Done, Some(End::Complete)));
    let (draft, end) = interrupted_gates(said("", WhatNext::Stop));
    assert_eq!((draft.ruling.task, end), (Fate::Done, Some(End::Interrupted)));
}

#[test]
fn between_turns_the_first_ctrl_c_stops_the_run() {
    let (mut state, _) = State::begin(at_terminal());
    assert_eq!(steps(&mut state, [Happening::Interrupt]), []);
    let mut world = world(said("x", WhatNext::GoOn));
    let state = world.happens(state, Happening::Recovered(Vec::new()), 0);
    assert_eq!((state.end(), count_of(&world, "Ask")), (Some(&End::Interrupted), 0));
}

#[test]
fn nobody_is_asked_about_what_a_dead_run_has_left() {
    let (mut state, _) = State::begin(at_terminal());
    let ClaimAnswer::Claimed(claim) = claim(7) else {
        unreachable!()
    };
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    let current = Box::new(Current::of(&RunId::new(99), 4, &claim, chosen));
    let left = vec![Left::Ended(current, Box::new(TurnSummary::lost()))];
    let effects = steps(&mut state, [Happening::Recovered(left), Happening::Interrupt]);
    assert!(matches!(effects[..], [Effect::Examine(_), Effect::StopGates]));
    let mut world = world(said("x", WhatNext::GoOn));
    let state = world.happens(state, Happening::Examined(Box::default()), 0);
    assert_eq!((state.end(), count_of(&world, "Ask")), (Some(&End::Interrupted), 0));
}

#[test]
fn a_key_asks_as_ctrl_c_does_and_else_does_nothing() {
    let mut world = world(said("use the other parser", WhatNext::GoOn));
    let state = world.begin(at_terminal());
    let state = world.happens(state, Happening::GuidanceWanted, 1);
    assert_eq!((state.end(), count_of(&world, "Ask")), (None, 1));
    let mut nobody = World::with_tasks(1);
    let mut state = nobody.begin(plan());
    assert_eq!(steps(&mut state, [Happening::GuidanceWanted]), []);
    assert_eq!(state.interrupts, 0);
}

#[test]
fn a_run_that_is_to_end_after_this_iteration_does() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, Happening::Wished(Wish::LastIteration), 1);
    assert_eq!(state.end(), None, "the agent goes on");
    let end = world.finish(state);
    assert_eq!(world.settled.len(), 1);
    assert_eq!(end.sentence(), "It stopped where you wanted it to: 2 tasks are left.");
    assert_eq!(end.code(), 0);
}

#[test]
fn the_last_of_all_tasks_is_an_end_as_ever_and_a_failed_one_waits_for_a_person() {
    let mut world = World::with_tasks(1);
    let state = world.begin(plan());
    let state = world.happens(state, Happening::Wished(Wish::LastIteration), 1);
    assert_eq!(world.finish(state), End::Complete);
    let standing = Standing {
        failed: 1,
        open: 1,
        ..Standing::default()
    };
    assert_eq!(End::AsWished(standing).code(), 4);
}

#[test]
fn that_wish_can_be_taken_back() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, Happening::Wished(Wish::LastIteration), 1);
    let state = world.happens(state, Happening::Wished(Wish::GoOn), 1);
    assert_eq!(world.finish(state), End::Complete);
    assert_eq!(world.settled.len(), 3);
}

#[test]
fn a_run_that_waits_has_no_iteration_to_finish() {
    let mut world = World::with_tasks(2);
    let (mut state, _) = State::begin(plan());
    let busy = ClaimAnswer::Busy {
        held: vec![(TaskId::new(1), RunId::new(2))],
    };
    steps(
        &mut state,
        [
            Happening::Recovered(Vec::new()),
            Happening::OutboxFinished,
            answered(busy.clone()),
        ],
    );
    let waited = world.happens(state.clone(), Happening::Wished(Wish::LastIteration), 1);
    assert!(matches!(waited.end(), Some(End::AsWished(_))), "{waited:?}");
    // The same where it was wished while the task was asked for.
    let (mut state, _) = State::begin(plan());
    steps(
        &mut state,
        [
            Happening::Recovered(Vec::new()),
            Happening::OutboxFinished,
            Happening::Wished(Wish::LastIteration),
        ],
    );
    let ended = world.happens(state, answered(busy), 1);
    assert!(matches!(ended.end(), Some(End::AsWished(_))), "{ended:?}");
}

#[test]
fn an_agent_that_was_not_started_yet_is_not_started_any_more() {
    let mut world = World::with_tasks(2);
    let (mut state, _) = State::begin(plan());
    let effects = steps(
        &mut state,
        [
            Happening::Recovered(Vec::new()),
            Happening::OutboxFinished,
            answered(claim(1)),
            Happening::Wished(Wish::LastIteration),
        ],
    );
    assert!(matches!(effects.last(), Some(Effect::Prepare { .. })));
    let prepared = Happening::Prepared {
        before: String::new(),
        overflowed_before: false,
        spent_before: ralph_model::Usage::default(),
    };
    let state = world.happens(state, prepared, 1);
    assert!(matches!(state.end(), Some(End::AsWished(_))), "{state:?}");
    assert_eq!((count_of(&world, "Spawn"), count_of(&world, "Abandon")), (0, 1));
}
