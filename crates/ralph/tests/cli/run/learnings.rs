//! Tests of learnings extracted from whole runs, including killed ones.

use jiff::Timestamp;
use ralph_model::{EndKind, RunId};
use ralph_store::{NewRun, RunProcess, Settlement, Store};
use ralph_testkit::journal_row;
use ralph_testkit::scripted::{Script, append, say, write};

use super::Scene;
use crate::{DATABASE, json};

/// An agent that writes two tests and reports its approach.
fn thorough() -> Script {
    Script::new().turn([
        write("src/one.test.ts", "1"),
        write("src/two.test.ts", "2"),
        say("<journal>Wrote the tests first.</journal>\n<task-done>{task}</task-done>"),
    ])
}

#[test]
fn run_end_reports_learnings() {
    for (config, promoted) in [("", 3), ("[learning]\npromote = \"review\"\n", 0)] {
        let scene = Scene::new(&thorough());
        scene.env.write(".ralph.toml", config);
        scene.env.ok(["task", "add", "Implement one"]);
        let finished = scene.run(&[]);
        let counts = format!("from the run: 4 extracted, 3 validated, 1 rejected, {promoted} promoted, 0 skipped");
        assert_eq!(finished.stderr.matches(&counts).count(), 1, "{finished}");
    }
    let scene = Scene::new(&thorough());
    scene.env.ok(["task", "add", "Implement one"]);
    let finished = scene.run(&["--json"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let events = finished
        .stdout
        .lines()
        .map(|line| -> serde_json::Value { serde_json::from_str(line).unwrap() });
    let told: Vec<serde_json::Value> = events.filter(|event| event["event"] == "learned").collect();
    let [told] = told.as_slice() else { panic!("{finished}") };
    assert_eq!((&told["extracted"], &told["promoted"]), (&4.into(), &3.into()));
    let listed = json(&scene.env, &["learnings", "list", "--json", "--kind", "strategy"]);
    assert_eq!(listed[0]["content"]["description"], "Test-driven development approach");
    assert_eq!(listed[0]["status"], "promoted");
}

#[test]
fn run_without_learnings_prints_nothing_about_them() {
    let scene = Scene::new(&Script::new().turn([say("<promise>FAILURE</promise>")]));
    scene.env.ok(["task", "add", "Implement one"]);
    let finished = scene.run(&[]);
    assert!(!finished.stderr.contains("Learned from the run"), "{finished}");
}

#[test]
fn learning_under_a_failing_gate_is_not_injected_elsewhere() {
    let boast = "My way of doing it is best";
    let scene = Scene::new(
        &Script::new()
            .turn([
                write("one.txt", "1"),
                say(&format!(
                    "<learning category=\"success_pattern\" tags=\"way\">{boast}</learning>\n<task-done>{{task}}</task-done>"
                )),
            ])
            .turn([write("two.txt", "2"), say("<task-done>{task}</task-done>")]),
    );
    scene
        .env
        .write(".ralph.toml", "[verify]\ncommands = [\"echo old trouble; exit 1\"]\n");
    for title in ["Implement my way of one", "Implement my way of two"] {
        let finished = scene.run(&[title, "--trust"]);
        assert_eq!(finished.code, Some(4), "{finished}");
        assert!(finished.stderr.contains("still fails, as before the run"), "{finished}");
        let listed = json(
            &scene.env,
            &["learnings", "list", "--all", "--json", "--kind", "strategy"],
        );
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
        assert_eq!(listed[0]["content"]["description"], boast);
        assert_eq!(listed[0]["status"], "validated");
        assert_eq!(listed[0]["confidence"], 0.5);
    }
    assert!(!scene.agent.prompt(2).contains(boast), "{}", scene.agent.prompt(2));
}

#[test]
fn learning_of_one_iteration_has_its_base_confidence() {
    let told = say(
        "<learning category=\"tool_usage\" tags=\"make\">Build the parser with make fast</learning>\n<task-done>{task}</task-done>",
    );
    let scene = Scene::new(&Script::new().turn([write("one.txt", "1"), told]));
    let finished = scene.run(&["Implement one"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let listed = json(
        &scene.env,
        &["learnings", "list", "--all", "--json", "--kind", "strategy"],
    );
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    assert_eq!(
        (&listed[0]["status"], &listed[0]["confidence"]),
        (&"promoted".into(), &0.5.into())
    );
}

/// An agent whose two iterations change different files and teach a learning without tags.
fn teaching(one: &str, other: &str) -> Script {
    let told = |text: &str| {
        say(&format!(
            "<learning category=\"tool_usage\">{text}</learning>\n<task-done>{{task}}</task-done>"
        ))
    };
    Script::new()
        .turn([write("src/parser.rs", "1"), told(one)])
        .turn([write("src/printer.rs", "1"), told(other)])
        .turn([write("src/reader.rs", "1"), say("<task-done>{task}</task-done>")])
}

/// The learnings taught by iterations that changed different files.
fn learnings_from_different_files(scene: &Scene) -> Vec<serde_json::Value> {
    scene.env.ok(["task", "add", "Implement one"]);
    scene.env.ok(["task", "add", "Implement two"]);
    let finished = scene.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let listed = json(
        &scene.env,
        &["learnings", "list", "--all", "--json", "--kind", "strategy"],
    );
    let listed = listed.as_array().unwrap().iter().cloned();
    listed.filter(|learning| learning["source"] == "sigil").collect()
}

#[test]
fn conflicts_are_found_across_files() {
    let (one, other) = ("Commit the lock file", "Do not commit the lock file");
    let scene = Scene::new(&teaching(one, other));
    let told = learnings_from_different_files(&scene);
    assert_eq!(told.len(), 2, "{told:#?}");
    let listed = json(&scene.env, &["learnings", "conflicts", "--json"]);
    assert_eq!(listed[0]["contradiction"]["by"], "negation", "{listed:#}");
    scene
        .env
        .ok(["task", "add", "Implement what has to do with the lock file"]);
    let finished = scene.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let prompt = scene.agent.prompt(3);
    assert_eq!(
        prompt.to_lowercase().matches("commit the lock file").count(),
        1,
        "{prompt}"
    );
}

/// An agent that changes the same file in each task and teaches these learnings.
fn teaching_about_one_file(learnings: &[(&str, &str)]) -> Script {
    let turn = |(category, text): &(&str, &str)| {
        let told = format!("<learning category=\"{category}\">{text}</learning>\n<task-done>{{task}}</task-done>");
        [append("work.txt", "{turn}\n"), say(&told)]
    };
    let silent = [append("work.txt", "{turn}\n"), say("<task-done>{task}</task-done>")];
    learnings
        .iter()
        .map(turn)
        .fold(Script::new(), Script::turn)
        .turn(silent)
}

#[test]
fn conflicts_are_found_across_task_types() {
    for (one, other, by) in [
        (
            ("tool_usage", "Use 4 workers"),
            ("tool_usage", "Use 8 workers"),
            "value",
        ),
        (
            ("tool_usage", "Sort the lines"),
            ("tool_usage", "Never sort the lines"),
            "negation",
        ),
        (
            ("success_pattern", "Sort the lines"),
            ("pitfall", "Sorted lines"),
            "kind",
        ),
    ] {
        let scene = Scene::new(&teaching_about_one_file(&[one, other]));
        for title in ["Implement the pool", "Fix the crash"] {
            let finished = scene.run(&[title]);
            assert_eq!(finished.code, Some(0), "{finished}");
        }
        let listed = json(&scene.env, &["learnings", "conflicts", "--json"]);
        let [conflict] = listed.as_array().unwrap().as_slice() else {
            panic!("{one:?} and {other:?}: {listed:#}")
        };
        let said = (&conflict["contradiction"]["by"], &conflict["one"]["taskType"]);
        assert_eq!(said, (&by.into(), &"feature".into()), "{conflict:#}");
        assert_eq!(conflict["other"]["taskType"], "bug-fix");

        let finished = scene.run(&["Refactor work.txt"]);
        assert_eq!(finished.code, Some(0), "{finished}");
        let prompt = scene.agent.prompt(3);
        let stands = |(_, text): (&str, &str)| prompt.contains(&format!("]** (by agent) {text}\n"));
        assert!(stands(one) != stands(other), "{prompt}");
        let told = json(&scene.env, &["why", "--json"]);
        let learnings = told["entries"].as_array().unwrap().iter();
        let learnings: Vec<_> = learnings.filter(|entry| entry["kind"] == "learning").collect();
        let [shown, left_out] = learnings.as_slice() else {
            panic!("{told:#}")
        };
        assert_eq!(shown["reason"], "shown", "{told:#}");
        let shown = shown["id"].as_str().unwrap();
        assert_eq!(left_out["why"], format!("conflicts with {shown}"), "{told:#}");
    }
}

#[test]
fn learnings_of_one_iteration_may_conflict() {
    let both = "Use 4 workers</learning>\n<learning category=\"tool_usage\">Use 8 workers";
    let scene = Scene::new(&teaching_about_one_file(&[("tool_usage", both)]));
    let finished = scene.run(&["Implement the pool"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let listed = json(&scene.env, &["learnings", "conflicts", "--json"]);
    assert_eq!(listed[0]["contradiction"]["by"], "value", "{listed:#}");
}

/// Learnings of agents are compared with those of users and of other projects.
#[test]
fn conflicts_are_found_across_sources() {
    let other = Scene::new(&teaching_about_one_file(&[("tool_usage", "Use 8 workers")]));
    // Its ids differ from those of the importing project.
    other.commands.set(100);
    let finished = other.run(&["Implement the pool"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let store = other.env.path("store.json");
    other
        .env
        .write("store.json", other.env.ok(["learnings", "export", "json"]));
    let root = other.env.path("");
    let (store, root) = (store.to_str().unwrap(), root.to_str().unwrap());
    for (arguments, source) in [
        (
            [
                "learnings",
                "add",
                "Use 8 workers",
                "--category=tool_usage",
                "--tags=work.txt",
            ]
            .as_slice(),
            "human",
        ),
        (&["learnings", "import", store], "imported"),
        (&["learnings", "merge", root], "imported"),
    ] {
        let scene = Scene::new(&teaching_about_one_file(&[("tool_usage", "Use 4 workers")]));
        let finished = scene.run(&["Implement the pool"]);
        assert_eq!(finished.code, Some(0), "{finished}");
        let said = scene.ralph(arguments).run();
        assert_eq!(said.code, Some(0), "{said}");
        let listed = json(&scene.env, &["learnings", "conflicts", "--json"]);
        let [conflict] = listed.as_array().unwrap().as_slice() else {
            panic!("{source}: {listed:#}")
        };
        let mut sources =
            [&conflict["one"]["source"], &conflict["other"]["source"]].map(|source| source.as_str().unwrap());
        sources.sort_unstable();
        assert_eq!(sources, [source, "sigil"]);
        let finished = scene.run(&["Implement more of work.txt"]);
        assert_eq!(finished.code, Some(0), "{finished}");
        let prompt = scene.agent.prompt(2);
        assert_eq!(prompt.matches(" workers\n").count(), 1, "{prompt}");
        let told = json(&scene.env, &["why", "--json"]);
        let entries = told["entries"].as_array().unwrap();
        let is_conflict = |entry: &&serde_json::Value| entry["why"].as_str().unwrap().starts_with("conflicts with ");
        assert_eq!(entries.iter().filter(is_conflict).count(), 1, "{told:#}");
    }
}

#[test]
fn paraphrases_are_one_learning_across_files() {
    let known = "Run the migrations before the integration tests";
    let scene = Scene::new(&teaching(known, "Before the integration tests, run the migrations"));
    let told = learnings_from_different_files(&scene);
    let [told] = told.as_slice() else { panic!("{told:#?}") };
    assert_eq!(told["content"]["description"], known);
}

/// A run that was killed before its learnings were extracted.
fn killed(store: &mut Store, number: u64) {
    let at: Timestamp = "2025-01-20T10:00:00Z".parse().unwrap();
    let run = RunId::new(number);
    let begun = NewRun {
        id: run.clone(),
        agent: "command".to_owned(),
        goal: "all tasks".to_owned(),
        worktree: String::new(),
        branch: None,
        commit: None,
        process: RunProcess {
            host: "elsewhere".to_owned(),
            pid: 7,
            started: 1,
        },
        started_at: at,
    };
    store.begin_run(&begun).unwrap();
    let mut row = journal_row(run.clone(), 1);
    row.notes = Some("Wrote the tests first.".to_owned());
    store.settle(&Settlement::new(row, 0)).unwrap();
    store.end_run(&run, (EndKind::Killed, 1), "It was killed.", at).unwrap();
}

#[test]
fn next_run_extracts_learnings_of_a_killed_one() {
    let scene = Scene::new(&Script::new().turn([say("<promise>FAILURE</promise>")]));
    scene.env.ok(["task", "add", "Implement one"]);
    let mut store = Store::open_or_create(&scene.env.path(DATABASE)).unwrap();
    killed(&mut store, 9);
    drop(store);
    let finished = scene.run(&[]);
    let line = "Learned from earlier runs: 2 extracted, 1 validated, 1 rejected, 1 promoted, 0 skipped.";
    assert!(finished.stderr.contains(line), "{finished}");
    assert!(!finished.stderr.contains("Learned from the run"), "{finished}");
    let listed = json(&scene.env, &["learnings", "list", "--json", "--kind", "strategy"]);
    assert_eq!(listed[0]["sourceLoops"], serde_json::json!(["run-00000009"]));
    scene.env.ok(["task", "add", "Implement two"]);
    let again = scene.run(&[]);
    assert!(!again.stderr.contains("Learned from"), "once is enough: {again}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "something has damaged the database")]
fn unreadable_run_does_not_block_extraction() {
    let scene = Scene::new(&Script::new().turn([say("<promise>FAILURE</promise>")]));
    scene.env.ok(["task", "add", "Implement one"]);
    let mut store = Store::open_or_create(&scene.env.path(DATABASE)).unwrap();
    killed(&mut store, 8);
    killed(&mut store, 9);
    drop(store);
    let connection = rusqlite::Connection::open(scene.env.path(DATABASE)).unwrap();
    let damage = "UPDATE journal SET files_modified = '{' WHERE run_id = 'run-00000009'";
    assert_eq!(connection.execute(damage, []).unwrap(), 1);
    drop(connection);
    let finished = scene.run(&[]);
    let line = "Learned from earlier runs: 2 extracted, 1 validated, 1 rejected, 1 promoted, 0 skipped.";
    assert!(finished.stderr.contains(line), "{finished}");
    let warning = "Could not extract all learnings; the next run tries again: ";
    assert_eq!(finished.stderr.matches(warning).count(), 1, "{finished}");
    let listed = json(&scene.env, &["learnings", "list", "--json", "--kind", "strategy"]);
    assert_eq!(listed[0]["sourceLoops"], serde_json::json!(["run-00000008"]));
}
