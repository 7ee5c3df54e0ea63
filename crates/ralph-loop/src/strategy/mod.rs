//! Which model an iteration gets, and why. The choice itself knows nothing but what it is handed; `past` draws that from
//! the journal.

mod past;

use ralph_model::config::{Config, StrategyName};
use ralph_model::{Course, Task, count};
use ralph_store::{Store, StoreError};

pub use past::{Like, Past};

/// A larger part of the last iterations than this was done: things go well.
const GOES_WELL: f64 = 0.8;

/// Why the default is taken where hardly anything is on record.
const TOO_LITTLE: &str = "too little on record to tell";

/// How models are chosen, for all iterations of a run.
#[derive(Debug, Clone, Copy)]
pub struct Rule<'a> {
    /// The models from the weakest to the strongest; none leaves it to the agent.
    pub models: &'a [String],
    /// The model that the person asked for.
    pub asked: Option<&'a str>,
    /// How to choose.
    pub strategy: StrategyName,
    /// From how many failures in a row cost-optimized takes the strongest; none is never.
    pub escalate_after: Option<u32>,
}

/// What a choice is made from.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// How to choose.
    pub rule: Rule<'a>,
    /// Which iteration of the run it is, from 1.
    pub iteration: u32,
    /// What the last iteration asked for; it is on the ladder.
    pub hint: Option<&'a str>,
    /// What came before, as far as [`Past::gather`] found the rule to ask for it.
    pub past: &'a Past,
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
    let Choice { rule, past, .. } = choice;
    let chosen = |model: Option<&str>, rationale: &str| Chosen {
        model: model.map(str::to_owned),
        rationale: rationale.to_owned(),
    };
    if let Some(hint) = choice.hint {
        return chosen(Some(hint), "the last iteration asked for it");
    }
    if let Some(asked) = rule.asked {
        return chosen(Some(asked), "you asked for it");
    }
    if rule.models.is_empty() {
        return chosen(None, "no models are configured for this agent, so it takes its own");
    }
    let Rung { place, why } = match rule.strategy {
        StrategyName::Fixed => Rung::new(rule.middle(), "the middle of the configured models"),
        StrategyName::PlanThenExecute if choice.iteration == 1 => Rung::new(rule.top(), "the first iteration plans"),
        StrategyName::PlanThenExecute => Rung::new(rule.middle(), "the plan is made"),
        StrategyName::CostOptimized | StrategyName::Escalate => rule.informed(past),
    };
    Chosen {
        model: rule.models.get(place).cloned(),
        rationale: format!("{}: {why}", rule.strategy.word()),
    }
}

/// The model that the first iteration of a run would get for a task, if it began now. Without a database nothing is on
/// record.
///
/// # Errors
/// When the database cannot be read.
pub fn choose_first(rule: Rule<'_>, store: Option<&Store>, task: Option<&Task>) -> Result<Chosen, StoreError> {
    let past = match (store, task) {
        (Some(store), Some(task)) => Past::gather(store, task, &rule)?,
        _ => Past::default(),
    };
    Ok(choose(&Choice {
        rule,
        iteration: 1,
        hint: None,
        past: &past,
    }))
}

/// Whether an agent's wish can be granted: only models that the person has configured.
#[must_use]
pub fn on_the_ladder<'a>(models: &'a [String], wish: &str) -> Option<&'a str> {
    models
        .iter()
        .map(String::as_str)
        .find(|model| model.eq_ignore_ascii_case(wish.trim()))
}

/// A place on the ladder of models, and what speaks for it.
struct Rung {
    place: usize,
    why: String,
}

impl Rung {
    fn new(place: usize, why: impl Into<String>) -> Self {
        Self { place, why: why.into() }
    }
}

impl<'a> Rule<'a> {
    /// What the configuration says, and the person for this run.
    #[must_use]
    pub fn of(config: &'a Config, asked: Option<&'a str>) -> Self {
        Self {
            models: &config.agent.models,
            asked,
            strategy: config.strategy.name.unwrap_or_default(),
            escalate_after: config.strategy.escalate_after,
        }
    }

    fn middle(&self) -> usize {
        self.models.len() / 2
    }

    fn top(&self) -> usize {
        self.models.len().saturating_sub(1)
    }

    /// Whether what came before has a say.
    fn asks_the_past(&self) -> bool {
        let by_figures = matches!(self.strategy, StrategyName::CostOptimized | StrategyName::Escalate);
        by_figures && self.asked.is_none() && !self.models.is_empty()
    }

    /// The place by how things go.
    fn by_course(&self, course: &Course) -> Rung {
        let failures = course.consecutive_failures;
        if self.strategy == StrategyName::Escalate {
            return match failures {
                0 => Rung::new(0, "no failure yet"),
                1 => Rung::new(self.middle(), in_a_row(failures)),
                _ => Rung::new(self.top(), in_a_row(failures)),
            };
        }
        if self.escalate_after.is_some_and(|after| failures >= after) {
            return Rung::new(self.top(), in_a_row(failures));
        }
        if failures > 0 {
            return Rung::new(self.middle(), in_a_row(failures));
        }
        let recent = course.recent;
        match recent.share() {
            None => Rung::new(self.middle(), TOO_LITTLE),
            Some(share) => Rung::new(
                if share > GOES_WELL { 0 } else { self.middle() },
                format!("{} of the last {} were done", recent.done, recent.of),
            ),
        }
    }

    /// The place from which a task that was like this one may lift it: before its first failure, and below the top.
    fn liftable(&self, course: &Course) -> Option<usize> {
        let place = self.by_course(course).place;
        (course.consecutive_failures == 0 && place < self.top()).then_some(place)
    }

    /// The place, or a stronger one where the last attempt failed with a model that was stronger already, because a task like
    /// it had lifted it or somebody had asked for it. What it failed with is no answer to escalate, which climbs.
    fn no_weaker(&self, rung: Rung, failed_on: Option<&str>) -> Rung {
        let is_it = |(_, model): &(usize, &String)| failed_on.is_some_and(|failed| model.eq_ignore_ascii_case(failed));
        let Some((last, model)) = self.models.iter().enumerate().find(is_it) else {
            return rung;
        };
        let (least, relation) = if self.strategy == StrategyName::Escalate && last < self.top() {
            (last + 1, "above")
        } else {
            (last, "not below")
        };
        if rung.place >= least {
            return rung;
        }
        Rung::new(
            least,
            format!("{}; {relation} {model}, on which the last attempt failed", rung.why),
        )
    }

    /// The place by how things go, and by what was like it.
    fn informed(&self, past: &Past) -> Rung {
        let Rung { place, why } = self.by_course(&past.course);
        if self.liftable(&past.course).is_none() {
            return self.no_weaker(Rung { place, why }, past.failed_on.as_deref());
        }
        match &past.like {
            Some(like) => Rung::new(place + 1, format!("{why}; {like}")),
            // Said already.
            None if why == TOO_LITTLE => Rung { place, why },
            None if past.course.recent.of == 0 => Rung::new(place, format!("{why}; {TOO_LITTLE}")),
            None => Rung::new(place, format!("{why}; no hard task like it on record")),
        }
    }
}

fn in_a_row(failures: u32) -> String {
    count(failures as usize, "failure", "failures in a row")
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod history_tests;
