//! Infers tags from the files, error types and tools that a text names. They connect learnings with later tasks on the
//! same subject, and similar tasks with each other.

use ralph_model::ErrorCategory;

use super::clean::clean;

/// The maximum number of inferred tags.
pub const MAX_FOUND_TAGS: usize = 12;
/// The maximum of each kind, so that no kind crowds out the others. Changed files use what is left.
const MAX_PATHS: usize = 5;
const MAX_ERRORS: usize = 3;
const MAX_TOOLS: usize = 3;

/// How much of each text is scanned, in characters.
const MAX_SCANNED: usize = 20_000;
/// Longer paths are too specific to match anything.
const MAX_PATH: usize = 120;
/// The maximum length of a file extension, in characters.
const MAX_EXTENSION: usize = 10;

/// Extensions that make a name without a folder a file name; others may be fields, methods or hosts.
pub(super) const EXTENSIONS: [&str; 76] = [
    "bash", "bat", "c", "cc", "cfg", "cjs", "clj", "conf", "cpp", "cs", "css", "csv", "cts", "cxx", "dart", "db",
    "diff", "erl", "ex", "exs", "fs", "go", "gradle", "h", "hpp", "hs", "html", "hxx", "ini", "ipynb", "java", "jl",
    "js", "json", "jsonl", "jsx", "kt", "kts", "less", "lock", "log", "lua", "m", "md", "mjs", "ml", "mod", "mts",
    "nix", "patch", "php", "pl", "proto", "ps1", "py", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "sqlite",
    "svelte", "swift", "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig", "zsh",
];
/// File names without extension.
const BARE_FILES: [&str; 6] = [
    "dockerfile",
    "gemfile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "rakefile",
];

/// Tools with unambiguous names; words like "make" and "go" are too common.
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

/// Error names of the operating system.
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

/// The files, error types and tools that the texts name, then the changed files: in lower case, unique, at most
/// [`MAX_FOUND_TAGS`], in a fixed order.
#[must_use]
pub fn found_tags(texts: &[&str], files: &[String], category: Option<ErrorCategory>) -> Vec<String> {
    TaskTags::of(texts, files, category).all()
}

/// The tags of a task's texts, computed once for all its learnings.
#[derive(Debug, Clone)]
pub struct TaskTags {
    named: Vec<Named>,
    files: Vec<String>,
    category: Option<ErrorCategory>,
}

impl TaskTags {
    /// See [`found_tags`].
    #[must_use]
    pub fn of(texts: &[&str], files: &[String], category: Option<ErrorCategory>) -> Self {
        let is_tag = |file: &&String| is_valid_tag(file) && !is_memory_file(file) && clean(file, MAX_SCANNED) == **file;
        Self {
            named: texts.iter().map(|text| Named::in_text(text)).collect(),
            // Twice the limit, because some may be named in the texts already.
            files: files.iter().filter(is_tag).take(2 * MAX_FOUND_TAGS).cloned().collect(),
            category: category.filter(|category| *category != ErrorCategory::Unknown),
        }
    }

    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.combined_with(&[])
    }

    /// The tags of a text and the task, those of the text first.
    #[must_use]
    pub fn with(&self, text: &str) -> Vec<String> {
        self.combined_with(&[Named::in_text(text)])
    }

    fn combined_with(&self, first: &[Named]) -> Vec<String> {
        let mut named = Named::default();
        if let Some(category) = self.category {
            named.errors.add(category.word());
        }
        for other in first.iter().chain(&self.named) {
            named.paths.add_all(&other.paths);
            named.errors.add_all(&other.errors);
            named.tools.add_all(&other.tools);
        }
        let mut all = Kind::with_limit(MAX_FOUND_TAGS);
        for kind in [&named.paths, &named.errors, &named.tools] {
            all.add_all(kind);
        }
        for file in &self.files {
            all.add(file);
        }
        all.tags
    }
}

#[derive(Debug, Clone)]
struct Named {
    paths: Kind,
    errors: Kind,
    tools: Kind,
}

impl Default for Named {
    fn default() -> Self {
        Self {
            paths: Kind::with_limit(MAX_PATHS),
            errors: Kind::with_limit(MAX_ERRORS),
            tools: Kind::with_limit(MAX_TOOLS),
        }
    }
}

impl Named {
    fn in_text(text: &str) -> Self {
        let mut named = Self::default();
        // Secrets are masked first, so they never become tags.
        let text = clean(beginning(text), MAX_SCANNED);
        for token in text.split(is_separator) {
            if let Some(path) = path_in(token) {
                named.paths.add(path);
                continue;
            }
            // A URL, or a path that is not a file.
            if token.contains('/') && token.contains(['.', ':']) {
                continue;
            }
            for word in token.split(|c: char| !c.is_ascii_alphanumeric()) {
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

/// The part of a text to clean before scanning. It is longer than what is scanned, so that no secret is cut at the end.
fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(2 * MAX_SCANNED).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Whether a tag is the name of a tool. Tools are too common to make two tasks similar.
#[must_use]
pub fn is_tool(tag: &str) -> bool {
    TOOLS.contains(&tag)
}

/// Whether a tag is a path. Most paths are files changed in the same iteration, so they tell where something was
/// learned rather than what it is about.
#[must_use]
pub fn is_path(tag: &str) -> bool {
    tag.contains('/') || is_file_name(tag)
}

#[derive(Debug, Clone)]
struct Kind {
    tags: Vec<String>,
    most: usize,
}

impl Kind {
    fn with_limit(most: usize) -> Self {
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

/// Characters that no path in a text contains.
fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '|' | '=' | '*'
        )
}

/// The path in a token, without line and column.
fn path_in(token: &str) -> Option<&str> {
    if token.contains("://") || token.starts_with("www.") {
        return None;
    }
    let path = token.split(':').next().unwrap_or_default();
    let path = path.trim_end_matches(['.', '!', '?']);
    let path = path.strip_prefix("./").unwrap_or(path);
    (is_valid_tag(path) && is_file_name(path)).then_some(path)
}

fn is_file_name(path: &str) -> bool {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (Some(folder), name),
        None => (None, path),
    };
    if BARE_FILES.contains(&name.to_ascii_lowercase().as_str()) {
        return true;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let is_extension = extension.chars().next().is_some_and(char::is_alphabetic)
        && extension.chars().all(char::is_alphanumeric)
        && extension.chars().count() <= MAX_EXTENSION;
    let is_known = || EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str());
    match folder {
        // A host followed by a path looks like a folder with a dot in its name.
        Some(folder) => is_extension && (is_known() || !folder.trim_start_matches(['.', '/']).contains('.')),
        None => is_extension && !stem.is_empty() && is_known(),
    }
}

/// Whether it is short enough and has only path characters.
fn is_valid_tag(path: &str) -> bool {
    let is_path_char = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | '~' | '#');
    path.chars().any(char::is_alphanumeric) && path.chars().count() <= MAX_PATH && path.chars().all(is_path_char)
}

/// Files of ralph's memory change with every task, so they are useless as tags.
fn is_memory_file(file: &str) -> bool {
    matches!(file.split('/').next(), Some(".agent" | ".ralph"))
}

/// Whether a word is a compiler's error code, the name of an error type, or an operating system error.
fn is_error(word: &str) -> bool {
    let is_numbered = |prefix: &str| {
        word.strip_prefix(prefix)
            .is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_named = |extension: &str| {
        word.strip_suffix(extension)
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
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
    fn task_tags_match_found_tags() {
        let files = ["src/a.rs", "src/lib.rs", ".ralph/x.md"].map(str::to_owned);
        let texts = [
            "Repair src/lib.rs",
            "cargo says E0308 at b.rs, c.rs, d.rs, e.rs and f.rs",
        ];
        let tags = TaskTags::of(&texts, &files, Some(ErrorCategory::TestFailure));
        assert_eq!(tags.all(), found_tags(&texts, &files, Some(ErrorCategory::TestFailure)));
        for learning in [
            "",
            "git knows README.md",
            "SRC/LIB.RS fails with ValueError under npm, git, jq and curl",
        ] {
            let all = [learning, texts[0], texts[1]];
            let expected = found_tags(&all, &files, Some(ErrorCategory::TestFailure));
            assert_eq!(tags.with(learning), expected, "{learning}");
        }
    }

    #[test]
    fn only_the_beginning_of_long_texts_is_scanned() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let (before, after) = ("x ".repeat(MAX_SCANNED / 2 - 10), "y ".repeat(MAX_SCANNED));
        check(&format!("src/a.rs {before}{token}.rs {after}src/b.rs"), &["src/a.rs"]);
        // If more than the beginning were cleaned, the invisible characters would be removed.
        check(
            &format!("src/a.rs {} src/b.rs", "\u{200b}".repeat(2 * MAX_SCANNED)),
            &["src/a.rs"],
        );
    }

    #[test]
    fn files_are_recognised_by_extension() {
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
    fn urls_versions_and_fields_are_not_files() {
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
    fn errors_and_tools_are_whole_words() {
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
    fn failure_category_and_changed_files_follow() {
        let files = ["src/A.rs", ".agent/memories.md", "b", "with blank.rs"].map(str::to_owned);
        assert_eq!(
            found_tags(&["git: src/a.rs"], &files, Some(ErrorCategory::TestFailure)),
            ["src/a.rs", "test_failure", "git", "b"]
        );
        assert_eq!(found_tags(&[], &[], Some(ErrorCategory::Unknown)), Vec::<String>::new());
    }

    #[test]
    fn no_kind_crowds_out_the_others() {
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
    fn secrets_are_not_tags() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        check(&format!("{token}/x.rs and lib.rs"), &["/x.rs", "lib.rs"]);
        assert_eq!(found_tags(&[], &[format!("{token}.rs")], None), [] as [&str; 0]);
    }

    proptest! {
        #[test]
        fn any_text_gives_valid_tags(
            text in "(\\PC|src/a\\.rs|E0308|cargo|\\n){0,40}",
            files in proptest::collection::vec("\\PC{0,12}", 0..20),
        ) {
            let found = found_tags(&[&text], &files, Some(ErrorCategory::Timeout));
            prop_assert!(found.len() <= MAX_FOUND_TAGS);
            for (at, tag) in found.iter().enumerate() {
                prop_assert_eq!(tag, &tag.to_lowercase());
                prop_assert!(!tag.contains([',', '|', '<', '>', '\n', ' ']), "{}", tag);
                prop_assert!(!found.iter().take(at).any(|earlier| earlier == tag));
            }
        }
    }
}
