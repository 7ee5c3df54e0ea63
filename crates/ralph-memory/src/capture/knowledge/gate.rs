//! What may become a long note: handed in by somebody, it is accepted as it is or refused.

use ralph_model::{CapturedKnowledge, preview};
use ralph_notes::{capped_to_words, cleaned_tags};

use super::super::clean::{MOST_KNOWLEDGE, MOST_TAG, MOST_TAGS, MOST_TITLE};
use super::super::{Refusal, SecretPolicy, accept};

/// How many columns of a tag that is refused are shown.
const SHOWN_COLUMNS: usize = 60;

/// Why a long note was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeRefusal {
    /// What it says cannot be stored.
    #[error(transparent)]
    Body(Refusal),
    /// What it says has few words and is still too long.
    #[error("the text has {characters} characters; a note holds at most {MOST_KNOWLEDGE}")]
    BodyTooLong {
        /// How many it has.
        characters: usize,
    },
    /// Its title, its feature or a tag cannot be stored.
    #[error("the {part}: {refusal}")]
    Part {
        /// Which part.
        part: &'static str,
        /// Why not.
        refusal: Refusal,
    },
    /// A part that is one line holds several.
    #[error("the {part} holds a line break or another control character; it is one line of plain text")]
    NotOneLine {
        /// Which part.
        part: &'static str,
    },
    /// A part is too long.
    #[error("the {part} has {characters} characters; it may have at most {most}")]
    PartTooLong {
        /// Which part.
        part: &'static str,
        /// How many it has.
        characters: usize,
        /// How many it may have.
        most: usize,
    },
    /// It has no tag.
    #[error("there is no tag; a note has at least one, by which it is found again")]
    NoTags,
    /// It has too many tags.
    #[error("there are {tags} tags; a note has at most {MOST_TAGS}")]
    TooManyTags {
        /// How many there are.
        tags: usize,
    },
    /// A tag is too long.
    #[error("the tag {shown:?} has {characters} characters; it may have at most {MOST_TAG}")]
    TagTooLong {
        /// Its beginning.
        shown: String,
        /// How many it has.
        characters: usize,
    },
}

/// Accepts a note as it is, with its title trimmed, its tags in lower case and LF at the ends of its lines; or refuses it.
/// What goes beyond the words that a note may have is cut where it is written.
///
/// # Errors
/// When a part of it is blank, too long, more than one line where it must be one, or looks like a secret.
pub fn accept_knowledge(note: &CapturedKnowledge, policy: SecretPolicy) -> Result<CapturedKnowledge, KnowledgeRefusal> {
    let title = accept_line("title", &note.title, policy)?;
    let feature = match &note.feature {
        Some(feature) => Some(accept_line("feature", feature, policy)?),
        None => None,
    };
    let tags = accept_tags(&note.tags, policy)?;
    let body = accept(&note.body, policy).map_err(KnowledgeRefusal::Body)?;
    let characters = capped_to_words(&body).chars().count();
    if characters > MOST_KNOWLEDGE {
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
    if characters > MOST_TITLE {
        let most = MOST_TITLE;
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
    // Before they are in lower case: there a secret is not recognised any more.
    for tag in tags.iter().filter(|tag| !tag.trim().is_empty()) {
        accept_line("tag", tag, policy)?;
    }
    let tags = cleaned_tags(tags.iter().map(String::as_str));
    if tags.is_empty() {
        return Err(KnowledgeRefusal::NoTags);
    }
    if tags.len() > MOST_TAGS {
        return Err(KnowledgeRefusal::TooManyTags { tags: tags.len() });
    }
    for tag in &tags {
        let characters = tag.chars().count();
        if characters > MOST_TAG {
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
    fn fault_7_a_title_is_accepted_as_it_is_or_refused_with_one_line() {
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
        check(
            &note(" \t"),
            "the title: the text is blank, so there is nothing to store",
        );
        check(
            &note("a\0b"),
            "the title: the text holds a NUL character at byte 1, which no note can hold",
        );
        let one_line = "the title holds a line break or another control character; it is one line of plain text";
        check(&note("a\nb"), one_line);
        check(&note("a\u{1b}[1mb"), one_line);
        check(&note("a\u{2028}b"), one_line);
        check(
            &note(&"é".repeat(10 << 10)),
            "the title has 10240 characters; it may have at most 200",
        );
        let token = format!("ghp_{}", "a1B2".repeat(9));
        check(
            &note(&token),
            "the title: line 1 of the text looks like it holds a secret (GitHub token), so it was not stored",
        );
        assert!(accept_knowledge(&note(&token), SecretPolicy::Allow).is_ok());
    }

    #[test]
    fn a_note_has_tags_and_a_text() {
        let tagged = |tags: &[&str]| CapturedKnowledge {
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..note("A")
        };
        let accepted = accept_knowledge(&tagged(&[" Docker ", "docker", "CI"]), SecretPolicy::Refuse).unwrap();
        assert_eq!(accepted.tags, ["docker", "ci"]);
        let none = "there is no tag; a note has at least one, by which it is found again";
        check(&tagged(&[]), none);
        check(&tagged(&[" "]), none);
        let many: Vec<String> = (0..21).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&tagged(&many), "there are 21 tags; a note has at most 20");
        let long = "x".repeat(51);
        check(
            &tagged(&[&long]),
            &format!("the tag {long:?} has 51 characters; it may have at most 50"),
        );
        let saying = |body: &str| CapturedKnowledge {
            body: body.to_owned(),
            ..note("A")
        };
        check(&saying(" \n"), "the text is blank, so there is nothing to store");
        check(
            &saying("a\0"),
            "the text holds a NUL character at byte 1, which no note can hold",
        );
        check(
            &saying(&"x".repeat((64 << 10) + 1)),
            "the text has 65537 characters; a note holds at most 65536",
        );
        let words = "word ".repeat(20_000);
        assert!(
            accept_knowledge(&saying(&words), SecretPolicy::Refuse).is_ok(),
            "it is cut when it is written"
        );
    }
}
