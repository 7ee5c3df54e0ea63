//! What an agent changed in the files of a project: a snapshot before, one after, and what differs.
//!
//! With git a snapshot is a tree of git's, made beside the repository: its index, objects and branches are not touched.
//! Without git it is a list of what the file system says about each file. Where neither works the answer says so; nobody
//! may conclude from it that nothing changed.

mod by_stat;
mod commit;
mod in_git;
mod refs;
mod scratch_git;

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
pub use commit::{CommitError, can_commit, commit_task, commit_that_holds};
use in_git::InGit;
pub(crate) use in_git::{Repository, is_repository};
pub use refs::Refs;
pub(crate) use scratch_git::kept_settings;

/// The name of a file as it is recorded: an agent may have chosen it, with a secret in it, or with characters that nobody sees.
pub(crate) fn recorded_name(file: &str) -> String {
    show_invisible(&mask(file)).into_owned()
}

/// Whether a recorded name is not that of the file.
pub(crate) fn is_altered(recorded: &str) -> bool {
    has_mask(recorded) || recorded.contains("<U+")
}

/// The files of a project that are ralph's, as paths from its root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnFiles {
    /// Files and folders that are no work of an agent's: databases, records of runs, the scratchpad, locks.
    pub hidden: Vec<String>,
    /// Files and folders that are kept, but are no progress: whoever only wrote notes has changed nothing.
    pub notes: Vec<String>,
}

/// The files of a project at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// How they were seen.
    seen: Seen,
    /// Why a part of them was not seen.
    pub degraded: Option<String>,
    /// Why they were not seen with git, where there is a repository.
    #[serde(default)]
    pub without_git: Option<String>,
    /// When the snapshot began, as the file system counts time, in nanoseconds.
    #[serde(default)]
    began_ns: Option<i64>,
}

/// How the files were seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Seen {
    /// As this tree of git's.
    Tree(String),
    /// As the list in this file of the scratch folder.
    List(String),
    /// Not at all.
    Nothing,
}

/// What changed between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changes {
    /// The files that were made, changed or removed, as paths from the root, in order.
    pub files: Vec<String>,
    /// Those of them that are more than notes.
    pub work: Vec<String>,
    /// Why there may be more.
    pub degraded: Option<String>,
}

impl Changes {
    /// Whether no work was done for sure.
    #[must_use]
    pub fn changed_nothing(&self) -> bool {
        self.work.is_empty() && self.degraded.is_none()
    }
}

/// What changed, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Whole lines of a unified diff. Secrets are not masked.
    pub text: String,
    /// Whether there was more.
    pub cut: bool,
}

/// The files of a project, as snapshots see them.
#[derive(Debug, Clone)]
pub struct ProjectFiles {
    root: PathBuf,
    scratch: PathBuf,
    own: OwnFiles,
    /// The repository of a checkout, whose own configuration does not count; otherwise git is asked.
    checkout: Option<Repository>,
}

impl ProjectFiles {
    /// The files of this project. The scratch folder is a run's own; what snapshots need is kept there until the run is
    /// forgotten.
    #[must_use]
    pub fn new(root: &Path, scratch: &Path, own: OwnFiles) -> Self {
        Self {
            root: root.to_owned(),
            scratch: scratch.to_owned(),
            own,
            checkout: None,
        }
    }

    /// The files of a task's checkout.
    pub(crate) fn of_checkout(root: &Path, scratch: &Path, own: OwnFiles, repository: Repository) -> Self {
        Self {
            checkout: Some(repository),
            ..Self::new(root, scratch, own)
        }
    }

    /// The files as they are now: those that git has or would take, or without git all that `.gitignore` leaves.
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
            // Two lists show as much as two trees; only the text of the changes is missing.
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

    /// Whether two snapshots were seen in different ways, so that they cannot be compared.
    #[must_use]
    pub fn differ_in_kind(before: &Snapshot, after: &Snapshot) -> bool {
        std::mem::discriminant(&before.seen) != std::mem::discriminant(&after.seen)
    }

    /// What differs between two snapshots of the same project and scratch folder.
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

    /// The changes between two snapshots as text of at most so many bytes; none without git, or without changes.
    ///
    /// # Errors
    /// When git does not answer.
    pub fn patch(&self, before: &Snapshot, after: &Snapshot, most: usize) -> Result<Option<Patch>, String> {
        match (&before.seen, &after.seen) {
            (Seen::Tree(old), Seen::Tree(new)) if old != new => self.git()?.patch(old, new, most).map(Some),
            _ => Ok(None),
        }
    }

    /// The files that differ from the last commit now, those that git does not know included; none without git. Git runs the
    /// configured filters for it.
    ///
    /// # Errors
    /// When git does not answer.
    pub fn dirty_files(&self) -> Result<BTreeSet<String>, String> {
        match self.in_git()? {
            Some(git) => git.dirty(),
            None => Ok(BTreeSet::new()),
        }
    }

    /// Whether a changed file is more than a note.
    #[must_use]
    pub fn is_work(&self, file: &str) -> bool {
        let is_own = |own: &String| {
            file.strip_prefix(own.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !self.own.notes.iter().chain(&self.own.hidden).any(is_own)
    }

    /// Whether a file is there and was written after a moment.
    #[must_use]
    pub fn is_written_after(&self, file: &str, moment: SystemTime) -> bool {
        let written = std::fs::symlink_metadata(self.root.join(file)).and_then(|metadata| metadata.modified());
        written.is_ok_and(|written| written > moment)
    }

    /// Those of these files that no snapshot shows and that were written since then: work in what `.gitignore` leaves out.
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
            // Where git does not answer, the changes say that they are not all there is.
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

/// The commit that is checked out; none before the first one, and without git.
///
/// # Errors
/// When git does not answer.
pub fn head_commit(folder: &Path) -> Result<Option<String>, GitError> {
    commit_of(folder, "HEAD")
}

/// The commit that a revision names; none where there is no such revision, and without git.
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

/// Those of these commits that are part of what is checked out. One that this repository does not have is none.
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
    // A commit that is not there answers with a line that ends so, and so does a beginning of several.
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
