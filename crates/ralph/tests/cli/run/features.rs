//! Tests of `ralph run FEATURE`: the tasks of a feature, and the prompts of its agents.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, if_prompt_contains, remember, say, write};

use super::{DONE, Scene, diligent};
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
#[expect(clippy::too_many_lines, reason = "what two agents are shown stands here")]
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
    let ran = scene.run(&["search", "--trust"]);
    assert_snapshot!(ran.stdout, @"
    The feature search is done. 1 other task is not done.
    6 iterations: 6 tasks done
    Notes stored by the agent: 1
      mem-1737372000-9e56: The stemmer drops umlauts: fold them before words are ranked.
    ");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_snapshot!(scene.env.ok(["feature", "list"]), @"
    ID        STATUS  DONE  NAME
    f-025cc1  done    6/6   search

    Showing 1 feature
    ");
    assert_snapshot!(about_the_task(&scene.agent.prompt(1)), @"
    **Cut texts into words** (t-9756ce)

    Gates: run these before you report the task done; they must pass:

    ```
    test ! -e rank.txt || grep folded rank.txt
    ```

    ### Loop Status

    - **Iteration**: 1
    - **Attempt at this task**: 1 of 4, no previous failures
    - **Success rate**: no iterations yet
    - **Model**: agent's default (no models are configured, so the agent uses its default)

    ## Feature Specification

    The specification of the whole feature search; your task is one part of it:

    ```markdown
    # Search

    Texts are found by the stems of their words.

    ## Umlauts

    `Häuser` is found by `haus`.
    ```

    ## Feature Plan

    The plan of the feature search; other parts of it are other tasks. Open boxes may be done already; see `ralph feature show search`:

    ```markdown
    # Plan

    Words first, then what is made of them.

    - [ ] Cut texts into words
    - [ ] Stem the words
    - [ ] Count the words
    - [ ] Build the index
    - [ ] Rank what was found
    - [ ] Write the command
    ```
    ");
    assert_snapshot!(about_the_task(&scene.agent.prompt(5)), @"
    **Rank what was found** (t-17fb29)

    Completed prerequisites:

    - **Build the index** (t-e7f664)

    Gates: run these before you report the task done; they must pass:

    ```
    test ! -e rank.txt || grep folded rank.txt
    ```

    ### Loop Status

    - **Iteration**: 5
    - **Attempt at this task**: 1 of 4, no previous failures
    - **Success rate**: 4/4, too few to tell
    - **Model**: agent's default (no models are configured, so the agent uses its default)

    ## Feature Specification

    The specification of the whole feature search; your task is one part of it:

    ```markdown
    # Search

    Texts are found by the stems of their words.

    ## Umlauts

    `Häuser` is found by `haus`.
    ```

    ## Feature Plan

    The plan of the feature search; other parts of it are other tasks. Open boxes may be done already; see `ralph feature show search`:

    ```markdown
    # Plan

    Words first, then what is made of them.

    - [ ] Cut texts into words
    - [ ] Stem the words
    - [ ] Count the words
    - [ ] Build the index
    - [ ] Rank what was found
    - [ ] Write the command
    ```
    ");
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
    assert_snapshot!(scene.run(&["empty"]), @"
    exit 3
    --- stdout
    The feature empty has no tasks.
    --- stderr
    Hint: Run `ralph task import --feature empty` to import its plan, or `ralph task add TEXT --feature empty` to add a task.
    ");
    let [cut, stem, count, index, rank, command] = ids(&scene);
    for task in [&cut, &count] {
        scene.env.ok(["task", "update", task, "--no-feature"]);
    }
    assert_snapshot!(scene.run(&["search"]), @"
    exit 4
    --- stdout
    The feature search waits for t-7e532f (Count the words), t-9756ce (Cut texts into words).
    --- stderr
    Hint: Run `ralph run` to work on the tasks that are ready.
    ");
    for task in [&cut, &stem, &count, &index] {
        scene.env.ok(["task", "done", task]);
    }
    scene.env.ok(["task", "fail", &rank]);
    assert_snapshot!(scene.run(&["search"]), @"
    exit 4
    --- stdout
    1 task of the feature search failed, and nothing else in it is ready.
    --- stderr
    Hint: Run `ralph feature show search` to see its tasks, or `ralph task reset ID` to reopen one.
    ");
    for task in [&rank, &command] {
        scene.env.ok(["task", "done", task]);
    }
    assert_snapshot!(scene.run(&["search"]), @"
    exit 3
    --- stdout
    All tasks of the feature search are done.
    --- stderr
    Hint: Run `ralph feature show search` to see its tasks, or `ralph task reset ID` to reopen one.
    ");
    assert_eq!(scene.agent.turns(), 0);
}
