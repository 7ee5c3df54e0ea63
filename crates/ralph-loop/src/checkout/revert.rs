//! What a person does with work outside of a run: land a branch after review, and undo a commit that has landed.

use std::path::Path;

use ralph_model::TaskId;
use ralph_process::git::{Git, GitError};

use super::landing::{LandError, Landed, land, tip_of};
use super::work::{Merged, as_somebody, merge_trees};
use super::worktrees::{self, Updated};
use super::{Base, Checkout};
use crate::changes::commit_of;

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

/// A change that is to be committed on a branch: what one commit has changed since another one.
#[derive(Debug, Clone)]
pub struct Change {
    changed: String,
    since: String,
    message: String,
}

impl Change {
    /// What takes back the changes of a commit.
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

    /// What makes the changes of a commit again.
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

/// Commits that are made but not on their branch yet.
#[derive(Debug)]
pub struct Prepared {
    base: Base,
    tip: String,
    /// One for each change, in their order; none for a change that the branch has already.
    pub commits: Vec<Option<String>>,
}

impl Prepared {
    /// Commits changes one after another on the tip of a branch, without moving it.
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
            // Where nothing changes, a command that was killed before it could say so has done it, or somebody else has.
            if commit_tree_of(root, &last)? == tree {
                commits.push(None);
                continue;
            }
            let call = ["commit-tree", tree.as_str(), "-p", &last, "-m", &change.message];
            let commit = as_somebody(git(), root)?.run(call)?.text()?;
            commit.trim().clone_into(&mut last);
            commits.push(Some(last.clone()));
        }
        let base = base.clone();
        Ok(Self { base, tip, commits })
    }

    /// Moves the branch to the last commit. False, and nothing has changed, where the branch has moved meanwhile.
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

/// Lands the work of a branch, which began at a commit of the base, as one commit. Returns that commit; none where the base has
/// all of it already.
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
    // A command that was killed may have landed it: its message ends with the same line.
    let (grep, range) = (
        format!("--grep={named}"),
        format!("{base_commit}..{}", base.reference()),
    );
    let call = ["log", "-1", "--format=%H", "--fixed-strings", &grep, &range];
    let found = Git::question(root).run(call)?.text()?;
    Ok(Some(found.trim().to_owned()).filter(|commit| !commit.is_empty()))
}

/// Puts commits on record that are about to land, one for each change.
pub type ReportCommits<'a> = dyn FnMut(&[Option<String>]) -> Result<(), String> + 'a;

/// Commits changes on a branch, again if the branch moves meanwhile. Each time it reports the commits before the branch moves.
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
    Err(BranchError::Git(format!("{} moves all the time", base.branch())))
}

/// Takes back what a landing that was killed has written into worktrees, where the branch does not have its last commit.
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
