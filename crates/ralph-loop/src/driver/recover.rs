//! Finds what dead runs of this worktree left behind, kills their processes and returns their iterations for
//! settlement.

use jiff::Timestamp;
use ralph_model::TaskKind;
use ralph_store::{IterationRecord, OpenRun, Pause, Phase, Run, RunProcess};

use super::before::place_on_record;
use super::{RunError, Runner};
use crate::checkout::Checkout;
use crate::gates::Baseline;
use crate::heartbeat::LEASE;
use crate::prune::prune;
use crate::state::{Current, Leftover, Place};
use crate::summary::{StopCause, TurnSummary};
use crate::watch::RunEvent;

impl Runner<'_> {
    /// Finds the leftovers of dead runs. Fails while another run is alive in the same folder.
    pub(super) fn recover(&mut self) -> Result<Vec<Leftover>, RunError> {
        let site = self.site;
        self.wait_for_leases_of_others()?;
        let alive = |process: &RunProcess| *process != site.process && process.is_alive() == Some(true);
        let (mut left, mut found) = (Vec::new(), Vec::new());
        for record in self.store.unfinished(&self.site.worktree, &self.run)? {
            if alive(&record.process) {
                // Its lock was removed, but it is alive.
                continue;
            }
            // Pids of another host or PID namespace mean nothing here.
            let killed = match record.process.is_alive() {
                Some(_) => ralph_process::kill_leftovers(&record.marker, record.agent),
                None => 0,
            };
            found.push((record.run.clone(), record.iteration, killed));
            left.push(self.resume(record)?);
        }
        let living = self.store.end_dead_runs(&site.worktree, &self.run, &alive)?;
        // A repeat after a full disk must not report these twice.
        for (run, iteration, killed) in &found {
            let (iteration, killed) = (*iteration, *killed);
            self.watch.tell(&RunEvent::FoundLeftover { run, iteration, killed });
        }
        if let Some(living) = living.first() {
            return Err(still_works(living));
        }
        self.tidy_checkouts();
        self.prune();
        Ok(left)
    }

    /// Waits for runs of this worktree on other hosts or in other PID namespaces. Their processes cannot be checked
    /// from here, so they count as dead once their leases expire without renewal.
    fn wait_for_leases_of_others(&mut self) -> Result<(), RunError> {
        let site = self.site;
        for open in self.store.open_runs(&site.worktree, &self.run)? {
            let seen = expiry(&open);
            // A wrong clock may have written a time far in the future.
            let latest = site.clock.now().saturating_add(LEASE).unwrap_or(Timestamp::MAX);
            let expires = seen.min(latest);
            if open.run.begun.process.is_alive().is_some() || expires < site.clock.now() {
                continue;
            }
            let run = &open.run.begun.id;
            self.watch.tell(&RunEvent::Warning(&format!(
                "{run} worked in this folder on another host or in another container: waiting until its lease expires"
            )));
            while site.clock.now() <= expires {
                if self.is_stopped_within(self.order.wait_times.busy, 0) {
                    return Err(works_elsewhere(&open.run));
                }
            }
            let now = self.store.open_runs(&site.worktree, &self.run)?;
            let renewed = now
                .iter()
                .find(|other| other.run.begun.id == *run && expiry(other) != seen);
            if let Some(renewed) = renewed {
                return Err(works_elsewhere(&renewed.run));
            }
        }
        Ok(())
    }

    /// Removes the folders of old iterations. A failure does not stop the run.
    pub(super) fn prune(&mut self) {
        let over = match self.store.finished_runs() {
            Ok(over) => over,
            Err(error) => return self.watch.tell(&RunEvent::Warning(&error.to_string())),
        };
        let now = self.site.clock.now().into();
        let pruned = prune(&self.site.runs, &over, self.site.config.runs, now);
        for failure in &pruned.failures {
            self.watch.tell(&RunEvent::Warning(failure));
        }
        // Forget only these, so that any other missing prompt is still noticed.
        if let Err(error) = self.store.forget_prompts(&pruned.iterations) {
            self.watch.tell(&RunEvent::Warning(&error.to_string()));
        }
        if !pruned.iterations.is_empty() {
            self.watch.tell(&RunEvent::Pruned {
                folders: pruned.iterations.len() as u64,
                bytes: pruned.bytes,
            });
        }
    }

    /// Rebuilds the iteration of a record, as far as it got.
    fn resume(&mut self, record: IterationRecord) -> Result<Leftover, RunError> {
        let task = self.store.task(&record.task)?;
        let overflowed_before = self.store.has_overflowed(&record.task)?;
        // Ignores pauses that other runs met after the turn began.
        let begun = match &record.phase {
            Phase::Claimed => None,
            Phase::Started { at } | Phase::Ended { at, .. } => Some(*at),
        };
        let was_there = |pause: &Pause| begun.is_some_and(|begun| pause.created_at <= begun);
        let pause = self.store.pause_of(&record.run)?.filter(was_there);
        // Verification starts now, so the verifier's current pause applies.
        let verifier_pause = match self.order.verifying_agent() {
            Some(agent) => self.store.pause_of_agent(agent.name())?,
            None => None,
        };
        let mut place = place_on_record(record.before.as_deref());
        // A run that works in the project itself cannot examine work in a checkout; a later run will.
        let is_out_of_reach = place == Place::Checkout && self.site.isolation.is_none();
        if is_out_of_reach {
            place = Place::Project;
        }
        let landed = match (place, &self.site.isolation) {
            (Place::Checkout, Some(isolation)) => {
                let checkout = Checkout::of(&self.site.root, &isolation.work, &record.task).map_err(RunError::Other)?;
                let on_record = self.checkout_record(&checkout)?;
                self.landed_before(on_record.as_ref(), &checkout)?
            }
            _ => None,
        };
        let current = Box::new(Current {
            pause,
            verifier_pause,
            kind: task.as_ref().map_or(TaskKind::Once, |task| task.kind),
            checks: task.map(|task| task.checks).unwrap_or_default(),
            overflowed_before,
            spent_before: self.store.spent_on(&record.task)?,
            baseline: parsed::<Baseline>(record.baseline.as_deref()),
            run: record.run,
            iteration: record.iteration,
            task: record.task,
            task_title: record.task_title,
            feature: record.feature,
            attempt: record.attempt,
            fence: record.fence,
            marker: record.marker,
            model: record.model,
            rationale: record.rationale,
            place,
            landed,
            before: record.before,
        });
        Ok(match record.phase {
            Phase::Claimed => Leftover::Claimed(current),
            Phase::Started { at } => {
                let lost = self.lost_turn(&current, at)?;
                Leftover::Ended(current, Box::new(lost))
            }
            Phase::Ended { at, end } => {
                // A summary written by another version tells only that the turn ended.
                let mut summary = match parsed::<TurnSummary>(Some(&end)) {
                    Some(summary) => summary,
                    None => self.lost_turn(&current, at)?,
                };
                if is_out_of_reach {
                    summary.cause = Some(StopCause::RalphDied);
                }
                Leftover::Ended(current, Box::new(summary))
            }
        })
    }
}

/// When a silent run counts as dead.
fn expiry(open: &OpenRun) -> Timestamp {
    let silent = open.run.heartbeat.saturating_add(LEASE).unwrap_or(Timestamp::MAX);
    open.lease_until.map_or(silent, |lease| lease.max(silent))
}

fn still_works(run: &Run) -> RunError {
    let (run, process) = (&run.begun.id, run.begun.process.pid);
    RunError::Other(format!(
        "{run} (process {process}) is still running in this folder, although its lock was removed: wait for it, or stop it"
    ))
}

/// The same for a run on another host or in a container.
fn works_elsewhere(run: &Run) -> RunError {
    let host = &run.begun.process.host;
    let host = host.split_once(' ').map_or(host.as_str(), |(name, _)| name);
    RunError::Other(format!(
        "{} is still running in this folder, on host {host} or in a container there: wait for it, or stop it there",
        run.begun.id
    ))
}

fn parsed<T: serde::de::DeserializeOwned>(json: Option<&str>) -> Option<T> {
    serde_json::from_str(json?).ok()
}
