//! Checks that paths stay inside the project after symlinks and `..` are resolved.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of dangling links to follow.
const MAX_LINKS: usize = 40;

/// A project root, and folders outside it that the user allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Boundary {
    root: PathBuf,
    allowed: Vec<PathBuf>,
}

impl Boundary {
    /// Creates the boundary of a project. Allowed folders and files are absolute paths.
    #[must_use]
    pub fn new(root: &Path, allowed: &[PathBuf]) -> Self {
        Self {
            root: real_path(root),
            allowed: allowed.iter().map(|path| real_path(path)).collect(),
        }
    }

    /// Returns the real path if it is outside the project and all allowed folders. The file need not exist.
    #[must_use]
    pub fn outside(&self, path: &Path) -> Option<PathBuf> {
        let real = real_path(path);
        let is_inside = real.starts_with(&self.root) || self.allowed.iter().any(|folder| real.starts_with(folder));
        (!is_inside).then_some(real)
    }
}

/// Resolves links and `..` as far as the path exists, and appends the missing rest.
#[must_use]
pub fn real_path(path: &Path) -> PathBuf {
    follow(path, MAX_LINKS)
}

fn follow(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let parent = path.parent().unwrap_or(Path::new(""));
    match fs::read_link(path) {
        Ok(target) if links > 0 => follow(&parent.join(target), links - 1),
        Ok(_) => path.to_owned(),
        Err(_) if path == parent || path.as_os_str().is_empty() => path.to_owned(),
        Err(_) => {
            let folder = follow(parent, links);
            match path.file_name() {
                Some(name) => folder.join(name),
                // The path ends with `..`.
                None => folder.parent().map_or_else(|| folder.clone(), Path::to_owned),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn escaping_paths_and_links_are_outside() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["project/docs", "project/.agent", "shared", "home"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        symlink("../../home/new.md", at("project/.agent/dangling.md")).unwrap();
        symlink("../docs/notes.md", at("project/.agent/inside.md")).unwrap();
        symlink("../home", at("project/linked")).unwrap();
        symlink("loop", at("project/loop")).unwrap();
        let boundary = Boundary::new(&at("project"), &[at("shared")]);
        let home = at("home").canonicalize().unwrap();
        for (path, leads_to) in [
            ("project/.agent/memories.md", None),
            ("project/missing/../docs/new.md", None),
            ("project/.agent/inside.md", None),
            ("project/loop", None),
            ("shared/deep/notes.md", None),
            ("project/../home/x", Some("x")),
            ("project/missing/../../home/x", Some("x")),
            ("project/.agent/dangling.md", Some("new.md")),
            ("project/linked/notes.md", Some("notes.md")),
            ("project-2/x", Some("../project-2/x")),
        ] {
            let outside = boundary.outside(&at(path));
            match leads_to {
                None => assert_eq!(outside, None, "{path}"),
                Some("../project-2/x") => assert!(outside.is_some(), "{path}"),
                Some(name) => assert_eq!(outside, Some(home.join(name)), "{path}"),
            }
        }
    }
}
