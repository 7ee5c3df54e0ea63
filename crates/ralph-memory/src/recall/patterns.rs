//! Patterns that learnings are selected by besides words: errors that occurred, and files that the work is about.

use ralph_model::{Facts, Learning, LearningKind};
use ralph_search::{Phrase, Phrases};

use crate::text_category::{Category, CategoryKind, category_of};

/// A text up to this many words is searched as a whole phrase; a longer one is program output and is searched for
/// phrases.
const LONGEST_PATTERN: usize = 8;

/// An error that occurred: a few words, or everything that was printed.
#[derive(Debug)]
pub struct ErrorPattern {
    text: String,
    /// The phrase to find in warnings.
    phrase: Option<Phrase>,
    /// The output in which a warning's error is searched.
    printed: Phrases,
    /// The known failure behind it, by the name that runs use in extracted warnings.
    failure: Option<&'static Category>,
}

impl ErrorPattern {
    /// Parses an error; `None` if the text has no words.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let is_short = text.split_whitespace().nth(LONGEST_PATTERN).is_none();
        let phrase = Phrase::of(text)?;
        Some(Self {
            text: text.to_owned(),
            phrase: is_short.then_some(phrase),
            printed: Phrases::of([text]),
            failure: known_failure(text),
        })
    }

    /// The queries by which its warnings are searched: its own words and those of its failure.
    pub(super) fn asked(&self) -> Vec<String> {
        let of_failure = self.failure.map(Category::words);
        [self.text.clone()].into_iter().chain(of_failure).collect()
    }

    /// How many of these errors a learning warns of. Several descriptions of one failure, by name and by output, count
    /// once.
    #[must_use]
    pub fn count_in(errors: &[Self], learning: &Learning) -> usize {
        let found = errors.iter().filter(|error| error.is_in(learning));
        let (of_failures, others): (Vec<&Self>, Vec<&Self>) = found.partition(|error| error.failure.is_some());
        let mut failures: Vec<&Category> = Vec::new();
        for failure in of_failures.into_iter().filter_map(|error| error.failure) {
            if !failures.contains(&failure) {
                failures.push(failure);
            }
        }
        failures.len() + others.len()
    }

    #[must_use]
    pub fn is_in(&self, learning: &Learning) -> bool {
        if learning.kind != LearningKind::Antipattern {
            return false;
        }
        let text = learning.content.trim();
        let said = Phrases::of([text]);
        if self.phrase.as_ref().is_some_and(|phrase| said.hold(phrase)) {
            return true;
        }
        let Some(Facts::Antipattern { error: Some(error), .. }) = &learning.facts else {
            return false;
        };
        // A single word occurs in too much output.
        let is_phrase = error.split_whitespace().nth(1).is_some();
        let is_printed = is_phrase && Phrase::of(error).is_some_and(|error| self.printed.hold(&error));
        is_printed
            || self
                .failure
                .is_some_and(|failure| known_failure(error) == Some(failure))
    }
}

fn known_failure(text: &str) -> Option<&'static Category> {
    category_of(text, CategoryKind::Failure)
}

/// Patterns for file paths.
#[derive(Debug, Clone, Default)]
pub struct FilePatterns(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// A literal part of a path, except for `*`, which matches anything within one name.
    Part(String),
    /// A file, or a folder with a trailing `/`; special characters are literal.
    Place(String),
}

impl FilePatterns {
    /// User-written patterns. Empty ones are dropped, because they would match every path.
    #[must_use]
    pub fn of(patterns: &[String]) -> Self {
        let patterns = patterns.iter().map(|pattern| pattern.trim());
        Self(
            patterns
                .filter(|pattern| !pattern.is_empty())
                .map(|pattern| Pattern::Part(pattern.to_owned()))
                .collect(),
        )
    }

    /// The patterns for work on some files: the files and their folders. The project root and top-level folders are too
    /// broad and are left out.
    #[must_use]
    pub fn around(files: &[String]) -> Self {
        let mut patterns: Vec<Pattern> = Vec::new();
        for file in files {
            let folder = file.rsplit_once('/').map(|(folder, _)| folder);
            let folder = folder
                .filter(|folder| folder.contains('/'))
                .map(|folder| format!("{folder}/"));
            for pattern in [Some(file.clone()), folder].into_iter().flatten().map(Pattern::Place) {
                if !patterns.contains(&pattern) {
                    patterns.push(pattern);
                }
            }
        }
        Self(patterns)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The longest literal part of each pattern, to preselect candidates.
    #[must_use]
    pub fn longest_parts(&self) -> Vec<String> {
        let longest = |pattern: &Pattern| match pattern {
            Pattern::Part(part) => {
                let parts = part.split('*').max_by_key(|part| part.len());
                parts.unwrap_or_default().to_owned()
            }
            Pattern::Place(place) => place.clone(),
        };
        self.0.iter().map(longest).collect()
    }

    /// Whether a learning is a convention that names a matching file.
    #[must_use]
    pub fn match_learning(&self, learning: &Learning) -> bool {
        learning.kind == LearningKind::Convention
            && example_files(learning)
                .iter()
                .any(|file| self.0.iter().any(|pattern| pattern.fits(file)))
    }
}

/// The files that demonstrate a convention. `Learning::examples` are not files but other wordings.
#[must_use]
pub fn example_files(learning: &Learning) -> &[String] {
    match &learning.facts {
        Some(Facts::Convention { examples }) => examples,
        _ => &[],
    }
}

impl Pattern {
    fn fits(&self, file: &str) -> bool {
        match self {
            Self::Part(part) => is_in(part, file),
            Self::Place(place) => is_at(place, file),
        }
    }
}

/// Whether a path is a file or is inside a folder. The pattern may be relative to the project or to a folder above it,
/// except for a bare name, which many files share.
fn is_at(place: &str, file: &str) -> bool {
    if place.ends_with('/') {
        return file.starts_with(place) || file.contains(&format!("/{place}"));
    }
    file == place || place.contains('/') && file.strip_suffix(place).is_some_and(|before| before.ends_with('/'))
}

fn is_in(pattern: &str, file: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let begins = |(at, _): (usize, char)| {
        let after = file.get(at..).and_then(|text| text.strip_prefix(first));
        after.is_some_and(|after| matches_rest(&rest, after))
    };
    file.char_indices().any(begins)
}

/// Whether the remaining parts of a pattern follow, each in the same name as the one before. The first match of each is
/// enough: it leaves the most text, and a part that crosses into the next name has only one.
fn matches_rest(parts: &[&str], after: &str) -> bool {
    let mut after = after;
    for part in parts {
        let name_ends = after.find('/').unwrap_or(after.len());
        let found = after.find(part).filter(|at| *at <= name_ends);
        let Some(behind) = found.and_then(|at| after.get(at + part.len()..)) else {
            return false;
        };
        after = behind;
    }
    true
}

#[cfg(test)]
mod tests {
    use ralph_model::TaskType;
    use ralph_testkit::{extracted_warning, run_learning};

    use super::*;

    #[test]
    fn several_descriptions_of_one_failure_count_once() {
        let warning = warning("Timeout errors - break into smaller steps");
        let count = |errors: &[&str]| {
            let errors: Vec<ErrorPattern> = errors.iter().filter_map(|text| ErrorPattern::of(text)).collect();
            ErrorPattern::count_in(&errors, &warning)
        };
        assert_eq!(count(&["timeout"]), 1);
        assert_eq!(count(&["timeout", "operation timed out after 30000ms"]), 1);
        assert_eq!(count(&["timeout", "smaller steps"]), 2);
        assert_eq!(count(&["permission denied"]), 0);
    }

    #[test]
    fn other_wordings_are_not_files_of_a_convention() {
        let convention = |facts| Learning {
            facts,
            examples: vec!["Tests live beside src/a.rs".to_owned()],
            ..run_learning(1, LearningKind::Convention, TaskType::General, "Tests live in the file")
        };
        let asked = FilePatterns::of(&["src".to_owned()]);
        let without_files = convention(None);
        assert_eq!(example_files(&without_files), [] as [String; 0]);
        assert!(!asked.match_learning(&without_files));
        let told = convention(Some(Facts::Convention {
            examples: vec!["src/b.rs".to_owned()],
        }));
        assert_eq!(example_files(&told), ["src/b.rs"]);
        assert!(asked.match_learning(&told));
    }

    /// Program output and the warnings that runs extract from it; each is found by its own error only.
    #[test]
    fn warning_is_found_by_program_output() {
        let rows = [
            (
                "SyntaxError: Unexpected token '}'",
                "Syntax errors - check code carefully before execution",
            ),
            (
                "TypeError: Cannot read properties of undefined (reading 'id')",
                "Null/undefined errors - add validation checks",
            ),
            (
                "operation timed out after 30000ms",
                "Timeout errors - break into smaller steps",
            ),
            (
                "EACCES: permission denied, open '/etc/passwd'",
                "Permission errors - check file/directory permissions",
            ),
            (
                "Error: Cannot find module 'left-pad'",
                "Module not found - verify dependencies installed",
            ),
        ];
        for (printed, warning) in rows {
            let found: Vec<&str> = rows
                .iter()
                .filter(|(error, _)| warns(warning, error))
                .map(|(error, _)| *error)
                .collect();
            assert_eq!(found, [printed], "{warning}");
        }
    }

    #[test]
    fn warnings_match_the_words_of_their_error() {
        assert!(warns(
            "connection refused",
            "dial tcp 127.0.0.1:5432: connection refused, after 3 attempts of 10"
        ));
        assert!(!warns("connection refused", "timed out"));
        assert!(!warns(
            "Timeout errors - break into smaller steps",
            "connection refused"
        ));
        let by_hand = Learning {
            facts: None,
            ..warning("parse HTML by hand")
        };
        assert!(!ErrorPattern::of("syntax error near line 3").unwrap().is_in(&by_hand));
    }

    fn warning(error: &str) -> Learning {
        extracted_warning(1, TaskType::BugFix, &format!("Avoid: {error}"))
    }

    fn warns(error: &str, printed: &str) -> bool {
        ErrorPattern::of(printed).unwrap().is_in(&warning(error))
    }

    #[track_caller]
    fn check_file(pattern: &str, file: &str, expected: bool) {
        assert_eq!(is_in(pattern, file), expected, "{pattern} in {file}");
    }

    #[test]
    fn pattern_matches_a_part_of_a_path() {
        for (pattern, file, expected) in [
            (".test.ts", "src/auth/login.test.ts", true),
            ("src/", "src/types.ts", true),
            ("test/", "src/types.ts", false),
            ("*.rs", "src/lib.rs", true),
            ("src/*.rs", "src/lib.rs", true),
            ("src/*.rs", "src/deep/lib.rs", false),
            ("a*b*c", "aab/c", false),
            ("a*b*c", "xaxbxcx", true),
            ("ä*ü", "größe/ä-ü.rs", true),
            ("*", "a", true),
            ("a/a*b", "a/a/ab", true),
            ("a*b/c*d", "axb/b/cd", false),
            ("a*b/c*d", "axb/cxd", true),
            ("src/*/*.rs", "src/a/b.rs", true),
        ] {
            check_file(pattern, file, expected);
        }
    }

    /// With backtracking over every match of each part, this would not terminate.
    #[test]
    fn pattern_of_many_parts_matches_without_backtracking() {
        let name = format!("{}.rs", "a".repeat(4_000));
        check_file(&format!("{}rc", "a*".repeat(60)), &name, false);
        check_file(&format!("{}rs", "a*".repeat(60)), &name, true);
    }

    #[test]
    fn work_files_match_literally() {
        for (place, file, expected) in [
            ("main.py", "main.py", true),
            ("main.py", "src/domain.py", false),
            ("main.py", "src/main.py", false),
            ("src/lib.rs", "src/lib.rs", true),
            ("src/lib.rs", "crates/a/src/lib.rs", true),
            ("src/lib.rs", "crates/asrc/lib.rs", false),
            ("src/auth/", "src/auth/login.ts", true),
            ("src/auth/", "web/src/auth/login.ts", true),
            ("src/auth/", "xsrc/auth/login.ts", false),
            ("a*b/c.rs", "axb/c.rs", false),
            ("a*b/c.rs", "a*b/c.rs", true),
        ] {
            assert_eq!(is_at(place, file), expected, "{place} and {file}");
        }
        let FilePatterns(patterns) = FilePatterns::around(&["*".to_owned()]);
        assert!(!patterns.iter().any(|pattern| pattern.fits("src/lib.rs")));
    }

    #[test]
    fn work_patterns_are_files_and_folders() {
        let files = ["src/auth/login.ts", "src/auth/token.ts", "src/main.ts", "Makefile"].map(str::to_owned);
        let FilePatterns(patterns) = FilePatterns::around(&files);
        let expected = [
            "src/auth/login.ts",
            "src/auth/",
            "src/auth/token.ts",
            "src/main.ts",
            "Makefile",
        ];
        assert_eq!(patterns, expected.map(|place| Pattern::Place(place.to_owned())));
        assert!(FilePatterns::of(&[String::new(), " ".to_owned()]).is_empty());
    }
}
