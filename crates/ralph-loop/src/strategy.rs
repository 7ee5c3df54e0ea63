//! Which model an iteration gets, and why.

use ralph_model::config::StrategyName;

/// What a choice is made from.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// The models from the weakest to the strongest; none leaves it to the agent.
    pub models: &'a [String],
    /// The model that the person asked for.
    pub asked: Option<&'a str>,
    /// How to choose.
    pub strategy: StrategyName,
    /// Which iteration of the run it is, from 1.
    pub iteration: u32,
    /// What the last iteration asked for; it is on the ladder.
    pub hint: Option<&'a str>,
}

/// A model, and why it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The model; none leaves it to the agent.
    pub model: Option<String>,
    /// Why.
    pub rationale: String,
}

/// Chooses the model of an iteration.
#[must_use]
pub fn choose(choice: &Choice<'_>) -> Chosen {
    let chosen = |model: Option<&str>, rationale: &str| Chosen {
        model: model.map(str::to_owned),
        rationale: rationale.to_owned(),
    };
    if let Some(hint) = choice.hint {
        return chosen(Some(hint), "the last iteration asked for it");
    }
    if let Some(asked) = choice.asked {
        return chosen(Some(asked), "you asked for it");
    }
    if choice.models.is_empty() {
        return chosen(None, "no models are configured for this agent, so it takes its own");
    }
    let middle = choice.models.get(choice.models.len() / 2).map(String::as_str);
    match choice.strategy {
        StrategyName::PlanThenExecute if choice.iteration == 1 => chosen(
            choice.models.last().map(String::as_str),
            "plan-then-execute: the first iteration plans",
        ),
        StrategyName::PlanThenExecute => chosen(middle, "plan-then-execute: the plan is made"),
        StrategyName::Fixed | StrategyName::CostOptimized | StrategyName::Escalate => {
            chosen(middle, "fixed: the middle of the configured models")
        }
    }
}

/// Whether an agent's wish can be granted: only models that the person has configured.
#[must_use]
pub fn on_the_ladder<'a>(models: &'a [String], wish: &str) -> Option<&'a str> {
    models
        .iter()
        .map(String::as_str)
        .find(|model| model.eq_ignore_ascii_case(wish.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(strategy: StrategyName, iteration: u32, change: impl FnOnce(&mut Choice<'_>)) -> Option<String> {
        let models = ["haiku", "sonnet", "opus"].map(str::to_owned);
        let mut choice = Choice {
            models: &models,
            asked: None,
            strategy,
            iteration,
            hint: None,
        };
        change(&mut choice);
        let chosen = choose(&choice);
        assert!(!chosen.rationale.is_empty());
        chosen.model
    }

    #[test]
    fn the_middle_unless_somebody_says_otherwise() {
        assert_eq!(model(StrategyName::Fixed, 1, |_| {}).as_deref(), Some("sonnet"));
        assert_eq!(
            model(StrategyName::Fixed, 1, |c| c.asked = Some("x")).as_deref(),
            Some("x")
        );
        assert_eq!(model(StrategyName::Fixed, 1, |c| c.models = &[]), None);
        let hinted = model(StrategyName::Fixed, 1, |c| {
            c.asked = Some("x");
            c.hint = Some("opus");
        });
        assert_eq!(hinted.as_deref(), Some("opus"), "a hint wins");
    }

    #[test]
    fn the_strongest_plans_and_the_middle_executes() {
        let of = |iteration| model(StrategyName::PlanThenExecute, iteration, |_| {});
        assert_eq!(of(1).as_deref(), Some("opus"));
        assert_eq!(of(2).as_deref(), Some("sonnet"));
        let one = ["only".to_owned()];
        let chosen = model(StrategyName::PlanThenExecute, 2, |choice| {
            choice.models = Box::leak(Box::new(one)).as_slice();
        });
        assert_eq!(chosen.as_deref(), Some("only"));
    }

    #[test]
    fn only_configured_models_can_be_wished_for() {
        let models = ["haiku".to_owned(), "opus".to_owned()];
        assert_eq!(on_the_ladder(&models, " Opus\n"), Some("opus"));
        assert_eq!(on_the_ladder(&models, "gpt"), None);
    }
}
