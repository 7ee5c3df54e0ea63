//! The signals that end a run: Ctrl+C, and those of the system. They are heard before anything changes the terminal, so that
//! there is no moment in which one of them would leave it changed.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_loop::Interrupter;
use ralph_process::{StopSignal, on_stop_signals};

use crate::ui::{end_at_once, stage};

/// How long a run may take for its end after the second Ctrl+C.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// Whoever hears these signals.
pub(super) struct Stops(Arc<Mutex<Option<Interrupter>>>);

impl Stops {
    /// Hears them from now on. Until there is a run that can be told, each ends the program.
    pub(super) fn listen() -> io::Result<Self> {
        let told = Arc::new(Mutex::new(None));
        let heard = Arc::clone(&told);
        on_stop_signals(move |signal| {
            // Held until the end where there is no run: none begins meanwhile.
            let run = heard.lock().unwrap_or_else(PoisonError::into_inner);
            stopped(signal, run.as_ref());
        })?;
        Ok(Self(told))
    }

    /// From now on this run is told.
    pub(super) fn tell(&self, run: &Interrupter) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.clone());
    }
}

fn stopped(signal: StopSignal, run: Option<&Interrupter>) {
    let run = match (signal, run) {
        // It ends when this returns, with all that it has started.
        (StopSignal::Quit, _) => return stage::leave(),
        // The key is meant for the program in front.
        (StopSignal::Interrupt, _) if stage::is_lent() => return,
        (_, None) => return end_at_once("Stopped before the run began."),
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

/// Whoever has asked twice does not want to wait for anything: what is not over soon is left as a killed run leaves it, with
/// none of its processes alive, and the next run picks it up.
fn end_soon(run: Interrupter) {
    std::thread::spawn(move || {
        std::thread::sleep(LAST_PATIENCE);
        if run.presses() < 2 {
            // It was asked to go on in the same moment, and does.
            return;
        }
        end_at_once("Ended at once; the next `ralph run` picks up what was not finished.");
    });
}
