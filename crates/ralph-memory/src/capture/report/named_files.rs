//! Finds file names in a program's output.

use std::path::Path;

use crate::capture::found_tags::EXTENSIONS;

/// Characters around a name.
const DELIMITERS: [char; 17] = [
    '\'', '"', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '=', '|', '*', '…',
];
/// Folders of the system and its tools. Files of a project in such a folder still count as its own.
const SYSTEM: [&str; 12] = [
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/local/",
    "/usr/include/",
    "/usr/share/",
    "/lib/",
    "/lib64/",
    "/opt/",
    "/rustc/",
    "/nix/store/",
    "/System/",
    "/Library/",
];
/// Folders for third-party code, which may be inside the project.
const THIRD_PARTY: [&str; 5] = ["node_modules", "site-packages", "dist-packages", ".rustup", ".pyenv"];
/// The maximum number of names per text.
const MAX_NAMES: usize = 200;

/// The files named in a text, as written, unique, in order, without line numbers. System and third-party files are
/// omitted; `root` is the project root.
#[must_use]
pub fn named_files<'a>(text: &'a str, root: &Path) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || DELIMITERS.contains(&c)) {
        if names.len() >= MAX_NAMES {
            break;
        }
        let Some(name) = file_of(word).filter(|name| !is_foreign(name, root)) else {
            continue;
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The path relative to the project root; `None` for files elsewhere.
pub(super) fn relative_to_root<'a>(name: &'a str, root: &Path) -> Option<&'a Path> {
    // With `/` as root, everything would be inside.
    root.parent()?;
    Path::new(name).strip_prefix(root).ok()
}

fn is_foreign(name: &str, root: &Path) -> bool {
    let below = relative_to_root(name, root);
    if below.is_none() && SYSTEM.iter().any(|folder| name.starts_with(folder)) {
        return true;
    }
    // A project inside such a folder is not third-party.
    let name = below.and_then(Path::to_str).unwrap_or(name);
    let mut parts = name.split(['/', '\\']).peekable();
    while let Some(part) = parts.next() {
        let next = parts.peek().copied().unwrap_or_default();
        let is_python = part == "lib" && next.strip_prefix("python").is_some_and(begins_with_digit);
        if is_python || THIRD_PARTY.contains(&part) || (part, next) == (".cargo", "registry") {
            return true;
        }
    }
    false
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// The file named by a word, if it looks like one: a name with an extension, optional folders and an optional line
/// number.
fn file_of(word: &str) -> Option<&str> {
    let word = word.strip_prefix("file://").unwrap_or(word);
    if word.contains("://") || word.starts_with("node:") {
        return None;
    }
    // `src/lib.rs:10:5:`, `tests/a.py::test_b`: a name ends at the first colon that does not follow a drive letter.
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
    let (stem, extension) = last.rsplit_once('.')?;
    let is_extension = (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    // `self.name`, `e.g`, `1.5s` and `Foo.bar` look like files: without a folder, only source extensions count.
    let is_known = last.len() < name.len() || EXTENSIONS.contains(&extension);
    let is_stem = stem.chars().any(char::is_alphanumeric)
        && !stem.ends_with('.')
        && !stem.bytes().all(|byte| byte.is_ascii_digit());
    (is_extension && is_known && is_stem).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        check_in("/home/dev/project", text, expected);
    }

    #[track_caller]
    fn check_in(root: &str, text: &str, expected: &[&str]) {
        assert_eq!(named_files(text, Path::new(root)), expected, "of {text:?} in {root}");
    }

    #[test]
    fn files_are_found_in_tool_formats() {
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
    fn other_words_are_not_files() {
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
    #[test]
    fn project_in_a_system_folder_has_own_files() {
        for root in [
            "/usr/src/app",
            "/opt/app",
            "/usr/local/lib/shop",
            "/home/dev/node_modules/shop",
        ] {
            let file = format!("{root}/lib/cart.py");
            check_in(root, &format!("File \"{file}\", line 3"), &[&file]);
            check_in(root, &format!("at f ({root}/node_modules/chai/index.js:1:1)"), &[]);
            check_in(root, "File \"/usr/lib/python3.11/json/decoder.py\", line 3", &[]);
        }
        check("/home/dev/shop/lib/cart.js:3", &["/home/dev/shop/lib/cart.js"]);
        check("packages/web/lib/cart.ts:3", &["packages/web/lib/cart.ts"]);
        check("lib/python/cart.py", &["lib/python/cart.py"]);
        check("src/usr/lib/a.c opt/b.c", &["src/usr/lib/a.c", "opt/b.c"]);
        // A gate in a container uses the container's paths.
        check("/usr/src/app/cart.py:3", &["/usr/src/app/cart.py"]);
    }

    #[test]
    fn third_party_files_inside_the_project_are_omitted() {
        check(
            "node_modules/chai/index.js:3 /home/dev/project/node_modules/a/b.js",
            &[],
        );
        check("/home/dev/project/.venv/lib/python3.11/site-packages/a/b.py", &[]);
        check("/home/dev/miniconda/lib/python3.12/json/decoder.py:3", &[]);
        check("/opt/tools/a.py /lib/b.py /rustc/1/c.rs", &[]);
        check_in("/", "/usr/lib/a.py", &[]);
    }
}
