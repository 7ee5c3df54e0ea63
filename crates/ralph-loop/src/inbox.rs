//! The one channel through which a run is told what happens. An agent may say a million things, so whoever reads takes all
//! that is there at once, and whoever tells too much waits until it is taken: neither wakes the other for every line.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many things may wait to be taken, and how much text in them. Whoever tells more has to wait itself, so that a flood
/// of output does not fill the memory.
const MOST_WAITING: usize = 1024;
const MOST_BYTES: usize = 1 << 20;

/// Something whose text takes room.
pub(crate) trait Weight {
    /// How much, in bytes.
    fn bytes(&self) -> usize;
}

/// A channel: who tells, and who is told.
pub(crate) fn inbox<T: Weight>() -> (Sender<T>, Inbox<T>) {
    let shared = Arc::new(Shared {
        waiting: Mutex::new(Waiting {
            queue: VecDeque::new(),
            bytes: 0,
            is_closed: false,
            sleeps: false,
            blocked: 0,
        }),
        told: Condvar::new(),
        taken: Condvar::new(),
    });
    let inbox = Inbox {
        shared: Arc::clone(&shared),
        taken: VecDeque::new(),
    };
    (Sender(shared), inbox)
}

/// Nobody reads any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// Who tells.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

/// Who is told.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    shared: Arc<Shared<T>>,
    /// What was taken and not yet looked at.
    taken: VecDeque<T>,
}

#[derive(Debug)]
struct Shared<T> {
    waiting: Mutex<Waiting<T>>,
    /// Something is there.
    told: Condvar,
    /// There is room.
    taken: Condvar,
}

#[derive(Debug)]
struct Waiting<T> {
    queue: VecDeque<T>,
    bytes: usize,
    is_closed: bool,
    /// Whether the reader waits, and how many tellers do: only those need to be woken.
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
    /// Tells something, when there is room for it.
    pub(crate) fn send(&self, what: T) -> Result<(), Closed> {
        let mut waiting = self.0.lock();
        while !waiting.is_closed && (waiting.queue.len() >= MOST_WAITING || waiting.bytes >= MOST_BYTES) {
            waiting.blocked += 1;
            waiting = self.0.taken.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.blocked -= 1;
        }
        self.put(waiting, what)
    }

    /// Tells something at once. Where there is no room for it, the reader is awake anyway, and it is not told.
    pub(crate) fn try_send(&self, what: T) -> Result<(), Closed> {
        let waiting = self.0.lock();
        if waiting.queue.len() >= MOST_WAITING {
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
            self.0.told.notify_one();
        }
        Ok(())
    }
}

impl<T> Inbox<T> {
    /// What was told next, if there is something.
    pub(crate) fn try_recv(&mut self) -> Option<T> {
        if self.taken.is_empty() {
            let shared = Arc::clone(&self.shared);
            self.take_all(shared.lock());
        }
        self.taken.pop_front()
    }

    /// The same; waits for it, as long as that.
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
                waiting = shared.told.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                waiting.sleeps = false;
                return None;
            }
            let woken = shared.told.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.sleeps = false;
        self.take_all(waiting);
        self.taken.pop_front()
    }

    /// Takes all that is there. What was taken before must have been looked at.
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
        // Whoever waits until something is looked at must not wait for ever.
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
    fn everything_arrives_in_its_order_however_much_it_is() {
        let (sender, mut inbox) = inbox();
        let teller = thread::spawn(move || (0..10_000).try_for_each(|number: u32| sender.send(number.to_string())));
        for number in 0..10_000 {
            assert_eq!(inbox.recv(None), Some(number.to_string()));
        }
        assert_eq!(teller.join().unwrap(), Ok(()));
        assert_eq!(inbox.try_recv(), None);
        assert_eq!(inbox.recv(Some(Duration::ZERO)), None);
    }

    #[test]
    fn no_more_waits_than_there_is_room_for() {
        for long in [1, MOST_BYTES / 4] {
            let (sender, mut inbox) = inbox();
            let teller = thread::spawn(move || (0..2 * MOST_WAITING).try_for_each(|_| sender.send("x".repeat(long))));
            let mut all = 0;
            while all < 2 * MOST_WAITING {
                assert!(inbox.recv(None).is_some());
                let bytes = inbox.taken.iter().map(String::len).sum::<usize>();
                assert!(inbox.taken.len() < MOST_WAITING && bytes <= MOST_BYTES, "{bytes}");
                all += 1;
            }
            assert_eq!(teller.join().unwrap(), Ok(()));
        }
    }

    #[test]
    fn whoever_tells_nobody_is_told_so_and_waits_no_longer() {
        let (sender, mut inbox) = inbox();
        let blocked = sender.clone();
        let teller = thread::spawn(move || (0..).try_for_each(|number: u64| blocked.send(number.to_string())));
        assert_eq!(inbox.recv(None), Some("0".to_owned()));
        drop(inbox);
        assert_eq!(teller.join().unwrap(), Err(Closed));
        assert_eq!(sender.try_send(String::new()), Err(Closed));
    }
}
