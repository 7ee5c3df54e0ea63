//! Writes JSON in the layout of an existing file: line breaks, indentation and commas.

use ralph_notes::Patches;
use serde_json::Value as Json;

use super::super::jsonc::{self, Item, Kind, Value};

/// The indentation of a file without any.
const DEFAULT_UNIT: &str = "  ";

/// The layout of a file.
#[derive(Debug)]
pub(super) struct Layout {
    line_break: &'static str,
    unit: String,
}

impl Layout {
    pub(super) fn new(line_break: &'static str, unit: &str) -> Self {
        Self {
            line_break,
            unit: unit.to_owned(),
        }
    }

    /// The layout of a text, whose value may be missing.
    pub(super) fn of(text: &str, root: Option<&Value>) -> Self {
        let ends_with_cr = |line: &str| line.ends_with('\r');
        let line_break = match text.split_once('\n') {
            Some((first, _)) if ends_with_cr(first) => "\r\n",
            _ => "\n",
        };
        let unit = root.and_then(|root| indentation(text, items(root)));
        Self::new(line_break, unit.unwrap_or(DEFAULT_UNIT))
    }

    /// The patches that append an item to a container.
    pub(super) fn add(&self, text: &str, container: &Value, name: Option<&str>, value: &Json) -> Patches {
        let mut patches = Patches::none();
        let items = items(container);
        let named = |value: String| name.map_or_else(|| value.clone(), |name| format!("{}: {value}", Json::from(name)));
        let Some(last) = items.last() else {
            patches.insert(
                container.span.start() + 1,
                format!(" {} ", named(inline(value))).into_bytes(),
            );
            return patches;
        };
        let after_last = last.comma.map_or(last.value.span.end(), |comma| comma + 1);
        let (place, on_its_own_line) = after_comments(text, after_last);
        let indentation = indentation(text, items);
        let mut item = match (indentation, on_its_own_line) {
            (None, false) => format!(" {}", named(inline(value))),
            (indentation, _) => {
                let indentation = indentation.unwrap_or(&self.unit);
                format!(
                    "{}{indentation}{}",
                    self.line_break,
                    named(self.pretty(value, indentation))
                )
            }
        };
        match last.comma {
            // A trailing comma is kept.
            Some(_) => item.push(','),
            None => patches.insert(last.value.span.end(), b",".to_vec()),
        }
        patches.insert(place, item.into_bytes());
        patches
    }

    /// A value on several lines, the first of which is already indented.
    pub(super) fn pretty(&self, value: &Json, indentation: &str) -> String {
        let inner = format!("{indentation}{}", self.unit);
        let lines = |open: char, close: char, items: Vec<String>| {
            let separator = format!(",{}{inner}", self.line_break);
            let items = items.join(&separator);
            format!(
                "{open}{}{inner}{items}{}{indentation}{close}",
                self.line_break, self.line_break
            )
        };
        match value {
            Json::Object(members) if !members.is_empty() => {
                let member = |(name, value): (&String, &Json)| {
                    format!("{}: {}", Json::from(name.as_str()), self.pretty(value, &inner))
                };
                lines('{', '}', members.iter().map(member).collect())
            }
            Json::Array(elements) if !elements.is_empty() => lines(
                '[',
                ']',
                elements.iter().map(|value| self.pretty(value, &inner)).collect(),
            ),
            other => other.to_string(),
        }
    }
}

/// A value on one line.
fn inline(value: &Json) -> String {
    match value {
        Json::Object(members) => {
            let member = |(name, value): (&String, &Json)| format!("{}: {}", Json::from(name.as_str()), inline(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Json::Array(elements) => format!("[{}]", elements.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn items(container: &Value) -> &[Item] {
    match &container.kind {
        Kind::Object(items) | Kind::Array(items) => items,
        Kind::Text(_) | Kind::Other => &[],
    }
}

/// The indentation of the first item, if it has its own line.
fn indentation<'t>(text: &'t str, items: &[Item]) -> Option<&'t str> {
    let before = text.get(..items.first()?.start)?;
    let line = before.trim_end_matches([' ', '\t']);
    line.ends_with('\n').then(|| before.get(line.len()..)).flatten()
}

/// The end of the comments on the same line, and whether a line break must follow.
fn after_comments(text: &str, from: usize) -> (usize, bool) {
    let mut end = from;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let comment = rest.trim_start_matches([' ', '\t']);
        let Some(length) = jsonc::comment_length(comment) else {
            return (end, false);
        };
        let written = comment.get(..length).unwrap_or_default();
        if written.contains('\n') {
            return (end, false);
        }
        end += rest.len() - comment.len() + length;
        if written.starts_with("//") {
            return (end, true);
        }
    }
}
