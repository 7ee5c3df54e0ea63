//! A line-based dialogue at the terminal, usable from any thread. The terminal does the line editing, input can be
//! interrupted between any two keys, and the terminal's mode is never changed.

use std::io::{self, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};

use super::terminal::{self, TerminalOwner};
use super::{Style, in_charset, paint, shared_terminal, terminal_width, visible_controls};

/// The longest delay before an interruption is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// If the next line follows within this time, it was pasted: no one types that fast.
const PASTED: Duration = Duration::from_millis(50);

/// Bytes per read; more than the longest line that a terminal delivers.
const READ_BYTES: usize = 8 << 10;

/// A dialogue with the user.
#[derive(Debug, Clone)]
pub(crate) struct Dialogue {
    color: bool,
    /// Bytes that were read but not consumed.
    pending: Vec<u8>,
}

/// The result of waiting for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A line without its newline.
    Line(String),
    /// End of input: Ctrl+D, or the terminal was closed.
    End,
    /// The dialogue was interrupted.
    Interrupted,
}

impl Dialogue {
    pub(super) fn new(color: bool) -> Self {
        Self {
            color,
            pending: Vec::new(),
        }
    }

    /// Returns true if this process is in the terminal's foreground.
    pub(crate) fn is_foreground(&self) -> bool {
        terminal::stdin_owner() == TerminalOwner::Ours
    }

    /// Discards input typed before the question.
    pub(crate) fn discard_typed_ahead(&mut self) {
        self.pending.clear();
        // A background process would be stopped by this. If it fails, typed-ahead input counts as the answer, as in
        // other programs.
        if self.is_foreground() {
            let _flushed = tcflush(io::stdin(), QueueSelector::IFlush);
        }
    }

    pub(crate) fn say(&self, line: &str) {
        self.put(&format!("{}\n", in_charset(&visible_controls(line))));
    }

    /// Prints a line in bold.
    pub(crate) fn say_strong(&self, line: &str) {
        self.put(&format!(
            "{}\n",
            paint(self.color, Style::Strong, &in_charset(&visible_controls(line)))
        ));
    }

    /// Prints a prompt; the answer is typed on the same line.
    pub(crate) fn prompt(&self, text: &str) {
        shared_terminal::prompt(&paint(self.color, Style::Strong, text));
    }

    pub(crate) fn width(&self) -> usize {
        terminal_width()
    }

    /// Ignores write errors: if the terminal is gone, the next read reports it.
    fn put(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
    }

    /// Waits for a line or an interruption.
    pub(crate) fn read_line(&mut self, is_interrupted: &dyn Fn() -> bool) -> Answer {
        loop {
            if is_interrupted() {
                return Answer::Interrupted;
            }
            if let Some(line) = self.next_line() {
                return Answer::Line(line);
            }
            if !has_input(POLL_INTERVAL) {
                continue;
            }
            let mut bytes = [0; READ_BYTES];
            match rustix::io::read(io::stdin(), &mut bytes) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                Ok(0) | Err(_) => return self.last_line(),
                Ok(read) => self.pending.extend(bytes.iter().take(read)),
            }
        }
    }

    /// Returns true if another line is already available.
    pub(crate) fn has_more(&self) -> bool {
        self.pending.contains(&b'\n') || has_input(PASTED)
    }

    fn next_line(&mut self) -> Option<String> {
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.pending.drain(..=end).collect();
        Some(text_of(line.strip_suffix(b"\n").unwrap_or(&line)))
    }

    /// The rest of an unterminated line.
    fn last_line(&mut self) -> Answer {
        match std::mem::take(&mut self.pending) {
            nothing if nothing.is_empty() => Answer::End,
            line => Answer::Line(text_of(&line)),
        }
    }
}

/// Decodes a line; invalid UTF-8, as from a terminal in another encoding, becomes a replacement character.
fn text_of(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

/// Returns true if there is something to read within a time, including end of input.
fn has_input(within: Duration) -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec::try_from(within).ok();
    match poll(&mut fds, timeout.as_ref()) {
        Ok(ready) => ready > 0,
        Err(Errno::INTR) => false,
        // The read reports the error.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one() {
        let mut dialogue = Dialogue::new(false);
        dialogue.pending = b"gr\xc3\xbcn\r\n\n\xff\nrest".to_vec();
        assert_eq!(dialogue.next_line().as_deref(), Some("grün"));
        assert!(dialogue.has_more());
        assert_eq!(dialogue.next_line().as_deref(), Some(""));
        assert_eq!(dialogue.next_line().as_deref(), Some("\u{fffd}"));
        assert_eq!(dialogue.next_line(), None);
        assert_eq!(dialogue.last_line(), Answer::Line("rest".to_owned()));
        assert_eq!(dialogue.last_line(), Answer::End);
    }

    #[test]
    fn an_interruption_ends_the_wait() {
        assert_eq!(Dialogue::new(false).read_line(&|| true), Answer::Interrupted);
    }
}
