//! Groups texts that say the same in other words: by a category with known phrases, or else by the beginning of the
//! text.

use std::sync::LazyLock;

use ralph_search::{Phrase, Phrases};

/// How many characters are kept of a text without a category.
const KEPT_CHARACTERS: usize = 100;
/// Texts up to this length are ignored.
const TOO_SHORT: usize = 10;
/// How many characters of a text are searched: its subject is at the beginning.
const SEARCHED: usize = 4_000;

static CATEGORIES: LazyLock<Vec<Category>> = LazyLock::new(|| {
    let lines = include_str!("categories.txt").lines();
    lines.filter_map(Category::parse).collect()
});

/// What a category groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CategoryKind {
    Failure,
    Approach,
}

/// A category and the phrases that identify it, whatever their words' endings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Category {
    kind: CategoryKind,
    /// The name that replaces all texts of the category.
    pub(crate) name: &'static str,
    spellings: &'static str,
    phrases: Vec<Phrase>,
    /// Words that identify it in this exact form only.
    words: Vec<&'static str>,
}

impl Category {
    /// Parses a line of the table; `None` for comments and empty lines.
    fn parse(line: &'static str) -> Option<Self> {
        let mut columns = line.split(" | ");
        let kind = match columns.next()? {
            "failure" => CategoryKind::Failure,
            "approach" => CategoryKind::Approach,
            _ => return None,
        };
        let (name, spellings) = (columns.next()?, columns.next()?);
        let (exact, phrases): (Vec<&str>, Vec<&str>) = spellings.split(", ").partition(|each| each.starts_with('='));
        Some(Self {
            kind,
            name,
            spellings,
            phrases: phrases.into_iter().filter_map(Phrase::of).collect(),
            words: exact.into_iter().map(|word| word.trim_start_matches('=')).collect(),
        })
    }

    /// The query by which its texts are searched.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.name, self.spellings)
    }

    fn is_of(&self, line: &str, phrases: &Phrases) -> bool {
        let is_word = |part: &str| self.words.iter().any(|word| word.eq_ignore_ascii_case(part));
        self.phrases.iter().any(|phrase| phrases.hold(phrase))
            || line.split(|sign: char| !sign.is_alphanumeric()).any(is_word)
    }
}

/// The first category that a text matches. Phrases match whole words within a line.
pub(crate) fn category_of(text: &str, kind: CategoryKind) -> Option<&'static Category> {
    let text = beginning(text, SEARCHED);
    // The first matching line decides, because texts start with the essentials.
    text.lines().find_map(|line| {
        let phrases = Phrases::of([line]);
        let mut of_kind = CATEGORIES.iter().filter(|category| category.kind == kind);
        of_kind.find(|category| category.is_of(line, &phrases))
    })
}

/// The beginning of a text without a category, on one line; `None` if it is too short.
pub(crate) fn leading_text(text: &str) -> Option<String> {
    let words: Vec<&str> = beginning(text, SEARCHED).split_whitespace().collect();
    let line = words.join(" ");
    let says_enough = line.chars().nth(TOO_SHORT).is_some() && line.chars().any(char::is_alphanumeric);
    says_enough.then(|| beginning(&line, KEPT_CHARACTERS).trim_end().to_owned())
}

fn beginning(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_text_is_limited_to_100_characters() {
        assert_eq!(leading_text("ten letter"), None);
        assert_eq!(leading_text("11 letters!").as_deref(), Some("11 letters!"));
        assert_eq!(leading_text("→ → → → → → → →"), None, "symbols are not text");
        assert_eq!(
            leading_text("  Look\n  at the\tlog  ").as_deref(),
            Some("Look at the log")
        );
        let long = "ä".repeat(101);
        assert_eq!(leading_text(&long), Some("ä".repeat(100)));
    }
}
