//! What texts have in common that say the same in other words: a category by the words it is known by, or else the beginning
//! of the text itself.

use ralph_store::index::{Phrase, Phrases};

/// How many characters of a text that is of no category are kept.
const KEPT_CHARACTERS: usize = 100;
/// A text of so few characters says nothing.
const TOO_SHORT: usize = 10;
/// How many characters of a text are looked at: what it is about stands at its beginning.
const LOOKED_AT: usize = 4_000;

/// A category: what it is called, and the phrases by any of which it is known, whatever their words' endings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Category {
    /// What stands for all texts of it.
    pub(crate) name: &'static str,
    spellings: &'static [&'static str],
    phrases: Vec<Phrase>,
    /// Words that mean it in no other form.
    words: &'static [&'static str],
}

impl Category {
    /// A category that is known by phrases.
    pub(crate) fn of(name: &'static str, spellings: &'static [&'static str]) -> Self {
        Self {
            name,
            spellings,
            phrases: spellings.iter().filter_map(|phrase| Phrase::of(phrase)).collect(),
            words: &[],
        }
    }

    /// The same one, known by words in one form alone as well.
    pub(crate) fn or_words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }

    /// All words by which texts of it are looked for.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.name, self.spellings.join(" "))
    }

    fn is_of(&self, line: &str, phrases: &Phrases) -> bool {
        let is_word = |part: &str| self.words.iter().any(|word| word.eq_ignore_ascii_case(part));
        self.phrases.iter().any(|phrase| phrases.hold(phrase))
            || line.split(|sign: char| !sign.is_alphanumeric()).any(is_word)
    }
}

/// The first category that a text is of. Phrases stand whole in a line, and are no parts of words.
pub(crate) fn category_of(text: &str, categories: &'static [Category]) -> Option<&'static Category> {
    let text = beginning(text, LOOKED_AT);
    // What says most stands first, so the first line that is of a category decides.
    text.lines().find_map(|line| {
        let phrases = Phrases::of([line]);
        categories.iter().find(|category| category.is_of(line, &phrases))
    })
}

/// What is kept of a text that is of no category: its beginning, on one line; none where it says too little.
pub(crate) fn own_words(text: &str) -> Option<String> {
    let words: Vec<&str> = beginning(text, LOOKED_AT).split_whitespace().collect();
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
    fn a_text_of_no_category_is_its_first_hundred_characters_or_nothing() {
        assert_eq!(own_words("ten letter"), None);
        assert_eq!(own_words("11 letters!").as_deref(), Some("11 letters!"));
        assert_eq!(own_words("→ → → → → → → →"), None, "signs say nothing");
        assert_eq!(own_words("  Look\n  at the\tlog  ").as_deref(), Some("Look at the log"));
        let long = "ä".repeat(101);
        assert_eq!(own_words(&long), Some("ä".repeat(100)));
    }
}
