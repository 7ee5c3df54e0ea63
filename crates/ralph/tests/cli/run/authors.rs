//! Tests of authorship: commands inside an iteration act as the agent, those of a user outside it do not.

use std::time::Duration;

use ralph_testkit::scripted::{Script, append, run, say, write};
use serde_json::Value;

use super::{DONE, Scene};

/// A shell line that stores the output and exit code of a command in a file next to the project.
fn storing(name: &str, command: &str) -> String {
    format!("{command} > ../{name} 2>&1; echo \"exit $?\" >> ../{name}")
}

fn stored_output(scene: &Scene, name: &str) -> String {
    std::fs::read_to_string(scene.env.beside(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The stored output of a command, which must have ended with this exit code.
#[track_caller]
fn stored_end(scene: &Scene, name: &str, code: u8) -> String {
    let said = stored_output(scene, name);
    assert!(said.ends_with(&format!("exit {code}\n")), "{said}");
    said
}

/// Every memory's text with the authors of its changes, as `author/run/iteration`; the run is `run` or `-`.
fn authors(scene: &Scene) -> Vec<(String, Vec<String>)> {
    let memories = crate::json(&scene.env, &["memory", "list", "--json"]);
    let memories = memories.as_array().unwrap().iter();
    let mut all: Vec<(String, Vec<String>)> = memories
        .map(|memory| {
            let text = memory["content"].as_str().unwrap().to_owned();
            (text, blamed(scene, memory["id"].as_str().unwrap()))
        })
        .collect();
    all.sort();
    all
}

fn blamed(scene: &Scene, id: &str) -> Vec<String> {
    let rows = crate::json(&scene.env, &["blame", id, "--json"]);
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| {
        let run = row["run"].as_str().map_or("-", |_| "run");
        let iteration = row["iteration"]
            .as_u64()
            .map_or("-".to_owned(), |number| number.to_string());
        format!(
            "{} {}/{run}/{iteration}",
            row["what"].as_str().unwrap(),
            row["author"].as_str().unwrap()
        )
    })
    .collect()
}

fn one(text: &str, author: &str) -> (String, Vec<String>) {
    (text.to_owned(), vec![author.to_owned()])
}

/// A line that runs a script orphaned, in its own session and with an empty environment, and waits for it.
fn orphaned(name: &str, script: &str) -> String {
    format!(
        "(env -i PATH=\"$PATH\" setsid sh -c '{script} > ../{name} 2>&1; echo \"exit $?\" >> ../{name}; mv ../{name} ../{name}.end' &) ; \
         while ! [ -e ../{name}.end ]; do sleep 0.02; done"
    )
}

#[test]
fn commands_inside_an_iteration_belong_to_the_agent() {
    let program = env!("CARGO_BIN_EXE_ralph");
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("ralph remember plain"),
        run(&format!("env -i {program} remember cleared")),
        run(&orphaned("orphan", &format!("{program} remember orphaned"))),
        say(DONE),
    ]));
    scene.env.ok(["remember", "a person's"]);
    let finished = scene.run(&["a text"]);
    assert!(
        finished.stdout.contains("Notes stored by the agent: 3"),
        "{}",
        finished.stdout
    );
    assert_eq!(
        authors(&scene),
        [
            one("a person's", "added human/-/-"),
            one("cleared", "added agent/run/1"),
            one("orphaned", "added agent/run/1"),
            one("plain", "added agent/run/1"),
        ]
    );
    let status = crate::json(&scene.env, &["status", "--json"]);
    assert_eq!(status["runs"]["agent_notes"], 3);
}

#[test]
fn invisible_characters_of_an_agent_are_not_stored() {
    let scene = Scene::new(&Script::new().turn([
        write("wo\u{202e}rk.txt", "work\n"),
        run("ralph task add 'lo\u{202e}gin'"),
        run("ralph knowledge add 'Ti\u{202e}tle' 'bo\u{202e}dy' --tags 'ta\u{200b}g'"),
        say(DONE),
    ]));
    let finished = scene.run(&["a text", "--json"]);
    assert!(
        scene.env.ok(["task", "list", "--all", "--json"]).contains("\"login\""),
        "{finished}"
    );
    let entry = scene.env.read(".ralph/knowledge/title.md");
    assert!(
        entry.contains("Title") && entry.contains("tag") && entry.contains("body"),
        "{entry}"
    );
    let journal = scene.env.ok(["journal", "list", "--json"]);
    assert!(journal.contains("wo<U+202E>rk.txt"), "{journal}");
    for text in [&finished.stdout, &entry, &journal] {
        assert!(!text.contains(['\u{202e}', '\u{200b}']), "{text}");
    }
}

#[test]
fn gates_and_git_hooks_count_as_inside() {
    let program = env!("CARGO_BIN_EXE_ralph");
    let scene = Scene::new(&Script::new().turn([write("work.txt", "work\n"), say(DONE)]));
    let config = format!("[verify]\ncommands = [\"env -i {program} remember gate\"]\n[git]\ncommit = \"task\"\n");
    scene.env.write(".ralph.toml", config);
    scene.env.git(["init", "-q", "-b", "main"]);
    scene.env.git(["config", "user.name", "A"]);
    scene.env.git(["config", "user.email", "a@example.com"]);
    scene.env.git(["add", "."]);
    scene.env.git(["commit", "-qm", "begin"]);
    let hook = format!(
        "#!/bin/sh\nexec env -i {program} --root '{}' remember hook\n",
        scene.env.project().display()
    );
    scene.env.write(".git/hooks/pre-commit", hook);
    assert_eq!(scene.env.sh("chmod +x .git/hooks/pre-commit").run().code, Some(0));
    let finished = scene.run(&["a text", "--trust"]);
    let all = authors(&scene);
    let of = |text: &str| {
        let all = all.iter().filter(|(other, _)| other == text);
        all.flat_map(|(_, authors)| authors.clone()).collect::<Vec<_>>()
    };
    assert!(
        of("gate").iter().all(|author| author.starts_with("added agent/run/")),
        "{all:?}"
    );
    assert!(!of("gate").is_empty(), "{finished}");
    assert_eq!(of("hook"), ["added agent/run/1"], "{finished}");
}

#[test]
fn commands_for_another_project_count_as_inside() {
    let program = env!("CARGO_BIN_EXE_ralph");
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("mkdir ../other && touch ../other/.ralph.toml"),
        run(&orphaned("root", &format!("{program} --root ../other remember root"))),
        run(&orphaned(
            "beside",
            &format!("(cd ../other && {program} remember beside)"),
        )),
        say(DONE),
    ]));
    scene.run(&["a text"]);
    let other = scene.env.beside("other");
    let other = other.to_str().unwrap();
    let memories = crate::json(&scene.env, &["--root", other, "memory", "list", "--json"]);
    let memories = memories.as_array().unwrap();
    assert_eq!(memories.len(), 2, "{memories:?}");
    for memory in memories {
        let id = memory["id"].as_str().unwrap();
        let rows = crate::json(&scene.env, &["--root", other, "blame", id, "--json"]);
        assert_eq!(
            (&rows[0]["author"], &rows[0]["run"]),
            (&"agent".into(), &Value::Null),
            "{memory}"
        );
    }
}

#[test]
fn user_only_commands_are_refused_inside() {
    let refused = [
        ("done", "task done {task}"),
        ("fail", "task fail {task}"),
        ("reset", "task reset {task}"),
        ("delete", "task delete {task}"),
        ("update", "task update {task} --title other"),
        ("review", "review --list"),
        ("init", "init"),
        ("doctor", "doctor --fix"),
        ("restore", "doctor --restore-backup --yes"),
        ("clear", "learnings clear"),
        ("run", "run other"),
    ];
    let mut turn = vec![write("work.txt", "work\n")];
    turn.extend(
        refused
            .iter()
            .map(|(name, command)| run(&storing(name, &format!("ralph {command}")))),
    );
    turn.push(run("ralph task list && ralph doctor --json > ../doctor.json || true"));
    turn.push(say(DONE));
    let scene = Scene::new(&Script::new().turn(turn));
    scene.run(&["a text"]);
    for (name, command) in refused {
        let words: Vec<&str> = command
            .split(' ')
            .take(2)
            .filter(|word| !word.contains(['{', '-']))
            .collect();
        let words = match words.as_slice() {
            ["run", ..] => "run".to_owned(),
            words => words.join(" "),
        };
        let said = stored_end(&scene, name, 1);
        let first = format!("Error: `ralph {words}` is refused inside an iteration\n");
        assert!(said.starts_with(&first), "{command}: {said}");
    }
    let done = stored_output(&scene, "done");
    assert!(
        done.contains("\nHint: ") && done.contains("<task-done>ID</task-done>\nexit 1\n"),
        "{done}"
    );
    assert_eq!(scene.outcomes(), ["done"]);
}

#[test]
fn agent_tasks_are_proposed_until_accepted() {
    let scene = Scene::new(&Script::new().turn([
        write("work-{turn}.txt", "work\n"),
        run("ralph task add 'more {turn}' --parent {task} > ../proposed-{turn}"),
        say(DONE),
    ]));
    let finished = scene.run(&["a text"]);
    assert!(finished.stdout.starts_with("Everything is done."), "{finished}");
    let id = stored_output(&scene, "proposed-1").trim().to_owned();
    let listed = crate::json(&scene.env, &["task", "list", "--json"]);
    assert_eq!(listed[0]["status"], "proposed");
    assert_eq!(listed[0]["title"], "more 1");
    let review = scene.env.ok(["review", "--list"]);
    assert!(review.contains(&format!("ralph review --accept {id}")), "{review}");
    assert_eq!(crate::json(&scene.env, &["status", "--json"])["runs"]["proposals"], 1);
    assert!(
        scene
            .ralph(&["task", "done", &id])
            .run()
            .stderr
            .contains("is only proposed")
    );
    let refused = scene.run(&[&id]);
    assert_eq!(
        (refused.code, refused.stdout),
        (Some(4), format!("{id} is proposed and needs review.\n"))
    );
    assert!(
        refused.stderr.contains(&format!("`ralph review --accept {id}`")),
        "{}",
        refused.stderr
    );
    assert_eq!(
        scene.env.ok(["review", "--accept", &id]),
        format!("Task accepted: {id}\n")
    );
    let shown = crate::json(&scene.env, &["task", "show", &id, "--json"]);
    assert_eq!(shown["status"], "pending", "{shown}");
    assert!(shown["parent"].is_string(), "{shown}");
    assert_eq!(
        blamed(&scene, &id),
        [
            "Added. agent/run/1",
            "Proposed: a person accepts or rejects it. agent/run/1",
            "Accepted. human/-/-",
        ]
    );
}

#[test]
fn configuration_can_accept_agent_tasks() {
    let scene = Scene::new(&Script::new().turn([
        write("work-{turn}.txt", "work\n"),
        run("[ {turn} -gt 1 ] || ralph task add more"),
        say(DONE),
    ]));
    scene.env.write(".ralph.toml", "[tasks]\nfrom_agents = \"accept\"\n");
    let task = scene.env.ok(["task", "add", "a task"]);
    scene.run(&["--trust"]);
    assert_eq!(scene.outcomes(), ["done", "done"], "{task}");
}

#[test]
fn user_commands_during_a_run_belong_to_the_user() {
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("touch ../started; while ! [ -e ../go ]; do sleep 0.02; done"),
        say(DONE),
    ]));
    let mut child = scene.invocation(&["a text"]).start();
    while !scene.env.beside("started").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    scene.env.ok(["remember", "mine"]);
    let added = scene.ralph(&["task", "add", "also mine"]).run();
    std::fs::File::create(scene.env.beside("go")).unwrap();
    child.wait().unwrap();
    assert_eq!(authors(&scene), [one("mine", "added human/-/-")]);
    assert_eq!(blamed(&scene, added.stdout.trim()).first().unwrap(), "Added. human/-/-");
}

#[test]
fn direct_edits_belong_to_the_open_iteration() {
    let entry =
        |id: &str, text: &str| format!("\n### mem-1737372000-{id}\n> {text}\n<!-- tags: | created: 2025-01-20 -->\n");
    let begin = "# Memories\n\n## Patterns\n";
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        append(".agent/memories.md", &entry("bbbb", "by somebody in the iteration")),
        say(DONE),
    ]));
    scene.env.write(
        ".agent/memories.md",
        format!("{begin}{}", entry("aaaa", "by hand, before")),
    );
    scene.run(&["a text"]);
    let after = scene.env.read(".agent/memories.md") + &entry("cccc", "by hand, afterwards");
    scene.env.write(".agent/memories.md", after);
    assert_eq!(
        authors(&scene),
        [
            one("by hand, afterwards", "adopted unknown/-/-"),
            one("by hand, before", "adopted unknown/-/-"),
            one("by somebody in the iteration", "adopted unknown/run/1"),
        ]
    );
}

#[test]
fn agent_changes_own_notes_and_proposes_other_changes() {
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("id=$(ralph memory add own --format quiet); ralph memory edit $id --content changed"),
        run("id=$(ralph memory add 'to go' --format quiet); ralph memory delete $id"),
        run(&storing("edit", "echo better | ralph memory edit mem-17 --content -")),
        run(&storing("delete", "ralph memory delete $(cat ../id)")),
        run(&storing("supersede", "ralph remember newer --supersedes $(cat ../id)")),
        say(DONE),
    ]));
    let id = scene.env.ok(["memory", "add", "a person's", "--format", "quiet"]);
    let id = id.trim();
    scene.env.write("../id", id);
    let finished = scene.run(&["a text"]);
    assert_eq!(scene.outcomes(), ["done"], "{finished}");
    // The prefix is ambiguous by then: it matches a note of the agent and one of the user.
    stored_end(&scene, "edit", 1);
    for name in ["delete", "supersede"] {
        let said = stored_end(&scene, name, 0);
        assert!(said.contains("Proposed: p-"), "{said}");
    }
    assert_eq!(
        authors(&scene),
        [
            one("a person's", "added human/-/-"),
            (
                "changed".to_owned(),
                vec!["added agent/run/1".to_owned(), "edited agent/run/1".to_owned()]
            ),
        ]
    );
    let review = crate::json(&scene.env, &["review", "--json"]);
    let proposals = review["proposals"].as_array().unwrap().clone();
    let changes: Vec<&Value> = proposals.iter().map(|proposal| &proposal["change"]).collect();
    assert_eq!(changes, ["memory delete", "remember"]);
    assert_eq!(proposals[0]["target"], id);
    let word = |number: usize| proposals[number]["id"].as_str().unwrap().to_owned();
    scene.env.ok(["review", "--reject", &word(1)]);
    scene.env.ok(["review", "--accept", &word(0)]);
    assert!(scene.env.ok(["review", "--list"]).contains("Nothing needs review"));
    assert_eq!(blamed(&scene, id), ["added human/-/-", "deleted human/-/-"]);
    assert_eq!(authors(&scene).len(), 1);
}

#[test]
fn learnings_added_by_an_agent_are_proposed() {
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("ralph learnings add 'migrate before the integration tests' --category testing_strategy"),
        run(&storing("reject", "ralph learnings reject $(cat ../id)")),
        run(&storing("all", "ralph learnings promote --all")),
        say(DONE),
    ]));
    let id = scene.env.ok([
        "learnings",
        "add",
        "clear the cache before each build",
        "--category",
        "tool_usage",
        "--format",
        "quiet",
    ]);
    scene.env.write("../id", id.trim());
    scene.run(&["a text"]);
    stored_end(&scene, "reject", 0);
    stored_end(&scene, "all", 1);
    let listed = crate::json(&scene.env, &["learnings", "list", "--all", "--json"]);
    let mut stands: Vec<(String, String)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|learning| {
            let id = learning["id"].as_str().unwrap();
            let status = learning["status"].as_str().unwrap().to_owned();
            (status, blamed(&scene, id).first().unwrap().clone())
        })
        .collect();
    stands.sort();
    let first = |place: usize| stands.get(place).map(|(_, author)| author.as_str());
    assert_eq!(
        (first(0), first(1)),
        (Some("added agent/run/1"), Some("added human/-/-")),
        "{stands:?}"
    );
    assert_eq!(stands[0].0, "promoted", "its iteration has evidence");
    let learning = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|learning| learning["source"] == "sigil")
        .unwrap();
    assert_eq!(learning["sourceLoops"].as_array().map(Vec::len), Some(1), "{learning}");
    let proposal = crate::json(&scene.env, &["review", "--json"])["proposals"][0]["id"].clone();
    scene.env.ok(["review", "--accept", proposal.as_str().unwrap()]);
    assert_eq!(blamed(&scene, id.trim()), ["added human/-/-", "rejected human/-/-"]);
}

#[test]
fn agent_deletes_own_knowledge_and_proposes_other_deletions() {
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("ralph knowledge add 'Own colours' Hex. --tags css"),
        run(&storing("own", "ralph knowledge delete 'Own colours'")),
        run(&storing("persons", "ralph knowledge delete 'Test database'")),
        run(&storing("nosuch", "ralph knowledge delete nosuch")),
        run(&storing("empty", "ralph memory edit $(cat ../id)")),
        say(DONE),
    ]));
    scene
        .env
        .ok(["knowledge", "add", "Test database", "A person's.", "--tags", "db"]);
    let id = scene.env.ok(["memory", "add", "a person's", "--format", "quiet"]);
    scene.env.write("../id", id.trim());
    scene.run(&["a text"]);
    for (name, code, begin) in [
        ("own", 0, "Knowledge deleted: .ralph/knowledge/own-colours.md"),
        ("nosuch", 1, "Error: Knowledge not found: nosuch\n"),
        ("empty", 2, "Error: "),
    ] {
        let said = stored_end(&scene, name, code);
        assert!(said.contains(begin), "{name}: {said}");
    }
    let proposals = crate::json(&scene.env, &["review", "--json"])["proposals"].clone();
    assert_eq!(proposals.as_array().map(Vec::len), Some(1), "{proposals}");
    assert_eq!(proposals[0]["target"], "test-database.md");
    assert_eq!(
        proposals[0]["arguments"],
        serde_json::json!(["knowledge", "delete", "test-database.md"])
    );
}

#[test]
fn blame_finds_knowledge_by_name_and_records_edits() {
    let scene = Scene::new(&Script::new().turn([say(DONE)]));
    let add = |title: &str| {
        scene
            .ralph(&["knowledge", "add", title, "Text.", "--tags", title])
            .run()
    };
    add("API");
    add("API!");
    let knowledge = crate::json(&scene.env, &["knowledge", "list", "--json"]);
    assert!(knowledge.to_string().contains("api-2.md"), "{knowledge}");
    for name in ["api", "api.md", ".ralph/knowledge/api.md", "API"] {
        let rows = crate::json(&scene.env, &["blame", name, "--json"]);
        assert_eq!(
            (&rows[0]["id"], rows.as_array().map(Vec::len)),
            (&"api.md".into(), Some(1)),
            "{name}: {rows}"
        );
    }
    let text = scene.env.read(".ralph/knowledge/api.md");
    scene
        .env
        .write(".ralph/knowledge/api.md", text.replace("Text.", "Another text."));
    assert_eq!(blamed(&scene, "api").len(), 2);
    scene.env.ok(["remember", "by command"]);
    let notes = scene.env.read(".agent/memories.md");
    scene
        .env
        .write(".agent/memories.md", notes.replace("by command", "by hand"));
    let id = notes.lines().find_map(|line| line.strip_prefix("### ")).unwrap();
    assert_eq!(blamed(&scene, id), ["added human/-/-", "changed unknown/-/-"]);
}

#[test]
fn blame_of_unknown_id_fails() {
    let scene = Scene::new(&Script::new().turn([say(DONE)]));
    let finished = scene.ralph(&["blame", "mem-1"]).run();
    assert_eq!(finished.stderr, "Error: no recorded changes for mem-1\n");
    assert_eq!(scene.env.tree(), [], "to look something up nothing is made");
}

#[test]
fn edits_during_an_iteration_have_an_unknown_author() {
    let scene = Scene::new(&Script::new().turn([
        write("work.txt", "work\n"),
        run("printf '# Memories\\n\\n## Patterns\\n\\n### mem-1737372000-bbbb\\n> Edited directly.\\n' > .agent/memories.md"),
        run("ralph memory list"),
        run("ralph task add 'an agent wants this'"),
        say(DONE),
    ]));
    for title in ["One", "Two"] {
        scene.env.ok(["task", "add", title]);
    }
    scene.env.ok(["guardrails", "add", "by a person", "--type", "fix"]);
    let told = scene.run(&["--limit", "1"]);
    let listed = "  mem-1737372000-bbbb (edited in its file): Edited directly.\n";
    assert!(told.stdout.contains(listed), "{told}");
    let proposed = "Proposed by the agent: 1. Run `ralph review` to decide.\n";
    assert!(told.stdout.contains(proposed), "{told}");
    let tasks = crate::json(&scene.env, &["task", "list", "--json"]);
    let open = tasks
        .as_array()
        .unwrap()
        .iter()
        .find(|task| task["status"] == "pending");
    let prompt = scene.env.ok(["prompt", open.unwrap()["id"].as_str().unwrap()]);
    assert!(
        prompt.contains("> Edited directly.\n<!-- tags:  | created: 2025-01-20 | by: unknown -->"),
        "{prompt}"
    );
    assert!(
        prompt.contains("> by a person\n<!-- tags:  | created: 2025-01-20 | by: human -->"),
        "{prompt}"
    );
    let primed = scene.env.ok(["memory", "prime"]);
    assert!(primed.contains("| by: unknown -->"), "{primed}");
}

#[test]
fn config_changes_are_refused_inside_an_iteration() {
    let look = "ralph config > shown.txt 2>&1; ralph config set memories.budget 1 >> shown.txt 2>&1";
    let scene = Scene::new(&Script::new().turn([run(look), say(DONE)]));
    let finished = scene.run(&["one"]);
    let shown = scene.env.read("shown.txt");
    assert_eq!(
        shown.matches("is refused inside an iteration").count(),
        2,
        "{shown}\n{finished}"
    );
    assert!(!scene.env.path(".ralph.toml").exists());
}
