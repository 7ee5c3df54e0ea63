//! Tests of `ralph run FEATURE`: the tasks of a feature, and the prompts of its agents.

use ralph_testkit::scripted::{Script, if_prompt_contains, remember, say, write};

use super::{DONE, Scene, check_end, diligent};
use crate::json;

const SPEC: &str = "\
# Search

Texts are found by the stems of their words.

## Umlauts

`Häuser` is found by `haus`.
";
const PLAN: &str = "\
# Plan

Words first, then what is made of them.

- [ ] Cut texts into words
- [ ] Stem the words
- [ ] Count the words
- [ ] Build the index
- [ ] Rank what was found
- [ ] Write the command
";

/// A feature with its tasks, most of which depend on others.
fn scene(script: &Script) -> Scene {
    let scene = Scene::new(script);
    scene.env.write("docs/search.md", SPEC);
    scene.env.write("docs/plan.md", PLAN);
    let made = [
        "feature",
        "create",
        "search",
        "--spec",
        "docs/search.md",
        "--plan",
        "docs/plan.md",
    ];
    assert_eq!(scene.ralph(&made).run().code, Some(0));
    let imported = scene.ralph(&["task", "import", "--feature", "search"]).run();
    assert_eq!(imported.stdout, "Imported 6 tasks\n");
    let [cut, stem, count, index, rank, command] = ids(&scene);
    for (task, before) in [
        (&stem, cut.clone()),
        (&index, format!("{stem},{count}")),
        (&rank, index.clone()),
        (&command, rank.clone()),
    ] {
        let waits = scene.ralph(&["task", "deps", task, "--add", &before]).run();
        assert_eq!(waits.code, Some(0), "{waits}");
    }
    scene
}

/// The tasks of the feature, in the order of the plan.
fn ids(scene: &Scene) -> [String; 6] {
    let shown = json(&scene.env, &["feature", "show", "search", "--json"]);
    let tree = shown["tree"].as_array().unwrap();
    let ids: Vec<String> = tree
        .iter()
        .map(|task| task["id"].as_str().unwrap().to_owned())
        .collect();
    ids.try_into().unwrap()
}

/// The part of a prompt about the task and its feature.
fn about_the_task(prompt: &str) -> &str {
    let (_, rest) = prompt.split_once("## Assigned Task\n\n").unwrap();
    rest.split("## Run Journal\n")
        .next()
        .unwrap()
        .split("## Memory\n")
        .next()
        .unwrap()
}

#[test]
fn feature_prompts() {
    let work = |name: &str| write(name, "work\n");
    let learning = "The stemmer drops umlauts: fold them before words are ranked.";
    let script = Script::new()
        .turn([
            work("cut.txt"),
            say("<journal>Words end at anything but letters.</journal>"),
            say(DONE),
        ])
        .turn([work("stem.txt"), remember(learning), say(DONE)])
        .turn([work("count.txt"), say(DONE)])
        .turn([work("index.txt"), say(DONE)])
        .turn([
            if_prompt_contains(
                "fold them before",
                [write("rank.txt", "folded\n")],
                [write("rank.txt", "raw\n")],
            ),
            say(DONE),
        ])
        .turn([work("command.txt"), say(DONE)]);
    let scene = scene(&script);
    let gate = "[verify]\ncommands = [\"test ! -e rank.txt || grep folded rank.txt\"]\n";
    scene.env.write(".ralph.toml", gate);
    let alone = scene.ralph(&["task", "add", "Something else"]).run();
    assert_eq!(alone.code, Some(0));
    let [_, _, _, index, rank, _] = ids(&scene);
    scene.run(&["search", "--trust"]).printed(&[
        "The feature search is done. 1 other task is not done.\n",
        "6 iterations: 6 tasks done\n",
        "Notes stored by the agent: 1\n",
        learning,
    ]);
    let prompts = [1, 5].map(|turn| scene.agent.prompt(turn));
    let [first, fifth] = prompts.each_ref().map(|prompt| about_the_task(prompt));
    let rank = format!("**Rank what was found** ({rank})");
    for (prompt, texts) in [
        (
            first,
            ["**Cut texts into words** (", "**Iteration**: 1\n", "no iterations yet"],
        ),
        (fifth, [rank.as_str(), "**Iteration**: 5\n", "**Success rate**: 4/4"]),
    ] {
        let missing: Vec<&str> = texts.into_iter().filter(|text| !prompt.contains(text)).collect();
        assert_eq!(missing, [""; 0], "{prompt}");
        assert!(
            prompt.contains("\ntest ! -e rank.txt || grep folded rank.txt\n"),
            "{prompt}"
        );
        let (_, feature) = prompt.split_once("## Feature Specification\n").unwrap();
        let (spec, plan) = feature.split_once("## Feature Plan\n").unwrap();
        assert!(spec.contains(&format!("```markdown\n{SPEC}```\n")), "{spec}");
        assert!(plan.contains(&format!("```markdown\n{PLAN}```\n")), "{plan}");
    }
    let done_before = format!("Completed prerequisites:\n\n- **Build the index** ({index})\n");
    assert!(fifth.contains(&done_before), "{fifth}");
    assert!(!first.contains("Completed prerequisites"), "{first}");
    let rows = json(&scene.env, &["journal", "list", "--json"]);
    let feature = json(&scene.env, &["feature", "show", "search", "--json"])["id"].clone();
    assert!(
        rows.as_array().unwrap().iter().all(|row| row["feature"] == feature),
        "{rows}"
    );
    assert_eq!(
        scene.open_tasks(),
        [("Something else".to_owned(), "pending".to_owned())]
    );
}

#[test]
fn feature_name_takes_precedence_over_a_file() {
    let scene = scene(&diligent());
    let task = |what: &str| {
        let shown = scene.run(&[what, "--dry-run"]);
        (shown.stdout.lines().next().unwrap_or_default().to_owned(), shown.stderr)
    };
    let cut = format!("Task    {} Cut texts into words", ids(&scene)[0]);
    let feature = json(&scene.env, &["feature", "show", "search", "--json"])["id"].clone();
    for what in ["search", "SEARCH", feature.as_str().unwrap()] {
        assert_eq!(task(what), (cut.clone(), String::new()), "{what}");
    }
    scene.env.write("search", "- [ ] of the file\n");
    assert_eq!(
        task("search"),
        (
            cut,
            "Warning: search is also a file; run it with `ralph run ./search`.\n".to_owned()
        )
    );
    assert_eq!(task("./search").0, "Task    new: of the file");
    assert_eq!(task("searching").0, "Task    new: searching");
}

#[test]
fn idle_feature_says_why() {
    let scene = scene(&diligent());
    let empty = scene.ralph(&["feature", "create", "empty"]).run();
    assert_eq!(empty.code, Some(0));
    check_end(
        &scene.run(&["empty"]),
        3,
        &[
            "The feature empty has no tasks",
            "`ralph task import --feature empty`",
            "`ralph task add TEXT --feature empty`",
        ],
    );
    let [cut, stem, count, index, rank, command] = ids(&scene);
    for task in [&cut, &count] {
        scene.env.ok(["task", "update", task, "--no-feature"]);
    }
    let waits = format!("waits for {count} (Count the words), {cut} (Cut texts into words)");
    check_end(&scene.run(&["search"]), 4, &[&waits, "`ralph run`"]);
    for task in [&cut, &stem, &count, &index] {
        scene.env.ok(["task", "done", task]);
    }
    scene.env.ok(["task", "fail", &rank]);
    let hints = ["`ralph feature show search`", "`ralph task reset ID`"];
    check_end(
        &scene.run(&["search"]),
        4,
        &["1 task of the feature search failed", hints[0], hints[1]],
    );
    for task in [&rank, &command] {
        scene.env.ok(["task", "done", task]);
    }
    check_end(
        &scene.run(&["search"]),
        3,
        &["All tasks of the feature search are done", hints[0], hints[1]],
    );
    assert_eq!(scene.agent.turns(), 0);
}
