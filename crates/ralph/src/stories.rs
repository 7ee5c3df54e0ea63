//! Parses user stories in JSON, as in a `prd.json`, into tasks.

use ralph_model::{Priority, preview};
use ralph_store::ImportItem;
use serde_json::Value;

/// Columns of an invalid value in an error.
const VALUE_COLUMNS: usize = 40;

/// The fields of a story that tasks use.
struct Story {
    id: String,
    title: String,
    description: String,
    criteria: Vec<String>,
    priority: Priority,
    passes: bool,
    notes: String,
}

impl Story {
    /// Reads a story; missing fields are empty. Errors have no final period.
    fn read(place: usize, value: &Value) -> Result<Self, String> {
        let Value::Object(object) = value else {
            return Err(format!("story {place} is {}; expected an object", shown(value)));
        };
        let title = match object.get("title") {
            Some(Value::String(title)) => title.split_whitespace().collect::<Vec<_>>().join(" "),
            Some(Value::Null) | None => String::new(),
            Some(other) => return Err(format!("story {place}: title is {}; expected a text", shown(other))),
        };
        if title.is_empty() {
            return Err(format!("story {place} has no title"));
        }
        let field = Field {
            place,
            title: &title,
            object,
        };
        Ok(Self {
            id: match object.get("id") {
                Some(Value::String(id)) => id.trim().to_owned(),
                Some(Value::Number(id)) => id.to_string(),
                _ => String::new(),
            },
            description: field.read("description", "a text", text)?.unwrap_or_default(),
            criteria: field
                .read("acceptanceCriteria", "a list of texts", texts)?
                .unwrap_or_default(),
            priority: field
                .read("priority", "a whole number from 0", priority)?
                .unwrap_or_default(),
            passes: field
                .read("passes", "true or false", Value::as_bool)?
                .unwrap_or_default(),
            notes: field.read("notes", "a text", text)?.unwrap_or_default(),
            title,
        })
    }
}

/// The fields of a story.
struct Field<'a> {
    place: usize,
    title: &'a str,
    object: &'a serde_json::Map<String, Value>,
}

impl Field<'_> {
    /// The value of a field; none if it is missing.
    fn read<T>(&self, name: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, String> {
        let Some(value) = self.object.get(name).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let (place, title) = (self.place, preview(self.title, VALUE_COLUMNS));
        let wrong = || {
            format!(
                "story {place} ({title:?}): {name} is {}; expected {expected}",
                shown(value)
            )
        };
        read(value).map(Some).ok_or_else(wrong)
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

fn priority(value: &Value) -> Option<Priority> {
    u32::try_from(value.as_u64()?).ok().map(Priority)
}

fn shown(value: &Value) -> String {
    preview(&value.to_string(), VALUE_COLUMNS)
}

/// Parses stories into tasks. Errors have no final period.
pub(crate) fn parse_stories(text: &str) -> Result<Vec<ImportItem>, String> {
    let whole: Value = serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?;
    let list = match whole {
        Value::Array(list) => list,
        Value::Object(mut object) => match ["userStories", "stories"].iter().find_map(|key| object.remove(*key)) {
            Some(Value::Array(list)) => list,
            Some(_) => return Err("its stories are not a list".to_owned()),
            None => return Err("no \"userStories\"".to_owned()),
        },
        _ => return Err("no list of stories".to_owned()),
    };
    let items = list.iter().enumerate();
    items
        .map(|(place, story)| Ok(item(Story::read(place + 1, story)?)))
        .collect()
}

fn item(story: Story) -> ImportItem {
    let criteria: Vec<String> = story.criteria.iter().map(|line| format!("- {}", line.trim())).collect();
    let criteria = match criteria.as_slice() {
        [] => String::new(),
        lines => format!("Acceptance criteria:\n{}", lines.join("\n")),
    };
    let parts = [story.description.as_str(), &criteria, &story.notes].map(str::trim);
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    ImportItem {
        description: parts.join("\n\n"),
        title: match story.id.as_str() {
            "" => story.title,
            id => format!("{id}: {}", story.title),
        },
        priority: story.priority,
        checks: Vec::new(),
        done: story.passes,
        parent: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn story_becomes_a_task() {
        let text = r#"{"project": "x", "userStories": [
            {"id": "US-001", "title": "Log in", "description": "As a user …", "acceptanceCriteria": ["a", "b"],
             "priority": 1, "passes": true, "notes": "mind the tests"},
            {"id": 2, "title": "Log\nout", "notes": "", "extra": []}
        ]}"#;
        let item = |title: &str, description: &str, priority, done| ImportItem {
            title: title.to_owned(),
            description: description.to_owned(),
            priority,
            checks: Vec::new(),
            done,
            parent: None,
        };
        assert_eq!(
            parse_stories(text).unwrap(),
            [
                item(
                    "US-001: Log in",
                    "As a user …\n\nAcceptance criteria:\n- a\n- b\n\nmind the tests",
                    Priority(1),
                    true
                ),
                item("2: Log out", "", Priority::default(), false),
            ]
        );
        assert_eq!(parse_stories(r#"[{"title": "a"}]"#).unwrap().len(), 1);
        assert_eq!(parse_stories(r#"{"stories": [{"title": "a"}]}"#).unwrap().len(), 1);
    }

    #[test]
    fn invalid_stories_are_errors() {
        for (text, expected) in [
            ("{", "not valid JSON: EOF while parsing an object at line 1 column 1"),
            ("{}", "no \"userStories\""),
            ("3", "no list of stories"),
            (r#"{"stories": {}}"#, "its stories are not a list"),
            (r#"[{"title": "a"}, {"id": "US-2"}]"#, "story 2 has no title"),
            ("[3]", "story 1 is 3; expected an object"),
            (r#"[{"title": 4}]"#, "story 1: title is 4; expected a text"),
            (
                r#"[{"title": "a"}, {"title": "b", "priority": "high"}]"#,
                r#"story 2 ("b"): priority is "high"; expected a whole number from 0"#,
            ),
            (
                r#"[{"title": "a", "priority": -1}]"#,
                r#"story 1 ("a"): priority is -1; expected a whole number from 0"#,
            ),
            (
                r#"[{"title": "a", "acceptanceCriteria": ["x", 1]}]"#,
                r#"story 1 ("a"): acceptanceCriteria is ["x",1]; expected a list of texts"#,
            ),
            (
                r#"[{"title": "a", "passes": "no"}]"#,
                r#"story 1 ("a"): passes is "no"; expected true or false"#,
            ),
        ] {
            assert_eq!(parse_stories(text).unwrap_err(), expected, "{text}");
        }
    }
}
