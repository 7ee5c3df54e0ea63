//! What is particular to an operating system.

/// What the system calls its present run, from start to shut-down; none where it does not tell.
pub(crate) fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}
