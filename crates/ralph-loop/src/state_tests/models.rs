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
