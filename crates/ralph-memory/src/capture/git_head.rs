//! Reads from git's files what is checked out. Git itself is not started, because every command would have to wait for
//! it.

use std::fs;
use std::path::PathBuf;

use crate::secrets::mask;

/// The `HEAD` of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHead {
    /// The git folder of the worktree.
    pub git: PathBuf,
    /// The git folder that all worktrees share.
    pub common: PathBuf,
}

impl GitHead {
    /// What is checked out: the branch, and the commit if it can be read. The commit alone would not distinguish two
    /// branches at the same commit.
    #[must_use]
    pub fn read(&self) -> Option<String> {
        let head = fs::read_to_string(self.git.join("HEAD")).ok()?;
        let head = head.trim();
        let Some(branch) = head.strip_prefix("ref:").map(str::trim) else {
            return Some(head.to_owned());
        };
        if branch == "refs/heads/.invalid" {
            // The references are in reftables, whose list changes with every reference.
            let tables = fs::read_to_string(self.git.join("reftable/tables.list")).ok()?;
            return Some(tables.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        let loose = [&self.git, &self.common]
            .into_iter()
            .find_map(|folder| fs::read_to_string(folder.join(branch)).ok())
            .map(|commit| commit.trim().to_owned());
        let commit = loose.or_else(|| self.packed(branch)).unwrap_or_default();
        // The result is recorded with runs and notes.
        Some(format!("{} {commit}", mask(branch)))
    }

    fn packed(&self, branch: &str) -> Option<String> {
        let packed = fs::read_to_string(self.common.join("packed-refs")).ok()?;
        packed.lines().find_map(|line| {
            let (commit, name) = line.split_once(' ')?;
            (name == branch).then(|| commit.to_owned())
        })
    }
}
