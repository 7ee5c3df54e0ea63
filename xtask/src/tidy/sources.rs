//! Rules about single Rust files.

use super::tree::{Tree, TreeFile};

/// The maximum number of lines before the tests. A longer file must be split.
const MAX_PRODUCT_LINES: usize = 800;

/// Forbidden marks, split so that this file does not contain them.
const UNFINISHED: [&str; 3] = [
    concat!("#[", "ignore"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
];

/// The start of a literal path into ralph's folder.
const RALPH_FOLDER: &str = "\".ralph/";

/// Every file starts with a module doc.
pub(super) fn open_with_a_module_doc(tree: &Tree) -> Vec<String> {
    tree.rust_files()
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| file.problem(1, "the file does not start with a `//!` module doc"))
        .collect()
}

/// Files are short.
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

/// No code is unfinished and no test is ignored.
pub(super) fn are_finished(tree: &Tree) -> Vec<String> {
    let unfinished = |line: &str| UNFINISHED.into_iter().find(|mark| line.contains(mark));
    tree.rust_files()
        .flat_map(|file| {
            file.code_lines().filter_map(move |(number, line)| {
                let mark = unfinished(line)?;
                Some(file.problem(number, format!("`{mark}` is not allowed")))
            })
        })
        .collect()
}

/// Files contain no tab characters; a tab in a string is written `\t`.
pub(super) fn have_no_tabs(tree: &Tree) -> Vec<String> {
    tree.rust_files()
        .flat_map(|file| {
            file.lines()
                .filter(|(_, line)| line.contains('\t'))
                .map(|(number, _)| file.problem(number, "the line contains a tab"))
        })
        .collect()
}

/// Ralph's paths are defined only in paths.rs, so that copies cannot diverge.
pub(super) fn paths_are_in_paths_rs(tree: &Tree) -> Vec<String> {
    let may_hold_paths = |file: &TreeFile| {
        let for_developers = ["crates/ralph-testkit/", "xtask/"];
        file.path.ends_with("/paths.rs") || for_developers.iter().any(|folder| file.path.starts_with(folder))
    };
    tree.rust_files()
        .filter(|file| !may_hold_paths(file))
        .flat_map(|file| {
            file.product_lines()
                .filter(|(_, line)| line.contains(RALPH_FOLDER))
                .map(|(number, _)| file.problem(number, format!("a path in `{RALPH_FOLDER}…\"` belongs in paths.rs")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::check;
    use super::*;

    #[test]
    fn missing_module_doc_is_found() {
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
                "crates/a/src/empty.rs:1: the file does not start with a `//!` module doc",
                "crates/a/tests/late.rs:1: the file does not start with a `//!` module doc",
                "xtask/src/item.rs:1: the file does not start with a `//!` module doc",
            ],
        );
    }

    #[test]
    fn long_files_are_found_without_counting_tests() {
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
    fn unfinished_code_is_found() {
        let [ignored, to_do, missing] = UNFINISHED;
        let text =
            format!("// {to_do}\nfn f() {{\n    {to_do}();\n}}\n{ignored} = \"slow\"]\nfn g() {{ {missing}() }}\n");
        check(
            are_finished,
            &[("crates/a/tests/a.rs", &text)],
            &[
                &format!("crates/a/tests/a.rs:3: `{to_do}` is not allowed"),
                &format!("crates/a/tests/a.rs:5: `{ignored}` is not allowed"),
                &format!("crates/a/tests/a.rs:6: `{missing}` is not allowed"),
            ],
        );
    }

    #[test]
    fn tab_is_found() {
        check(
            have_no_tabs,
            &[("xtask/src/a.rs", "a\n\tb\n"), ("Makefile", "\tc\n")],
            &["xtask/src/a.rs:2: the line contains a tab"],
        );
    }

    #[test]
    fn path_outside_paths_rs_is_found() {
        let text = "a\nlet p = \".ralph/agent\";\n#[cfg(test)]\nmod tests {\n\".ralph/x\"\n}\n";
        check(
            paths_are_in_paths_rs,
            &[
                ("crates/a/src/a.rs", text),
                ("crates/a/src/paths.rs", text),
                ("crates/a/src/a_tests.rs", text),
                ("crates/a/tests/a.rs", text),
                ("crates/ralph-testkit/src/a.rs", text),
                ("xtask/src/a.rs", text),
            ],
            &["crates/a/src/a.rs:2: a path in `\".ralph/…\"` belongs in paths.rs"],
        );
    }
}
