//! Parses the YAML frontmatter of a knowledge entry, with small limits.

use std::fmt;

use ralph_model::preview;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

use super::{KnowledgeProblem, cleaned_tags};

/// The largest frontmatter. The file may come from anywhere, and a title with tags needs no more.
pub(crate) const MAX_FRONTMATTER_BYTES: usize = 64 << 10;
/// The longest parser message that is shown, in columns.
const SHOWN_COLUMNS: usize = 200;

const TOO_DEEP: &str = "lists and maps are nested too deeply";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frontmatter {
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    pub(super) feature: Option<String>,
    pub(super) created_at: Option<String>,
}

#[derive(serde::Deserialize)]
struct Keys {
    title: Option<String>,
    tags: Option<Tags>,
    feature: Option<String>,
    created_at: Option<String>,
}

/// Tags as people write them: a list, or one string with commas.
struct Tags(Vec<String>);

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TagsVisitor)
    }
}

/// Reads each tag as a string, because a tag that looks like a number is still a tag.
struct TagsVisitor;

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = Tags;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tags")
    }

    fn visit_str<E>(self, text: &str) -> Result<Tags, E> {
        Ok(Tags(cleaned_tags(text.split(','))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tags, A::Error> {
        let mut tags = Vec::new();
        while let Some(tag) = list.next_element::<String>()? {
            tags.push(tag);
        }
        Ok(Tags(cleaned_tags(tags.iter().map(String::as_str))))
    }

    fn visit_unit<E>(self) -> Result<Tags, E> {
        Ok(Tags(Vec::new()))
    }
}

impl Frontmatter {
    pub(super) fn parse(text: &str) -> Result<Self, KnowledgeProblem> {
        let keys: Option<Keys> = read_yaml(text)?;
        let keys = keys.ok_or(KnowledgeProblem::NoTitle)?;
        let title = keys
            .title
            .filter(|title| !title.trim().is_empty())
            .ok_or(KnowledgeProblem::NoTitle)?;
        let tags = keys.tags.map(|tags| tags.0).unwrap_or_default();
        if tags.is_empty() {
            return Err(KnowledgeProblem::NoTags);
        }
        Ok(Self {
            title,
            tags,
            feature: keys.feature,
            created_at: keys.created_at,
        })
    }
}

pub(crate) enum YamlProblem {
    TooLarge,
    /// Malformed or unsupported YAML, described in one line.
    Bad(String),
}

impl From<YamlProblem> for KnowledgeProblem {
    fn from(problem: YamlProblem) -> Self {
        match problem {
            YamlProblem::TooLarge => Self::LargeFrontmatter,
            YamlProblem::Bad(why) => Self::BadYaml(why),
        }
    }
}

/// Parses frontmatter within small limits; `None` if it is empty.
pub(crate) fn read_yaml<T: DeserializeOwned>(text: &str) -> Result<Option<T>, YamlProblem> {
    if text.len() > MAX_FRONTMATTER_BYTES {
        return Err(YamlProblem::TooLarge);
    }
    serde_saphyr::from_str_with_options(text, options()).or_else(|_in_lines_of_its_own| {
        // Add the line of the opening `---`, so that line numbers match the file.
        let in_its_file = format!("\n{text}");
        serde_saphyr::from_str_with_options(&in_its_file, options()).map_err(|error| YamlProblem::Bad(describe(&error)))
    })
}

/// The problem and its position. Replaces messages that give advice to callers of the parser.
fn describe(error: &Error) -> String {
    let (what, location) = match error.without_snippet() {
        Error::Budget { breach, location } => (over_budget(breach).to_owned(), location),
        Error::DuplicateMappingKey {
            key: Some(key),
            location,
        } => (format!("duplicate key `{key}`"), location),
        Error::DuplicateMappingKey { key: None, location } => ("duplicate key".to_owned(), location),
        Error::NullIntoString { location } => ("expected a string, found nothing".to_owned(), location),
        Error::BinaryNotUtf8 { location } => ("`!!binary` is not supported".to_owned(), location),
        other => {
            // The scanner has its own limit for nested brackets.
            let message = other.to_string().replacen("recursion limit exceeded", TOO_DEEP, 1);
            return preview(&message, SHOWN_COLUMNS);
        }
    };
    let place = format!(" at line {}, column {}", location.line(), location.column());
    preview(&what, SHOWN_COLUMNS.saturating_sub(place.len())) + &place
}

fn over_budget(breach: &BudgetBreach) -> &'static str {
    match breach {
        BudgetBreach::Anchors { .. } => "anchors (`&name`) are not supported",
        BudgetBreach::Aliases { .. } => "aliases (`*name`) are not supported",
        BudgetBreach::MergeKeys { .. } => "merge keys (`<<`) are not supported",
        BudgetBreach::Depth { .. } => TOO_DEEP,
        BudgetBreach::Documents { .. } => "it has more than one document",
        _ => "it is too large",
    }
}

/// Small limits: a title with tags needs neither depth nor references.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(MAX_FRONTMATTER_BYTES),
            max_depth: 16,
            flow_nesting_limit: 16,
            max_documents: 1,
            max_nodes: 5_000,
            max_events: 10_000,
            max_total_scalar_bytes: MAX_FRONTMATTER_BYTES,
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
            max_inclusion_depth: 0,
        },
        // A message is one line; a snippet would take several.
        with_snippet: false,
    }
}
