//! Snapshots as trees of git's, made with a git directory of their own in the scratch folder of a run.
//!
//! A submodule is the commit that is checked out in it; what is changed inside it shows once it is committed there. No
//! filter runs for a snapshot, so a tree holds filtered files either as the index has them or as they are on disk. Such a file
//! has changed when it was written since the first snapshot, and a patch does not show its text.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;
use ralph_process::git::{Git, GitError};

use super::scratch_git::ScratchGit;
use super::{OwnFiles, Patch};

/// Times of files are this coarse on some file systems, in nanoseconds; not on those of tests.
const COARSEST_TIME_NS: i64 = if cfg!(test) { 0 } else { 2_000_000_000 };

/// The repository of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The top of its worktree.
    pub(crate) top: PathBuf,
    /// Where the project is in it: empty, or a path that ends in `/`.
    pub(crate) prefix: String,
    /// Where git reads its configuration; another folder than the top for a checkout, whose own configuration does not count.
    pub(crate) configured_in: PathBuf,
    pub(crate) index: PathBuf,
    pub(crate) objects: PathBuf,
    /// Its own lists of ignored files, attributes and sparse folders.
    pub(crate) info: [PathBuf; 3],
}

impl Repository {
    /// The repository of a folder; none when it is in no worktree.
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
            })),
            _ => Err("git did not say where its files are".to_owned()),
        }
    }

    /// Whether somebody changes its index now, or was killed while doing that.
    pub(super) fn is_locked(&self) -> bool {
        self.index.with_extension("lock").exists()
    }

    /// The paths from the top that differ from the last commit, each with git's two letters for how. Git runs the configured
    /// filters for it, so the caller makes sure that they are those that a person knows.
    pub(super) fn status(&self, patterns: Vec<String>) -> Result<Vec<(String, String)>, GitError> {
        let options = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            // Git would run the filters of submodules, too.
            "--ignore-submodules=dirty",
            "--",
        ];
        let arguments = options.map(str::to_owned).into_iter().chain(patterns);
        let answer = Git::question(&self.top).run(arguments)?.text()?;
        let lines = answer.split_terminator('\0');
        let parts = lines.filter_map(|line| Some((line.get(..2)?.to_owned(), line.get(3..)?.to_owned())));
        Ok(parts.collect())
    }

    /// A path from the top as one from the project's root.
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

    /// A path from the project's root as one from the top; none when it leads out of the worktree.
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

    /// A pattern for all but these files.
    pub(crate) fn all_but(&self, hidden: &[String]) -> Vec<String> {
        let hidden = hidden.iter().filter_map(|path| self.relative_to_top(path));
        let excluded = hidden.map(|path| format!(":(top,exclude,literal){path}"));
        [":(top)".to_owned()].into_iter().chain(excluded).collect()
    }
}

/// Whether git has something to say about a folder. Asked first, because git says the same words, in many languages, for
/// a folder without a repository and for one that it does not trust.
pub(crate) fn is_repository(folder: &Path) -> bool {
    folder.ancestors().any(|folder| folder.join(".git").exists())
}

/// A project in a repository.
pub(super) struct InGit<'a> {
    pub(super) repository: Repository,
    pub(super) scratch: &'a Path,
    pub(super) own: &'a OwnFiles,
}

impl InGit<'_> {
    /// The tree of all files as they are now, and why some are missing.
    pub(super) fn snapshot(&self) -> Result<(String, Option<String>), String> {
        let git = ScratchGit::create(&self.repository, self.scratch)?;
        git.prepare_index()?;
        let mut arguments = vec!["add".to_owned(), "--all".into(), "--ignore-errors".into(), "--".into()];
        arguments.extend(self.repository.all_but(&self.own.hidden));
        // One file that cannot be read does not hide the others. Git ends with 1 for those, and also where a hidden folder is
        // one that it ignores anyway, which hides nothing.
        let added = git.call().env("LC_ALL", "C").run(arguments)?;
        let said = added.errors.lines().find(|line| line.starts_with("error:"));
        let degraded = said.map(|said| format!("git could not read everything: {said}"));
        if added.status.code() != Some(1) {
            added.text()?;
        }
        let tree = git.call().run(["write-tree", "--missing-ok"])?.text()?;
        Ok((tree.trim().to_owned(), degraded))
    }

    /// The files that differ between two trees, the first of which was made at this time of the file system.
    pub(super) fn changed(&self, old: &str, new: &str, since: Option<i64>) -> Result<Vec<String>, String> {
        let git = ScratchGit::create(&self.repository, self.scratch)?;
        let differing = self.differing(&git, old, new)?;
        let untouched = self.untouched_filtered(&differing, since)?;
        let changed = differing.iter().filter(|(_, path)| !untouched.contains(path));
        Ok(changed
            .map(|(_, path)| self.repository.relative_to_root(path))
            .collect())
    }

    /// What differs between two trees, in at most so many bytes of whole lines.
    pub(super) fn patch(&self, old: &str, new: &str, most: usize) -> Result<Patch, String> {
        let git = ScratchGit::create(&self.repository, self.scratch)?;
        let differing = self.differing(&git, old, new)?;
        let paths = differing.iter().map(|(_, path)| path.as_str());
        // The text of a filtered file may be what the filter encrypts.
        git.hide_text(&self.filtered(paths)?)?;
        // No program of the repository's decides how a difference looks.
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
        let answer = git.call().most_output(most).run(arguments)?;
        let mut text = answer.text()?;
        if answer.cut {
            text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        }
        Ok(Patch { text, cut: answer.cut })
    }

    /// The paths from the top that differ between two trees, each with git's letter for how.
    fn differing(&self, git: &ScratchGit<'_>, old: &str, new: &str) -> Result<Vec<(String, String)>, String> {
        let options = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", old, new, "--"];
        let mut arguments: Vec<String> = options.map(str::to_owned).to_vec();
        arguments.extend(self.repository.all_but(&self.own.hidden));
        let answer = git.call().run(arguments)?.text()?;
        let mut fields = answer.split_terminator('\0').map(str::to_owned);
        Ok(std::iter::from_fn(|| Some((fields.next()?, fields.next()?))).collect())
    }

    /// The modified files that have a filter and were not written since a time: one tree has the file as the index does, the
    /// other as it is on disk.
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

    /// Those of these paths from the top that git reads through a filter.
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

    /// The files that differ from the last commit. Filters run.
    pub(super) fn dirty(&self) -> Result<BTreeSet<String>, String> {
        let status = self.repository.status(self.repository.all_but(&self.own.hidden))?;
        let paths = status.iter().map(|(_, path)| self.repository.relative_to_root(path));
        Ok(paths.collect())
    }

    /// Those of these files that git does not have and would not take.
    pub(super) fn ignored(&self, files: &[&String]) -> Result<BTreeSet<String>, String> {
        let paths: Vec<String> = files
            .iter()
            .filter_map(|file| self.repository.relative_to_top(file))
            .collect();
        let answer =
            Git::question(&self.repository.top)
                .input(paths.join("\0"))
                .run(["check-ignore", "--stdin", "-z"])?;
        // It ends with 1 when there is none.
        if answer.status.code() == Some(1) {
            return Ok(BTreeSet::new());
        }
        let answer = answer.text()?;
        let paths = answer.split_terminator('\0');
        Ok(paths.map(|path| self.repository.relative_to_root(path)).collect())
    }
}
