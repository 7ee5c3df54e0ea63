//! A change to one file that is applied exactly as it was shown, or not at all.

use std::fs;
use std::path::Path;

use ralph_notes::Patches;

use super::diff;
use crate::changed_file::{change_file, remove_file};
use crate::context::Context;
use crate::error::CommandError;

/// A change to one file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) name: &'static str,
    /// The current text; `None` if there is no file.
    pub(super) before: Option<String>,
    /// The new text; `None` to remove the file.
    pub(super) after: Option<String>,
    /// The message after the change.
    pub(super) done: String,
}

impl Change {
    pub(super) fn show(&self, context: &Context<'_>) -> Result<(), CommandError> {
        let lines = diff::unified(self.name, self.before.as_deref(), self.after.as_deref());
        context.ui.lines(&lines)
    }

    /// Applies the change durably; fails if the file is not as it was shown.
    pub(super) fn make(&self, context: &Context<'_>) -> Result<(), CommandError> {
        let path = context.project.root.join(self.name);
        let patience = context.patience();
        let before = self.before.as_deref().unwrap_or_default().as_bytes();
        match &self.after {
            Some(after) => change_file(&path, &patience, |bytes| {
                if bytes == before {
                    Ok(Patches::whole(bytes, after.clone().into_bytes()))
                } else {
                    Err(self.changed_meanwhile())
                }
            }),
            None if remove_file(&path, &patience, before)? => Ok(()),
            None => Err(self.changed_meanwhile()),
        }
    }

    fn changed_meanwhile(&self) -> CommandError {
        let what = format!("{} was changed at the same time; nothing was written", self.name);
        CommandError::new(what).hint("run the command again")
    }
}

/// Removes the empty parent folders of a file, up to but not including the root.
pub(super) fn remove_empty_folders(root: &Path, name: &str) {
    for folder in Path::new(name).ancestors().skip(1) {
        // The root has an empty name; removing a non-empty folder fails, as intended.
        if folder.as_os_str().is_empty() || fs::remove_dir(root.join(folder)).is_err() {
            return;
        }
    }
}
