//! A conversation with the person at the terminal, from any thread. It reads line by line, as the terminal edits them, and
//! can be broken off between any two keys; nothing about the terminal is changed, so nothing has to be put right.

use std::io::{self, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};

use super::terminal::{self, Ground};
use super::{Style, in_signs, paint, stage, terminal_width, visible_controls};

/// How long it takes at most until a conversation that is broken off is over.
const GLANCE: Duration = Duration::from_millis(20);

/// How soon after a line another follows that was pasted with it; nobody types as fast.
const PASTED: Duration = Duration::from_millis(50);

/// How much is read at once: the longest line that a terminal hands over, and more.
const MOST_AT_ONCE: usize = 8 << 10;

/// The other end of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Dialogue {
    color: bool,
    /// What was read and not yet used.
    pending: Vec<u8>,
}

/// What came of waiting for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A line, without its end.
    Line(String),
    /// No more comes: Ctrl+D, or the terminal is gone.
    End,
    /// The conversation was broken off.
    BrokenOff,
}

impl Dialogue {
    pub(super) fn new(color: bool) -> Self {
        Self {
            color,
            pending: Vec::new(),
        }
    }

    /// Whether the person at the terminal speaks to this program now, and not to another in front of it.
    pub(crate) fn is_in_front(&self) -> bool {
        terminal::ground_of_keys() == Ground::Ours
    }

    /// Forgets what was typed before anything was asked: it was no answer.
    pub(crate) fn forget_what_was_typed(&mut self) {
        self.pending.clear();
        // Whoever is not in front would be stopped. Where it cannot be forgotten it is taken for an answer, as everywhere else.
        if self.is_in_front() {
            let _flushed = tcflush(io::stdin(), QueueSelector::IFlush);
        }
    }

    /// Says a line.
    pub(crate) fn say(&self, line: &str) {
        self.put(&format!("{}\n", in_signs(&visible_controls(line))));
    }

    /// Says a line that is set apart.
    pub(crate) fn say_aloud(&self, line: &str) {
        self.put(&format!(
            "{}\n",
            paint(self.color, Style::Strong, &in_signs(&visible_controls(line)))
        ));
    }

    /// Says something after which the person types on the same line.
    pub(crate) fn prompt(&self, text: &str) {
        stage::prompt(&paint(self.color, Style::Strong, text));
    }

    /// How wide the terminal is.
    pub(crate) fn width(&self) -> usize {
        terminal_width()
    }

    /// The terminal may be gone. Then there is nobody to tell, and the next line that is waited for says so.
    fn put(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
    }

    /// Waits for a line, until the conversation is broken off.
    pub(crate) fn hear(&mut self, is_broken_off: &dyn Fn() -> bool) -> Heard {
        loop {
            if is_broken_off() {
                return Heard::BrokenOff;
            }
            if let Some(line) = self.next_line() {
                return Heard::Line(line);
            }
            if !has_input(GLANCE) {
                continue;
            }
            let mut bytes = [0; MOST_AT_ONCE];
            match rustix::io::read(io::stdin(), &mut bytes) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                Ok(0) | Err(_) => return self.last_line(),
                Ok(read) => self.pending.extend(bytes.iter().take(read)),
            }
        }
    }

    /// Whether another line is there already.
    pub(crate) fn has_more(&self) -> bool {
        self.pending.contains(&b'\n') || has_input(PASTED)
    }

    fn next_line(&mut self) -> Option<String> {
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.pending.drain(..=end).collect();
        Some(text_of(line.strip_suffix(b"\n").unwrap_or(&line)))
    }

    /// What was typed of a line that has no end.
    fn last_line(&mut self) -> Heard {
        match std::mem::take(&mut self.pending) {
            nothing if nothing.is_empty() => Heard::End,
            line => Heard::Line(text_of(&line)),
        }
    }
}

/// A line as text; what is no UTF-8, as from a terminal in another encoding, is marked.
fn text_of(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

/// Whether there is something to read within a time; also where the end is all that there is.
fn has_input(within: Duration) -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec::try_from(within).ok();
    match poll(&mut fds, timeout.as_ref()) {
        Ok(ready) => ready > 0,
        Err(Errno::INTR) => false,
        // The read says what is the matter.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_one_after_the_other_whatever_they_hold() {
        let mut dialogue = Dialogue::new(false);
        dialogue.pending = b"gr\xc3\xbcn\r\n\n\xff\nrest".to_vec();
        assert_eq!(dialogue.next_line().as_deref(), Some("grün"));
        assert!(dialogue.has_more());
        assert_eq!(dialogue.next_line().as_deref(), Some(""));
        assert_eq!(dialogue.next_line().as_deref(), Some("\u{fffd}"));
        assert_eq!(dialogue.next_line(), None);
        assert_eq!(dialogue.last_line(), Heard::Line("rest".to_owned()));
        assert_eq!(dialogue.last_line(), Heard::End);
    }

    #[test]
    fn nothing_is_waited_for_when_it_is_broken_off() {
        assert_eq!(Dialogue::new(false).hear(&|| true), Heard::BrokenOff);
    }
}
