//! Tests of `ralph rollback`, which rolls back what a run added to memory and can be undone.

use ralph_testkit::scripted::{Script, run, say, write};
use serde_json::Value;

use super::{DONE, Scene};

/// The memory: memories, knowledge files, learnings with their status, tasks.
fn memory(scene: &Scene) -> Value {
    let list = |args: &[&str]| crate::json(&scene.env, args);
    let mut knowledge: Vec<(String, String)> = Vec::new();
    if let Ok(entries) = std::fs::read_dir(scene.env.path(".ralph/knowledge")) {
        for entry in entries.map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if name.ends_with(".md") {
                knowledge.push((name, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    knowledge.sort();
    let learnings = list(&["learnings", "list", "--all", "--json"]);
    let learnings: Vec<_> = learnings
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["status"].clone())
        .collect();
    let tasks = list(&["task", "list", "--all", "--json"]);
    let tasks: Vec<_> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["title"].clone())
        .collect();
    serde_json::json!({
        "memories": list(&["memory", "list", "--json"]),
        "guardrails": list(&["guardrails", "list", "--json"]),
        "knowledge": knowledge,
        "learnings": learnings,
        "tasks": tasks,
    })
}

fn scene() -> Scene {
    let tags = "<knowledge tags=\"css\" title=\"Colours\">Hex.</knowledge>\n\
                <learning category=\"pitfall\" tags=\"css\">Never mix units.</learning>\n";
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("ralph remember 'an agent wrote this'"),
        run("ralph guardrails add 'an agent fixed this' --type fix"),
        run("ralph task add 'an agent wants this'"),
        say(&format!("{tags}{DONE}")),
    ]));
    scene.env.ok(["remember", "a person wrote this"]);
    scene
        .env
        .ok(["knowledge", "add", "Colours", "A person's.", "--tags", "css"]);
    scene
}

fn last_run(scene: &Scene) -> String {
    let rows = crate::json(&scene.env, &["journal", "list", "--json"]);
    rows[0]["run"].as_str().unwrap().to_owned()
}

#[test]
fn rollback_of_a_run_can_be_undone() {
    let scene = scene();
    let before = memory(&scene);
    scene.run(&["a text"]);
    let after = memory(&scene);
    assert_eq!(after["knowledge"].as_array().unwrap().len(), 2, "{after:#}");
    assert_eq!(after["memories"].as_array().unwrap().len(), 2, "{after:#}");
    let run = last_run(&scene);
    let planned = scene.env.ralph(["rollback", &run, "--dry-run"]).run();
    assert_eq!(memory(&scene), after, "a dry run changes nothing");
    for word in [
        "colours-2.md: removed: Hex.",
        ": removed: an agent wrote this\n",
        ": removed: an agent fixed this\n",
        ": rejected: Never mix units.\n",
        ": deleted: an agent wants this\n",
    ] {
        assert!(planned.stdout.contains(word), "{word}: {}", planned.stdout);
    }
    let refused = scene.env.ralph(["rollback", &run]).run();
    assert!(refused.stderr.contains("pass --yes to skip the question"), "{refused}");
    let done = crate::json(&scene.env, &["rollback", &format!("{run}/1"), "--yes", "--json"]);
    let rolled_back = memory(&scene);
    for part in ["memories", "guardrails", "knowledge"] {
        assert_eq!(rolled_back[part], before[part], "{part}");
    }
    let learnings = rolled_back["learnings"].as_array().unwrap();
    assert!(
        !learnings.is_empty() && learnings.iter().all(|status| status == "rejected"),
        "{learnings:?}"
    );
    assert_eq!(rolled_back["tasks"], serde_json::json!(["a text"]));
    let again = scene.env.ok(["rollback", &format!("{run}/1"), "--yes"]);
    assert_eq!(again, "Nothing to roll back.\n");
    let id = done["rollback"].as_str().unwrap();
    scene.env.ok(["rollback", "--undo", id, "--yes"]);
    assert_eq!(memory(&scene), after, "undone");
    let twice = scene.env.ralph(["rollback", "--undo", id, "--yes"]).run();
    assert!(twice.stderr.contains("is already undone"), "{twice}");
}

#[test]
fn status_shows_an_interrupted_rollback() {
    let scene = scene();
    scene.run(&["a text"]);
    let run = last_run(&scene);
    let interrupted = || crate::json(&scene.env, &["status", "--json"])["interrupted_rollbacks"].clone();
    assert_eq!(interrupted(), serde_json::json!([]));
    let done = crate::json(&scene.env, &["rollback", &format!("{run}/1"), "--yes", "--json"]);
    let set = |state: &str| {
        let sql = format!("UPDATE rollbacks SET state = '{state}'");
        let changed = scene.env.sh(&crate::other_client(&sql));
        assert_eq!(changed.run().code, Some(0));
    };
    set("open");
    assert_eq!(interrupted(), serde_json::json!([format!("ralph rollback {run}/1")]));
    let status = scene.env.ok(["status"]);
    let line = format!("Rollback {run}/1 was interrupted; finish it with `ralph rollback {run}/1`\n");
    assert!(status.contains(&line), "{status}");
    set("undoing");
    let undo = format!("ralph rollback --undo {}", done["rollback"].as_str().unwrap());
    assert_eq!(interrupted(), serde_json::json!([undo]));
}

#[test]
fn user_edits_after_the_run_are_kept() {
    let scene = scene();
    scene.run(&["a text"]);
    let text = std::fs::read_to_string(scene.env.path(".ralph/knowledge/colours-2.md")).unwrap();
    scene.env.write(
        ".ralph/knowledge/colours-2.md",
        text.replace("Hex.", "Hex, with a hash."),
    );
    let run = last_run(&scene);
    let done = scene.env.ralph(["rollback", &run, "--yes"]).run();
    assert!(
        done.stderr.contains("Kept colours-2.md: changed afterwards (unknown)."),
        "{done}"
    );
    let kept = std::fs::read_to_string(scene.env.path(".ralph/knowledge/colours-2.md")).unwrap();
    assert!(kept.contains("Hex, with a hash."));
    assert_eq!(
        crate::json(&scene.env, &["memory", "list", "--json"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn scratchpad_is_rolled_back_by_author() {
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("ralph scratchpad clear && ralph scratchpad append 'the agent was at step 2'"),
        say(DONE),
    ]));
    for title in ["One", "Two"] {
        scene.env.ok(["task", "add", title]);
    }
    scene.env.ok(["scratchpad", "append", "a person was at step 1"]);
    let told = scene.run(&["--limit", "1"]);
    assert!(told.stdout.contains("Notes stored by the agent: 2\n"), "{told}");
    assert!(told.stdout.contains(": the agent was at step 2\n"), "{told}");
    let appended = told
        .stdout
        .lines()
        .find(|line| line.ends_with("the agent was at step 2"));
    let id = appended.and_then(|line| line.trim().split(':').next()).unwrap();
    let blamed = crate::json(&scene.env, &["blame", id, "--json"]);
    assert_eq!(
        (&blamed[0]["author"], &blamed[0]["iteration"]),
        (&"agent".into(), &1.into())
    );
    let scratchpad = || scene.env.ok(["scratchpad", "show"]);
    assert_eq!(scratchpad(), "the agent was at step 2\n");
    let done = crate::json(&scene.env, &["rollback", &last_run(&scene), "--yes", "--json"]);
    assert_eq!(scratchpad(), "a person was at step 1\n");
    let again = scene.env.ok(["rollback", &last_run(&scene), "--yes"]);
    assert_eq!(again, "Nothing to roll back.\n");
    scene
        .env
        .ok(["rollback", "--undo", done["rollback"].as_str().unwrap(), "--yes"]);
    assert_eq!(scratchpad(), "the agent was at step 2\n");
}

#[test]
fn json_lists_notes_stored_by_the_agent() {
    let scene = scene();
    let told = scene.run(&["a text", "--json"]);
    let last: Value = serde_json::from_str(told.stdout.lines().last().unwrap()).unwrap();
    let ids: Vec<&str> = last["agent_notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["id"].as_str().unwrap())
        .collect();
    assert!(
        matches!(ids.as_slice(), [memory, guardrail, "colours-2.md"]
            if memory.starts_with("mem-") && guardrail.starts_with("fix-")),
        "{told}"
    );
}
