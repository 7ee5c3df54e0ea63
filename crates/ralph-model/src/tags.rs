//! The tags of a note: trimmed, unique and in the given order.

use std::collections::HashSet;

use serde::{Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tags(Vec<String>);

/// A tag that cannot be stored in the tags comment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid tag {tag:?}: a tag cannot contain {what}")]
pub struct TagError {
    tag: String,
    what: &'static str,
}

impl Tags {
    /// Parses a comma-separated list. Blank and repeated items are dropped.
    ///
    /// # Errors
    /// If a tag contains characters that would break the comment.
    pub fn parse(list: &str) -> Result<Self, TagError> {
        Self::new(list.split(','))
    }

    /// Takes single tags, under the rules of [`Tags::parse`].
    ///
    /// # Errors
    /// If a tag contains characters that would break the comment.
    pub fn new<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Self, TagError> {
        let mut seen = HashSet::new();
        let mut tags = Vec::new();
        for tag in items {
            let tag = tag.trim();
            if tag.is_empty() {
                continue;
            }
            if let Some(what) = forbidden(tag) {
                return Err(TagError {
                    tag: tag.to_owned(),
                    what,
                });
            }
            if seen.insert(tag) {
                tags.push(tag.to_owned());
            }
        }
        Ok(Self(tags))
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a tag equals one of the wanted ones, ignoring case.
    #[must_use]
    pub fn match_any(&self, wanted: &Self) -> bool {
        let mine: HashSet<String> = self.iter().map(str::to_lowercase).collect();
        wanted.iter().any(|tag| mine.contains(&tag.to_lowercase()))
    }
}

impl std::fmt::Display for Tags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl Serialize for Tags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

fn forbidden(tag: &str) -> Option<&'static str> {
    if tag.contains(',') {
        Some("a comma")
    } else if tag.contains('|') {
        Some("a vertical bar")
    } else if tag.contains("-->") {
        Some("`-->`")
    } else if tag.chars().any(char::is_control) {
        Some("a line break or control character")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_trimmed_and_deduplicated_in_order() {
        let tags = Tags::parse(" build, test ,,build, 日本 ").unwrap();
        assert_eq!(tags.to_string(), "build, test, 日本");
    }

    #[test]
    fn tags_that_would_break_the_comment_are_rejected() {
        for bad in ["a|b", "a-->b", "a\nb", "a\u{0}b"] {
            let message = Tags::parse(bad).unwrap_err().to_string();
            assert!(message.starts_with("invalid tag \"a"), "{message}");
        }
        assert!(Tags::new(["a,b"]).is_err());
    }

    #[test]
    fn filters_match_any_tag_in_any_case() {
        let tags = Tags::parse("Docker, build").unwrap();
        assert!(tags.match_any(&Tags::parse("x,docker").unwrap()));
        assert!(!tags.match_any(&Tags::parse("dock").unwrap()));
    }
}
