//! What a child is told on its standard input, in a thread: it may be long in reading it, or never do so.

use std::io::{self, PipeReader, Write};
use std::process::ChildStdin;
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::launched::in_thread;
use crate::sys::{GivenUp, Readiness, never_block, wait_until};

/// How many answers may wait for a child that does not read. What comes after them is not said: such a child is stuck, and
/// it will be found idle.
const WAITING_ANSWERS: usize = 1_024;

/// A way to speak to a child. Its standard input ends when this is dropped and everything is said.
#[derive(Debug)]
pub(crate) struct Voice(SyncSender<Vec<u8>>);

impl Voice {
    /// Says this to the child first. Nobody waits for it to read once this is given up.
    pub(crate) fn new(mut stdin: ChildStdin, first: Vec<u8>, given_up: PipeReader) -> io::Result<Self> {
        never_block(&stdin)?;
        let (sender, words) = sync_channel::<Vec<u8>>(WAITING_ANSWERS);
        in_thread(move || {
            // A child that does not want to read all of it may say so by closing the pipe.
            let mut is_heard = write_all(&mut stdin, &first, &given_up);
            while let Ok(word) = words.recv() {
                is_heard = is_heard && write_all(&mut stdin, &word, &given_up);
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

/// Writes everything; says whether it was all taken.
fn write_all(stdin: &mut ChildStdin, mut bytes: &[u8], given_up: &PipeReader) -> bool {
    while !bytes.is_empty() {
        match stdin.write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if wait_until(&*stdin, Readiness::Writable, given_up) == GivenUp::Yes {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
    true
}
