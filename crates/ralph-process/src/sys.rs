//! Unix system calls: sessions, signals, waiting for processes, and adopting orphans.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

/// Makes this process the parent of orphaned descendants, so that they can be found and reaped. Does nothing on systems
/// without subreapers.
///
/// # Errors
/// If the system call fails.
pub fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Makes the allocator return every large block to the system as soon as it is freed. By default glibc keeps blocks up
/// to the size of the largest freed so far, and an agent that prints lines of megabytes would make the process keep
/// many.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: i32 = 256 << 10;
        #[expect(unsafe_code, reason = "the standard library cannot set the allocator")]
        // SAFETY: this sets one number in the allocator and takes no pointer.
        let _was_set: i32 = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

/// Identifies where pids are valid: host name, boot id, and PID namespace. Pids recorded under another value are
/// meaningless here, even on the same machine name: a container has its own namespace, and containers on several
/// machines may share a name.
#[must_use]
pub fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok();
    let boot = boot.map(|id| id.trim().to_owned());
    let namespace = namespace.map(|link| link.to_string_lossy().into_owned());
    let known = [Some(name), boot, namespace];
    known.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

pub(crate) fn own_pid() -> u32 {
    std::process::id()
}

/// Starts a command in its own session: without a terminal, in a process group that can be signaled as one.
#[expect(unsafe_code, reason = "the standard library cannot begin a session")]
pub(crate) fn in_own_session(command: &mut Command) {
    // SAFETY: between fork and exec this makes only one system call, which touches no memory.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}

/// Stops this process like Ctrl+Z does for a program that does not catch it. Does nothing if no shell could resume it;
/// only the system knows that. Returns when the process continues.
#[expect(unsafe_code, reason = "the standard library knows no signals")]
pub(crate) fn suspend_self() {
    // SAFETY: both actions are local values, and the old one is restored as the system returned it.
    unsafe {
        let mut listened: libc::sigaction = std::mem::zeroed();
        let mut by_itself: libc::sigaction = std::mem::zeroed();
        by_itself.sa_sigaction = libc::SIG_DFL;
        if libc::sigaction(libc::SIGTSTP, &raw const by_itself, &raw mut listened) == 0 {
            let _raised: i32 = libc::raise(libc::SIGTSTP);
            let _listens: i32 = libc::sigaction(libc::SIGTSTP, &raw const listened, std::ptr::null_mut());
        }
    }
}

/// Waits until a child has exited without reaping it, so its pid cannot be reused.
pub(crate) fn wait_for_exit(pid: u32) -> io::Result<()> {
    let pid = to_pid(pid)?;
    loop {
        match rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends SIGTERM to a process group. A stopped process receives it only when it continues.
pub(crate) fn terminate_group(leader: u32) {
    signal_group(leader, Signal::TERM);
    signal_group(leader, Signal::CONT);
}

pub(crate) fn kill_group(leader: u32) {
    signal_group(leader, Signal::KILL);
}

pub(crate) fn group_is_there(leader: u32) -> bool {
    to_pid(leader).is_ok_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
}

pub(crate) fn group_of(pid: u32) -> Option<u32> {
    let group = rustix::process::getpgid(Some(to_pid(pid).ok()?)).ok()?;
    u32::try_from(group.as_raw_nonzero().get()).ok()
}

fn signal_group(leader: u32, signal: Signal) {
    if let Ok(pid) = to_pid(leader) {
        // A group without members is fine: they have already ended.
        let _sent: bool = rustix::process::kill_process_group(pid, signal).is_ok();
    }
}

/// Reaps a dead child. Does nothing if the process is alive or not a child.
pub(crate) fn reap(pid: u32) {
    if let Ok(pid) = to_pid(pid) {
        let _reaped: bool = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).is_ok();
    }
}

/// Waits until a stream is readable or writable, or until the other end of `cancelled` is closed.
pub(crate) fn wait_until(stream: impl AsFd, ready: Readiness, cancelled: impl AsFd) -> Cancelled {
    use rustix::event::{PollFd, PollFlags, poll};

    let wanted = match ready {
        Readiness::Readable => PollFlags::IN,
        Readiness::Writable => PollFlags::OUT,
    };
    loop {
        let mut both = [PollFd::new(&stream, wanted), PollFd::new(&cancelled, PollFlags::IN)];
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => {}
            // If polling is not possible, the next call on the stream blocks.
            Err(_) => return Cancelled::No,
            // Check for cancellation even if the stream is always ready.
            Ok(_) if both[1].revents().is_empty() => return Cancelled::No,
            Ok(_) => return Cancelled::Yes,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Readiness {
    Readable,
    Writable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelled {
    Yes,
    No,
}

/// How many bytes can be read from a pipe right now.
pub(crate) fn bytes_waiting(pipe: impl AsFd) -> usize {
    let bytes = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Makes a stream non-blocking.
pub(crate) fn never_block(stream: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(stream, true)?)
}

pub(crate) fn to_pid(pid: u32) -> io::Result<Pid> {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("{pid} is not a valid pid")))
}
