//! The seal of an index: a small file beside it that says which file its last writer left behind.
//!
//! The index is written without a journal on disk and without syncing, which is quick, but a process that is killed or a
//! power cut may leave anything behind. So the seal is broken before a change and put on again after it. An index whose
//! seal does not fit (another size, time or inode, another start of the machine, another version of the program) is not
//! read, whoever changed it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;

use crate::backup::remove_if_there;
use crate::sys;

/// The number of the format; it is raised with every change of the schema, of how files are read or cut into terms, of
/// what is told about them, or of how any of these is written down.
pub(super) const FORMAT: u32 = 9;

/// Whether the index is as its last writer left it.
pub(super) fn is_intact(index: &Path) -> bool {
    fs::read_to_string(beside(index, ".seal")).is_ok_and(|seal| seal_for(index).is_ok_and(|expected| seal == expected))
}

/// Breaks the seal before a change.
pub(super) fn break_seal(index: &Path) -> io::Result<()> {
    remove_if_there(&beside(index, ".seal"))
}

/// Puts the seal on after a change.
pub(super) fn put_on(index: &Path) -> io::Result<()> {
    File::create(beside(index, ".seal"))?.write_all(seal_for(index)?.as_bytes())
}

/// Removes the index with all that stands beside it, except its lock.
pub(super) fn remove(index: &Path) -> io::Result<()> {
    for ending in [".seal", "-journal", "-wal", "-shm"] {
        remove_if_there(&beside(index, ending))?;
    }
    remove_if_there(index)
}

/// The path of a file that stands beside the index.
pub(super) fn beside(index: &Path, ending: &str) -> PathBuf {
    let mut path = index.to_owned().into_os_string();
    path.push(ending);
    path.into()
}

fn seal_for(index: &Path) -> io::Result<String> {
    let FileStamp {
        inode,
        size,
        mtime_ns,
        ctime_ns,
    } = FileStamp::of(&fs::symlink_metadata(index)?);
    let boot = sys::boot();
    Ok(format!("{FORMAT} {inode} {size} {mtime_ns} {ctime_ns} {boot}\n"))
}
