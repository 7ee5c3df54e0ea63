//! Waits: how long they are, what ends them, and how they survive a restart.

use super::*;

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

fn overloaded() -> Input {
    Input::TurnEnded(Box::new(TurnSummary {
        end: TurnEnd::Transient("503".to_owned()),
        ..turn_done(1)
    }))
}

fn used_up(resets_at: Option<u64>) -> Input {
    Input::TurnEnded(Box::new(TurnSummary {
        end: TurnEnd::UsageLimit {
            resets_at: resets_at.map(|second| clock(Duration::from_secs(second))),
            message: String::new(),
        },
        ..turn_done(1)
    }))
}

fn seconds(state: &State) -> u64 {
    let Phase::Waiting(waiting) = &state.phase else {
        panic!("the run does not wait: {state:?}")
    };
    waiting.until.at.as_secs()
}

impl World {
    /// Ticks until the wait is over; returns when that is.
    fn sit_out(&mut self, mut state: State) -> (State, u64) {
        loop {
            let due = state.deadline().unwrap();
            let effects = state.step(event(due, Input::Tick));
            state = self.run(state, effects, due);
            if !matches!(state.phase, Phase::Waiting(_)) {
                return (state, due.as_secs());
            }
        }
    }
}

#[test]
fn eight_consecutive_service_failures_end_the_run() {
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
    assert_ne!(waits, most, "waits have jitter");
    assert_eq!(state.end().map(End::code), Some(1));
    assert_eq!(world.pause, None, "the next run starts counting from zero");
}

#[test]
fn service_failures_are_counted_across_restarts() {
    for (later, ends) in [(10, true), (2 * DAY, false)] {
        let mut world = World::with_tasks(20);
        let (mut state, mut at) = (world.begin(plan()), 0);
        for _ in 0..7 {
            state = world.happens(state, overloaded(), at);
            (state, at) = world.sit_out(state);
        }
        // Killed while it worked again: another run starts after the pause.
        let (mut state, effects) = State::begin(plan());
        at += later;
        state = world.run(state, effects, Duration::from_secs(at));
        state = world.happens(state, overloaded(), at);
        assert_eq!(state.end().is_some(), ends, "{later} s later");
    }
}

#[test]
fn success_lifts_the_pause_but_interrupt_does_not() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, overloaded(), 0);
    let (mut state, at) = world.sit_out(state);
    assert!(world.pause.is_some());
    let mut other = world.happens(state.clone(), Input::Interrupt, at);
    assert_eq!(other.end(), Some(&End::Interrupted));
    assert!(world.pause.is_some());
    other = world.happens(state, Input::TurnEnded(Box::new(turn_done(2))), at);
    assert_eq!((world.pause.as_ref(), other.end()), (None, None));
    state = other;
    state = world.happens(state, overloaded(), at);
    assert_eq!(world.pause.as_ref().map(|pause| pause.what.times), Some(1), "{state:?}");
}

#[test]
fn usage_limit_wait_has_jitter() {
    let mut world = World::with_tasks(1);
    world.tasks = 2;
    let state = world.begin(plan());
    let state = world.happens(state, used_up(Some(3600)), 10);
    let pause = world.pause.clone().unwrap();
    assert_eq!(pause.what.until, clock(Duration::from_secs(3600)));
    assert!((3603..=3630).contains(&seconds(&state)), "{}", seconds(&state));
    // Other runs that wait for the same limit start at different times.
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
fn implausible_reset_time_is_ignored() {
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

/// The effect of a tick on a wait of one hour, at this second of both clocks.
fn tick_at(at: u64, now: i64) -> (State, World) {
    let mut world = World::with_tasks(2);
    let state = world.begin(plan());
    let mut state = world.happens(state, used_up(Some(3600)), 0);
    let effects = state.step(Event {
        at: Duration::from_secs(at),
        now: Timestamp::from_second(now).unwrap(),
        slept: Duration::ZERO,
        what: Input::Tick,
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
fn wait_ends_when_either_clock_says_so() {
    for (at, now, is_over) in [
        (30, 30, false),
        // The computer slept, or the clock was set forward.
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
            world.notices
        );
        assert_eq!(matches!(state.phase, Phase::Waiting(_)), !is_over);
    }
}

#[test]
fn wait_checks_the_clock_as_configured() {
    for (check, due) in [(1, 1), (30, 30), (7200, 3630)] {
        let mut plan = plan();
        plan.wait_times.clock_check = Duration::from_secs(check);
        let mut world = World::with_tasks(2);
        let state = world.begin(plan);
        let state = world.happens(state, used_up(Some(3600)), 0);
        let deadline = state.deadline().unwrap().as_secs();
        assert!(deadline <= due && deadline + 30 > due, "{deadline}");
        let state = world.happens(state, Input::Tick, 50);
        assert!(matches!(world.notices.last(), Some(Notice::StillWaits(wait)) if wait.left.as_secs() >= 3550));
        assert!(state.deadline().unwrap().as_secs() >= 51);
    }
}

#[test]
fn other_runs_can_lift_or_extend_a_pause() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, used_up(Some(3600)), 0);
    let before = world.notices.len();
    let state = world.happens(state, Input::Tick, 61);
    assert!(matches!(state.phase, Phase::Waiting(_)), "the pause is still active");
    assert!(matches!(world.notices.get(before..), Some([Notice::StillWaits(_)])));
    let mut lifted = world;
    let longer = lifted.pause.clone().map(|mut pause| {
        pause.what.until = clock(Duration::from_secs(9000));
        pause.run = RunId::new(2);
        pause
    });
    lifted.pause = longer;
    let state = lifted.happens(state, Input::Tick, 122);
    assert!(seconds(&state) > 9000);
    lifted.pause = None;
    let state = lifted.happens(state, Input::Tick, 183);
    assert!(matches!(state.phase, Phase::Working(_)));
}

#[test]
fn at_once_ignores_a_pause_only_once() {
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
fn wait_ends_with_the_time_limit_and_ctrl_c() {
    let mut limited = plan();
    limited.limits.wall_clock = Some(Duration::from_secs(100));
    for (what, second, expected) in [
        (
            Input::Tick,
            100,
            "The limit `[limits] wall_clock = 1m40s` is reached: the run has lasted 1 min 40 s.",
        ),
        (Input::Interrupt, 50, "Stopped on request."),
    ] {
        let mut world = World::with_tasks(2);
        let state = world.begin(limited.clone());
        let state = world.happens(state, used_up(Some(3600)), 0);
        let state = world.happens(state, what, second);
        assert_eq!(state.end().map(End::sentence).as_deref(), Some(expected));
        assert!(world.pause.is_some(), "the next run waits for the rest");
    }
}

fn crashed() -> Input {
    Input::TurnEnded(Box::new(TurnSummary {
        end: TurnEnd::Crash("it broke".to_owned()),
        ..turn_done(1)
    }))
}

fn logged_out() -> Input {
    Input::TurnEnded(Box::new(TurnSummary {
        end: TurnEnd::Auth("not logged in".to_owned()),
        ..turn_done(1)
    }))
}

#[test]
fn unanswered_turn_does_not_change_a_pause() {
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
fn crash_does_not_reset_the_service_failure_count() {
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

/// The world after a run settles this turn of a dead run, which began with this pause.
fn settled_for_dead_run(turn: Input, pause: Option<Pause>, second: u64) -> World {
    let Input::TurnEnded(turn) = turn else { unreachable!() };
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
    let left = Input::Recovered(vec![Leftover::Ended(Box::new(current), turn)]);
    let state = world.happens(state, left, second);
    assert_eq!(state.end(), None);
    world
}

#[test]
fn expired_limit_of_a_dead_run_is_not_waited_for() {
    let world = settled_for_dead_run(used_up(Some(3600)), None, 9 * 3600);
    assert_eq!((world.pause, world.begun), (None, 1));
    let world = settled_for_dead_run(used_up(Some(3600)), None, 60);
    assert_eq!(
        world.pause.map(|pause| pause.what.until),
        Some(clock(Duration::from_secs(3600)))
    );
}

#[test]
fn last_service_failure_of_a_dead_run_is_waited_for() {
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
    let world = settled_for_dead_run(overloaded(), Some(pause), 60);
    let pause = world.pause.unwrap();
    assert_eq!((pause.what.times, world.begun), (7, 0));
    assert!(pause.what.until > clock(Duration::from_secs(60)));
}
