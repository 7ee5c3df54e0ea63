//! Completes tags: the files, kinds of errors and tools that texts name. By them a lesson is found at the next task that
//! has to do with the same, and tasks are found to be alike.

use ralph_model::ErrorCategory;

use super::clean::clean;

/// How many tags are found at most …
pub const MOST_FOUND_TAGS: usize = 12;
/// … and how many of each kind, so that none takes the place of the others. Files that were changed take what is left.
const MOST_PATHS: usize = 5;
const MOST_ERRORS: usize = 3;
const MOST_TOOLS: usize = 3;

/// How much of each text is looked at, in characters.
const LOOKED_AT: usize = 20_000;
/// The longest path that is a tag, in characters. A longer one is found by nobody.
const LONGEST_PATH: usize = 120;
/// The longest ending of a file's name, in characters.
const LONGEST_ENDING: usize = 10;

/// Endings by which a name without a folder is that of a file; others may be fields, methods or hosts.
pub(super) const ENDINGS: [&str; 76] = [
    "bash", "bat", "c", "cc", "cfg", "cjs", "clj", "conf", "cpp", "cs", "css", "csv", "cts", "cxx", "dart", "db",
    "diff", "erl", "ex", "exs", "fs", "go", "gradle", "h", "hpp", "hs", "html", "hxx", "ini", "ipynb", "java", "jl",
    "js", "json", "jsonl", "jsx", "kt", "kts", "less", "lock", "log", "lua", "m", "md", "mjs", "ml", "mod", "mts",
    "nix", "patch", "php", "pl", "proto", "ps1", "py", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "sqlite",
    "svelte", "swift", "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig", "zsh",
];
/// Files that have no ending.
const BARE_FILES: [&str; 6] = [
    "dockerfile",
    "gemfile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "rakefile",
];

/// Tools whose names mean nothing else: "make" and "go" are words of every second task.
const TOOLS: [&str; 66] = [
    "ansible",
    "apt",
    "bash",
    "bazel",
    "brew",
    "cargo",
    "clang",
    "clippy",
    "cmake",
    "composer",
    "conda",
    "criterion",
    "curl",
    "cypress",
    "deno",
    "docker",
    "eslint",
    "ffmpeg",
    "gcc",
    "gdb",
    "git",
    "gradle",
    "grep",
    "helm",
    "insta",
    "jest",
    "jq",
    "kubectl",
    "kubernetes",
    "lldb",
    "maven",
    "mocha",
    "mypy",
    "mysql",
    "nextest",
    "nginx",
    "npm",
    "npx",
    "openssl",
    "phpunit",
    "pip",
    "playwright",
    "pnpm",
    "podman",
    "poetry",
    "postgres",
    "postgresql",
    "prettier",
    "proptest",
    "psql",
    "pylint",
    "pytest",
    "redis",
    "rspec",
    "ruff",
    "rustc",
    "rustfmt",
    "sqlite",
    "systemd",
    "terraform",
    "tox",
    "tsc",
    "unittest",
    "valgrind",
    "vitest",
    "webpack",
];

/// Failures of the operating system that are known by a word.
const SYSTEM_ERRORS: [&str; 24] = [
    "EACCES",
    "EADDRINUSE",
    "EAGAIN",
    "EBUSY",
    "ECONNREFUSED",
    "ECONNRESET",
    "EEXIST",
    "EINTR",
    "EINVAL",
    "EISDIR",
    "EMFILE",
    "ENOENT",
    "ENOMEM",
    "ENOSPC",
    "ENOTDIR",
    "ENOTEMPTY",
    "EPERM",
    "EPIPE",
    "EROFS",
    "ERESOLVE",
    "ETIMEDOUT",
    "SIGABRT",
    "SIGKILL",
    "SIGSEGV",
];

/// The files, kinds of errors and tools that texts name, then the files that were changed: in lower case, each once, at most
/// [`MOST_FOUND_TAGS`], always in the same order.
#[must_use]
pub fn found_tags(texts: &[&str], files: &[String], category: Option<ErrorCategory>) -> Vec<String> {
    TaskTags::of(texts, files, category).all()
}

/// What the texts of a task name, which is found once for all its lessons.
#[derive(Debug, Clone)]
pub struct TaskTags {
    named: Vec<Named>,
    files: Vec<String>,
    category: Option<ErrorCategory>,
}

impl TaskTags {
    /// Looks for tags in texts; see [`found_tags`].
    #[must_use]
    pub fn of(texts: &[&str], files: &[String], category: Option<ErrorCategory>) -> Self {
        let is_tag = |file: &&String| is_a_tag(file) && !is_of_the_memory(file) && clean(file, LOOKED_AT) == **file;
        Self {
            named: texts.iter().map(|text| Named::in_text(text)).collect(),
            // Some may be named in the texts, and so give way to others.
            files: files.iter().filter(is_tag).take(2 * MOST_FOUND_TAGS).cloned().collect(),
            category: category.filter(|category| *category != ErrorCategory::Unknown),
        }
    }

    /// All tags.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.behind(&[])
    }

    /// The tags that a text and the task have, those of the text first.
    #[must_use]
    pub fn with(&self, text: &str) -> Vec<String> {
        self.behind(&[Named::in_text(text)])
    }

    fn behind(&self, first: &[Named]) -> Vec<String> {
        let mut named = Named::default();
        if let Some(category) = self.category {
            named.errors.add(category.word());
        }
        for other in first.iter().chain(&self.named) {
            named.paths.add_all(&other.paths);
            named.errors.add_all(&other.errors);
            named.tools.add_all(&other.tools);
        }
        let mut all = Kind::of_at_most(MOST_FOUND_TAGS);
        for kind in [&named.paths, &named.errors, &named.tools] {
            all.add_all(kind);
        }
        for file in &self.files {
            all.add(file);
        }
        all.tags
    }
}

/// What a text names.
#[derive(Debug, Clone)]
struct Named {
    paths: Kind,
    errors: Kind,
    tools: Kind,
}

impl Default for Named {
    fn default() -> Self {
        Self {
            paths: Kind::of_at_most(MOST_PATHS),
            errors: Kind::of_at_most(MOST_ERRORS),
            tools: Kind::of_at_most(MOST_TOOLS),
        }
    }
}

impl Named {
    fn in_text(text: &str) -> Self {
        let mut named = Self::default();
        // Whoever wrote the text: what looks like a secret is no tag.
        let text = clean(beginning(text), LOOKED_AT);
        for token in text.split(ends_token) {
            if let Some(path) = path_in(token) {
                named.paths.add(path);
                continue;
            }
            // An address, or a path that is none of a file.
            if token.contains('/') && token.contains(['.', ':']) {
                continue;
            }
            for word in token.split(|sign: char| !sign.is_ascii_alphanumeric()) {
                if is_error(word) {
                    named.errors.add(word);
                } else if is_tool(&word.to_ascii_lowercase()) {
                    named.tools.add(word);
                }
            }
        }
        named
    }
}

/// What has to be cleaned of a text, so that what is looked at of it is clean: with so much behind it that no secret is cut.
fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(2 * LOOKED_AT).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Whether a tag is the name of a tool. Half of a project's tasks may name the same one, so by it alone none is like another.
#[must_use]
pub fn is_tool(tag: &str) -> bool {
    TOOLS.contains(&tag)
}

/// Whether a tag is a path. Most of these are files that happened to change in an iteration, so they say where a lesson was
/// learned, and not always what it is about.
#[must_use]
pub fn is_path(tag: &str) -> bool {
    tag.contains('/') || names_a_file(tag)
}

/// Tags of one kind, each once.
#[derive(Debug, Clone)]
struct Kind {
    tags: Vec<String>,
    most: usize,
}

impl Kind {
    fn of_at_most(most: usize) -> Self {
        Self { tags: Vec::new(), most }
    }

    fn add(&mut self, found: &str) {
        if self.tags.len() >= self.most {
            return;
        }
        let tag = found.to_lowercase();
        if !self.tags.contains(&tag) {
            self.tags.push(tag);
        }
    }

    fn add_all(&mut self, others: &Self) {
        for tag in &others.tags {
            self.add(tag);
        }
    }
}

/// Signs that no path in a text has.
fn ends_token(sign: char) -> bool {
    sign.is_whitespace()
        || matches!(
            sign,
            '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '|' | '=' | '*'
        )
}

/// The path that a token is, without the line and column that may follow it.
fn path_in(token: &str) -> Option<&str> {
    if token.contains("://") || token.starts_with("www.") {
        return None;
    }
    let path = token.split(':').next().unwrap_or_default();
    let path = path.trim_end_matches(['.', '!', '?']);
    let path = path.strip_prefix("./").unwrap_or(path);
    (is_a_tag(path) && names_a_file(path)).then_some(path)
}

fn names_a_file(path: &str) -> bool {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (Some(folder), name),
        None => (None, path),
    };
    if BARE_FILES.contains(&name.to_ascii_lowercase().as_str()) {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    let is_ending = ending.chars().next().is_some_and(char::is_alphabetic)
        && ending.chars().all(char::is_alphanumeric)
        && ending.chars().count() <= LONGEST_ENDING;
    let is_known = || ENDINGS.contains(&ending.to_ascii_lowercase().as_str());
    match folder {
        // A host with a path behind it looks like a folder with a dot in its name.
        Some(folder) => is_ending && (is_known() || !folder.trim_start_matches(['.', '/']).contains('.')),
        None => is_ending && !stem.is_empty() && is_known(),
    }
}

/// Whether it can be a tag at all: of signs that paths are made of, and not too long.
fn is_a_tag(path: &str) -> bool {
    let is_sign = |sign: char| sign.is_alphanumeric() || matches!(sign, '/' | '.' | '_' | '-' | '+' | '@' | '~' | '#');
    path.chars().any(char::is_alphanumeric) && path.chars().count() <= LONGEST_PATH && path.chars().all(is_sign)
}

/// Files of the memory change with every task, so they tell nothing about one.
fn is_of_the_memory(file: &str) -> bool {
    matches!(file.split('/').next(), Some(".agent" | ".ralph"))
}

/// Whether a word is a kind of error: a number of a compiler's, a name that ends so, or one of the operating system's.
fn is_error(word: &str) -> bool {
    let is_numbered = |prefix: &str| {
        word.strip_prefix(prefix)
            .is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_named = |ending: &str| {
        word.strip_suffix(ending)
            .is_some_and(|name| name.starts_with(|sign: char| sign.is_ascii_uppercase()))
    };
    is_numbered("E") || is_numbered("TS") || is_named("Error") || is_named("Exception") || SYSTEM_ERRORS.contains(&word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(found_tags(&[text], &[], None), expected, "{text}");
    }

    #[test]
    fn the_tags_of_a_task_are_found_once_for_all_its_lessons() {
        let files = ["src/a.rs", "src/lib.rs", ".ralph/x.md"].map(str::to_owned);
        let texts = ["Mend src/lib.rs", "cargo says E0308 at b.rs, c.rs, d.rs, e.rs and f.rs"];
        let tags = TaskTags::of(&texts, &files, Some(ErrorCategory::TestFailure));
        assert_eq!(tags.all(), found_tags(&texts, &files, Some(ErrorCategory::TestFailure)));
        for lesson in [
            "",
            "git knows README.md",
            "SRC/LIB.RS fails with ValueError under npm, git, jq and curl",
        ] {
            let all = [lesson, texts[0], texts[1]];
            let expected = found_tags(&all, &files, Some(ErrorCategory::TestFailure));
            assert_eq!(tags.with(lesson), expected, "{lesson}");
        }
    }

    #[test]
    fn of_a_long_text_the_beginning_is_looked_at() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let (before, after) = ("x ".repeat(LOOKED_AT / 2 - 10), "y ".repeat(LOOKED_AT));
        check(&format!("src/a.rs {before}{token}.rs {after}src/b.rs"), &["src/a.rs"]);
        // Nothing but the beginning is even cleaned, or what is invisible in it would be gone.
        check(
            &format!("src/a.rs {} src/b.rs", "\u{200b}".repeat(2 * LOOKED_AT)),
            &["src/a.rs"],
        );
    }

    #[test]
    fn files_are_known_by_their_endings() {
        check("Fix src/lib.rs and Cargo.toml.", &["src/lib.rs", "cargo.toml"]);
        check("See `./docs/A B.md` (src/größe.rs:12:5)!", &["b.md", "src/größe.rs"]);
        check(
            "In the Makefile and docker/Dockerfile",
            &["makefile", "docker/dockerfile"],
        );
        check(
            "templates/page.html.j2, a/b.unknown",
            &["templates/page.html.j2", "a/b.unknown"],
        );
    }

    #[test]
    fn addresses_versions_and_fields_are_no_files() {
        for text in [
            "https://example.com/a/b.rs",
            "http://h/x.py?y=1",
            "www.example.com/a.html",
            "version 1.2.3 or v0.9.1, 3.5 seconds",
            "self.value.len() and os.path",
            "e.g. this, i.e. that",
            "github.com/owner/name.git",
            "and/or",
            "...",
            "a/b/",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn kinds_of_errors_and_tools_are_whole_words() {
        check(
            "error[E0308]: TypeError and TS2322, ENOENT",
            &["e0308", "typeerror", "ts2322"],
        );
        check("java.lang.NullPointerException", &["nullpointerexception"]);
        check("An Error, E03081, ENOENTRY, the terror", &[]);
        check(
            "Run `cargo test`, then npm; legit github docker-compose",
            &["cargo", "npm", "docker"],
        );
    }

    #[test]
    fn the_kind_of_failure_and_changed_files_follow() {
        let files = ["src/A.rs", ".agent/memories.md", "b", "with blank.rs"].map(str::to_owned);
        assert_eq!(
            found_tags(&["git: src/a.rs"], &files, Some(ErrorCategory::TestFailure)),
            ["src/a.rs", "test_failure", "git", "b"]
        );
        assert_eq!(found_tags(&[], &[], Some(ErrorCategory::Unknown)), Vec::<String>::new());
    }

    #[test]
    fn no_kind_takes_the_place_of_the_others() {
        let paths: Vec<String> = (0..20).map(|number| format!("src/{number}.rs")).collect();
        let changed: Vec<String> = (0..20).map(|number| format!("changed/{number}.rs")).collect();
        let text = format!("{} E0001 E0002 E0003 E0004 cargo npm git docker", paths.join(" "));
        let found = found_tags(&[&text], &changed, None);
        assert_eq!(
            found,
            [
                "src/0.rs",
                "src/1.rs",
                "src/2.rs",
                "src/3.rs",
                "src/4.rs",
                "e0001",
                "e0002",
                "e0003",
                "cargo",
                "npm",
                "git",
                "changed/0.rs"
            ]
        );
    }

    #[test]
    fn a_secret_is_no_tag() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        check(&format!("{token}/x.rs and lib.rs"), &["/x.rs", "lib.rs"]);
        assert_eq!(found_tags(&[], &[format!("{token}.rs")], None), [] as [&str; 0]);
    }

    proptest! {
        #[test]
        fn any_text_gives_tags_that_are_tags(
            text in "(\\PC|src/a\\.rs|E0308|cargo|\\n){0,40}",
            files in proptest::collection::vec("\\PC{0,12}", 0..20),
        ) {
            let found = found_tags(&[&text], &files, Some(ErrorCategory::Timeout));
            prop_assert!(found.len() <= MOST_FOUND_TAGS);
            for (at, tag) in found.iter().enumerate() {
                prop_assert_eq!(tag, &tag.to_lowercase());
                prop_assert!(!tag.contains([',', '|', '<', '>', '\n', ' ']), "{}", tag);
                prop_assert!(!found.iter().take(at).any(|earlier| earlier == tag));
            }
        }
    }
}
