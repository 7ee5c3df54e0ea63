//! What is particular to a terminal of a Unix system: its mode, its size, who has it, and the keys that are pressed at it.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The size of a terminal that does not tell it.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// The mode that the terminal had before keys were listened to; none while nobody listens.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The mode that the terminal had before another program got it; none while none has it.
static LENT: Mutex<Option<Termios>> = Mutex::new(None);

/// Who has the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// This process, with its group.
    Ours,
    /// Somebody else, for now: whoever changed its mode or read from it would be stopped.
    Others,
}

fn ground_of(terminal: impl AsFd) -> Ground {
    match tcgetpgrp(terminal) {
        Ok(group) if group != getpgrp() => Ground::Others,
        // A terminal that is not that of the session stops nobody.
        _ => Ground::Ours,
    }
}

/// Who has the terminal that is written to.
pub(super) fn ground() -> Ground {
    ground_of(io::stderr())
}

/// Who has the terminal that is read from.
pub(super) fn ground_of_keys() -> Ground {
    ground_of(io::stdin())
}

/// How wide and high the terminal is.
pub(super) fn size() -> (usize, usize) {
    terminal_size::terminal_size_of(io::stderr())
        .map(|(width, height)| (usize::from(width.0), usize::from(height.0)))
        .filter(|(width, height)| *width > 0 && *height > 0)
        .unwrap_or(DEFAULT_SIZE)
}

/// Lets keys come one by one, without showing them. Signals stay what they are. Nothing happens where it is so already, and
/// where the terminal is somebody else's.
pub(super) fn listen() -> io::Result<()> {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let stdin = io::stdin();
    if before.is_some() || ground_of(&stdin) == Ground::Others {
        return Ok(());
    }
    let found = tcgetattr(&stdin)?;
    let mut mode = found.clone();
    mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    // Otherwise Ctrl+C and Ctrl+\\ discard output that is on its way, and the cursor is not where the block was drawn.
    mode.local_modes.insert(LocalModes::NOFLSH);
    // To read never waits: a key that was seen may be taken away by the next one, as Ctrl+C does.
    mode.special_codes[SpecialCodeIndex::VMIN] = 0;
    mode.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(&stdin, OptionalActions::Now, &mode)?;
    *before = Some(found);
    Ok(())
}

/// Gives the terminal the mode back that it had. One that is somebody else's by now is left alone.
pub(super) fn stop_listening() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let stdin = io::stdin();
    if let Some(before) = before.filter(|_| ground_of(&stdin) == Ground::Ours) {
        // A terminal that is gone has no mode.
        let _is_set = tcsetattr(&stdin, OptionalActions::Now, &before);
    }
}

/// Keeps the mode of the terminal, which another program gets.
pub(super) fn lend() {
    let mode = tcgetattr(io::stdin()).ok();
    *LENT.lock().unwrap_or_else(PoisonError::into_inner) = mode;
}

/// Gives the terminal the mode back that it had when it was lent: a program that was ended has not done so.
pub(super) fn put_right_what_was_lent() {
    let mode = LENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(mode) = mode.filter(|_| ground_of_keys() == Ground::Ours) {
        // A terminal that is gone has no mode.
        let _is_set = tcsetattr(io::stdin(), OptionalActions::Now, &mode);
    }
}

/// The same, and it is lent no more.
pub(super) fn take_back() {
    put_right_what_was_lent();
    *LENT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Looks whether the terminal is still in the mode that it was given: a shell that had it meanwhile has set its own.
pub(super) fn forget_other_modes() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_other = |mode: Termios| mode.local_modes.contains(LocalModes::ICANON);
    if tcgetattr(io::stdin()).is_ok_and(is_other) {
        *before = None;
    }
}

/// Whether keys are listened to.
pub(super) fn listens() -> bool {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// What has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// A key, or several.
    Keys,
    /// No key will ever come again: the terminal is gone.
    NoMoreKeys,
    /// A byte from another thread.
    Call,
    /// Nothing in that time.
    Nothing,
}

/// Waits for a key, if they are listened to and meant for this process, or for a call.
pub(super) fn wait(calls: &PipeReader, time: Duration) -> Came {
    let time = Timespec::try_from(time).ok();
    let stdin = io::stdin();
    let keys = listens() && ground_of(&stdin) == Ground::Ours;
    let mut both = vec![PollFd::new(calls, PollFlags::IN)];
    if keys {
        both.push(PollFd::new(&stdin, PollFlags::IN));
    }
    if poll(&mut both, time.as_ref()).is_err() {
        return Came::Nothing;
    }
    let ready = |fd: Option<&PollFd<'_>>| fd.map_or(PollFlags::empty(), PollFd::revents);
    match (ready(both.first()), ready(both.last().filter(|_| keys))) {
        (_, key) if key == PollFlags::IN => Came::Keys,
        (_, key) if !key.is_empty() => Came::NoMoreKeys,
        (call, _) if !call.is_empty() => Came::Call,
        _ => Came::Nothing,
    }
}

/// Reads the keys that have come, and says how many there are. It never waits for one.
pub(super) fn read(keys: &mut [u8]) -> usize {
    // Whoever has stopped listening meanwhile reads themselves.
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let stdin = io::stdin();
    if before.is_none() || ground_of(&stdin) == Ground::Others {
        return 0;
    }
    // A terminal that cannot be read is gone, which the next wait tells.
    rustix::io::read(&stdin, keys).unwrap_or(0)
}

/// Takes the calls that have come.
pub(super) fn answer(calls: &mut PipeReader) {
    let mut bytes = [0; 64];
    // There is at least one, so this does not wait.
    let _read: io::Result<usize> = calls.read(&mut bytes);
}
