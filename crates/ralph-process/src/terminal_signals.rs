//! The signals by which a terminal and a shell tell a program what becomes of it.

use std::io;
use std::thread;

use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::sys;

/// What a terminal tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalSignal {
    /// It has another size.
    Resized,
    /// The process is about to be stopped by a key: when the function that is told this returns.
    Leaving,
    /// It goes on after that, or after it was stopped in another way.
    Back,
}

/// Calls a function, from a thread of its own, whenever the terminal tells something. What a key does by itself, it does
/// afterwards.
///
/// # Errors
/// When the signals cannot be listened to.
pub fn on_terminal_signals(mut tell: impl FnMut(TerminalSignal) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGWINCH, SIGTSTP, SIGCONT])?;
    let listen = move || {
        for signal in signals.forever() {
            match signal {
                SIGWINCH => tell(TerminalSignal::Resized),
                SIGCONT => tell(TerminalSignal::Back),
                _ => {
                    tell(TerminalSignal::Leaving);
                    sys::stop_as_a_key_does();
                    tell(TerminalSignal::Back);
                }
            }
        }
    };
    thread::Builder::new().name("terminal".to_owned()).spawn(listen)?;
    Ok(())
}
