//! Writes to the standard input of a child on a separate thread, because the child may read slowly or never.

use std::io::{self, PipeReader, Write};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::launched::spawn_thread;
use crate::sys::{Cancelled, Readiness, never_block, wait_until};

/// How many messages are queued for a child that does not read. Later ones are dropped: such a child is stuck and will
/// time out as idle.
const MAX_QUEUED_MESSAGES: usize = 1_024;

/// How many bytes may be queued before further messages are dropped, because a message may repeat what the child
/// printed.
const MAX_QUEUED_BYTES: usize = 1 << 20;

/// A queue to a child's standard input, which is closed after this is dropped and the queue is empty.
#[derive(Debug)]
pub(crate) struct StdinWriter {
    words: SyncSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

impl StdinWriter {
    /// Writes `first`, then the queued messages, until canceled.
    pub(crate) fn new(mut stdin: ChildStdin, first: Vec<u8>, cancelled: PipeReader) -> io::Result<Self> {
        never_block(&stdin)?;
        let (sender, words) = sync_channel::<Vec<u8>>(MAX_QUEUED_MESSAGES);
        let waiting = Arc::new(AtomicUsize::new(0));
        let waits = Arc::clone(&waiting);
        spawn_thread(move || {
            // A child that does not want to read everything may close the pipe.
            let mut is_open = write_all(&mut stdin, &first, &cancelled);
            while let Ok(word) = words.recv() {
                waits.fetch_sub(word.len(), Ordering::AcqRel);
                is_open = is_open && write_all(&mut stdin, &word, &cancelled);
            }
        })?;
        Ok(Self { words: sender, waiting })
    }

    /// Queues a message. Returns immediately.
    pub(crate) fn write(&self, word: Vec<u8>) {
        if word.is_empty() || self.waiting.load(Ordering::Acquire) >= MAX_QUEUED_BYTES {
            return;
        }
        let length = word.len();
        self.waiting.fetch_add(length, Ordering::AcqRel);
        if self.words.try_send(word).is_err() {
            self.waiting.fetch_sub(length, Ordering::AcqRel);
        }
    }
}

/// Writes everything; returns whether that succeeded.
fn write_all(stdin: &mut ChildStdin, mut bytes: &[u8], cancelled: &PipeReader) -> bool {
    while !bytes.is_empty() {
        match stdin.write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if wait_until(&*stdin, Readiness::Writable, cancelled) == Cancelled::Yes {
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
    fn queue_for_a_blocked_child_is_bounded() {
        let mut child = crate::command("sleep")
            .arg("600")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (cancelled, canceller) = io::pipe().unwrap();
        let stdin_writer = StdinWriter::new(child.stdin.take().unwrap(), vec![b'x'; 100_000], cancelled).unwrap();
        let answer = 300_000;
        for _ in 0..100 {
            stdin_writer.write(vec![b'y'; answer]);
        }
        let waiting = stdin_writer.waiting.load(Ordering::Acquire);
        assert!(
            (MAX_QUEUED_BYTES..MAX_QUEUED_BYTES + answer).contains(&waiting),
            "{waiting} bytes wait"
        );
        drop(canceller);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
