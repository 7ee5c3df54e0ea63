//! Learnings are brought in order when a run ends, in whatever way.

use jiff::Timestamp;
use ralph_model::SplitMix64;
use ralph_store::{NewLearning, Store};
use ralph_testkit::scripted::{Script, say};

use super::{DONE, Scene, diligent};
use crate::{DATABASE, json};

const LINE: &str = "Learnings: 2 merged into 1, 1 pruned; `ralph learnings restore` brings them back.";

/// A project with an old learning and three that are alike, of which two are enough.
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
            retold: None,
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

/// What the learnings that hold say, with how many were merged into each.
fn standing(scene: &Scene) -> Vec<(String, usize)> {
    let listed = json(&scene.env, &["learnings", "list", "--json"]);
    let told = |learning: &serde_json::Value| {
        let content = learning["content"]["description"].as_str().unwrap().to_owned();
        (content, learning["examples"].as_array().unwrap().len())
    };
    listed.as_array().unwrap().iter().map(told).collect()
}

#[test]
fn a_run_that_ends_merges_and_prunes_and_says_so_once() {
    let scene = scene(&diligent());
    let finished = scene.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(finished.stderr.matches(LINE).count(), 1, "{finished}");
    assert_eq!(standing(&scene), [("test the crates".to_owned(), 2)]);
    scene.env.ok(["task", "add", "two"]);
    let again = scene.run(&[]);
    assert!(!again.stderr.contains("Learnings:"), "{again}");
}

#[test]
fn a_run_that_fails_does_so_too_and_a_program_is_told() {
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
    assert_eq!(standing(&scene), [("test the crates".to_owned(), 2)]);
}

#[test]
fn nothing_is_merged_where_that_is_switched_off() {
    let scene = scene(&Script::new().turn([say(DONE)]));
    scene.env.write(".ralph.toml", "[learning]\nmerge_above = 0\n");
    let finished = scene.run(&[]);
    let line = "Learnings: 1 pruned; `ralph learnings restore` brings it back.";
    assert!(finished.stderr.contains(line), "{finished}");
    assert_eq!(standing(&scene).len(), 3);
}
