//! The look of a second session at finished work: when there is one, how it is stopped, and what follows from its word.

use super::*;
use crate::settle::{StopRun, Then};
use ralph_model::{Outcome, StopReason};

fn verified_by(verifier: WhoVerifies) -> Plan {
    Plan {
        verifier,
        commit: Commit::Task,
        ..plan()
    }
}

/// A run with so many tasks whose first turn is over, and whose work is being looked at.
fn looking(world: &mut World, plan: Plan) -> State {
    let state = world.begin(plan);
    let state = world.happens(state, Happening::TurnEnded(Box::new(turn_done(1))), 10);
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
fn what_passes_is_committed_and_done_only_then() {
    let mut world = World::with_tasks(1);
    let state = looking(&mut world, verified_by(WhoVerifies::SameAgent));
    assert_eq!(world.done.last().unwrap(), "Verify");
    let state = world.happens(state, looked(TurnEnd::Finished, Some(Verdict::Pass)), 20);
    let draft = &world.settled[0];
    assert_eq!((draft.ruling.outcome, draft.ruling.task), (Outcome::Done, Fate::Done));
    assert_eq!(draft.commit, Some(Ok("c".to_owned())));
    assert_eq!(state.end(), Some(&End::Complete));
}

#[test]
fn what_is_refused_is_neither_committed_nor_done_and_the_run_goes_on() {
    let mut world = World::with_tasks(2);
    let state = looking(&mut world, verified_by(WhoVerifies::SameAgent));
    let refused = looked(TurnEnd::Finished, Some(Verdict::Fail("a test is gone".to_owned())));
    let state = world.happens(state, refused, 20);
    let ruling = &world.settled[0].ruling;
    assert_eq!((ruling.outcome, ruling.task), (Outcome::Retried, Fate::Attempt));
    assert_eq!(ruling.reason, "The verifier refused: a test is gone.");
    assert!(!world.done.contains(&"Commit".to_owned()));
    assert!(matches!(state.phase, Phase::Working(_)), "{:?}", state.phase);
}

#[test]
fn nobody_looks_at_what_is_not_done() {
    let mut parts = verified_by(WhoVerifies::SameAgent);
    parts.limits.iterations = Some(1);
    let mut failed = turn_done(1);
    failed.control.done.clear();
    let mut world = World::with_tasks(1);
    let state = world.begin(parts);
    world.happens(state, Happening::TurnEnded(Box::new(failed)), 1);
    assert!(!world.done.contains(&"Verify".to_owned()));
    assert_eq!(world.settled.len(), 1);
}

#[test]
fn its_time_and_its_silence_are_limited_as_an_agents_are() {
    for (signs, due, cause) in [
        (vec![], 910, StopCause::Idle),
        (
            vec![800, 1600, 2400, 3200, 4000, 4800, 5600, 6400, 7200],
            7210,
            StopCause::Timeout,
        ),
    ] {
        let mut world = World::with_tasks(1);
        let mut state = looking(&mut world, verified_by(WhoVerifies::SameAgent));
        for sign in signs {
            state = world.happens(state, Happening::Sign, sign);
        }
        assert_eq!(state.deadline(), Some(Duration::from_secs(due)));
        world.happens(state, Happening::Tick, due);
        let draft = &world.settled[0];
        assert_eq!(draft.verification.as_ref().unwrap().cause, Some(cause));
        assert_eq!(
            (draft.ruling.outcome, draft.ruling.task),
            (Outcome::Retried, Fate::Attempt)
        );
    }
}

#[test]
fn what_it_uses_counts_for_the_limits_of_the_run() {
    let mut limited = verified_by(WhoVerifies::SameAgent);
    limited.limits.cost_usd = Some(3.0);
    let costs = |cost_usd| Usage {
        cost_usd,
        ..Usage::default()
    };
    let mut world = World::with_tasks(2);
    let state = world.begin(limited);
    let mut turn = turn_done(1);
    turn.usage = costs(2.0);
    let state = world.happens(state, Happening::TurnEnded(Box::new(turn)), 1);
    let state = world.happens(state, Happening::Used(costs(0.5)), 2);
    assert!(matches!(state.phase, Phase::Verifying(_)));
    let state = world.happens(state, Happening::Used(costs(1.0)), 3);
    let ruling = &world.settled[0].ruling;
    assert_eq!(
        (ruling.outcome, ruling.stop),
        (Outcome::Interrupted, StopReason::RunLimit)
    );
    assert_eq!(ruling.task, Fate::Again);
    let said = "The limit `[limits] cost_usd = 3` is reached: it has cost $3.00.";
    assert_eq!(ruling.reason, said);
    assert_eq!(state.end().map(End::code), Some(4));
}

#[test]
fn what_the_turn_used_up_leaves_nothing_for_a_look() {
    let mut limited = verified_by(WhoVerifies::SameAgent);
    limited.limits.tokens = Some(10);
    let mut world = World::with_tasks(2);
    let state = world.begin(limited);
    let mut turn = turn_done(1);
    turn.usage.output_tokens = 10;
    world.happens(state, Happening::TurnEnded(Box::new(turn)), 1);
    assert!(!world.done.contains(&"Verify".to_owned()));
    assert_eq!(world.settled[0].ruling.stop, StopReason::RunLimit);
}

#[test]
fn both_are_counted_when_it_is_settled() {
    let mut world = World::with_tasks(1);
    let state = world.begin(verified_by(WhoVerifies::SameAgent));
    let mut turn = turn_done(1);
    turn.usage.input_tokens = 7;
    let state = world.happens(state, Happening::TurnEnded(Box::new(turn)), 1);
    let Happening::Verified(mut found) = looked(TurnEnd::Finished, Some(Verdict::Pass)) else {
        unreachable!()
    };
    found.usage.input_tokens = 5;
    let state = world.happens(state, Happening::Verified(found), 2);
    assert_eq!(world.settled[0].usage().input_tokens, 12);
    assert_eq!(state.spent.input_tokens, 12);
}

#[test]
fn an_interrupt_stops_it_and_the_second_at_once() {
    let mut world = World::with_tasks(2);
    let mut state = looking(&mut world, verified_by(WhoVerifies::SameAgent));
    let at = Duration::from_secs(11);
    assert_eq!(state.step(event(at, Happening::Interrupt)), [Effect::StopAgent]);
    assert_eq!(state.step(event(at, Happening::Interrupt)), [Effect::KillAgent]);
    // Whatever it still says.
    let state = world.happens(state, looked(TurnEnd::Finished, Some(Verdict::Pass)), 12);
    let ruling = &world.settled[0].ruling;
    assert_eq!((ruling.outcome, ruling.task), (Outcome::Interrupted, Fate::Again));
    assert_eq!(ruling.then, Then::Stop(StopRun::Interrupt));
    assert_eq!(state.end(), Some(&End::Interrupted));
}

#[test]
fn an_interrupt_before_it_or_while_it_starts_leaves_no_word_on_the_work() {
    for moment in ["Examine", "Verify"] {
        let mut world = World::with_tasks(2);
        let mut state = world.begin(verified_by(WhoVerifies::SameAgent));
        let ended = Happening::TurnEnded(Box::new(turn_done(1)));
        let mut open: VecDeque<Effect> = state.step(event(Duration::ZERO, ended)).into();
        while let Some(effect) = open.pop_front() {
            let answer = world.answer(&effect, clock(Duration::ZERO));
            if world.done.last().unwrap() == moment {
                open.extend(state.step(event(Duration::ZERO, Happening::Interrupt)));
            }
            open.extend(
                answer
                    .map(|what| state.step(event(Duration::ZERO, what)))
                    .unwrap_or_default(),
            );
        }
        assert_eq!(world.settled[0].ruling.outcome, Outcome::Interrupted, "{moment}");
        assert_eq!(world.done.contains(&"Verify".to_owned()), moment == "Verify");
        assert_eq!(state.end(), Some(&End::Interrupted));
    }
}

#[test]
fn a_usage_limit_of_the_same_agent_pauses_it() {
    let mut world = World::with_tasks(2);
    let state = looking(&mut world, verified_by(WhoVerifies::SameAgent));
    let state = world.happens(state, looked(usage_limit(), None), 20);
    let draft = &world.settled[0];
    assert_eq!(
        (draft.ruling.outcome, draft.ruling.stop),
        (Outcome::Interrupted, StopReason::UsageLimit)
    );
    assert!(matches!(&draft.pause, PauseChange::Put(pause) if pause.until == clock(Duration::from_secs(500))));
    assert_eq!(draft.verifier_pause, PauseChange::Keep);
    assert!(matches!(state.phase, Phase::Waiting(_)), "{:?}", state.phase);
}

#[test]
fn a_usage_limit_of_another_agent_pauses_that_one() {
    let mut world = World::with_tasks(2);
    let state = looking(&mut world, verified_by(WhoVerifies::Another));
    world.happens(state, looked(usage_limit(), None), 20);
    let draft = &world.settled[0];
    assert_eq!(
        draft.pause,
        PauseChange::Lift,
        "the agent was there to the end of its turn"
    );
    let PauseChange::Put(pause) = &draft.verifier_pause else {
        panic!("{draft:?}")
    };
    assert_eq!((pause.reason, pause.times), (PauseReason::UsageLimit, 1));
    assert!(
        pause.said.starts_with("The verifier, claude, could not look."),
        "{}",
        pause.said
    );
}

#[test]
fn a_service_of_another_agent_that_fails_for_the_eighth_time_ends_the_run() {
    let known = |times| Pause {
        agent: "looker".to_owned(),
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
        let mut state = looking(&mut world, verified_by(WhoVerifies::Another));
        if let Phase::Verifying(verifying) = &mut state.phase {
            verifying.draft.current.verifier_pause = Some(known(times));
        }
        let state = world.happens(state, looked(TurnEnd::Transient("503".to_owned()), None), 20);
        assert_eq!(state.end().is_some(), ends, "{:?}", state.phase);
    }
}

#[test]
fn a_login_that_is_missing_ends_the_run_and_is_not_held_against_the_work() {
    let mut world = World::with_tasks(2);
    let state = looking(&mut world, verified_by(WhoVerifies::Another));
    let state = world.happens(state, looked(TurnEnd::Auth("no key".to_owned()), None), 20);
    assert_eq!(world.settled[0].ruling.task, Fate::Again);
    assert_eq!(state.end().map(End::code), Some(1));
}

#[test]
fn it_is_asked_again_when_there_is_room() {
    let mut world = World::with_tasks(1);
    let mut state = looking(&mut world, verified_by(WhoVerifies::SameAgent));
    let in_vain = Happening::LookedWithoutRoom(look_of(5, TurnEnd::Finished, None));
    assert_eq!(state.step(event(Duration::ZERO, in_vain)), [Effect::FindRoom]);
    let again = state.step(event(Duration::ZERO, Happening::RoomFound));
    assert!(matches!(again[..], [Effect::Verify(_)]), "{again:?}");
    let state = world.run(state, again, Duration::ZERO);
    assert!(matches!(state.phase, Phase::Verifying(_)));
    // What the first one used was used.
    let found = look_of(2, TurnEnd::Finished, Some(Verdict::Pass));
    let state = world.happens(state, Happening::Verified(found), 1);
    let draft = &world.settled[0];
    assert_eq!((draft.usage().input_tokens, draft.looking_ms()), (7, 7000));
    assert_eq!(state.spent.input_tokens, 7);
}

/// A look that used so many tokens, and as many seconds.
fn look_of(used: u64, end: TurnEnd, verdict: Option<Verdict>) -> Box<Verification> {
    let Happening::Verified(mut found) = looked(end, verdict) else {
        unreachable!()
    };
    found.usage.input_tokens = used;
    found.duration_ms = used * 1000;
    found
}

#[test]
fn one_that_cannot_be_started_ends_the_run_and_the_work_is_settled() {
    let mut world = World::with_tasks(2);
    let mut state = world.begin(verified_by(WhoVerifies::Another));
    let mut open = VecDeque::from([Happening::TurnEnded(Box::new(turn_done(1)))]);
    while let Some(what) = open.pop_front() {
        for effect in state.step(event(Duration::ZERO, what)) {
            let answer = world.answer(&effect, clock(Duration::ZERO));
            open.extend(match effect {
                Effect::Verify(_) => Some(Happening::VerifierUnusable("looker: no such file.".to_owned())),
                _ => answer,
            });
        }
    }
    let ruling = &world.settled[0].ruling;
    assert_eq!((ruling.outcome, ruling.task), (Outcome::Interrupted, Fate::Again));
    let reason = "The verifier cannot be started: looker: no such file. `[verify] verifier` names who looks at finished \
                  work; --no-verify goes without.";
    assert_eq!(ruling.reason, reason);
    assert_eq!(state.end(), Some(&End::Error(reason.to_owned())));
}

#[test]
fn what_a_dead_run_left_waits_for_the_end_of_the_verifiers_pause() {
    let until = clock(Duration::from_secs(500));
    let pause = Pause {
        agent: "looker".to_owned(),
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
        let Left::Ended(mut current, _) = left_of_dead_run(turn_done(7)) else {
            unreachable!()
        };
        current.verifier_pause = Some(pause.clone());
        let mut world = World::with_tasks(3);
        let (state, _) = State::begin(Plan {
            first_try,
            ..verified_by(WhoVerifies::Another)
        });
        let left = vec![Left::Ended(current, Box::new(turn))];
        let state = world.happens(state, Happening::Recovered(left), 0);
        (world, state)
    };
    let (mut world, state) = begin(FirstTry::AfterThePause, turn_done(7));
    assert!(matches!(state.phase, Phase::Waiting(_)), "{:?}", state.phase);
    // Not even the gates are asked, and no other task is begun meanwhile.
    let state = world.happens(state, Happening::Tick, 100);
    assert_eq!(world.done, ["Tell", "Tell"]);
    let state = world.happens(state, Happening::Tick, 600);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    let state = world.happens(state, looked(TurnEnd::Finished, Some(Verdict::Pass)), 601);
    assert_eq!(world.settled[0].ruling.task, Fate::Done);
    assert!(matches!(state.phase, Phase::Working(_)), "{:?}", state.phase);
    // Whoever wants it at once, and what is not looked at, does not wait.
    let (_, state) = begin(FirstTry::AtOnce, turn_done(7));
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    let (world, _) = begin(FirstTry::AfterThePause, TurnSummary::lost());
    assert_eq!(world.settled.len(), 1);
}

fn left_of_dead_run(turn: TurnSummary) -> Left {
    let ClaimAnswer::Claimed(claim) = claim(7) else {
        unreachable!()
    };
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    let current = Current::of(&RunId::new(99), 4, &claim, chosen);
    Left::Ended(Box::new(current), Box::new(turn))
}

#[test]
fn what_a_dead_run_left_is_looked_at_by_this_one_which_pays_for_it() {
    let mut turn = turn_done(7);
    turn.usage.input_tokens = 100;
    let left = left_of_dead_run(turn);
    let mut world = World::with_tasks(0);
    let (state, _) = State::begin(verified_by(WhoVerifies::SameAgent));
    let state = world.happens(state, Happening::Recovered(vec![left]), 0);
    let Happening::Verified(mut found) = looked(TurnEnd::Finished, Some(Verdict::Pass)) else {
        unreachable!()
    };
    found.usage.input_tokens = 5;
    let state = world.happens(state, Happening::Verified(found), 1);
    assert_eq!(world.settled[0].ruling.task, Fate::Done);
    assert_eq!(state.spent.input_tokens, 5);
}

#[test]
fn a_limit_of_the_task_does_not_stop_the_verifier() {
    let mut plan = verified_by(WhoVerifies::SameAgent);
    plan.limits.task_tokens = Some(1000);
    let mut world = World::with_tasks(1);
    let state = looking(&mut world, plan);
    let used = Usage {
        input_tokens: 5000,
        ..Usage::default()
    };
    let state = world.happens(state, Happening::Used(used), 20);
    assert!(matches!(state.phase, Phase::Verifying(_)), "{:?}", state.phase);
    world.happens(state, looked(TurnEnd::Finished, Some(Verdict::Pass)), 30);
    assert_eq!(world.settled[0].ruling.task, Fate::Done);
}
