//! Handles the signals that end a run: Ctrl+C, SIGTERM and SIGQUIT. The handlers are installed before anything changes
//! the terminal, so that a signal never leaves it changed.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_loop::Interrupter;
use ralph_process::{StopSignal, on_stop_signals};

use crate::ui::{exit_immediately, shared_terminal};

/// How long a run may take to end after the second Ctrl+C.
const FORCED_END_DELAY: Duration = Duration::from_secs(1);

pub(super) struct Stops(Arc<Mutex<Option<Interrupter>>>);

impl Stops {
    /// Installs the handlers. Until a run is set, each signal ends the program.
    pub(super) fn listen() -> io::Result<Self> {
        let run = Arc::new(Mutex::new(None));
        let current = Arc::clone(&run);
        on_stop_signals(move |signal| {
            // The lock is held while the program ends, so that no run begins meanwhile.
            let run = current.lock().unwrap_or_else(PoisonError::into_inner);
            stopped(signal, run.as_ref());
        })?;
        Ok(Self(run))
    }

    /// Sends signals to this run from now on.
    pub(super) fn set_run(&self, run: &Interrupter) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.clone());
    }
}

fn stopped(signal: StopSignal, run: Option<&Interrupter>) {
    let run = match (signal, run) {
        // The program ends when this returns, with every process it started.
        (StopSignal::Quit, _) => return shared_terminal::leave(),
        // Ctrl+C is meant for the program in the foreground.
        (StopSignal::Interrupt, _) if shared_terminal::is_lent() => return,
        (_, None) => return exit_immediately("Stopped before the run began."),
        (_, Some(run)) => run,
    };
    match signal {
        StopSignal::Interrupt => run.interrupt(),
        StopSignal::Terminate | StopSignal::Quit => run.stop(),
    }
    if run.presses() > 1 {
        end_soon(run.clone());
    }
}

/// Ends a run that does not stop soon after the second Ctrl+C, with all its processes. The next run picks up its work,
/// as after a kill.
fn end_soon(run: Interrupter) {
    std::thread::spawn(move || {
        std::thread::sleep(FORCED_END_DELAY);
        if run.presses() < 2 {
            // The user asked to continue at the same moment.
            return;
        }
        exit_immediately("Stopped at once. The next `ralph run` picks up unfinished work.");
    });
}
