//! The notes in a checkout: copies of the project's notes, so that the agent can read them as files. Its edits are
//! found by comparison and merged into the project's files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ralph_process::git::Git;

use super::{Checkout, base_ref_of, remove_folder};
use crate::files::{read_if_there, remove_if_there};

/// A note file that the agent edited in its checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteEdit {
    /// The path, relative to the root.
    pub(crate) path: PathBuf,
    /// The content when the agent started; empty if the file did not exist.
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
}

impl Checkout {
    /// Copies the project's current notes into the checkout. The paths are files and folders, relative to the root.
    pub(crate) fn copy_notes(&self, notes: &[String]) -> Result<(), String> {
        let failed = |error: io::Error| format!("cannot copy the notes into the checkout: {error}");
        let saved = self.saved_notes();
        remove_folder(&saved)?;
        for path in self.note_files(notes).map_err(failed)? {
            let read = read_if_there(&self.project_root.join(&path)).map_err(failed)?;
            let copied = match read {
                Some(bytes) => put(&self.root().join(&path), &bytes).and_then(|()| put(&saved.join(&path), &bytes)),
                None => remove_if_there(&self.root().join(&path)),
            };
            copied.map_err(failed)?;
        }
        Ok(())
    }

    /// The agent's edits. A file that is missing or matches git is not an edit: `git stash`, `git checkout` and `git
    /// clean` do that to all files.
    pub(crate) fn note_edits(&self, notes: &[String]) -> Result<Vec<NoteEdit>, String> {
        let failed = |error: io::Error| format!("cannot read the notes of the checkout: {error}");
        let mut edits = Vec::new();
        for path in self.note_files(notes).map_err(failed)? {
            let before = read_if_there(&self.saved_notes().join(&path)).map_err(failed)?;
            let after = read_if_there(&self.root().join(&path)).map_err(failed)?;
            let Some(after) = after.filter(|after| before.as_ref() != Some(after)) else {
                continue;
            };
            if self.tracked(&path)?.as_ref() == Some(&after) {
                continue;
            }
            let before = before.unwrap_or_default();
            edits.push(NoteEdit { path, before, after });
        }
        Ok(edits)
    }

    /// The content of a file in the base commit of the checkout.
    fn tracked(&self, path: &Path) -> Result<Option<Vec<u8>>, String> {
        let revision = format!("{}:{}{}", base_ref_of(&self.task), self.project.prefix, path.display());
        let answer = Git::question(&self.project.top).run(["cat-file", "blob", &revision])?;
        Ok(answer.status.success().then_some(answer.output))
    }

    /// All note files in the project, the checkout and the saved copies, relative to the root. Names starting with a
    /// dot are locks or temporary files.
    fn note_files(&self, notes: &[String]) -> io::Result<BTreeSet<PathBuf>> {
        let mut files = BTreeSet::new();
        let root = self.root();
        for place in [&self.project_root, &root, &self.saved_notes()] {
            for path in notes {
                let found = place.join(path);
                if found.is_dir() {
                    let names = fs::read_dir(&found)?.collect::<io::Result<Vec<_>>>()?;
                    let names = names.into_iter().filter(|entry| entry.path().is_file());
                    let names = names.map(|entry| entry.file_name());
                    let names = names.filter(|name| {
                        let name = name.to_string_lossy();
                        !name.starts_with('.') && name.ends_with(".md")
                    });
                    files.extend(names.map(|name| Path::new(path).join(name)));
                } else if found.is_file() {
                    files.insert(path.into());
                }
            }
        }
        Ok(files)
    }
}

#[expect(clippy::disallowed_methods, reason = "a copy in a checkout, which can be made again")]
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}
