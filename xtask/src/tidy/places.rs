//! Rules about paths: which entries the root may have, and no paths of this checkout.

use std::collections::BTreeSet;

use super::tree::Tree;

/// The allowed entries of the root.
const ROOT: [&str; 19] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "Cargo.toml",
    "Cargo.lock",
    "clippy.toml",
    "rustfmt.toml",
    ".gitignore",
    ".gitattributes",
    ".cargo",
    ".ci",
    ".github",
    ".config",
    "crates",
    "docs",
    "xtask",
];

/// The root contains only what a reader expects there.
pub(super) fn root_has_only_known_entries(tree: &Tree) -> Vec<String> {
    let entries: BTreeSet<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.path.split('/').next())
        .collect();
    entries
        .into_iter()
        .filter(|entry| !ROOT.contains(entry))
        .map(|entry| format!("{entry}:1: the root must not contain this"))
        .collect()
}

/// No file contains the path of this checkout, which is wrong everywhere else.
pub(super) fn no_checkout_paths(tree: &Tree) -> Vec<String> {
    let root = tree.root.to_string_lossy();
    tree.files
        .iter()
        .flat_map(|file| {
            file.lines()
                .filter(|(_, line)| names(line, &root))
                .map(|(number, _)| file.problem(number, format!("the line contains the path of this checkout, {root}")))
        })
        .collect()
}

/// Whether a line contains this absolute path. With a checkout at `/src`, `crates/ralph/src` and `/srcs` do not match.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let before = line.get(..start).unwrap_or_default();
        let after = line.get(start + path.len()..).unwrap_or_default();
        let begins = before.ends_with("file://")
            || before
                .chars()
                .next_back()
                .is_none_or(|c| c.is_whitespace() || "\"'`=:,;([{<|".contains(c));
        let ends = !after
            .chars()
            .next()
            .is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
        begins && ends
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::{check, repository, write};
    use super::*;

    #[test]
    fn unknown_root_entry_is_found() {
        check(
            root_has_only_known_entries,
            &[
                ("README.md", ""),
                ("crates/a/notes.txt", ""),
                ("PLAN.md", ""),
                ("scripts/a.sh", ""),
                ("scripts/b.sh", ""),
            ],
            &[
                "PLAN.md:1: the root must not contain this",
                "scripts:1: the root must not contain this",
            ],
        );
    }

    #[test]
    fn checkout_path_is_found() {
        let folder = repository();
        let root = folder.path().display();
        write(folder.path(), "docs/a.md", &format!("a\nSee {root}/crates.\n"));
        write(folder.path(), "docs/b.md", "See /elsewhere/crates.\n");
        let tree = Tree::read(folder.path()).unwrap();
        assert_eq!(
            no_checkout_paths(&tree),
            [format!(
                "docs/a.md:2: the line contains the path of this checkout, {root}"
            )]
        );
    }

    #[test]
    fn path_matches_only_at_its_start() {
        for line in ["/src", "cd /src", "\"/src/crates\"", "at=/src.", "file:///src/a"] {
            assert!(names(line, "/src"), "{line}");
        }
        for line in [
            "crates/ralph/src",
            "./src/a",
            "{root}/src",
            "/srcs",
            "/src-old",
            "//src",
        ] {
            assert!(!names(line, "/src"), "{line}");
        }
    }
}
