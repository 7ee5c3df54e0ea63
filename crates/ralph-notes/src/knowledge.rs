//! Long notes: one file each, with its title and tags in front, as YAML, and its text after them.
//!
//! A file that is changed keeps every byte in front that need not change, keys that are not known here among them.

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

/// The largest file that is read as a long note.
pub const MAX_FILE_BYTES: usize = 4 << 20;
/// How many words a long note may have. A note is no document.
pub const MAX_WORDS: usize = 500;
/// What stands where a text was cut.
const TRUNCATED: &str = "[truncated]";
/// How the lines begin that open and close a piece of code.
const FENCES: [&str; 2] = ["```", "~~~"];
/// The name of a note whose title has no letter or digit.
const NAMELESS: &str = "note";

/// A long note as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knowledge {
    /// Its title.
    pub title: String,
    /// Its tags, lower case, at least one.
    pub tags: Vec<String>,
    /// The feature that it is about.
    pub feature: Option<String>,
    /// When it was made, as it stands in the file.
    pub created_at: Option<String>,
    /// What it says, without blank lines around it.
    pub body: String,
}

/// Why a file is no long note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeProblem {
    /// It is too large.
    #[error("it has more than {} MiB", MAX_FILE_BYTES >> 20)]
    TooLarge,
    /// It is no text.
    #[error("it is not UTF-8")]
    NotText,
    /// It does not begin with a line `---`, or there is no second one.
    #[error("it does not begin with frontmatter between two lines `---`")]
    NoFrontmatter,
    /// What stands in front is too large.
    #[error("its frontmatter has more than {} KiB", MAX_FRONTMATTER_BYTES >> 10)]
    LargeFrontmatter,
    /// What stands in front cannot be read.
    #[error("its frontmatter cannot be read: {0}")]
    BadYaml(String),
    /// It has no title.
    #[error("its frontmatter has no title")]
    NoTitle,
    /// It has no tags.
    #[error("its frontmatter has no tags")]
    NoTags,
    /// Its tags are to become more, and stand in a form that only a person can change.
    #[error("no tag can be added to those that it has; write them as a list, such as `tags: [a, b]`")]
    FixedTags,
}

impl Knowledge {
    /// Reads a file.
    ///
    /// # Errors
    /// When it is no long note.
    pub fn parse(bytes: &[u8]) -> Result<Self, KnowledgeProblem> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(KnowledgeProblem::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_not_utf8| KnowledgeProblem::NotText)?;
        let (front, body) = halves(text).ok_or(KnowledgeProblem::NoFrontmatter)?;
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

/// What is equal of two titles that are the same: case makes no difference.
#[must_use]
pub fn title_key(title: &str) -> String {
    title.trim().to_lowercase()
}

/// The text of a file for a new long note. Any title can be read back from it.
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

/// The text of a file with another body and more tags. Everything else in front of it stays as it is.
///
/// # Errors
/// When the file is no long note, or its tags have a form that cannot be changed.
pub fn updated_knowledge(bytes: &[u8], tags: &[String], body: &str) -> Result<String, KnowledgeProblem> {
    let old = Knowledge::parse(bytes)?;
    let text = std::str::from_utf8(bytes).map_err(|_not_utf8| KnowledgeProblem::NotText)?;
    let (front, after) = halves(text).ok_or(KnowledgeProblem::NoFrontmatter)?;
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

/// The name of the file for a title, the first or a later one for others of the same name.
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

/// Where the frontmatter stands, and where what follows its last line begins.
pub(crate) fn halves(text: &str) -> Option<(Span, usize)> {
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

/// A text without blank lines around it.
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

/// A text within the limit, cut after a word and marked where it was longer.
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
                // A fence ends its line, or it is none.
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

/// Tags as they are compared: lower case, trimmed, each once, in their order.
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
