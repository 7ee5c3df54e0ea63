//! Updates the files of worktrees that have the base checked out when the base moves.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_process::git::{Git, GitError};

use super::LandError;
use crate::files::remove_if_there;

/// How often, and at what interval, to retry while the index is locked.
const LOCK_TRIES: u32 = 25;
const LOCK_WAIT: Duration = Duration::from_millis(200);

/// A worktree of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worktree {
    pub(crate) folder: PathBuf,
    /// The checked-out reference; `None` for a detached HEAD.
    pub(crate) branch: Option<String>,
}

/// All worktrees whose folders exist.
pub(super) fn all(top: &Path) -> Result<Vec<Worktree>, GitError> {
    let listed = Git::question(top)
        .run(["worktree", "list", "--porcelain", "-z"])?
        .text()?;
    let mut worktrees: Vec<Worktree> = Vec::new();
    for line in listed.split('\0') {
        if let Some(folder) = line.strip_prefix("worktree ") {
            worktrees.push(Worktree {
                folder: folder.into(),
                branch: None,
            });
        } else if let (Some(branch), Some(last)) = (line.strip_prefix("branch "), worktrees.last_mut()) {
            last.branch = Some(branch.to_owned());
        } else if line == "bare" {
            worktrees.pop();
        }
    }
    worktrees.retain(|worktree| worktree.folder.is_dir());
    Ok(worktrees)
}

/// The folders of the worktrees that have a reference checked out.
pub(super) fn on(top: &Path, reference: &str) -> Result<Vec<PathBuf>, GitError> {
    let all = all(top)?.into_iter();
    let on = all.filter(|worktree| worktree.branch.as_deref() == Some(reference));
    Ok(on.map(|worktree| worktree.folder).collect())
}

/// Updates the files and index of a worktree from one commit to another. Local changes of other files stay. If one is
/// in the way, nothing changes and git's message is returned.
pub(super) fn update(folder: &Path, old: &str, new: &str) -> Result<Result<(), String>, GitError> {
    for attempt in 0.. {
        let answer = git(folder).run(["read-tree", "-m", "-u", old, new])?;
        if answer.status.success() {
            return Ok(Ok(()));
        }
        let is_locked = answer.errors.contains("index.lock");
        if !is_locked || attempt == LOCK_TRIES {
            let said = answer.errors.lines().next().unwrap_or_default();
            return Ok(Err(said.trim_start_matches("error: ").to_owned()));
        }
        // Another git process, perhaps of an editor, holds the index briefly.
        std::thread::sleep(LOCK_WAIT);
    }
    Ok(Ok(()))
}

fn git(folder: &Path) -> Git {
    Git::change(folder)
        .setting("core.hooksPath=/dev/null")
        .setting("submodule.recurse=false")
}

/// A file that differs between two commits.
pub(super) struct Difference {
    old: Option<Blob>,
    pub(super) new: Option<Blob>,
    pub(super) path: String,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) mode: String,
    id: String,
}

/// Reverts an interrupted update of a worktree: files that match the new commit while the index has the old one.
/// Returns whether the index already has the new commit.
pub(super) fn repair(folder: &Path, old: &str, new: &str) -> Result<Updated, LandError> {
    wait_for_lock(folder)?;
    let differences = differences(Git::question(folder), old, new)?;
    let in_index = |difference: &Difference| -> Result<Option<Blob>, GitError> {
        let path = format!(":(top,literal){}", difference.path);
        let listed = Git::question(folder)
            .run(["ls-files", "-s", "-z", "--", &path])?
            .text()?;
        let entry = listed
            .split_terminator('\0')
            .next()
            .and_then(|entry| entry.split_once('\t'));
        Ok(entry.and_then(|(entry, _)| {
            let mut fields = entry.split(' ');
            Some(Blob {
                mode: fields.next()?.to_owned(),
                id: fields.next()?.to_owned(),
            })
        }))
    };
    let mut is_new = !differences.is_empty();
    let mut written = Vec::new();
    for difference in &differences {
        let indexed = in_index(difference)?;
        is_new &= indexed == difference.new;
        if indexed == difference.old
            && on_disk(folder, difference)? == difference.new.as_ref().map(|blob| blob.id.clone())
        {
            written.push(difference);
        }
    }
    if is_new {
        return Ok(Updated::Yes);
    }
    for difference in written {
        let path = folder.join(&difference.path);
        if difference.old.is_none() {
            remove_if_there(&path)
                .map_err(|error| LandError::Git(format!("cannot remove {}: {error}", path.display())))?;
        } else {
            git(folder)
                .run(["checkout-index", "--force", "-u", "--", &difference.path])?
                .text()?;
        }
    }
    Ok(Updated::No)
}

/// Waits until the index is unlocked: git may outlive a killed run.
fn wait_for_lock(folder: &Path) -> Result<(), GitError> {
    let lock = Git::question(folder)
        .run(["rev-parse", "--path-format=absolute", "--git-path", "index.lock"])?
        .text()?;
    let lock = PathBuf::from(lock.trim_end_matches('\n'));
    for _ in 0..LOCK_TRIES {
        if !lock.exists() {
            break;
        }
        std::thread::sleep(LOCK_WAIT);
    }
    Ok(())
}

/// Whether a worktree was updated to the new commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Updated {
    Yes,
    No,
}

pub(super) fn differences(git: Git, old: &str, new: &str) -> Result<Vec<Difference>, GitError> {
    let listed = git
        .run([
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--full-index",
            old,
            new,
        ])?
        .text()?;
    let mut fields = listed.split_terminator('\0');
    let mut differences = Vec::new();
    while let (Some(raw), Some(path)) = (fields.next(), fields.next()) {
        let raw: Vec<&str> = raw.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, ..] = raw.as_slice() else {
            continue;
        };
        let blob = |mode: &str, id: &str| {
            (mode != "000000").then(|| Blob {
                mode: mode.to_owned(),
                id: id.to_owned(),
            })
        };
        differences.push(Difference {
            old: blob(old_mode, old_id),
            new: blob(new_mode, new_id),
            path: path.to_owned(),
        });
    }
    Ok(differences)
}

/// The id that git would give the file on disk, if it exists.
fn on_disk(folder: &Path, difference: &Difference) -> Result<Option<String>, GitError> {
    let path = folder.join(&difference.path);
    let Ok(metadata) = fs::symlink_metadata(&path) else {
        return Ok(None);
    };
    let answer = if metadata.is_symlink() {
        let target = fs::read_link(&path).unwrap_or_default();
        git(folder)
            .input(target.as_os_str().as_bytes())
            .run(["hash-object", "--stdin"])?
    } else {
        let name = format!("--path={}", difference.path);
        git(folder).run(["hash-object", &name, &difference.path])?
    };
    Ok(answer.text().ok().map(|id| id.trim().to_owned()))
}
