//! Removes old iteration folders: those past their retention time, and the oldest ones if all together take too much
//! space. Only whole folders of finished runs are removed, and their journal entries stay. Scratch folders of finished
//! runs are always removed: a killed run could not clean up.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_model::RunId;
use ralph_model::config::Runs;

use crate::run_folder::SCRATCH;

const DAY: Duration = Duration::from_hours(24);

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pruned {
    /// The iterations whose folders were removed.
    pub(crate) iterations: Vec<(RunId, u32)>,
    pub(crate) bytes: u64,
    /// What could not be removed, and why.
    pub(crate) failures: Vec<String>,
}

/// The size of all run folders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunsSize {
    /// The number of iteration folders.
    pub iterations: u64,
    pub bytes: u64,
}

impl RunsSize {
    /// Measures the iteration folders below the folder of all runs.
    #[must_use]
    pub fn of(runs: &Path) -> Self {
        let folders = iteration_folders(runs);
        Self {
            iterations: folders.len() as u64,
            bytes: folders.iter().map(|folder| folder.bytes).sum(),
        }
    }
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    run: RunId,
    /// The time of the last write in it.
    written: SystemTime,
    bytes: u64,
}

/// Removes folders that are too old or too many, oldest first, only of the finished runs in `over`.
pub(crate) fn prune(runs: &Path, over: &BTreeSet<RunId>, limits: Runs, now: SystemTime) -> Pruned {
    prune_with(|folder| fs::remove_dir_all(folder), runs, over, limits, now)
}

/// The same with a custom removal, for tests.
fn prune_with(
    remove: impl Fn(&Path) -> io::Result<()>,
    runs: &Path,
    over: &BTreeSet<RunId>,
    limits: Runs,
    now: SystemTime,
) -> Pruned {
    remove_scratch(runs, over);
    let mut folders = iteration_folders(runs);
    let mut bytes: u64 = folders.iter().map(|folder| folder.bytes).sum();
    folders.retain(|folder| over.contains(&folder.run));
    folders.sort_by(|one, other| (one.written, &one.path).cmp(&(other.written, &other.path)));
    let oldest = limits.keep_days.and_then(|days| now.checked_sub(DAY * days));
    let max_bytes = limits.max_bytes.map_or(u64::MAX, |bytes| bytes.0);
    let mut pruned = Pruned::default();
    for folder in folders {
        let is_old = oldest.is_some_and(|oldest| folder.written < oldest);
        if !is_old && bytes <= max_bytes {
            break;
        }
        match remove(&folder.path) {
            Ok(()) => {
                bytes -= folder.bytes;
                let name = folder.path.file_name().unwrap_or_default().to_string_lossy();
                pruned
                    .iterations
                    .extend(name.parse().map(|number| (folder.run, number)));
                pruned.bytes += folder.bytes;
                if let Some(run) = folder.path.parent() {
                    remove_if_empty(run);
                }
            }
            Err(error) => pruned.failures.push(format!(
                "Could not remove an old iteration folder: {}: {error}",
                folder.path.display()
            )),
        }
    }
    pruned
}

/// Removes the scratch folders of finished runs. Failures are retried next time.
fn remove_scratch(runs: &Path, over: &BTreeSet<RunId>) {
    for (_, folder) in run_folders(runs).iter().filter(|(run, _)| over.contains(run)) {
        let is_scratch = |entry: &&DirEntry| entry.file_name() == SCRATCH && is_real_folder(entry);
        if let Some(scratch) = entries(folder).iter().find(is_scratch) {
            drop(fs::remove_dir_all(scratch.path()));
        }
        remove_if_empty(folder);
    }
}

/// Removes the folder of a run without iterations, unless something else is in it.
fn remove_if_empty(run: &Path) {
    let has_more = entries(run).iter().any(is_iteration);
    if !has_more {
        // The link to the program is useless without an iteration; anything else makes this fail and stays.
        drop(fs::remove_file(run.join("bin").join("ralph")));
        drop(fs::remove_dir(run.join("bin")));
        drop(fs::remove_dir(run));
    }
}

/// All run folders, without symbolic links.
fn run_folders(runs: &Path) -> Vec<(RunId, PathBuf)> {
    let is_folder = fs::symlink_metadata(runs).is_ok_and(|metadata| metadata.is_dir());
    let folders = entries(runs).into_iter().filter(|_| is_folder).filter(is_real_folder);
    folders
        .filter_map(|entry| Some((RunId::parse(&entry.file_name().to_string_lossy())?, entry.path())))
        .collect()
}

/// All iteration folders such as `run-1a2b3c4d/001`, without symbolic links.
fn iteration_folders(runs: &Path) -> Vec<Folder> {
    let mut folders = Vec::new();
    for (run, folder) in run_folders(runs) {
        for iteration in entries(&folder).into_iter().filter(is_iteration) {
            let path = iteration.path();
            // One that disappears or cannot be read is checked next time.
            if let Ok((written, bytes)) = measure(&path) {
                folders.push(Folder {
                    path,
                    run: run.clone(),
                    written,
                    bytes,
                });
            }
        }
    }
    folders
}

fn entries(folder: &Path) -> Vec<DirEntry> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(Result::ok).collect()
}

/// Whether it is a folder, not a link to one.
fn is_real_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn is_iteration(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.len() >= 3 && name.bytes().all(|byte| byte.is_ascii_digit()) && is_real_folder(entry)
}

/// The last write in a folder, and its total size.
fn measure(folder: &Path) -> io::Result<(SystemTime, u64)> {
    let mut written = None;
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let (inner_written, inner_bytes) = if metadata.is_dir() {
            measure(&entry.path())?
        } else {
            (metadata.modified()?, metadata.len())
        };
        written = written.max(Some(inner_written));
        bytes += inner_bytes;
    }
    match written {
        Some(written) => Ok((written, bytes)),
        None => Ok((fs::symlink_metadata(folder)?.modified()?, bytes)),
    }
}

#[cfg(test)]
#[path = "prune_tests.rs"]
mod tests;
