//! The signs of life of a run, from a thread of its own: what the run is at may take longer than a claim holds without one.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use jiff::Timestamp;
use ralph_model::RunId;
use ralph_store::{Change, Part, Store, StoreError, Wait};

/// How often a run says that it goes on: often enough that one lost sign does not cost its claims.
pub(crate) const INTERVAL: Duration = Duration::from_secs(30);
/// For how long a claim holds unless the run says more.
pub(crate) const LEASE: Duration = Duration::from_secs(120);

/// What a run last saw on the clock, for a thread that cannot look itself: the clock may have jumped since the run began.
#[derive(Debug, Clone)]
pub(crate) struct LastLook(Arc<Mutex<(Timestamp, Instant)>>);

impl LastLook {
    pub(crate) fn at(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new((now, Instant::now()))))
    }

    /// The clock was looked at.
    pub(crate) fn looked(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (now, Instant::now());
    }

    /// The present moment, counted from the last look.
    fn now(&self) -> Timestamp {
        let (now, looked) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.checked_add(looked.elapsed()).unwrap_or(now)
    }
}

/// Why a sign of life did not get through.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The disk is full, or the database locked.
    Passes,
    /// The database is missing, replaced or damaged, or cannot be written: nothing that the agent does can be recorded.
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

/// A heart that beats until it is dropped.
pub(crate) struct Heart {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heart {
    /// Begins to give signs for a run, by the clock that the run looks at; the run is told when the database is
    /// broken.
    pub(crate) fn start(
        database: &Path,
        run: &RunId,
        clock: &LastLook,
        broken: impl Fn(String) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = sync_channel::<()>(0);
        let (database, run, clock) = (database.to_owned(), run.clone(), clock.clone());
        let thread = thread::Builder::new().name("heart".to_owned()).spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                match beat(&database, &run, clock.now()) {
                    // A sign that does not get through is followed by another, while the claim still holds.
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

impl Drop for Heart {
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
    fn only_a_lock_and_a_full_disk_pass_by_themselves() {
        let path = || "progress.db".into();
        for passes in [StoreError::Busy { path: path() }, StoreError::Full { path: path() }] {
            assert_eq!(Trouble::from(passes), Trouble::Passes);
        }
        let read_only = StoreError::Sql {
            path: path(),
            reason: "attempt to write a readonly database".to_owned(),
        };
        let said = "cannot use progress.db: attempt to write a readonly database";
        assert_eq!(Trouble::from(read_only), Trouble::Broken(said.to_owned()));
    }
}
