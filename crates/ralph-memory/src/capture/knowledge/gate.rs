//! Validates knowledge entries from commands: each is accepted unchanged or refused.

use ralph_model::{CapturedKnowledge, preview};
use ralph_notes::{capped_to_words, cleaned_tags};

use super::super::clean::{MAX_KNOWLEDGE, MAX_TAG, MAX_TAGS, MAX_TITLE};
use super::super::{Refusal, SecretPolicy, accept};

/// The maximum width of a refused tag in messages.
const SHOWN_COLUMNS: usize = 60;

/// Why a knowledge entry was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeRefusal {
    #[error(transparent)]
    Body(Refusal),
    /// Its text is too long even after the cut to the maximum number of words.
    #[error("the text has {characters} characters; the maximum is {MAX_KNOWLEDGE}")]
    BodyTooLong { characters: usize },
    /// Its title, feature or a tag was refused.
    #[error("the {part}: {refusal}")]
    Part { part: &'static str, refusal: Refusal },
    #[error("the {part} must be one line without control characters")]
    NotOneLine { part: &'static str },
    #[error("the {part} has {characters} characters; the maximum is {most}")]
    PartTooLong {
        part: &'static str,
        characters: usize,
        /// The maximum.
        most: usize,
    },
    #[error("at least one tag is required")]
    NoTags,
    #[error("too many tags ({tags}); the maximum is {MAX_TAGS}")]
    TooManyTags { tags: usize },
    #[error("the tag {shown:?} has {characters} characters; the maximum is {MAX_TAG}")]
    TagTooLong { shown: String, characters: usize },
}

/// Accepts an entry with its title trimmed, tags in lower case and LF line endings, or refuses it. A body over the
/// maximum number of words is cut when it is written.
///
/// # Errors
/// If a part is blank, too long, not one line where required, or looks like a secret.
pub fn accept_knowledge(note: &CapturedKnowledge, policy: SecretPolicy) -> Result<CapturedKnowledge, KnowledgeRefusal> {
    let title = accept_line("title", &note.title, policy)?;
    let feature = match &note.feature {
        Some(feature) => Some(accept_line("feature", feature, policy)?),
        None => None,
    };
    let tags = accept_tags(&note.tags, policy)?;
    let body = accept(&note.body, policy).map_err(KnowledgeRefusal::Body)?;
    let characters = capped_to_words(&body).chars().count();
    if characters > MAX_KNOWLEDGE {
        return Err(KnowledgeRefusal::BodyTooLong { characters });
    }
    Ok(CapturedKnowledge {
        title,
        tags,
        feature,
        body: body.into_owned(),
    })
}

fn accept_line(part: &'static str, text: &str, policy: SecretPolicy) -> Result<String, KnowledgeRefusal> {
    let text = text.trim();
    let characters = text.chars().count();
    if characters > MAX_TITLE {
        let most = MAX_TITLE;
        return Err(KnowledgeRefusal::PartTooLong { part, characters, most });
    }
    accept(text, policy).map_err(|refusal| KnowledgeRefusal::Part { part, refusal })?;
    if text
        .chars()
        .any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
    {
        return Err(KnowledgeRefusal::NotOneLine { part });
    }
    Ok(text.to_owned())
}

fn accept_tags(tags: &[String], policy: SecretPolicy) -> Result<Vec<String>, KnowledgeRefusal> {
    // Before they are in lower case, where secrets are not recognised.
    for tag in tags.iter().filter(|tag| !tag.trim().is_empty()) {
        accept_line("tag", tag, policy)?;
    }
    let tags = cleaned_tags(tags.iter().map(String::as_str));
    if tags.is_empty() {
        return Err(KnowledgeRefusal::NoTags);
    }
    if tags.len() > MAX_TAGS {
        return Err(KnowledgeRefusal::TooManyTags { tags: tags.len() });
    }
    for tag in &tags {
        let characters = tag.chars().count();
        if characters > MAX_TAG {
            let shown = preview(tag, SHOWN_COLUMNS);
            return Err(KnowledgeRefusal::TagTooLong { shown, characters });
        }
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(title: &str) -> CapturedKnowledge {
        CapturedKnowledge {
            title: title.to_owned(),
            tags: vec!["a".to_owned()],
            feature: None,
            body: "Text.".to_owned(),
        }
    }

    #[track_caller]
    fn check(note: &CapturedKnowledge, expected: &str) {
        let refusal = accept_knowledge(note, SecretPolicy::Refuse).unwrap_err().to_string();
        assert_eq!(refusal, expected);
        assert_eq!(refusal.lines().count(), 1);
    }

    #[test]
    fn fault_7_title_is_accepted_unchanged_or_refused() {
        for title in [
            "\"quotes\"",
            "---",
            "a: b # c",
            "[[x]]",
            "- x",
            "@a",
            "&a",
            "*a",
            "!a",
            "null",
            "true",
            "1e3",
            "🚀",
            "שלום",
        ] {
            let accepted = accept_knowledge(&note(&format!(" {title}\n")), SecretPolicy::Refuse);
            assert_eq!(accepted, Ok(note(title)));
        }
        check(&note(" \t"), "the title: the text is blank");
        check(&note("a\0b"), "the title: the text contains a NUL character at byte 1");
        let one_line = "the title must be one line without control characters";
        check(&note("a\nb"), one_line);
        check(&note("a\u{1b}[1mb"), one_line);
        check(&note("a\u{2028}b"), one_line);
        check(
            &note(&"é".repeat(10 << 10)),
            "the title has 10240 characters; the maximum is 200",
        );
        let token = format!("ghp_{}", "a1B2".repeat(9));
        check(
            &note(&token),
            "the title: line 1 of the text looks like a secret (GitHub token); nothing was stored",
        );
        assert!(accept_knowledge(&note(&token), SecretPolicy::Allow).is_ok());
    }

    #[test]
    fn entry_needs_tags_and_text() {
        let tagged = |tags: &[&str]| CapturedKnowledge {
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..note("A")
        };
        let accepted = accept_knowledge(&tagged(&[" Docker ", "docker", "CI"]), SecretPolicy::Refuse).unwrap();
        assert_eq!(accepted.tags, ["docker", "ci"]);
        let none = "at least one tag is required";
        check(&tagged(&[]), none);
        check(&tagged(&[" "]), none);
        let many: Vec<String> = (0..21).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&tagged(&many), "too many tags (21); the maximum is 20");
        let long = "x".repeat(51);
        check(
            &tagged(&[&long]),
            &format!("the tag {long:?} has 51 characters; the maximum is 50"),
        );
        let saying = |body: &str| CapturedKnowledge {
            body: body.to_owned(),
            ..note("A")
        };
        check(&saying(" \n"), "the text is blank");
        check(&saying("a\0"), "the text contains a NUL character at byte 1");
        check(
            &saying(&"x".repeat((64 << 10) + 1)),
            "the text has 65537 characters; the maximum is 65536",
        );
        let words = "word ".repeat(20_000);
        assert!(
            accept_knowledge(&saying(&words), SecretPolicy::Refuse).is_ok(),
            "long bodies are cut when written"
        );
    }
}
