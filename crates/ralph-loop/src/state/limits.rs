//! The limits of a run and of an iteration.

use std::time::Duration;

use ralph_model::config::duration_text;
use ralph_model::{Usage, count, duration};

use super::phase::{Phase, Working};
use super::{Current, State};
use crate::summary::StopCause;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitReached {
    /// The key in `[limits]`.
    pub key: &'static str,
    /// The limit and what was used, in a sentence.
    pub message: String,
}

impl LimitReached {
    fn set(key: &'static str, value: impl std::fmt::Display, used: &str) -> Self {
        let message = format!("The limit `[limits] {key} = {value}` is reached: {used}.");
        Self { key, message }
    }
}

impl State {
    /// The limit that keeps the run from starting another iteration.
    pub(super) fn limit_reached(&self, at: Duration) -> Option<LimitReached> {
        let limits = &self.plan.limits;
        if let Some(most) = limits.iterations.filter(|most| self.iterations >= *most) {
            let most = count(most as usize, "iteration", "iterations");
            // It may come from a flag, so the message does not name the key.
            let message = format!("The limit of {most} is reached.");
            return Some(LimitReached {
                key: "iterations",
                message,
            });
        }
        if let Some(reached) = self.used_up(Usage::default(), at) {
            return Some(reached);
        }
        let most = limits.consecutive_failures.filter(|most| self.streak >= *most)?;
        let failed = count(
            self.streak as usize,
            "iteration has failed",
            "iterations in a row have failed",
        );
        Some(LimitReached::set("consecutive_failures", most, &failed))
    }

    /// The limit of time, cost or tokens reached, including what a working agent has used so far.
    pub(super) fn used_up(&self, working: Usage, at: Duration) -> Option<LimitReached> {
        let limits = &self.plan.limits;
        if let Some(reached) = self.time_is_up(at) {
            return Some(reached);
        }
        let cost = self.spent.cost_usd + working.cost_usd.max(0.0);
        if let Some(most) = limits.cost_usd.filter(|most| cost >= *most) {
            return Some(LimitReached::set(
                "cost_usd",
                most,
                &format!("the run has cost ${cost:.2}"),
            ));
        }
        let tokens = self.spent.tokens().saturating_add(working.tokens());
        let most = limits.tokens.filter(|most| tokens >= *most)?;
        Some(LimitReached::set(
            "tokens",
            most,
            &format!("the run has used {tokens} tokens"),
        ))
    }

    /// The limit of the task reached by this attempt, in a sentence.
    pub(super) fn task_used_up(&self, current: &Current, used: Usage) -> Option<String> {
        let limits = &self.plan.limits;
        let used = current.spent_before.and(used);
        if let Some(most) = limits.task_cost_usd.filter(|most| used.cost_usd >= *most) {
            let cost = format!("the task has cost ${:.2}", used.cost_usd);
            return Some(LimitReached::set("task_cost_usd", most, &cost).message);
        }
        let most = limits.task_tokens.filter(|most| used.tokens() >= *most)?;
        let tokens = format!("the task has used {} tokens", used.tokens());
        Some(LimitReached::set("task_tokens", most, &tokens).message)
    }

    /// Whether the run is out of time, including the time the computer slept.
    #[must_use]
    pub fn is_out_of_time(&self, at: Duration, slept: Duration) -> bool {
        let most = self.plan.limits.wall_clock;
        most.is_some_and(|most| at.saturating_add(slept) >= most)
    }

    /// The reached time limit, if any.
    pub(super) fn time_is_up(&self, at: Duration) -> Option<LimitReached> {
        let lasted = at.saturating_add(self.slept);
        let most = self.plan.limits.wall_clock.filter(|most| lasted >= *most)?;
        let lasted = format!("the run has lasted {}", duration(lasted));
        Some(LimitReached::set("wall_clock", duration_text(most), &lasted))
    }

    /// Why the working agent must be stopped, with the run limit if one is reached.
    pub(super) fn cause_to_stop(&self, working: &Working, at: Duration) -> Option<(StopCause, Option<LimitReached>)> {
        let limits = &self.plan.limits;
        let since = |moment: Duration| at.saturating_sub(moment);
        if limits.iteration_time.is_some_and(|most| since(working.began) >= most) {
            Some((StopCause::Timeout, None))
        } else if limits
            .idle_time
            .is_some_and(|most| since(working.last_activity) >= most)
        {
            Some((StopCause::Idle, None))
        } else {
            let reached = self.used_up(working.used, at)?;
            Some((StopCause::RunLimit, Some(reached)))
        }
    }

    /// When the next tick is due if nothing else happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let limits = &self.plan.limits;
        let wall_clock = limits.wall_clock.map(|most| most.saturating_sub(self.slept));
        let while_working = |working: &Working| match working.stop {
            None => [
                limits.iteration_time.map(|time| working.began.saturating_add(time)),
                limits.idle_time.map(|time| working.last_activity.saturating_add(time)),
                wall_clock,
            ],
            Some(_) => [None, None, None],
        };
        let due = match &self.phase {
            Phase::Working(working) => while_working(working),
            Phase::Verifying(verifying) => while_working(&verifying.session),
            Phase::Waiting(waiting) => [Some(self.next_check(waiting)), wall_clock, None],
            _ => [None, None, None],
        };
        due.into_iter().flatten().min()
    }
}
