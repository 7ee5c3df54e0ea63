//! The checkout of a task: a folder of its own outside the project, so that one task's work reaches another only when it has
//! landed.
//!
//! A checkout is a clone without a remote that borrows the objects of the project. The agent may do there what it likes.
//! ralph itself checks out and commits with the git directory of the project, an index of its own and the checkout as the
//! worktree: what the agent writes into the configuration of the clone has no effect on it. This prevents accidents, not
//! attacks.

mod clone;
mod extras;
mod landing;
mod notes;
mod revert;
mod work;
mod worktrees;

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ralph_model::{TaskId, slug};
use ralph_process::git::{Git, GitError};

use crate::changes::{Repository, commit_of};
use crate::files::remove_if_there;

pub(crate) use extras::Extras;
pub use landing::Base;
pub(crate) use landing::{LandError, Landed, finish_landing, land, tip_of};
pub(crate) use notes::NoteEdit;
pub use revert::{
    BranchError, Change, Prepared, ReportCommits, commit_changes, is_in, land_branch, remove_checkout, repair_landing,
};
pub(crate) use work::{Brought, CommitOptions, Committed};

/// The file in the git directory of a checkout that holds the path of the project.
pub const PROJECT_FILE: &str = "ralph-project";

/// The most characters of a task's title in the name of its branch.
const SLUG_CHARACTERS: usize = 40;

/// The prefix of all branches of ours.
pub const BRANCHES: &str = "ralph/";

/// The branch of a task.
pub(crate) fn branch_of(task: &TaskId, title: &str) -> String {
    let slug: String = slug(title).chars().take(SLUG_CHARACTERS).collect();
    match slug.trim_end_matches('-') {
        "" => format!("{BRANCHES}{task}"),
        slug => format!("{BRANCHES}{task}-{slug}"),
    }
}

/// The reference that keeps the base of a checkout from being deleted by git. While the checkout moves to another base, it is
/// the commit that the checkout gets, whose parent is the new base.
fn base_ref_of(task: &TaskId) -> String {
    format!("refs/ralph/base/{task}")
}

/// The checkout of a task. It need not exist.
#[derive(Debug, Clone)]
pub(crate) struct Checkout {
    /// The repository of the project.
    project: Repository,
    git_dir: PathBuf,
    project_root: PathBuf,
    task: TaskId,
    folder: PathBuf,
}

impl Checkout {
    /// The checkout of a task in the folder of all checkouts.
    ///
    /// # Errors
    /// When the project is not in a git repository, or git does not answer.
    pub(crate) fn of(project_root: &Path, work: &Path, task: &TaskId) -> Result<Self, String> {
        let project = Repository::of(project_root)?
            .ok_or_else(|| format!("{} is no longer in a git repository", project_root.display()))?;
        let git_dir = Git::question(project_root)
            .run(["rev-parse", "--absolute-git-dir"])?
            .text()?;
        Ok(Self {
            git_dir: git_dir.trim_end_matches('\n').into(),
            project,
            project_root: project_root.to_owned(),
            folder: work.join(task.as_str()),
            task: task.clone(),
        })
    }

    /// Where the agent works: the folder in the checkout that is the project's root.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join(&self.project.prefix)
    }

    /// Whether it is there, as far as ralph needs it.
    pub(crate) fn exists(&self) -> bool {
        self.folder.join(".git").join(PROJECT_FILE).is_file() && self.root().is_dir() && self.index().is_file()
    }

    /// Whether its set-up came to its end.
    pub(crate) fn is_set_up(&self) -> bool {
        self.beside("ready").is_file()
    }

    /// Notes that its set-up came to its end.
    pub(crate) fn mark_set_up(&self) -> Result<(), String> {
        let ready = self.beside("ready");
        let marked = crate::run_folder::private_file(&ready).map(drop);
        marked.map_err(|error| format!("cannot write {}: {error}", ready.display()))
    }

    /// The repository as snapshots see it.
    pub(crate) fn repository(&self) -> Repository {
        Repository {
            top: self.folder.clone(),
            index: self.index(),
            ..self.project.clone()
        }
    }

    /// Removes it, with all that belongs to it. The branch stays.
    pub(crate) fn remove(&self) -> Result<(), String> {
        for folder in [&self.folder, &self.new_folder(), &self.saved_notes()] {
            remove_folder(folder)?;
        }
        let index = self.index();
        self.unlock()?;
        for file in [self.beside("ready"), index] {
            remove_if_there(&file).map_err(|error| format!("cannot remove {}: {error}", file.display()))?;
        }
        self.delete_ref(&base_ref_of(&self.task))
    }

    /// Deletes a reference of the project, if it is there.
    pub(crate) fn delete_ref(&self, name: &str) -> Result<(), String> {
        self.in_project().run(["update-ref", "-d", name])?.text()?;
        Ok(())
    }

    /// The index of ralph's own.
    fn index(&self) -> PathBuf {
        self.beside("index")
    }

    fn index_lock(&self) -> PathBuf {
        self.beside("index.lock")
    }

    /// Removes the lock of that index, which git leaves when the machine loses power.
    pub(crate) fn unlock(&self) -> Result<(), String> {
        let lock = self.index_lock();
        remove_if_there(&lock).map_err(|error| format!("cannot remove {}: {error}", lock.display()))
    }

    /// Where it is made, before it gets its name.
    fn new_folder(&self) -> PathBuf {
        self.beside("new")
    }

    /// Copies of the notes as they were when the agent began.
    fn saved_notes(&self) -> PathBuf {
        self.beside("notes")
    }

    fn beside(&self, what: &str) -> PathBuf {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        self.folder.with_file_name(format!("{name}.{what}"))
    }

    /// Git on the files of the checkout, with the configuration of the project.
    fn git(&self) -> Git {
        self.git_in(&self.folder)
    }

    fn git_in(&self, folder: &Path) -> Git {
        Git::change(folder)
            .setting("core.hooksPath=/dev/null")
            .setting("core.splitIndex=false")
            .setting("submodule.recurse=false")
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_WORK_TREE", folder)
            .env("GIT_INDEX_FILE", self.index())
    }

    /// Git on the references and objects of the project.
    fn in_project(&self) -> Git {
        Git::change(&self.project.top).setting("core.hooksPath=/dev/null")
    }

    pub(crate) fn task(&self) -> &TaskId {
        &self.task
    }

    /// The newest commit that two commits have in common, if any.
    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let answer = Git::question(&self.project.top).run(["merge-base", one, other])?;
        let found = answer.status.success().then(|| answer.text()).transpose()?;
        Ok(found.map(|commit| commit.trim().to_owned()))
    }

    /// The commit that a revision names; none where there is no such revision.
    pub(crate) fn resolve(&self, revision: &str) -> Result<Option<String>, GitError> {
        commit_of(&self.project.top, revision)
    }
}

/// Removes a folder; what an agent made read-only is made writable first.
fn remove_folder(folder: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot remove {}: {error}", folder.display());
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(folder);
            fs::remove_dir_all(folder).map_err(failed)
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

fn make_writable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    // What cannot be changed is what the removal reports.
    drop(fs::set_permissions(folder, fs::Permissions::from_mode(0o700)));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
