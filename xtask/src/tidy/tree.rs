//! The tree that the rules inspect: files that git tracks or would add, read once.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_process::command;

/// The files of a checkout.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// The files, sorted by path.
    pub(crate) files: Vec<TreeFile>,
}

/// One file of a checkout.
pub(crate) struct TreeFile {
    /// The path relative to the root, with `/` as separator.
    pub(crate) path: String,
    /// The contents; invalid UTF-8 is replaced.
    pub(crate) text: String,
}

impl Tree {
    /// Reads tracked and untracked files, so that a problem is found before it is committed.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let failed = |why: &dyn Display| format!("cannot read the files of {}: {why}", root.display());
        let listed = git(root)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output()
            .map_err(|error| failed(&error))?;
        if !listed.status.success() {
            return Err(failed(&String::from_utf8_lossy(&listed.stderr).trim()));
        }
        let listed = String::from_utf8_lossy(&listed.stdout);
        // During a merge git lists a file once for each side.
        let paths: BTreeSet<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        let mut files = Vec::new();
        for path in paths {
            let place = root.join(path);
            // A deleted file is listed until the deletion is committed, and a link may refer to a folder.
            if !place.is_file() {
                continue;
            }
            let bytes = fs::read(&place).map_err(|error| failed(&format!("{path}: {error}")))?;
            files.push(TreeFile {
                path: path.to_owned(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
        Ok(Self {
            root: root.to_owned(),
            files,
        })
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &TreeFile> {
        self.files.iter().filter(|file| {
            let ours = file.path.starts_with("crates/") || file.path.starts_with("xtask/");
            ours && file.path.ends_with(".rs")
        })
    }

    pub(crate) fn file(&self, path: &str) -> Option<&TreeFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl TreeFile {
    /// Whether the whole file is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs") || self.path.ends_with("_tests.rs")
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// The lines that are not comments.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// The lines before the test module, which is last in a file; none for a test file.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let end = if self.is_test() { 0 } else { self.start_of_tests() };
        self.lines().take(end)
    }

    pub(crate) fn problem(&self, line: usize, what: impl Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }

    /// How many lines come before the inline test module, if there is one.
    fn start_of_tests(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        lines
            .windows(2)
            .position(|pair| matches!(pair, ["#[cfg(test)]", next] if next.starts_with("mod ") && next.ends_with('{')))
            .unwrap_or(lines.len())
    }
}

/// Git on this tree, without variables of a git hook that point to another one.
fn git(root: &Path) -> Command {
    let mut git = command("git");
    git.current_dir(root)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    git
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use std::io::Write;
    use tempfile::TempDir;

    /// Checks the problems that a rule finds in these files.
    #[track_caller]
    pub(crate) fn check(rule: fn(&Tree) -> Vec<String>, files: &[(&str, &str)], problems: &[&str]) {
        let folder = repository();
        for (path, text) in files {
            write(folder.path(), path, text);
        }
        assert_eq!(rule(&Tree::read(folder.path()).unwrap()), problems);
    }

    pub(crate) fn repository() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let status = git(folder.path()).args(["init", "--quiet"]).status().unwrap();
        assert!(status.success());
        folder
    }

    /// Writes a file and creates its folders.
    pub(crate) fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{repository, write};
    use super::*;

    fn paths(root: &Path) -> Vec<String> {
        let tree = Tree::read(root).unwrap();
        tree.files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn tree_has_tracked_and_untracked_files() {
        let folder = repository();
        for path in [".gitignore", "crates/a b/src/lib.rs", "deleted", "target/x.rs"] {
            write(folder.path(), path, "/target\n");
        }
        let status = git(folder.path()).args(["add", "deleted"]).status().unwrap();
        assert!(status.success());
        fs::remove_file(folder.path().join("deleted")).unwrap();
        assert_eq!(paths(folder.path()), [".gitignore", "crates/a b/src/lib.rs"]);
    }

    fn check_product(path: &str, text: &str, expected: &[&str]) {
        let file = TreeFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let lines: Vec<&str> = file.product_lines().map(|(_, line)| line).collect();
        assert_eq!(lines, expected, "{path}");
    }

    #[test]
    fn product_lines_end_at_the_test_module() {
        check_product("a.rs", "a\n\n#[cfg(test)]\nmod tests {\nb\n}\n", &["a", ""]);
        check_product(
            "a.rs",
            "#[cfg(test)]\nmod tests;\na\n",
            &["#[cfg(test)]", "mod tests;", "a"],
        );
        check_product("crates/a/tests/b.rs", "a\n", &[]);
        check_product("src/a_tests.rs", "a\n", &[]);
        check_product("src/a/tests.rs", "a\n", &[]);
    }
}
