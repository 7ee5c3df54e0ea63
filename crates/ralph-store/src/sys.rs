//! What is particular to an operating system.

use std::sync::OnceLock;

/// What the system calls its present run, from start to shut-down; empty where it does not tell.
pub(crate) fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().to_owned()
    })
}
