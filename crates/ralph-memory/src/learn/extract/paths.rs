//! What the path of a file of code tells: its language, whether it is a test and where that stands, how its name is written.

/// Languages by the endings of their files.
const LANGUAGES: [(&str, &[&str]); 18] = [
    ("Rust", &["rs"]),
    (TYPESCRIPT, &["ts", "tsx", "mts", "cts"]),
    (ES_MODULES, &["mjs"]),
    ("JavaScript", &["js", "jsx", "cjs"]),
    ("Python", &["py"]),
    ("Go", &["go"]),
    ("Java", &["java"]),
    ("Kotlin", &["kt", "kts"]),
    ("Ruby", &["rb"]),
    ("C", &["c", "h"]),
    ("C++", &["cpp", "cc", "cxx", "hpp", "hh"]),
    ("C#", &["cs"]),
    ("Swift", &["swift"]),
    ("PHP", &["php"]),
    ("Scala", &["scala"]),
    ("Elixir", &["ex", "exs"]),
    ("Shell", &["sh", "bash"]),
    ("Zig", &["zig"]),
];
/// What is said of script files that are modules by their ending.
pub(super) const TYPESCRIPT: &str = "TypeScript";
pub(super) const ES_MODULES: &str = "ES modules";
/// Folders that hold tests and nothing else.
const TEST_FOLDERS: [&str; 5] = ["test", "tests", "__tests__", "spec", "specs"];
/// What stands before or behind what a test is of.
const TEST_PREFIX: &str = "test_";
const TEST_SUFFIXES: [&str; 5] = ["_test", "_tests", "-test", "_spec", "-spec"];
/// The same in languages whose files are called like what is in them.
const TEST_WORDS: [&str; 2] = ["Tests", "Test"];

/// A file of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeFile<'p> {
    pub(super) path: &'p str,
    pub(super) folders: Vec<&'p str>,
    pub(super) name: &'p str,
    pub(super) language: &'static str,
}

/// Where a test stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestPlace<'p> {
    /// Beside what it tests.
    Beside,
    /// In a folder of tests, of this name.
    In(&'p str),
}

/// How the words of a name are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naming {
    Snake,
    Kebab,
    Camel,
    Pascal,
}

impl Naming {
    pub(super) const ALL: [Self; 4] = [Self::Snake, Self::Kebab, Self::Camel, Self::Pascal];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Snake => "snake_case",
            Self::Kebab => "kebab-case",
            Self::Camel => "camelCase",
            Self::Pascal => "PascalCase",
        }
    }
}

/// Whether this is the name of a language.
pub(super) fn is_language(name: &str) -> bool {
    LANGUAGES.iter().any(|(language, _)| *language == name)
}

impl<'p> CodeFile<'p> {
    /// A file of code; none for any other.
    pub(super) fn of(path: &'p str) -> Option<Self> {
        let mut folders: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let name = folders.pop()?;
        let (stem, ending) = name.rsplit_once('.')?;
        let is_of = |(_, endings): &&(&str, &[&str])| endings.contains(&ending);
        let (language, _) = LANGUAGES.iter().find(is_of)?;
        (!stem.is_empty()).then_some(Self {
            path,
            folders,
            name,
            language,
        })
    }

    /// The name up to its first dot.
    pub(super) fn stem(&self) -> &'p str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Where it stands if it is a test.
    pub(super) fn test_place(&self) -> Option<TestPlace<'p>> {
        let folder = self.folders.iter().find(|folder| TEST_FOLDERS.contains(folder));
        match folder {
            Some(folder) => Some(TestPlace::In(folder)),
            None => self.has_name_of_test().then_some(TestPlace::Beside),
        }
    }

    fn has_name_of_test(&self) -> bool {
        let stem = self.stem();
        self.name.contains(".test.")
            || self.name.contains(".spec.")
            || stem == "tests"
            || bare(stem).len() < stem.len()
            || TEST_WORDS.iter().any(|word| is_word_behind(stem, word))
    }

    /// How its name is written; none where it is a single word in small letters, which tells nothing.
    pub(super) fn naming(&self) -> Option<Naming> {
        let bare = bare(self.stem());
        let has = |is: fn(char) -> bool| bare.chars().any(is);
        let (small, large) = (has(char::is_lowercase), has(char::is_uppercase));
        let joined = (bare.contains('_'), bare.contains('-'));
        match joined {
            (true, false) if small && !large && !bare.starts_with('_') => Some(Naming::Snake),
            (false, true) if small && !large => Some(Naming::Kebab),
            (false, false) if small && large && bare.starts_with(char::is_uppercase) => Some(Naming::Pascal),
            (false, false) if small && large => Some(Naming::Camel),
            _ => None,
        }
    }
}

/// A stem without what makes it the name of a test.
fn bare(stem: &str) -> &str {
    let bare = stem.strip_prefix(TEST_PREFIX).unwrap_or(stem);
    let without = TEST_SUFFIXES.iter().find_map(|suffix| bare.strip_suffix(suffix));
    without.filter(|rest| !rest.is_empty()).unwrap_or(bare)
}

/// Whether a name ends with a word behind another one, as in `ParserTest`.
fn is_word_behind(stem: &str, word: &str) -> bool {
    let before = stem.strip_suffix(word);
    before.is_some_and(|before| before.ends_with(char::is_lowercase) && before.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_code_tell_what_they_are() {
        let place = |path| CodeFile::of(path).and_then(|file| file.test_place());
        for (path, expected) in [
            ("src/auth/login.test.ts", Some(TestPlace::Beside)),
            ("test/integration/api.test.mjs", Some(TestPlace::In("test"))),
            ("crates/a/tests/cli/main.rs", Some(TestPlace::In("tests"))),
            ("src/parse_tests.rs", Some(TestPlace::Beside)),
            ("src/parse/tests.rs", Some(TestPlace::Beside)),
            ("pkg/parse_test.go", Some(TestPlace::Beside)),
            ("test_parse.py", Some(TestPlace::Beside)),
            ("src/ParserTest.java", Some(TestPlace::Beside)),
            ("src/latest.rs", None),
            ("src/contest.ts", None),
            ("src/Latest.java", None),
            ("src/inspect.rs", None),
        ] {
            assert_eq!(place(path), expected, "{path}");
        }
        for path in ["README.md", "Cargo.lock", "tests/data.json", "LICENSE", ".rs", ""] {
            assert_eq!(CodeFile::of(path), None, "{path}");
        }
    }

    #[test]
    fn names_tell_how_they_are_written() {
        for (path, expected) in [
            ("src/by_name.rs", Some(Naming::Snake)),
            ("src/by-name.ts", Some(Naming::Kebab)),
            ("src/byName.ts", Some(Naming::Camel)),
            ("src/ByName.tsx", Some(Naming::Pascal)),
            ("src/Button.tsx", Some(Naming::Pascal)),
            ("src/name.rs", None),
            ("src/name_test.go", None),
            ("pkg/__init__.py", None),
            ("src/login.test.ts", None),
            ("src/user-login.test.ts", Some(Naming::Kebab)),
        ] {
            let naming = CodeFile::of(path).and_then(|file| file.naming());
            assert_eq!(naming, expected, "{path}");
        }
    }
}
