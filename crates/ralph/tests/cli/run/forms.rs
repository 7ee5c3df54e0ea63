//! Tests of what can be run: everything, a task, a text, a checklist, a prompt; and of what cannot.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, if_prompt_contains, say, write};

use super::{DONE, Scene, diligent};
use crate::{changes, env, foreign_database};

#[test]
fn nothing_to_do_without_tasks() {
    let scene = Scene::new(&diligent());
    let idle = scene.run(&[]);
    assert_eq!(
        (idle.code, idle.stdout.as_str()),
        (Some(3), "There is nothing to do.\n"),
        "{idle}"
    );
    assert!(
        idle.stderr.contains("Hint: Add a task with `ralph task add \"TITLE\"`"),
        "{idle}"
    );
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn all_tasks_run_in_order() {
    let scene = Scene::new(&diligent());
    scene.env.ok(["init"]);
    for (title, priority) in [("second", "5"), ("first", "1")] {
        let added = scene.ralph(&["task", "add", title, "--priority", priority]).run();
        assert_eq!(added.code, Some(0), "{added}");
    }
    assert_snapshot!(scene.run(&[]), @"
    exit 0
    --- stdout
    Everything is done.
    2 iterations: 2 tasks done
    --- stderr
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-db018fed started.
    11:20:00 gate passed: true
    11:20:00 [t-9756ce] iteration 1: first
    11:20:00 [t-9756ce] prompt: [n] tokens, nothing from memory
    11:20:00 [t-9756ce] gate passed: true
    11:20:00 [t-9756ce] done (1 file changed)
    11:20:00 [t-025cc1] iteration 2: second
    11:20:00 [t-025cc1] gate passed: true
    11:20:00 [t-025cc1] done (1 file changed)
    11:20:00 Learned from the run: 1 extracted, 1 validated, 0 rejected, 1 promoted, 0 skipped.
    ");
    let again = scene.run(&[]);
    assert_eq!(again.code, Some(3), "{again}");
    assert_eq!(scene.agent.turns(), 2);
}

#[test]
fn task_is_found_by_id_prefix() {
    let scene = Scene::new(&diligent());
    let add = |title: &str| {
        let added = scene.ralph(&["task", "add", title]).run();
        added.stdout.trim().to_owned()
    };
    let (wanted, _other) = (add("this one"), add("not this one"));
    let finished = scene.run(&[wanted.get(..6).unwrap()]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(scene.agent.prompt(1).contains("this one"));
    assert_eq!(scene.open_tasks(), [("not this one".to_owned(), "pending".to_owned())]);
}

#[test]
fn text_becomes_a_task() {
    let scene = Scene::new(&diligent());
    scene
        .run(&["mend the login page\nIt says 500 when the password is empty."])
        .printed(&[
            "1 task done",
            "Task t-025cc1: mend the login page\n",
            "[t-025cc1] done (1 file changed)",
        ]);
    let prompt = scene.agent.prompt(1);
    assert!(prompt.contains("It says 500 when the password is empty."), "{prompt}");
    assert!(scene.env.path("work-1.txt").exists());
}

#[test]
fn text_or_checklist_with_a_secret_is_refused() {
    let scene = Scene::new(&diligent());
    let secret = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = format!("push with {secret}");
    scene.env.write("plan.md", format!("- [ ] one\n- [ ] {text}\n"));
    scene
        .run(&[&text])
        .refused(2, &["a secret (GitHub token)", "nothing was stored", "remove it"]);
    scene
        .run(&["plan.md"])
        .refused(2, &["plan.md", "a secret (GitHub token)"]);
    assert_eq!((scene.agent.turns(), scene.open_tasks()), (0, Vec::new()));
}

#[test]
fn wrong_flags_are_refused() {
    let scene = Scene::new(&diligent());
    for (arguments, texts) in [
        (["--limit", "0"], ["'0'", "--limit", "a whole number from 1"]),
        (["--limit", "many"], ["'many'", "--limit", "a whole number from 1"]),
        (["--limit", "-1"], ["'-1'", "--limit", "a whole number from 1"]),
        (["--limit", "99999999999"], ["'99999999999'", "--limit", "too large"]),
        (
            ["--model-strategy", "best"],
            ["'best'", "--model-strategy", "\"cost-optimized\""],
        ),
        (
            ["two", "words"],
            ["'words'", "Put a text of several words in quotes", ".\n"],
        ),
    ] {
        scene.run(&arguments).refused(2, &texts);
    }
}

#[test]
fn dry_run_changes_nothing() {
    let scene = Scene::new(&diligent());
    scene.env.write("plan.md", "- [x] one\n- [ ] two\n");
    scene.env.write("done.md", "- [x] one\n");
    scene.env.write("PROMPT.md", "Port the parser.\n");
    let untouched = scene.env.tree();
    for what in [&["a text"][..], &["plan.md"], &["done.md"], &["PROMPT.md"], &[]] {
        let finished = scene.run(&[what, &["--dry-run"]].concat());
        assert!(matches!(finished.code, Some(0 | 3)), "{finished}");
    }
    assert_eq!(scene.env.tree(), untouched);

    let config = "\n[agent]\ncommand = \"scripted-agent\"\nmodels = [\"small\", \"middle\", \"big\"]\n[verify]\ncommands = [\"make test\", \"make lint\"]\n";
    scene.env.write(".ralph.toml", config);
    scene.env.ok(["task", "add", "mend the parser"]);
    let before = scene.env.tree();
    assert_snapshot!(scene.run(&["--dry-run"]), @"
    exit 0
    --- stdout
    Task    t-025cc1 mend the parser
    Agent   scripted-agent (from --agent)
    Model   middle (cost-optimized: not enough history)
    Gates   make test
            make lint
    Verify  No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent
    Prompt  [n] tokens, [n] of them identical in every prompt
    ");
    for (arguments, text) in [
        (&["--model", "huge"][..], "Model   huge (you asked for it)"),
        (
            &["--model-strategy", "plan-then-execute"],
            "Model   big (plan-then-execute: ",
        ),
        (&["plan.md"], "Task    new: two"),
    ] {
        scene.run(&[&["--dry-run"], arguments].concat()).printed(&[text]);
    }
    let idle = scene.run(&["--dry-run", "done.md"]);
    assert_eq!(idle.code, Some(3), "{idle}");
    assert!(idle.stdout.starts_with("Task    none is ready\n"), "{idle}");
    assert!(
        !idle.stdout.contains("Model ") && !idle.stdout.contains("Prompt "),
        "{idle}"
    );
    let mut changed = changes(&before, &scene.env.tree());
    // Any reader updates the search index.
    changed.retain(|name| !name.starts_with(".ralph/index.db"));
    assert_eq!(changed, [""; 0]);
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn models_are_chosen_by_strategy_or_flag() {
    let scene = Scene::new(&diligent());
    scene.env.write(
        ".ralph.toml",
        "[agent]\ncommand = \"scripted-agent\"\nmodels = [\"small\", \"middle\", \"big\"]\n",
    );
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n");
    let finished = scene.run(&["plan.md", "--model-strategy", "plan-then-execute"]);
    finished.printed(&[
        "3 tasks done",
        "model: big (plan-then-execute: ",
        "model: middle (plan-then-execute: ",
    ]);
    assert_eq!(
        finished.stderr.matches("] model: ").count(),
        2,
        "the same model is not named again: {finished}"
    );
    let model = |turn: usize| scene.agent.call(turn).environment.get("RALPH_MODEL").cloned();
    assert_eq!(
        [1, 2, 3].map(model),
        ["big", "middle", "middle"].map(|m| Some(m.to_owned()))
    );
    let finished = scene.run(&["one more", "--model", "huge"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(model(4).as_deref(), Some("huge"));
}

#[test]
fn foreign_database_is_refused_unchanged() {
    let scene = Scene::new(&diligent());
    scene.env.write(".ralph/progress.db", foreign_database());
    scene.run(&["a text"]).refused(
        1,
        &[
            ".ralph/progress.db belongs to another tool",
            "`ralph import refound`",
            "`mv ",
        ],
    );
    let bytes = std::fs::read(scene.env.path(".ralph/progress.db")).unwrap();
    assert_eq!(bytes, foreign_database());
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn configuration_error_stops_the_run_early() {
    let scene = Scene::new(&diligent());
    scene.env.write(".ralph.toml", "[verify]\ncommands = 3\n");
    let refused = scene.run(&["a text"]);
    refused.refused(
        1,
        &[".ralph.toml:2", "verify.commands is 3", "a list of non-blank strings"],
    );
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn read_only_project_is_refused() {
    let env = env();
    env.write("seen.txt", "x");
    let invocation = env.ralph_as_plain_user(["run", "--agent", "true", "a text"]);
    invocation
        .run()
        .refused(1, &["cannot create", ".ralph", "Permission denied"]);
}

#[test]
fn idle_task_says_why() {
    let scene = Scene::new(&diligent());
    let add = |arguments: &[&str]| {
        let added = scene.ralph(&[&["task", "add"], arguments].concat()).run();
        assert_eq!(added.code, Some(0), "{added}");
        added.stdout.trim().to_owned()
    };
    let done = add(&["over"]);
    scene.env.ok(["task", "done", &done]);
    let failed = add(&["given up"]);
    scene.env.ok(["task", "fail", &failed]);
    let first = add(&["first"]);
    let waiting = add(&["second", "--after", &first]);
    let behind = add(&["third", "--after", &failed]);
    let parent = add(&["whole", "--after", &first]);
    add(&["part", "--parent", &parent]);
    let broken = add(&["broken"]);
    let part = add(&["broken part", "--parent", &broken]);
    scene.env.ok(["task", "fail", &part]);
    let waits_for_first = format!("waits for {first} (first)");
    for (id, code, why, hint) in [
        (&done, 3, "is already done", format!("`ralph task reset {done}`")),
        (&failed, 4, "has failed", format!("`ralph task reset {failed}`")),
        (&waiting, 4, &waits_for_first, "`ralph run`".to_owned()),
        (
            &behind,
            4,
            &format!("waits for {failed} (given up), which needs attention"),
            "`ralph run`".to_owned(),
        ),
        (&parent, 4, &waits_for_first, "`ralph run`".to_owned()),
        (
            &broken,
            4,
            "failed, and nothing else in it is ready",
            format!("`ralph task reset {broken} --all`"),
        ),
    ] {
        let finished = scene.run(&[id]);
        assert_eq!(finished.code, Some(code), "{finished}");
        assert!(
            finished.stdout.contains(id) && finished.stdout.contains(why),
            "{finished}"
        );
        assert!(
            finished.stderr.starts_with("Hint: ") && finished.stderr.contains(&hint),
            "{finished}"
        );
        assert_eq!(finished.stderr.lines().count(), 1, "{finished}");
        let shown = scene.run(&[id, "--dry-run"]);
        assert_eq!(shown.code, Some(3), "{shown}");
        let why = finished.stdout.trim_end();
        assert!(
            shown.stdout.starts_with(&format!("Task    none is ready: {why}\n")),
            "{shown}"
        );
        assert!(!shown.stdout.contains("\nModel "), "no task has no model: {shown}");
        assert_eq!(shown.stderr, finished.stderr, "the hint is printed as well");
    }
    let shown = scene.env.ok(["task", "show", &parent]);
    assert!(
        shown.contains(&format!("\nready: no: it depends on {first} (first)\n")),
        "{shown}"
    );
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn boxes_of_done_tasks_are_ticked_at_the_end() {
    let fails = [say("<task-failed>{task} no</task-failed>")];
    let works = [write("{task}.txt", "x"), say(DONE)];
    let scene = Scene::new(&Script::new().turn([if_prompt_contains("**two**", fails, works)]));
    scene.env.write(crate::USER_CONFIG, "[execution]\nmax_retries = 0\n");
    scene.env.write(
        "plan.md",
        "# Plan\r\n\n- [ ] one\n- [ ] two\n* [ ] three\n  - [ ] three a\n",
    );
    let finished = scene.run(&["plan.md"]);
    assert_eq!(scene.outcomes(), ["done", "failed", "done"], "{finished}");
    assert_eq!(
        scene.env.read("plan.md"),
        "# Plan\r\n\n- [x] one\n- [ ] two\n* [x] three\n  - [x] three a\n"
    );
}
