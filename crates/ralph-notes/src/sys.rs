//! What is particular to an operating system: swapping two files, and holding off those who write to one.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Swaps two files in one step, so that whatever stood at `target` is never out of hand.
///
/// # Errors
/// `Unsupported` where the file system cannot; else what the system says.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    rename_with(one, other, EXCHANGE)
}

/// Renames a file to a name that nobody has; unlike a plain rename it never takes the place of another file.
///
/// # Errors
/// `AlreadyExists` when somebody has it; else what the system says.
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

/// How long a program may keep a file open for writing.
const WRITER_WAIT: Duration = Duration::from_secs(5);
/// How often to look whether it has closed it.
const WRITER_POLL: Duration = Duration::from_millis(1);

/// Waits until no program has the file open for writing; says whether that came to pass.
pub(crate) fn wait_for_writers(file: &File) -> bool {
    wait_for_writers_up_to(file, WRITER_WAIT)
}

/// Waits so long until no program has the file open for writing; says whether that came to pass.
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

/// Whether some process has this file open for writing: an editor in the middle of a save.
fn is_being_written(file: &File) -> bool {
    WritersHeldOff::on(file).is_none()
}

/// Keeps programs from opening a file for writing: they wait in the kernel until this value is dropped.
///
/// It is a read lease, which Linux grants only on a file that nobody has open for writing. Where leases are not to be had
/// (another owner's file, some network file systems, other systems) nobody is held off, and nobody is seen.
#[derive(Debug)]
pub(crate) struct WritersHeldOff<'f> {
    file: &'f File,
    leased: bool,
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no call for leases")]
impl<'f> WritersHeldOff<'f> {
    /// Holds writers off a file; `None` when one has it open already.
    pub(crate) fn on(file: &'f File) -> Option<Self> {
        // A writer that comes while the lease is held makes the kernel send a signal. The default one would end the
        // process; SIGURG is ignored by default.
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

    /// Whether a writer is being held off right now.
    pub(crate) fn somebody_waits(&self) -> bool {
        // SAFETY: `fd` is open for as long as `file` is borrowed, and this command takes no argument.
        self.leased && unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_GETLEASE) } != libc::F_RDLCK
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no call for leases")]
impl Drop for WritersHeldOff<'_> {
    fn drop(&mut self) {
        if self.leased {
            // SAFETY: as above. Should it fail, the lease goes with the file.
            unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl<'f> WritersHeldOff<'f> {
    /// There is no way to hold writers off on this system.
    pub(crate) fn on(file: &'f File) -> Option<Self> {
        Some(Self { file, leased: false })
    }

    /// Nobody is held off.
    pub(crate) fn somebody_waits(&self) -> bool {
        let _held_off: (&File, bool) = (self.file, self.leased);
        false
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
