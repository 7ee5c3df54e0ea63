//! What is particular to an operating system.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{Access, access};

/// What the system calls its present run, from start to shut-down; empty where it does not tell.
pub(crate) fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().to_owned()
    })
}

/// Why a file cannot be read, told without opening it; none when it can.
pub(crate) fn why_unreadable(path: &Path) -> Option<io::Error> {
    access(path, Access::READ_OK).err().map(io::Error::from)
}
