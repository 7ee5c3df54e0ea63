//! System-specific file operations: swapping two files, and holding off writers.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Swaps two files atomically, so that the old file at `target` is never lost.
///
/// # Errors
/// `Unsupported` if the file system cannot swap; otherwise any system error.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    rename_with(one, other, EXCHANGE)
}

/// Renames a file to an unused name; unlike a plain rename it never replaces another file.
///
/// # Errors
/// `AlreadyExists` if the name is taken; otherwise any system error.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rename_with(from, to, NO_REPLACE) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        renamed => renamed,
    }
}

#[cfg(target_os = "linux")]
const EXCHANGE: libc::c_uint = libc::RENAME_EXCHANGE;
#[cfg(target_os = "linux")]
const NO_REPLACE: libc::c_uint = libc::RENAME_NOREPLACE;
#[cfg(target_os = "macos")]
const EXCHANGE: libc::c_uint = libc::RENAME_SWAP;
#[cfg(target_os = "macos")]
const NO_REPLACE: libc::c_uint = libc::RENAME_EXCL;

#[expect(unsafe_code, reason = "the standard library has no rename with flags")]
fn rename_with(from: &Path, to: &Path, flags: libc::c_uint) -> io::Result<()> {
    let from = c_path(from)?;
    let to = c_path(to)?;
    #[cfg(target_os = "linux")]
    // SAFETY: both pointers are to strings that end with NUL and outlive the call.
    let status = unsafe { libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) };
    #[cfg(target_os = "macos")]
    // SAFETY: both pointers are to strings that end with NUL and outlive the call.
    let status = unsafe { libc::renamex_np(from.as_ptr(), to.as_ptr(), flags) };
    if status == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        _ => Err(error),
    }
}

/// How long to wait for a program that has a file open for writing.
const WRITER_WAIT: Duration = Duration::from_secs(5);
/// How often to check whether it closed the file.
const WRITER_POLL: Duration = Duration::from_millis(1);

/// Waits until no program has the file open for writing; returns whether that happened in time.
pub(crate) fn wait_for_writers(file: &File) -> bool {
    wait_for_writers_up_to(file, WRITER_WAIT)
}

/// Like [`wait_for_writers`], with a limit.
pub(crate) fn wait_for_writers_up_to(file: &File, limit: Duration) -> bool {
    let begin = Instant::now();
    while is_being_written(file) {
        if begin.elapsed() > limit {
            return false;
        }
        std::thread::sleep(WRITER_POLL);
    }
    true
}

/// Whether a process has this file open for writing, such as an editor in the middle of a save.
fn is_being_written(file: &File) -> bool {
    WritersHeldOff::on(file).is_none()
}

/// Keeps programs from opening a file for writing: they block in the kernel until this value is dropped.
///
/// Uses a read lease, which Linux grants only if no process has the file open for writing. Where leases are not
/// available (files of another owner, some network file systems, other systems), writers are neither held off nor
/// detected.
#[derive(Debug)]
pub(crate) struct WritersHeldOff<'f> {
    file: &'f File,
    leased: bool,
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no call for leases")]
impl<'f> WritersHeldOff<'f> {
    /// Holds writers off a file; `None` if one already has it open.
    pub(crate) fn on(file: &'f File) -> Option<Self> {
        // A writer that arrives while the lease is held makes the kernel send a signal. The default signal would end
        // the process; SIGURG is ignored by default.
        const F_SETSIG: libc::c_int = 10;
        let fd = file.as_raw_fd();
        // SAFETY: `fd` is open for as long as `file` is borrowed, and these commands take integers alone.
        let leased = unsafe {
            libc::fcntl(fd, F_SETSIG, libc::SIGURG) == 0 && libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) == 0
        };
        if !leased && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock {
            return None;
        }
        Some(Self { file, leased })
    }

    /// Whether a writer is waiting right now.
    pub(crate) fn writer_is_waiting(&self) -> bool {
        // SAFETY: `fd` is open for as long as `file` is borrowed, and this command takes no argument.
        self.leased && unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_GETLEASE) } != libc::F_RDLCK
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no call for leases")]
impl Drop for WritersHeldOff<'_> {
    fn drop(&mut self) {
        if self.leased {
            // SAFETY: as above. If it fails, the lease ends when the file is closed.
            unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl<'f> WritersHeldOff<'f> {
    /// This system has no way to hold off writers.
    pub(crate) fn on(file: &'f File) -> Option<Self> {
        Some(Self { file, leased: false })
    }

    pub(crate) fn writer_is_waiting(&self) -> bool {
        let _held_off: (&File, bool) = (self.file, self.leased);
        false
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
