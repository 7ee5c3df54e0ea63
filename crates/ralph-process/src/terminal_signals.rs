//! Job control signals from the terminal and the shell.

use std::io;
use std::thread;

use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::sys;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalSignal {
    Resized,
    /// A key is about to stop the process: it stops when the callback returns.
    Leaving,
    /// The process continues after being stopped.
    Back,
}

/// Calls a function on a separate thread for each of these signals. The default action of a key follows afterwards.
///
/// # Errors
/// If the signal handlers cannot be installed.
pub fn on_terminal_signals(mut notify: impl FnMut(TerminalSignal) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGWINCH, SIGTSTP, SIGCONT])?;
    let listen = move || {
        for signal in signals.forever() {
            match signal {
                SIGWINCH => notify(TerminalSignal::Resized),
                SIGCONT => notify(TerminalSignal::Back),
                _ => {
                    notify(TerminalSignal::Leaving);
                    sys::suspend_self();
                    notify(TerminalSignal::Back);
                }
            }
        }
    };
    thread::Builder::new().name("terminal".to_owned()).spawn(listen)?;
    Ok(())
}
