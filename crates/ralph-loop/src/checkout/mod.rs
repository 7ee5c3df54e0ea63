//! The checkout of a task: a separate folder outside the project, so that the work of one task reaches another only by
//! landing.
//!
//! A checkout is a clone without a remote that borrows the project's objects. The agent may do anything there. ralph
//! itself uses the project's git directory, its own index and the checkout as the worktree, so the configuration of the
//! clone does not affect it. This prevents accidents, not attacks.

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

use ralph_model::{FileStamp, TaskId, slug};
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
pub(crate) use work::{CommitOptions, Committed, MoveResult};

/// A file in the git directory of a checkout with the path of the project.
pub const PROJECT_FILE: &str = "ralph-project";

/// The maximum length of a task's title in a branch name.
const SLUG_CHARACTERS: usize = 40;

/// The prefix of all branches created by ralph.
pub const BRANCHES: &str = "ralph/";

pub(crate) fn branch_of(task: &TaskId, title: &str) -> String {
    let slug: String = slug(title).chars().take(SLUG_CHARACTERS).collect();
    match slug.trim_end_matches('-') {
        "" => format!("{BRANCHES}{task}"),
        slug => format!("{BRANCHES}{task}-{slug}"),
    }
}

/// The reference that protects the base of a checkout from garbage collection. While the checkout moves to another
/// base, it points to the commit the checkout will get, whose parent is the new base.
fn base_ref_of(task: &TaskId) -> String {
    format!("refs/ralph/base/{task}")
}

/// The checkout of a task. It may not exist yet.
#[derive(Debug, Clone)]
pub(crate) struct Checkout {
    project: Repository,
    git_dir: PathBuf,
    project_root: PathBuf,
    task: TaskId,
    folder: PathBuf,
}

impl Checkout {
    /// The checkout of a task, below the folder of all checkouts.
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

    /// Where the agent works: the project's root inside the checkout.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join(&self.project.prefix)
    }

    /// Whether everything ralph needs of it exists.
    pub(crate) fn exists(&self) -> bool {
        self.folder.join(".git").join(PROJECT_FILE).is_file() && self.root().is_dir() && self.index().is_file()
    }

    /// Whether its set-up has completed.
    pub(crate) fn is_set_up(&self) -> bool {
        self.beside("ready").is_file()
    }

    /// Records that its set-up has completed.
    pub(crate) fn mark_set_up(&self) -> Result<(), String> {
        let ready = self.beside("ready");
        let marked = crate::run_folder::private_file(&ready).map(drop);
        marked.map_err(|error| format!("cannot write {}: {error}", ready.display()))
    }

    /// The repository, for snapshots.
    pub(crate) fn repository(&self) -> Repository {
        Repository {
            top: self.folder.clone(),
            index: self.index(),
            written_ns: self.written_ns(),
            ..self.project.clone()
        }
    }

    /// Removes the checkout with all its files. The branch stays.
    pub(crate) fn remove(&self) -> Result<(), String> {
        for folder in [&self.folder, &self.new_folder(), &self.saved_notes()] {
            remove_folder(folder)?;
        }
        let index = self.index();
        self.unlock()?;
        for file in [self.beside("ready"), self.written_file(), index] {
            remove_if_there(&file).map_err(|error| format!("cannot remove {}: {error}", file.display()))?;
        }
        self.delete_ref(&base_ref_of(&self.task))
    }

    /// Deletes a reference of the project, if it exists.
    pub(crate) fn delete_ref(&self, name: &str) -> Result<(), String> {
        self.in_project().run(["update-ref", "-d", name])?.text()?;
        Ok(())
    }

    /// Ralph's own index.
    fn index(&self) -> PathBuf {
        self.beside("index")
    }

    /// An empty file that is as old as the files of the checkout.
    fn written_file(&self) -> PathBuf {
        self.beside("written")
    }

    fn written_ns(&self) -> Option<u64> {
        let metadata = fs::symlink_metadata(self.written_file()).ok()?;
        u64::try_from(FileStamp::of(&metadata).ctime_ns).ok()
    }

    fn index_lock(&self) -> PathBuf {
        self.beside("index.lock")
    }

    /// Removes the lock of ralph's index, which git leaves behind after a power loss.
    pub(crate) fn unlock(&self) -> Result<(), String> {
        let lock = self.index_lock();
        remove_if_there(&lock).map_err(|error| format!("cannot remove {}: {error}", lock.display()))
    }

    /// Where the checkout is built before it gets its name.
    fn new_folder(&self) -> PathBuf {
        self.beside("new")
    }

    /// Copies of the notes from when the agent started.
    fn saved_notes(&self) -> PathBuf {
        self.beside("notes")
    }

    fn beside(&self, what: &str) -> PathBuf {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        self.folder.with_file_name(format!("{name}.{what}"))
    }

    /// Git on the checkout's files with the project's configuration.
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

    /// Git on the project's references and objects.
    fn in_project(&self) -> Git {
        Git::change(&self.project.top).setting("core.hooksPath=/dev/null")
    }

    pub(crate) fn task(&self) -> &TaskId {
        &self.task
    }

    /// The newest common ancestor of two commits, if any.
    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let answer = Git::question(&self.project.top).run(["merge-base", one, other])?;
        let found = answer.status.success().then(|| answer.text()).transpose()?;
        Ok(found.map(|commit| commit.trim().to_owned()))
    }

    /// The commit of a revision, if it exists.
    pub(crate) fn resolve(&self, revision: &str) -> Result<Option<String>, GitError> {
        commit_of(&self.project.top, revision)
    }
}

/// Removes a folder, including read-only parts made by an agent.
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
    // The removal reports what could not be changed.
    drop(fs::set_permissions(folder, fs::Permissions::from_mode(0o700)));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
