//! Signals that ask this process to end.

use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::sweep::kill_descendants;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    Interrupt,
    /// From the system, or because the terminal was closed.
    Terminate,
    /// Ctrl+\\: end immediately. The process exits when the callback returns, and all its descendants with it.
    Quit,
}

/// Calls a function on a separate thread whenever this process is asked to end. From then on, no signal except
/// [`StopSignal::Quit`] ends the process by itself.
///
/// # Errors
/// If the signal handlers cannot be installed.
pub fn on_stop_signals(mut stop: impl FnMut(StopSignal) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        signals.forever().for_each(|signal| {
            stop(match signal {
                SIGINT => StopSignal::Interrupt,
                SIGQUIT => StopSignal::Quit,
                _ => StopSignal::Terminate,
            });
            if signal == SIGQUIT {
                kill_descendants();
                // This does not return.
                drop(emulate_default_handler(signal));
            }
        });
    })?;
    Ok(())
}
