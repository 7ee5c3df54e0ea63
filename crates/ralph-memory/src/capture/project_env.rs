//! The project around the notes: what is checked out, and the folders that ralph creates.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_notes::{Boundary, FileError, create_folder, lock_path, resolve, write_new_file};

use super::GitHead;

/// What the writers of notes need to know about the project. The default is a folder without git, and nothing is
/// outside it.
#[derive(Debug, Clone, Default)]
pub struct ProjectEnv {
    pub git_head: Option<GitHead>,
    pub boundary: Boundary,
    /// The folders that hold note files by default.
    pub note_folders: Vec<PathBuf>,
    /// The folder that only its owner can enter.
    pub private_folder: Option<PathBuf>,
    pub note_ignores: Ignores,
    pub database_ignores: Ignores,
    pub knowledge_ignores: Ignores,
}

/// Notes work without `ralph init`, so git may not know that it should ignore the database and the locks. A committed
/// database would be reset to an old version by a checkout, and a committed lock would block a checkout. So folders
/// that ralph creates without `init` get an ignore file, which also ignores itself.
#[derive(Debug, Clone, Default)]
pub struct Ignores {
    /// Without lines there is no ignore file.
    pub lines: Vec<String>,
    /// An ignore file, and the line in it that makes these unnecessary.
    pub unless: Option<(PathBuf, String)>,
}

impl ProjectEnv {
    /// What is checked out; `None` without git.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        self.git_head.as_ref()?.read()
    }

    /// Creates the folder of a note file that is about to be locked.
    ///
    /// # Errors
    /// If it is outside the project or cannot be created.
    pub fn prepare_note_folder(&self, file: &Path) -> Result<(), FileError> {
        self.refuse_outside(file)?;
        let Some(folder) = file.parent() else { return Ok(()) };
        create_folder(folder)?;
        let is_ours = self.note_folders.iter().any(|ours| ours == folder);
        if is_ours && !lock_path(&resolve(file)?).exists() {
            self.note_ignores.write(folder);
        }
        Ok(())
    }

    /// Creates the folder of a new database.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn prepare_database_folder(&self, folder: &Path) -> Result<(), FileError> {
        create_private(folder)?;
        self.database_ignores.write(folder);
        Ok(())
    }

    /// Creates the folder of knowledge entries, which is about to be locked.
    ///
    /// # Errors
    /// If it is outside the project or cannot be created.
    pub fn prepare_knowledge_folder(&self, folder: &Path) -> Result<(), FileError> {
        self.refuse_outside(folder)?;
        self.private_folder.as_deref().map_or(Ok(()), create_private)?;
        create_folder(folder)?;
        self.knowledge_ignores.write(folder);
        Ok(())
    }

    /// Refuses a path that leads outside the project: an agent may have created a link since the command started.
    ///
    /// # Errors
    /// If it does.
    pub fn refuse_outside(&self, path: &Path) -> Result<(), FileError> {
        match self.boundary.outside(path) {
            Some(leads_to) => Err(FileError::outside(path, &leads_to)),
            None => Ok(()),
        }
    }
}

impl Ignores {
    /// Writes the ignore file if there is none. Errors are ignored: storing the note matters more.
    fn write(&self, folder: &Path) {
        let file = folder.join(".gitignore");
        if self.lines.is_empty() || self.are_unnecessary() || file.exists() {
            return;
        }
        let text = format!(
            "# Written by ralph, for projects without `ralph init`.\n/.gitignore\n{}\n",
            self.lines.join("\n")
        );
        drop(write_new_file(&file, text.as_bytes()));
    }

    fn are_unnecessary(&self) -> bool {
        self.unless.as_ref().is_some_and(|(file, line)| {
            fs::read_to_string(file).is_ok_and(|text| text.lines().any(|other| other.trim() == line))
        })
    }
}

/// Creates a folder that only its owner can enter, if it is missing.
fn create_private(folder: &Path) -> Result<(), FileError> {
    if folder.is_dir() {
        return Ok(());
    }
    create_folder(folder)?;
    // If this fails, `ralph doctor` reports it.
    drop(restrict(folder));
    Ok(())
}

/// Removes the permissions of group and others.
///
/// # Errors
/// If the permissions cannot be read or changed.
pub fn restrict(path: &Path) -> std::io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    fs::set_permissions(path, Permissions::from_mode(mode & 0o700))
}
