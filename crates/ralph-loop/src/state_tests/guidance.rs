//! Interrupts and guidance from the terminal.

use super::*;
use crate::guide::RunRequest;
use crate::settle::{StopRun, Then};

pub(super) const WILL_ASK: Effect = Effect::Notify(Notice::WillAsk);

pub(super) fn at_terminal() -> Plan {
    Plan {
        attendance: Attendance::Attended,
        ..plan()
    }
}

pub(super) fn answer(text: &str, next: AfterGuidance) -> GuidanceAnswer {
    let text = (!text.is_empty()).then(|| text.to_owned());
    GuidanceAnswer { text, next }
}

/// A world of two tasks with this answer of the user.
fn world(guided: GuidanceAnswer) -> World {
    World {
        guided,
        ..World::with_tasks(2)
    }
}

pub(super) fn count_of(world: &World, effect: &str) -> usize {
    world.done.iter().filter(|done| *done == effect).count()
}

#[test]
fn first_ctrl_c_stops_the_turn_and_asks() {
    let mut world = world(answer("use the other parser", AfterGuidance::GoOn));
    let state = world.begin(at_terminal());
    let state = world.happens(state, Input::Interrupt, 1);
    let [first] = &world.settled[..] else {
        panic!("{:?}", world.settled)
    };
    assert_eq!(first.turn.cause, Some(StopCause::Interrupt));
    assert_eq!(first.turn.guidance.as_deref(), Some("use the other parser"));
    assert_eq!(
        (first.decision.task, &first.decision.then),
        (TaskTransition::Again, &Then::GoOn)
    );
    assert_eq!(first.decision.reason, "Stopped on request, with guidance.");
    assert_eq!((state.end(), state.interrupts), (None, 0));
    assert_eq!(count_of(&world, "Spawn"), 2, "another turn goes on");
    let until = |effect: &str| world.done.iter().position(|done| done == effect).unwrap();
    assert!(until("Ask") < until("RecordGuidance") && until("RecordGuidance") < until("Settle"));
}

#[test]
fn ctrl_c_after_a_question_counts_as_first() {
    let mut world = world(answer("slowly", AfterGuidance::GoOn));
    let mut state = world.begin(at_terminal());
    for times in 1..4 {
        world.tasks += 1;
        state = world.happens(state, Input::Interrupt, times);
        assert_eq!(count_of(&world, "Ask"), usize::try_from(times).unwrap());
        assert_eq!((state.end(), count_of(&world, "KillAgent")), (None, 0));
    }
}

#[test]
fn guidance_is_kept_if_the_run_stops() {
    for text in ["use the other parser", ""] {
        let mut world = world(answer(text, AfterGuidance::Stop));
        let state = world.begin(at_terminal());
        let state = world.happens(state, Input::Interrupt, 1);
        assert_eq!(state.end(), Some(&End::Interrupted), "{text}");
        assert_eq!(world.settled[0].turn.guidance.as_deref().unwrap_or_default(), text);
        assert_eq!(world.settled[0].decision.then, Then::Stop(StopRun::Interrupt));
        assert_eq!(count_of(&world, "RecordGuidance"), usize::from(!text.is_empty()));
    }
}

#[test]
fn first_ctrl_c_stops_an_unattended_run() {
    let mut world = world(answer("x", AfterGuidance::GoOn));
    let state = world.begin(plan());
    let state = world.happens(state, Input::Interrupt, 1);
    assert_eq!(state.end(), Some(&End::Interrupted));
    assert_eq!(count_of(&world, "Ask"), 0);
}

#[test]
fn stop_signal_never_asks() {
    let mut world = world(answer("x", AfterGuidance::GoOn));
    let state = world.begin(at_terminal());
    let state = world.happens(state, Input::Stop, 1);
    assert_eq!(state.end(), Some(&End::Interrupted));
    assert_eq!(count_of(&world, "Ask"), 0);
}

/// The effects of these events, while the agent ignores stop requests.
pub(super) fn steps(state: &mut State, all: impl IntoIterator<Item = Input>) -> Vec<Effect> {
    let mut effects = Vec::new();
    for what in all {
        effects.extend(state.step(event(Duration::ZERO, what)));
    }
    effects
}

#[test]
fn second_ctrl_c_before_the_question_kills_the_agent() {
    for second in [Input::Interrupt, Input::Stop] {
        let mut world = world(answer("x", AfterGuidance::GoOn));
        let mut state = world.begin(at_terminal());
        let effects = steps(&mut state, [Input::Interrupt, second]);
        assert_eq!(effects, [Effect::StopAgent, WILL_ASK, Effect::KillAgent]);
        let state = world.happens(state, ended(TurnEnd::Stopped), 1);
        assert_eq!(state.end(), Some(&End::Interrupted));
        assert_eq!((count_of(&world, "Ask"), world.settled.len()), (0, 1));
    }
}

#[test]
fn second_ctrl_c_during_the_question_ends_the_run() {
    // Whatever is answered, the user wants to stop. Text typed so far is kept.
    for (text, next) in [("", AfterGuidance::Stop), ("half of it", AfterGuidance::GoOn)] {
        let mut world = world(answer("", AfterGuidance::Stop));
        let mut state = world.begin(at_terminal());
        let effects = steps(
            &mut state,
            [Input::Interrupt, ended(TurnEnd::Stopped), Input::EndRecorded],
        );
        assert!(matches!(
            effects[..],
            [
                Effect::StopAgent,
                Effect::Notify(Notice::WillAsk),
                Effect::RecordEnd(_),
                Effect::Examine(_)
            ]
        ));
        let asked = steps(&mut state, [Input::Examined(Box::default())]);
        assert!(matches!(asked[..], [Effect::Ask(_)]), "{asked:?}");
        assert_eq!(steps(&mut state, [Input::Interrupt]), [Effect::CancelQuestion]);
        let state = world.happens(state, Input::Guided(answer(text, next)), 1);
        assert_eq!(state.end(), Some(&End::Interrupted));
        assert_eq!(world.settled[0].turn.guidance.as_deref().unwrap_or_default(), text);
        assert_eq!(world.settled[0].decision.task, TaskTransition::Again);
    }
}

#[test]
fn question_names_the_turn() {
    let mut world = world(answer("", AfterGuidance::Stop));
    let mut state = world.begin(at_terminal());
    steps(
        &mut state,
        [Input::Interrupt, ended(TurnEnd::Stopped), Input::EndRecorded],
    );
    let examined = Examined {
        files: vec!["a.rs".to_owned()],
        ..Examined::default()
    };
    let asked = steps(&mut state, [Input::Examined(Box::new(examined))]);
    let expected = crate::guide::GuidanceQuestion {
        iteration: 1,
        task: TaskId::new(1),
        title: "task 1".to_owned(),
        files: vec!["a.rs".to_owned()],
    };
    assert_eq!(asked, [Effect::Ask(Box::new(expected))]);
}

/// The settlement of a finished turn that gets Ctrl+C while its gates run; the gates still finish.
fn interrupted_gates(guided: GuidanceAnswer) -> (PendingSettlement, Option<End>) {
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
        [Input::TurnEnded(Box::new(turn_done(1))), Input::EndRecorded],
    );
    assert!(matches!(
        &effects[..],
        [Effect::RecordEnd(_), Effect::Examine(what)] if what.gates == Gates::Run
    ));
    assert_eq!(steps(&mut state, [Input::Interrupt]), [Effect::StopGates, WILL_ASK]);
    let state = world.happens(state, Input::Examined(Box::default()), 1);
    (world.settled.remove(0), state.end().cloned())
}

#[test]
fn guidance_during_gates_interrupts_the_work() {
    let (draft, end) = interrupted_gates(answer("not like this", AfterGuidance::GoOn));
    assert_eq!(
        (draft.decision.task, draft.turn.cause),
        (TaskTransition::Again, Some(StopCause::Interrupt))
    );
    assert_eq!(end, Some(End::Complete), "this world has no task left");
    let (draft, end) = interrupted_gates(answer("not like this", AfterGuidance::Stop));
    assert_eq!(
        (draft.decision.task, end),
        (TaskTransition::Again, Some(End::Interrupted))
    );
}

#[test]
fn no_guidance_during_gates_keeps_their_verdict() {
    let (draft, end) = interrupted_gates(answer("", AfterGuidance::GoOn));
    assert_eq!((draft.decision.task, end), (TaskTransition::Done, Some(End::Complete)));
    let (draft, end) = interrupted_gates(answer("", AfterGuidance::Stop));
    assert_eq!(
        (draft.decision.task, end),
        (TaskTransition::Done, Some(End::Interrupted))
    );
}

#[test]
fn first_ctrl_c_between_turns_stops_the_run() {
    let (mut state, _) = State::begin(at_terminal());
    assert_eq!(steps(&mut state, [Input::Interrupt]), []);
    let mut world = world(answer("x", AfterGuidance::GoOn));
    let state = world.happens(state, Input::Recovered(Vec::new()), 0);
    assert_eq!((state.end(), count_of(&world, "Ask")), (Some(&End::Interrupted), 0));
}

#[test]
fn no_question_about_leftovers_of_a_dead_run() {
    let (mut state, _) = State::begin(at_terminal());
    let ClaimAnswer::Claimed(claim) = claim(7) else {
        unreachable!()
    };
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    let current = Box::new(Current::of(&RunId::new(99), 4, &claim, chosen));
    let left = vec![Leftover::Ended(current, Box::new(TurnSummary::lost()))];
    let effects = steps(&mut state, [Input::Recovered(left), Input::Interrupt]);
    assert!(matches!(effects[..], [Effect::Examine(_), Effect::StopGates]));
    let mut world = world(answer("x", AfterGuidance::GoOn));
    let state = world.happens(state, Input::Examined(Box::default()), 0);
    assert_eq!((state.end(), count_of(&world, "Ask")), (Some(&End::Interrupted), 0));
}

#[test]
fn guidance_key_asks_or_does_nothing() {
    let mut world = world(answer("use the other parser", AfterGuidance::GoOn));
    let state = world.begin(at_terminal());
    let state = world.happens(state, Input::GuidanceWanted, 1);
    assert_eq!((state.end(), count_of(&world, "Ask")), (None, 1));
    let mut unattended = World::with_tasks(1);
    let mut state = unattended.begin(plan());
    assert_eq!(steps(&mut state, [Input::GuidanceWanted]), []);
    assert_eq!(state.interrupts, 0);
}

#[test]
fn run_ends_after_the_iteration_on_request() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, Input::Requested(RunRequest::StopAfterIteration), 1);
    assert_eq!(state.end(), None, "the agent goes on");
    let end = world.finish(state);
    assert_eq!(world.settled.len(), 1);
    assert_eq!(end.sentence(), "Stopped as requested. 2 tasks remain.");
    assert_eq!(end.code(), 0);
}

#[test]
fn requested_end_reports_completion_and_failures() {
    let mut world = World::with_tasks(1);
    let state = world.begin(plan());
    let state = world.happens(state, Input::Requested(RunRequest::StopAfterIteration), 1);
    assert_eq!(world.finish(state), End::Complete);
    let standing = ScopeCounts {
        failed: 1,
        open: 1,
        ..ScopeCounts::default()
    };
    assert_eq!(End::StoppedAsRequested(standing).code(), 4);
}

#[test]
fn requested_end_can_be_cancelled() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, Input::Requested(RunRequest::StopAfterIteration), 1);
    let state = world.happens(state, Input::Requested(RunRequest::GoOn), 1);
    assert_eq!(world.finish(state), End::Complete);
    assert_eq!(world.settled.len(), 3);
}

#[test]
fn waiting_run_ends_at_once_on_request() {
    let mut world = World::with_tasks(2);
    let (mut state, _) = State::begin(plan());
    let busy = ClaimAnswer::Busy {
        held: vec![(TaskId::new(1), RunId::new(2))],
    };
    steps(
        &mut state,
        [
            Input::Recovered(Vec::new()),
            Input::OutboxFinished,
            answered(busy.clone()),
        ],
    );
    let waited = world.happens(state.clone(), Input::Requested(RunRequest::StopAfterIteration), 1);
    assert!(matches!(waited.end(), Some(End::StoppedAsRequested(_))), "{waited:?}");
    // The same if requested during the claim.
    let (mut state, _) = State::begin(plan());
    steps(
        &mut state,
        [
            Input::Recovered(Vec::new()),
            Input::OutboxFinished,
            Input::Requested(RunRequest::StopAfterIteration),
        ],
    );
    let ended = world.happens(state, answered(busy), 1);
    assert!(matches!(ended.end(), Some(End::StoppedAsRequested(_))), "{ended:?}");
}

#[test]
fn agent_is_not_started_after_a_requested_end() {
    let mut world = World::with_tasks(2);
    let (mut state, _) = State::begin(plan());
    let effects = steps(
        &mut state,
        [
            Input::Recovered(Vec::new()),
            Input::OutboxFinished,
            answered(claim(1)),
            Input::Requested(RunRequest::StopAfterIteration),
        ],
    );
    assert!(matches!(effects.last(), Some(Effect::Prepare { .. })));
    let prepared = Input::Prepared {
        before: String::new(),
        overflowed_before: false,
        spent_before: ralph_model::Usage::default(),
    };
    let state = world.happens(state, prepared, 1);
    assert!(matches!(state.end(), Some(End::StoppedAsRequested(_))), "{state:?}");
    assert_eq!((count_of(&world, "Spawn"), count_of(&world, "Abandon")), (0, 1));
}
