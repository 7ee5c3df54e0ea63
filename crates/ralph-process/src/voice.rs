//! What a child is told on its standard input, in a thread: it may be long in reading it, or never do so.

use std::io::{self, Write};
use std::process::ChildStdin;
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::launched::in_thread;

/// How many answers may wait for a child that does not read. What comes after them is not said: such a child is stuck, and
/// it will be found idle.
const WAITING_ANSWERS: usize = 1_024;

/// A way to speak to a child. Its standard input ends when this is dropped and everything is said.
#[derive(Debug)]
pub(crate) struct Voice(SyncSender<Vec<u8>>);

impl Voice {
    /// Says this to the child first.
    pub(crate) fn new(mut stdin: ChildStdin, first: Vec<u8>) -> io::Result<Self> {
        let (sender, words) = sync_channel::<Vec<u8>>(WAITING_ANSWERS);
        in_thread(move || {
            // A child that does not want to read all of it may say so by closing the pipe.
            let mut is_heard = stdin.write_all(&first).is_ok();
            while let Ok(word) = words.recv() {
                is_heard = is_heard && stdin.write_all(&word).is_ok();
            }
        })?;
        Ok(Self(sender))
    }

    /// Says this to the child, when it reads. Returns at once.
    pub(crate) fn say(&self, word: Vec<u8>) {
        if !word.is_empty() {
            drop(self.0.try_send(word));
        }
    }
}
