//! The seal of an index: a small file next to it that identifies the file its last writer left.
//!
//! The index is written without an on-disk journal and without syncing, which is fast, but a killed process or a power
//! failure may leave it in any state. So a writer removes the seal before a change and writes it again afterwards. An
//! index whose seal does not match (size, time, inode, boot or program version) is not read.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;

use crate::backup::remove_if_exists;
use crate::sys;

/// Increase with every change of the schema, of how files are parsed or tokenized, or of how any of these is stored.
pub(super) const FORMAT: u32 = 9;

pub(super) fn is_intact(index: &Path) -> bool {
    fs::read_to_string(beside(index, ".seal"))
        .is_ok_and(|seal| expected_seal(index).is_ok_and(|expected| seal == expected))
}

pub(super) fn remove_seal(index: &Path) -> io::Result<()> {
    remove_if_exists(&beside(index, ".seal"))
}

pub(super) fn write_seal(index: &Path) -> io::Result<()> {
    File::create(beside(index, ".seal"))?.write_all(expected_seal(index)?.as_bytes())
}

/// Removes the index and the files next to it, except its lock.
pub(super) fn remove(index: &Path) -> io::Result<()> {
    for ending in [".seal", "-journal", "-wal", "-shm"] {
        remove_if_exists(&beside(index, ending))?;
    }
    remove_if_exists(index)
}

/// Path of a file next to the index.
pub(super) fn beside(index: &Path, ending: &str) -> PathBuf {
    let mut path = index.to_owned().into_os_string();
    path.push(ending);
    path.into()
}

fn expected_seal(index: &Path) -> io::Result<String> {
    let FileStamp {
        inode,
        size,
        mtime_ns,
        ctime_ns,
    } = FileStamp::of(&fs::symlink_metadata(index)?);
    let boot = sys::boot();
    Ok(format!("{FORMAT} {inode} {size} {mtime_ns} {ctime_ns} {boot}\n"))
}
