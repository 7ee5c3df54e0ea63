//! The signals by which people and systems ask a program to end.

use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls a function, from a thread of its own, whenever this process is asked to end. From then on a signal does not end
/// the process by itself.
///
/// # Errors
/// When the signals cannot be listened to.
pub fn on_stop_signals(mut stop: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().for_each(|_| stop()))?;
    Ok(())
}
