//! Knowledge entries: one file each, with title and tags in YAML frontmatter and the text below.
//!
//! Updating a file keeps every byte of the frontmatter that need not change, including unknown keys.

mod frontmatter;
mod links;
mod more_tags;
mod yaml;

use std::borrow::Cow;

use jiff::Timestamp;
use ralph_model::{CapturedKnowledge, slug};

use crate::Span;
pub use links::links_in;

use frontmatter::Frontmatter;
pub(crate) use frontmatter::{MAX_FRONTMATTER_BYTES, YamlProblem, read_yaml};

pub const MAX_FILE_BYTES: usize = 4 << 20;
pub const MAX_WORDS: usize = 500;
/// Marks where a text was cut.
const TRUNCATED: &str = "[truncated]";
/// The prefixes that open and close a code block.
const FENCES: [&str; 2] = ["```", "~~~"];
/// The file name for a title without letters or digits.
const NAMELESS: &str = "note";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knowledge {
    pub title: String,
    /// Lower case, at least one.
    pub tags: Vec<String>,
    pub feature: Option<String>,
    /// The creation time as written in the file.
    pub created_at: Option<String>,
    /// The text without surrounding blank lines.
    pub body: String,
}

/// Why a file is not a knowledge entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeProblem {
    #[error("it is larger than {} MiB", MAX_FILE_BYTES >> 20)]
    TooLarge,
    #[error("it is not UTF-8")]
    NotText,
    #[error("it does not start with frontmatter between `---` lines")]
    NoFrontmatter,
    #[error("its frontmatter is larger than {} KiB", MAX_FRONTMATTER_BYTES >> 10)]
    LargeFrontmatter,
    #[error("its frontmatter cannot be read: {0}")]
    BadYaml(String),
    #[error("its frontmatter has no title")]
    NoTitle,
    #[error("its frontmatter has no tags")]
    NoTags,
    /// The tags are written in a form that cannot be extended automatically.
    #[error("no tags can be added to its list; write it as `tags: [a, b]`")]
    FixedTags,
}

impl Knowledge {
    /// # Errors
    /// If it is not a knowledge entry.
    pub fn parse(bytes: &[u8]) -> Result<Self, KnowledgeProblem> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(KnowledgeProblem::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_not_utf8| KnowledgeProblem::NotText)?;
        let (front, body) = split_frontmatter(text).ok_or(KnowledgeProblem::NoFrontmatter)?;
        let front = Frontmatter::parse(text.get(front.start()..front.end()).unwrap_or_default())?;
        Ok(Self {
            title: front.title,
            tags: front.tags,
            feature: front.feature,
            created_at: front.created_at,
            body: trimmed(text.get(body..).unwrap_or_default()).to_owned(),
        })
    }
}

/// The comparison key of a title; ignores case.
#[must_use]
pub fn title_key(title: &str) -> String {
    title.trim().to_lowercase()
}

/// Renders the file of a new knowledge entry. Any title survives a round trip.
#[must_use]
pub fn knowledge_text(note: &CapturedKnowledge, at: Timestamp) -> String {
    let title = yaml::quoted(note.title.trim());
    let tags = yaml::list(&cleaned_tags(note.tags.iter().map(String::as_str)));
    let feature = note.feature.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let feature = feature.map_or_else(String::new, |name| format!("feature: {}\n", yaml::quoted(name)));
    let body = capped_to_words(&note.body);
    let gap = if body.is_empty() { "" } else { "\n" };
    format!("---\ntitle: {title}\ntags: {tags}\n{feature}created_at: \"{at:.0}\"\n---\n{gap}{body}{gap}")
}

/// Replaces the body and adds tags. The rest of the frontmatter stays as it is.
///
/// # Errors
/// If the file is not a knowledge entry, or its tags cannot be extended.
pub fn updated_knowledge(bytes: &[u8], tags: &[String], body: &str) -> Result<String, KnowledgeProblem> {
    let old = Knowledge::parse(bytes)?;
    let text = std::str::from_utf8(bytes).map_err(|_not_utf8| KnowledgeProblem::NotText)?;
    let (front, after) = split_frontmatter(text).ok_or(KnowledgeProblem::NoFrontmatter)?;
    let part = |start, end| text.get(start..end).unwrap_or_default();
    let ending = if part(0, after).ends_with("\r\n") { "\r\n" } else { "\n" };
    let all = cleaned_tags(old.tags.iter().chain(tags).map(String::as_str));
    let old_front = part(front.start(), front.end());
    let new_front = if all == old.tags {
        Cow::Borrowed(old_front)
    } else {
        let added = all.get(old.tags.len()..).unwrap_or_default();
        Cow::Owned(more_tags::with_more_tags(old_front, added, ending).ok_or(KnowledgeProblem::FixedTags)?)
    };
    let mut new = format!("{}{new_front}{}", part(0, front.start()), part(front.end(), after));
    if !new.ends_with('\n') {
        new.push_str(ending);
    }
    let body = capped_to_words(body);
    if !body.is_empty() {
        new.push_str(ending);
        new.push_str(&body.replace('\n', ending));
        new.push_str(ending);
    }
    Ok(new)
}

/// The file name for a title; `number` tells titles with the same slug apart.
#[must_use]
pub fn knowledge_file_name(title: &str, number: usize) -> String {
    let name = match slug(title) {
        name if name.is_empty() => NAMELESS.to_owned(),
        name => name,
    };
    match number {
        0 | 1 => format!("{name}.md"),
        number => format!("{name}-{number}.md"),
    }
}

/// The span of the frontmatter, and the offset of the body.
pub(crate) fn split_frontmatter(text: &str) -> Option<(Span, usize)> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    if !is_fence(first.trim_start_matches('\u{feff}')) {
        return None;
    }
    let mut at = first.len();
    for line in lines {
        if is_fence(line) {
            return Some((Span::new(first.len(), at), at + line.len()));
        }
        at += line.len();
    }
    None
}

fn trimmed(body: &str) -> &str {
    let body = body.trim_end();
    let mut rest = body;
    while let Some((line, after)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        rest = after;
    }
    rest
}

/// Cuts a text to the word limit and marks the cut.
pub fn capped_to_words(body: &str) -> Cow<'_, str> {
    let body = trimmed(body);
    let mut words = 0;
    let mut in_word = false;
    for (at, c) in body.char_indices() {
        if c.is_whitespace() {
            in_word = false;
        } else if !in_word {
            in_word = true;
            words += 1;
            if words > MAX_WORDS {
                let kept = body.get(..at).unwrap_or_default().trim_end();
                // Text after a closing fence on its line would keep the code block open.
                let last = kept.lines().next_back().unwrap_or_default().trim_start();
                let gap = if FENCES.iter().any(|fence| last.starts_with(fence)) {
                    '\n'
                } else {
                    ' '
                };
                return Cow::Owned(format!("{kept}{gap}{TRUNCATED}"));
            }
        }
    }
    Cow::Borrowed(body)
}

/// Normalizes tags: lower case, trimmed, without duplicates, in order.
pub fn cleaned_tags<'a>(tags: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut cleaned: Vec<String> = Vec::new();
    for tag in tags {
        let tag = tag.trim().to_lowercase();
        if !tag.is_empty() && !cleaned.contains(&tag) {
            cleaned.push(tag);
        }
    }
    cleaned
}

#[cfg(test)]
mod tests;
