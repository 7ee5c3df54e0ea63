//! Validates the content, category and tags of a learning before any file is opened.

use ralph_memory::capture::{MAX_LEARNING, SecretPolicy, accept};
use ralph_model::{Tags, count};
use ralph_notes::cleaned_tags;
use ralph_search::terms_of;

use crate::error::CommandError;

const CATEGORY_CHARACTERS: usize = 64;
/// A learning with too many tags would match every task.
const MAX_TAGS: usize = 40;
/// The shortest ASCII word that counts as meaningful; in other scripts shorter words can be.
const MIN_WORD_LETTERS: usize = 3;

pub(crate) fn content(text: &str, policy: SecretPolicy) -> Result<String, CommandError> {
    let content = accept(text.trim_end(), policy)?.into_owned();
    let characters = content.chars().count();
    if characters > MAX_LEARNING {
        return Err(CommandError::usage(format!(
            "the text has {characters} characters, and a learning at most {MAX_LEARNING}: shorten it, or keep it with \
             `ralph knowledge add`"
        )));
    }
    if !is_meaningful(&content) {
        return Err(CommandError::usage("the text has no meaningful word: write a sentence"));
    }
    Ok(content)
}

fn is_meaningful(content: &str) -> bool {
    let counts = |word: &str| word.chars().count() >= MIN_WORD_LETTERS || !word.is_ascii();
    content.split(|sign: char| !sign.is_alphanumeric()).any(counts) && !terms_of(content).is_empty()
}

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

/// Normalises tags to lower case, without duplicates.
pub(super) fn tags(tags: &Tags, policy: SecretPolicy) -> Result<Vec<String>, CommandError> {
    if !tags.is_empty() {
        accept(&tags.to_string(), policy).map_err(|error| CommandError::from(error).about("--tags"))?;
    }
    let tags = cleaned_tags(tags.iter());
    if tags.len() > MAX_TAGS {
        let given = count(tags.len(), "tag", "tags");
        return Err(CommandError::usage(format!(
            "--tags: there are {given}, and a learning has at most {MAX_TAGS}: keep the most specific ones"
        )));
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_needs_a_meaningful_word() {
        for (text, expected) in [
            ("ok", false),
            ("x", false),
            ("!? -> 7", false),
            ("it is the", false),
            ("Use --locked", true),
            ("日本", true),
            ("Größe", true),
        ] {
            assert_eq!(is_meaningful(text), expected, "{text:?}");
        }
    }

    #[test]
    fn tags_are_counted_after_cleaning() {
        let many: Vec<String> = (0..=MAX_TAGS).map(|number| format!("tag{number}")).collect();
        let of = |list: &str| tags(&Tags::parse(list).unwrap(), SecretPolicy::Refuse);
        assert!(of(&many.join(",")).is_err());
        assert_eq!(of(&many[1..].join(",")).unwrap().len(), MAX_TAGS);
        assert_eq!(of("A,a , b").unwrap(), ["a", "b"]);
    }
}
