//! Adds the lines to `.gitignore` that keep the database out of git, and warns about lines that ignore notes.

use ralph_model::NoteFileKind;

use super::added_lines::add_missing;
use crate::context::Context;
use crate::error::CommandError;
use crate::git_ignores::hiding_notes;
use crate::paths::{self, Spelling};

pub(crate) const FILE: &str = ".gitignore";

/// Adds the missing lines; returns the file if it changed.
pub(super) fn add(context: &Context<'_>) -> Result<Option<&'static str>, CommandError> {
    let added = add_missing_lines(context)?;
    report_hidden(context);
    Ok((added > 0).then_some(FILE))
}

/// All ignore lines that ralph needs, relative to the project root.
pub(crate) fn wanted(context: &Context<'_>) -> Vec<String> {
    let mut wanted: Vec<String> = paths::IGNORED.iter().map(|line| (*line).to_owned()).collect();
    for kind in [NoteFileKind::Memories, NoteFileKind::Guardrails] {
        let note_repository = context.note_repository(kind, Spelling::Own);
        wanted.extend(paths::transient_ignore_lines(&context.project, &note_repository.path));
    }
    for line in paths::scratchpad_ignore_lines(&context.project, &context.scratchpad().path) {
        if !wanted.contains(&line) {
            wanted.push(line);
        }
    }
    // Git ignores lines that lead out of the project.
    wanted.retain(|line| !line.split('/').any(|part| part == ".."));
    wanted
}

/// Adds the missing lines; returns their number.
pub(crate) fn add_missing_lines(context: &Context<'_>) -> Result<usize, CommandError> {
    let wanted = wanted(context);
    let path = context.project.root.join(FILE);
    add_missing(context, &path, &wanted)
}

/// Warns about ignore lines that hide notes.
fn report_hidden(context: &Context<'_>) {
    let ui = context.ui;
    match hiding_notes(context) {
        Ok(hiding) => {
            for (what, line) in hiding {
                ui.warning(&format!(
                    "the line {:?} in {} keeps {what} out of git, but they should be committed.",
                    line.pattern, line.file
                ));
            }
        }
        Err(reason) => ui.warning(&format!("could not check whether git ignores notes: {reason}.")),
    }
}
