//! Finds what an agent changed in a project, by comparing snapshots from before and after.
//!
//! With git, a snapshot is a tree made outside the repository, without touching its index, objects or branches. Without
//! git, it is a list of file metadata. If neither works, the result says so and must not be read as "nothing changed".

mod by_stat;
mod commit;
mod in_git;
mod refs;
mod scratch_git;
mod trusted_times;

#[cfg(test)]
mod canary_tests;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ralph_memory::secrets::{has_mask, mask};
use ralph_model::show_invisible;
use ralph_process::git::{Git, GitError};
use serde::{Deserialize, Serialize};

pub(crate) use commit::has_identity;
pub use commit::{CommitError, can_commit, commit_containing, commit_task};
use in_git::InGit;
pub(crate) use in_git::{Repository, is_repository};
pub use refs::Refs;
pub(crate) use scratch_git::kept_settings;
pub(crate) use trusted_times::{NESTED_REPOSITORY, TrustedTimes};

/// The recorded form of a file name. The agent may have chosen it, so secrets are masked and invisible characters
/// shown.
pub(crate) fn recorded_name(file: &str) -> String {
    show_invisible(&mask(file)).into_owned()
}

/// Whether a recorded name differs from the real one.
pub(crate) fn is_altered(recorded: &str) -> bool {
    has_mask(recorded) || recorded.contains("<U+")
}

/// The project files that belong to ralph, as paths from the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnFiles {
    /// Files that never count: databases, run records, the scratchpad, locks.
    pub hidden: Vec<String>,
    /// Files that are recorded but are not work: an agent that only wrote notes has changed nothing.
    pub notes: Vec<String>,
}

/// The files of a project at one point in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    seen: Seen,
    /// Why some files were not seen.
    pub degraded: Option<String>,
    /// Why git was not used, although there is a repository.
    #[serde(default)]
    pub without_git: Option<String>,
    /// When the snapshot began, in file system time, in nanoseconds.
    #[serde(default)]
    began_ns: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Seen {
    /// This git tree.
    Tree(String),
    /// The list in this file of the scratch folder.
    List(String),
    Nothing,
}

/// What changed between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changes {
    /// The created, changed and removed files, as sorted paths from the root.
    pub files: Vec<String>,
    /// The files that are not just notes.
    pub work: Vec<String>,
    /// Why files may be missing.
    pub degraded: Option<String>,
}

impl Changes {
    /// Whether certainly no work was done.
    #[must_use]
    pub fn changed_nothing(&self) -> bool {
        self.work.is_empty() && self.degraded.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Whole lines of a unified diff. Secrets are not masked.
    pub text: String,
    pub cut: bool,
}

/// The files of a project, for snapshots.
#[derive(Debug, Clone)]
pub struct ProjectFiles {
    root: PathBuf,
    scratch: PathBuf,
    own: OwnFiles,
    /// The repository of a checkout, whose own configuration is ignored; otherwise git finds it.
    checkout: Option<Repository>,
}

impl ProjectFiles {
    /// The files of a project. The scratch folder belongs to a run and keeps the snapshot data.
    #[must_use]
    pub fn new(root: &Path, scratch: &Path, own: OwnFiles) -> Self {
        Self {
            root: root.to_owned(),
            scratch: scratch.to_owned(),
            own,
            checkout: None,
        }
    }

    pub(crate) fn of_checkout(root: &Path, scratch: &Path, own: OwnFiles, repository: Repository) -> Self {
        Self {
            checkout: Some(repository),
            ..Self::new(root, scratch, own)
        }
    }

    /// The files in their current state: those that are tracked or would be, or without git all that `.gitignore` does
    /// not exclude.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let began_ns = by_stat::now_of(&self.scratch).ok();
        let reason = match self.in_git() {
            Ok(Some(git)) => match git.snapshot() {
                Ok((tree, degraded)) => {
                    let seen = Seen::Tree(tree);
                    return Snapshot {
                        seen,
                        degraded,
                        without_git: None,
                        began_ns,
                    };
                }
                Err(reason) => Some(reason),
            },
            Ok(None) => None,
            Err(reason) => Some(reason),
        };
        match by_stat::snapshot(&self.root, &self.scratch, &self.own.hidden) {
            // Two lists show as much as two trees, except for the diff text.
            Ok((list, degraded)) => Snapshot {
                seen: Seen::List(list),
                degraded,
                without_git: reason,
                began_ns,
            },
            Err(other) => Snapshot {
                seen: Seen::Nothing,
                degraded: Some(reason.clone().unwrap_or(other)),
                without_git: reason,
                began_ns,
            },
        }
    }

    /// Whether two snapshots were made in different ways, so that they cannot be compared.
    #[must_use]
    pub fn differ_in_kind(before: &Snapshot, after: &Snapshot) -> bool {
        std::mem::discriminant(&before.seen) != std::mem::discriminant(&after.seen)
    }

    /// The differences between two snapshots of the same project and scratch folder.
    #[must_use]
    pub fn changes(&self, before: &Snapshot, after: &Snapshot) -> Changes {
        let degraded = before.degraded.clone().or_else(|| after.degraded.clone());
        let found = match (&before.seen, &after.seen) {
            (Seen::Tree(old), Seen::Tree(new)) if old == new => Ok(Vec::new()),
            (Seen::Tree(old), Seen::Tree(new)) => self.git().and_then(|git| git.changed(old, new, before.began_ns)),
            (Seen::List(old), Seen::List(new)) => by_stat::changed(&self.root, &self.scratch, old, new),
            (Seen::Nothing, _) | (_, Seen::Nothing) => Ok(Vec::new()),
            _ => Err("one snapshot was made with git and the other without, so they cannot be compared".to_owned()),
        };
        let (mut files, degraded) = match found {
            Ok(files) => (files, degraded),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        files.sort();
        Changes {
            work: files.iter().filter(|file| self.is_work(file)).cloned().collect(),
            files,
            degraded,
        }
    }

    /// The diff of two snapshots, at most `most` bytes; `None` without git or without changes.
    ///
    /// # Errors
    /// When git does not answer.
    pub fn patch(&self, before: &Snapshot, after: &Snapshot, most: usize) -> Result<Option<Patch>, String> {
        match (&before.seen, &after.seen) {
            (Seen::Tree(old), Seen::Tree(new)) if old != new => self.git()?.patch(old, new, most).map(Some),
            _ => Ok(None),
        }
    }

    /// The files that differ from the last commit, including untracked ones; empty without git. Git runs the configured
    /// filters.
    ///
    /// # Errors
    /// When git does not answer.
    pub fn dirty_files(&self) -> Result<BTreeSet<String>, String> {
        match self.in_git()? {
            Some(git) => git.dirty(),
            None => Ok(BTreeSet::new()),
        }
    }

    /// Whether a changed file is work and not just a note.
    #[must_use]
    pub fn is_work(&self, file: &str) -> bool {
        let is_own = |own: &String| {
            file.strip_prefix(own.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !self.own.notes.iter().chain(&self.own.hidden).any(is_own)
    }

    /// Whether a file exists and was written after a point in time.
    #[must_use]
    pub fn is_written_after(&self, file: &str, moment: SystemTime) -> bool {
        let written = std::fs::symlink_metadata(self.root.join(file)).and_then(|metadata| metadata.modified());
        written.is_ok_and(|written| written > moment)
    }

    /// The files that no snapshot shows but that were written since: work on ignored files.
    #[must_use]
    pub fn unseen(&self, files: &[String], since: SystemTime) -> BTreeSet<String> {
        let is_new = |file: &&String| {
            let written = std::fs::metadata(self.root.join(file)).and_then(|metadata| metadata.modified());
            self.is_work(file) && written.is_ok_and(|written| written >= since)
        };
        let new: Vec<&String> = files.iter().filter(is_new).collect();
        if new.is_empty() {
            return BTreeSet::new();
        }
        match self.in_git() {
            // If git fails, the changes are reported as incomplete.
            Ok(Some(git)) => git.ignored(&new).unwrap_or_default(),
            Ok(None) | Err(_) => by_stat::ignored(&self.root, &new),
        }
    }

    fn git(&self) -> Result<InGit<'_>, String> {
        self.in_git()?
            .ok_or_else(|| format!("{} is no longer in a git repository", self.root.display()))
    }

    fn in_git(&self) -> Result<Option<InGit<'_>>, String> {
        let repository = match &self.checkout {
            Some(checkout) => Some(checkout.clone()),
            None => Repository::of(&self.root)?,
        };
        Ok(repository.map(|repository| InGit {
            repository,
            scratch: &self.scratch,
            own: &self.own,
        }))
    }
}

/// The checked-out commit; `None` before the first commit and without git.
///
/// # Errors
/// When git does not answer.
pub fn head_commit(folder: &Path) -> Result<Option<String>, GitError> {
    commit_of(folder, "HEAD")
}

/// The commit of a revision; `None` if it does not exist, and without git.
pub(crate) fn commit_of(folder: &Path, revision: &str) -> Result<Option<String>, GitError> {
    if !is_repository(folder) {
        return Ok(None);
    }
    let revision = format!("{revision}^{{commit}}");
    let answer = Git::question(folder).run(["rev-parse", "--verify", "--quiet", &revision])?;
    match answer.status.code() {
        Some(1) => Ok(None),
        _ => Ok(Some(answer.text()?.trim().to_owned())),
    }
}

/// The commits that are part of HEAD. Commits unknown to this repository are not.
///
/// # Errors
/// When git does not answer.
pub fn commits_in_head(folder: &Path, commits: &BTreeSet<String>) -> Result<BTreeSet<String>, GitError> {
    commits_in(folder, "HEAD", commits)
}

/// The same for another revision.
pub(crate) fn commits_in(
    folder: &Path,
    revision: &str,
    commits: &BTreeSet<String>,
) -> Result<BTreeSet<String>, GitError> {
    let is_id = |id: &&String| id.len() >= 4 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let asked: Vec<&String> = commits.iter().filter(is_id).collect();
    let Some(head) = commit_of(folder, revision)?.filter(|_| !asked.is_empty()) else {
        return Ok(BTreeSet::new());
    };
    let lines: String = asked.iter().map(|id| format!("{id}^{{commit}}\n")).collect();
    let answer = Git::question(folder)
        .input(lines)
        .run(["cat-file", "--batch-check=%(objectname)"])?;
    // Missing and ambiguous ids give a line with a space.
    let answers = answer.text()?;
    let known: Vec<(&String, &str)> = asked
        .into_iter()
        .zip(answers.lines())
        .filter(|(_, line)| !line.contains(' '))
        .collect();
    let mut lines: String = known.iter().map(|(_, id)| format!("{id}\n")).collect();
    lines.push_str(&format!("^{head}\n"));
    let elsewhere = Git::question(folder)
        .input(lines)
        .run(["rev-list", "--stdin"])?
        .text()?;
    let elsewhere: BTreeSet<&str> = elsewhere.lines().collect();
    Ok(known
        .into_iter()
        .filter(|(_, id)| !elsewhere.contains(id))
        .map(|(asked, _)| asked.clone())
        .collect())
}
