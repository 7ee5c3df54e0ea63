//! Moves the skills of an earlier tool to where Claude Code looks for them; never over an existing one.

use std::fs;
use std::io;
use std::path::Path;

use ralph_notes::create_folder;

use crate::context::Context;
use crate::error::CommandError;
use crate::paths;

/// Moves what can be moved, and says what was.
pub(super) fn move_old(context: &Context<'_>) -> Result<Vec<String>, CommandError> {
    let root = &context.project.root;
    let old = root.join(paths::OLD_SKILLS);
    let new = root.join(paths::SKILLS);
    let entries = match fs::read_dir(&old) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", &old, &error)),
    };
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| failed("read", &old, &error))?;
    names.sort();
    create_folder(&new)?;
    let mut done = Vec::new();
    for name in names {
        let shown = name.to_string_lossy().into_owned();
        if new.join(&name).symlink_metadata().is_ok() {
            context.ui.warning(&format!(
                "{}/{shown} stays where it is: {} has one of that name.",
                paths::OLD_SKILLS,
                paths::SKILLS
            ));
            continue;
        }
        fs::rename(old.join(&name), new.join(&name)).map_err(|error| failed("move", &old.join(&name), &error))?;
        done.push(format!("moved {}/{shown} to {}/", paths::OLD_SKILLS, paths::SKILLS));
    }
    // It goes once it is empty; what stays in it was reported above.
    if fs::read_dir(&old).is_ok_and(|mut entries| entries.next().is_none()) {
        fs::remove_dir(&old).map_err(|error| failed("remove", &old, &error))?;
    }
    Ok(done)
}

fn failed(action: &str, path: &Path, error: &io::Error) -> CommandError {
    CommandError::new(format!("cannot {action} {}: {error}", path.display()))
}
