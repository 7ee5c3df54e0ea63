//! What a person does with work outside of a run: land a branch after review, and undo a commit that has landed.

use std::path::Path;

use ralph_model::TaskId;
use ralph_process::git::{Git, GitError};

use super::landing::{LandError, Landed, land, tip_of};
use super::work::{Merged, as_somebody, merge_trees};
use super::{Base, Checkout};

/// How often a base that moves meanwhile is tried again.
const TRIES: u32 = 10;

/// Why a base branch was not changed. Each is a sentence without its end.
#[derive(Debug, thiserror::Error)]
pub enum BranchError {
    /// These files have changed on both sides.
    #[error("it conflicts with what {base} has by now, in {}", files.join(", "))]
    Conflict {
        /// The branch.
        base: String,
        /// The files.
        files: Vec<String>,
    },
    /// A local change of the user is in the way.
    #[error("a local change is in the way: {0}")]
    InTheWay(String),
    /// The branch is missing.
    #[error("there is no branch {0}")]
    Missing(String),
    /// Git failed.
    #[error("{0}")]
    Git(String),
}

impl From<LandError> for BranchError {
    fn from(error: LandError) -> Self {
        Self::Git(error.to_string())
    }
}

impl From<GitError> for BranchError {
    fn from(error: GitError) -> Self {
        Self::Git(error.to_string())
    }
}

/// Lands the work of a branch, which began at a commit of the base, as one commit. Returns that commit.
///
/// # Errors
/// When it conflicts, a local change is in the way, or git fails; then nothing has changed.
pub fn land_branch(root: &Path, base: &Base, (branch, base_commit): (&str, &str)) -> Result<String, BranchError> {
    let reference = format!("refs/heads/{branch}");
    let work = crate::changes::commit_of(root, &reference)?.ok_or_else(|| BranchError::Missing(branch.to_owned()))?;
    let message = Git::question(root).run(["log", "-1", "--format=%B", &work])?.text()?;
    put_on_tip(root, base, (&work, base_commit), message.trim_end())
}

/// Takes back what a commit has changed, with a new commit on the base. Returns that commit.
///
/// # Errors
/// When later changes conflict, a local change is in the way, or git fails; then nothing has changed.
pub fn revert_commit(root: &Path, base: &Base, commit: &str, message: &str) -> Result<String, BranchError> {
    let parent = crate::changes::commit_of(root, &format!("{commit}^"))?
        .ok_or_else(|| BranchError::Git(format!("{commit} has no parent, so it cannot be undone")))?;
    put_on_tip(root, base, (&parent, commit), message)
}

/// Commits on the tip of a base what one commit has changed since another one, and moves the base.
fn put_on_tip(root: &Path, base: &Base, (changed, since): (&str, &str), message: &str) -> Result<String, BranchError> {
    let git = || Git::change(root).setting("core.hooksPath=/dev/null");
    for _ in 0..TRIES {
        let tip = tip_of(root, base)?.ok_or_else(|| BranchError::Missing(base.branch().to_owned()))?;
        let Merged { tree, files } = merge_trees(&git, (&tip, changed), since)?;
        if !files.is_empty() {
            let base = base.branch().to_owned();
            return Err(BranchError::Conflict { base, files });
        }
        if commit_tree_of(root, &tip)? == tree {
            // A command that was killed before it could say so has done it.
            return Ok(tip);
        }
        let call = ["commit-tree", tree.as_str(), "-p", &tip, "-m", message];
        let commit = as_somebody(git(), root)?.run(call)?.text()?.trim().to_owned();
        match land(root, base, (&tip, &commit))? {
            Landed::Done => return Ok(commit),
            Landed::InTheWay(said) => return Err(BranchError::InTheWay(said)),
            Landed::Moved => {}
        }
    }
    Err(BranchError::Git(format!("{} moves all the time", base.branch())))
}

fn commit_tree_of(root: &Path, commit: &str) -> Result<String, GitError> {
    let revision = format!("{commit}^{{tree}}");
    let tree = Git::question(root).run(["rev-parse", &revision])?.text()?;
    Ok(tree.trim().to_owned())
}

/// Removes the checkout of a task and its branch.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_checkout(root: &Path, work: &Path, (task, branch): (&TaskId, &str)) -> Result<(), BranchError> {
    let checkout = Checkout::of(root, work, task).map_err(BranchError::Git)?;
    let removed = checkout.delete_ref(&format!("refs/heads/{branch}"));
    removed.and_then(|()| checkout.remove()).map_err(BranchError::Git)
}
