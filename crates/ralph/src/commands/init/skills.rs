//! Makes the folder of skills, and moves those of an earlier tool there, where Claude Code looks for them: never over an
//! existing one, and never out of a folder that is not this project's. One that cannot be moved stays where it is, and
//! keeps no other from it.

use std::fs;
use std::io;
use std::path::Path;

use ralph_notes::{create_folder, move_new};

use crate::context::Context;
use crate::paths;

/// Moves what can be moved, where Claude Code is used, and says what was done.
pub(super) fn move_old(context: &Context<'_>) -> Vec<String> {
    let root = &context.project.root;
    let uses_claude = paths::CLAUDE_SIGNS.iter().any(|name| root.join(name).exists());
    let (old, new) = (root.join(paths::OLD_SKILLS), root.join(paths::SKILLS));
    if !uses_claude || old.symlink_metadata().is_err() {
        return Vec::new();
    }
    if let Some(leads_to) = context.project.boundary.outside(&new) {
        let leads_to = leads_to.display();
        let stays = format!(
            "{} leads outside the project, to {leads_to}; skills stay where they are.",
            paths::SKILLS
        );
        context.ui.warning(&stays);
        return Vec::new();
    }
    if let Err(error) = create_folder(&new) {
        // Whatever stands in its place is a person's, and no reason to go without the rest.
        let why = error.reason();
        context.ui.warning(&format!("{} cannot be made: {why}.", paths::SKILLS));
        return Vec::new();
    }
    move_from(context, &old, &new)
}

fn move_from(context: &Context<'_>, old: &Path, new: &Path) -> Vec<String> {
    let names = match paths::names_in(old) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            stays(context, paths::OLD_SKILLS, &format!("it cannot be read: {error}"));
            return Vec::new();
        }
    };
    if paths::is_same(old, new) {
        return Vec::new();
    }
    if old.is_symlink() {
        let why = "it leads elsewhere, where others may need it; copy what this project needs";
        stays(context, paths::OLD_SKILLS, why);
        return Vec::new();
    }
    let mut done = Vec::new();
    for name in names {
        let shown = format!("{}/{}", paths::OLD_SKILLS, name.to_string_lossy());
        match move_one(&old.join(&name), &new.join(&name)) {
            Ok(()) => done.push(format!("moved {shown} to {}/", paths::SKILLS)),
            Err(why) => stays(context, &shown, &why),
        }
    }
    // It goes once it is empty, and not before; what stays in it was named above.
    drop(fs::remove_dir(old));
    done
}

fn stays(context: &Context<'_>, what: &str, why: &str) {
    context.ui.warning(&format!("{what} stays where it is: {why}."));
}

/// Moves one skill, or says why not.
fn move_one(from: &Path, to: &Path) -> Result<(), String> {
    let is_taken = || format!("{} has one of that name", paths::SKILLS);
    if to.symlink_metadata().is_ok() {
        return Err(is_taken());
    }
    if let Ok(target) = fs::read_link(from) {
        let there = to.parent().map(|folder| folder.join(target));
        if !there.is_some_and(|there| paths::is_same(&there, from)) {
            return Err("it is a link that would not lead to the same place from there".to_owned());
        }
    }
    move_new(from, to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => is_taken(),
        io::ErrorKind::CrossesDevices => format!("{} is on another file system; move it by hand", paths::SKILLS),
        _ => error.reason().to_string(),
    })
}
