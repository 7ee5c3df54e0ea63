//! Classifies the path of a code file: its language, whether it is a test and where, how its name is written.

/// Languages by file extension.
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
/// Names of script files that are modules by extension.
pub(super) const TYPESCRIPT: &str = "TypeScript";
pub(super) const ES_MODULES: &str = "ES modules";
/// Folders that contain only tests.
const TEST_FOLDERS: [&str; 5] = ["test", "tests", "__tests__", "spec", "specs"];
/// Prefix and suffixes of test file names.
const TEST_PREFIX: &str = "test_";
const TEST_SUFFIXES: [&str; 5] = ["_test", "_tests", "-test", "_spec", "-spec"];
/// The same in languages whose files are named after a type.
const TEST_WORDS: [&str; 2] = ["Tests", "Test"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeFile<'p> {
    pub(super) path: &'p str,
    pub(super) folders: Vec<&'p str>,
    pub(super) name: &'p str,
    pub(super) language: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestPlace<'p> {
    Beside,
    /// In a test folder of this name.
    In(&'p str),
}

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

impl<'p> CodeFile<'p> {
    /// Parses a path; `None` if it is not a code file.
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

    /// Where it is, if it is a test.
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

    /// How its name is written; `None` for a single lower-case word, which is ambiguous.
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

/// A stem without the prefix or suffix of a test.
fn bare(stem: &str) -> &str {
    let bare = stem.strip_prefix(TEST_PREFIX).unwrap_or(stem);
    let without = TEST_SUFFIXES.iter().find_map(|suffix| bare.strip_suffix(suffix));
    without.filter(|rest| !rest.is_empty()).unwrap_or(bare)
}

/// Whether a name ends with a word that follows another one, as in `ParserTest`.
fn is_word_behind(stem: &str, word: &str) -> bool {
    let before = stem.strip_suffix(word);
    before.is_some_and(|before| before.ends_with(char::is_lowercase) && before.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_places_of_code_files() {
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
    fn naming_of_files() {
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
