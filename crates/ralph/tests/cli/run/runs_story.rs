//! The story of learnings across runs: repeated learnings gain confidence instead of multiplying, are injected into
//! later runs, and become ineligible when they keep failing.

use std::collections::BTreeMap;

use ralph_testkit::scripted::{Action, Script, say, write};
use serde_json::Value;

use super::{DONE, Scene};

/// Its text in prompts.
const STRATEGY: &str = "Test-driven development approach";
/// Paraphrases of it by agents.
const TOLD: [&str; 3] = [
    "<journal>I wrote the tests first, before the implementation.</journal>",
    "<journal>Wrote a test first and then the parser.</journal>",
    "<journal>Tests first again, then the change.</journal>",
];
/// The highest initial confidence of an extracted learning.
const SUREST: f64 = 0.9;
/// The attempts at the task of the fourth run.
const ATTEMPTS: usize = 14;

/// A turn that fixes a parser.
fn fixes(name: &str, told: &str) -> Vec<Action> {
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

/// The learnings extracted from runs.
fn extracted(scene: &Scene) -> Vec<Value> {
    let listed = crate::json(&scene.env, &["learnings", "list", "--all", "--json"]);
    let extracted = listed.as_array().unwrap().iter();
    extracted
        .filter(|learning| learning["source"] == "extracted")
        .cloned()
        .collect()
}

fn strategy(scene: &Scene) -> Value {
    let found = extracted(scene)
        .into_iter()
        .find(|learning| learning["content"]["description"] == STRATEGY);
    found.unwrap_or_else(|| panic!("{:#?}", extracted(scene)))
}

/// The number of runs and the confidence of each learning.
fn strengths(scene: &Scene) -> BTreeMap<String, (usize, f64)> {
    let strength = |learning: &Value| {
        let runs = learning["sourceLoops"].as_array().unwrap().len();
        (runs, learning["confidence"].as_f64().unwrap())
    };
    let learnings = extracted(scene);
    let named = learnings
        .iter()
        .map(|learning| (learning["id"].to_string(), strength(learning)));
    named.collect()
}

/// Checks that the same learnings have one more run each, and more confidence unless it was at its maximum.
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

/// The section of a prompt about earlier runs.
fn known(prompt: &str) -> &str {
    let known = prompt.split_once("\n## Knowledge Base (from previous loops)\n");
    known.map_or("", |(_, known)| known)
}

#[test]
fn learnings_gain_confidence_and_are_dropped_when_refuted() {
    let mut script = Script::new()
        .turn(fixes("dates", TOLD[0]))
        .turn(fixes("money", TOLD[1]))
        .turn(fixes("names", TOLD[2]));
    for _ in 0..ATTEMPTS {
        script = script.turn(fails());
    }
    let scene = Scene::new(&script.turn(fixes("zones", "It is mended.")));
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
