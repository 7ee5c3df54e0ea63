//! The files that an output names.

use crate::capture::found_tags::ENDINGS;

/// What may stand around a name.
const AROUND: [char; 17] = [
    '\'', '"', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '=', '|', '*', '…',
];
/// Folders whose files are nobody's work: those of the system, of tools and of what others wrote.
const FOREIGN: [&str; 9] = [
    "/usr/",
    "/opt/",
    "/rustc/",
    "/lib/",
    "/.cargo/registry/",
    "/.rustup/",
    "/site-packages/",
    "/node_modules/",
    "/.pyenv/",
];
/// The most names that are looked for in one text.
const MOST_NAMES: usize = 200;

/// The files that a text names, each once, in order, without line numbers; as they are written there. Files of the system
/// and of what others wrote are left out.
#[must_use]
pub fn named_files(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for word in text.split(|sign: char| sign.is_whitespace() || AROUND.contains(&sign)) {
        if names.len() >= MOST_NAMES {
            break;
        }
        let Some(name) = file_of(word) else { continue };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The file that a word names, if it looks like one: a name with an ending, maybe below folders, maybe with a line.
fn file_of(word: &str) -> Option<&str> {
    let word = word.strip_prefix("file://").unwrap_or(word);
    if word.contains("://") || word.starts_with("node:") {
        return None;
    }
    // `src/lib.rs:10:5:`, `tests/a.py::test_b`: a name ends at its first colon, unless that is a drive's.
    let name = match word.split_once(':') {
        Some((drive, rest)) if drive.len() == 1 && rest.starts_with(['\\', '/']) => {
            let length = rest.find(':').unwrap_or(rest.len()) + drive.len() + 1;
            word.get(..length)?
        }
        Some((name, _)) => name,
        None => word,
    };
    let name = name.trim_end_matches(['.', '!', '?']);
    let name = name.strip_prefix("./").unwrap_or(name);
    let last = name.rsplit(['/', '\\']).next()?;
    let (stem, ending) = last.rsplit_once('.')?;
    let is_ending = (1..=5).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    // `self.name`, `e.g`, `1.5s` and `Foo.bar` look like files, too: without a folder only endings of sources count.
    let is_known = last.len() < name.len() || ENDINGS.contains(&ending);
    let is_stem = stem.chars().any(char::is_alphanumeric)
        && !stem.ends_with('.')
        && !stem.bytes().all(|byte| byte.is_ascii_digit());
    let is_foreign = FOREIGN.iter().any(|folder| name.contains(folder));
    (is_ending && is_known && is_stem && !is_foreign).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(named_files(text), expected, "of {text:?}");
    }

    #[test]
    fn files_are_found_as_tools_write_them() {
        check("  --> src/lib.rs:10:5", &["src/lib.rs"]);
        check("thread 'a' panicked at crates/a/src/b.rs:1:2:", &["crates/a/src/b.rs"]);
        check(
            "  File \"/home/dev/project/test_cart.py\", line 12, in test_total",
            &["/home/dev/project/test_cart.py"],
        );
        check(
            "    at file:///home/dev/project/a.mjs:3:7",
            &["/home/dev/project/a.mjs"],
        );
        check(
            "    at f (/home/dev/a.js:3:7)\n    at f (/home/dev/a.js:9:1)",
            &["/home/dev/a.js"],
        );
        check("./build.sh: line 3: frobnicate: command not found", &["build.sh"]);
        check("tests/test_a.py::test_b FAILED", &["tests/test_a.py"]);
        check("C:\\work\\a.ts:3:7 - error", &["C:\\work\\a.ts"]);
    }

    #[test]
    fn other_words_are_no_files() {
        check("self.total is 1.5s, e.g. 3.14 of https://example.org/a.html", &[]);
        check(
            "at Module._extensions..js (node:internal/modules/cjs/loader:1623:10)",
            &[],
        );
        check("at node:internal/test_runner/test.js:1:1", &[]);
        check("at /usr/lib/python3.11/unittest/case.py:57", &[]);
        check("/root/.cargo/registry/src/x/serde/src/lib.rs:1:1", &[]);
        check("and/or n/a 3/10 a::b", &[]);
    }
}
