//! The terminal state that all threads of this process share: for printing messages, drawing the live block, and
//! restoring the terminal quickly on exit.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use ralph_process::StopHandle;

use super::block::{Block, RedrawReason};
use super::terminal::{self, Ready, TerminalOwner};

/// How many messages are buffered while another program has the terminal.
const MAX_BUFFERED_LINES: usize = 2_000;

/// How long to wait for the lock when the terminal has to be left at once. Its holder may be blocked forever.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);

/// How often a waiting thread checks whether the terminal is free.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

static STATE: Mutex<TerminalState> = Mutex::new(TerminalState {
    block: Block::new(),
    owner: Owner::Shared,
    place: Place::Here,
    buffered: VecDeque::new(),
    dropped: 0,
    prompt: String::new(),
});

#[derive(Debug)]
struct TerminalState {
    block: Block,
    owner: Owner,
    place: Place,
    /// Messages printed while the terminal was lent.
    buffered: VecDeque<String>,
    dropped: usize,
    /// The prompt of the current question.
    prompt: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Any thread may print; nothing is drawn.
    Shared,
    Block,
    /// The user answers a question: nothing is drawn, messages are printed.
    User,
    /// Another program: messages are buffered.
    Program,
}

/// Whether this process uses the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    /// The process is about to stop or exit.
    Away,
}

impl TerminalState {
    /// Returns true if the block may be drawn and keys may be read.
    fn is_ours(&self) -> bool {
        self.owner == Owner::Block && self.place == Place::Here && terminal::stderr_owner() == TerminalOwner::Ours
    }

    fn write(text: &str) {
        if !text.is_empty() {
            let mut stderr = io::stderr().lock();
            // Write errors are ignored: if standard error is closed, the work still goes on.
            drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
        }
    }

    fn give_to(&mut self, owner: Owner) {
        Self::write(&self.block.erase());
        terminal::stop_listening();
        if owner == Owner::Program {
            terminal::lend();
        }
        self.owner = owner;
    }

    fn take_back(&mut self) {
        if self.owner == Owner::Program {
            terminal::take_back();
        }
        self.owner = Owner::Block;
        if self.dropped > 0 {
            Self::write(&format!("… {} lines\n", self.dropped));
            self.dropped = 0;
        }
        let buffered: String = self.buffered.drain(..).collect();
        Self::write(&buffered);
    }
}

fn lock_state() -> MutexGuard<'static, TerminalState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the state; `None` if another thread holds it for too long.
fn try_lock_state() -> Option<MutexGuard<'static, TerminalState>> {
    let begun = Instant::now();
    loop {
        match STATE.try_lock() {
            Ok(state) => return Some(state),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if begun.elapsed() > LOCK_TIMEOUT => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Prints whole lines above the block.
pub(super) fn say(text: &str) {
    let mut state = lock_state();
    match state.owner {
        Owner::Shared | Owner::User => TerminalState::write(text),
        Owner::Block => TerminalState::write(&state.block.above(text)),
        Owner::Program => {
            if state.buffered.len() == MAX_BUFFERED_LINES {
                state.buffered.pop_front();
                state.dropped += 1;
            }
            state.buffered.push_back(text.to_owned());
        }
    }
}

/// Prints untrusted text, with control characters made visible.
pub(crate) fn show(text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    say(&format!("{}{end}", super::visible_controls(text)));
}

/// Erases the block until the next draw, because something is printed that does not go through this module.
pub(super) fn clear() {
    let mut state = lock_state();
    let erased = state.block.erase();
    TerminalState::write(&erased);
}

/// Starts drawing a block, until the returned guard is dropped.
pub(crate) fn begin() -> Drawing {
    lock_state().owner = Owner::Block;
    Drawing
}

/// The block is drawn while this guard exists.
#[derive(Debug)]
pub(crate) struct Drawing;

impl Drop for Drawing {
    fn drop(&mut self) {
        let mut state = lock_state();
        state.give_to(Owner::Shared);
        let buffered: String = state.buffered.drain(..).collect();
        TerminalState::write(&buffered);
    }
}

/// Draws lines for the terminal's size, if the terminal is ours. The lines are computed only then.
pub(crate) fn draw(reason: RedrawReason, lines: impl FnOnce(usize, usize) -> Vec<String>) {
    let mut state = lock_state();
    if !state.is_ours() {
        return;
    }
    let (width, height) = terminal::size();
    if let Some(drawn) = state.block.draw(lines(width, height), reason) {
        TerminalState::write(&drawn);
    }
}

/// Waits until no other program has the terminal, then reserves it for a question. Returns whether that happened before
/// the question was abandoned.
pub(crate) fn begin_prompt(is_given_up: &dyn Fn() -> bool) -> PromptAccess {
    while !is_given_up() {
        let mut state = lock_state();
        match state.owner {
            Owner::Program => {}
            Owner::Block => {
                state.give_to(Owner::User);
                return PromptAccess::Granted;
            }
            Owner::Shared | Owner::User => return PromptAccess::Granted,
        }
        drop(state);
        std::thread::sleep(POLL_INTERVAL);
    }
    PromptAccess::Abandoned
}

/// Whether the terminal was reserved for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptAccess {
    Granted,
    Abandoned,
}

/// Prints a prompt; the answer is typed on the same line.
pub(super) fn prompt(text: &str) {
    let mut state = lock_state();
    text.clone_into(&mut state.prompt);
    TerminalState::write(text);
}

/// Ends a question.
pub(crate) fn end_prompt() {
    let mut state = lock_state();
    if state.owner == Owner::User {
        state.take_back();
    }
}

/// Shows a file in a pager until the user or `close` ends it. Messages are buffered meanwhile.
///
/// # Errors
///
/// The reason reason the file could not be shown.
pub(crate) fn page(pager: &str, file: &Path, close: &StopHandle) -> Result<(), String> {
    let shown = lend(|| ralph_process::editor::page(pager, file, close));
    shown.unwrap_or(Ok(())).map_err(|error| error.to_string())
}

/// Lends the terminal to another program while `work` runs. Messages are buffered meanwhile. Does nothing if no block
/// is drawn, because then the terminal is not ours to lend.
pub(crate) fn lend<T>(work: impl FnOnce() -> T) -> Option<T> {
    {
        let mut state = lock_state();
        if state.owner != Owner::Block {
            return None;
        }
        state.give_to(Owner::Program);
    }
    let done = work();
    let mut state = lock_state();
    if state.owner == Owner::Program {
        state.take_back();
    }
    Some(done)
}

/// Returns true if another program has the terminal, so signals from keys are meant for it.
pub(crate) fn is_lent() -> bool {
    try_lock_state().is_some_and(|state| state.owner == Owner::Program)
}

/// Restores the terminal, before a stop or exit, without waiting long for a lock.
pub(crate) fn leave() {
    terminal::stop_listening();
    if let Some(mut state) = try_lock_state() {
        state.place = Place::Away;
        let erased = state.block.erase();
        TerminalState::write(&erased);
    }
    // Another thread may have started to listen in the meantime.
    terminal::stop_listening();
    terminal::restore_lent_mode();
}

/// Resumes after a stop, or after another program had the terminal.
pub(crate) fn come_back() {
    terminal::discard_stale_mode();
    let mut state = lock_state();
    if state.owner == Owner::User && state.place == Place::Away {
        // The shell's output has pushed the question up, so repeat it.
        TerminalState::write(&state.prompt);
    }
    state.place = Place::Here;
}

/// Erases the block before a panicking thread prints its message. That thread may hold the lock.
pub(crate) fn clear_for_panic() {
    if let Ok(mut state) = STATE.try_lock() {
        let erased = state.block.erase();
        TerminalState::write(&erased);
    }
}

/// Starts reading keys if standard input is a terminal and it is ours.
pub(crate) fn listen() -> KeyInput {
    let state = lock_state();
    let wanted = state.is_ours() && super::has_terminal();
    match wanted && terminal::listen().is_ok() && terminal::is_listening() {
        true => KeyInput::Enabled,
        false => KeyInput::Disabled,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyInput {
    Enabled,
    Disabled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    Key(u8),
    Woken,
    /// The time is over, or the event was not relevant.
    Timeout,
}

/// Waits for keys and for wakeups from other threads.
#[derive(Debug)]
pub(crate) struct KeyWaiter {
    wakeups: PipeReader,
}

/// Wakes a [`KeyWaiter`].
#[derive(Debug)]
pub(crate) struct Waker(PipeWriter);

impl KeyWaiter {
    pub(crate) fn new() -> io::Result<(Self, Waker)> {
        let (wakeups, waker) = io::pipe()?;
        Ok((Self { wakeups }, Waker(waker)))
    }

    /// Waits for a key, a wakeup or the timeout.
    pub(crate) fn wait(&mut self, time: Duration) -> Wake {
        match terminal::wait(&self.wakeups, time) {
            Ready::Keys => read_key(),
            Ready::KeysClosed => {
                // Further waits for keys would return at once.
                terminal::stop_listening();
                Wake::Timeout
            }
            Ready::Woken => {
                terminal::drain(&mut self.wakeups);
                Wake::Woken
            }
            Ready::Nothing => Wake::Timeout,
        }
    }
}

impl Waker {
    pub(crate) fn wake(&self) {
        // A waiter that is gone needs no wakeup.
        drop((&self.0).write_all(b"!"));
    }
}

fn read_key() -> Wake {
    let mut bytes = [0; 64];
    let read = terminal::read(&mut bytes);
    parse_key(bytes.get(..read).unwrap_or_default()).map_or(Wake::Timeout, Wake::Key)
}

/// Ctrl+D, when keys are read one by one.
pub(crate) const CTRL_D: u8 = 4;

/// Returns the pressed key. Several different bytes at once are pasted text or an escape sequence, and neither is a
/// command. A key that is buffered down repeats.
fn parse_key(bytes: &[u8]) -> Option<u8> {
    let first = bytes.first()?;
    let is_one = bytes.iter().all(|byte| byte == first);
    (is_one && (first.is_ascii_graphic() || *first == CTRL_D)).then(|| first.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_waits_for_the_pager_to_close() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let pager = format!(
            "until [ -e '{}' ]; do sleep 0.02; done; : > '{}'; :",
            file("close").display(),
            file("closed").display()
        );
        let _drawing = begin();
        let paging = std::thread::spawn(move || page(&pager, Path::new("/nowhere"), &StopHandle::default()));
        while !is_lent() {
            std::thread::yield_now();
        }
        assert_eq!(begin_prompt(&|| true), PromptAccess::Abandoned);
        assert!(is_lent());
        let is_closed = file("closed");
        let asking = std::thread::spawn(move || (begin_prompt(&|| false), is_closed.exists()));
        drop(std::fs::File::create(file("close")).unwrap());
        assert_eq!(asking.join().unwrap(), (PromptAccess::Granted, true));
        assert_eq!((paging.join().unwrap(), lock_state().owner), (Ok(()), Owner::User));
    }

    #[test]
    fn pasted_text_is_not_a_key() {
        for (bytes, expected) in [
            (&b"q"[..], Some(b'q')),
            (b"Q", Some(b'q')),
            (b"ggg", Some(b'g')),
            (b"quit", None),
            (b"\x1b[A", None),
            (b"\x1bq", None),
            (b"\x1b", None),
            (b"\n", None),
            (b"\x04", Some(CTRL_D)),
            ("ü".as_bytes(), None),
            (b"", None),
        ] {
            assert_eq!(parse_key(bytes), expected, "{bytes:?}");
        }
    }
}
