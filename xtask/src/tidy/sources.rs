//! Rules about single Rust files.

use super::tree::{Tree, TreeFile};

/// How many lines a file may have before its tests. One that needs more needs splitting.
const MAX_PRODUCT_LINES: usize = 800;

/// What must not be left behind, written in two parts so that this file does not hold it.
const UNFINISHED: [&str; 3] = [
    concat!("#[", "ignore"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
];

/// How a literal path into the folder of ralph begins.
const RALPH_FOLDER: &str = "\".ralph/";

/// A file opens by saying what it is for.
pub(super) fn open_with_a_module_doc(tree: &Tree) -> Vec<String> {
    tree.rust_files()
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| file.problem(1, "the file does not open with a `//!` module doc"))
        .collect()
}

/// A file is short enough to be read at once.
pub(super) fn stay_short(tree: &Tree) -> Vec<String> {
    tree.rust_files()
        .filter_map(|file| {
            let (line, _) = file.product_lines().nth(MAX_PRODUCT_LINES)?;
            Some(file.problem(
                line,
                format!("the file has more than {MAX_PRODUCT_LINES} lines before its tests"),
            ))
        })
        .collect()
}

/// Nothing is left to be done later, and no test is left out.
pub(super) fn are_finished(tree: &Tree) -> Vec<String> {
    let unfinished = |line: &str| UNFINISHED.into_iter().find(|mark| line.contains(mark));
    tree.rust_files()
        .flat_map(|file| {
            file.code_lines().filter_map(move |(number, line)| {
                let mark = unfinished(line)?;
                Some(file.problem(number, format!("`{mark}` must not stay")))
            })
        })
        .collect()
}

/// Code is indented with spaces, and a tab in a text is written `\t`.
pub(super) fn hold_no_tabs(tree: &Tree) -> Vec<String> {
    tree.rust_files()
        .flat_map(|file| {
            file.lines()
                .filter(|(_, line)| line.contains('\t'))
                .map(|(number, _)| file.problem(number, "the line holds a tab"))
        })
        .collect()
}

/// Where ralph keeps its files is said in paths.rs; a second copy would move away from it.
pub(super) fn leave_paths_to_paths_rs(tree: &Tree) -> Vec<String> {
    let may_hold_paths = |file: &TreeFile| {
        let for_developers = ["crates/ralph-testkit/", "xtask/"];
        file.path.ends_with("/paths.rs") || for_developers.iter().any(|folder| file.path.starts_with(folder))
    };
    tree.rust_files()
        .filter(|file| !may_hold_paths(file))
        .flat_map(|file| {
            file.product_lines()
                .filter(|(_, line)| line.contains(RALPH_FOLDER))
                .map(|(number, _)| file.problem(number, format!("a path in `{RALPH_FOLDER}…\"` belongs into paths.rs")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::check;
    use super::*;

    #[test]
    fn a_file_without_a_module_doc_is_found() {
        check(
            open_with_a_module_doc,
            &[
                ("crates/a/src/good.rs", "//! Good.\n"),
                ("crates/a/src/empty.rs", ""),
                ("crates/a/tests/late.rs", "use a;\n//! Late.\n"),
                ("xtask/src/item.rs", "/// Not of the module.\nfn f() {}\n"),
                ("docs/example.rs", "fn f() {}\n"),
            ],
            &[
                "crates/a/src/empty.rs:1: the file does not open with a `//!` module doc",
                "crates/a/tests/late.rs:1: the file does not open with a `//!` module doc",
                "xtask/src/item.rs:1: the file does not open with a `//!` module doc",
            ],
        );
    }

    #[test]
    fn a_long_file_is_found_and_tests_do_not_count() {
        let full = "x\n".repeat(MAX_PRODUCT_LINES);
        let long = format!("{full}x\n");
        let tested = format!("{full}#[cfg(test)]\nmod tests {{\n}}\n");
        check(
            stay_short,
            &[
                ("crates/a/src/full.rs", &full),
                ("crates/a/src/long.rs", &long),
                ("crates/a/src/tested.rs", &tested),
                ("crates/a/tests/long.rs", &long),
            ],
            &["crates/a/src/long.rs:801: the file has more than 800 lines before its tests"],
        );
    }

    #[test]
    fn what_is_unfinished_is_found() {
        let [ignored, to_do, missing] = UNFINISHED;
        let text =
            format!("// {to_do}\nfn f() {{\n    {to_do}();\n}}\n{ignored} = \"slow\"]\nfn g() {{ {missing}() }}\n");
        check(
            are_finished,
            &[("crates/a/tests/a.rs", &text)],
            &[
                &format!("crates/a/tests/a.rs:3: `{to_do}` must not stay"),
                &format!("crates/a/tests/a.rs:5: `{ignored}` must not stay"),
                &format!("crates/a/tests/a.rs:6: `{missing}` must not stay"),
            ],
        );
    }

    #[test]
    fn a_tab_is_found() {
        check(
            hold_no_tabs,
            &[("xtask/src/a.rs", "a\n\tb\n"), ("Makefile", "\tc\n")],
            &["xtask/src/a.rs:2: the line holds a tab"],
        );
    }

    #[test]
    fn a_path_outside_of_paths_rs_is_found() {
        let text = "a\nlet p = \".ralph/agent\";\n#[cfg(test)]\nmod tests {\n\".ralph/x\"\n}\n";
        check(
            leave_paths_to_paths_rs,
            &[
                ("crates/a/src/a.rs", text),
                ("crates/a/src/paths.rs", text),
                ("crates/a/src/a_tests.rs", text),
                ("crates/a/tests/a.rs", text),
                ("crates/ralph-testkit/src/a.rs", text),
                ("xtask/src/a.rs", text),
            ],
            &["crates/a/src/a.rs:2: a path in `\".ralph/…\"` belongs into paths.rs"],
        );
    }
}
