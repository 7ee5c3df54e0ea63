//! Snapshots as git trees, made with a separate git directory in the scratch folder of a run.
//!
//! A submodule counts as its checked-out commit; changes inside it show once committed there. Filters do not run for a
//! snapshot, so a tree contains filtered files either as in the index or as on disk. Such a file has changed if it was
//! written since the first snapshot, and a patch does not show its text.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;
use ralph_process::git::{Git, GitError};

use super::scratch_git::ScratchGit;
use super::{OwnFiles, Patch};

/// The coarsest timestamps of common file systems, in nanoseconds.
const COARSEST_TIME_NS: i64 = if cfg!(test) { 0 } else { 2_000_000_000 };

/// The repository of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The top of its worktree.
    pub(crate) top: PathBuf,
    /// The project's path in it: empty, or ending in `/`.
    pub(crate) prefix: String,
    /// Where git reads its configuration. Differs from the top for a checkout, whose own configuration is ignored.
    pub(crate) configured_in: PathBuf,
    pub(crate) index: PathBuf,
    pub(crate) objects: PathBuf,
    /// Its own exclude, attributes and sparse-checkout files.
    pub(crate) info: [PathBuf; 3],
    /// When ralph had written the files of a checkout, in nanoseconds.
    pub(crate) written_ns: Option<u64>,
}

impl Repository {
    /// The repository of a folder; `None` if it is in no worktree.
    pub(crate) fn of(folder: &Path) -> Result<Option<Self>, String> {
        if !is_repository(folder) {
            return Ok(None);
        }
        let arguments = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-path",
            "index",
            "--git-path",
            "objects",
            "--git-path",
            "info/exclude",
            "--git-path",
            "info/attributes",
            "--git-path",
            "info/sparse-checkout",
            "--show-prefix",
        ];
        let answer = Git::question(folder).run(arguments)?.text()?;
        let lines: Vec<&str> = answer.split('\n').collect();
        match lines.as_slice() {
            [top, index, objects, exclude, attributes, sparse, prefix, ..] => Ok(Some(Self {
                top: top.into(),
                configured_in: top.into(),
                index: index.into(),
                objects: objects.into(),
                info: [exclude, attributes, sparse].map(PathBuf::from),
                prefix: (*prefix).to_owned(),
                written_ns: None,
            })),
            _ => Err("git did not say where its files are".to_owned()),
        }
    }

    /// Whether its index is locked by a git process, running or killed.
    pub(super) fn is_locked(&self) -> bool {
        self.index.with_extension("lock").exists()
    }

    /// The paths that differ from the last commit, each with git's two status letters. Git runs the configured filters,
    /// so the caller must check these first.
    pub(super) fn status(&self, patterns: Vec<String>) -> Result<Vec<(String, String)>, GitError> {
        let options = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            // Otherwise git would also run the filters of submodules.
            "--ignore-submodules=dirty",
            "--",
        ];
        let arguments = options.map(str::to_owned).into_iter().chain(patterns);
        let answer = Git::question(&self.top).run(arguments)?.text()?;
        let lines = answer.split_terminator('\0');
        let parts = lines.filter_map(|line| Some((line.get(..2)?.to_owned(), line.get(3..)?.to_owned())));
        Ok(parts.collect())
    }

    /// Converts a path from the top into one from the project's root.
    pub(super) fn relative_to_root(&self, path: &str) -> String {
        let mut prefix = self.prefix.as_str();
        let mut up = String::new();
        loop {
            if let Some(inside) = path.strip_prefix(prefix) {
                return up + inside;
            }
            let parent = prefix.trim_end_matches('/').rfind('/').map_or(0, |slash| slash + 1);
            prefix = prefix.get(..parent).unwrap_or_default();
            up.push_str("../");
        }
    }

    /// Converts a path from the project's root into one from the top; `None` if it is outside the worktree.
    pub(super) fn relative_to_top(&self, path: &str) -> Option<String> {
        let mut parts: Vec<&str> = self.prefix.split_terminator('/').collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                _ => parts.push(part),
            }
        }
        (!parts.is_empty()).then(|| parts.join("/"))
    }

    /// Pathspecs for everything except these files.
    pub(crate) fn all_but(&self, hidden: &[String]) -> Vec<String> {
        let hidden = hidden.iter().filter_map(|path| self.relative_to_top(path));
        let excluded = hidden.map(|path| format!(":(top,exclude,literal){path}"));
        [":(top)".to_owned()].into_iter().chain(excluded).collect()
    }
}

/// Whether a folder is in a repository. Checked separately, because git reports a missing and an untrusted repository
/// with the same localised message.
pub(crate) fn is_repository(folder: &Path) -> bool {
    folder.ancestors().any(|folder| folder.join(".git").exists())
}

pub(super) struct InGit<'a> {
    pub(super) repository: Repository,
    pub(super) scratch: &'a Path,
    pub(super) own: &'a OwnFiles,
}

impl InGit<'_> {
    /// The tree of all files in their current state, and why some are missing.
    pub(super) fn snapshot(&self) -> Result<(String, Option<String>), String> {
        let git = ScratchGit::create(&self.repository, self.scratch)?;
        git.prepare_index()?;
        let mut arguments = vec!["add".to_owned(), "--all".into(), "--ignore-errors".into(), "--".into()];
        arguments.extend(self.repository.all_but(&self.own.hidden));
        // An unreadable file must not hide the others. Git exits with 1 for these, and also for an excluded folder that
        // is ignored anyway, which is harmless.
        let added = git.trusted_times().run(git.call().env("LC_ALL", "C"), arguments)?;
        let said = added.errors.lines().find(|line| line.starts_with("error:"));
        let degraded = said.map(|said| format!("git could not read everything: {said}"));
        if added.status.code() != Some(1) {
            added.text()?;
        }
        let tree = git
            .trusted_times()
            .run(git.call(), ["write-tree", "--missing-ok"])?
            .text()?;
        Ok((tree.trim().to_owned(), degraded))
    }

    /// The files that differ between two trees; `since` is when the first one was made.
    pub(super) fn changed(&self, old: &str, new: &str, since: Option<i64>) -> Result<Vec<String>, String> {
        let git = ScratchGit::create(&self.repository, self.scratch)?;
        let differing = self.differing(&git, old, new)?;
        let untouched = self.untouched_filtered(&differing, since)?;
        let changed = differing.iter().filter(|(_, path)| !untouched.contains(path));
        Ok(changed
            .map(|(_, path)| self.repository.relative_to_root(path))
            .collect())
    }

    /// The diff of two trees, cut to `most` bytes of whole lines.
    pub(super) fn patch(&self, old: &str, new: &str, most: usize) -> Result<Patch, String> {
        let git = ScratchGit::create(&self.repository, self.scratch)?;
        let differing = self.differing(&git, old, new)?;
        let paths = differing.iter().map(|(_, path)| path.as_str());
        // A filter may encrypt the text of a file.
        git.hide_text(&self.filtered(paths)?)?;
        // No program of the repository may format the diff.
        let options = [
            "diff-tree",
            "-r",
            "-p",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            old,
            new,
            "--",
        ];
        let mut arguments: Vec<String> = options.map(str::to_owned).to_vec();
        arguments.extend(self.repository.all_but(&self.own.hidden));
        let answer = git.call().max_output(most).run(arguments)?;
        let mut text = answer.text()?;
        if answer.cut {
            text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        }
        Ok(Patch { text, cut: answer.cut })
    }

    /// The paths that differ between two trees, each with git's status letter.
    fn differing(&self, git: &ScratchGit<'_>, old: &str, new: &str) -> Result<Vec<(String, String)>, String> {
        let options = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", old, new, "--"];
        let mut arguments: Vec<String> = options.map(str::to_owned).to_vec();
        arguments.extend(self.repository.all_but(&self.own.hidden));
        let answer = git.call().run(arguments)?.text()?;
        let mut fields = answer.split_terminator('\0').map(str::to_owned);
        Ok(std::iter::from_fn(|| Some((fields.next()?, fields.next()?))).collect())
    }

    /// The filtered files that differ but were not written since: one tree has the index version, the other the version
    /// on disk.
    fn untouched_filtered(
        &self,
        differing: &[(String, String)],
        since: Option<i64>,
    ) -> Result<BTreeSet<String>, String> {
        let Some(since) = since else {
            return Ok(BTreeSet::new());
        };
        let is_untouched = |path: &str| {
            let metadata = fs::symlink_metadata(self.repository.top.join(path));
            metadata.is_ok_and(|metadata| {
                metadata.is_file() && FileStamp::of(&metadata).ctime_ns < since.saturating_sub(COARSEST_TIME_NS)
            })
        };
        let modified = differing.iter().filter(|(how, _)| how == "M");
        let untouched = modified
            .map(|(_, path)| path.as_str())
            .filter(|path| is_untouched(path));
        self.filtered(untouched)
    }

    /// The paths that git reads through a filter.
    fn filtered<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Result<BTreeSet<String>, String> {
        let paths: Vec<&str> = paths.collect();
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let asked = Git::question(&self.repository.top).input(paths.join("\0"));
        let answer = asked.run(["check-attr", "-z", "--stdin", "filter"])?.text()?;
        let fields: Vec<&str> = answer.split_terminator('\0').collect();
        let is_filtered = |value: &str| !["unspecified", "unset"].contains(&value);
        let filtered = fields.chunks(3).filter_map(|fields| match fields {
            [path, _, value] if is_filtered(value) => Some((*path).to_owned()),
            _ => None,
        });
        Ok(filtered.collect())
    }

    /// The files that differ from the last commit. Runs filters.
    pub(super) fn dirty(&self) -> Result<BTreeSet<String>, String> {
        let status = self.repository.status(self.repository.all_but(&self.own.hidden))?;
        let paths = status.iter().map(|(_, path)| self.repository.relative_to_root(path));
        Ok(paths.collect())
    }

    /// The files that are untracked and ignored.
    pub(super) fn ignored(&self, files: &[&String]) -> Result<BTreeSet<String>, String> {
        let paths: Vec<String> = files
            .iter()
            .filter_map(|file| self.repository.relative_to_top(file))
            .collect();
        let answer =
            Git::question(&self.repository.top)
                .input(paths.join("\0"))
                .run(["check-ignore", "--stdin", "-z"])?;
        // It exits with 1 if there are none.
        if answer.status.code() == Some(1) {
            return Ok(BTreeSet::new());
        }
        let answer = answer.text()?;
        let paths = answer.split_terminator('\0');
        Ok(paths.map(|path| self.repository.relative_to_root(path)).collect())
    }
}
