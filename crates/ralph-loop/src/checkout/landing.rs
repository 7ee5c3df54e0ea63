//! Landing: a commit becomes the tip of the base. The files of the worktrees that have the base checked out come first, then
//! the reference moves, if it is still where it was. A landing that was killed is finished or taken back.

use std::path::{Path, PathBuf};

use ralph_model::RunId;
use ralph_process::git::{Git, GitError};

use super::worktrees::{self, Updated};
use super::{BRANCHES, Checkout};
use crate::changes::commit_of;

/// Why work did not land.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LandError {
    /// The work is at fault, for this reason.
    #[error("{0}")]
    Refused(String),
    /// Git failed, for this reason.
    #[error("{0}")]
    Git(String),
}

impl From<GitError> for LandError {
    fn from(error: GitError) -> Self {
        Self::Git(error.to_string())
    }
}

/// How a landing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Landed {
    /// The commit is the tip of the base.
    Done,
    /// Nothing changed: the base is not where it was.
    Moved,
    /// Nothing changed: a local change of the user is in the way, as git says.
    InTheWay(String),
}

/// The reference that work lands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base(String);

impl Base {
    /// This reference.
    #[must_use]
    pub fn new(reference: impl Into<String>) -> Self {
        Self(reference.into())
    }

    /// The branch of a run that cannot land on what is checked out.
    #[must_use]
    pub fn of_run(run: &RunId) -> Self {
        Self(format!("refs/heads/{BRANCHES}landed-{run}"))
    }

    /// The whole name of the reference.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.0
    }

    /// The name of the branch, as a person uses it.
    #[must_use]
    pub fn branch(&self) -> &str {
        self.0.strip_prefix("refs/heads/").unwrap_or(&self.0)
    }
}

/// Makes a commit the tip of the base, whose tip was its parent `old`.
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

/// Finishes a landing of a run that was killed, if the base is still where it was. Says whether the commit is in the base.
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
    // From here on it is as if none of them had been updated.
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

/// The commit that the base points to; none where there is no such reference.
pub(crate) fn tip_of(top: &Path, base: &Base) -> Result<Option<String>, GitError> {
    commit_of(top, base.reference())
}
