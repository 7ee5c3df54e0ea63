//! Reads from git's files which worktree a folder is in. Git itself is not started,
//! because every command would have to wait for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::capture::GitHead;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worktree {
    pub(crate) top: PathBuf,
    /// The name of a linked worktree; empty for the main one.
    pub(crate) name: String,
    /// The top folder of the main worktree; equals `top` for the main worktree itself.
    pub(crate) main: PathBuf,
    git: PathBuf,
    common: PathBuf,
}

impl Worktree {
    /// The worktree that contains a folder.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let top = folder.ancestors().find(|folder| folder.join(".git").exists())?;
        let dot_git = top.join(".git");
        if dot_git.is_dir() {
            return Some(Self {
                top: top.to_owned(),
                name: String::new(),
                main: top.to_owned(),
                common: dot_git.clone(),
                git: dot_git,
            });
        }
        let git = top.join(fs::read_to_string(&dot_git).ok()?.strip_prefix("gitdir:")?.trim());
        let common = fs::read_to_string(git.join("commondir")).map(|text| git.join(text.trim()));
        let linked = common.ok().and_then(|common| {
            let common = common.canonicalize().ok()?;
            // A bare repository has no main worktree.
            let main = (common.file_name()? == ".git").then(|| common.parent())??.to_owned();
            Some((common, main))
        });
        let name = git.file_name()?.to_string_lossy().into_owned();
        Some(match linked {
            Some((common, main)) => Self {
                top: top.to_owned(),
                name,
                main,
                git,
                common,
            },
            None => Self {
                top: top.to_owned(),
                name: String::new(),
                main: top.to_owned(),
                common: git.clone(),
                git,
            },
        })
    }

    pub(crate) fn all_tops(&self) -> Vec<PathBuf> {
        let linked = fs::read_dir(self.common.join("worktrees"))
            .into_iter()
            .flatten()
            .flatten();
        let tops = linked.filter_map(|entry| {
            let dot_git = fs::read_to_string(entry.path().join("gitdir")).ok()?;
            let dot_git = entry.path().join(dot_git.trim());
            Some(dot_git.parent()?.to_owned())
        });
        std::iter::once(self.main.clone()).chain(tops).collect()
    }

    /// The git folder that all worktrees of the repository share.
    pub(crate) fn common(&self) -> &Path {
        &self.common
    }

    /// What is checked out.
    pub(crate) fn head(&self) -> Option<String> {
        self.git_head().read()
    }

    pub(crate) fn git_head(&self) -> GitHead {
        GitHead {
            git: self.git.clone(),
            common: self.common.clone(),
        }
    }

    /// The commit that is checked out, if it can be read.
    pub(crate) fn commit(&self) -> Option<String> {
        let head = self.head()?;
        let commit = head.split(' ').next_back()?;
        let is_commit = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_commit.then(|| commit.to_owned())
    }

    /// The branches with this prefix, sorted, as far as git stores them in files.
    pub(crate) fn branches(&self, prefix: &str) -> Vec<String> {
        let (folder, name) = prefix.rsplit_once('/').unwrap_or(("", prefix));
        let loose = fs::read_dir(self.common.join("refs/heads").join(folder));
        let loose = loose.into_iter().flatten().flatten();
        let loose = loose.filter_map(|entry| entry.file_name().into_string().ok());
        let loose = loose.filter(|found| found.starts_with(name) && !found.ends_with(".lock"));
        let mut branches: BTreeSet<String> = loose.map(|found| format!("{folder}/{found}")).collect();
        let packed = fs::read_to_string(self.common.join("packed-refs")).unwrap_or_default();
        let packed = packed.lines().filter_map(|line| line.split_once(' '));
        let packed = packed.filter_map(|(_, reference)| reference.strip_prefix("refs/heads/"));
        branches.extend(packed.filter(|branch| branch.starts_with(prefix)).map(str::to_owned));
        branches.into_iter().collect()
    }
}
