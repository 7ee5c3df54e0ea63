//! Moves the skills of an earlier tool to where Claude Code looks for them. Never overwrites a skill, and never moves
//! one out of a folder outside this project. A skill that cannot be moved does not stop the others.

use std::fs;
use std::io;
use std::path::Path;

use ralph_notes::{create_folder, move_new};

use crate::context::Context;
use crate::paths;

/// Moves skills if the project uses Claude Code, and describes what was done.
pub(super) fn move_old(context: &Context<'_>) -> Vec<String> {
    let root = &context.project.root;
    let uses_claude = paths::CLAUDE_SIGNS.iter().any(|name| root.join(name).exists());
    let (old, new) = (root.join(paths::OLD_SKILLS), root.join(paths::SKILLS));
    if !uses_claude || old.symlink_metadata().is_err() {
        return Vec::new();
    }
    if let Some(leads_to) = context.project.boundary.outside(&new) {
        let leads_to = leads_to.display();
        let warning = format!(
            "{} leads outside the project, to {leads_to}; skills were not moved.",
            paths::SKILLS
        );
        context.ui.warning(&warning);
        return Vec::new();
    }
    if let Err(error) = create_folder(&new) {
        // Whatever is in its place belongs to the user; the rest of `init` goes on.
        let why = error.reason();
        context
            .ui
            .warning(&format!("{} cannot be created: {why}.", paths::SKILLS));
        return Vec::new();
    }
    move_from(context, &old, &new)
}

fn move_from(context: &Context<'_>, old: &Path, new: &Path) -> Vec<String> {
    let names = match paths::names_in(old) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            warn_not_moved(context, paths::OLD_SKILLS, &format!("it cannot be read: {error}"));
            return Vec::new();
        }
    };
    if paths::is_same(old, new) {
        return Vec::new();
    }
    if old.is_symlink() {
        let why = "it is a link to another place; copy what this project needs";
        warn_not_moved(context, paths::OLD_SKILLS, why);
        return Vec::new();
    }
    let mut done = Vec::new();
    for name in names {
        let shown = format!("{}/{}", paths::OLD_SKILLS, name.to_string_lossy());
        match move_one(&old.join(&name), &new.join(&name)) {
            Ok(()) => done.push(format!("moved {shown} to {}/", paths::SKILLS)),
            Err(why) => warn_not_moved(context, &shown, &why),
        }
    }
    // Removed only if empty; skills left in it were reported above.
    drop(fs::remove_dir(old));
    done
}

fn warn_not_moved(context: &Context<'_>, what: &str, why: &str) {
    context.ui.warning(&format!("{what} was not moved: {why}."));
}

/// Moves one skill, or returns why not.
fn move_one(from: &Path, to: &Path) -> Result<(), String> {
    let is_taken = || format!("{} already has that name", paths::SKILLS);
    if to.symlink_metadata().is_ok() {
        return Err(is_taken());
    }
    if let Ok(target) = fs::read_link(from) {
        let there = to.parent().map(|folder| folder.join(target));
        if !there.is_some_and(|there| paths::is_same(&there, from)) {
            return Err("it is a relative link that would break".to_owned());
        }
    }
    move_new(from, to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => is_taken(),
        io::ErrorKind::CrossesDevices => format!("{} is on another file system; move it by hand", paths::SKILLS),
        _ => error.reason().to_string(),
    })
}
