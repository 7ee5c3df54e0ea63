//! What a child is told on its standard input, in a thread: it may be long in reading it, or never do so.

use std::io::{self, PipeReader, Write};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::launched::in_thread;
use crate::sys::{GivenUp, Readiness, never_block, wait_until};

/// How many answers may wait for a child that does not read. What comes after them is not said: such a child is stuck, and
/// it will be found idle.
const WAITING_ANSWERS: usize = 1_024;

/// How many bytes may wait before another answer is too much: an answer may repeat what the child has said.
const WAITING_BYTES: usize = 1 << 20;

/// A way to speak to a child. Its standard input ends when this is dropped and everything is said.
#[derive(Debug)]
pub(crate) struct Voice {
    words: SyncSender<Vec<u8>>,
    /// How many bytes wait.
    waiting: Arc<AtomicUsize>,
}

impl Voice {
    /// Says this to the child first. Nobody waits for it to read once this is given up.
    pub(crate) fn new(mut stdin: ChildStdin, first: Vec<u8>, given_up: PipeReader) -> io::Result<Self> {
        never_block(&stdin)?;
        let (sender, words) = sync_channel::<Vec<u8>>(WAITING_ANSWERS);
        let waiting = Arc::new(AtomicUsize::new(0));
        let waits = Arc::clone(&waiting);
        in_thread(move || {
            // A child that does not want to read all of it may say so by closing the pipe.
            let mut is_heard = write_all(&mut stdin, &first, &given_up);
            while let Ok(word) = words.recv() {
                waits.fetch_sub(word.len(), Ordering::AcqRel);
                is_heard = is_heard && write_all(&mut stdin, &word, &given_up);
            }
        })?;
        Ok(Self { words: sender, waiting })
    }

    /// Says this to the child, when it reads. Returns at once.
    pub(crate) fn say(&self, word: Vec<u8>) {
        if word.is_empty() || self.waiting.load(Ordering::Acquire) >= WAITING_BYTES {
            return;
        }
        let length = word.len();
        self.waiting.fetch_add(length, Ordering::AcqRel);
        if self.words.try_send(word).is_err() {
            self.waiting.fetch_sub(length, Ordering::AcqRel);
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

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn few_bytes_wait_for_a_child_that_does_not_read() {
        let mut child = crate::command("sleep")
            .arg("600")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (given_up, gives_up) = io::pipe().unwrap();
        let voice = Voice::new(child.stdin.take().unwrap(), vec![b'x'; 100_000], given_up).unwrap();
        let answer = 300_000;
        for _ in 0..100 {
            voice.say(vec![b'y'; answer]);
        }
        let waiting = voice.waiting.load(Ordering::Acquire);
        assert!(
            (WAITING_BYTES..WAITING_BYTES + answer).contains(&waiting),
            "{waiting} bytes wait"
        );
        drop(gives_up);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
