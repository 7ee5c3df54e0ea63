//! Waits: how long they are, what ends them, and what becomes of them over a restart.

use super::*;

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

fn overloaded() -> Happening {
    Happening::TurnEnded(Box::new(TurnSummary {
        end: TurnEnd::Transient("503".to_owned()),
        ..turn_done(1)
    }))
}

fn used_up(resets_at: Option<u64>) -> Happening {
    Happening::TurnEnded(Box::new(TurnSummary {
        end: TurnEnd::UsageLimit {
            resets_at: resets_at.map(|second| clock(Duration::from_secs(second))),
            message: String::new(),
        },
        ..turn_done(1)
    }))
}

fn seconds(state: &State) -> u64 {
    let Phase::Waiting(waiting) = &state.phase else {
        panic!("it does not wait: {state:?}")
    };
    waiting.until.at.as_secs()
}

impl World {
    /// Ticks until the wait is over that began at this second; when that is.
    fn sit_out(&mut self, mut state: State) -> (State, u64) {
        loop {
            let due = state.deadline().unwrap();
            let effects = state.step(event(due, Happening::Tick));
            state = self.run(state, effects, due);
            if !matches!(state.phase, Phase::Waiting(_)) {
                return (state, due.as_secs());
            }
        }
    }
}

#[test]
fn eight_failures_of_the_service_in_a_row_end_the_run_and_each_wait_is_up_to_twice_the_last() {
    let mut world = World::with_tasks(20);
    let mut state = world.begin(plan());
    let (mut waits, mut at) = (Vec::new(), 0);
    for _ in 0..8 {
        state = world.happens(state, overloaded(), at);
        if state.end().is_some() {
            break;
        }
        waits.push(seconds(&state) - at);
        (state, at) = world.sit_out(state);
    }
    let most = [5, 10, 20, 40, 80, 160, 300];
    assert_eq!(waits.len(), most.len());
    for (wait, most) in waits.iter().zip(most) {
        assert!((most / 2..=most).contains(wait), "{waits:?}");
    }
    assert_ne!(waits, most, "chance has a say");
    assert_eq!(state.end().map(End::code), Some(1));
    assert_eq!(world.pause, None, "whoever tries again begins to count anew");
}

#[test]
fn failures_in_a_row_are_counted_over_a_restart_and_forgotten_after_a_while() {
    for (later, ends) in [(10, true), (2 * DAY, false)] {
        let mut world = World::with_tasks(20);
        let (mut state, mut at) = (world.begin(plan()), 0);
        for _ in 0..7 {
            state = world.happens(state, overloaded(), at);
            (state, at) = world.sit_out(state);
        }
        // Killed while it worked again: another run begins, after the pause.
        let (mut state, effects) = State::begin(plan());
        at += later;
        state = world.run(state, effects, Duration::from_secs(at));
        state = world.happens(state, overloaded(), at);
        assert_eq!(state.end().is_some(), ends, "{later} s later");
    }
}

#[test]
fn a_success_of_the_agent_lifts_the_pause_and_an_interrupt_does_not() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, overloaded(), 0);
    let (mut state, at) = world.sit_out(state);
    assert!(world.pause.is_some());
    let mut other = world.happens(state.clone(), Happening::Interrupt, at);
    assert_eq!(other.end(), Some(&End::Interrupted));
    assert!(world.pause.is_some());
    other = world.happens(state, Happening::TurnEnded(Box::new(turn_done(2))), at);
    assert_eq!((world.pause.as_ref(), other.end()), (None, None));
    state = other;
    state = world.happens(state, overloaded(), at);
    assert_eq!(world.pause.as_ref().map(|pause| pause.what.times), Some(1), "{state:?}");
}

#[test]
fn a_usage_limit_is_waited_for_until_a_little_after_it_is_over() {
    let mut world = World::with_tasks(1);
    world.tasks = 2;
    let state = world.begin(plan());
    let state = world.happens(state, used_up(Some(3600)), 10);
    let pause = world.pause.clone().unwrap();
    assert_eq!(pause.what.until, clock(Duration::from_secs(3600)));
    assert!((3603..=3630).contains(&seconds(&state)), "{}", seconds(&state));
    // Others who wait for the same start at other moments.
    let starts: std::collections::BTreeSet<u64> = (0..20)
        .map(|seed| {
            let mut plan = plan();
            plan.run = RunId::new(2);
            plan.seed = seed;
            let (state, effects) = State::begin(plan);
            seconds(&world.run(state, effects, Duration::from_secs(20)))
        })
        .collect();
    assert!(starts.len() > 5, "{starts:?}");
    assert!(starts.iter().all(|start| (3603..=3630).contains(start)), "{starts:?}");
}

#[test]
fn an_end_of_a_usage_limit_that_cannot_be_is_one_that_nobody_tells() {
    for (resets_at, expected) in [
        (None, 5 * MINUTE),
        (Some(DAY - 1), 5 * MINUTE),
        (Some(DAY), 5 * MINUTE),
        (Some(DAY + 8 * DAY + 1), 5 * MINUTE),
        (Some(DAY + 8 * DAY), 8 * DAY),
        (Some(DAY + 1), 1),
    ] {
        let mut world = World::with_tasks(2);
        let state = world.begin(plan());
        drop(world.happens(state, used_up(resets_at), DAY));
        let until = world.pause.unwrap().what.until;
        assert_eq!(until, clock(Duration::from_secs(DAY + expected)), "{resets_at:?}");
    }
}

#[test]
fn waits_for_an_unknown_end_double_up_to_an_hour() {
    let mut world = World::with_tasks(20);
    let (mut state, mut at) = (world.begin(plan()), 0);
    let mut waits = Vec::new();
    for _ in 0..6 {
        state = world.happens(state, used_up(None), at);
        let until = world.pause.as_ref().unwrap().what.until;
        waits.push(until.duration_since(clock(Duration::from_secs(at))).as_mins());
        (state, at) = world.sit_out(state);
    }
    assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
}

/// What a tick does to a wait that should last an hour, at this second of both clocks.
fn tick_at(at: u64, now: i64) -> (State, World) {
    let mut world = World::with_tasks(2);
    let state = world.begin(plan());
    let mut state = world.happens(state, used_up(Some(3600)), 0);
    let effects = state.step(Event {
        at: Duration::from_secs(at),
        now: Timestamp::from_second(now).unwrap(),
        slept: Duration::ZERO,
        what: Happening::Tick,
    });
    let mut open: VecDeque<Effect> = effects.into();
    while let Some(effect) = open.pop_front() {
        let now = Timestamp::from_second(now).unwrap();
        if let Some(what) = world.answer(&effect, now) {
            let at = Duration::from_secs(at);
            open.extend(state.step(Event {
                at,
                now,
                slept: Duration::ZERO,
                what,
            }));
        }
    }
    (state, world)
}

#[test]
fn a_wait_is_over_when_either_clock_says_so() {
    for (at, now, is_over) in [
        (30, 30, false),
        // The computer slept, or the clock was put forward.
        (31, 3631, true),
        // The clock was set back by a day.
        (3631, 3631 - 86_400, true),
        (30, 30 - 86_400, false),
        (3599, 3599, false),
    ] {
        let (state, world) = tick_at(at, now);
        assert_eq!(
            matches!(state.phase, Phase::Working(_)),
            is_over,
            "{at} {now} {:?}",
            world.told
        );
        assert_eq!(matches!(state.phase, Phase::Waiting(_)), !is_over);
    }
}

#[test]
fn a_wait_looks_at_the_clock_as_often_as_it_is_watched() {
    for (look, due) in [(1, 1), (30, 30), (7200, 3630)] {
        let mut plan = plan();
        plan.pace.look = Duration::from_secs(look);
        let mut world = World::with_tasks(2);
        let state = world.begin(plan);
        let state = world.happens(state, used_up(Some(3600)), 0);
        let deadline = state.deadline().unwrap().as_secs();
        assert!(deadline <= due && deadline + 30 > due, "{deadline}");
        let state = world.happens(state, Happening::Tick, 50);
        assert!(matches!(world.told.last(), Some(Notice::StillWaits(wait)) if wait.left.as_secs() >= 3550));
        assert!(state.deadline().unwrap().as_secs() >= 51);
    }
}

#[test]
fn a_pause_that_another_run_lifts_is_over_and_one_that_it_prolongs_is_longer() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, used_up(Some(3600)), 0);
    let said = world.told.len();
    let state = world.happens(state, Happening::Tick, 61);
    assert!(matches!(state.phase, Phase::Waiting(_)), "it was asked, and it holds");
    assert!(matches!(world.told.get(said..), Some([Notice::StillWaits(_)])));
    let mut lifted = world;
    let longer = lifted.pause.clone().map(|mut pause| {
        pause.what.until = clock(Duration::from_secs(9000));
        pause.run = RunId::new(2);
        pause
    });
    lifted.pause = longer;
    let state = lifted.happens(state, Happening::Tick, 122);
    assert!(seconds(&state) > 9000);
    lifted.pause = None;
    let state = lifted.happens(state, Happening::Tick, 183);
    assert!(matches!(state.phase, Phase::Working(_)));
}

#[test]
fn whoever_does_not_want_to_wait_tries_at_once_and_once() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    drop(world.happens(state, used_up(Some(3600)), 0));
    let mut hurried = plan();
    hurried.first_try = FirstTry::AtOnce;
    let state = world.begin(hurried);
    assert!(matches!(state.phase, Phase::Working(_)));
    let state = world.happens(state, used_up(Some(3600)), 0);
    assert!(matches!(state.phase, Phase::Waiting(_)));
}

#[test]
fn a_wait_ends_with_the_time_of_the_run_and_with_ctrl_c() {
    let mut limited = plan();
    limited.limits.wall_clock = Some(Duration::from_secs(100));
    for (what, second, expected) in [
        (
            Happening::Tick,
            100,
            "The limit `[limits] wall_clock = 1m40s` is reached: the run has lasted 1 min 40 s.",
        ),
        (Happening::Interrupt, 50, "It was stopped."),
    ] {
        let mut world = World::with_tasks(2);
        let state = world.begin(limited.clone());
        let state = world.happens(state, used_up(Some(3600)), 0);
        let state = world.happens(state, what, second);
        assert_eq!(state.end().map(End::sentence).as_deref(), Some(expected));
        assert!(world.pause.is_some(), "the next run waits for the rest");
    }
}

fn crashed() -> Happening {
    Happening::TurnEnded(Box::new(TurnSummary {
        end: TurnEnd::Crash("it broke".to_owned()),
        ..turn_done(1)
    }))
}

fn logged_out() -> Happening {
    Happening::TurnEnded(Box::new(TurnSummary {
        end: TurnEnd::Auth("nobody is logged in".to_owned()),
        ..turn_done(1)
    }))
}

#[test]
fn a_turn_in_which_the_model_did_not_answer_neither_lifts_nor_shortens_a_pause() {
    for what in [crashed(), logged_out(), overloaded(), used_up(None)] {
        let mut world = World::with_tasks(3);
        let state = world.begin(plan());
        drop(world.happens(state, used_up(Some(36_000)), 0));
        let known = world.pause.clone();
        let mut hurried = plan();
        hurried.run = RunId::new(2);
        hurried.first_try = FirstTry::AtOnce;
        let state = world.begin(hurried);
        let state = world.happens(state, what.clone(), 1);
        assert_eq!(world.pause, known, "{what:?}");
        assert!(!matches!(state.phase, Phase::Working(_)), "{what:?}");
    }
}

#[test]
fn a_crash_between_failures_of_the_service_does_not_let_the_count_begin_anew() {
    let mut world = World::with_tasks(20);
    let (mut state, mut at) = (world.begin(plan()), 0);
    for _ in 0..7 {
        state = world.happens(state, overloaded(), at);
        (state, at) = world.sit_out(state);
    }
    state = world.happens(state, crashed(), at);
    assert_eq!(state.end(), None);
    state = world.happens(state, overloaded(), at);
    assert_eq!(state.end().map(End::code), Some(1));
}

/// What becomes of the pause when a run settles this turn of a dead one, which began with this pause.
fn settled_for_the_dead(turn: Happening, pause: Option<Pause>, second: u64) -> World {
    let Happening::TurnEnded(turn) = turn else {
        unreachable!()
    };
    let ClaimAnswer::Claimed(claim) = claim(7) else {
        unreachable!()
    };
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    let mut current = Current::of(&RunId::new(99), 4, &claim, chosen);
    current.pause.clone_from(&pause);
    let mut world = World::with_tasks(3);
    world.pause = pause;
    let (state, _) = State::begin(plan());
    let left = Happening::Recovered(vec![Left::Ended(Box::new(current), turn)]);
    let state = world.happens(state, left, second);
    assert_eq!(state.end(), None);
    world
}

#[test]
fn a_limit_that_a_dead_run_met_and_that_is_over_is_not_waited_for() {
    let world = settled_for_the_dead(used_up(Some(3600)), None, 9 * 3600);
    assert_eq!((world.pause, world.begun), (None, 1));
    let world = settled_for_the_dead(used_up(Some(3600)), None, 60);
    assert_eq!(
        world.pause.map(|pause| pause.what.until),
        Some(clock(Duration::from_secs(3600)))
    );
}

#[test]
fn the_last_failure_of_the_service_that_a_dead_run_met_is_waited_for_and_the_next_is_the_end() {
    let pause = Pause {
        agent: "claude".to_owned(),
        what: NewPause {
            reason: PauseReason::Transient,
            until: clock(Duration::from_secs(50)),
            times: 7,
            said: String::new(),
        },
        run: RunId::new(99),
        created_at: clock(Duration::ZERO),
    };
    let world = settled_for_the_dead(overloaded(), Some(pause), 60);
    let pause = world.pause.unwrap();
    assert_eq!((pause.what.times, world.begun), (7, 0));
    assert!(pause.what.until > clock(Duration::from_secs(60)));
}
