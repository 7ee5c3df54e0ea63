//! Tests of `ralph run FILE`: checklists, user stories, prompts and invalid files.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, say, write};

use super::{Scene, check_end, diligent, normal};
use crate::changes;

#[test]
fn checklist_is_run_once() {
    let scene = Scene::new(&diligent());
    let plan = "# Plan\n\n- [ ] one\n- [x] two\n- [ ] three\n  - [ ] a part\n";
    scene.env.write("plan.md", plan);
    assert_snapshot!(scene.run(&["plan.md"]), @"
    exit 0
    --- stdout
    Everything is done.
    2 iterations: 2 tasks done
    --- stderr
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-90150280 started.
    11:20:00 gate passed: true
    11:20:00 [t-8eec67] iteration 1: one
    11:20:00 [t-8eec67] prompt: [n] tokens, nothing from memory
    11:20:00 [t-8eec67] gate passed: true
    11:20:00 [t-8eec67] done (1 file changed)
    11:20:00 [t-01b5b9] iteration 2: a part
    11:20:00 [t-01b5b9] gate passed: true
    11:20:00 [t-01b5b9] done (1 file changed)
    11:20:00 Learned from the run: 1 extracted, 1 validated, 0 rejected, 1 promoted, 0 skipped.
    ");
    assert_eq!(scene.env.read("plan.md"), plan.replace("[ ]", "[x]"));
    check_end(
        &scene.run(&["plan.md"]),
        3,
        &[
            "All items of plan.md are done",
            "`ralph task tree t-025cc1`",
            "`ralph task reset ID`",
        ],
    );
    assert_eq!(scene.agent.turns(), 2, "`two` was ticked, and `three` is its part");

    let first_line = || {
        scene
            .run(&["plan.md", "--dry-run"])
            .stdout
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(first_line(), "Task    none is ready: All items of plan.md are done.");
    scene.env.write("plan.md", format!("{plan}- [ ] four\n- [x] five\n"));
    assert_eq!(first_line(), "Task    new: four");
    let finished = scene.run(&["plan.md"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(scene.agent.turns(), 3);
    assert!(scene.agent.prompt(3).contains("four"));
}

#[test]
fn other_files_are_prompts_repeated_until_complete() {
    let script = Script::new()
        .turn([write("a.txt", "1"), say("The first half.")])
        .turn([write("b-{turn}.txt", "2"), say("<promise>COMPLETE</promise>")]);
    let scene = Scene::new(&script);
    scene.env.write("PROMPT.md", "Port the parser.\n");
    scene.env.write("what to do", "Port the lexer.\n");
    scene.run(&["PROMPT.md"]).printed(&[
        "Everything is done.\n2 iterations: 1 task done\n",
        "iteration 1: PROMPT.md",
        "done (1 file changed)",
        "iteration 2: PROMPT.md",
        "done (1 file changed)",
    ]);
    assert!(scene.agent.prompt(2).contains("Port the parser."));
    // A completed prompt starts again when it is called again.
    let finished = scene.run(&["PROMPT.md"]);
    assert_eq!((finished.code, scene.agent.turns()), (Some(0), 3), "{finished}");
    let finished = scene.run(&["what to do"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(
        scene.agent.prompt(4).contains("Port the lexer."),
        "a name may hold spaces"
    );
}

#[test]
fn unusable_files_are_refused() {
    let scene = Scene::new(&diligent());
    scene.env.write("empty.md", " \n\n");
    scene.env.write("large.md", "x".repeat((1 << 20) + 1));
    scene.env.write("latin.md", b"caf\xe9 au lait");
    for folder in ["folder.md", "folder"] {
        std::fs::create_dir(scene.env.path(folder)).unwrap();
    }
    let before = scene.env.tree();
    let (missing, no_file) = (["file not found: ", "describe it"], ["is a folder", "describe it"]);
    let no_task = ["there is no task ", "`ralph task list --all`"];
    let cases: [(&str, i32, &[&str]); 14] = [
        ("missing.md", 2, &missing),
        ("prd.json", 2, &missing),
        ("src/main", 2, &missing),
        ("notes.TXT", 2, &missing),
        ("empty.md", 2, &["is empty"]),
        ("large.md", 2, &["has 1048577 bytes", "at most 1048576"]),
        ("latin.md", 2, &["is not UTF-8 text (byte 3)"]),
        ("folder.md", 2, &no_file),
        ("folder", 2, &no_file),
        (" ", 2, &["the text is blank"]),
        ("t-ffffff", 1, &no_task),
        ("t-1a2b3cd", 1, &no_task),
        ("t-mistyped", 1, &no_task),
        ("f-1a2b3c", 1, &["there is no feature ", "`ralph feature list`"]),
    ];
    for (file, code, texts) in cases {
        let refused = scene.run(&[file]);
        refused.refused(code, texts);
        assert!(refused.stderr.contains(file), "{refused}");
        assert_eq!(scene.run(&[file, "--dry-run"]), refused);
    }
    let changed = changes(&before, &scene.env.tree());
    assert!(changed.iter().all(|name| name.starts_with(".ralph/")), "{changed:?}");
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn file_names_with_spaces_and_sizes_of_texts() {
    let scene = Scene::new(&diligent());
    scene.env.write("my plan.md", "- [ ] one\n");
    let shown = |what: &str| scene.run(&[what, "--dry-run"]).stdout;
    assert!(shown("my plan.md").starts_with("Task    new: one\n"));
    let text = shown("mend my plan.md");
    assert!(text.starts_with("Task    new: mend my plan.md\n"), "{text}");
    assert!(text.contains("\nPrompt  "), "{text}");
}

#[test]
fn imported_list_is_run_without_duplicates() {
    let scene = Scene::new(&diligent());
    scene.env.write("plan.md", "- [ ] one\n  - [ ] a part\n- [ ] two\n");
    let imported = scene.ralph(&["task", "import", "plan.md"]).run();
    assert_eq!(imported.stdout, "Imported 3 tasks\n");
    let shown = scene.run(&["plan.md", "--dry-run"]).stdout;
    assert!(shown.starts_with("Task    t-8eec67 a part\n"), "{shown}");
    std::fs::create_dir(scene.env.path("sub")).unwrap();
    let finished = scene.invocation(&["../plan.md"]).folder(&scene.env.path("sub")).run();
    assert_eq!((finished.code, scene.agent.turns()), (Some(0), 2), "{finished}");
    let again = scene.ralph(&["task", "import", "plan.md"]).run();
    assert_eq!(again.stdout, "Imported 0 tasks\n", "{again}");
    let tree = scene.env.ok(["task", "tree", "--all"]);
    assert_eq!((tree.lines().count(), tree.matches('✓').count()), (4, 4), "{tree}");
}

#[test]
fn hint_repeats_the_file_as_typed() {
    let scene = Scene::new(&Script::new().turn([say("Still at it.")]));
    std::fs::create_dir(scene.env.path("sub")).unwrap();
    scene.env.write("sub/my prompt", "Port the parser.\n");
    let hint = |folder: &str, typed: &str| {
        let invocation = scene.invocation(&[typed, "--limit", "1"]);
        let finished = normal(invocation.folder(&scene.env.path(folder)).run());
        finished.stderr.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(
        hint("sub", "my prompt"),
        "Hint: Run `ralph run 'my prompt' --limit 1 --agent [agent]` to continue."
    );
    assert_eq!(
        hint("", "./sub/my prompt"),
        "Hint: Run `ralph run './sub/my prompt' --limit 1 --agent [agent]` to continue."
    );
    assert_eq!(scene.open_tasks().len(), 1, "it is the same file");
}

#[test]
fn hint_repeats_the_flags() {
    let scene = Scene::new(&Script::new().turn([say("Still at it.")]));
    scene.env.write("PROMPT.md", "Port the parser.\n");
    let flags = ["PROMPT.md", "--limit", "1", "--model", "o'brien", "--without-memory"];
    let finished = scene.invocation(&flags).run();
    let hint = finished.stderr.lines().last().unwrap();
    let again = hint
        .strip_prefix("Hint: Run `ralph ")
        .unwrap()
        .strip_suffix("` to continue.")
        .unwrap();
    assert!(
        again.contains("--without-memory --limit 1 --model 'o'\\''brien' --agent "),
        "{again}"
    );
    let again = again.replace("[TMP]", scene.env.beside("").to_str().unwrap().trim_end_matches('/'));
    let finished = scene.env.sh(&format!("\"$RALPH\" {again}")).run();
    assert_eq!((finished.code, scene.agent.turns()), (Some(4), 2), "{finished}");
    assert_eq!(finished.stderr.lines().last(), Some(hint));
}

#[test]
fn user_stories_are_run_as_tasks() {
    let scene = Scene::new(&diligent());
    let stories = r#"{"userStories": [{"id": "US-1", "title": "Log in", "priority": 2},
        {"id": "US-2", "title": "Set up", "priority": 1}, {"id": "US-3", "title": "Log out", "passes": true}]}"#;
    scene.env.write("prd.json", stories);
    scene.env.write("other.json", "{}");
    let shown = scene.run(&["prd.json", "--dry-run"]).stdout;
    assert!(shown.starts_with("Task    new: US-2: Set up\n"), "{shown}");
    let finished = scene.run(&["prd.json"]);
    assert_eq!((finished.code, scene.agent.turns()), (Some(0), 2), "{finished}");
    assert!(scene.agent.prompt(1).contains("US-2: Set up"));
    let refused = scene.run(&["other.json"]);
    refused.refused(1, &["nothing was imported from other.json", "no \"userStories\""]);
}
