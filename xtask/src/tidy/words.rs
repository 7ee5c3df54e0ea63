//! Words that this project replaces by plain ones, in code, comments, messages and documents.

use super::tree::{Tree, TreeFile};

/// Each line is a word or phrase, and what to write instead.
const REPLACED: &str = include_str!("words.txt");

/// Names in the database and in JSON outputs, which do not change with the prose.
const NAMES: [&str; 5] = ["lesson", "shelf", "shelves", "mend", "mended"];

/// Names are allowed where they are used as names.
const NAME_FILES: [&str; 3] = ["crates/ralph-store/", "crates/ralph-testkit/", "crates/ralph/"];

/// No text uses a replaced word.
pub(super) fn are_plain(tree: &Tree) -> Vec<String> {
    let replaced: Vec<(&str, &str)> = REPLACED.lines().filter_map(|line| line.split_once(": ")).collect();
    let files = tree.files.iter().filter(|file| is_ours(file));
    files
        .flat_map(|file| {
            let replaced = &replaced;
            file.lines()
                .filter(|(_, line)| is_prose(file, line))
                .flat_map(move |(number, line)| {
                    let lower = line.to_lowercase();
                    let found = replaced
                        .iter()
                        .filter(move |(word, _)| has_word(&lower, word) && !is_name(file, line, word));
                    found
                        .map(move |(word, plain)| file.problem(number, format!("instead of \"{word}\" write: {plain}")))
                })
        })
        .collect()
}

/// Whether we wrote the file: not the recorded outputs of other tools, licences, or the list itself.
fn is_ours(file: &TreeFile) -> bool {
    let is_text = [".rs", ".md", ".sql", ".mjs"]
        .iter()
        .any(|ending| file.path.ends_with(ending));
    let is_foreign = ["/recorded/", "/secrets/rules/"]
        .iter()
        .any(|folder| file.path.contains(folder));
    is_text && !is_foreign && file.path != "xtask/src/tidy/words.rs"
}

/// Whether a line contains a word or phrase that is not part of a longer word. An identifier's parts are words.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
    line.match_indices(word).any(|(start, _)| {
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let after = line.get(start + word.len()..).and_then(|text| text.chars().next());
        !is_part(before) && !is_part(after)
    })
}

/// In tests, only comments and names of functions: the rest is data.
fn is_prose(file: &TreeFile, line: &str) -> bool {
    let is_data = file.is_test() || file.path.contains("/demo/") || file.path.contains("/tests/");
    let line = line.trim_start();
    !is_data || line.starts_with("//") || line.starts_with("fn ")
}

/// Whether the word is a name in SQL or a key of JSON here.
fn is_name(file: &TreeFile, line: &str, word: &str) -> bool {
    let is_key = line.contains(&format!("\"{word}\""));
    let is_sql = word == "lesson" && !line.trim_start().starts_with("//");
    NAMES.contains(&word) && NAME_FILES.iter().any(|folder| file.path.starts_with(folder)) && (is_key || is_sql)
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::check;
    use super::*;

    #[test]
    fn replaced_words_are_problems() {
        check(
            are_plain,
            &[
                (
                    "crates/a/src/lib.rs",
                    "//! A file.\n/// Whoever reads it.\nfn mend_it() {}\n",
                ),
                (
                    "crates/ralph/src/a.rs",
                    "const KEY: &str = \"shelf\";\n// A bookshelf is no shelf.\n",
                ),
                ("README.md", "It takes so many seconds.\n"),
                ("notes.txt", "Whoever reads it.\n"),
            ],
            &[
                "README.md:1: instead of \"so many\" write: N",
                "crates/a/src/lib.rs:2: instead of \"whoever\" write: the user, the process, …",
                "crates/a/src/lib.rs:3: instead of \"mend\" write: fix",
                "crates/ralph/src/a.rs:2: instead of \"shelf\" write: note file",
            ],
        );
    }
}
