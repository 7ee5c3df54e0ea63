//! Asks git which files of a project its ignore lines match.

use std::path::Path;

use ralph_model::NoteFileKind;
use ralph_process::git::ask_git;

use crate::context::Context;
use crate::paths::{self, Spelling};

/// A line of an ignore file, and a path that it ignores.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IgnoreLine {
    /// The ignore file.
    pub(crate) file: String,
    /// The line number, from 1.
    pub(crate) number: String,
    pub(crate) pattern: String,
    /// The ignored path, relative to the project root.
    pub(crate) name: String,
}

/// Whether git's index counts: git never ignores a tracked file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitIndex {
    /// Tracked files are not reported.
    Used,
    /// Only the ignore lines count (`--no-index`).
    Ignored,
}

/// Returns which of these paths, relative to the root, git ignores.
///
/// # Errors
///
/// A sentence: git is not installed or failed.
pub(crate) fn ignored(root: &Path, names: &[String], tracked: GitIndex) -> Result<Vec<IgnoreLine>, String> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut arguments = vec!["check-ignore", "-v", "-z", "--stdin"];
    if tracked == GitIndex::Ignored {
        arguments.push("--no-index");
    }
    let answer = ask_git(root, &arguments, &names.join("\0"))?.unwrap_or_default();
    Ok(parse(&answer))
}

/// Returns true if git can be asked about a path: it is inside the project and not behind a symbolic link.
pub(crate) fn is_seen_by_git(root: &Path, name: &str) -> bool {
    let mut folders = Path::new(name).ancestors().skip(1);
    !name.split('/').any(|part| part == "..")
        && !folders.any(|folder| root.join(folder).is_symlink() && folder != Path::new(""))
}

/// Escapes a path so that it is a literal git pattern.
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

/// A path, relative to the root, that an ignore line matches.
pub(crate) fn name_for(line: &str) -> String {
    let mut name = String::with_capacity(line.len());
    let mut chars = line.trim_start_matches('/').chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => {}
            '\\' => name.extend(chars.next()),
            _ => name.push(c),
        }
    }
    if name.ends_with('/') {
        name.push('x');
    }
    name
}

/// Ignore lines that keep notes out of git, each with a word for those notes. Notes that are not committed are neither
/// shared nor merged. Empty without a worktree.
pub(crate) fn hiding_notes(context: &Context<'_>) -> Result<Vec<(&'static str, IgnoreLine)>, String> {
    let project = &context.project;
    let Some(worktree) = &project.worktree else {
        return Ok(Vec::new());
    };
    let root = &project.root;
    let notes_file = |kind| context.note_repository(kind, Spelling::Own).path;
    let files = [
        ("knowledge files", root.join(paths::KNOWLEDGE).join("note.md")),
        ("memories", notes_file(NoteFileKind::Memories)),
        ("guardrails", notes_file(NoteFileKind::Guardrails)),
    ];
    let seen: Vec<(&str, String)> = files
        .iter()
        .filter_map(|(what, file)| Some((*what, file.strip_prefix(root).ok()?.to_str()?.to_owned())))
        .filter(|(_, name)| is_seen_by_git(root, name))
        .collect();
    let names: Vec<String> = seen.iter().map(|(_, name)| name.clone()).collect();
    let lines = ignored(root, &names, GitIndex::Used)?.into_iter();
    let hiding = lines.filter_map(|line| {
        let (what, _) = seen.iter().find(|(_, name)| *name == line.name)?;
        // Git reports the path from the top of the worktree.
        let file = project.shown(&worktree.top.join(&line.file)).to_string();
        Some((*what, IgnoreLine { file, ..line }))
    });
    Ok(hiding.collect())
}

/// Parses the output of `git check-ignore -v -z`. It includes negated patterns, which hide nothing.
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
    fn a_literal_pattern_round_trips_to_its_name() {
        for name in ["notes.md", "a[1]/b?*.md", "#a/!b", "back\\slash"] {
            assert_eq!(name_for(&literal(name)), name);
        }
        assert_eq!(name_for("/.agent/.notes.md.ralph-*"), ".agent/.notes.md.ralph-");
        assert_eq!(name_for(".ralph/runs/"), ".ralph/runs/x");
    }

    #[test]
    fn negated_patterns_hide_nothing() {
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
