//! Landing and undoing work outside a run: a branch after review, or a commit that has landed.

use std::path::Path;

use ralph_model::TaskId;
use ralph_process::git::{Git, GitError};

use super::landing::{LandError, Landed, land, tip_of};
use super::work::{Merged, merge_trees, with_identity};
use super::worktrees::{self, Updated};
use super::{Base, Checkout};
use crate::changes::commit_of;

/// How often to retry if the base moves.
const TRIES: u32 = 10;

/// Why a base branch was not changed.
#[derive(Debug, thiserror::Error)]
pub enum BranchError {
    #[error("it conflicts with {base} in {}", files.join(", "))]
    Conflict { base: String, files: Vec<String> },
    #[error("a local change is in the way: {0}")]
    InTheWay(String),
    #[error("there is no branch {0}")]
    Missing(String),
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

/// A change to commit on a branch: the difference between two commits.
#[derive(Debug, Clone)]
pub struct Change {
    changed: String,
    since: String,
    message: String,
}

impl Change {
    /// The change that reverts a commit.
    ///
    /// # Errors
    /// When the commit has no parent, or git fails.
    pub fn undoing(root: &Path, commit: &str, message: String) -> Result<Self, BranchError> {
        Ok(Self {
            changed: parent_of(root, commit)?,
            since: commit.to_owned(),
            message,
        })
    }

    /// The change that reapplies a commit.
    ///
    /// # Errors
    /// When the commit has no parent, or git fails.
    pub fn repeating(root: &Path, commit: &str, message: String) -> Result<Self, BranchError> {
        Ok(Self {
            changed: commit.to_owned(),
            since: parent_of(root, commit)?,
            message,
        })
    }
}

/// Commits that exist but are not on their branch yet.
#[derive(Debug)]
pub struct Prepared {
    base: Base,
    tip: String,
    /// One per change, in order; `None` if the branch already has the change.
    pub commits: Vec<Option<String>>,
}

impl Prepared {
    /// Commits changes one after another on the tip of a branch, without moving the branch.
    ///
    /// # Errors
    /// When one of them conflicts with what the branch has, or git fails.
    pub fn on(root: &Path, base: &Base, changes: &[Change]) -> Result<Self, BranchError> {
        let git = || Git::change(root).setting("core.hooksPath=/dev/null");
        let tip = tip_of(root, base)?.ok_or_else(|| BranchError::Missing(base.branch().to_owned()))?;
        let (mut last, mut commits) = (tip.clone(), Vec::new());
        for change in changes {
            let Merged { tree, files } = merge_trees(&git, (&last, &change.changed), &change.since)?;
            if !files.is_empty() {
                let base = base.branch().to_owned();
                return Err(BranchError::Conflict { base, files });
            }
            // If nothing changes, a killed command or someone else has already done it.
            if commit_tree_of(root, &last)? == tree {
                commits.push(None);
                continue;
            }
            let call = ["commit-tree", tree.as_str(), "-p", &last, "-m", &change.message];
            let commit = with_identity(git(), root)?.run(call)?.text()?;
            commit.trim().clone_into(&mut last);
            commits.push(Some(last.clone()));
        }
        let base = base.clone();
        Ok(Self { base, tip, commits })
    }

    /// Moves the branch to the last commit. Returns false without a change if the branch has moved.
    ///
    /// # Errors
    /// When a local change is in the way, or git fails; then nothing has changed.
    pub fn land(&self, root: &Path) -> Result<bool, BranchError> {
        let Some(last) = self.commits.iter().flatten().next_back() else {
            return Ok(true);
        };
        match land(root, &self.base, (&self.tip, last))? {
            Landed::Done => Ok(true),
            Landed::InTheWay(said) => Err(BranchError::InTheWay(said)),
            Landed::Moved => Ok(false),
        }
    }
}

/// Lands the work of a branch as one commit. Returns that commit; `None` if the base already has all of it.
///
/// # Errors
/// When it conflicts, a local change is in the way, or git fails; then nothing has changed.
pub fn land_branch(
    root: &Path,
    base: &Base,
    (branch, base_commit): (&str, &str),
) -> Result<Option<String>, BranchError> {
    let reference = format!("refs/heads/{branch}");
    let work = commit_of(root, &reference)?.ok_or_else(|| BranchError::Missing(branch.to_owned()))?;
    let message = Git::question(root).run(["log", "-1", "--format=%B", &work])?.text()?;
    let change = Change {
        changed: work,
        since: base_commit.to_owned(),
        message: message.trim_end().to_owned(),
    };
    let named = change.message.lines().next_back().unwrap_or_default().to_owned();
    let prepared = commit_changes(root, base, &[change], &mut |_| Ok(()))?;
    if let [Some(commit)] = prepared.commits.as_slice() {
        return Ok(Some(commit.clone()));
    }
    // A killed command may have landed it: its message ends with the same line.
    let (grep, range) = (
        format!("--grep={named}"),
        format!("{base_commit}..{}", base.reference()),
    );
    let call = ["log", "-1", "--format=%H", "--fixed-strings", &grep, &range];
    let found = Git::question(root).run(call)?.text()?;
    Ok(Some(found.trim().to_owned()).filter(|commit| !commit.is_empty()))
}

/// Records the commits that are about to land, one per change.
pub type ReportCommits<'a> = dyn FnMut(&[Option<String>]) -> Result<(), String> + 'a;

/// Commits changes on a branch, and retries if the branch moves. Each try reports the commits before the branch moves.
///
/// # Errors
/// When a change conflicts, a local change is in the way, git fails, or the report fails; then nothing has changed.
pub fn commit_changes(
    root: &Path,
    base: &Base,
    changes: &[Change],
    report: &mut ReportCommits<'_>,
) -> Result<Prepared, BranchError> {
    for _ in 0..TRIES {
        let prepared = Prepared::on(root, base, changes)?;
        report(&prepared.commits).map_err(BranchError::Git)?;
        if prepared.land(root)? {
            return Ok(prepared);
        }
    }
    Err(BranchError::Git(format!("{} keeps moving", base.branch())))
}

/// Reverts what an interrupted landing wrote to worktrees, unless the branch has its last commit.
///
/// # Errors
/// When git fails, or the files cannot be restored.
pub fn repair_landing(root: &Path, base: &Base, (first, last): (&str, &str)) -> Result<(), BranchError> {
    if is_in(root, base, last)? {
        return Ok(());
    }
    let old = parent_of(root, first)?;
    for folder in worktrees::on(root, base.reference())? {
        if worktrees::repair(&folder, &old, last)? == Updated::Yes
            && let Err(said) = worktrees::update(&folder, last, &old)?
        {
            return Err(BranchError::InTheWay(said));
        }
    }
    Ok(())
}

/// Whether a commit is in a branch.
///
/// # Errors
/// When git fails.
pub fn is_in(root: &Path, base: &Base, commit: &str) -> Result<bool, BranchError> {
    let call = ["merge-base", "--is-ancestor", commit, base.reference()];
    Ok(Git::question(root).run(call)?.status.success())
}

fn parent_of(root: &Path, commit: &str) -> Result<String, BranchError> {
    let parent = commit_of(root, &format!("{commit}^"))?;
    parent.ok_or_else(|| BranchError::Git(format!("git has no parent of {commit}")))
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
