//! The lines of `.gitignore` that keep the database out of git, and a look at those that keep too much out.

use ralph_model::Shelf;

use super::added_lines::add_missing;
use crate::context::Context;
use crate::error::CommandError;
use crate::git_ignores::hiding_notes;
use crate::paths::{self, Spelling};

pub(crate) const FILE: &str = ".gitignore";

/// Adds the lines that are missing, and says how many.
pub(super) fn add(context: &Context<'_>) -> Result<Option<&'static str>, CommandError> {
    let added = add_missing_lines(context)?;
    report_hidden(context);
    Ok((added > 0).then_some(FILE))
}

/// Everything that git must not keep, as lines from the project's root.
pub(crate) fn wanted(context: &Context<'_>) -> Vec<String> {
    let mut wanted: Vec<String> = paths::IGNORED.iter().map(|line| (*line).to_owned()).collect();
    for shelf in [Shelf::Memories, Shelf::Guardrails] {
        let notebook = context.notebook(shelf, Spelling::Own);
        wanted.extend(paths::transient_ignore_lines(&context.project, &notebook.path));
    }
    for line in paths::scratchpad_ignore_lines(&context.project, &context.scratchpad().path) {
        if !wanted.contains(&line) {
            wanted.push(line);
        }
    }
    // A line that leads out of the project means nothing to git.
    wanted.retain(|line| !line.split('/').any(|part| part == ".."));
    wanted
}

/// Adds the lines that are missing; how many that were.
pub(crate) fn add_missing_lines(context: &Context<'_>) -> Result<usize, CommandError> {
    let wanted = wanted(context);
    let path = context.project.root.join(FILE);
    add_missing(context, &path, &wanted)
}

/// Warns of ignore lines that hide what should be in git.
fn report_hidden(context: &Context<'_>) {
    let ui = context.ui;
    match hiding_notes(context) {
        Ok(hiding) => {
            for (what, line) in hiding {
                ui.warning(&format!(
                    "the line {:?} of {} keeps {what} out of git; they are meant to be in it.",
                    line.pattern, line.file
                ));
            }
        }
        Err(reason) => ui.warning(&format!("whether git ignores notes was not looked at: {reason}.")),
    }
}
