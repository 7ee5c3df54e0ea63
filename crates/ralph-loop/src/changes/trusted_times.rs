//! Lets git add the files of a checkout without reading those that are as ralph wrote them.
//!
//! Git compares file times by the second, so at each `git add` it reads every file again that was written in the same
//! second as the index: nearly all files of a new checkout. ralph knows more: a file whose last change, in nanoseconds,
//! is earlier than the end of the checkout is as in the index. All others are read again.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ralph_process::git::{Git, GitAnswer};
use rustix::fs::{AtFlags, statat};

use super::Repository;

/// The mode of a nested repository in git's listings.
pub(crate) const NESTED_REPOSITORY: &str = "160000";
/// Git takes a file for unchanged if its time is from a second before that of the index.
const NEXT_SECOND: Duration = Duration::from_secs(2);

pub(crate) struct TrustedTimes {
    top: PathBuf,
    index: PathBuf,
    /// When the checkout had been written; `None` leaves everything to git.
    written_ns: Option<u64>,
}

impl TrustedTimes {
    pub(crate) fn of(repository: &Repository, index: PathBuf) -> Self {
        Self {
            top: repository.top.clone(),
            index,
            written_ns: repository.written_ns,
        }
    }

    /// Makes git read changed files. The entries are the output of `git ls-files --stage -z`.
    pub(crate) fn forget_changed(&self, git: Git, entries: &[u8]) -> Result<(), String> {
        let Some(written_ns) = self.written_ns else {
            return Ok(());
        };
        let failed = |error: io::Error| format!("cannot open {}: {error}", self.top.display());
        // Paths relative to an open folder take half the time.
        let top = File::open(&self.top).map_err(failed)?;
        let is_changed = |entry: &&[u8]| {
            let path = entry.splitn(2, |byte| *byte == b'\t').nth(1).unwrap_or_default();
            statat(&top, OsStr::from_bytes(path), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
                let changed_ns = i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
                changed_ns >= i128::from(written_ns)
            })
        };
        let files = entries
            .split_inclusive(|byte| *byte == 0)
            .filter(|entry| !entry.starts_with(NESTED_REPOSITORY.as_bytes()));
        let files = files.map(|entry| entry.strip_suffix(b"\0").unwrap_or(entry));
        let changed: Vec<&[u8]> = files.filter(is_changed).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let without_times = [changed.join(&0), vec![0]].concat();
        self.run(git.input(without_times), ["update-index", "-z", "--index-info"])?
            .text()?;
        Ok(())
    }

    /// Runs git with an index whose times it trusts.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        git: Git,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<GitAnswer, String> {
        let Some(written_ns) = self.written_ns else {
            return Ok(git.run(arguments)?);
        };
        let failed = |error: io::Error| format!("cannot set the time of {}: {error}", self.index.display());
        let index = File::options().write(true).open(&self.index).map_err(failed)?;
        let old = index
            .metadata()
            .and_then(|metadata| metadata.modified())
            .map_err(failed)?;
        let written = SystemTime::UNIX_EPOCH + Duration::from_nanos(written_ns);
        index.set_modified(written + NEXT_SECOND).map_err(failed)?;
        // With the inode in the comparison, git also notices a file that was moved here from elsewhere.
        let answer = git
            .setting("core.checkStat=default")
            .setting("index.skipHash=true")
            .setting("core.trustctime=true")
            .run(arguments);
        // This does nothing to an index that git has replaced.
        index.set_modified(old).map_err(failed)?;
        Ok(answer?)
    }
}
