//! Commits exactly the files of a task, in their current state.
//!
//! This is git's own commit of named files: hooks and filters run, and other staged files stay staged. The caller
//! checks that hooks and filters have not changed since the run began. Untracked files are added with `--intent-to-add`
//! first, and removed from the index again if the commit fails.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ralph_memory::capture::clean;
use ralph_process::git::{Git, GitAnswer, GitError};
use ralph_process::{MARKER_VARIABLE, StopHandle};

use super::head_commit;
use super::in_git::Repository;

/// Why there is no commit.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error("{0} is in no git repository, so nothing can be committed")]
    NoRepository(String),
    #[error("git does not know who you are, so nothing was committed: set user.name and user.email with `git config`")]
    NoIdentity,
    /// The files are the same as in the last commit.
    #[error("there is nothing to commit: the files are as in the last commit, or ignored")]
    Nothing,
    /// Git or a hook refused.
    #[error("git did not commit: {said}")]
    Refused { said: String },
    #[error("{0}")]
    Git(String),
}

impl From<GitError> for CommitError {
    fn from(error: GitError) -> Self {
        Self::Git(error.to_string())
    }
}

/// The maximum length of a hook's output in an error.
const MAX_OUTPUT: usize = 2000;

/// How often, and at what interval, to retry while the index is locked.
const LOCK_TRIES: u32 = 25;
const LOCK_WAIT: Duration = Duration::from_millis(200);

/// The status of a file that is committed but only announced in the index: git was killed between the commit and the
/// index update.
const ANNOUNCED: &str = "DA";

/// Checks whether a commit is possible in a folder.
///
/// # Errors
/// When it is in no repository, or git does not know who commits.
pub fn can_commit(folder: &Path) -> Result<(), CommitError> {
    repository_of(folder).map(drop)
}

/// The repository of a folder, if a commit is possible in it.
fn repository_of(folder: &Path) -> Result<Repository, CommitError> {
    let repository = Repository::of(folder)
        .map_err(CommitError::Git)?
        .ok_or_else(|| CommitError::NoRepository(folder.display().to_string()))?;
    match has_identity(&repository.top)? {
        true => Ok(repository),
        false => Err(CommitError::NoIdentity),
    }
}

/// Whether git has a user name and email in a folder.
pub(crate) fn has_identity(folder: &Path) -> Result<bool, GitError> {
    for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        if !Git::question(folder).run(["var", who])?.status.success() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Commits exactly these files (paths from the folder) in their current state, including removed and new ones, and
/// returns the commit id. Ignored and unchanged files are skipped. Git and its hooks carry the marker, so that leftover
/// processes can be found and killed.
///
/// # Errors
/// When there is nothing to commit, git or a hook refuses, or the commit is stopped; then everything stays as it was.
pub fn commit_task(
    folder: &Path,
    files: &BTreeSet<String>,
    message: &str,
    stop: &StopHandle,
    marker: &str,
) -> Result<String, CommitError> {
    let repository = repository_of(folder)?;
    let mut committed = commit_in(&repository, files, message, stop, marker);
    for _ in 0..LOCK_TRIES {
        if committed.is_ok() || stop.is_requested() || !repository.is_locked() {
            break;
        }
        // Another git process, perhaps of an editor, holds the index briefly.
        std::thread::sleep(LOCK_WAIT);
        committed = commit_in(&repository, files, message, stop, marker);
    }
    let _ended: usize = ralph_process::kill_leftovers(marker, None);
    committed
}

fn commit_in(
    repository: &Repository,
    files: &BTreeSet<String>,
    message: &str,
    stop: &StopHandle,
    marker: &str,
) -> Result<String, CommitError> {
    let top = repository.top.as_path();
    let git = || {
        // Background maintenance would be killed with the hooks' leftovers; the user's own git does it.
        Git::change(top)
            .setting("maintenance.auto=false")
            .setting("gc.auto=0")
            .env(MARKER_VARIABLE, marker)
    };
    let paths: Vec<String> = files
        .iter()
        .filter_map(|file| repository.relative_to_top(file))
        .collect();
    let (changed, unknown) = changed_files(repository, &paths)?;
    if changed.is_empty() {
        return Err(CommitError::Nothing);
    }
    if !unknown.is_empty() {
        let announced = with_paths(git(), &unknown, &["add", "--intent-to-add"])?;
        refused(&announced)?;
    }
    let message = format!("--message={message}");
    let commit = git().stoppable(stop);
    let committed = with_paths(commit, &changed, &["commit", "--quiet", "--only", message.as_str()])
        .map_err(CommitError::from)
        .and_then(|answer| refused(&answer));
    if let Err(error) = committed {
        if !unknown.is_empty() {
            // They are only announced: this removes them from the index and keeps the files.
            let forgotten = with_paths(git(), &unknown, &["rm", "--cached", "--quiet", "--force"])?;
            refused(&forgotten)?;
        }
        return Err(error);
    }
    head_commit(top)?.ok_or(CommitError::Nothing)
}

/// The last commit, if it contains these files in their current state because someone has already committed them.
///
/// # Errors
/// When there is no repository, or git does not answer.
pub fn commit_containing(folder: &Path, files: &BTreeSet<String>) -> Result<Option<String>, CommitError> {
    let repository = Repository::of(folder)
        .map_err(CommitError::Git)?
        .ok_or_else(|| CommitError::NoRepository(folder.display().to_string()))?;
    let top = repository.top.as_path();
    let paths: Vec<String> = files
        .iter()
        .filter_map(|file| repository.relative_to_top(file))
        .collect();
    if !changed_files(&repository, &paths)?.0.is_empty() {
        return Ok(None);
    }
    // An ignored file is in no commit.
    let arguments = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard"];
    let answer = Git::question(top).run(arguments)?.text()?;
    let ignored: BTreeSet<&str> = answer.split_terminator('\0').collect();
    if paths.iter().all(|path| ignored.contains(path.as_str())) {
        return Ok(None);
    }
    Ok(head_commit(top)?)
}

/// The paths that differ from the last commit, and the untracked ones among them.
fn changed_files(repository: &Repository, paths: &[String]) -> Result<(Vec<String>, Vec<String>), CommitError> {
    if paths.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    // `git status` cannot read paths from a file, so list everything and filter.
    let wanted: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let mut status = repository.status(Vec::new())?;
    let announced = status
        .iter()
        .filter(|(how, path)| how == ANNOUNCED && wanted.contains(path.as_str()));
    let announced: Vec<String> = announced.map(|(_, path)| path.clone()).collect();
    if !announced.is_empty() {
        let git = Git::change(&repository.top).setting("core.hooksPath=/dev/null");
        refused(&with_paths(git, &announced, &["reset", "--quiet"])?)?;
        status = repository.status(Vec::new())?;
    }
    let (mut changed, mut unknown) = (Vec::new(), Vec::new());
    for (how, path) in status {
        if !wanted.contains(path.as_str()) {
            continue;
        }
        if how == "??" {
            unknown.push(path.clone());
        }
        changed.push(path);
    }
    Ok((changed, unknown))
}

/// Runs a git command on literal paths.
fn with_paths(git: Git, paths: &[String], arguments: &[&str]) -> Result<GitAnswer, GitError> {
    let from_input = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    git.env("GIT_LITERAL_PATHSPECS", "1")
        .input(paths.join("\0"))
        .run(arguments.iter().chain(&from_input))
}

/// Checks that git succeeded; otherwise returns its output.
fn refused(answer: &GitAnswer) -> Result<(), CommitError> {
    if answer.status.success() {
        return Ok(());
    }
    let errors = answer.errors.trim();
    let said = if errors.is_empty() {
        String::from_utf8_lossy(&answer.output).trim().to_owned()
    } else {
        errors.to_owned()
    };
    let said = if said.is_empty() {
        format!("it ended with {}", answer.status)
    } else {
        clean(&said, MAX_OUTPUT)
    };
    Err(CommitError::Refused { said })
}
