//! Patterns that lessons are chosen by beside their words: errors that were met, and files that the work is about.

use ralph_model::{Facts, Learning, LearningKind};
use ralph_store::index::{Phrase, Phrases};

/// What stands before a warning, and is no part of what it warns of.
const AVOID: &str = "Avoid: ";
/// What stands between what a warning warns of and what to do about it.
const REMEDY: &str = " - ";
/// A text of so many words or fewer is looked for as a whole; a longer one is what was printed, and is looked through.
const LONGEST_PATTERN: usize = 8;

/// An error that was met: a few words, or all that was printed.
#[derive(Debug)]
pub struct ErrorPattern {
    /// As it was told.
    text: String,
    /// What is looked for in warnings.
    phrase: Option<Phrase>,
    /// The text in which what they warn of is looked for.
    printed: Phrases,
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
        })
    }

    /// Its words, by which warnings of it are looked for.
    pub(super) fn text(&self) -> &str {
        &self.text
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
        let warning = text.strip_prefix(AVOID).unwrap_or(text);
        let (error, _) = warning.split_once(REMEDY).unwrap_or((warning, ""));
        // One word stands in much that is printed.
        let is_phrase = error.split_whitespace().nth(1).is_some();
        is_phrase && Phrase::of(error).is_some_and(|error| self.printed.hold(&error))
    }
}

/// Parts of paths, as they stand there, but for `*`, which is anything within a name.
#[derive(Debug, Clone, Default)]
pub struct FilePatterns(Vec<String>);

impl FilePatterns {
    /// These patterns. Empty ones would be in every path, and are none.
    #[must_use]
    pub fn of(patterns: &[String]) -> Self {
        let patterns = patterns.iter().map(|pattern| pattern.trim());
        Self(
            patterns
                .filter(|pattern| !pattern.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }

    /// Those that work on some files is about: the files, and the folders that they are in. That a file lies right below the
    /// top of the project, or in a folder that does, says nothing.
    #[must_use]
    pub fn around(files: &[String]) -> Self {
        let mut patterns: Vec<String> = Vec::new();
        for file in files {
            let folder = file.rsplit_once('/').map(|(folder, _)| folder);
            let folder = folder
                .filter(|folder| folder.contains('/'))
                .map(|folder| format!("{folder}/"));
            for pattern in [Some(file.clone()), folder].into_iter().flatten() {
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
        let longest = |pattern: &String| {
            let parts = pattern.split('*').max_by_key(|part| part.len());
            parts.unwrap_or_default().to_owned()
        };
        self.0.iter().map(longest).collect()
    }

    /// Whether a file that a convention names is such a file.
    #[must_use]
    pub fn match_lesson(&self, learning: &Learning) -> bool {
        learning.kind == LearningKind::Convention
            && shown_by(learning)
                .iter()
                .any(|file| self.0.iter().any(|pattern| is_in(pattern, file)))
    }
}

/// The files that show a convention.
#[must_use]
pub fn shown_by(learning: &Learning) -> &[String] {
    match &learning.facts {
        Some(Facts::Convention { examples }) => examples,
        _ => &learning.examples,
    }
}

fn is_in(pattern: &str, file: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let begins = |(at, _): (usize, &str)| file.get(at + first.len()..).is_some_and(|after| goes_on(&rest, after));
    file.match_indices(first).any(begins)
}

/// Whether the further parts of a pattern follow, each in the same name as the one before it.
fn goes_on(parts: &[&str], after: &str) -> bool {
    let Some((part, later)) = parts.split_first() else {
        return true;
    };
    let name_ends = after.find('/').unwrap_or(after.len());
    after
        .match_indices(part)
        .take_while(|(at, _)| *at <= name_ends)
        .any(|(at, _)| after.get(at + part.len()..).is_some_and(|after| goes_on(later, after)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            check_file(pattern, file, expected);
        }
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
        assert_eq!(patterns, expected);
        assert!(FilePatterns::of(&[String::new(), " ".to_owned()]).is_empty());
    }
}
