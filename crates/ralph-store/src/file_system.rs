//! Whether a file is on a network file system. A write-ahead log needs shared memory, which processes on different
//! machines do not have.

use std::path::Path;

/// The kind of file system that SQLite's journal mode depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// On this machine only, or unknown.
    Local,
    /// Other machines may use the same files.
    Network,
}

impl FileSystem {
    /// The file system of a path; for a missing one, that of its nearest existing ancestor.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let existing = path.ancestors().find(|path| path.exists());
        existing.map_or(Self::Local, kind)
    }
}

#[cfg(target_os = "linux")]
fn kind(path: &Path) -> FileSystem {
    rustix::fs::statfs(path).map_or(FileSystem::Local, |found| of_type(found.f_type.cast_unsigned()))
}

/// `statfs` types of file systems that several machines may use at once. FUSE is among them: sshfs, shared folders of
/// virtual machines, and most other uses of it.
#[cfg(target_os = "linux")]
const NETWORK_TYPES: &[u64] = &[
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB 2
    0x0102_1997, // 9p
    0x6573_5546, // FUSE
    0x00C3_6400, // Ceph
    0x0BD0_0BD0, // Lustre
    0x5346_414F, // AFS
    0x6B41_4653, // kAFS
    0x7375_7245, // Coda
    0x4750_4653, // GPFS
    0x0116_1970, // GFS2
    0x7461_636F, // OCFS2
    0x786F_4256, // VirtualBox shared folders
    0xBACB_ACBC, // VMware shared folders
];

#[cfg(target_os = "linux")]
fn of_type(found: u64) -> FileSystem {
    // The number may be sign-extended.
    if NETWORK_TYPES.contains(&(found & 0xFFFF_FFFF)) {
        FileSystem::Network
    } else {
        FileSystem::Local
    }
}

#[cfg(target_os = "macos")]
fn kind(path: &Path) -> FileSystem {
    /// `MNT_LOCAL` of `sys/mount.h`.
    const LOCAL: u32 = 0x1000;
    match rustix::fs::statfs(path) {
        Ok(found) if found.f_flags & LOCAL == 0 => FileSystem::Network,
        _ => FileSystem::Local,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn kind(_path: &Path) -> FileSystem {
    FileSystem::Local
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_recognized_by_type() {
        let ext4 = 0xEF53;
        let tmpfs = 0x0102_1994;
        for (number, expected) in [
            (0x6969, FileSystem::Network),
            (0xFF53_4D42, FileSystem::Network),
            (0xFFFF_FFFF_FF53_4D42, FileSystem::Network),
            (0x6573_5546, FileSystem::Network),
            (ext4, FileSystem::Local),
            (tmpfs, FileSystem::Local),
        ] {
            assert_eq!(of_type(number), expected, "{number:x}");
        }
        assert_eq!(
            FileSystem::of(Path::new("/proc/no-such-folder/file")),
            FileSystem::Local
        );
    }
}
