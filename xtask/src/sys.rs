//! System calls missing from the standard library: resource usage of children, mount namespaces, file system shutdown.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Resource usage of a child process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// User and system time, including that of its own reaped children.
    pub(crate) processor: Duration,
    /// The same without its children, where the system can tell them apart.
    pub(crate) own_processor: Duration,
    /// Peak memory.
    pub(crate) peak_bytes: u64,
}

/// Waits for a child and returns its resource usage.
///
/// On Linux the peak is at least that of this process when it started the child, because the two share their memory
/// until the child's program is loaded. So a measuring process must stay small.
#[expect(unsafe_code, reason = "the standard library does not return resource usage")]
pub(crate) fn wait(child: &Child) -> io::Result<(ExitStatus, Usage)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let own = own_processor(pid)?;
    let mut status = 0;
    // SAFETY: a rusage consists of plain numbers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers refer to values of the right type that outlive the call.
        if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let processor = duration(usage.ru_utime) + duration(usage.ru_stime);
    let usage = Usage {
        processor,
        own_processor: own.unwrap_or(processor),
        peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or_default() * unit,
    };
    Ok((ExitStatus::from_raw(status), usage))
}

/// Waits until a child has ended without reaping it, and reads its clock, which counts only the child itself.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library cannot read clocks of other processes")]
fn own_processor(pid: libc::pid_t) -> io::Result<Option<Duration>> {
    let id = libc::id_t::try_from(pid).map_err(io::Error::other)?;
    loop {
        // SAFETY: a siginfo consists of plain numbers, for which zero is valid.
        let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer refers to a value of the right type that outlives the call.
        if unsafe { libc::waitid(libc::P_PID, id, &raw mut ended, libc::WEXITED | libc::WNOWAIT) } == 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let mut clock = 0;
    // SAFETY: the pointer refers to a value of the right type that outlives the call.
    let answer = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if answer != 0 {
        return Err(io::Error::from_raw_os_error(answer));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer refers to a value of the right type that outlives the call.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or_default();
    Ok(Some(Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)))
}

/// Other systems report usage only together with children.
#[cfg(not(target_os = "linux"))]
fn own_processor(_pid: libc::pid_t) -> io::Result<Option<Duration>> {
    Ok(None)
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let microseconds = u64::try_from(time.tv_usec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(microseconds)
}

/// Whether this process runs as root.
#[expect(unsafe_code, reason = "the standard library does not return the user of a process")]
pub(crate) fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Moves this thread, and everything it starts from now on, to a new mount namespace. Its mounts disappear with the
/// last process in it, even if that is killed.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no namespace calls")]
pub(crate) fn leave_mount_namespace() -> io::Result<()> {
    // SAFETY: the call takes an integer.
    let left = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    if left == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Shuts a file system down as a power failure would: data not yet on the device is lost.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no ioctl")]
pub(crate) fn shut_down(mount_point: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    /// `_IOR('X', 125, u32)`: shut a file system down.
    const SHUTDOWN: libc::Ioctl = 0x8004_587d_u32 as libc::Ioctl;
    /// Not even the journal is flushed.
    static NO_LOG_FLUSH: u32 = 2;
    // SAFETY: the descriptor stays open while `mount_point` is borrowed, and the pointer refers to the u32 that the
    // call reads.
    let cut = unsafe { libc::ioctl(mount_point.as_raw_fd(), SHUTDOWN, &raw const NO_LOG_FLUSH) };
    if cut == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Only Linux has mount namespaces.
#[cfg(not(target_os = "linux"))]
pub(crate) fn leave_mount_namespace() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Only Linux can shut a file system down.
#[cfg(not(target_os = "linux"))]
pub(crate) fn shut_down(_mount_point: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
