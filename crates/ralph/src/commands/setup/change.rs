//! A change of one file that was shown to a person, and is made exactly so or not at all.

use std::fs;
use std::path::Path;

use ralph_notes::Patches;

use super::diff;
use crate::changed_file::{change_file, remove_file};
use crate::context::Context;
use crate::error::CommandError;

/// A change of one file, named from the root of the project.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) name: &'static str,
    /// What stands in it; none where there is no file.
    pub(super) before: Option<String>,
    /// What shall stand in it; none where there shall be no file.
    pub(super) after: Option<String>,
    /// What is said when it is done.
    pub(super) done: String,
}

impl Change {
    /// Shows what will change.
    pub(super) fn show(&self, context: &Context<'_>) -> Result<(), CommandError> {
        let lines = diff::unified(self.name, self.before.as_deref(), self.after.as_deref());
        context.ui.lines(&lines)
    }

    /// Makes the change, durably; refused when the file is not what was shown.
    pub(super) fn make(&self, context: &Context<'_>) -> Result<(), CommandError> {
        let path = context.project.root.join(self.name);
        let patience = context.patience();
        let before = self.before.as_deref().unwrap_or_default().as_bytes();
        match &self.after {
            Some(after) => change_file(&path, &patience, |bytes| {
                if bytes == before {
                    Ok(Patches::whole(bytes, after.clone().into_bytes()))
                } else {
                    Err(self.overtaken())
                }
            }),
            None if remove_file(&path, &patience, before)? => Ok(()),
            None => Err(self.overtaken()),
        }
    }

    fn overtaken(&self) -> CommandError {
        let what = format!("somebody changed {} in this moment, so it was left alone", self.name);
        CommandError::new(what).hint("run the command again")
    }
}

/// Removes the folders of a file, up to but not including the root, as far as they are empty.
pub(super) fn remove_empty_folders(root: &Path, name: &str) {
    for folder in Path::new(name).ancestors().skip(1) {
        // The root itself has an empty name; a folder that holds anything cannot be removed, and shall not.
        if folder.as_os_str().is_empty() || fs::remove_dir(root.join(folder)).is_err() {
            return;
        }
    }
}
