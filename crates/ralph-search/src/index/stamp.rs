//! The stamp file of an index: it identifies the file that the last writer left.
//!
//! The index is written without an on-disk journal and without syncing, which is fast, but a killed process or a power
//! failure may leave it in any state. So a writer removes the stamp before a change and writes it again afterwards. An
//! index whose stamp does not match (file stamp, boot or format) is not read.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;

/// Increase with every change of the schema, of how files are parsed or tokenized, or of how any of these is stored.
pub(super) const FORMAT: u32 = 10;

pub(super) fn is_intact(index: &Path) -> bool {
    fs::read_to_string(beside(index, ".stamp"))
        .is_ok_and(|stamp| expected_stamp(index).is_ok_and(|expected| stamp == expected))
}

pub(super) fn remove_stamp(index: &Path) -> io::Result<()> {
    ralph_store::remove_if_exists(&beside(index, ".stamp"))
}

pub(super) fn write_stamp(index: &Path) -> io::Result<()> {
    File::create(beside(index, ".stamp"))?.write_all(expected_stamp(index)?.as_bytes())
}

/// Removes the index and the files next to it, except its lock.
pub(super) fn remove(index: &Path) -> io::Result<()> {
    for ending in [".stamp", "-journal", "-wal", "-shm"] {
        ralph_store::remove_if_exists(&beside(index, ending))?;
    }
    ralph_store::remove_if_exists(index)
}

/// Path of a file next to the index.
pub(super) fn beside(index: &Path, ending: &str) -> PathBuf {
    let mut path = index.to_owned().into_os_string();
    path.push(ending);
    path.into()
}

fn expected_stamp(index: &Path) -> io::Result<String> {
    let FileStamp {
        inode,
        size,
        mtime_ns,
        ctime_ns,
    } = FileStamp::of(&fs::symlink_metadata(index)?);
    let boot = ralph_store::boot();
    Ok(format!("{FORMAT} {inode} {size} {mtime_ns} {ctime_ns} {boot}\n"))
}
