//! Sets up git to merge notes through ralph: the attribute of the files and the driver in git's configuration.

use std::path::{Path, PathBuf};

use ralph_model::NoteFileKind;
use ralph_notes::resolve;
use ralph_process::git::ask_git;

use crate::context::Context;
use crate::git_ignores::literal;
use crate::paths::{Project, Spelling};

/// The file of git's attributes.
pub(crate) const ATTRIBUTES: &str = ".gitattributes";
/// The command that git passes to a shell: `%O` is the common ancestor, `%A` our version (replaced by the result), `%B`
/// theirs, `%P` the path.
///
/// Git treats every exit code from 1 to 128 as a conflict, including that of a shell that does not find `ralph`. Our
/// version would then stay in the file without markers, and theirs would be lost with the commit. So any exit code that
/// `ralph merge-driver` does not use (no such program, an old version, another program of that name) falls back to
/// git's own text merge, which leaves markers.
pub(crate) const DRIVER: &str = "ralph merge-driver %O %A %B %P; ended=$?; \
    case $ended in 0|97|129|1[3-9]?|2??) exit $ended;; esac; \
    git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B";
const OUTDATED_DRIVERS: [&str; 1] = ["ralph merge-driver %O %A %B %P"];

/// The driver's name in attributes and configuration.
const NAME: &str = "ralph";
const NAME_KEY: &str = "merge.ralph.name";
const DRIVER_KEY: &str = "merge.ralph.driver";
/// The description that git shows.
const ABOUT: &str = "notes, entry by entry";

/// How git is configured to merge notes.
#[derive(Debug)]
pub(crate) struct MergeSetup {
    top: PathBuf,
    files: Vec<MergedFile>,
    /// The driver in git's configuration, if any.
    driver: Option<String>,
}

/// A notes file as git sees it.
#[derive(Debug)]
struct MergedFile {
    /// The path from the top of the worktree.
    path: String,
    /// The `merge` attribute.
    attribute: String,
}

/// The result of registering the driver in git's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registration {
    Added,
    /// Replaced the driver of an earlier version.
    Updated,
    Unchanged,
}

impl Registration {
    /// Describes the change, if there was one.
    pub(crate) fn done(self) -> Option<String> {
        let verb = match self {
            Self::Added => "set",
            Self::Updated => "updated",
            Self::Unchanged => return None,
        };
        Some(format!("{verb} {DRIVER_KEY} in git's configuration"))
    }
}

impl MergeSetup {
    /// Reads how git merges the notes of this project; `None` without a worktree.
    ///
    /// # Errors
    ///
    /// A sentence: git is not installed or failed.
    pub(crate) fn inspect(context: &Context<'_>) -> Result<Option<Self>, String> {
        let Some(worktree) = &context.project.worktree else {
            return Ok(None);
        };
        if attributes_is_not_a_file(&context.project) {
            return Err(format!("{ATTRIBUTES} is not a file"));
        }
        let top = worktree.top.clone();
        let mut paths: Vec<String> = Vec::new();
        for kind in [NoteFileKind::Memories, NoteFileKind::Guardrails] {
            let file = context.note_repository(kind, Spelling::Own).path;
            let resolved = resolve(&file).unwrap_or(file);
            // This repository does not merge files outside of it.
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

    /// Returns true if git merges all notes through ralph.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing_lines().is_empty() && self.other_attributes().is_empty() && self.driver.as_deref() == Some(DRIVER)
    }

    /// The attributes file at the top of the worktree.
    pub(crate) fn attributes_file(&self) -> PathBuf {
        self.top.join(ATTRIBUTES)
    }

    /// The missing attribute lines.
    pub(crate) fn missing_lines(&self) -> Vec<String> {
        let missing = self.files.iter().filter(|file| file.attribute == "unspecified");
        missing
            .map(|file| format!("{} merge={NAME}", pattern(&file.path)))
            .collect()
    }

    /// Files with another merge attribute, as `path merge=way`.
    pub(crate) fn other_attributes(&self) -> Vec<String> {
        let others = self
            .files
            .iter()
            .filter(|file| !["unspecified", NAME].contains(&file.attribute.as_str()));
        others
            .map(|file| format!("{} merge={}", file.path, file.attribute))
            .collect()
    }

    /// A driver under our name that is not ours.
    pub(crate) fn other_driver(&self) -> Option<&str> {
        let is_ours = |driver: &str| driver == DRIVER || OUTDATED_DRIVERS.contains(&driver);
        self.driver.as_deref().filter(|driver| !is_ours(driver))
    }

    /// Returns true if the driver is missing or outdated.
    pub(crate) fn needs_registering(&self) -> bool {
        self.driver
            .as_deref()
            .is_none_or(|driver| OUTDATED_DRIVERS.contains(&driver))
    }

    /// Registers the driver in the repository's configuration, unless it is there or the user set another one.
    pub(crate) fn register(&self) -> Result<Registration, String> {
        let registered = match self.driver.as_deref() {
            None => Registration::Added,
            Some(driver) if OUTDATED_DRIVERS.contains(&driver) => Registration::Updated,
            Some(_) => return Ok(Registration::Unchanged),
        };
        for (key, value) in [(NAME_KEY, ABOUT), (DRIVER_KEY, DRIVER)] {
            if ask_git(&self.top, &["config", "--local", key, value], "")?.is_none() {
                return Err(format!("git did not take {key} into its configuration"));
            }
        }
        Ok(registered)
    }
}

/// Returns true if `.gitattributes` is not a regular file: git would wait forever on a pipe.
pub(crate) fn attributes_is_not_a_file(project: &Project) -> bool {
    let file = project.worktree.as_ref().map(|tree| tree.top.join(ATTRIBUTES));
    file.is_some_and(|file| file.exists() && !file.is_file())
}

/// Escapes a path as an attributes pattern that matches only this file.
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
    fn patterns_match_only_their_file() {
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
