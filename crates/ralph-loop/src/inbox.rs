//! The channel through which a run receives its input. An agent may send a million lines, so the reader takes the whole
//! queue at once and senders block when it is full; neither wakes the other for every line.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of queued items and of bytes in them. Further senders block, so that a flood of output does not
/// fill the memory.
const MAX_WAITING: usize = 1024;
const MAX_BYTES: usize = 1 << 20;

/// The size of an item's text.
pub(crate) trait Weight {
    fn bytes(&self) -> usize;
}

/// Creates a channel.
pub(crate) fn inbox<T: Weight>() -> (Sender<T>, Inbox<T>) {
    let shared = Arc::new(Shared {
        waiting: Mutex::new(Waiting {
            queue: VecDeque::new(),
            bytes: 0,
            is_closed: false,
            sleeps: false,
            blocked: 0,
        }),
        sent: Condvar::new(),
        taken: Condvar::new(),
    });
    let inbox = Inbox {
        shared: Arc::clone(&shared),
        taken: VecDeque::new(),
    };
    (Sender(shared), inbox)
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

#[derive(Debug)]
pub(crate) struct Inbox<T> {
    shared: Arc<Shared<T>>,
    /// Items taken from the queue but not yet returned.
    taken: VecDeque<T>,
}

#[derive(Debug)]
struct Shared<T> {
    waiting: Mutex<Waiting<T>>,
    sent: Condvar,
    taken: Condvar,
}

#[derive(Debug)]
struct Waiting<T> {
    queue: VecDeque<T>,
    bytes: usize,
    is_closed: bool,
    /// Whether the reader waits, and how many senders do: only those need a wake-up.
    sleeps: bool,
    blocked: usize,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Weight> Sender<T> {
    /// Sends an item; blocks while the queue is full.
    pub(crate) fn send(&self, what: T) -> Result<(), Closed> {
        let mut waiting = self.0.lock();
        while !waiting.is_closed && (waiting.queue.len() >= MAX_WAITING || waiting.bytes >= MAX_BYTES) {
            waiting.blocked += 1;
            waiting = self.0.taken.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.blocked -= 1;
        }
        self.put(waiting, what)
    }

    /// Sends an item without blocking. If the queue is full, the reader is awake anyway and the item is dropped.
    pub(crate) fn try_send(&self, what: T) -> Result<(), Closed> {
        let waiting = self.0.lock();
        if waiting.queue.len() >= MAX_WAITING {
            return Ok(());
        }
        self.put(waiting, what)
    }

    fn put(&self, mut waiting: MutexGuard<'_, Waiting<T>>, what: T) -> Result<(), Closed> {
        if waiting.is_closed {
            return Err(Closed);
        }
        waiting.bytes += what.bytes();
        waiting.queue.push_back(what);
        if waiting.sleeps {
            waiting.sleeps = false;
            self.0.sent.notify_one();
        }
        Ok(())
    }
}

impl<T> Inbox<T> {
    /// The next item, if there is one.
    pub(crate) fn try_recv(&mut self) -> Option<T> {
        if self.taken.is_empty() {
            let shared = Arc::clone(&self.shared);
            self.take_all(shared.lock());
        }
        self.taken.pop_front()
    }

    /// The next item; waits for it at most this long.
    pub(crate) fn recv(&mut self, patience: Option<Duration>) -> Option<T> {
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        if let Some(next) = self.taken.pop_front() {
            return Some(next);
        }
        let shared = Arc::clone(&self.shared);
        let mut waiting = shared.lock();
        while waiting.queue.is_empty() {
            waiting.sleeps = true;
            let Some(until) = until else {
                waiting = shared.sent.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                waiting.sleeps = false;
                return None;
            }
            let woken = shared.sent.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.sleeps = false;
        self.take_all(waiting);
        self.taken.pop_front()
    }

    /// Takes the whole queue. The items taken before must have been returned.
    fn take_all(&mut self, mut waiting: MutexGuard<'_, Waiting<T>>) {
        std::mem::swap(&mut waiting.queue, &mut self.taken);
        waiting.bytes = 0;
        if waiting.blocked > 0 {
            self.shared.taken.notify_all();
        }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        let mut waiting = self.shared.lock();
        waiting.is_closed = true;
        // Unblocks senders that wait until their message is handled.
        waiting.queue.clear();
        drop(waiting);
        self.shared.taken.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    impl Weight for String {
        fn bytes(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn all_items_arrive_in_order() {
        let (sender, mut inbox) = inbox();
        let producer = thread::spawn(move || (0..10_000).try_for_each(|number: u32| sender.send(number.to_string())));
        for number in 0..10_000 {
            assert_eq!(inbox.recv(None), Some(number.to_string()));
        }
        assert_eq!(producer.join().unwrap(), Ok(()));
        assert_eq!(inbox.try_recv(), None);
        assert_eq!(inbox.recv(Some(Duration::ZERO)), None);
    }

    #[test]
    fn queue_is_bounded() {
        for long in [1, MAX_BYTES / 4] {
            let (sender, mut inbox) = inbox();
            let producer = thread::spawn(move || (0..2 * MAX_WAITING).try_for_each(|_| sender.send("x".repeat(long))));
            let mut all = 0;
            while all < 2 * MAX_WAITING {
                assert!(inbox.recv(None).is_some());
                let bytes = inbox.taken.iter().map(String::len).sum::<usize>();
                assert!(inbox.taken.len() < MAX_WAITING && bytes <= MAX_BYTES, "{bytes}");
                all += 1;
            }
            assert_eq!(producer.join().unwrap(), Ok(()));
        }
    }

    #[test]
    fn senders_fail_when_the_receiver_is_gone() {
        let (sender, mut inbox) = inbox();
        let blocked = sender.clone();
        let producer = thread::spawn(move || (0..).try_for_each(|number: u64| blocked.send(number.to_string())));
        assert_eq!(inbox.recv(None), Some("0".to_owned()));
        drop(inbox);
        assert_eq!(producer.join().unwrap(), Err(Closed));
        assert_eq!(sender.try_send(String::new()), Err(Closed));
    }
}
