//! The limits of a run and of an iteration.

use std::time::Duration;

use ralph_model::config::duration_text;
use ralph_model::{Usage, count, duration};

use super::phase::{Phase, Working};
use super::{Current, State};
use crate::summary::StopCause;

/// A limit of the run that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Its key in `[limits]`.
    pub key: &'static str,
    /// Which it is, and what was used, in a sentence.
    pub said: String,
}

impl Reached {
    fn set(key: &'static str, value: impl std::fmt::Display, used: &str) -> Self {
        let said = format!("The limit `[limits] {key} = {value}` is reached: {used}.");
        Self { key, said }
    }
}

impl State {
    /// Which limit keeps the run from another iteration; none when it may go on.
    pub(super) fn limit_reached(&self, at: Duration) -> Option<Reached> {
        let limits = &self.plan.limits;
        if let Some(most) = limits.iterations.filter(|most| self.iterations >= *most) {
            let most = count(most as usize, "iteration", "iterations");
            // It may come from a flag, so it is not told by its key.
            let said = format!("The limit of {most} is reached.");
            return Some(Reached {
                key: "iterations",
                said,
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
        Some(Reached::set("consecutive_failures", most, &failed))
    }

    /// Which limit of time, cost or tokens is reached with what an agent that works has used so far.
    pub(super) fn used_up(&self, working: Usage, at: Duration) -> Option<Reached> {
        let limits = &self.plan.limits;
        if let Some(reached) = self.time_is_up(at) {
            return Some(reached);
        }
        let cost = self.spent.cost_usd + working.cost_usd.max(0.0);
        if let Some(most) = limits.cost_usd.filter(|most| cost >= *most) {
            return Some(Reached::set("cost_usd", most, &format!("it has cost ${cost:.2}")));
        }
        let tokens = self.spent.tokens().saturating_add(working.tokens());
        let most = limits.tokens.filter(|most| tokens >= *most)?;
        Some(Reached::set("tokens", most, &format!("{tokens} tokens are used")))
    }

    /// Which limit of a task is reached with what an attempt has used so far, in a sentence.
    pub(super) fn task_used_up(&self, current: &Current, used: Usage) -> Option<String> {
        let limits = &self.plan.limits;
        let used = current.spent_before.and(used);
        if let Some(most) = limits.task_cost_usd.filter(|most| used.cost_usd >= *most) {
            let cost = format!("the task has cost ${:.2}", used.cost_usd);
            return Some(Reached::set("task_cost_usd", most, &cost).said);
        }
        let most = limits.task_tokens.filter(|most| used.tokens() >= *most)?;
        let tokens = format!("the task has used {} tokens", used.tokens());
        Some(Reached::set("task_tokens", most, &tokens).said)
    }

    /// Whether the run has lasted as long as it may, in which the computer has slept for so long.
    #[must_use]
    pub fn is_out_of_time(&self, at: Duration, slept: Duration) -> bool {
        let most = self.plan.limits.wall_clock;
        most.is_some_and(|most| at.saturating_add(slept) >= most)
    }

    /// The same, as the limit that it is.
    pub(super) fn time_is_up(&self, at: Duration) -> Option<Reached> {
        let lasted = at.saturating_add(self.slept);
        let most = self.plan.limits.wall_clock.filter(|most| lasted >= *most)?;
        let lasted = format!("the run has lasted {}", duration(lasted));
        Some(Reached::set("wall_clock", duration_text(most), &lasted))
    }

    /// Why an agent that works must be stopped, and which limit of the run it is where it is one.
    pub(super) fn cause_to_stop(&self, working: &Working, at: Duration) -> Option<(StopCause, Option<Reached>)> {
        let limits = &self.plan.limits;
        let since = |moment: Duration| at.saturating_sub(moment);
        if limits.iteration_time.is_some_and(|most| since(working.began) >= most) {
            Some((StopCause::Timeout, None))
        } else if limits.idle_time.is_some_and(|most| since(working.last_sign) >= most) {
            Some((StopCause::Idle, None))
        } else {
            let reached = self.used_up(working.used, at)?;
            Some((StopCause::RunLimit, Some(reached)))
        }
    }

    /// When something is due even if nothing happens: the driver sends a tick then.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let limits = &self.plan.limits;
        let wall_clock = limits.wall_clock.map(|most| most.saturating_sub(self.slept));
        let while_working = |working: &Working| match working.stop {
            None => [
                limits.iteration_time.map(|time| working.began.saturating_add(time)),
                limits.idle_time.map(|time| working.last_sign.saturating_add(time)),
                wall_clock,
            ],
            Some(_) => [None, None, None],
        };
        let due = match &self.phase {
            Phase::Working(working) => while_working(working),
            Phase::Verifying(verifying) => while_working(&verifying.session),
            Phase::Waiting(waiting) => [Some(self.next_look(waiting)), wall_clock, None],
            _ => [None, None, None],
        };
        due.into_iter().flatten().min()
    }
}
