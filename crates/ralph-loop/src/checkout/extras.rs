//! Untracked files of a checkout: copies of and links to files of the project.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use ralph_model::config::WorktreeSetup;

use super::Checkout;

/// The untracked files and folders that a checkout gets from the project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Extras {
    copy: Vec<PathBuf>,
    link: Vec<PathBuf>,
}

impl Extras {
    /// Reads the configuration.
    ///
    /// # Errors
    /// When one leads out of the project.
    pub(crate) fn of(setup: &WorktreeSetup) -> Result<Self, String> {
        let inside = |key: &str, paths: &[PathBuf]| {
            let checked = paths.iter().map(|path| match is_inside(path) {
                true => Ok(path.clone()),
                false => Err(format!(
                    "`[worktree] {key}` names {}, which is not a path inside the project",
                    path.display()
                )),
            });
            checked.collect::<Result<Vec<PathBuf>, String>>()
        };
        Ok(Self {
            copy: inside("copy", &setup.copy)?,
            link: inside("link", &setup.link)?,
        })
    }

    /// Their paths, relative to the root.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let all = self.copy.iter().chain(&self.link);
        all.map(|path| path.components().collect()).collect()
    }

    /// Adds them to a new checkout. Missing and tracked ones are skipped.
    pub(crate) fn put_into(&self, checkout: &Checkout) -> Result<(), String> {
        let (from, to) = (&checkout.project_root, checkout.root());
        for path in &self.link {
            link(&from.join(path), &to.join(path.components().collect::<PathBuf>()), path)
                .map_err(|error| format!("cannot link {} into the checkout: {error}", path.display()))?;
        }
        for path in &self.copy {
            copy(&from.join(path), &to.join(path))
                .map_err(|error| format!("cannot copy {} into the checkout: {error}", path.display()))?;
        }
        Ok(())
    }
}

fn is_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(name) if name != ".git"))
}

fn link(from: &Path, to: &Path, named: &Path) -> io::Result<()> {
    let is_folder = named.as_os_str().to_string_lossy().ends_with('/');
    if is_folder && !from.exists() {
        fs::create_dir_all(from)?;
    }
    if !from.exists() || to.symlink_metadata().is_ok() {
        return Ok(());
    }
    make_parent(to)?;
    symlink(from.components().collect::<PathBuf>(), to)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(metadata) = from.symlink_metadata() else {
        return Ok(());
    };
    if metadata.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if to.symlink_metadata().is_ok() {
        return Ok(());
    }
    make_parent(to)?;
    if metadata.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(drop)
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}
