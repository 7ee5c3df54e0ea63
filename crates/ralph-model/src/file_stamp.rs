//! File metadata that reveals whether a file has changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Identity and times of a file at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    pub inode: u64,
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of the inode, in nanoseconds since 1970.
    pub ctime_ns: i64,
}

impl FileStamp {
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            inode: metadata.ino(),
            size: metadata.len(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether size, mtime and inode are equal. A rename changes the ctime, so it is ignored.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        (self.inode, self.size, self.mtime_ns) == (other.inode, other.size, other.mtime_ns)
    }
}
