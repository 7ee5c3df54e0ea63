//! Classifies tasks by the words of their titles.

use ralph_model::TaskType;

use crate::tokenizer::{Phrase, Phrases};

/// The words that indicate a type of work, in any inflection.
fn words(task_type: TaskType) -> &'static [&'static str] {
    match task_type {
        TaskType::TestFix => &["test", "spec", "jest", "vitest"],
        TaskType::Feature => &["implement", "add feature", "new feature", "build"],
        TaskType::Refactor => &[
            "refactor",
            "reorganize",
            "reorganise",
            "restructure",
            "clean",
            "cleanup",
        ],
        TaskType::BugFix => &["fix", "bugfix", "bug", "error", "crash", "issue"],
        TaskType::Documentation => &["document", "documentation", "readme", "guide", "docs"],
        TaskType::Architecture => &["architecture", "design", "structure"],
        TaskType::Performance => &["optimize", "optimise", "performance", "speed", "slow"],
        TaskType::General => &[],
    }
}

/// Maximum number of examined characters: a text states its subject at the beginning, and it may be very long.
const EXAMINED_CHARS: usize = 10_000;

/// Classifies a task by its title, or if that says nothing, by its description.
#[must_use]
pub fn task_type_of(title: &str, description: &str) -> TaskType {
    of_text(start_of(title))
        .or_else(|| of_text(start_of(description)))
        .unwrap_or(TaskType::General)
}

fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(EXAMINED_CHARS).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

fn of_text(text: &str) -> Option<TaskType> {
    let phrases = Phrases::of([text]);
    let holds = |word: &str| Phrase::of(word).is_some_and(|phrase| phrases.hold(&phrase));
    let is = |task_type: TaskType| match task_type {
        // "failed" and "fails" may be about anything, but "failing" is usually about a test.
        TaskType::TestFix if has_word(text, "failing") => true,
        _ => words(task_type).iter().copied().any(holds),
    };
    TaskType::ALL.iter().copied().find(|task_type| is(*task_type))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|sign: char| !sign.is_alphanumeric())
        .any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(title: &str, expected: TaskType) {
        assert_eq!(task_type_of(title, ""), expected, "{title}");
    }

    #[test]
    fn task_type_follows_the_title() {
        check("Fix failing authentication tests", TaskType::TestFix);
        check("Implement user registration feature", TaskType::Feature);
        check("Refactor auth module for clarity", TaskType::Refactor);
        check("Optimize database queries", TaskType::Performance);
        check("Crashes on empty input", TaskType::BugFix);
        check("The README is out of date", TaskType::Documentation);
        check("Designing the plugin system", TaskType::Architecture);
        check("Add features to the parser", TaskType::Feature);
        check("Rename the crate", TaskType::General);
        check("", TaskType::General);
    }

    #[test]
    fn fault_25_words_are_no_parts_of_words() {
        check("Inspect the latest release", TaskType::General);
        check("Prefixes of names are special", TaskType::General);
        check("Rebuilding is not building", TaskType::Feature);
        check("A contest for debuggers", TaskType::General);
    }

    #[test]
    fn description_is_used_only_if_the_title_says_nothing() {
        assert_eq!(task_type_of("Parser", "It crashes."), TaskType::BugFix);
        let long = format!("{}It crashes.", "ä ".repeat(EXAMINED_CHARS));
        assert_eq!(task_type_of("Parser", &long), TaskType::General);
        assert_eq!(
            task_type_of("Document the parser", "Its tests fail."),
            TaskType::Documentation
        );
    }
}
