//! Requests to a running run from other threads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Incoming;
use crate::guide::RunRequest;
use crate::inbox::Sender;
use crate::state::Input;

/// Sends requests to a run from another thread: interrupt it, stop it, or end it after this iteration.
#[derive(Clone)]
pub struct Interrupter {
    pending: Arc<PendingInputs>,
    wake: Sender<Incoming>,
}

impl Interrupter {
    pub(super) fn new(pending: &Arc<PendingInputs>, wake: &Sender<Incoming>) -> Self {
        Self {
            pending: Arc::clone(pending),
            wake: wake.clone(),
        }
    }

    /// Handles Ctrl+C. If an agent is working and the user can be asked (`Order::guide`), the first one stops the turn
    /// and asks; otherwise it stops the run gracefully. A second one stops the run at once, even while it asks.
    pub fn interrupt(&self) {
        self.send(Input::Interrupt);
    }

    /// Stops the run gracefully without asking; the second time at once. For signals that do not come from a user at
    /// the terminal.
    pub fn stop(&self) {
        self.send(Input::Stop);
    }

    /// Acts like a first Ctrl+C if the user can be asked; otherwise does nothing.
    pub fn guide(&self) {
        self.send(Input::GuidanceWanted);
    }

    /// Ends the run after the current iteration; a waiting run ends at once.
    pub fn finish_iteration(&self) {
        self.send(Input::Requested(RunRequest::StopAfterIteration));
    }

    pub fn cancel_finish(&self) {
        self.send(Input::Requested(RunRequest::GoOn));
    }

    /// How often the run was interrupted, stopped or stopped for guidance since it began, or since it continued after a
    /// question.
    #[must_use]
    pub fn presses(&self) -> u32 {
        self.pending.presses()
    }

    fn send(&self, what: Input) {
        self.pending.push(what);
        // The run checks for requests between effects; this wakes one that waits. A full queue needs no wake-up.
        drop(self.wake.try_send(Incoming::Wake));
    }
}

/// Requests that the state machine has not handled yet.
#[derive(Debug, Default)]
pub(super) struct PendingInputs(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    open: VecDeque<Input>,
    presses: u32,
}

impl PendingInputs {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, what: Input) {
        let mut inner = self.lock();
        inner.presses = inner.presses.saturating_add(u32::from(is_press(&what)));
        inner.open.push_back(what);
    }

    /// A request for guidance that stopped the turn counts as a Ctrl+C, so the next one is the second.
    pub(super) fn guidance_is_a_press(&self) {
        let mut inner = self.lock();
        inner.presses = inner.presses.saturating_add(1);
    }

    pub(super) fn next(&self) -> Option<Input> {
        self.lock().open.pop_front()
    }

    pub(super) fn presses(&self) -> u32 {
        self.lock().presses
    }

    /// The run goes on: forgets the presses that were handled.
    pub(super) fn forget(&self) {
        let mut inner = self.lock();
        let open = inner.open.iter().filter(|what| is_press(what)).count();
        inner.presses = u32::try_from(open).unwrap_or(u32::MAX);
    }
}

fn is_press(what: &Input) -> bool {
    matches!(what, Input::Interrupt | Input::Stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_handled_presses_are_forgotten() {
        let pending = PendingInputs::default();
        pending.push(Input::Interrupt);
        pending.push(Input::GuidanceWanted);
        pending.push(Input::Stop);
        assert_eq!((pending.next(), pending.presses()), (Some(Input::Interrupt), 2));
        pending.forget();
        assert_eq!((pending.next(), pending.presses()), (Some(Input::GuidanceWanted), 1));
        assert_eq!(pending.next(), Some(Input::Stop));
        pending.forget();
        assert_eq!((pending.next(), pending.presses()), (None, 0));
    }
}
