//! Creates the clone of a checkout.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use ralph_process::git::Git;

use super::work::{FALLBACK_EMAIL, FALLBACK_NAME};
use super::{Checkout, PROJECT_FILE, base_ref_of, remove_folder};
use crate::changes::kept_settings;
use crate::files::{copy_if_there, remove_if_there};

impl Checkout {
    /// Creates the checkout on a branch that starts at a commit of the base, with the files of `work`: that commit, or
    /// one that earlier attempts left. If killed midway, it leaves nothing that counts as a checkout.
    pub(crate) fn create(&self, branch: &str, base_commit: &str, work: &str) -> Result<(), String> {
        self.remove()?;
        let new = self.new_folder();
        let failed = |error: io::Error| format!("cannot make the checkout {}: {error}", new.display());
        let settings = Git::question(&self.project.top)
            .run(["config", "--list", "-z"])?
            .text()?;
        self.write_git_dir(&new.join(".git"), branch, base_commit, &settings)
            .map_err(failed)?;
        self.in_project()
            .run(["update-ref", &base_ref_of(&self.task), base_commit])?
            .text()?;
        self.git_in(&new).run(["read-tree", "-m", "-u", work])?.text()?;
        crate::run_folder::private_file(&self.written_file()).map_err(failed)?;
        // The agent's index has the files as written, so git need not read them again.
        fs::copy(self.index(), new.join(".git/index")).map_err(failed)?;
        fs::rename(&new, &self.folder).map_err(failed)
    }

    /// Moves the clone's branch to another base commit, whatever the agent did to it, with an index of the current
    /// files.
    pub(super) fn move_clone(&self, branch: &str, base_commit: &str) -> Result<(), String> {
        let git = self.folder.join(".git");
        let moved = write_head(&git, branch, base_commit).and_then(|()| {
            remove_if_there(&git.join("index.lock"))?;
            fs::copy(self.index(), git.join("index")).map(drop)
        });
        moved.map_err(|error| format!("cannot update the checkout {}: {error}", self.folder.display()))
    }

    fn write_git_dir(&self, git: &Path, branch: &str, commit: &str, settings: &str) -> io::Result<()> {
        remove_folder(&self.new_folder()).map_err(io::Error::other)?;
        for folder in ["objects/info", "refs/heads", "info"] {
            DirBuilder::new().recursive(true).mode(0o700).create(git.join(folder))?;
        }
        write(&git.join("config"), clone_config(settings).as_bytes())?;
        let alternate = [self.project.objects.as_os_str().as_bytes(), b"\n"].concat();
        write(&git.join("objects/info/alternates"), &alternate)?;
        for file in &self.project.info {
            copy_if_there(file, &git.join("info"))?;
        }
        // Without this, commits of a shallow project would have missing parents.
        copy_if_there(&self.git_dir.join("shallow"), git)?;
        if let Some(common) = self.project.objects.parent() {
            copy_if_there(&common.join("shallow"), git)?;
        }
        write_head(git, branch, commit)?;
        // Last, because this file marks the folder as a checkout.
        let project = [self.project_root.as_os_str().as_bytes(), b"\n"].concat();
        write(&git.join(PROJECT_FILE), &project)
    }
}

/// The configuration of the clone: how files are read, and the committer.
fn clone_config(settings: &str) -> String {
    let mut config = kept_settings(settings);
    // The agent can commit in its checkout even if git has no user identity.
    for (key, fallback) in [("name", FALLBACK_NAME), ("email", FALLBACK_EMAIL)] {
        let prefix = format!("user.{key}\n");
        let mut values = settings
            .split_terminator('\0')
            .filter_map(|setting| setting.strip_prefix(&prefix));
        let value = values.next_back().unwrap_or(fallback);
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        config.push_str(&format!("[user]\n{key} = \"{value}\"\n"));
    }
    config.push_str("[gc]\nauto = 0\n");
    config
}

fn write_head(git: &Path, branch: &str, commit: &str) -> io::Result<()> {
    let reference = git.join("refs/heads").join(branch);
    if let Some(folder) = reference.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    remove_if_there(&reference.with_extension("lock"))?;
    write(&reference, format!("{commit}\n").as_bytes())?;
    write(&git.join("HEAD"), format!("ref: refs/heads/{branch}\n").as_bytes())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the clone is not a user's file and can be made again"
)]
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes)
}
