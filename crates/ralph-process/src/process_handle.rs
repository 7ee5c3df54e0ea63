//! A handle to one process that is not a child, for signals and waiting.

use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::sweep::is_alive;
use crate::sys::to_pid;

/// How often to check whether a process still exists if there is no way to wait for it.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A handle to one process. A pidfd cannot refer to a later process with the same pid. Without one (not supported, or
/// too many in use), the start time is checked before every signal.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    pid: Pid,
    started: u64,
    descriptor: Option<Descriptor>,
}

impl ProcessHandle {
    /// Opens a handle to the process with this pid and start time; `None` if the pid is invalid.
    pub(crate) fn on(pid: u32, started: u64) -> Option<Self> {
        let pid = to_pid(pid).ok()?;
        Some(Self {
            pid,
            started,
            descriptor: Descriptor::of(pid),
        })
    }

    /// Kills it; returns whether that was permitted.
    pub(crate) fn kill(&self) -> bool {
        self.send(Signal::KILL)
    }

    /// Suspends it; returns whether that was permitted.
    pub(crate) fn stop(&self) -> bool {
        self.send(Signal::STOP)
    }

    /// Asks it to end, even if it is suspended; returns whether that was permitted.
    pub(crate) fn ask(&self) -> bool {
        let is_asked = self.send(Signal::TERM);
        // It may have exited by now.
        let _goes_on: bool = self.send(Signal::CONT);
        is_asked
    }

    fn send(&self, signal: Signal) -> bool {
        match &self.descriptor {
            Some(descriptor) => descriptor.send(signal),
            None => self.is_there() && rustix::process::kill_process(self.pid, signal).is_ok(),
        }
    }

    /// Waits for it to exit; returns whether it did in time.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        if let Some(descriptor) = &self.descriptor {
            return descriptor.wait(limit);
        }
        let begun = std::time::Instant::now();
        while self.is_there() {
            if begun.elapsed() >= limit {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }

    fn is_there(&self) -> bool {
        u32::try_from(self.pid.as_raw_nonzero().get()).is_ok_and(|pid| is_alive(pid, self.started))
    }
}

#[cfg(target_os = "linux")]
use by_descriptor::Descriptor;

#[cfg(target_os = "linux")]
mod by_descriptor {
    use std::os::fd::OwnedFd;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    /// Maximum number of open pidfds. Many systems limit a process to about a thousand descriptors, and files have to
    /// be written too.
    pub(super) const MAX_OPEN: usize = 200;

    static HELD: AtomicUsize = AtomicUsize::new(0);

    #[derive(Debug)]
    pub(super) struct Descriptor(OwnedFd);

    impl Descriptor {
        pub(super) fn of(pid: Pid) -> Option<Self> {
            let take_one = |held| (held < MAX_OPEN).then_some(held + 1);
            HELD.fetch_update(Ordering::AcqRel, Ordering::Acquire, take_one).ok()?;
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(descriptor) => Some(Self(descriptor)),
                Err(_) => {
                    HELD.fetch_sub(1, Ordering::AcqRel);
                    None
                }
            }
        }

        pub(super) fn send(&self, signal: Signal) -> bool {
            pidfd_send_signal(&self.0, signal).is_ok()
        }

        pub(super) fn wait(&self, limit: Duration) -> bool {
            let Ok(limit) = Timespec::try_from(limit) else {
                return false;
            };
            // An interrupted wait only makes the next check come sooner.
            poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&limit)).is_ok_and(|ended| ended > 0)
        }
    }

    impl Drop for Descriptor {
        fn drop(&mut self) {
            HELD.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// This system has no pidfds.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
enum Descriptor {}

#[cfg(not(target_os = "linux"))]
impl Descriptor {
    fn of(_pid: Pid) -> Option<Self> {
        None
    }

    fn send(&self, _signal: Signal) -> bool {
        match *self {}
    }

    fn wait(&self, _limit: Duration) -> bool {
        match *self {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::sweep::{has_marker, kill_leftovers, start_time};

    #[test]
    fn without_pidfd_the_start_time_is_checked() {
        let own = std::process::id();
        let started = start_time(own).unwrap();
        let all: Vec<ProcessHandle> = (0..by_descriptor::MAX_OPEN + 50)
            .map(|_| ProcessHandle::on(own, started).unwrap())
            .collect();
        let with_descriptor = all.iter().filter(|handle| handle.descriptor.is_some()).count();
        assert!(with_descriptor <= by_descriptor::MAX_OPEN, "{with_descriptor}");

        let marker = format!("held-{own}");
        let mut child = crate::command("sleep")
            .arg("600")
            .env(crate::MARKER_VARIABLE, &marker)
            .spawn()
            .unwrap();
        let started = start_time(child.id()).unwrap();
        // The environment is visible only some time after the start.
        while !has_marker(child.id(), &marker) {
            std::thread::yield_now();
        }
        let somebody_else = ProcessHandle {
            pid: to_pid(child.id()).unwrap(),
            started: started + 1,
            descriptor: None,
        };
        assert!(!somebody_else.kill());
        assert_eq!(kill_leftovers(&marker, None), 1);
        assert!(!is_alive(child.id(), started));
        child.wait().unwrap();
        drop(all);
    }
}
