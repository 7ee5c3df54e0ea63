//! Every limit: reached exactly, just short of it, and switched off.

use super::*;
use ralph_model::config::Limits;
use ralph_model::{StopReason, Usage};

fn used(cost_usd: f64, input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        cost_usd,
        input_tokens,
        output_tokens,
    }
}

fn no_limits() -> Limits {
    Limits {
        iterations: None,
        wall_clock: None,
        cost_usd: None,
        tokens: None,
        task_cost_usd: None,
        task_tokens: None,
        iteration_time: None,
        idle_time: None,
        consecutive_failures: None,
        no_progress: None,
        output_bytes: None,
    }
}

fn begun(limits: Limits) -> (World, State) {
    let mut plan = plan();
    plan.limits = limits;
    let mut world = World::with_tasks(1000);
    let state = world.begin(plan);
    (world, state)
}

/// The reason and end of a run whose first agent is stopped by this event; `None` if it continues.
fn stopped_by(limits: Limits, what: Input, second: u64) -> Option<(String, String)> {
    let (mut world, state) = begun(limits);
    let state = world.happens(state, what, second);
    let end = state.end()?.sentence();
    let row = world.settled.pop()?;
    assert_eq!(row.decision.outcome, ralph_model::Outcome::Interrupted);
    Some((row.decision.reason, end))
}

#[track_caller]
fn check(limits: Limits, (short, before): (Input, u64), reached: (Input, u64), sentence: &str) {
    assert_eq!(stopped_by(limits, short, before), None);
    let both = (sentence.to_owned(), sentence.to_owned());
    assert_eq!(
        stopped_by(limits, reached.0.clone(), reached.1),
        Some(both),
        "row and end"
    );
    assert_eq!(stopped_by(no_limits(), reached.0, reached.1), None, "switched off");
}

#[test]
fn run_limits_stop_the_agent() {
    let cost = Limits {
        cost_usd: Some(1.5),
        ..no_limits()
    };
    check(
        cost,
        (Input::Used(used(1.49, 0, 0)), 1),
        (Input::Used(used(1.5, 0, 0)), 1),
        "The limit `[limits] cost_usd = 1.5` is reached: the run has cost $1.50.",
    );
    let tokens = Limits {
        tokens: Some(1000),
        ..no_limits()
    };
    check(
        tokens,
        (Input::Used(used(0.0, 600, 399)), 1),
        (Input::Used(used(0.0, 600, 450)), 1),
        "The limit `[limits] tokens = 1000` is reached: the run has used 1050 tokens.",
    );
    let wall_clock = Limits {
        wall_clock: Some(Duration::from_secs(3600)),
        ..no_limits()
    };
    check(
        wall_clock,
        (Input::Tick, 3599),
        (Input::Tick, 3600),
        "The limit `[limits] wall_clock = 1h` is reached: the run has lasted 1 h.",
    );
}

#[test]
fn task_limits_give_up_the_task() {
    let cost = Limits {
        task_cost_usd: Some(2.0),
        ..no_limits()
    };
    let tokens = Limits {
        task_tokens: Some(1000),
        ..no_limits()
    };
    let cases = [
        (
            cost,
            used(1.0, 0, 0),
            used(0.99, 0, 0),
            used(1.0, 0, 0),
            "task_cost_usd = 2` is reached: the task has cost $2.00.",
        ),
        (
            tokens,
            used(0.0, 500, 0),
            used(0.0, 400, 99),
            used(0.0, 400, 100),
            "task_tokens = 1000` is reached: the task has used 1000 tokens.",
        ),
    ];
    for (limits, before, short, reached, sentence) in cases {
        let mut plan = plan();
        plan.limits = limits;
        let mut world = World::with_tasks(2);
        world.spent_before = before;
        let state = world.begin(plan);
        // Reached while the agent works.
        let state = world.happens(state, Input::Used(short), 1);
        assert_eq!(world.settled.len(), 0);
        let state = world.happens(state, Input::Used(reached), 2);
        let row = world.settled.pop().unwrap();
        assert_eq!(
            (row.decision.task, row.decision.stop),
            (TaskTransition::GiveUp, StopReason::TaskLimit)
        );
        assert_eq!(row.decision.reason, format!("The limit `[limits] {sentence}"));
        // Reported only at the end: finished work stays done.
        let failed = TurnSummary {
            usage: reached,
            end: TurnEnd::Finished,
            ..TurnSummary::lost()
        };
        let failed = TurnSummary { cause: None, ..failed };
        let other = world.happens(state.clone(), Input::TurnEnded(Box::new(failed)), 3);
        let row = world.settled.pop().unwrap();
        assert_eq!(row.decision.task, TaskTransition::GiveUp);
        assert!(
            row.decision
                .reason
                .ends_with(&format!("Gave up. The limit `[limits] {sentence}")),
            "{}",
            row.decision.reason
        );
        drop(other);
        let done = TurnSummary {
            usage: reached,
            ..turn_done(2)
        };
        world.happens(state, Input::TurnEnded(Box::new(done)), 3);
        assert_eq!(world.settled.pop().unwrap().decision.task, TaskTransition::Done);
    }
}

#[test]
fn iteration_limits_stop_only_the_agent() {
    let time = Limits {
        iteration_time: Some(Duration::from_secs(60)),
        ..no_limits()
    };
    let idle = Limits {
        idle_time: Some(Duration::from_secs(60)),
        ..no_limits()
    };
    for (limits, what, cause) in [
        (time, Input::Activity, StopCause::Timeout),
        (idle, Input::Tick, StopCause::Idle),
    ] {
        let (mut world, state) = begun(limits);
        let state = world.happens(state, what.clone(), 59);
        assert_eq!(world.settled.len(), 0);
        let state = world.happens(state, what.clone(), 60);
        assert_eq!((world.settled[0].turn.cause, state.end()), (Some(cause), None));
        let (mut world, state) = begun(no_limits());
        drop(world.happens(state, what, 1 << 30));
        assert_eq!(world.settled.len(), 0, "switched off");
    }
}

/// Lets agents fail or succeed in turn; returns after how many the run ends.
fn iterations_until_the_end(limits: Limits, turns: &[bool]) -> Option<(usize, String)> {
    let (mut world, mut state) = begun(limits);
    for (before, succeeds) in turns.iter().enumerate() {
        let mut turn = turn_done(world.begun);
        turn.usage = used(0.5, 100, 0);
        if !succeeds {
            turn.end = TurnEnd::Refusal("no".to_owned());
        }
        state = world.happens(state, Input::TurnEnded(Box::new(turn)), 1);
        if let Some(end) = state.end() {
            return Some((before + 1, end.sentence()));
        }
    }
    None
}

#[test]
fn limits_are_checked_before_an_agent_starts() {
    let none = no_limits();
    for (limits, after, sentence) in [
        (
            Limits {
                iterations: Some(3),
                ..none
            },
            3,
            "The limit of 3 iterations is reached.",
        ),
        (
            Limits {
                cost_usd: Some(1.0),
                ..none
            },
            2,
            "The limit `[limits] cost_usd = 1` is reached: the run has cost $1.00.",
        ),
        (
            Limits {
                tokens: Some(201),
                ..none
            },
            3,
            "The limit `[limits] tokens = 201` is reached: the run has used 300 tokens.",
        ),
    ] {
        assert_eq!(
            iterations_until_the_end(limits, &[true; 9]),
            Some((after, sentence.to_owned()))
        );
        // A new run starts counting from zero.
        assert_eq!(iterations_until_the_end(limits, &vec![true; after - 1]), None);
    }
    assert_eq!(iterations_until_the_end(none, &[true; 50]), None);
}

#[test]
fn no_agent_starts_after_the_time_limit() {
    let mut plan = plan();
    plan.limits.wall_clock = Some(Duration::from_secs(60));
    let (mut state, _) = State::begin(plan);
    let ClaimAnswer::Claimed(claim) = claim(1) else {
        unreachable!()
    };
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    state.phase = Phase::Preparing(Box::new(Current::of(&RunId::new(1), 1, &claim, chosen)));
    let prepared = Input::Prepared {
        before: String::new(),
        overflowed_before: false,
        spent_before: ralph_model::Usage::default(),
    };
    let effects = state.step(event(Duration::from_secs(60), prepared));
    assert!(matches!(effects.as_slice(), [Effect::Abandon(_)]), "{effects:?}");
}

#[test]
fn bogus_usage_does_not_defer_limits() {
    let ended = |usage| {
        let turn = TurnSummary { usage, ..turn_done(1) };
        Input::TurnEnded(Box::new(turn))
    };
    let limits = Limits {
        cost_usd: Some(5.0),
        tokens: Some(u64::MAX),
        ..no_limits()
    };
    let (mut world, state) = begun(limits);
    let state = world.happens(state, ended(used(3.0, u64::MAX - 1, 0)), 1);
    assert_eq!(state.end(), None);
    let other = world.happens(state.clone(), ended(used(0.0, 5, u64::MAX)), 2);
    assert!(matches!(other.end(), Some(End::Limit(reached)) if reached.key == "tokens"));
    let state = world.happens(state, ended(used(-10.0, 0, 0)), 2);
    let state = world.happens(state, Input::Used(used(2.0, 0, 0)), 3);
    assert!(matches!(state.end(), Some(End::Limit(reached)) if reached.key == "cost_usd"));
}

#[test]
fn run_time_includes_sleep_but_not_clock_changes() {
    let ends = |slept: Duration, jump: i64| {
        let mut plan = plan();
        plan.limits.wall_clock = Some(Duration::from_mins(30));
        let (mut state, _) = State::begin(plan);
        state.phase = Phase::Tidying;
        let mut event = event(Duration::from_mins(1), Input::OutboxFinished);
        event.slept = slept;
        event.now += jiff::SignedDuration::from_hours(jump);
        drop(state.step(event));
        matches!(state.phase, Phase::Counting(_))
    };
    assert!(ends(Duration::from_mins(29), 0));
    assert!(!ends(Duration::from_mins(28), 0));
    assert!(!ends(Duration::ZERO, 1));
    assert!(!ends(Duration::ZERO, -1));
}

#[test]
fn sleep_brings_the_deadline_nearer() {
    let mut plan = plan();
    plan.limits.wall_clock = Some(Duration::from_mins(30));
    let (mut state, _) = State::begin(plan);
    let mut tick = event(Duration::from_mins(1), Input::Tick);
    tick.slept = Duration::from_mins(10);
    drop(state.step(tick));
    assert!(!state.is_out_of_time(Duration::from_mins(29), Duration::ZERO));
    assert!(state.is_out_of_time(Duration::from_mins(20), Duration::from_mins(10)));
}
