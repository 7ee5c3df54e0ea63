//! Tests of upkeep of learnings at the end of a run.

use jiff::Timestamp;
use ralph_model::{SplitMix64, TextFeatures};
use ralph_store::{NewLearning, Store};
use ralph_testkit::scripted::{Script, say};

use super::{DONE, Scene, diligent};
use crate::{DATABASE, json};

const LINE: &str = "Learnings: 2 merged into 1, 1 pruned; restore them with `ralph learnings restore`.";

/// A project with an old learning and three similar ones, two of which are redundant.
fn scene(script: &Script) -> Scene {
    let scene = Scene::new(script);
    scene.env.write(".ralph.toml", "[learning]\nmerge_above = 2\n");
    scene.env.ok(["task", "add", "one"]);
    let mut store = Store::open_or_create(&scene.env.path(DATABASE)).unwrap();
    let mut bits = SplitMix64::new(5);
    let mut add = |content: &str, tags: &[&str], at: &str| {
        let new = NewLearning {
            category: "other".to_owned(),
            content: content.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            task_type: None,
            features: TextFeatures::default(),
        };
        let at: Timestamp = at.parse().unwrap();
        store.add_learning(&new, &mut bits, at).unwrap();
    };
    add("nobody needs me", &[], "2024-01-01T00:00:00Z");
    add("lint the crates", &["cargo", "ci"], "2025-01-10T00:00:00Z");
    add("format the crates", &["cargo", "ci", "git"], "2025-01-11T00:00:00Z");
    add("test the crates", &["ci", "cargo"], "2025-01-12T00:00:00Z");
    scene
}

/// The texts of active learnings, with the number merged into each.
fn active(scene: &Scene) -> Vec<(String, usize)> {
    let listed = json(&scene.env, &["learnings", "list", "--json"]);
    let told = |learning: &serde_json::Value| {
        let content = learning["content"]["description"].as_str().unwrap().to_owned();
        (content, learning["examples"].as_array().unwrap().len())
    };
    listed.as_array().unwrap().iter().map(told).collect()
}

#[test]
fn run_end_merges_and_prunes_once() {
    let scene = scene(&diligent());
    let finished = scene.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(finished.stderr.matches(LINE).count(), 1, "{finished}");
    assert_eq!(active(&scene), [("test the crates".to_owned(), 2)]);
    scene.env.ok(["task", "add", "two"]);
    let again = scene.run(&[]);
    assert!(!again.stderr.contains("Learnings:"), "{again}");
}

#[test]
fn failed_run_also_does_upkeep_and_reports_it() {
    let scene = scene(&Script::new().turn([say("<promise>FAILURE</promise>")]));
    let finished = scene.run(&["--json"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    let events: Vec<serde_json::Value> = finished
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = events.iter().filter(|event| event["event"] == "kept_up").collect();
    let [told] = told.as_slice() else { panic!("{finished}") };
    assert_eq!(
        (
            &told["merged"],
            &told["into"],
            &told["pruned"],
            &told["reports_shortened"]
        ),
        (&2.into(), &1.into(), &1.into(), &0.into())
    );
    assert_eq!(active(&scene), [("test the crates".to_owned(), 2)]);
}

#[test]
fn nothing_is_merged_if_switched_off() {
    let scene = scene(&Script::new().turn([say(DONE)]));
    scene.env.write(".ralph.toml", "[learning]\nmerge_above = 0\n");
    let finished = scene.run(&[]);
    let line = "Learnings: 1 pruned; restore it with `ralph learnings restore`.";
    assert!(finished.stderr.contains(line), "{finished}");
    assert_eq!(active(&scene).len(), 3);
}
