//! Chooses the model of an iteration. The choice is a pure function; `past` loads the history from the journal.

mod past;

use ralph_model::config::{Config, StrategyName};
use ralph_model::{Task, TrackRecord, count};
use ralph_store::{Store, StoreError};

pub use past::{Past, SimilarFailure};

/// Above this success rate of recent iterations, the weakest model is enough.
const GOES_WELL: f64 = 0.8;

/// Why the default is used when there is hardly any history.
const TOO_LITTLE_HISTORY: &str = "not enough history";

/// How models are chosen in a run.
#[derive(Debug, Clone, Copy)]
pub struct Rule<'a> {
    /// The models, weakest first. If empty, the agent decides.
    pub models: &'a [String],
    /// The model the user asked for.
    pub asked: Option<&'a str>,
    pub strategy: StrategyName,
    /// After this many consecutive failures, cost-optimized uses the strongest model.
    pub escalate_after: Option<u32>,
}

/// The input of a choice.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    pub rule: Rule<'a>,
    /// The number of the iteration, from 1.
    pub iteration: u32,
    /// The model the last iteration asked for; one of the configured models.
    pub hint: Option<&'a str>,
    /// The history, as far as [`Past::gather`] found the rule to need it.
    pub past: &'a Past,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// If `None`, the agent decides.
    pub model: Option<String>,
    pub rationale: String,
}

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
        return chosen(None, "no models are configured, so the agent uses its default");
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

/// The model that the first iteration of a run would get now. Without a database there is no history.
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

/// The configured model that an agent asks for. Others are refused.
#[must_use]
pub fn configured_model<'a>(models: &'a [String], requested: &str) -> Option<&'a str> {
    models
        .iter()
        .map(String::as_str)
        .find(|model| model.eq_ignore_ascii_case(requested.trim()))
}

/// A position in the list of models, and the reason for it.
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
    /// The rule from the configuration and the user's choice for this run.
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

    /// Whether the choice depends on history.
    fn uses_history(&self) -> bool {
        let by_figures = matches!(self.strategy, StrategyName::CostOptimized | StrategyName::Escalate);
        by_figures && self.asked.is_none() && !self.models.is_empty()
    }

    /// The position based on recent results.
    fn by_track_record(&self, track_record: &TrackRecord) -> Rung {
        let failures = track_record.consecutive_failures;
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
        let recent = track_record.recent;
        match recent.share() {
            None => Rung::new(self.middle(), TOO_LITTLE_HISTORY),
            Some(share) => Rung::new(
                if share > GOES_WELL { 0 } else { self.middle() },
                format!("{} of the last {} succeeded", recent.done, recent.of),
            ),
        }
    }

    /// The position that a similar task may raise: before the task's first failure, and below the top.
    fn liftable(&self, track_record: &TrackRecord) -> Option<usize> {
        let place = self.by_track_record(track_record).place;
        (track_record.consecutive_failures == 0 && place < self.top()).then_some(place)
    }

    /// The position, but not weaker than the model of the last failed attempt, which a similar task or the user may
    /// have raised. Escalate goes one step above that model.
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

    /// The position based on recent results and on similar tasks.
    fn informed(&self, past: &Past) -> Rung {
        let Rung { place, why } = self.by_track_record(&past.track_record);
        if self.liftable(&past.track_record).is_none() {
            return self.no_weaker(Rung { place, why }, past.failed_on.as_deref());
        }
        match &past.similar {
            Some(similar) => Rung::new(place + 1, format!("{why}; {similar}")),
            // Already said.
            None if why == TOO_LITTLE_HISTORY => Rung { place, why },
            None if past.track_record.recent.of == 0 => Rung::new(place, format!("{why}; {TOO_LITTLE_HISTORY}")),
            None => Rung::new(place, format!("{why}; no similar hard task on record")),
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
