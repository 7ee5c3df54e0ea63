//! The signals by which people and systems ask a program to end.

use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::sweep::kill_descendants;

/// Who asks a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// A person, with Ctrl+C.
    Interrupt,
    /// The system, or a terminal that is gone.
    Terminate,
    /// A person, with Ctrl+\\: at once. The process ends when the function that is told this returns, and everything that
    /// it has started ends with it.
    Quit,
}

/// Calls a function, from a thread of its own, whenever this process is asked to end. From then on no signal but
/// [`StopSignal::Quit`] ends the process by itself.
///
/// # Errors
/// When the signals cannot be listened to.
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
                // It does not return.
                drop(emulate_default_handler(signal));
            }
        });
    })?;
    Ok(())
}
