//! What the file system says about a file: enough to see that somebody changed it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The identity and times of a file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// The inode number.
    pub inode: u64,
    /// The length in bytes.
    pub size: u64,
    /// The time of the last change of its content, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// The time of the last change of its inode, in nanoseconds since 1970.
    pub ctime_ns: i64,
}

impl FileStamp {
    /// The stamp in a file's metadata.
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

    /// Whether the content is the same as far as the file system can tell. A rename changes the ctime, so it is left out.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        (self.inode, self.size, self.mtime_ns) == (other.inode, other.size, other.mtime_ns)
    }
}
