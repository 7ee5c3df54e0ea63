//! Whether git merges notes through ralph: the attribute of the files, and the command in git's configuration.

use std::path::{Path, PathBuf};

use ralph_model::Shelf;
use ralph_notes::resolve;
use ralph_process::git::ask_git;

use crate::context::Context;
use crate::git_ignores::literal;
use crate::paths::{Project, Spelling};

/// The file of git's attributes.
pub(crate) const ATTRIBUTES: &str = ".gitattributes";
/// The line that git gives to a shell: what both sides came from, our version (which the result replaces), theirs, the
/// path.
///
/// Git takes every exit code up to 128 but 0 for a conflict, also that of a shell that finds no `ralph`; our version would
/// then stand in the file, unmarked, and theirs would be gone with the commit. So whatever is not an exit code of
/// `ralph merge-driver` (no such program, one that does not know the command, another one of that name) leads to git's
/// own merge of texts, which leaves markers.
pub(crate) const DRIVER: &str = "ralph merge-driver %O %A %B %P; ended=$?; \
    case $ended in 0|97|129|1[3-9]?|2??) exit $ended;; esac; \
    git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B";
/// What earlier versions registered.
const OUTDATED_DRIVERS: [&str; 1] = ["ralph merge-driver %O %A %B %P"];

/// The name of the driver in attributes and configuration.
const NAME: &str = "ralph";
const NAME_KEY: &str = "merge.ralph.name";
const DRIVER_KEY: &str = "merge.ralph.driver";
/// What git shows a person of the driver.
const ABOUT: &str = "notes, entry by entry";

/// Where git is told how to merge notes.
#[derive(Debug)]
pub(crate) struct MergeSetup {
    top: PathBuf,
    files: Vec<MergedFile>,
    /// The command in git's configuration, if there is one.
    driver: Option<String>,
}

/// A file of notes as git sees it.
#[derive(Debug)]
struct MergedFile {
    /// Its path from the top of the worktree.
    path: String,
    /// Its `merge` attribute.
    attribute: String,
}

/// What became of the command in git's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registered {
    /// There was none.
    Anew,
    /// It was that of an earlier version.
    Updated,
    /// It stays.
    AsItWas,
}

impl Registered {
    /// What was done, where anything was.
    pub(crate) fn done(self) -> Option<String> {
        let verb = match self {
            Self::Anew => "set",
            Self::Updated => "updated",
            Self::AsItWas => return None,
        };
        Some(format!("{verb} {DRIVER_KEY} in git's configuration"))
    }
}

impl MergeSetup {
    /// Looks how git merges the notes of this project; `None` where there is no worktree.
    ///
    /// The error is a sentence: git is not installed, or does not answer.
    pub(crate) fn look(context: &Context<'_>) -> Result<Option<Self>, String> {
        let Some(worktree) = &context.project.worktree else {
            return Ok(None);
        };
        if attributes_are_no_file(&context.project) {
            return Err(format!("{ATTRIBUTES} is not a file"));
        }
        let top = worktree.top.clone();
        let mut paths: Vec<String> = Vec::new();
        for shelf in [Shelf::Memories, Shelf::Guardrails] {
            let file = context.notebook(shelf, Spelling::Own).path;
            let resolved = resolve(&file).unwrap_or(file);
            // A file elsewhere is not merged by this repository.
            paths.extend(
                resolved
                    .strip_prefix(&top)
                    .ok()
                    .and_then(Path::to_str)
                    .filter(|path| !path.split('/').any(|part| part == ".."))
                    .map(str::to_owned),
            );
        }
        let mut arguments = vec!["check-attr", "-z", "merge", "--"];
        arguments.extend(paths.iter().map(String::as_str));
        let answer = if paths.is_empty() {
            Some(String::new())
        } else {
            ask_git(&top, &arguments, "")?
        };
        let fields: Vec<&str> = answer.as_deref().unwrap_or_default().split('\0').collect();
        let attributes = fields.chunks(3).filter_map(|field| field.get(2));
        Ok(Some(Self {
            files: paths
                .iter()
                .zip(attributes)
                .map(|(path, attribute)| MergedFile {
                    path: path.clone(),
                    attribute: (*attribute).to_owned(),
                })
                .collect(),
            driver: ask_git(&top, &["config", "--get", DRIVER_KEY], "")?.map(|line| line.trim_end().to_owned()),
            top,
        }))
    }

    /// Whether git merges all notes through ralph.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing_lines().is_empty() && self.other_attributes().is_empty() && self.driver.as_deref() == Some(DRIVER)
    }

    /// The file of attributes at the top of the worktree.
    pub(crate) fn attributes_file(&self) -> PathBuf {
        self.top.join(ATTRIBUTES)
    }

    /// The lines of attributes for files that have none.
    pub(crate) fn missing_lines(&self) -> Vec<String> {
        let missing = self.files.iter().filter(|file| file.attribute == "unspecified");
        missing
            .map(|file| format!("{} merge={NAME}", pattern(&file.path)))
            .collect()
    }

    /// Files that somebody wants merged in another way, as `path merge=way`.
    pub(crate) fn other_attributes(&self) -> Vec<String> {
        let others = self
            .files
            .iter()
            .filter(|file| !["unspecified", NAME].contains(&file.attribute.as_str()));
        others
            .map(|file| format!("{} merge={}", file.path, file.attribute))
            .collect()
    }

    /// The command that somebody else set under our name.
    pub(crate) fn other_driver(&self) -> Option<&str> {
        let is_ours = |driver: &str| driver == DRIVER || OUTDATED_DRIVERS.contains(&driver);
        self.driver.as_deref().filter(|driver| !is_ours(driver))
    }

    /// Whether there is no command in git's configuration, or that of an earlier version.
    pub(crate) fn needs_registering(&self) -> bool {
        self.driver
            .as_deref()
            .is_none_or(|driver| OUTDATED_DRIVERS.contains(&driver))
    }

    /// Puts the command into the configuration of the repository, unless it is there or somebody set another one.
    pub(crate) fn register(&self) -> Result<Registered, String> {
        let registered = match self.driver.as_deref() {
            None => Registered::Anew,
            Some(driver) if OUTDATED_DRIVERS.contains(&driver) => Registered::Updated,
            Some(_) => return Ok(Registered::AsItWas),
        };
        for (key, value) in [(NAME_KEY, ABOUT), (DRIVER_KEY, DRIVER)] {
            if ask_git(&self.top, &["config", "--local", key, value], "")?.is_none() {
                return Err(format!("git did not take {key} into its configuration"));
            }
        }
        Ok(registered)
    }
}

/// Whether something else than a file stands where git looks for attributes: it would wait for a pipe for ever.
pub(crate) fn attributes_are_no_file(project: &Project) -> bool {
    let file = project.worktree.as_ref().map(|tree| tree.top.join(ATTRIBUTES));
    file.is_some_and(|file| file.exists() && !file.is_file())
}

/// A path as a pattern of git's attributes that matches only this file.
fn pattern(path: &str) -> String {
    let top = if path.contains('/') { "" } else { "/" };
    let escaped = format!("{top}{}", literal(path));
    if escaped.chars().any(|c| c.is_whitespace() || c.is_control() || c == '"') {
        let quoted = escaped
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\t', "\\t")
            .replace('\n', "\\n");
        return format!("\"{quoted}\"");
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_file_and_no_other() {
        for (path, expected) in [
            (".agent/memories.md", ".agent/memories.md"),
            ("memories.md", "/memories.md"),
            ("my notes/all.md", "\"my notes/all.md\""),
            ("a[1]/b*.md", "a\\[1]/b\\*.md"),
            ("#a/b.md", "\\#a/b.md"),
            ("a \"b\"/c?.md", "\"a \\\"b\\\"/c\\\\?.md\""),
        ] {
            assert_eq!(pattern(path), expected, "{path:?}");
        }
    }
}
