//! The lines of `.gitignore` that keep the database out of git, and a look at those that keep too much out.

use std::path::Path;

use ignore::gitignore::GitignoreBuilder;
use ralph_model::{Shelf, count};
use ralph_notes::{LockedFile, Patches, UpdateError};

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
    let mut locked = LockedFile::lock(&path, &context.patience())?;
    let mut added = 0;
    let updated = locked.update(b"", |bytes| {
        let missing = missing_lines(bytes, &wanted);
        added = missing.len();
        let mut patches = Patches::none();
        if !missing.is_empty() {
            patches.insert(bytes.len(), appended(bytes, &missing));
        }
        Ok::<Patches, CommandError>(patches)
    });
    locked.unlock_without_trace()?;
    match updated {
        Ok(_) => {}
        Err(UpdateError::File(error)) => return Err(error.into()),
        Err(UpdateError::Edit(error)) => return Err(error),
    }
    Ok(added)
}

pub(crate) fn missing_lines<'a>(bytes: &[u8], wanted: &'a [String]) -> Vec<&'a String> {
    let text = String::from_utf8_lossy(bytes);
    let present: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches('/')).collect();
    wanted.iter().filter(|line| !present.contains(&line.as_str())).collect()
}

fn appended(bytes: &[u8], lines: &[&String]) -> Vec<u8> {
    let eol = if bytes.windows(2).any(|pair| pair == b"\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let mut text = String::new();
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        text.push_str(eol);
    }
    if !bytes.is_empty() {
        text.push_str(eol);
    }
    text.push_str("# ralph");
    text.push_str(eol);
    for line in lines {
        text.push_str(line);
        text.push_str(eol);
    }
    text.into_bytes()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_lines_are_added_with_the_line_break_of_the_file() {
        let wanted = ["a".to_owned(), "b".to_owned()];
        assert_eq!(missing_lines(b"x\n/a\n", &wanted), [&wanted[1]]);
        assert_eq!(appended(b"x", &[&wanted[1]]), b"\n\n# ralph\nb\n");
        assert_eq!(appended(b"x\r\n", &[&wanted[1]]), b"\r\n# ralph\r\nb\r\n");
        assert_eq!(appended(b"", &[&wanted[1]]), b"# ralph\nb\n");
    }
}
