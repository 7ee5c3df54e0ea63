//! Timestamps in JSON have a fixed width, so that they sort as text and compare with those in the database.

use ralph_model::Outcome;
use serde_json::Value;

use crate::past::{Worked, task, work};
use crate::{env, json};

/// Collects all timestamps in a value.
fn timestamps(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| timestamps(value, found)),
        Value::Object(entries) => entries.values().for_each(|value| timestamps(value, found)),
        _ => {}
    }
}

#[test]
fn timestamps_have_fixed_width() {
    let env = env();
    let done = |arguments: &[&str]| {
        let finished = env
            .ralph(arguments.iter().copied())
            .env("RALPH_NOW", "2025-01-20T12:00:00.140Z")
            .run();
        assert_eq!(finished.code, Some(0), "{finished}");
        finished.stdout.trim_end().to_owned()
    };
    let id = done(&[
        "learnings",
        "add",
        "Look before you leap",
        "--category",
        "other",
        "--format",
        "quiet",
    ]);
    done(&["feature", "create", "tea"]);
    done(&["memory", "add", "Tea is green", "--tags", "tea"]);
    let tea = task(&env, "Make tea");
    let worked = Worked {
        task: &tea,
        outcome: Outcome::Done,
        ..Worked::default()
    };
    drop(work(&env, 3, &[worked]));
    let memory = json(&env, &["memory", "list", "--json"])[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for arguments in [
        &["learnings", "list"][..],
        &["learnings", "stats"],
        &["learnings", "show", &id],
        &["feature", "list"],
        &["feature", "show", "tea"],
        &["task", "list", "--all"],
        &["task", "show", &tea],
        &["task", "log", &tea],
        &["journal", "list"],
        &["journal", "show", "1"],
        &["stats"],
        &["memory", "show", &memory, "--history"],
        &["why"],
    ] {
        let mut found = Vec::new();
        let printed = json(&env, &[arguments, &["--json"]].concat());
        timestamps(&printed, &mut found);
        assert!(!found.is_empty(), "{arguments:?}: {printed}");
        let width = "2025-01-20T12:00:00.140Z".len();
        assert!(
            found.iter().all(|moment| moment.len() == width),
            "{arguments:?}: {found:?}"
        );
    }
}
