//! What a person wants of a run that goes on, told from another thread.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Incoming;
use crate::guide::Wish;
use crate::inbox::Sender;
use crate::state::Happening;

/// A way to say something to a run from another thread: to interrupt it as Ctrl+C does, to stop it, or to wish something.
#[derive(Clone)]
pub struct Interrupter {
    wanted: Arc<Wanted>,
    wake: Sender<Incoming>,
}

impl Interrupter {
    pub(super) fn new(wanted: &Arc<Wanted>, wake: &Sender<Incoming>) -> Self {
        Self {
            wanted: Arc::clone(wanted),
            wake: wake.clone(),
        }
    }

    /// Ctrl+C. Where an agent works and somebody can be asked (`Order::guide`), the first one stops the turn and asks them;
    /// else it stops the run in good order. The second stops the run, also while it asks, and at once.
    pub fn interrupt(&self) {
        self.tell(Happening::Interrupt);
    }

    /// Stops the run, in good order and without asking anybody; the second time at once. This is for signals that no person
    /// at the terminal sends.
    pub fn stop(&self) {
        self.tell(Happening::Stop);
    }

    /// The same as the first Ctrl+C where that asks somebody; else nothing happens.
    pub fn guide(&self) {
        self.tell(Happening::GuidanceWanted);
    }

    /// Lets the run end when the iteration that goes on is settled; one that only waits ends at once.
    pub fn finish_iteration(&self) {
        self.tell(Happening::Wished(Wish::LastIteration));
    }

    /// Takes that back.
    pub fn go_on_after_all(&self) {
        self.tell(Happening::Wished(Wish::GoOn));
    }

    /// How often the run was interrupted, stopped, or asked for guidance and obeyed since it began, or since it last went on
    /// after a question.
    #[must_use]
    pub fn presses(&self) -> u32 {
        self.wanted.presses()
    }

    fn tell(&self, what: Happening) {
        self.wanted.want(what);
        // It is looked at between any two effects; this is for a run that waits. One that has enough to do needs no waking.
        drop(self.wake.try_send(Incoming::Wake));
    }
}

/// What was wanted and is not told yet.
#[derive(Debug, Default)]
pub(super) struct Wanted(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    open: VecDeque<Happening>,
    presses: u32,
}

impl Wanted {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn want(&self, what: Happening) {
        let mut inner = self.lock();
        inner.presses = inner.presses.saturating_add(u32::from(is_press(&what)));
        inner.open.push_back(what);
    }

    /// Guidance was wanted, and the turn is stopped for it as by a Ctrl+C: the next one is the second.
    pub(super) fn guidance_is_a_press(&self) {
        let mut inner = self.lock();
        inner.presses = inner.presses.saturating_add(1);
    }

    /// What was wanted next.
    pub(super) fn next(&self) -> Option<Happening> {
        self.lock().open.pop_front()
    }

    pub(super) fn presses(&self) -> u32 {
        self.lock().presses
    }

    /// The run goes on: what was told of so far is forgotten.
    pub(super) fn forget(&self) {
        let mut inner = self.lock();
        let open = inner.open.iter().filter(|what| is_press(what)).count();
        inner.presses = u32::try_from(open).unwrap_or(u32::MAX);
    }
}

fn is_press(what: &Happening) -> bool {
    matches!(what, Happening::Interrupt | Happening::Stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_forgotten_when_the_run_goes_on_and_what_was_not_is_not() {
        let wanted = Wanted::default();
        wanted.want(Happening::Interrupt);
        wanted.want(Happening::GuidanceWanted);
        wanted.want(Happening::Stop);
        assert_eq!((wanted.next(), wanted.presses()), (Some(Happening::Interrupt), 2));
        wanted.forget();
        assert_eq!((wanted.next(), wanted.presses()), (Some(Happening::GuidanceWanted), 1));
        assert_eq!(wanted.next(), Some(Happening::Stop));
        wanted.forget();
        assert_eq!((wanted.next(), wanted.presses()), (None, 0));
    }
}
