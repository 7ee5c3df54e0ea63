//! The limits of a run and of an iteration.

use std::time::Duration;

use ralph_model::config::duration_text;

use super::State;
use super::types::{Phase, Working};
use crate::summary::StopCause;

impl State {
    /// Which limit keeps the run from another iteration, in words; none when it may go on.
    pub(super) fn limit_reached(&self, at: Duration) -> Option<String> {
        let limits = &self.plan.limits;
        let reached = |limit: String| Some(format!("The limit of {limit} is reached."));
        let set = |key: &str, value: String| Some(format!("The limit `[limits] {key} = {value}` is reached."));
        if let Some(most) = limits.iterations.filter(|most| self.iterations >= *most) {
            return reached(ralph_model::count(most as usize, "iteration", "iterations"));
        }
        if let Some(up) = self.time_is_up(at) {
            return Some(up);
        }
        if let Some(most) = limits.cost_usd.filter(|most| self.spent.cost_usd >= *most) {
            return set("cost_usd", most.to_string());
        }
        if let Some(most) = limits.tokens.filter(|most| self.spent.tokens() >= *most) {
            return set("tokens", most.to_string());
        }
        let most = limits.consecutive_failures.filter(|most| self.streak >= *most)?;
        set("consecutive_failures", most.to_string())
    }

    /// Whether the run has lasted as long as it may, in words.
    pub(super) fn time_is_up(&self, at: Duration) -> Option<String> {
        let most = self.plan.limits.wall_clock.filter(|most| at >= *most)?;
        let most = duration_text(most);
        Some(format!("The limit `[limits] wall_clock = {most}` is reached."))
    }

    /// Why an agent that works must be stopped.
    pub(super) fn cause_to_stop(&self, working: &Working, at: Duration) -> Option<StopCause> {
        let limits = &self.plan.limits;
        let since = |moment: Duration| at.saturating_sub(moment);
        let cost = self.spent.cost_usd + working.used.cost_usd;
        let tokens = self.spent.tokens().saturating_add(working.used.tokens());
        if limits.iteration_time.is_some_and(|most| since(working.began) >= most) {
            Some(StopCause::Timeout)
        } else if limits.idle_time.is_some_and(|most| since(working.last_sign) >= most) {
            Some(StopCause::Idle)
        } else if limits.wall_clock.is_some_and(|most| at >= most)
            || limits.cost_usd.is_some_and(|most| cost >= most)
            || limits.tokens.is_some_and(|most| tokens >= most)
        {
            Some(StopCause::RunLimit)
        } else {
            None
        }
    }

    /// When something is due even if nothing happens: the driver sends a tick then.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let limits = &self.plan.limits;
        let due = match &self.phase {
            Phase::Working(working) if working.stop.is_none() => [
                limits.iteration_time.map(|time| working.began.saturating_add(time)),
                limits.idle_time.map(|time| working.last_sign.saturating_add(time)),
                limits.wall_clock,
            ],
            Phase::Waiting(waiting) => [Some(self.next_look(waiting)), limits.wall_clock, None],
            _ => [None, None, None],
        };
        due.into_iter().flatten().min()
    }
}
