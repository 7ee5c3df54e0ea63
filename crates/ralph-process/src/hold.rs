//! A hold on one process, which is to be signalled and waited for and is nobody's child here.

use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::sweep::is_alive;
use crate::sys::to_pid;

/// How long to wait before looking again whether a process is there, where there is no other way to wait for it.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A hold on one process. With a descriptor no later process with the same pid can be taken for it. Where the system gives
/// none, or enough are in use, its start is looked at before every signal.
#[derive(Debug)]
pub(crate) struct Hold {
    pid: Pid,
    started: u64,
    descriptor: Option<Descriptor>,
}

impl Hold {
    /// A hold on the process that has this pid now, and began then; none when this can be nobody's pid.
    pub(crate) fn on(pid: u32, started: u64) -> Option<Self> {
        let pid = to_pid(pid).ok()?;
        Some(Self {
            pid,
            started,
            descriptor: Descriptor::of(pid),
        })
    }

    /// Kills it; says whether it was allowed to.
    pub(crate) fn kill(&self) -> bool {
        self.send(Signal::KILL)
    }

    /// Stops it where it is; says whether it was allowed to.
    pub(crate) fn stop(&self) -> bool {
        self.send(Signal::STOP)
    }

    /// Asks it to end, also when it was stopped; says whether it was allowed to.
    pub(crate) fn ask(&self) -> bool {
        let is_asked = self.send(Signal::TERM);
        // It may have ended by now.
        let _goes_on: bool = self.send(Signal::CONT);
        is_asked
    }

    fn send(&self, signal: Signal) -> bool {
        match &self.descriptor {
            Some(descriptor) => descriptor.send(signal),
            None => self.is_there() && rustix::process::kill_process(self.pid, signal).is_ok(),
        }
    }

    /// Waits until it has died, for so long; says whether it has.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        if let Some(descriptor) = &self.descriptor {
            return descriptor.wait(limit);
        }
        let begun = std::time::Instant::now();
        while self.is_there() {
            if begun.elapsed() >= limit {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
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

    /// How many processes are held by a descriptor at a time. Many systems give a process a thousand for everything, and
    /// files have to be written meanwhile.
    pub(super) const MOST: usize = 200;

    /// How many are.
    static HELD: AtomicUsize = AtomicUsize::new(0);

    /// What the system gives to hold a process by.
    #[derive(Debug)]
    pub(super) struct Descriptor(OwnedFd);

    impl Descriptor {
        pub(super) fn of(pid: Pid) -> Option<Self> {
            let take_one = |held| (held < MOST).then_some(held + 1);
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
            // An interrupted wait only makes the next look come sooner.
            poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&limit)).is_ok_and(|ended| ended > 0)
        }
    }

    impl Drop for Descriptor {
        fn drop(&mut self) {
            HELD.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// This system has no such thing.
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
    fn without_a_descriptor_a_process_is_known_by_its_start() {
        let own = std::process::id();
        let started = start_time(own).unwrap();
        let all: Vec<Hold> = (0..by_descriptor::MOST + 50)
            .map(|_| Hold::on(own, started).unwrap())
            .collect();
        let with_descriptor = all.iter().filter(|hold| hold.descriptor.is_some()).count();
        assert!(with_descriptor <= by_descriptor::MOST, "{with_descriptor}");

        let marker = format!("held-{own}");
        let mut child = crate::command("sleep")
            .arg("600")
            .env(crate::MARKER_VARIABLE, &marker)
            .spawn()
            .unwrap();
        let started = start_time(child.id()).unwrap();
        // The system shows its environment a moment after its start.
        while !has_marker(child.id(), &marker) {
            std::thread::yield_now();
        }
        let somebody_else = Hold {
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
