//! A separate git directory of a run: git reads the project's files through it and writes only there.
//!
//! Git runs programs named in a repository's configuration: hooks, filters, a file monitor, diff tools. An agent can
//! write that configuration. This directory keeps only the settings that decide which files exist and how lines end. It
//! is rebuilt for each use, because an agent can write to it, too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ralph_model::FileStamp;
use ralph_process::git::Git;

use super::in_git::Repository;
use super::trusted_times::{NESTED_REPOSITORY, TrustedTimes};
use crate::files::{copy_if_there, read_if_there, remove_if_there};

/// The settings that are copied. None of them names a program.
const KEPT_SETTINGS: [&str; 16] = [
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "extensions.objectformat",
    "index.sparse",
];

pub(super) struct ScratchGit<'a> {
    repository: &'a Repository,
    scratch: &'a Path,
}

impl<'a> ScratchGit<'a> {
    pub(super) fn create(repository: &'a Repository, scratch: &'a Path) -> Result<Self, String> {
        let settings = Git::question(&repository.configured_in)
            .run(["config", "--list", "-z"])?
            .text()?;
        let git = Self { repository, scratch };
        git.create_folders(&kept_settings(&settings))
            .map_err(|error| git.failure(&error))?;
        Ok(git)
    }

    /// A git call that reads the real objects and writes only to the scratch folder.
    pub(super) fn call(&self) -> Git {
        let objects = alternate(&self.repository.objects);
        Git::question(&self.repository.top)
            .setting("core.hooksPath=/dev/null")
            .env("GIT_DIR", self.folder())
            .env("GIT_WORK_TREE", &self.repository.top)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_INDEX_FILE", self.index())
            .env("GIT_OBJECT_DIRECTORY", self.objects())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
    }

    /// Prepares an index with the entries of the real one, so that only changed files are read.
    ///
    /// The index of the last snapshot also has the untracked files; it is kept until the real index changes.
    pub(super) fn prepare_index(&self) -> Result<(), String> {
        self.copy_index().map_err(|error| self.failure(&error))?;
        // Git would start itself in each nested repository of the index, with that repository's filters. Without the
        // entry it only looks up its HEAD.
        let entries = self.call().run(["ls-files", "--stage", "-z"])?;
        if entries.cut {
            return Err("git has too many files to list".to_owned());
        }
        self.trusted_times().forget_changed(self.call(), &entries.output)?;
        let entries = entries.text()?;
        let nested = entries
            .split_terminator('\0')
            .filter(|entry| entry.starts_with(NESTED_REPOSITORY));
        let nested: Vec<&str> = nested
            .filter_map(|entry| entry.split_once('\t').map(|(_, path)| path))
            .collect();
        if !nested.is_empty() {
            let remove = ["update-index", "-z", "--force-remove", "--stdin"];
            self.call().input(nested.join("\0")).run(remove)?.text()?;
        }
        Ok(())
    }

    pub(super) fn trusted_times(&self) -> TrustedTimes {
        TrustedTimes::of(self.repository, self.index())
    }

    /// Makes git report only that these files differ, without their text.
    pub(super) fn hide_text(&self, files: &BTreeSet<String>) -> Result<(), String> {
        if files.is_empty() {
            return Ok(());
        }
        let lines: String = files.iter().map(|file| format!("{} -diff\n", pattern(file))).collect();
        let attributes = self.folder().join("info/attributes");
        let append = || {
            let mut file = File::options().create(true).append(true).open(attributes)?;
            file.write_all(b"\n")?;
            file.write_all(lines.as_bytes())
        };
        append().map_err(|error| self.failure(&error))
    }

    fn create_folders(&self, config: &str) -> io::Result<()> {
        let git = self.folder();
        match fs::remove_dir_all(&git) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        for folder in [
            &self.objects(),
            &git.join("info"),
            &git.join("objects"),
            &git.join("refs"),
        ] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        write(&git.join("HEAD"), "ref: refs/heads/none\n")?;
        write(&git.join("config"), config)?;
        for file in &self.repository.info {
            copy_if_there(file, &git.join("info"))?;
        }
        Ok(())
    }

    fn copy_index(&self) -> io::Result<()> {
        self.copy_shared_index()?;
        // A killed run leaves its lock behind. No other run uses this folder.
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
        if self.index().exists() && read_if_there(&source_of)?.as_deref() == Some(source.as_bytes()) {
            return Ok(());
        }
        remove_if_there(&source_of)?;
        remove_if_there(&self.index())?;
        if let Some(real) = real {
            // Git compares file times with that of the index to find files that may have changed unnoticed.
            let new = self.scratch.join("index.new");
            fs::copy(&self.repository.index, &new)?;
            File::options().write(true).open(&new)?.set_modified(real.modified()?)?;
            fs::rename(new, self.index())?;
        }
        write(&source_of, &source)
    }

    /// Copies the shared part of a split index, which git expects next to its configuration.
    fn copy_shared_index(&self) -> io::Result<()> {
        let Some(folder) = self.repository.index.parent().filter(|folder| folder.is_dir()) else {
            return Ok(());
        };
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("sharedindex.") {
                copy_if_there(&entry.path(), &self.folder())?;
            }
        }
        Ok(())
    }

    fn failure(&self, error: &io::Error) -> String {
        format!("cannot make a snapshot in {}: {error}", self.scratch.display())
    }

    fn folder(&self) -> PathBuf {
        self.scratch.join("git")
    }

    fn index(&self) -> PathBuf {
        self.scratch.join("index")
    }

    fn objects(&self) -> PathBuf {
        self.scratch.join("objects")
    }
}

/// The configuration of the directory, from git's full listing.
pub(crate) fn kept_settings(listed: &str) -> String {
    let kept: BTreeMap<&str, &str> = listed
        .split_terminator('\0')
        .map(|setting| setting.split_once('\n').unwrap_or((setting, "true")))
        .filter(|(key, _)| KEPT_SETTINGS.contains(key))
        .collect();
    let version = u8::from(kept.contains_key("extensions.objectformat"));
    let mut config = format!("[core]\nrepositoryFormatVersion = {version}\nbare = false\n");
    let own = [
        ("core.splitindex", "false"),
        ("core.safecrlf", "false"),
        ("core.loosecompression", "1"),
        ("advice.addembeddedrepo", "false"),
    ];
    for (key, value) in kept.into_iter().chain(own) {
        let (section, name) = key.split_once('.').unwrap_or((key, ""));
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        config.push_str(&format!("[{section}]\n{name} = \"{value}\"\n"));
    }
    config
}

/// A quoted attribute pattern that matches exactly this path.
fn pattern(path: &str) -> String {
    let mut pattern = String::from("\"/");
    for c in path.chars() {
        match c {
            '*' | '?' | '[' => pattern.extend(["\\\\", &c.to_string()]),
            '\\' => pattern.push_str("\\\\\\\\"),
            '"' => pattern.push_str("\\\""),
            '\n' => pattern.push_str("\\n"),
            '\r' => pattern.push_str("\\r"),
            c => pattern.push(c),
        }
    }
    pattern.push('"');
    pattern
}

/// A folder, quoted for git's colon-separated list.
fn alternate(folder: &Path) -> OsString {
    let name = folder.to_string_lossy();
    if name.contains([':', '"']) {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")).into()
    } else {
        folder.into()
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    File::create(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_name_programs_are_dropped() {
        let listed = "core.autocrlf\ninput\0filter.x.clean\nrun\0core.hookspath\nhooks\0core.autocrlf\nfalse\0core.symlinks\0\
                      core.excludesfile\n/a \"b\\\0extensions.objectformat\nsha256\0";
        let expected = "[core]\nrepositoryFormatVersion = 1\nbare = false\n\
                        [core]\nautocrlf = \"false\"\n\
                        [core]\nexcludesfile = \"/a \\\"b\\\\\"\n\
                        [core]\nsymlinks = \"true\"\n\
                        [extensions]\nobjectformat = \"sha256\"\n\
                        [core]\nsplitindex = \"false\"\n\
                        [core]\nsafecrlf = \"false\"\n\
                        [core]\nloosecompression = \"1\"\n\
                        [advice]\naddembeddedrepo = \"false\"\n";
        assert_eq!(kept_settings(listed), expected);
    }
}
