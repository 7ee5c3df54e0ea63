//! What people hand in about learnings, looked at before anything is opened or made.

use ralph_memory::capture::{MOST_LEARNING, SecretPolicy, accept};
use ralph_model::{Tags, count};
use ralph_notes::cleaned_tags;
use ralph_store::journal_terms;

use crate::error::CommandError;

/// The longest category, in characters.
const CATEGORY_CHARACTERS: usize = 64;
/// The most tags of one learning: one that has them all fits everything.
const MOST_TAGS: usize = 40;
/// How many letters a word has that says something; in other alphabets than ours shorter ones do.
const LEAST_LETTERS: usize = 3;

/// What a learning is to say.
pub(crate) fn content(text: &str, policy: SecretPolicy) -> Result<String, CommandError> {
    let content = accept(text.trim_end(), policy)?.into_owned();
    let characters = content.chars().count();
    if characters > MOST_LEARNING {
        return Err(CommandError::usage(format!(
            "the text has {characters} characters, and a learning at most {MOST_LEARNING}: shorten it, or keep it with \
             `ralph knowledge add`"
        )));
    }
    if !says_something(&content) {
        return Err(CommandError::usage(
            "the text has no word that says something, and nobody could learn from it: write a sentence",
        ));
    }
    Ok(content)
}

fn says_something(content: &str) -> bool {
    let says = |word: &str| word.chars().count() >= LEAST_LETTERS || !word.is_ascii();
    content.split(|sign: char| !sign.is_alphanumeric()).any(says) && !journal_terms(content).is_empty()
}

/// What a learning is to be about.
pub(super) fn category(text: &str, policy: SecretPolicy) -> Result<String, CommandError> {
    let about = |error| CommandError::from(error).about("--category");
    let category = super::category(&accept(text, policy).map_err(about)?);
    if category.chars().count() > CATEGORY_CHARACTERS || category.contains(char::is_control) {
        return Err(CommandError::usage(format!(
            "--category: a category is one line of at most {CATEGORY_CHARACTERS} characters"
        )));
    }
    Ok(category)
}

/// The tags of a learning, in lower case, each once.
pub(super) fn tags(tags: &Tags, policy: SecretPolicy) -> Result<Vec<String>, CommandError> {
    if !tags.is_empty() {
        accept(&tags.to_string(), policy).map_err(|error| CommandError::from(error).about("--tags"))?;
    }
    let tags = cleaned_tags(tags.iter());
    if tags.len() > MOST_TAGS {
        let given = count(tags.len(), "tag", "tags");
        return Err(CommandError::usage(format!(
            "--tags: there are {given}, and a learning has at most {MOST_TAGS}: keep those that tell it from others"
        )));
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learning_has_a_word_that_says_something() {
        for (text, expected) in [
            ("ok", false),
            ("x", false),
            ("!? -> 7", false),
            ("it is the", false),
            ("Use --locked", true),
            ("日本", true),
            ("Größe", true),
        ] {
            assert_eq!(says_something(text), expected, "{text:?}");
        }
    }

    #[test]
    fn tags_are_counted_after_they_were_cleaned() {
        let many: Vec<String> = (0..=MOST_TAGS).map(|number| format!("tag{number}")).collect();
        let of = |list: &str| tags(&Tags::parse(list).unwrap(), SecretPolicy::Refuse);
        assert!(of(&many.join(",")).is_err());
        assert_eq!(of(&many[1..].join(",")).unwrap().len(), MOST_TAGS);
        assert_eq!(of("A,a , b").unwrap(), ["a", "b"]);
    }
}
