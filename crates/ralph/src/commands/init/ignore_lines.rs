//! The lines of `.gitignore` that keep the database out of git, and a look at those that keep too much out.

use std::path::Path;

use ignore::gitignore::GitignoreBuilder;
use ralph_model::{Shelf, count};

use super::added_lines::add_missing;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{self, Spelling};

pub(crate) const FILE: &str = ".gitignore";

/// Adds the lines that are missing, and says how many.
pub(super) fn add(context: &Context<'_>) -> Result<Option<String>, CommandError> {
    let added = add_missing_lines(context)?;
    report_hidden(context);
    Ok((added > 0).then(|| format!("added {} to {FILE}", count(added, "line", "lines"))))
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

/// Warns of ignore lines that hide what should be in git: notes that are not committed are not shared and not merged.
fn report_hidden(context: &Context<'_>) {
    let root = &context.project.root;
    let memories = context.notebook(Shelf::Memories, Spelling::Own).path;
    let guardrails = context.notebook(Shelf::Guardrails, Spelling::Own).path;
    let top = context
        .project
        .worktree
        .as_ref()
        .map_or(root.as_path(), |tree| tree.top.as_path());
    for (what, path) in [
        ("knowledge files", root.join(paths::KNOWLEDGE).join("note.md")),
        ("memories", memories),
        ("guardrails", guardrails),
    ] {
        if let Some((file, line)) = hiding_line(top, root, &path) {
            let file = context.project.shown(&file).to_string();
            context.ui.warning(&format!(
                "the line {line:?} of {file} keeps {what} out of git; they are meant to be in it."
            ));
        }
    }
}

fn hiding_line(top: &Path, root: &Path, path: &Path) -> Option<(std::path::PathBuf, String)> {
    let mut builder = GitignoreBuilder::new(top);
    let mut folders: Vec<&Path> = root.ancestors().take_while(|folder| folder.starts_with(top)).collect();
    folders.reverse();
    for folder in folders {
        // A file that is missing or has a malformed line hides nothing by it.
        drop(builder.add(folder.join(FILE)));
    }
    let rules = builder.build().ok()?;
    match rules.matched_path_or_any_parents(path.strip_prefix(top).ok()?, false) {
        ignore::Match::Ignore(glob) => Some((glob.from()?.to_owned(), glob.original().to_owned())),
        ignore::Match::None | ignore::Match::Whitelist(_) => None,
    }
}
