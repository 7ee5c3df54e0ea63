//! User stories in JSON, as a `prd.json` has them: which tasks they are, and which of them are done.

use ralph_model::Priority;
use ralph_store::ImportItem;
use serde::Deserialize;
use serde_json::Value;

/// A story. What it has beyond this is not for tasks.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Story {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    acceptance_criteria: Option<Vec<String>>,
    #[serde(default)]
    priority: Option<u32>,
    #[serde(default)]
    passes: Option<bool>,
    #[serde(default)]
    notes: Option<String>,
}

/// The tasks of the stories in a text. The error is a sentence without its end.
pub(crate) fn parse_stories(text: &str) -> Result<Vec<ImportItem>, String> {
    let whole: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let list = match whole {
        Value::Array(list) => list,
        Value::Object(mut object) => match ["userStories", "stories"].iter().find_map(|key| object.remove(*key)) {
            Some(Value::Array(list)) => list,
            Some(_) => return Err("its stories are no list".to_owned()),
            None => return Err("it has no \"userStories\"".to_owned()),
        },
        _ => return Err("it holds no list of stories".to_owned()),
    };
    let items = list.into_iter().enumerate().map(|(place, story)| {
        let story: Story =
            serde_json::from_value(story).map_err(|error| format!("story {} cannot be read: {error}", place + 1))?;
        item(&story).ok_or_else(|| format!("story {} has no title", place + 1))
    });
    items.collect()
}

fn item(story: &Story) -> Option<ImportItem> {
    let title = story.title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return None;
    }
    let id = match &story.id {
        Value::String(id) => id.trim().to_owned(),
        Value::Number(id) => id.to_string(),
        _ => String::new(),
    };
    let criteria = story.acceptance_criteria.iter().flatten();
    let criteria: Vec<String> = criteria.map(|line| format!("- {}", line.trim())).collect();
    let criteria = match criteria.as_slice() {
        [] => String::new(),
        lines => format!("Acceptance criteria:\n{}", lines.join("\n")),
    };
    let parts = [story.description.as_deref(), Some(&criteria), story.notes.as_deref()];
    let parts: Vec<&str> = parts
        .into_iter()
        .flatten()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    Some(ImportItem {
        title: if id.is_empty() { title } else { format!("{id}: {title}") },
        description: parts.join("\n\n"),
        priority: story.priority.map_or_else(Priority::default, Priority),
        done: story.passes.unwrap_or_default(),
        parent: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_a_task_with_its_criteria() {
        let text = r#"{"project": "x", "userStories": [
            {"id": "US-001", "title": "Log in", "description": "As a user …", "acceptanceCriteria": ["a", "b"],
             "priority": 1, "passes": true, "notes": "mind the tests"},
            {"id": 2, "title": "Log\nout", "notes": "", "extra": []}
        ]}"#;
        let item = |title: &str, description: &str, priority, done| ImportItem {
            title: title.to_owned(),
            description: description.to_owned(),
            priority,
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
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("{", "it is not JSON: EOF while parsing an object at line 1 column 1"),
            ("{}", "it has no \"userStories\""),
            ("3", "it holds no list of stories"),
            (r#"{"stories": {}}"#, "its stories are no list"),
            (r#"[{"title": "a"}, {"id": "US-2"}]"#, "story 2 has no title"),
        ] {
            assert_eq!(parse_stories(text).unwrap_err(), expected, "{text}");
        }
        assert!(parse_stories(r#"[{"title": "a", "priority": -1}]"#).is_err());
    }
}
