//! Facts that depend on the operating system.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{Access, access};

/// The system's boot id; empty where it has none.
#[must_use]
pub fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().to_owned()
    })
}

/// Why a file cannot be read, determined without opening it; none if it can.
pub(crate) fn why_unreadable(path: &Path) -> Option<io::Error> {
    access(path, Access::READ_OK).err().map(io::Error::from)
}
