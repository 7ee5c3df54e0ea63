//! Which models a run uses, whatever has happened in it.

use super::*;

/// A turn with one of several ends, after which the run goes on.
fn any_turn(how: u8, task: u64) -> TurnSummary {
    let mut turn = turn_done(task);
    match how {
        0 => {}
        1 => {
            let id = std::mem::take(&mut turn.control.done).remove(0);
            turn.control.failed = vec![(id, "no".to_owned())];
        }
        2 => turn.control.done = Vec::new(),
        3 => turn.control.done = vec!["t-ffffff".to_owned()],
        4 => turn.end = TurnEnd::TokenLimit,
        _ => turn.end = TurnEnd::Refusal("no".to_owned()),
    }
    turn
}

proptest! {
    /// These strategies depend only on the number of the iteration, not on past failures.
    #[test]
    fn fault_5_no_failure_pins_the_strongest_model(past in prop::collection::vec(0u8..6, 1..20)) {
        for (strategy, first) in [(StrategyName::Fixed, "sonnet"), (StrategyName::PlanThenExecute, "opus")] {
            let mut world = World::with_tasks(past.len() as u64);
            let mut state = world.begin(Plan {
                models: ["haiku", "sonnet", "opus"].map(str::to_owned).to_vec(),
                limits: Limits { no_progress: None, ..Limits::default() },
                strategy,
                ..plan()
            });
            for how in &past {
                let turn = any_turn(*how, world.begun);
                state = world.happens(state, Input::TurnEnded(Box::new(turn)), 1);
            }
            let asked: Vec<_> = world.settled.iter().map(|draft| draft.current.model.as_deref()).collect();
            let mut expected = vec![Some("sonnet"); past.len()];
            expected[0] = Some(first);
            prop_assert_eq!(asked, expected);
        }
    }
}

/// The history of a claimed task.
fn past(failures: u32, done: u32) -> Past {
    Past {
        track_record: ralph_model::TrackRecord {
            consecutive_failures: failures,
            recent: ralph_model::Rate { done, of: 20 },
        },
        failed_on: None,
        similar: None,
    }
}

/// The models of iterations with these histories.
fn models_of(strategy: StrategyName, pasts: &[Past]) -> Vec<Option<String>> {
    let mut world = World::with_tasks(pasts.len() as u64);
    world.past = pasts[0].clone();
    let mut state = world.begin(Plan {
        models: ["haiku", "sonnet", "opus"].map(str::to_owned).to_vec(),
        strategy,
        ..plan()
    });
    for next in pasts.iter().skip(1).chain([&Past::default()]) {
        world.past = next.clone();
        let turn = turn_done(world.begun);
        state = world.happens(state, Input::TurnEnded(Box::new(turn)), 1);
    }
    assert_eq!(state.end(), Some(&End::Complete));
    let settled = world.settled.iter();
    settled.map(|draft| draft.current.model.clone()).collect()
}

#[test]
fn model_depends_on_the_history_of_the_claimed_task() {
    let pasts = [past(0, 20), past(1, 20), past(2, 20), past(0, 10)];
    let flat = |models: Vec<Option<String>>| models.into_iter().flatten().collect::<Vec<_>>();
    let cost = flat(models_of(StrategyName::CostOptimized, &pasts));
    assert_eq!(cost, ["haiku", "sonnet", "opus", "sonnet"]);
    let escalate = flat(models_of(StrategyName::Escalate, &pasts));
    assert_eq!(escalate, ["haiku", "sonnet", "opus", "haiku"]);
    let fixed = flat(models_of(StrategyName::Fixed, &pasts));
    assert_eq!(fixed, ["sonnet"; 4]);
}

#[test]
fn escalate_after_comes_from_the_plan() {
    let mut world = World::with_tasks(1);
    world.past = past(2, 0);
    let state = world.begin(Plan {
        models: ["haiku", "sonnet", "opus"].map(str::to_owned).to_vec(),
        strategy: StrategyName::CostOptimized,
        escalate_after: Some(3),
        ..plan()
    });
    let turn = turn_done(world.begun);
    let ended = world.happens(state, Input::TurnEnded(Box::new(turn)), 1);
    assert_eq!(ended.end(), Some(&End::Complete));
    assert_eq!(world.settled[0].current.model.as_deref(), Some("sonnet"));
    assert_eq!(
        world.settled[0].current.rationale,
        "cost-optimized: 2 failures in a row"
    );
}
