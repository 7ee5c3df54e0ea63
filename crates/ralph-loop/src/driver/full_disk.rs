//! Waiting and retrying while the disk is full or another process has locked the database.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{RunError, Runner};
use crate::disk_space::Volumes;
use crate::site::Site;
use crate::state::{Effect, Input, State};
use crate::watch::RunEvent;

/// How often a waiting run checks whether it is to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What blocks an effect for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    DiskSpace,
    Lock,
}

/// The folders that need free space.
pub(super) fn volumes(site: &Site<'_>) -> Volumes {
    let database = site.database.parent();
    let checkouts = site.isolation.as_ref().and_then(|isolation| isolation.work.parent());
    let folders = database.into_iter().chain([site.root.as_path()]).chain(checkouts);
    Volumes(folders.map(Path::to_owned).collect())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    Yes,
    /// The user stopped the run while it waited.
    Stopped,
}

impl Runner<'_> {
    /// Records the start of the run once there is disk space and the database is not locked. A connection that was
    /// opened on a full disk keeps failing later, so each retry opens a new one.
    pub(super) fn begin_when_possible(&mut self) -> Result<Begun, RunError> {
        let mut reported = None;
        loop {
            let (obstacle, error) = match self.begin() {
                Ok(()) => break,
                Err(error) if error.is_locked() => (Obstacle::Lock, error),
                Err(error) if error.is_full() || self.volumes().are_full() => (Obstacle::DiskSpace, error),
                Err(error) => return Err(error),
            };
            self.report_obstacle(&mut reported, obstacle, &error);
            loop {
                if self.is_stopped_within(self.order.wait_times.disk_full, 0) {
                    return Ok(Begun::Stopped);
                }
                if obstacle == Obstacle::Lock || !self.volumes().are_full() {
                    break;
                }
            }
            if obstacle == Obstacle::DiskSpace {
                self.store.reopen(&self.site.database)?;
            }
        }
        self.report_resolved(reported);
        Ok(Begun::Yes)
    }

    fn report_obstacle(&mut self, reported: &mut Option<Obstacle>, obstacle: Obstacle, error: &RunError) {
        if *reported == Some(obstacle) {
            return;
        }
        let reason = error.to_string();
        self.watch.tell(&match obstacle {
            Obstacle::DiskSpace => RunEvent::DiskFull(&reason),
            Obstacle::Lock => RunEvent::Locked(&reason),
        });
        *reported = Some(obstacle);
    }

    fn report_resolved(&mut self, reported: Option<Obstacle>) {
        match reported {
            Some(Obstacle::DiskSpace) => self.watch.tell(&RunEvent::DiskSpaceFreed),
            Some(Obstacle::Lock) => self.watch.tell(&RunEvent::Unlocked),
            None => {}
        }
    }

    /// Performs an effect. While the disk is full or the database locked, it reports that once and retries until it
    /// succeeds, the user stops the run, or the run is out of time. Every effect can be repeated.
    pub(super) fn perform_with_retries(&mut self, state: &State, effect: &Effect) -> Result<Option<Input>, RunError> {
        let mut reported = None;
        let mut pause = self.order.wait_times.disk_full / 8;
        let heard = self.presses_before(effect);
        loop {
            #[cfg(feature = "faults")]
            let done = self.before(effect).and_then(|()| self.perform(effect));
            #[cfg(not(feature = "faults"))]
            let done = self.perform(effect);
            let (obstacle, error) = match done {
                Err(error) if error.is_locked() => (Obstacle::Lock, error),
                Err(error) if error.is_full() || error.may_be_caused_by_full_disk() && self.volumes().are_full() => {
                    (Obstacle::DiskSpace, error)
                }
                done => {
                    self.report_resolved(reported);
                    return done;
                }
            };
            self.report_obstacle(&mut reported, obstacle, &error);
            pause = (pause * 2).min(self.order.wait_times.disk_full);
            if self.is_stopped_within(pause, heard) {
                return Err(error);
            }
            if state.is_out_of_time(self.stopwatch.elapsed(), self.slept()) {
                return Err(RunError::DiskFullTimeout(error.to_string()));
            }
        }
    }

    /// The stop requests that do not apply to this effect: guidance is saved even after the first Ctrl+C that asked for
    /// it. A second one cancels any wait.
    fn presses_before(&self, effect: &Effect) -> u32 {
        match (effect, self.pending_inputs.presses()) {
            (Effect::RecordGuidance(_), 1) => 1,
            _ => 0,
        }
    }

    /// Waits unless the user asks to stop more often than `heard`; returns whether that happened. Other input stays
    /// queued.
    pub(super) fn is_stopped_within(&self, time: Duration, heard: u32) -> bool {
        let begun = Instant::now();
        loop {
            if self.pending_inputs.presses() > heard {
                return true;
            }
            match time.checked_sub(begun.elapsed()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(POLL_INTERVAL)),
                _ => return false,
            }
        }
    }

    /// The folders that need free space.
    pub(super) fn volumes(&self) -> Volumes {
        volumes(self.site)
    }
}
