//! The choice of models, as tables.

use ralph_model::{Difficulty, Rate, TaskId};

use super::*;

/// A history with this many consecutive failures, and successes among recent iterations.
fn past(failures: u32, done: u32, of: u32) -> Past {
    Past {
        track_record: TrackRecord {
            consecutive_failures: failures,
            recent: Rate { done, of },
        },
        failed_on: None,
        similar: None,
    }
}

fn similar(model: &str) -> Option<SimilarFailure> {
    Some(SimilarFailure {
        task: TaskId::parse("t-1a2b3c").unwrap(),
        difficulty: Difficulty::Hard,
        model: model.to_owned(),
    })
}

fn ladder(length: usize) -> Vec<String> {
    let all = ["haiku", "sonnet", "opus", "fable", "saga"];
    all.iter().take(length).copied().map(str::to_owned).collect()
}

/// The choice from a list of `length` models, after changes to its input.
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
fn hint_wins_then_the_user_then_the_strategy() {
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
fn fixed_is_always_the_middle() {
    for (length, expected) in [(1, "haiku"), (2, "sonnet"), (3, "sonnet"), (5, "opus")] {
        for past in [past(0, 0, 0), past(9, 0, 20), past(0, 20, 20)] {
            assert_eq!(model(StrategyName::Fixed, length, &past), expected);
        }
    }
}

#[test]
fn strongest_plans_and_middle_executes() {
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
fn escalate_climbs_with_task_failures() {
    for (length, expected) in [
        (1, ["haiku", "haiku", "haiku", "haiku"]),
        (2, ["haiku", "sonnet", "sonnet", "sonnet"]),
        (3, ["haiku", "sonnet", "opus", "opus"]),
        (5, ["haiku", "opus", "saga", "saga"]),
    ] {
        for (failures, expected) in (0..).zip(expected) {
            // Results of other tasks do not matter.
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
fn cost_optimized_depends_on_recent_results() {
    // Failures, done, total, and the model for lists of 1, 2, 3 and 5.
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
fn escalate_after_is_configurable() {
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
fn similar_task_raises_the_first_choice_by_one() {
    let with = |failures, done, model: &str| Past {
        similar: similar(model),
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
        "its own failures count more"
    );
    assert_eq!(escalate(&with(2, 0, "haiku"), 3), "opus");
    let cost = |past: &Past, length| model(StrategyName::CostOptimized, length, past);
    assert_eq!(cost(&with(0, 20, "haiku"), 3), "sonnet");
    assert_eq!(cost(&with(0, 0, "sonnet"), 3), "opus");
    assert_eq!(model(StrategyName::Fixed, 3, &with(0, 0, "sonnet")), "sonnet");
    assert_eq!(model(StrategyName::PlanThenExecute, 5, &with(0, 0, "saga")), "saga");
}

/// After a failure no weaker model is tried, however the failed one was chosen.
#[test]
fn no_weaker_model_follows_a_failure() {
    let after = |failures, model: &str| Past {
        failed_on: Some(model.to_owned()),
        ..past(failures, 0, 20)
    };
    // Failures, the model of the last one, and the next model by cost-optimized and by escalate.
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
fn rationale_explains_the_choice() {
    let of = |strategy, past: &Past| chosen(strategy, 3, past, |_| {}).rationale;
    let (cost, escalate) = (StrategyName::CostOptimized, StrategyName::Escalate);
    let with_similar = Past {
        similar: similar("haiku"),
        ..past(0, 18, 20)
    };
    for (rationale, expected) in [
        (of(cost, &past(0, 1, 4)), "cost-optimized: not enough history"),
        (
            of(cost, &past(0, 18, 20)),
            "cost-optimized: 18 of the last 20 succeeded; no similar hard task on record",
        ),
        (of(cost, &past(1, 18, 20)), "cost-optimized: 1 failure"),
        (of(cost, &past(2, 18, 20)), "cost-optimized: 2 failures in a row"),
        (
            of(cost, &with_similar),
            "cost-optimized: 18 of the last 20 succeeded; similar to t-1a2b3c, which was hard and failed on haiku",
        ),
        (
            of(escalate, &past(0, 0, 0)),
            "escalate: no failure yet; not enough history",
        ),
        (
            of(escalate, &past(0, 1, 1)),
            "escalate: no failure yet; no similar hard task on record",
        ),
        (
            of(escalate, &with_similar),
            "escalate: no failure yet; similar to t-1a2b3c, which was hard and failed on haiku",
        ),
        (of(escalate, &past(1, 0, 0)), "escalate: 1 failure"),
        (of(escalate, &past(4, 0, 0)), "escalate: 4 failures in a row"),
    ] {
        assert_eq!(rationale, expected);
    }
}

#[test]
fn only_configured_models_can_be_requested() {
    let models = ladder(3);
    assert_eq!(configured_model(&models, " Opus\n"), Some("opus"));
    assert_eq!(configured_model(&models, "gpt"), None);
}
