//! Snapshots as trees of git's, made with an index and objects of their own in the scratch folder of a run.
//!
//! A submodule is the commit that is checked out in it; what is changed inside it shows once it is committed there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;
use ralph_process::git::Git;

use super::{OwnFiles, Patch};

/// The repository of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The top of its worktree.
    pub(super) top: PathBuf,
    /// Where the project stands in it: empty, or a path that ends in `/`.
    pub(super) prefix: String,
    index: PathBuf,
    objects: PathBuf,
}

impl Repository {
    /// The repository of a folder; none when it is in no worktree.
    pub(super) fn of(folder: &Path) -> Result<Option<Self>, String> {
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
            "--show-prefix",
        ];
        let answer = Git::question(folder).run(arguments)?.text()?;
        let mut lines = answer.split('\n');
        let mut next = || lines.next().map(str::to_owned);
        match (next(), next(), next(), next()) {
            (Some(top), Some(index), Some(objects), Some(prefix)) => Ok(Some(Self {
                top: top.into(),
                index: index.into(),
                objects: objects.into(),
                prefix,
            })),
            _ => Err("git did not say where its files are".to_owned()),
        }
    }

    /// Whether somebody changes its index now, or was killed while doing that.
    pub(super) fn is_locked(&self) -> bool {
        self.index.with_extension("lock").exists()
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
    fn all_but(&self, hidden: &[String]) -> Vec<String> {
        let hidden = hidden.iter().filter_map(|path| self.relative_to_top(path));
        let excluded = hidden.map(|path| format!(":(top,exclude,literal){path}"));
        [":(top)".to_owned()].into_iter().chain(excluded).collect()
    }
}

/// Whether git has something to say about a folder. Asked first, because git says the same words, in many languages, for
/// a folder without a repository and for one that it does not trust.
pub(super) fn is_repository(folder: &Path) -> bool {
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
        self.prepare()
            .map_err(|error| format!("a snapshot cannot be made in {}: {error}", self.scratch.display()))?;
        let mut arguments = vec!["add".to_owned(), "--all".into(), "--ignore-errors".into(), "--".into()];
        arguments.extend(self.repository.all_but(&self.own.hidden));
        // One file that cannot be read does not hide the others. Git ends with 1 for those, and also where a hidden folder is
        // one that it ignores anyway, which hides nothing.
        let added = self.call().env("LC_ALL", "C").run(arguments)?;
        let said = added.errors.lines().find(|line| line.starts_with("error:"));
        let degraded = said.map(|said| format!("git could not read everything: {said}"));
        if added.status.code() != Some(1) {
            added.text()?;
        }
        let tree = self.call().run(["write-tree", "--missing-ok"])?.text()?;
        Ok((tree.trim().to_owned(), degraded))
    }

    /// The files that differ between two trees.
    pub(super) fn changed(&self, old: &str, new: &str) -> Result<Vec<String>, String> {
        let options = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, "--"];
        let mut arguments: Vec<String> = options.map(str::to_owned).to_vec();
        arguments.extend(self.repository.all_but(&self.own.hidden));
        let answer = self.call().run(arguments)?.text()?;
        Ok(answer
            .split_terminator('\0')
            .map(|path| self.repository.relative_to_root(path))
            .collect())
    }

    /// What differs between two trees, in at most so many bytes of whole lines.
    pub(super) fn patch(&self, old: &str, new: &str, most: usize) -> Result<Patch, String> {
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
        let answer = self.call().most_output(most).run(arguments)?;
        let mut text = answer.text()?;
        if answer.cut {
            text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        }
        Ok(Patch { text, cut: answer.cut })
    }

    /// The files that differ from the last commit.
    pub(super) fn dirty(&self) -> Result<BTreeSet<String>, String> {
        let options = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--",
        ];
        let mut arguments: Vec<String> = options.map(str::to_owned).to_vec();
        arguments.extend(self.repository.all_but(&self.own.hidden));
        let answer = Git::question(&self.repository.top).run(arguments)?.text()?;
        // Two letters and a space stand before each path.
        let paths = answer.split_terminator('\0').filter_map(|line| line.get(3..));
        Ok(paths.map(|path| self.repository.relative_to_root(path)).collect())
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

    /// A call of git that sees the real objects and writes only to the scratch folder.
    fn call(&self) -> Git {
        Git::question(&self.repository.top)
            .setting("core.hooksPath=/dev/null")
            .setting("core.splitIndex=false")
            .setting("core.safecrlf=false")
            .setting("core.looseCompression=1")
            .setting("advice.addEmbeddedRepo=false")
            .env("GIT_INDEX_FILE", self.index())
            .env("GIT_OBJECT_DIRECTORY", self.objects())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate(&self.repository.objects))
    }

    fn index(&self) -> PathBuf {
        self.scratch.join("index")
    }

    fn objects(&self) -> PathBuf {
        self.scratch.join("objects")
    }

    /// Makes the folders, and an index that knows what git's own knows, so that only what changed is read.
    ///
    /// The index of the last snapshot knows the files that git does not have, too; it is kept until git's own is another.
    fn prepare(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.objects())?;
        // A run that was killed leaves its lock. No other run has this folder.
        for name in ["index.lock", "index.new"] {
            remove_if_there(&self.scratch.join(name))?;
        }
        let source_of = self.scratch.join("index.source");
        let real = match fs::metadata(&self.repository.index) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let source = format!("{:?}", real.as_ref().map(FileStamp::of));
        if self.index().exists() && read_if_there(&source_of)? == source {
            return Ok(());
        }
        remove_if_there(&source_of)?;
        remove_if_there(&self.index())?;
        if let Some(real) = real {
            // Git compares times of files with that of the index, to see which may have changed since without a trace.
            let new = self.scratch.join("index.new");
            fs::copy(&self.repository.index, &new)?;
            File::options().write(true).open(&new)?.set_modified(real.modified()?)?;
            fs::rename(new, self.index())?;
        }
        File::create(source_of)?.write_all(source.as_bytes())
    }
}

/// A folder as git wants it in a list that is separated by colons.
fn alternate(folder: &Path) -> OsString {
    let name = folder.to_string_lossy();
    if name.contains([':', '"']) {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")).into()
    } else {
        folder.into()
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn read_if_there(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    match File::open(path).and_then(|mut file| file.read_to_string(&mut text)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(text),
    }
}
