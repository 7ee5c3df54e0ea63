//! Records where branches and tags point and what is checked out, so that unwanted commits, branches and tags are
//! noticed.

use std::collections::BTreeMap;
use std::path::Path;

use ralph_process::git::Git;

use super::{head_commit, in_git};

/// The references at one point in time. Branches checked out in other worktrees are ignored: others work there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refs(BTreeMap<String, String>);

impl Refs {
    /// The references of a folder's repository; empty without git.
    ///
    /// # Errors
    /// When git does not answer.
    pub fn of(folder: &Path) -> Result<Self, String> {
        const FORMAT: &str = "--format=%(HEAD) %(objectname) %(refname) %(worktreepath)";
        if !in_git::is_repository(folder) {
            return Ok(Self::default());
        }
        let arguments = ["for-each-ref", FORMAT, "refs/heads", "refs/tags", "refs/stash"];
        let answer = Git::question(folder).run(arguments)?.text()?;
        let mut refs = BTreeMap::new();
        let mut head = None;
        for line in answer.lines() {
            let (is_here, rest) = match line.strip_prefix("* ") {
                Some(rest) => (true, rest),
                None => (false, line.trim_start()),
            };
            let mut parts = rest.splitn(3, ' ');
            let (Some(object), Some(name)) = (parts.next(), parts.next()) else {
                continue;
            };
            let is_elsewhere = !is_here && parts.next().is_some_and(|worktree| !worktree.is_empty());
            if is_here {
                head = Some(name.to_owned());
            }
            if !is_elsewhere {
                refs.insert(name.to_owned(), object.to_owned());
            }
        }
        // With a detached HEAD this is the commit.
        let head = match head {
            Some(branch) => Some(branch),
            None => head_commit(folder)?,
        };
        refs.extend(head.map(|head| ("HEAD".to_owned(), head)));
        Ok(Self(refs))
    }

    /// The names of created, moved and removed references.
    #[must_use]
    pub fn changed(&self, after: &Self) -> Vec<String> {
        let names = self.0.keys().chain(after.0.keys());
        let changed = names.filter(|name| self.0.get(*name) != after.0.get(*name));
        changed.cloned().collect()
    }
}
