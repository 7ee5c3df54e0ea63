//! What is particular to an operating system: sessions, signals, waiting for processes and adopting orphans.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

/// Makes this process the parent of its descendants whose own parent has died, so that they can be found and reaped.
/// Where the system knows no such thing, nothing happens.
///
/// # Errors
/// When the system refuses.
pub fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Makes the system get back every large piece of memory at once when it is freed. Left to itself, glibc keeps pieces as
/// large as the largest that was freed so far, and an agent that prints lines of megabytes makes the process keep many.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: i32 = 256 << 10;
        #[expect(unsafe_code, reason = "the standard library cannot set the allocator")]
        // SAFETY: it sets one number of the allocator, and takes no pointer.
        let _was_set: i32 = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

/// Where the pids that this process sees are valid: the machine's name, its present boot, and the PID namespace. A pid that
/// was recorded under another value says nothing here, also on a machine of the same name: a container has a namespace of
/// its own, and containers of several machines may share a name.
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

/// The pid of this process.
pub(crate) fn own_pid() -> u32 {
    std::process::id()
}

/// Lets a command begin a session of its own: no terminal, and a process group that can be signalled as one.
#[expect(unsafe_code, reason = "the standard library cannot begin a session")]
pub(crate) fn in_own_session(command: &mut Command) {
    // SAFETY: between fork and exec only this one system call is made, which touches no memory.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}

/// Stops this process as Ctrl+Z does a program that does not listen to it: not where nobody could let it go on again, which
/// the system alone knows. Returns when it goes on.
#[expect(unsafe_code, reason = "the standard library knows no signals")]
pub(crate) fn stop_as_a_key_does() {
    // SAFETY: both actions are values of this function, and the old one is put back as the system gave it.
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

/// Waits until a child has exited, and leaves it to be reaped: until then its pid belongs to nobody else.
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

/// Asks a process group to end. One that is stopped hears it only when it goes on.
pub(crate) fn terminate_group(leader: u32) {
    signal_group(leader, Signal::TERM);
    signal_group(leader, Signal::CONT);
}

/// Ends a process group.
pub(crate) fn kill_group(leader: u32) {
    signal_group(leader, Signal::KILL);
}

/// Whether a process group has members.
pub(crate) fn group_is_there(leader: u32) -> bool {
    to_pid(leader).is_ok_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
}

/// The process group that a process is in.
pub(crate) fn group_of(pid: u32) -> Option<u32> {
    let group = rustix::process::getpgid(Some(to_pid(pid).ok()?)).ok()?;
    u32::try_from(group.as_raw_nonzero().get()).ok()
}

fn signal_group(leader: u32, signal: Signal) {
    if let Ok(pid) = to_pid(leader) {
        // A group without members is no failure: that is what was wanted.
        let _sent: bool = rustix::process::kill_process_group(pid, signal).is_ok();
    }
}

/// Takes the remains of a child that has died. Nothing happens to a child that lives, or to somebody else's.
pub(crate) fn reap(pid: u32) {
    if let Ok(pid) = to_pid(pid) {
        let _reaped: bool = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).is_ok();
    }
}

/// Waits until something can be read from a stream, or written to it. Nothing more can when the other end of `given_up` is
/// closed before.
pub(crate) fn wait_until(stream: impl AsFd, ready: Readiness, given_up: impl AsFd) -> GivenUp {
    use rustix::event::{PollFd, PollFlags, poll};

    let wanted = match ready {
        Readiness::Readable => PollFlags::IN,
        Readiness::Writable => PollFlags::OUT,
    };
    loop {
        let mut both = [PollFd::new(&stream, wanted), PollFd::new(&given_up, PollFlags::IN)];
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => {}
            // Where this cannot be waited for, the next call on the stream waits.
            Err(_) => return GivenUp::No,
            // A stream that is never at rest is given up all the same.
            Ok(_) if both[1].revents().is_empty() => return GivenUp::No,
            Ok(_) => return GivenUp::Yes,
        }
    }
}

/// What is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Readiness {
    Readable,
    Writable,
}

/// Whether somebody has given up waiting for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    Yes,
    No,
}

/// How many bytes stand in a pipe and can be read at once.
pub(crate) fn bytes_waiting(pipe: impl AsFd) -> usize {
    let bytes = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Makes writing return at once when nothing can be written.
pub(crate) fn never_block(stream: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(stream, true)?)
}

/// A pid as the system has it.
pub(crate) fn to_pid(pid: u32) -> io::Result<Pid> {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("{pid} is no pid")))
}
