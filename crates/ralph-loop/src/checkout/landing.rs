//! Landing: makes a commit the tip of the base. First the files of the worktrees that have the base checked out are
//! updated, then the reference moves if it has not changed. An interrupted landing is finished or reverted.

use std::path::{Path, PathBuf};

use ralph_model::RunId;
use ralph_process::git::{Git, GitError};

use super::worktrees::{self, Updated};
use super::{BRANCHES, Checkout};
use crate::changes::commit_of;

/// Why work did not land.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LandError {
    /// The work is at fault.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Git(String),
}

impl From<GitError> for LandError {
    fn from(error: GitError) -> Self {
        Self::Git(error.to_string())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Landed {
    /// The commit is the tip of the base.
    Done,
    /// Nothing changed: the base has moved.
    Moved,
    /// Nothing changed: a local change of the user is in the way, according to git.
    InTheWay(String),
}

/// The reference that work lands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base(String);

impl Base {
    #[must_use]
    pub fn new(reference: impl Into<String>) -> Self {
        Self(reference.into())
    }

    /// The run's own branch, used if it cannot land on what is checked out.
    #[must_use]
    pub fn of_run(run: &RunId) -> Self {
        Self(format!("refs/heads/{BRANCHES}landed-{run}"))
    }

    /// The full name of the reference.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.0
    }

    /// The short name of the branch.
    #[must_use]
    pub fn branch(&self) -> &str {
        self.0.strip_prefix("refs/heads/").unwrap_or(&self.0)
    }
}

/// Makes a commit the tip of the base, whose current tip must be its parent `old`.
pub(crate) fn land(top: &Path, base: &Base, (old, new): (&str, &str)) -> Result<Landed, LandError> {
    let mut updated: Vec<PathBuf> = Vec::new();
    for folder in worktrees::on(top, base.reference())? {
        if let Err(said) = worktrees::update(&folder, old, new)? {
            take_back(&updated, (old, new))?;
            return Ok(Landed::InTheWay(said));
        }
        updated.push(folder);
    }
    let moved = Git::change(top).setting("core.hooksPath=/dev/null").run([
        "update-ref",
        "-m",
        "ralph: land",
        base.reference(),
        new,
        old,
    ])?;
    if moved.status.success() {
        return Ok(Landed::Done);
    }
    take_back(&updated, (old, new))?;
    match tip_of(top, base)? {
        Some(tip) if tip == old => Err(moved.failure().into()),
        _ => Ok(Landed::Moved),
    }
}

/// Finishes the landing of a killed run, if the base has not moved. Returns whether the commit is in the base.
pub(crate) fn finish_landing(checkout: &Checkout, base: &Base, new: &str) -> Result<bool, LandError> {
    let top = checkout.project.top.as_path();
    let Some(tip) = tip_of(top, base)? else {
        return Ok(false);
    };
    let is_in_base = Git::question(top).run(["merge-base", "--is-ancestor", new, &tip])?;
    if is_in_base.status.success() {
        return Ok(true);
    }
    let Some(old) = checkout.resolve(&format!("{new}^"))? else {
        return Ok(false);
    };
    let mut updated = Vec::new();
    for folder in worktrees::on(top, base.reference())? {
        if worktrees::repair(&folder, &old, new)? == Updated::Yes {
            updated.push(folder);
        }
    }
    if tip != old {
        return Ok(false);
    }
    // Start over, as if none of them had been updated.
    take_back(&updated, (&old, new))?;
    Ok(land(top, base, (&old, new))? == Landed::Done)
}

fn take_back(folders: &[PathBuf], (old, new): (&str, &str)) -> Result<(), LandError> {
    for folder in folders {
        if let Err(said) = worktrees::update(folder, new, old)? {
            let folder = folder.display();
            return Err(LandError::Git(format!(
                "git could not restore the files of {folder}: {said}"
            )));
        }
    }
    Ok(())
}

/// The commit that the base points to, if it exists.
pub(crate) fn tip_of(top: &Path, base: &Base) -> Result<Option<String>, GitError> {
    commit_of(top, base.reference())
}
