//! What whole runs teach one another: the same lessons of several runs grow in strength and not in number, stand in the
//! prompts of later runs, and leave them when they keep failing.

use std::collections::BTreeMap;

use ralph_testkit::scripted::{Action, Script, say, write};
use serde_json::Value;

use super::{DONE, Scene};

/// What stands in prompts of it.
const STRATEGY: &str = "Test-driven development approach";
/// What agents say of it, each in their own words.
const TOLD: [&str; 3] = [
    "<journal>I wrote the tests first, before the implementation.</journal>",
    "<journal>Wrote a test first and then the parser.</journal>",
    "<journal>Tests first again, then the change.</journal>",
];
/// No lesson that is drawn from runs is surer at first; one that has come this far may stay.
const SUREST: f64 = 0.9;
/// How often the task of the fourth run is tried.
const ATTEMPTS: usize = 14;

/// A turn that mends a parser.
fn mends(name: &str, told: &str) -> Vec<Action> {
    vec![
        write(&format!("src/{name}.rs"), "mended\n"),
        write(&format!("tests/{name}_test.rs"), "tests\n"),
        write(&format!("tests/{name}_edges_test.rs"), "tests\n"),
        say(told),
        say(DONE),
    ]
}

fn fails() -> Vec<Action> {
    vec![say(
        "<task-failed>{task} the tests pass and the page is still wrong</task-failed>",
    )]
}

/// The lessons that were drawn from runs.
fn drawn(scene: &Scene) -> Vec<Value> {
    let listed = crate::json(&scene.env, &["learnings", "list", "--all", "--json"]);
    let drawn = listed.as_array().unwrap().iter();
    drawn
        .filter(|lesson| lesson["source"] == "extracted")
        .cloned()
        .collect()
}

fn strategy(scene: &Scene) -> Value {
    let found = drawn(scene)
        .into_iter()
        .find(|lesson| lesson["content"]["description"] == STRATEGY);
    found.unwrap_or_else(|| panic!("{:#?}", drawn(scene)))
}

/// How strong every lesson is: how many runs taught it, and how sure it is.
fn strengths(scene: &Scene) -> BTreeMap<String, (usize, f64)> {
    let strength = |lesson: &Value| {
        let runs = lesson["sourceLoops"].as_array().unwrap().len();
        (runs, lesson["confidence"].as_f64().unwrap())
    };
    let lessons = drawn(scene);
    let named = lessons
        .iter()
        .map(|lesson| (lesson["id"].to_string(), strength(lesson)));
    named.collect()
}

/// The same lessons, each of them of one run more, and surer as long as it could become so.
#[track_caller]
fn assert_grown(before: &BTreeMap<String, (usize, f64)>, after: &BTreeMap<String, (usize, f64)>) {
    assert!(!before.is_empty());
    assert!(before.keys().eq(after.keys()), "{before:?}\n{after:?}");
    for (id, (runs, sure)) in before {
        let (runs_now, sure_now) = after[id];
        assert_eq!(runs_now, runs + 1, "{id}: {before:?}\n{after:?}");
        let is_surer = sure_now > *sure || *sure >= SUREST && sure_now >= *sure;
        assert!(is_surer, "{id}: {before:?}\n{after:?}");
    }
}

/// What stands in a prompt of earlier runs.
fn known(prompt: &str) -> &str {
    let known = prompt.split_once("\n## Knowledge Base (from previous loops)\n");
    known.map_or("", |(_, known)| known)
}

#[test]
fn lessons_of_several_runs_grow_in_strength_and_leave_when_they_are_refuted() {
    let mut script = Script::new()
        .turn(mends("dates", TOLD[0]))
        .turn(mends("money", TOLD[1]))
        .turn(mends("names", TOLD[2]));
    for _ in 0..ATTEMPTS {
        script = script.turn(fails());
    }
    let scene = Scene::new(&script.turn(mends("zones", "It is mended.")));
    scene.env.write(
        ".ralph.toml",
        format!(
            "[execution]\nmax_retries = {}\n[limits]\nno_progress = {}\n",
            ATTEMPTS - 1,
            ATTEMPTS * 2
        ),
    );
    let mut runs = Vec::new();
    for title in [
        "Fix the crash in dates",
        "Fix the crash in money",
        "Fix the crash in names",
    ] {
        let finished = scene.run(&[title]);
        assert_eq!(finished.code, Some(0), "{finished}");
        runs.push(strengths(&scene));
    }
    for pair in runs.windows(2) {
        assert_grown(&pair[0], &pair[1]);
    }
    assert_eq!(strategy(&scene)["sourceLoops"].as_array().map(Vec::len), Some(3));
    assert_eq!(known(&scene.agent.prompt(1)), "");
    let third = scene.agent.prompt(3);
    assert!(known(&third).contains(STRATEGY), "{third}");
    assert!(
        known(&third).contains("- (extracted) Tests in tests/ directory\n  Examples: tests/"),
        "{third}"
    );

    let refuted = scene.run(&["Fix the crash in the page"]);
    assert_eq!(refuted.code, Some(4), "{refuted}");
    assert!(known(&scene.agent.prompt(4)).contains(STRATEGY), "{refuted}");
    let finished = scene.run(&["Fix the crash in zones"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let fifth = scene.agent.prompt(4 + ATTEMPTS);
    assert!(!fifth.contains(STRATEGY), "{}\n{fifth}", strategy(&scene));
}
