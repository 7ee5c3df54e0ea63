//! The Unix terminal: its mode, its size, its foreground process and its keys.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The size of a terminal that does not report it.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// The terminal's mode before keys were read; `None` while no keys are read.
static SAVED_MODE: Mutex<Option<Termios>> = Mutex::new(None);

/// The terminal's mode before another program got it; `None` while it is not lent.
static LENT_MODE: Mutex<Option<Termios>> = Mutex::new(None);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalOwner {
    /// This process group.
    Ours,
    /// Another process group. Changing the mode or reading would stop this process.
    Others,
}

fn owner_of(terminal: impl AsFd) -> TerminalOwner {
    match tcgetpgrp(terminal) {
        Ok(group) if group != getpgrp() => TerminalOwner::Others,
        // A terminal of another session does not stop anyone.
        _ => TerminalOwner::Ours,
    }
}

/// The owner of the terminal behind standard error.
pub(super) fn stderr_owner() -> TerminalOwner {
    owner_of(io::stderr())
}

/// The owner of the terminal behind standard input.
pub(super) fn stdin_owner() -> TerminalOwner {
    owner_of(io::stdin())
}

/// The width and height of the terminal.
pub(super) fn size() -> (usize, usize) {
    terminal_size::terminal_size_of(io::stderr())
        .map(|(width, height)| (usize::from(width.0), usize::from(height.0)))
        .filter(|(width, height)| *width > 0 && *height > 0)
        .unwrap_or(DEFAULT_SIZE)
}

/// Delivers keys one by one, without echo; signals still work. Does nothing if this mode is already set or the terminal
/// belongs to another process.
pub(super) fn listen() -> io::Result<()> {
    let mut before = SAVED_MODE.lock().unwrap_or_else(PoisonError::into_inner);
    let stdin = io::stdin();
    if before.is_some() || owner_of(&stdin) == TerminalOwner::Others {
        return Ok(());
    }
    let found = tcgetattr(&stdin)?;
    let mut mode = found.clone();
    mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    // Otherwise Ctrl+C and Ctrl+\\ discard pending output, and the cursor is not where the block was drawn.
    mode.local_modes.insert(LocalModes::NOFLSH);
    // Reads never block: a key that was seen may be discarded by the next one, as by Ctrl+C.
    mode.special_codes[SpecialCodeIndex::VMIN] = 0;
    mode.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(&stdin, OptionalActions::Now, &mode)?;
    *before = Some(found);
    Ok(())
}

/// Restores the terminal's mode, unless the terminal belongs to another process by now.
pub(super) fn stop_listening() {
    let before = SAVED_MODE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let stdin = io::stdin();
    if let Some(before) = before.filter(|_| owner_of(&stdin) == TerminalOwner::Ours) {
        // A terminal that is gone has no mode.
        let _is_set = tcsetattr(&stdin, OptionalActions::Now, &before);
    }
}

/// Saves the terminal's mode before another program gets it.
pub(super) fn lend() {
    let mode = tcgetattr(io::stdin()).ok();
    *LENT_MODE.lock().unwrap_or_else(PoisonError::into_inner) = mode;
}

/// Restores the mode from before lending: a killed program has not done so.
pub(super) fn restore_lent_mode() {
    let mode = LENT_MODE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(mode) = mode.filter(|_| stdin_owner() == TerminalOwner::Ours) {
        // A terminal that is gone has no mode.
        let _is_set = tcsetattr(io::stdin(), OptionalActions::Now, &mode);
    }
}

/// Restores the mode and ends lending.
pub(super) fn take_back() {
    restore_lent_mode();
    *LENT_MODE.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Checks whether the terminal is still in our mode: a shell may have set its own meanwhile.
pub(super) fn discard_stale_mode() {
    let mut before = SAVED_MODE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_other = |mode: Termios| mode.local_modes.contains(LocalModes::ICANON);
    if tcgetattr(io::stdin()).is_ok_and(is_other) {
        *before = None;
    }
}

pub(super) fn is_listening() -> bool {
    SAVED_MODE.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    Keys,
    /// The terminal is gone.
    KeysClosed,
    /// A byte from another thread.
    Woken,
    Nothing,
}

/// Waits for a key, if keys are read and meant for this process, or for a wakeup.
pub(super) fn wait(wakeups: &PipeReader, time: Duration) -> Ready {
    let time = Timespec::try_from(time).ok();
    let stdin = io::stdin();
    let keys = is_listening() && owner_of(&stdin) == TerminalOwner::Ours;
    let mut both = vec![PollFd::new(wakeups, PollFlags::IN)];
    if keys {
        both.push(PollFd::new(&stdin, PollFlags::IN));
    }
    if poll(&mut both, time.as_ref()).is_err() {
        return Ready::Nothing;
    }
    let ready = |fd: Option<&PollFd<'_>>| fd.map_or(PollFlags::empty(), PollFd::revents);
    match (ready(both.first()), ready(both.last().filter(|_| keys))) {
        (_, key) if key == PollFlags::IN => Ready::Keys,
        (_, key) if !key.is_empty() => Ready::KeysClosed,
        (call, _) if !call.is_empty() => Ready::Woken,
        _ => Ready::Nothing,
    }
}

/// Reads the available keys without blocking, and returns their number.
pub(super) fn read(keys: &mut [u8]) -> usize {
    // A caller that stopped listening meanwhile reads the input itself.
    let before = SAVED_MODE.lock().unwrap_or_else(PoisonError::into_inner);
    let stdin = io::stdin();
    if before.is_none() || owner_of(&stdin) == TerminalOwner::Others {
        return 0;
    }
    // If the terminal is gone, the next wait reports it.
    rustix::io::read(&stdin, keys).unwrap_or(0)
}

/// Consumes pending wakeups.
pub(super) fn drain(wakeups: &mut PipeReader) {
    let mut bytes = [0; 64];
    // There is at least one, so this does not block.
    let _read: io::Result<usize> = wakeups.read(&mut bytes);
}
