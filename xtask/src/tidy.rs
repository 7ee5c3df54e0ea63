//! What holds for the whole tree and no compiler checks: each rule is a function from the tree to its problems.

mod crates;
mod faults;
mod places;
mod sources;
mod stages;
mod tree;

use std::path::Path;

use tree::Tree;

/// What is wrong with a tree, each as `file:line: what`.
type Rule = fn(&Tree) -> Vec<String>;

const RULES: &[Rule] = &[
    crates::directions_hold,
    crates::architecture_names_every_crate,
    crates::names_say_what_is_inside,
    faults::have_tests,
    stages::use_no_other_stage,
    sources::open_with_a_module_doc,
    sources::stay_short,
    sources::are_finished,
    sources::hold_no_tabs,
    sources::leave_paths_to_paths_rs,
    places::root_holds_only_what_belongs_there,
    places::nothing_names_this_checkout,
];

/// Prints every problem of the tree; fails when there is one.
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

/// Every problem of the tree under this root.
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
    fn a_tree_that_cannot_be_read_is_not_tidy() {
        let folder = tempfile::tempdir().unwrap();
        let problems = problems(folder.path());
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("the files of "), "{problems:?}");
    }
}
