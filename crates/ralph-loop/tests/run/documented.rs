//! Every event that a test sees is described in docs/events.md, with the same fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use ralph_loop::RunEvent;
use serde_json::{Map, Value};

const PAGE: &str = include_str!("../../../../docs/events.md");

/// The fields of each event in the examples, by its name.
static EXAMPLES: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let examples = PAGE.split("```json\n").skip(1);
    let examples = examples.filter_map(|rest| serde_json::from_str(rest.split("```").next()?).ok());
    examples.map(|example: Map<String, Value>| fields(&example)).collect()
});

/// The name of an event and its fields, without those that the command adds.
fn fields(event: &Map<String, Value>) -> (String, BTreeSet<String>) {
    let added = ["at", "run"];
    let own = event.keys().filter(|key| !added.contains(&key.as_str()));
    (event["event"].as_str().unwrap().to_owned(), own.cloned().collect())
}

#[track_caller]
pub(crate) fn assert_documented(event: &RunEvent<'_>) {
    // Events for people at the terminal have no JSON.
    if let Ok(Value::Object(event)) = serde_json::to_value(event) {
        let (name, fields) = fields(&event);
        assert_eq!(EXAMPLES.get(&name), Some(&fields), "{name} in docs/events.md");
    }
}

#[test]
fn every_event_has_an_example() {
    let titles = PAGE.lines().filter(|line| line.starts_with("## `"));
    let titles: BTreeSet<String> = titles
        .map(|line| line.trim_matches(['#', ' ', '`']).to_owned())
        .collect();
    assert_eq!(EXAMPLES.keys().cloned().collect::<BTreeSet<_>>(), titles);
}
