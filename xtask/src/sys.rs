//! What the standard library cannot ask the system for: what a child used, a namespace of mounts, a file system cut off.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// What a child process used until it ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Processor time, its own and the system's for it.
    pub(crate) processor: Duration,
    /// The most memory that was ever in use.
    pub(crate) peak_bytes: u64,
}

/// Waits for a child and asks what it used.
///
/// On Linux the peak is at least that of this process when it started the child, because the two share their memory
/// until the child's program is loaded. So whoever measures must stay small.
#[expect(unsafe_code, reason = "the standard library waits without asking what was used")]
pub(crate) fn wait(child: &Child) -> io::Result<(ExitStatus, Usage)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: a rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to values of the right type that outlive the call.
        if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let usage = Usage {
        processor: duration(usage.ru_utime) + duration(usage.ru_stime),
        peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or_default() * unit,
    };
    Ok((ExitStatus::from_raw(status), usage))
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let microseconds = u64::try_from(time.tv_usec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(microseconds)
}

/// Whether this process may do everything on this machine.
#[expect(unsafe_code, reason = "the standard library does not tell whose a process is")]
pub(crate) fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Gives this thread, and every process and thread that it starts from here on, mounts of its own: they are gone with the
/// last of them, even if it is killed.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no call for namespaces")]
pub(crate) fn leave_mount_namespace() -> io::Result<()> {
    // SAFETY: the call takes an integer.
    let left = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    if left == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Cuts a file system off as a power failure would: whatever is not on its device by now never gets there.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no ioctl")]
pub(crate) fn shut_down(mount_point: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    /// `_IOR('X', 125, u32)`: shut a file system down.
    const SHUTDOWN: libc::Ioctl = 0x8004_587d_u32 as libc::Ioctl;
    /// Not even the journal is flushed.
    static NO_LOG_FLUSH: u32 = 2;
    // SAFETY: the descriptor is open for as long as `mount_point` is borrowed, and the pointer is to the u32 that the call
    // reads.
    let cut = unsafe { libc::ioctl(mount_point.as_raw_fd(), SHUTDOWN, &raw const NO_LOG_FLUSH) };
    if cut == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Only Linux has namespaces of mounts.
#[cfg(not(target_os = "linux"))]
pub(crate) fn leave_mount_namespace() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Only Linux can cut a file system off.
#[cfg(not(target_os = "linux"))]
pub(crate) fn shut_down(_mount_point: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
