//! The choice as tables.

use ralph_model::{Difficulty, Rate, TaskId};

use super::*;

/// So many failures of the task in a row, and so many done of the last iterations.
fn past(failures: u32, done: u32, of: u32) -> Past {
    Past {
        course: Course {
            consecutive_failures: failures,
            recent: Rate { done, of },
        },
        failed_on: None,
        like: None,
    }
}

fn like(model: &str) -> Option<Like> {
    Some(Like {
        task: TaskId::parse("t-1a2b3c").unwrap(),
        difficulty: Difficulty::Hard,
        model: model.to_owned(),
    })
}

fn ladder(length: usize) -> Vec<String> {
    let all = ["haiku", "sonnet", "opus", "fable", "saga"];
    all.iter().take(length).copied().map(str::to_owned).collect()
}

/// What is chosen from a ladder of so many models, after changes to the choice.
fn chosen(strategy: StrategyName, length: usize, past: &Past, change: impl FnOnce(&mut Choice<'_>)) -> Chosen {
    let models = ladder(length);
    let mut choice = Choice {
        rule: Rule {
            models: &models,
            asked: None,
            strategy,
            escalate_after: Some(2),
        },
        iteration: 1,
        hint: None,
        past,
    };
    change(&mut choice);
    let chosen = choose(&choice);
    assert!(!chosen.rationale.is_empty());
    chosen
}

fn model(strategy: StrategyName, length: usize, past: &Past) -> String {
    chosen(strategy, length, past, |_| {}).model.unwrap()
}

#[test]
fn a_hint_wins_then_the_person_then_the_strategy() {
    for strategy in StrategyName::ALL.iter().copied() {
        let past = past(3, 20, 20);
        let of = |change: fn(&mut Choice<'_>)| chosen(strategy, 3, &past, change).model;
        assert_eq!(of(|choice| choice.rule.asked = Some("x")).as_deref(), Some("x"));
        assert_eq!(of(|choice| choice.rule.models = &[]), None);
        let hinted = of(|choice| {
            choice.rule.asked = Some("x");
            choice.hint = Some("haiku");
        });
        assert_eq!(hinted.as_deref(), Some("haiku"));
    }
}

#[test]
fn fixed_is_the_middle_whatever_happens() {
    for (length, expected) in [(1, "haiku"), (2, "sonnet"), (3, "sonnet"), (5, "opus")] {
        for past in [past(0, 0, 0), past(9, 0, 20), past(0, 20, 20)] {
            assert_eq!(model(StrategyName::Fixed, length, &past), expected);
        }
    }
}

#[test]
fn the_strongest_plans_and_the_middle_executes() {
    for (length, plans, executes) in [
        (1, "haiku", "haiku"),
        (2, "sonnet", "sonnet"),
        (3, "opus", "sonnet"),
        (5, "saga", "opus"),
    ] {
        let of = |iteration| {
            let chosen = chosen(StrategyName::PlanThenExecute, length, &past(7, 0, 20), |choice| {
                choice.iteration = iteration;
            });
            chosen.model.unwrap()
        };
        assert_eq!((of(1).as_str(), of(2).as_str()), (plans, executes));
    }
}

#[test]
fn escalate_climbs_with_the_failures_of_the_task() {
    for (length, expected) in [
        (1, ["haiku", "haiku", "haiku", "haiku"]),
        (2, ["haiku", "sonnet", "sonnet", "sonnet"]),
        (3, ["haiku", "sonnet", "opus", "opus"]),
        (5, ["haiku", "opus", "saga", "saga"]),
    ] {
        for (failures, expected) in (0..).zip(expected) {
            // How things go elsewhere is no matter.
            for recent in [(0, 20), (20, 20)] {
                let past = past(failures, recent.0, recent.1);
                assert_eq!(
                    model(StrategyName::Escalate, length, &past),
                    expected,
                    "{length} {failures}"
                );
            }
        }
    }
}

#[test]
fn cost_optimized_is_cheap_while_things_go_well_and_dear_when_the_task_does_not() {
    // Failures, done, of, and what a ladder of 1, 2, 3 and 5 gives.
    for (failures, done, of, expected) in [
        (0, 0, 0, ["haiku", "sonnet", "sonnet", "opus"]),
        (0, 4, 4, ["haiku", "sonnet", "sonnet", "opus"]),
        (0, 5, 5, ["haiku", "haiku", "haiku", "haiku"]),
        (0, 4, 5, ["haiku", "sonnet", "sonnet", "opus"]),
        (0, 16, 20, ["haiku", "sonnet", "sonnet", "opus"]),
        (0, 17, 20, ["haiku", "haiku", "haiku", "haiku"]),
        (1, 20, 20, ["haiku", "sonnet", "sonnet", "opus"]),
        (1, 0, 20, ["haiku", "sonnet", "sonnet", "opus"]),
        (2, 20, 20, ["haiku", "sonnet", "opus", "saga"]),
        (2, 0, 2, ["haiku", "sonnet", "opus", "saga"]),
        (9, 0, 20, ["haiku", "sonnet", "opus", "saga"]),
    ] {
        for (length, expected) in [1, 2, 3, 5].into_iter().zip(expected) {
            let past = past(failures, done, of);
            let found = model(StrategyName::CostOptimized, length, &past);
            assert_eq!(
                found, expected,
                "{failures} failures, {done} of {of}, ladder of {length}"
            );
        }
    }
}

#[test]
fn the_configuration_says_from_when_on_the_strongest_is_taken() {
    let of = |failures, after: Option<u32>| {
        let past = past(failures, 0, 20);
        let chosen = chosen(StrategyName::CostOptimized, 3, &past, |choice| {
            choice.rule.escalate_after = after;
        });
        chosen.model.unwrap()
    };
    assert_eq!(of(1, Some(1)), "opus");
    assert_eq!(of(0, Some(1)), "sonnet");
    assert_eq!(of(3, Some(4)), "sonnet");
    assert_eq!(of(4, Some(4)), "opus");
    assert_eq!(of(1000, None), "sonnet", "never is never");
}

#[test]
fn a_like_task_lifts_the_first_choice_by_one() {
    let with = |failures, done, model: &str| Past {
        like: like(model),
        ..past(failures, done, 20)
    };
    let escalate = |past: &Past, length| model(StrategyName::Escalate, length, past);
    assert_eq!(escalate(&with(0, 0, "haiku"), 1), "haiku", "there is no other");
    assert_eq!(escalate(&with(0, 0, "haiku"), 2), "sonnet");
    assert_eq!(escalate(&with(0, 0, "haiku"), 3), "sonnet");
    assert_eq!(escalate(&with(0, 0, "haiku"), 5), "sonnet");
    assert_eq!(
        escalate(&with(1, 0, "haiku"), 3),
        "sonnet",
        "its own failures tell more"
    );
    assert_eq!(escalate(&with(2, 0, "haiku"), 3), "opus");
    let cost = |past: &Past, length| model(StrategyName::CostOptimized, length, past);
    assert_eq!(cost(&with(0, 20, "haiku"), 3), "sonnet");
    assert_eq!(cost(&with(0, 0, "sonnet"), 3), "opus");
    assert_eq!(model(StrategyName::Fixed, 3, &with(0, 0, "sonnet")), "sonnet");
    assert_eq!(model(StrategyName::PlanThenExecute, 5, &with(0, 0, "saga")), "saga");
}

/// After a failure nothing weaker is tried than what failed, however that was chosen.
#[test]
fn no_attempt_is_made_with_a_weaker_model_than_the_last_one_failed_with() {
    let after = |failures, model: &str| Past {
        failed_on: Some(model.to_owned()),
        ..past(failures, 0, 20)
    };
    // Failures, the model of the last of them, and what comes next by cost-optimized and by escalate.
    for (failures, last, length, cost, escalate) in [
        (1, "haiku", 3, "sonnet", "sonnet"),
        (1, "sonnet", 3, "sonnet", "opus"),
        (1, "opus", 3, "opus", "opus"),
        (2, "haiku", 3, "opus", "opus"),
        (1, "sonnet", 2, "sonnet", "sonnet"),
        (1, "haiku", 5, "opus", "opus"),
        (1, "opus", 5, "opus", "fable"),
        (1, "Fable", 5, "fable", "saga"),
        (1, "haiku", 1, "haiku", "haiku"),
        (1, "another", 3, "sonnet", "sonnet"),
    ] {
        let past = after(failures, last);
        for (strategy, expected) in [(StrategyName::CostOptimized, cost), (StrategyName::Escalate, escalate)] {
            assert_eq!(
                model(strategy, length, &past),
                expected,
                "{strategy:?} {past:?} {length}"
            );
        }
    }
    let never = chosen(StrategyName::CostOptimized, 3, &after(9, "opus"), |choice| {
        choice.rule.escalate_after = None;
    });
    assert_eq!(never.model.as_deref(), Some("opus"));
    let rationale = |strategy, past: &Past| chosen(strategy, 3, past, |_| {}).rationale;
    assert_eq!(
        rationale(StrategyName::CostOptimized, &after(1, "opus")),
        "cost-optimized: 1 failure; not below opus, on which the last attempt failed"
    );
    assert_eq!(
        rationale(StrategyName::Escalate, &after(1, "sonnet")),
        "escalate: 1 failure; above sonnet, on which the last attempt failed"
    );
    assert_eq!(
        rationale(StrategyName::Escalate, &after(1, "haiku")),
        "escalate: 1 failure"
    );
}

#[test]
fn the_rationale_says_what_the_choice_was_made_from() {
    let of = |strategy, past: &Past| chosen(strategy, 3, past, |_| {}).rationale;
    let (cost, escalate) = (StrategyName::CostOptimized, StrategyName::Escalate);
    let liked = Past {
        like: like("haiku"),
        ..past(0, 18, 20)
    };
    for (rationale, expected) in [
        (of(cost, &past(0, 1, 4)), "cost-optimized: too little on record to tell"),
        (
            of(cost, &past(0, 18, 20)),
            "cost-optimized: 18 of the last 20 were done; no hard task like it on record",
        ),
        (of(cost, &past(1, 18, 20)), "cost-optimized: 1 failure"),
        (of(cost, &past(2, 18, 20)), "cost-optimized: 2 failures in a row"),
        (
            of(cost, &liked),
            "cost-optimized: 18 of the last 20 were done; like t-1a2b3c, which was hard and failed on haiku",
        ),
        (
            of(escalate, &past(0, 0, 0)),
            "escalate: no failure yet; too little on record to tell",
        ),
        (
            of(escalate, &past(0, 1, 1)),
            "escalate: no failure yet; no hard task like it on record",
        ),
        (
            of(escalate, &liked),
            "escalate: no failure yet; like t-1a2b3c, which was hard and failed on haiku",
        ),
        (of(escalate, &past(1, 0, 0)), "escalate: 1 failure"),
        (of(escalate, &past(4, 0, 0)), "escalate: 4 failures in a row"),
    ] {
        assert_eq!(rationale, expected);
    }
}

#[test]
fn only_configured_models_can_be_wished_for() {
    let models = ladder(3);
    assert_eq!(on_the_ladder(&models, " Opus\n"), Some("opus"));
    assert_eq!(on_the_ladder(&models, "gpt"), None);
}
