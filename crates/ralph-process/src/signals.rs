//! The signals by which people and systems ask a program to end.

use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Who asks a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// A person, with Ctrl+C.
    Interrupt,
    /// The system, or a terminal that is gone.
    Terminate,
}

/// Calls a function, from a thread of its own, whenever this process is asked to end. From then on a signal does not end
/// the process by itself.
///
/// # Errors
/// When the signals cannot be listened to.
pub fn on_stop_signals(mut stop: impl FnMut(StopSignal) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        signals.forever().for_each(|signal| {
            stop(match signal {
                SIGINT => StopSignal::Interrupt,
                _ => StopSignal::Terminate,
            });
        });
    })?;
    Ok(())
}
