//! Rules about places: what stands in the root, and that nothing names the folder it happens to be checked out in.

use std::collections::BTreeSet;

use super::tree::Tree;

/// Everything that may stand in the root.
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

/// The root holds what a reader looks for there, and nothing else.
pub(super) fn root_holds_only_what_belongs_there(tree: &Tree) -> Vec<String> {
    let entries: BTreeSet<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.path.split('/').next())
        .collect();
    entries
        .into_iter()
        .filter(|entry| !ROOT.contains(entry))
        .map(|entry| format!("{entry}:1: it does not belong in the root"))
        .collect()
}

/// A file that names this checkout is wrong in every other one.
pub(super) fn nothing_names_this_checkout(tree: &Tree) -> Vec<String> {
    let root = tree.root.to_string_lossy();
    tree.files
        .iter()
        .flat_map(|file| {
            file.lines()
                .filter(|(_, line)| names(line, &root))
                .map(|(number, _)| file.problem(number, format!("the line names this checkout, {root}")))
        })
        .collect()
}

/// Whether a line holds this absolute path. In a checkout at `/src`, `crates/ralph/src` and `/srcs` do not.
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
    fn a_stranger_in_the_root_is_found() {
        check(
            root_holds_only_what_belongs_there,
            &[
                ("README.md", ""),
                ("crates/a/notes.txt", ""),
                ("PLAN.md", ""),
                ("scripts/a.sh", ""),
                ("scripts/b.sh", ""),
            ],
            &[
                "PLAN.md:1: it does not belong in the root",
                "scripts:1: it does not belong in the root",
            ],
        );
    }

    #[test]
    fn a_path_of_this_checkout_is_found() {
        let folder = repository();
        let root = folder.path().display();
        write(folder.path(), "docs/a.md", &format!("a\nSee {root}/crates.\n"));
        write(folder.path(), "docs/b.md", "See /elsewhere/crates.\n");
        let tree = Tree::read(folder.path()).unwrap();
        assert_eq!(
            nothing_names_this_checkout(&tree),
            [format!("docs/a.md:2: the line names this checkout, {root}")]
        );
    }

    #[test]
    fn a_path_counts_only_where_it_begins() {
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
