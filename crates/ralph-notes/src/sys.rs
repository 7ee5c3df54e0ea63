//! What is particular to an operating system: swapping two files, and asking whether a file is being written.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Swaps two files in one step, so that whatever stood at `target` is never out of hand.
///
/// # Errors
/// `Unsupported` where the file system cannot; else what the system says.
#[expect(unsafe_code, reason = "the standard library has no call that exchanges two files")]
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let one = c_path(one)?;
    let other = c_path(other)?;
    #[cfg(target_os = "linux")]
    // SAFETY: both pointers are to strings that end with NUL and outlive the call.
    let status = unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    #[cfg(target_os = "macos")]
    // SAFETY: both pointers are to strings that end with NUL and outlive the call.
    let status = unsafe { libc::renamex_np(one.as_ptr(), other.as_ptr(), libc::RENAME_SWAP) };
    if status == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        _ => Err(error),
    }
}

/// Whether some process has this file open for writing: an editor in the middle of a save.
///
/// Linux grants a read lease only on a file that nobody writes, so asking for one tells; it is given back at once.
/// Where leases are not to be had (another owner's file, some network file systems) the answer is no.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library has no call for leases")]
pub(crate) fn is_being_written(file: &File) -> bool {
    let fd = file.as_raw_fd();
    // A writer that comes while the lease is held makes the kernel send a signal. The default one would end the
    // process; SIGURG is ignored by default.
    const F_SETSIG: libc::c_int = 10;
    // SAFETY: `fd` is open for as long as `file` is borrowed, and these commands take integers alone.
    unsafe {
        if libc::fcntl(fd, F_SETSIG, libc::SIGURG) != 0 {
            return false;
        }
        if libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) == 0 {
            libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK);
            return false;
        }
    }
    io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

/// Whether some process has this file open for writing. There is no way to ask on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_being_written(_file: &File) -> bool {
    false
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
