//! Tests of the files of an iteration: prompt, transcript, result and diff.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ralph_testkit::scripted::{Script, say, write};

use super::{DONE, Scene};

/// The folder of the only run.
fn run_folder(scene: &Scene) -> String {
    let runs = std::fs::read_dir(scene.env.path(".ralph/runs")).unwrap();
    let names: Vec<String> = runs
        .map(|run| run.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    format!(".ralph/runs/{}", names[0])
}

#[test]
fn iteration_leaves_prompt_transcript_result_and_diff() {
    let script = Script::new().turn([
        say("{\"not\": \"a record\"}"),
        say("plain \u{1b}[31mtext\u{7}"),
        write("a.txt", "new line\n"),
        say(DONE),
    ]);
    let scene = Scene::new(&script);
    scene.env.git(["init", "--quiet"]);
    scene.env.write("a.txt", "old line\n");
    scene.env.git(["add", "--all"]);
    scene.env.git(["commit", "--quiet", "-m", "first"]);
    let finished = scene.run(&["one"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let folder = format!("{}/001", run_folder(&scene));
    let file = |name: &str| scene.env.read(&format!("{folder}/{name}"));
    assert_eq!(file("prompt.md"), scene.agent.prompt(1));
    let lines: Vec<serde_json::Value> = file("transcript.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    let result: serde_json::Value = serde_json::from_str(&file("result.json")).unwrap();
    assert_eq!(result["row"]["outcome"], "done", "{result:#}");
    assert_eq!(result["row"]["files_modified"], serde_json::json!(["a.txt"]));
    let patch = file("diff.patch");
    assert!(patch.contains("-old line\n+new line\n"), "{patch}");
    assert_eq!(
        scene.env.git(["status", "--porcelain"]),
        "",
        "the work has landed, and nothing of ralph's is git's"
    );
}

#[test]
fn files_of_an_iteration_are_private() {
    let scene = Scene::new(&Script::new().turn([write("a.txt", "x"), say(DONE)]));
    let finished = scene.run(&["one"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    let runs = scene.env.path(".ralph/runs");
    assert_eq!(mode(&runs), 0o700);
    let mut seen = 0;
    for (name, _) in scene.env.tree() {
        let Some(inside) = name.strip_prefix(".ralph/runs/").filter(|inside| !inside.is_empty()) else {
            continue;
        };
        let path = runs.join(inside.trim_end_matches('/'));
        if path.is_symlink() {
            continue;
        }
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{name}");
        seen += 1;
    }
    assert!(seen >= 5, "{seen}");
}
