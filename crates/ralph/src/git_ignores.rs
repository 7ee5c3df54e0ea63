//! What git's ignore lines do to the files of a project, as git itself tells it.

use std::path::Path;

use ralph_model::Shelf;
use ralph_process::git::ask_git;

use crate::context::Context;
use crate::paths::{self, Spelling};

/// A line of an ignore file, and a name that it makes git ignore.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IgnoreLine {
    /// The file that the line stands in.
    pub(crate) file: String,
    /// Its number there, from 1.
    pub(crate) number: String,
    pub(crate) pattern: String,
    /// The name, from the project's root.
    pub(crate) name: String,
}

/// What git has already is not hidden by any line; that counts or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracked {
    /// A file that git has is not ignored.
    Counts,
    /// The lines alone are asked about.
    CountsNot,
}

/// Which of these names, from the root, git ignores.
///
/// The error is a sentence: git is not installed, or does not answer.
pub(crate) fn ignored(root: &Path, names: &[String], tracked: Tracked) -> Result<Vec<IgnoreLine>, String> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut arguments = vec!["check-ignore", "-v", "-z", "--stdin"];
    if tracked == Tracked::CountsNot {
        arguments.push("--no-index");
    }
    let answer = ask_git(root, &arguments, &names.join("\0"))?.unwrap_or_default();
    Ok(parse(&answer))
}

/// Whether git can be asked about a name: one outside the project, or behind a symbolic link, is none of its business.
pub(crate) fn is_seen_by_git(root: &Path, name: &str) -> bool {
    let mut folders = Path::new(name).ancestors().skip(1);
    !name.split('/').any(|part| part == "..")
        && !folders.any(|folder| root.join(folder).is_symlink() && folder != Path::new(""))
}

/// A path as a pattern of git's, in which no sign means anything but itself.
pub(crate) fn literal(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for (index, c) in path.char_indices() {
        if matches!(c, '*' | '?' | '[' | '\\') || (index == 0 && matches!(c, '#' | '!')) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A name, from the root, that an ignore line stands for.
pub(crate) fn name_for(line: &str) -> String {
    let mut name = String::with_capacity(line.len());
    let mut signs = line.trim_start_matches('/').chars();
    while let Some(c) = signs.next() {
        match c {
            '*' => {}
            '\\' => name.extend(signs.next()),
            _ => name.push(c),
        }
    }
    if name.ends_with('/') {
        name.push('x');
    }
    name
}

/// Lines that keep notes out of git, each with the word for those notes: what is not committed is not shared and not
/// merged. None where there is no worktree.
pub(crate) fn hiding_notes(context: &Context<'_>) -> Result<Vec<(&'static str, IgnoreLine)>, String> {
    let project = &context.project;
    let Some(worktree) = &project.worktree else {
        return Ok(Vec::new());
    };
    let root = &project.root;
    let shelf = |shelf| context.notebook(shelf, Spelling::Own).path;
    let files = [
        ("knowledge files", root.join(paths::KNOWLEDGE).join("note.md")),
        ("memories", shelf(Shelf::Memories)),
        ("guardrails", shelf(Shelf::Guardrails)),
    ];
    let seen: Vec<(&str, String)> = files
        .iter()
        .filter_map(|(what, file)| Some((*what, file.strip_prefix(root).ok()?.to_str()?.to_owned())))
        .filter(|(_, name)| is_seen_by_git(root, name))
        .collect();
    let names: Vec<String> = seen.iter().map(|(_, name)| name.clone()).collect();
    let lines = ignored(root, &names, Tracked::Counts)?.into_iter();
    let told = lines.filter_map(|line| {
        let (what, _) = seen.iter().find(|(_, name)| *name == line.name)?;
        // Git names it from the top of the worktree.
        let file = project.shown(&worktree.top.join(&line.file)).to_string();
        Some((*what, IgnoreLine { file, ..line }))
    });
    Ok(told.collect())
}

/// Reads the answer of `git check-ignore -v -z`. Lines that take an earlier one back are in it too.
fn parse(answer: &str) -> Vec<IgnoreLine> {
    let fields: Vec<&str> = answer.split_terminator('\0').collect();
    let lines = fields.chunks_exact(4).filter_map(|fields| match fields {
        [file, number, pattern, name] if !pattern.starts_with('!') => Some(IgnoreLine {
            file: (*file).to_owned(),
            number: (*number).to_owned(),
            pattern: (*pattern).to_owned(),
            name: (*name).to_owned(),
        }),
        _ => None,
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_for_the_name_it_was_made_of() {
        for name in ["notes.md", "a[1]/b?*.md", "#a/!b", "back\\slash"] {
            assert_eq!(name_for(&literal(name)), name);
        }
        assert_eq!(name_for("/.agent/.notes.md.ralph-*"), ".agent/.notes.md.ralph-");
        assert_eq!(name_for(".ralph/runs/"), ".ralph/runs/x");
    }

    #[test]
    fn lines_that_take_an_earlier_one_back_hide_nothing() {
        let answer = ".gitignore\x002\0*.md\0a.md\0.gitignore\x003\0!b.md\0b.md\0";
        let line = IgnoreLine {
            file: ".gitignore".to_owned(),
            number: "2".to_owned(),
            pattern: "*.md".to_owned(),
            name: "a.md".to_owned(),
        };
        assert_eq!(parse(answer), [line]);
        assert_eq!(parse(""), []);
    }
}
