//! A library for `LD_PRELOAD` that makes the system calls of a real program fail, or kills it, at the n-th call that
//! changes something on disk. Tests use it to reach every such moment, including those inside SQLite.
//!
//! `RALPH_FAULT` is one of `fail:N:ERRNO` (the n-th call fails), `full:N` (from the n-th call on the disk is full),
//! `kill:N` (SIGKILL instead of ralph's own n-th call), `save:N` (before the n-th call, `RALPH_FAULT_SAVE` is renamed
//! over `RALPH_FAULT_TARGET`, as an editor saves), `savefail:N:M` (the same, and the M-th call after it fails),
//! `nosync` (fsync does nothing), `fills:N` (from ralph's n-th call on, as long as the file in `RALPH_FAULT_MARK`
//! exists, the disk is full below the folder in `RALPH_FAULT_BELOW`, for ralph and all its child processes), `ask`
//! (before each of ralph's own calls the test is asked through the pipes `ask` and `answer` in the folder
//! `RALPH_FAULT_PIPES`; the answer `k` kills it there). At the n-th call, the file in `RALPH_FAULT_MARK` is created, so
//! that a test knows whether it was reached. `RALPH_FAULT_WITHOUT=swap` disables renames with flags,
//! `RALPH_FAULT_WITHOUT=link` hard links.
#![expect(unsafe_code, reason = "this is the boundary to libc itself")]
#![expect(
    missing_docs,
    clippy::missing_safety_doc,
    reason = "names, signatures and contracts are libc's"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "what the kernel returns fits what libc returns"
)]
#![cfg(target_os = "linux")]

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use libc::{iovec, mode_t, off_t, size_t, ssize_t, syscall};

#[derive(Clone, Copy)]
enum Fault {
    None,
    Fail { at: i64, errno: c_int },
    Full { from: i64 },
    Fills { at: i64 },
    Kill { at: i64 },
    Save { at: i64, then_fail: Option<i64> },
    NoSync,
    Ask,
}

/// The target of a call.
#[derive(Clone, Copy)]
enum On {
    Descriptor(c_int),
    Path(c_int, *const c_char),
}

/// Whether a call needs disk space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Space,
    Nothing,
}

static FAULT: OnceLock<Fault> = OnceLock::new();
static CALLS: AtomicI64 = AtomicI64::new(0);

fn variable(name: &CStr) -> Option<&'static str> {
    // SAFETY: the name ends with NUL; no one changes the environment of these programs.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: getenv returns a string that ends with NUL.
    unsafe { CStr::from_ptr(value) }.to_str().ok()
}

fn parse() -> Fault {
    let text = variable(c"RALPH_FAULT").unwrap_or_default();
    let mut words = text.split(':');
    let kind = words.next().unwrap_or_default();
    let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
    match (kind, number(), number()) {
        ("fail", Some(at), Some(errno)) => Fault::Fail {
            at,
            errno: c_int::try_from(errno).unwrap_or(libc::EIO),
        },
        ("full", Some(from), _) => Fault::Full { from },
        ("fills", Some(at), _) => Fault::Fills { at },
        ("kill", Some(at), _) if is_ralph() => Fault::Kill { at },
        ("save", Some(at), _) => Fault::Save { at, then_fail: None },
        ("savefail", Some(at), Some(after)) => Fault::Save {
            at,
            then_fail: Some(at + after),
        },
        ("nosync", ..) => Fault::NoSync,
        ("ask", ..) if is_ralph() => Fault::Ask,
        _ => Fault::None,
    }
}

fn mark() {
    if let Some(path) = variable(c"RALPH_FAULT_MARK")
        && let Ok(path) = std::ffi::CString::new(path)
    {
        // SAFETY: the path ends with NUL; the calls go to the kernel, not to the functions below.
        unsafe {
            let fd = syscall(
                libc::SYS_openat,
                libc::AT_FDCWD,
                path.as_ptr(),
                libc::O_CREAT | libc::O_WRONLY,
                0o644,
            );
            syscall(libc::SYS_close, fd);
        }
    }
}

fn kill() {
    // SAFETY: a signal to ourselves.
    unsafe { syscall(libc::SYS_kill, libc::getpid(), libc::SIGKILL) };
}

/// The pipes to the test, once open.
static PIPES: Mutex<Option<(c_long, c_long)>> = Mutex::new(None);

/// Tells the test about a call and waits for its answer, one thread at a time.
fn ask() -> Option<u8> {
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    let (ask, answer) =
        *pipes.get_or_insert_with(|| (open_pipe("ask", libc::O_WRONLY), open_pipe("answer", libc::O_RDONLY)));
    let mut byte = 0_u8;
    // SAFETY: one byte is written and read; the calls go to the kernel, not to the functions below.
    let read = unsafe {
        syscall(libc::SYS_write, ask, c"?".as_ptr(), 1);
        syscall(libc::SYS_read, answer, &raw mut byte, 1)
    };
    (read == 1).then_some(byte)
}

fn open_pipe(name: &str, flags: c_int) -> c_long {
    let folder = variable(c"RALPH_FAULT_PIPES").unwrap_or_default();
    let Ok(path) = std::ffi::CString::new(format!("{folder}/{name}")) else {
        return -1;
    };
    // SAFETY: the path ends with NUL; the call goes to the kernel, not to the functions below.
    unsafe {
        syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags | libc::O_CLOEXEC,
            0,
        )
    }
}

/// Returns true while the mark file exists.
fn is_marked() -> bool {
    let path = variable(c"RALPH_FAULT_MARK").and_then(|path| std::ffi::CString::new(path).ok());
    // SAFETY: the path ends with NUL.
    path.is_some_and(|path| unsafe { syscall(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), libc::F_OK) } == 0)
}

/// Returns true if this is ralph itself and not a child process.
fn is_ralph() -> bool {
    std::fs::read_link("/proc/self/exe").is_ok_and(|program| program.ends_with("ralph"))
}

/// Returns true if a call targets the full folder.
fn is_below(on: On) -> bool {
    variable(c"RALPH_FAULT_BELOW").is_some_and(|folder| path_of(on).starts_with(folder))
}

fn path_of(on: On) -> PathBuf {
    let of_descriptor = |fd: c_int| std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default();
    match on {
        On::Descriptor(fd) => of_descriptor(fd),
        On::Path(folder, name) => {
            // SAFETY: libc's callers hand in strings that end with NUL.
            let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
            match folder {
                libc::AT_FDCWD => std::fs::read_link("/proc/self/cwd").unwrap_or_default(),
                fd => of_descriptor(fd),
            }
            .join(name)
        }
    }
}

/// Counts a call; returns the errno with which it must fail.
fn count_call(needs: Needs, on: On) -> Option<c_int> {
    let fault = *FAULT.get_or_init(parse);
    let call = CALLS.fetch_add(1, Ordering::SeqCst) + 1;
    let errno = match fault {
        Fault::Fills { at } => {
            if at == call && is_ralph() {
                mark();
            }
            let fails = needs == Needs::Space && is_marked() && is_below(on);
            return fails.then_some(libc::ENOSPC);
        }
        Fault::Fail { at, errno } if at == call => errno,
        Fault::Full { from } if call >= from && needs == Needs::Space => libc::ENOSPC,
        Fault::Kill { at } if at == call => {
            mark();
            kill();
            libc::EIO
        }
        Fault::Ask => {
            // Readers of a database wait until its shared memory is initialized.
            if !path_of(on).as_os_str().as_bytes().ends_with(b"-shm") && ask() == Some(b'k') {
                kill();
            }
            return None;
        }
        Fault::Save { at, .. } if at == call => {
            save();
            mark();
            return None;
        }
        Fault::Save {
            then_fail: Some(failing),
            ..
        } if failing == call => libc::EIO,
        _ => return None,
    };
    mark();
    Some(errno)
}

/// Saves like an editor: a new file replaces the old one.
fn save() {
    let path = |name| variable(name).and_then(|path| std::ffi::CString::new(path).ok());
    if let (Some(new), Some(target)) = (path(c"RALPH_FAULT_SAVE"), path(c"RALPH_FAULT_TARGET")) {
        // SAFETY: both paths end with NUL; the call goes to the kernel, not to the functions below.
        unsafe {
            syscall(
                libc::SYS_renameat2,
                libc::AT_FDCWD,
                new.as_ptr(),
                libc::AT_FDCWD,
                target.as_ptr(),
                0,
            )
        };
    }
}

/// Returns true if the file system lacks a feature.
fn is_without(what: &str) -> bool {
    variable(c"RALPH_FAULT_WITHOUT") == Some(what)
}

fn set_errno(errno: c_int) {
    // SAFETY: glibc's errno location is valid for the thread.
    unsafe { *libc::__errno_location() = errno };
}

/// Standard streams are not on disk.
fn on_disk(fd: c_int) -> bool {
    fd > 2
}

macro_rules! interpose {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty, $needs:expr, $on:expr, $when:expr, $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $result {
            if $when && let Some(errno) = count_call($needs, $on) {
                set_errno(errno);
                return -1;
            }
            // SAFETY: the arguments are passed on unchanged.
            unsafe { $call as $result }
        }
    )*};
}

interpose! {
    fn write(fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t, Needs::Space, On::Descriptor(fd), on_disk(fd),
        syscall(libc::SYS_write, fd, buffer, count);
    fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t, Needs::Space, On::Descriptor(fd), on_disk(fd),
        syscall(libc::SYS_writev, fd, parts, count);
    fn pwrite64(fd: c_int, buffer: *const c_void, count: size_t, offset: off_t) -> ssize_t, Needs::Space, On::Descriptor(fd), on_disk(fd),
        syscall(libc::SYS_pwrite64, fd, buffer, count, offset);
    fn pwrite(fd: c_int, buffer: *const c_void, count: size_t, offset: off_t) -> ssize_t, Needs::Space, On::Descriptor(fd), on_disk(fd),
        syscall(libc::SYS_pwrite64, fd, buffer, count, offset);
    fn ftruncate64(fd: c_int, length: off_t) -> c_int, Needs::Nothing, On::Descriptor(fd), on_disk(fd),
        syscall(libc::SYS_ftruncate, fd, length);
    fn ftruncate(fd: c_int, length: off_t) -> c_int, Needs::Nothing, On::Descriptor(fd), on_disk(fd),
        syscall(libc::SYS_ftruncate, fd, length);
    fn fsync(fd: c_int) -> c_int, Needs::Nothing, On::Descriptor(fd), on_disk(fd), sync(libc::SYS_fsync, fd);
    fn fdatasync(fd: c_int) -> c_int, Needs::Nothing, On::Descriptor(fd), on_disk(fd), sync(libc::SYS_fdatasync, fd);
    fn rename(old: *const c_char, new: *const c_char) -> c_int, Needs::Nothing, On::Path(libc::AT_FDCWD, new), true,
        syscall(libc::SYS_renameat2, libc::AT_FDCWD, old, libc::AT_FDCWD, new, 0);
    fn renameat2(of: c_int, old: *const c_char, nf: c_int, new: *const c_char, flags: c_uint) -> c_int, Needs::Nothing, On::Path(nf, new), true,
        exchange(of, old, nf, new, flags);
    fn link(old: *const c_char, new: *const c_char) -> c_int, Needs::Space, On::Path(libc::AT_FDCWD, new), true,
        hard_link(libc::AT_FDCWD, old, libc::AT_FDCWD, new, 0);
    fn linkat(of: c_int, old: *const c_char, nf: c_int, new: *const c_char, flags: c_int) -> c_int, Needs::Space, On::Path(nf, new), true,
        hard_link(of, old, nf, new, flags);
    fn unlink(path: *const c_char) -> c_int, Needs::Nothing, On::Path(libc::AT_FDCWD, path), true,
        syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0);
    fn mkdir(path: *const c_char, mode: mode_t) -> c_int, Needs::Space, On::Path(libc::AT_FDCWD, path), true,
        syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode);
    fn fchmod(fd: c_int, mode: mode_t) -> c_int, Needs::Nothing, On::Descriptor(fd), true,
        syscall(libc::SYS_fchmod, fd, mode);
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, Needs::Space, On::Path(libc::AT_FDCWD, path), flags & libc::O_CREAT != 0,
        syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode);
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, Needs::Space, On::Path(libc::AT_FDCWD, path), flags & libc::O_CREAT != 0,
        syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode);
}

/// A rename with flags, which some file systems lack.
unsafe fn exchange(of: c_int, old: *const c_char, nf: c_int, new: *const c_char, flags: c_uint) -> c_long {
    if flags != 0 && is_without("swap") {
        set_errno(libc::EINVAL);
        return -1;
    }
    // SAFETY: the arguments are passed on unchanged.
    unsafe { syscall(libc::SYS_renameat2, of, old, nf, new, flags) }
}

/// A hard link, which some file systems lack.
unsafe fn hard_link(of: c_int, old: *const c_char, nf: c_int, new: *const c_char, flags: c_int) -> c_long {
    if is_without("link") {
        set_errno(libc::EPERM);
        return -1;
    }
    // SAFETY: the arguments are passed on unchanged.
    unsafe { syscall(libc::SYS_linkat, of, old, nf, new, flags) }
}

/// A sync, or nothing with `nosync`.
unsafe fn sync(number: c_long, fd: c_int) -> c_long {
    match FAULT.get_or_init(parse) {
        Fault::NoSync => 0,
        // SAFETY: the descriptor is passed on unchanged.
        _ => unsafe { syscall(number, fd) },
    }
}
