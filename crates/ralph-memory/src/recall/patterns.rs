//! Patterns that lessons are chosen by beside their words: errors that were met, and files that the work is about.

use ralph_model::{Facts, Learning, LearningKind};
use ralph_store::index::{Phrase, Phrases};

use crate::failures::{AVOID, failure_told_in};
use crate::sayings::Category;

/// What stands between what a warning warns of and what to do about it.
const REMEDY: &str = " - ";
/// A text of so many words or fewer is looked for as a whole; a longer one is what was printed, and is looked through.
const LONGEST_PATTERN: usize = 8;
/// What is not said to be avoided, and yet has so few words, is the name of an error.
const LONGEST_NAME: usize = 3;

/// An error that was met: a few words, or all that was printed.
#[derive(Debug)]
pub struct ErrorPattern {
    /// As it was told.
    text: String,
    /// What is looked for in warnings.
    phrase: Option<Phrase>,
    /// The text in which what they warn of is looked for.
    printed: Phrases,
    /// What it is called in warnings that runs draw from such errors.
    failure: Option<&'static Category>,
}

impl ErrorPattern {
    /// The error that a text tells of; none where it tells of nothing.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let is_short = text.split_whitespace().nth(LONGEST_PATTERN).is_none();
        let phrase = Phrase::of(text)?;
        Some(Self {
            text: text.to_owned(),
            phrase: is_short.then_some(phrase),
            printed: Phrases::of([text]),
            failure: failure_told_in(text),
        })
    }

    /// The words by which warnings of it are looked for: its own, and those of the failure that it is.
    pub(super) fn asked(&self) -> Vec<String> {
        let of_failure = self.failure.map(Category::words);
        [self.text.clone()].into_iter().chain(of_failure).collect()
    }

    /// How many of these errors a lesson warns of. What tells of one failure in several ways, by its name and by what was
    /// printed, is one.
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

    /// Whether a lesson warns of it.
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
        let avoided = text.strip_prefix(AVOID);
        let warning = avoided.unwrap_or(text);
        let (error, _) = warning.split_once(REMEDY).unwrap_or((warning, ""));
        // One word stands in much that is printed.
        let is_phrase = error.split_whitespace().nth(1).is_some();
        if is_phrase && Phrase::of(error).is_some_and(|error| self.printed.hold(&error)) {
            return true;
        }
        let names_error = avoided.is_some() || error.split_whitespace().nth(LONGEST_NAME).is_none();
        names_error
            && self
                .failure
                .is_some_and(|failure| failure_told_in(error) == Some(failure))
    }
}

/// What paths are compared with.
#[derive(Debug, Clone, Default)]
pub struct FilePatterns(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// A part of a path, as somebody wrote it: as it stands there, but for `*`, which is anything within a name.
    Part(String),
    /// A file, or a folder with a `/` behind it, whatever signs its name holds.
    Place(String),
}

impl FilePatterns {
    /// These patterns. Empty ones would be in every path, and are none.
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

    /// Those that work on some files is about: the files, and the folders that they are in. That a file lies right below the
    /// top of the project, or in a folder that does, says nothing.
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

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of each the longest part that stands in a path as it is, by which few can be taken from many.
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

    /// Whether a file that a convention names is such a file.
    #[must_use]
    pub fn match_lesson(&self, learning: &Learning) -> bool {
        learning.kind == LearningKind::Convention
            && shown_by(learning)
                .iter()
                .any(|file| self.0.iter().any(|pattern| pattern.fits(file)))
    }
}

/// The files that show a convention. Its examples are none: they are what others say in its place.
#[must_use]
pub fn shown_by(learning: &Learning) -> &[String] {
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

/// Whether a path is that of a file, or leads through a folder. It may be told from the top of the project or from further
/// below, but for a name alone, which many files have.
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
        after.is_some_and(|after| goes_on(&rest, after))
    };
    file.char_indices().any(begins)
}

/// Whether the further parts of a pattern follow, each in the same name as the one before it. The first place of each is
/// enough: it leaves the most behind it, and a part that leads into the next name has but one.
fn goes_on(parts: &[&str], after: &str) -> bool {
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
    use ralph_testkit::known_lesson;

    use super::*;

    #[test]
    fn what_tells_of_one_failure_in_several_ways_counts_once() {
        let warning = known_lesson(
            1,
            LearningKind::Antipattern,
            TaskType::BugFix,
            "Avoid: Timeout errors - break into smaller steps",
        );
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
    fn what_others_say_in_its_place_are_no_files_of_a_convention() {
        let convention = |facts| Learning {
            facts,
            examples: vec!["Tests live beside src/a.rs".to_owned()],
            ..known_lesson(1, LearningKind::Convention, TaskType::General, "Tests live in the file")
        };
        let asked = FilePatterns::of(&["src".to_owned()]);
        let untold = convention(None);
        assert_eq!(shown_by(&untold), [] as [String; 0]);
        assert!(!asked.match_lesson(&untold));
        let told = convention(Some(Facts::Convention {
            examples: vec!["src/b.rs".to_owned()],
        }));
        assert_eq!(shown_by(&told), ["src/b.rs"]);
        assert!(asked.match_lesson(&told));
    }

    /// What programs print, and the warnings that runs draw from it; each is found by its own error alone.
    #[test]
    fn a_warning_is_found_by_what_programs_print() {
        let rows = [
            (
                "SyntaxError: Unexpected token '}'",
                "Avoid: Syntax errors - check code carefully before execution",
            ),
            (
                "TypeError: Cannot read properties of undefined (reading 'id')",
                "Avoid: Null/undefined errors - add validation checks",
            ),
            (
                "operation timed out after 30000ms",
                "Avoid: Timeout errors - break into smaller steps",
            ),
            (
                "EACCES: permission denied, open '/etc/passwd'",
                "Avoid: Permission errors - check file/directory permissions",
            ),
            (
                "Error: Cannot find module 'left-pad'",
                "Avoid: Module not found - verify dependencies installed",
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
    fn errors_and_warnings_of_one_failure_find_each_other_in_other_words() {
        for (warning, printed, expected) in [
            (
                "Avoid: missing dependency - install it first",
                "cannot find module left-pad",
                true,
            ),
            ("Timeout errors", "timed out", true),
            (
                "Avoid: a timeout of the suite",
                "the request took longer than a minute",
                true,
            ),
            (
                "Avoid: access denied",
                "EPERM: operation needs a permission that it lacks",
                true,
            ),
            // What is said of other things with such a word is no name of an error.
            (
                "Never parse HTML by hand in the importer",
                "syntax error near line 3",
                false,
            ),
            ("Avoid: large commits - split them", "timed out", false),
            (
                "Avoid: Timeout errors - break into smaller steps",
                "connection refused",
                false,
            ),
        ] {
            assert_eq!(warns(warning, printed), expected, "{warning:?} and {printed:?}");
        }
    }

    fn warns(warning: &str, printed: &str) -> bool {
        let learning = known_lesson(1, LearningKind::Antipattern, TaskType::BugFix, warning);
        ErrorPattern::of(printed).unwrap().is_in(&learning)
    }

    #[track_caller]
    fn check_file(pattern: &str, file: &str, expected: bool) {
        assert_eq!(is_in(pattern, file), expected, "{pattern} in {file}");
    }

    #[test]
    fn a_pattern_is_a_part_of_a_path() {
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

    /// Were every place of each part tried, this would not end.
    #[test]
    fn a_pattern_of_many_parts_is_compared_at_once() {
        let name = format!("{}.rs", "a".repeat(4_000));
        check_file(&format!("{}rc", "a*".repeat(60)), &name, false);
        check_file(&format!("{}rs", "a*".repeat(60)), &name, true);
    }

    #[test]
    fn files_at_hand_are_whole_names_without_patterns() {
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
    fn work_is_about_its_files_and_their_folders() {
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
