//! The heartbeat of a run, in its own thread: a step of the run may take longer than a lease lasts.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use jiff::Timestamp;
use ralph_model::RunId;
use ralph_store::{Change, Part, Store, StoreError, Wait};

/// How often the heartbeat is written: often enough that one lost beat does not cost the claims.
pub(crate) const INTERVAL: Duration = Duration::from_secs(30);
/// How long a claim lasts without renewal.
pub(crate) const LEASE: Duration = Duration::from_secs(120);

/// The last reading of the run's clock, for a thread that cannot read it: the clock may have jumped since the run
/// began.
#[derive(Debug, Clone)]
pub(crate) struct ClockReading(Arc<Mutex<(Timestamp, Instant)>>);

impl ClockReading {
    pub(crate) fn at(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new((now, Instant::now()))))
    }

    pub(crate) fn update(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (now, Instant::now());
    }

    /// The current time, extrapolated from the last reading.
    fn now(&self) -> Timestamp {
        let (now, read_at) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.checked_add(read_at.elapsed()).unwrap_or(now)
    }
}

/// Why a heartbeat failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The disk is full, or the database locked.
    Passes,
    /// The database is missing, replaced, damaged or read-only: the agent's work cannot be recorded.
    Broken(String),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full { .. } | StoreError::Busy { .. } => Self::Passes,
            error => Self::Broken(error.to_string()),
        }
    }
}

fn beat(database: &Path, run: &RunId, now: Timestamp) -> Result<(), Trouble> {
    match Store::open_existing(database, Wait::Long)? {
        Some(mut store) => Ok(store.heartbeat(run, LEASE, now)?),
        None => Err(Trouble::Broken(
            StoreError::Replaced {
                file: database.to_owned(),
                part: Part::Database,
                change: Change::Deleted,
            }
            .to_string(),
        )),
    }
}

/// A heartbeat that runs until it is dropped.
pub(crate) struct Heartbeat {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Starts the heartbeat of a run, using the run's clock. `broken` is called if the database is broken.
    pub(crate) fn start(
        database: &Path,
        run: &RunId,
        clock: &ClockReading,
        broken: impl Fn(String) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = sync_channel::<()>(0);
        let (database, run, clock) = (database.to_owned(), run.clone(), clock.clone());
        let thread = thread::Builder::new().name("heartbeat".to_owned()).spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                match beat(&database, &run, clock.now()) {
                    // A lost beat is followed by another before the lease expires.
                    Ok(()) | Err(Trouble::Passes) => {}
                    Err(Trouble::Broken(reason)) => broken(reason),
                }
            }
        })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lock_and_full_disk_are_transient() {
        let path = || "progress.db".into();
        for passes in [StoreError::Busy { path: path() }, StoreError::Full { path: path() }] {
            assert_eq!(Trouble::from(passes), Trouble::Passes);
        }
        let read_only = StoreError::Sql {
            path: path(),
            reason: "attempt to write a readonly database".to_owned(),
        };
        let reason = "cannot use progress.db: attempt to write a readonly database";
        assert_eq!(Trouble::from(read_only), Trouble::Broken(reason.to_owned()));
    }
}
