//! Which models a run asks for, whatever has happened in it.

use super::*;

/// A turn that ends as chance wants it, and after which the run goes on.
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
    /// A failure in the past decides nothing: these strategies look at nothing but the number of the iteration.
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
                state = world.happens(state, Happening::TurnEnded(Box::new(turn)), 1);
            }
            let asked: Vec<_> = world.settled.iter().map(|draft| draft.current.model.as_deref()).collect();
            let mut expected = vec![Some("sonnet"); past.len()];
            expected[0] = Some(first);
            prop_assert_eq!(asked, expected);
        }
    }
}

/// What the driver says of the past of the task that it has claimed.
fn past(failures: u32, done: u32) -> Past {
    Past {
        course: ralph_model::Course {
            consecutive_failures: failures,
            recent: ralph_model::Rate { done, of: 20 },
        },
        failed_on: None,
        like: None,
    }
}

/// The models of iterations, each claimed with this past.
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
        state = world.happens(state, Happening::TurnEnded(Box::new(turn)), 1);
    }
    assert_eq!(state.end(), Some(&End::Complete));
    let settled = world.settled.iter();
    settled.map(|draft| draft.current.model.clone()).collect()
}

#[test]
fn the_model_is_chosen_by_the_past_of_the_task_that_was_claimed() {
    let pasts = [past(0, 20), past(1, 20), past(2, 20), past(0, 10)];
    let words = |models: Vec<Option<String>>| models.into_iter().flatten().collect::<Vec<_>>();
    let cost = words(models_of(StrategyName::CostOptimized, &pasts));
    assert_eq!(cost, ["haiku", "sonnet", "opus", "sonnet"]);
    let escalate = words(models_of(StrategyName::Escalate, &pasts));
    assert_eq!(escalate, ["haiku", "sonnet", "opus", "haiku"]);
    let fixed = words(models_of(StrategyName::Fixed, &pasts));
    assert_eq!(fixed, ["sonnet"; 4]);
}

#[test]
fn the_plan_says_from_when_on_the_strongest_is_taken() {
    let mut world = World::with_tasks(1);
    world.past = past(2, 0);
    let state = world.begin(Plan {
        models: ["haiku", "sonnet", "opus"].map(str::to_owned).to_vec(),
        strategy: StrategyName::CostOptimized,
        escalate_after: Some(3),
        ..plan()
    });
    let turn = turn_done(world.begun);
    let ended = world.happens(state, Happening::TurnEnded(Box::new(turn)), 1);
    assert_eq!(ended.end(), Some(&End::Complete));
    assert_eq!(world.settled[0].current.model.as_deref(), Some("sonnet"));
    assert_eq!(
        world.settled[0].current.rationale,
        "cost-optimized: 2 failures in a row"
    );
}
