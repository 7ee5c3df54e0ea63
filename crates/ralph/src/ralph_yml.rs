//! Imports `memories:` of another tool's `ralph.yml` into `[memories]`. The caller reads the file.

use ralph_model::config::Override;
use ralph_model::preview;
use serde::Deserialize;
use toml_edit::Value;

/// The largest accepted file; settings are a few kilobytes.
const MAX_BYTES: usize = 256 * 1024;

/// Columns of a parser error in a message.
const SHOWN_COLUMNS: usize = 200;

/// The relevant part of the file; the rest belongs to the other tool.
#[derive(Deserialize)]
struct RalphYml {
    memories: Option<Memories>,
}

#[derive(Deserialize)]
struct Memories {
    enabled: Option<bool>,
    inject: Option<String>,
    budget: Option<i64>,
    skill_injection: Option<bool>,
    filter: Option<Filter>,
}

#[derive(Deserialize)]
struct Filter {
    types: Option<Vec<String>>,
    tags: Option<Vec<String>>,
    recent: Option<i64>,
}

/// The settings in `memories:`, in the order of the configuration.
///
/// # Errors
/// The file is too large or not YAML, or a setting has an unsupported value.
pub(crate) fn from_ralph_yml(text: &str) -> Result<Vec<Override>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it is larger than {} KiB", MAX_BYTES / 1024));
    }
    let file: Option<RalphYml> = serde_saphyr::from_str_with_options(text, options())
        .map_err(|error| preview(&error.to_string(), SHOWN_COLUMNS))?;
    match file.and_then(|file| file.memories) {
        Some(memories) => overrides(memories),
        None => Ok(Vec::new()),
    }
}

/// Tight limits, since the file may come from anywhere; settings need no depth and no references.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(MAX_BYTES),
            max_depth: 16,
            flow_nesting_limit: 16,
            max_documents: 1,
            max_nodes: 10_000,
            max_events: 20_000,
            max_total_scalar_bytes: MAX_BYTES,
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
            max_inclusion_depth: 0,
        },
        // Messages are one line, and a snippet has several.
        with_snippet: false,
    }
}

fn overrides(memories: Memories) -> Result<Vec<Override>, String> {
    let filter = memories.filter.unwrap_or(Filter {
        types: None,
        tags: None,
        recent: None,
    });
    let settings: [(&str, Option<Value>); 7] = [
        ("enabled", memories.enabled.map(Value::from)),
        ("inject", memories.inject.map(Value::from)),
        ("budget", memories.budget.map(Value::from)),
        ("skill_injection", memories.skill_injection.map(Value::from)),
        ("filter.types", filter.types.map(Value::from_iter)),
        ("filter.tags", filter.tags.map(Value::from_iter)),
        ("filter.recent", filter.recent.map(Value::from)),
    ];
    settings
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .map(|(key, value)| Override::new("memories", key, value).map_err(|refusal| refusal.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use ralph_model::config::{Config, Inject, template};
    use ralph_model::{NoteKind, Tags, Tokens};

    use super::*;

    #[test]
    fn all_memory_settings_are_imported() {
        let text = "agent: claude\nhats: [{name: x, deep: {a: 1}}]\nmemories:\n  enabled: false\n  inject: manual # why\n  \
                    budget: 1500\n  skill_injection: false\n  colour: red\n  filter:\n    types: [fix, pattern]\n    \
                    tags: ['a b']\n    recent: 30\n    other: [1]\n";
        let text = template(&from_ralph_yml(text).unwrap());
        let loaded = Config::load(Some((".ralph.toml", &text)), &|_| None).unwrap();
        let mut expected = Config::default();
        expected.memories.enabled = false;
        expected.memories.inject = Inject::Manual;
        expected.memories.budget = Tokens(1500);
        expected.memories.skill_injection = false;
        expected.memories.filter.types = vec![NoteKind::Fix, NoteKind::Pattern];
        expected.memories.filter.tags = Tags::new(["a b"]).unwrap();
        expected.memories.filter.recent = Some(30);
        assert_eq!(loaded.config, expected);
        assert_eq!(loaded.warnings, []);
    }

    #[test]
    fn missing_settings_are_not_set() {
        let found = from_ralph_yml("memories:\n  budget: 10\n  filter:\n    tags:\n").unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|o| format!("{}.{}={}", o.section(), o.key(), o.value()))
            .collect();
        assert_eq!(shown, ["memories.budget=10"]);
        for nothing in [
            "",
            "# comment\n",
            "agent: claude\n",
            "memories:\n",
            "memories: {}\n",
            "memories:\n  filter:\n",
        ] {
            assert_eq!(from_ralph_yml(nothing), Ok(vec![]), "{nothing:?}");
        }
    }

    #[test]
    fn errors_are_one_line() {
        let deep = "a: ".to_owned() + &"[".repeat(100) + &"]".repeat(100);
        for (text, part) in [
            (
                "memories:\n  inject: always\n",
                "memories.inject is \"always\"; expected \"auto\", \"manual\" or \"none\"",
            ),
            (
                "memories:\n  budget: -1\n",
                "memories.budget is -1; expected a whole number",
            ),
            (
                "memories:\n  filter: {types: [bug]}\n",
                "memories.filter.types is [\"bug\"]",
            ),
            ("memories:\n  budget: many\n", ""),
            ("memories: [1, 2]\n", ""),
            ("- a\n- b\n", ""),
            ("memories: {budget: 1\n", ""),
            ("x: &a [1]\nmemories:\n  budget: 1\n", "anchor"),
            ("memories:\n  budget: 1\n---\nmemories:\n  budget: 2\n", ""),
            (&deep, ""),
            (&"#".repeat(MAX_BYTES + 1), "it is larger than 256 KiB"),
        ] {
            let message = from_ralph_yml(text).unwrap_err();
            assert!(message.to_lowercase().contains(&part.to_lowercase()), "{message}");
            assert!(!message.is_empty() && message.lines().count() == 1, "{message}");
        }
    }
}
