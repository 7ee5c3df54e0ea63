//! Rules for the whole tree that no compiler checks: each is a function from the tree to its problems.

mod crates;
mod faults;
mod places;
mod sources;
mod stages;
mod tree;
mod words;

use std::path::Path;

use tree::Tree;

/// Returns the problems of a tree as `file:line: what`.
type Rule = fn(&Tree) -> Vec<String>;

const RULES: &[Rule] = &[
    crates::dependencies_follow_layers,
    crates::architecture_names_every_crate,
    crates::names_are_specific,
    faults::have_tests,
    stages::stay_independent,
    sources::open_with_a_module_doc,
    sources::stay_short,
    sources::are_finished,
    sources::have_no_tabs,
    sources::paths_are_in_paths_rs,
    places::root_has_only_known_entries,
    places::no_checkout_paths,
    words::are_plain,
];

/// Prints every problem of the tree, and fails if there is one.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let problems = problems(root);
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        1 => Err("tidy found 1 problem".to_owned()),
        many => Err(format!("tidy found {many} problems")),
    }
}

fn problems(root: &Path) -> Vec<String> {
    match Tree::read(root) {
        Ok(tree) => RULES.iter().flat_map(|rule| rule(&tree)).collect(),
        Err(why) => vec![why],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_tidy() {
        let problems = problems(crate::root());
        assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    }

    #[test]
    fn unreadable_tree_is_not_tidy() {
        let folder = tempfile::tempdir().unwrap();
        let problems = problems(folder.path());
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("cannot read the files of "), "{problems:?}");
    }
}
