//! The programs that git runs automatically in a repository: hooks, and programs named in its configuration such as
//! filters, with the files the filters apply to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_model::config::command_paths;
use ralph_process::git::{Git, GitError};
use serde::{Deserialize, Serialize};

use super::{Items, differing, digest_of, digest_of_file, shown};
use crate::changes::is_repository;

/// How many hook files to read, and how deep.
const MAX_HOOKS: usize = 1000;
const MAX_DEPTH: usize = 3;

/// The programs that git runs automatically, at one point in time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct GitPrograms {
    /// Settings that name a program or decide which one runs.
    settings: Items,
    /// Hooks, filter attributes, and filter scripts in the project.
    files: Items,
}

impl GitPrograms {
    /// The programs of a folder's repository; empty without one.
    pub(crate) fn of(folder: &Path) -> Self {
        if !is_repository(folder) {
            return Self::default();
        }
        Self::read(folder, folder).unwrap_or_else(|error| Self::unknown(&error))
    }

    /// The programs for work in a checkout: the project's configuration, applied to the files of the checkout.
    pub(crate) fn of_checkout(project: &Path, checkout: &Path) -> Self {
        Self::read(project, checkout).unwrap_or_else(|error| Self::unknown(&error))
    }

    /// Git fails here. If it fails before and after, nothing changed; otherwise this shows as a change.
    fn unknown(error: &GitError) -> Self {
        Self {
            settings: Items::new(),
            files: Items::from([(
                "git's configuration".to_owned(),
                digest_of(error.to_string().as_bytes()),
            )]),
        }
    }

    /// The names of added, changed and removed items.
    pub(crate) fn changed(&self, after: &Self) -> BTreeSet<String> {
        let mut changed = differing(&self.settings, &after.settings);
        changed.extend(differing(&self.files, &after.files));
        changed
    }

    /// The same for what git runs on a commit: hooks, filters and signing.
    pub(crate) fn changed_for_commits(&self, after: &Self) -> BTreeSet<String> {
        let mut changed = differing(&self.settings, &after.settings);
        changed.retain(|name| {
            let key = name.strip_prefix(SETTING).unwrap_or(name);
            key == HOOKS_PATH
                || ["filter.", "gpg.", "hook."]
                    .iter()
                    .any(|section| key.starts_with(section))
        });
        changed.extend(differing(&self.files, &after.files));
        changed
    }

    /// The digest of an item, if it exists.
    pub(crate) fn digest(&self, name: &str) -> Option<&String> {
        self.settings.get(name).or_else(|| self.files.get(name))
    }

    fn read(folder: &Path, work: &Path) -> Result<Self, GitError> {
        let mut paths = GitPaths::of(folder)?;
        let (settings, filters) = settings(folder)?;
        let mut files = paths.hooks();
        if work != folder {
            let top = Git::question(work).run(["rev-parse", "--show-toplevel"])?.text()?;
            paths.top = top.trim_end_matches('\n').into();
        }
        files.extend(paths.attributes()?);
        let scripts = filters.iter().flat_map(|command| command_paths(command));
        let scripts = scripts
            .map(|script| paths.top.join(script))
            .filter(|file| file.is_file());
        files.extend(scripts.filter_map(|file| Some((shown(&paths.top, &file), digest_of_file(&file)?))));
        Ok(Self { settings, files })
    }
}

/// The prefix of a setting's name.
const SETTING: &str = "git config ";
const HOOKS_PATH: &str = "core.hookspath";

/// The settings that name programs, and the filter commands. Git lists them in the order it reads them; all values of a
/// multi-valued setting count.
fn settings(folder: &Path) -> Result<(Items, Vec<String>), GitError> {
    let arguments = ["config", "--list", "--show-scope", "-z"];
    let answer = Git::question(folder).run(arguments)?.text()?;
    let fields: Vec<&str> = answer.split_terminator('\0').collect();
    let (mut values, mut filters) = (Items::new(), Vec::new());
    for field in fields.chunks(2) {
        let [scope, setting] = field else { continue };
        let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        // These come from our own command line.
        if *scope == "command" || !names_program(key, value) {
            continue;
        }
        if key.starts_with("filter.") {
            filters.push(value.to_owned());
        }
        let all = values.entry(format!("{SETTING}{key}")).or_default();
        all.push_str(value);
        all.push('\0');
    }
    for value in values.values_mut() {
        *value = digest_of(value.as_bytes());
    }
    Ok((values, filters))
}

/// Whether a setting is a command or decides which commands git runs.
fn names_program(key: &str, value: &str) -> bool {
    let section = key.split('.').next().unwrap_or_default();
    let name = key.rsplit('.').next().unwrap_or_default();
    match section {
        "core" => matches!(
            name,
            "hookspath"
                | "fsmonitor"
                | "sshcommand"
                | "editor"
                | "pager"
                | "askpass"
                | "gitproxy"
                | "alternaterefscommand"
                | "attributesfile"
        ),
        "filter" | "hook" | "pager" | "include" | "includeif" => true,
        "gpg" => matches!(name, "program" | "defaultkeycommand"),
        "diff" => matches!(name, "external" | "textconv" | "command"),
        "merge" => name == "driver",
        "credential" => name == "helper",
        "alias" | "submodule" => value.starts_with('!'),
        "sequence" => name == "editor",
        "interactive" => name == "difffilter",
        "remote" => matches!(name, "uploadpack" | "receivepack" | "vcs"),
        "trailer" | "tar" => matches!(name, "command" | "cmd"),
        "uploadpack" => name == "packobjectshook",
        "difftool" | "mergetool" | "browser" | "man" => matches!(name, "cmd" | "path"),
        _ => false,
    }
}

/// The locations of a repository's hooks and attributes.
struct GitPaths {
    top: PathBuf,
    /// The folder `.git` of the main worktree.
    common: PathBuf,
    hooks: BTreeSet<PathBuf>,
    attributes: PathBuf,
}

impl GitPaths {
    fn of(folder: &Path) -> Result<Self, GitError> {
        let arguments = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-common-dir",
            "--git-path",
            "hooks",
            "--git-path",
            "info/attributes",
        ];
        let answer = Git::question(folder).run(arguments)?.text()?;
        let mut lines = answer.lines().map(PathBuf::from);
        let mut next = || lines.next().unwrap_or_default();
        let (top, common, hooks, attributes) = (next(), next(), next(), next());
        let mut folders = BTreeSet::from([common.join("hooks")]);
        // Husky keeps only wrappers there; the hooks themselves are in the parent folder.
        if hooks.file_name().is_some_and(|name| name == "_") {
            folders.extend(hooks.parent().map(Path::to_owned));
        }
        folders.insert(hooks);
        Ok(Self {
            top,
            common,
            hooks: folders,
            attributes,
        })
    }

    /// The display name of a file; the same in every worktree for files of the repository.
    fn shown(&self, file: &Path) -> String {
        match file.strip_prefix(&self.common) {
            Ok(inside) => Path::new(".git").join(inside).display().to_string(),
            Err(_) => shown(&self.top, file),
        }
    }

    fn hooks(&self) -> Items {
        let mut files = BTreeSet::new();
        for folder in &self.hooks {
            // If the hooks are at the project's top level, do not descend into the whole project.
            let depth = if self.top.starts_with(folder) { 1 } else { MAX_DEPTH };
            collect(folder, depth, &mut files);
        }
        let items = files
            .iter()
            .filter_map(|file| Some((self.shown(file), digest_of_file(file)?)));
        items.collect()
    }

    /// The attribute lines that mention filters or define macros: they decide which files are filtered.
    fn attributes(&self) -> Result<Items, GitError> {
        let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"];
        let arguments = listed.into_iter().chain([":(top,glob)**/.gitattributes"]);
        let answer = Git::question(&self.top).run(arguments)?.text()?;
        let in_tree = answer.split_terminator('\0').map(|path| self.top.join(path));
        let files: BTreeSet<PathBuf> = in_tree.chain([self.attributes.clone()]).collect();
        let lines = files
            .iter()
            .filter_map(|file| Some((format!("{} (filters)", self.shown(file)), filter_lines(file)?)));
        Ok(lines.collect())
    }
}

/// Adds the files of a folder, except git's samples.
fn collect(folder: &Path, depth: usize, files: &mut BTreeSet<PathBuf>) {
    // A folder that does not exist has no hooks.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if files.len() >= MAX_HOOKS {
            return;
        }
        if path.is_file() && path.extension().is_none_or(|extension| extension != "sample") {
            files.insert(path);
        } else if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, depth - 1, files);
        }
    }
}

/// A digest of the filter lines, if there are any.
fn filter_lines(file: &Path) -> Option<String> {
    if !file.is_file() {
        return None;
    }
    let text = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&text);
    let counts = |line: &&str| line.contains("filter") || line.trim_start().starts_with("[attr]");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(counts).collect();
    (!lines.is_empty()).then(|| digest_of(lines.join("\n").as_bytes()))
}
