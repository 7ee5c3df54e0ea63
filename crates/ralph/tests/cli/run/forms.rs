//! Tests of what can be run: everything, a task, a text, a checklist, a prompt; and of what cannot.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, if_prompt_contains, say, write};

use super::{DONE, Scene, diligent, normal};
use crate::{changes, env, foreign_database};

#[test]
fn nothing_to_do_without_tasks() {
    let scene = Scene::new(&diligent());
    assert_snapshot!(scene.run(&[]), @r#"
    exit 3
    --- stdout
    There is nothing to do.
    --- stderr
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-89025cc1 started.
    Hint: Add a task with `ralph task add "TITLE"`, or add and run one with `ralph run "TEXT"`.
    "#);
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
    assert_snapshot!(scene.run(&[]), @r#"
    exit 3
    --- stdout
    There is nothing to do.
    --- stderr
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-e2338aca started.
    Hint: Add a task with `ralph task add "TITLE"`, or add and run one with `ralph run "TEXT"`.
    "#);
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
    assert_snapshot!(scene.run(&["mend the login page\nIt says 500 when the password is empty."]), @"
    exit 0
    --- stdout
    Everything is done.
    1 iteration: 1 task done
    --- stderr
    Task t-025cc1: mend the login page
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-658eec67 started.
    11:20:00 gate passed: true
    11:20:00 [t-025cc1] iteration 1: mend the login page
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing from memory
    11:20:00 [t-025cc1] gate passed: true
    11:20:00 [t-025cc1] done (1 file changed)
    ");
    let prompt = scene.agent.prompt(1);
    assert!(prompt.contains("It says 500 when the password is empty."), "{prompt}");
    assert!(scene.env.path("work-1.txt").exists());
}

#[test]
fn text_with_a_secret_is_refused() {
    let scene = Scene::new(&diligent());
    let secret = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    assert_snapshot!(scene.run(&[&format!("push with {secret}")]), @"
    exit 2
    --- stderr
    Error: line [n] of the text looks like a secret (GitHub token); nothing was stored
    Hint: remove it; the agent can read it from a file or from its environment
    ");
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn checklist_with_a_secret_is_refused() {
    let scene = Scene::new(&diligent());
    let secret = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    scene
        .env
        .write("plan.md", format!("- [ ] one\n- [ ] push with {secret}\n"));
    let refused = scene.run(&["plan.md"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(
        refused
            .stderr
            .starts_with("Error: plan.md: line [n] of the text looks like a secret (GitHub token)"),
        "{refused}"
    );
    assert_eq!((scene.agent.turns(), scene.open_tasks()), (0, Vec::new()));
}

#[test]
fn wrong_flags_are_refused() {
    let scene = Scene::new(&diligent());
    let first_line = |arguments: &[&str]| {
        let finished = scene.run(arguments);
        assert_eq!(finished.code, Some(2), "{finished}");
        finished.stderr.lines().next().unwrap_or_default().to_owned()
    };
    assert_snapshot!(first_line(&["--limit", "0"]), @"error: invalid value '0' for '--limit <N>': expected a whole number from 1");
    assert_snapshot!(first_line(&["--limit", "many"]), @"error: invalid value 'many' for '--limit <N>': expected a whole number from 1");
    assert_snapshot!(first_line(&["--limit", "-1"]), @"error: invalid value '-1' for '--limit <N>': expected a whole number from 1");
    assert_snapshot!(first_line(&["--limit", "99999999999"]), @"error: invalid value '99999999999' for '--limit <N>': too large");
    assert_snapshot!(first_line(&["--model-strategy", "best"]), @r#"error: invalid value 'best' for '--model-strategy <STRATEGY>': expected "cost-optimized", "escalate", "fixed" or "plan-then-execute""#);
    let without_quotes = scene.run(&["two", "words"]);
    assert!(
        without_quotes
            .stderr
            .ends_with("Put a text of several words in quotes.\n"),
        "{without_quotes}"
    );
    assert_snapshot!(first_line(&["two", "words"]), @"error: unexpected argument 'words' found");
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is what the command prints")]
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
    assert_snapshot!(scene.run(&["--dry-run", "--model", "huge"]), @"
    exit 0
    --- stdout
    Task    t-025cc1 mend the parser
    Agent   scripted-agent (from --agent)
    Model   huge (you asked for it)
    Gates   make test
            make lint
    Verify  No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent
    Prompt  [n] tokens, [n] of them identical in every prompt
    ");
    assert_snapshot!(scene.run(&["--dry-run", "--model-strategy", "plan-then-execute"]), @"
    exit 0
    --- stdout
    Task    t-025cc1 mend the parser
    Agent   scripted-agent (from --agent)
    Model   big (plan-then-execute: the first iteration plans)
    Gates   make test
            make lint
    Verify  No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent
    Prompt  [n] tokens, [n] of them identical in every prompt
    ");
    assert_snapshot!(scene.run(&["--dry-run", "plan.md"]), @"
    exit 0
    --- stdout
    Task    new: two
    Agent   scripted-agent (from --agent)
    Model   middle (cost-optimized: not enough history)
    Gates   make test
            make lint
    Verify  No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent
    Prompt  [n] tokens, [n] of them identical in every prompt
    ");
    assert_snapshot!(scene.run(&["--dry-run", "done.md"]), @"
    exit 3
    --- stdout
    Task    none is ready
    Agent   scripted-agent (from --agent)
    Gates   make test
            make lint
    Verify  No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent
    ");
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
    assert_snapshot!(scene.run(&["plan.md", "--model-strategy", "plan-then-execute"]), @"
    exit 0
    --- stdout
    Everything is done.
    3 iterations: 3 tasks done
    --- stderr
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-d101b5b9 started.
    11:20:00 gate passed: true
    11:20:00 [t-8eec67] iteration 1: one
    11:20:00 [t-8eec67] prompt: [n] tokens, nothing from memory
    11:20:00 [t-8eec67] model: big (plan-then-execute: the first iteration plans)
    11:20:00 [t-8eec67] gate passed: true
    11:20:00 [t-8eec67] done (1 file changed)
    11:20:00 [t-32555e] iteration 2: two
    11:20:00 [t-32555e] model: middle (plan-then-execute: the plan is made)
    11:20:00 [t-32555e] gate passed: true
    11:20:00 [t-32555e] done (1 file changed)
    11:20:00 [t-42c90b] iteration 3: three
    11:20:00 [t-42c90b] gate passed: true
    11:20:00 [t-42c90b] done (1 file changed)
    11:20:00 Learned from the run: 1 extracted, 1 validated, 0 rejected, 1 promoted, 0 skipped.
    ");
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
fn no_verify_prints_the_same_run() {
    let scene = Scene::new(&Script::new().turn([if_prompt_contains(
        "one",
        [write("a.txt", "x"), say(DONE)],
        [say("what?")],
    )]));
    let finished = scene.run(&["one", "--no-verify"]);
    assert_eq!(finished.code, Some(0), "{finished}");
}

#[test]
fn foreign_database_is_refused_unchanged() {
    let scene = Scene::new(&diligent());
    scene.env.write(".ralph/progress.db", foreign_database());
    assert_snapshot!(scene.run(&["a text"]), @"
    exit 1
    --- stderr
    Error: [TMP]/project/.ralph/progress.db belongs to another tool, so it is left alone
    Hint: if it belongs to RefoundAI's ralph, run `ralph import refound`; otherwise `mv [TMP]/project/.ralph/progress.db [TMP]/project/.ralph/progress.db.other`; ralph then starts a new history
    ");
    let bytes = std::fs::read(scene.env.path(".ralph/progress.db")).unwrap();
    assert_eq!(bytes, foreign_database());
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn configuration_error_stops_the_run_early() {
    let scene = Scene::new(&diligent());
    scene.env.write(".ralph.toml", "[verify]\ncommands = 3\n");
    assert_snapshot!(scene.run(&["a text"]), @"
    exit 1
    --- stderr
    Error: .ralph.toml:2: verify.commands is 3; expected a list of non-blank strings
    ");
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn read_only_project_is_refused() {
    let env = env();
    env.write("seen.txt", "x");
    let invocation = env.ralph_as_plain_user(["run", "--agent", "true", "a text"]);
    assert_snapshot!(normal(invocation.run()), @"
    exit 1
    --- stderr
    Error: cannot create [TMP]/project/.ralph: Permission denied (os error 13)
    ");
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
    let names = [
        (&done, "DONE"),
        (&failed, "FAILED"),
        (&first, "FIRST"),
        (&waiting, "WAITING"),
        (&behind, "BEHIND"),
        (&parent, "PARENT"),
        (&broken, "BROKEN"),
    ];
    let named = |text: String| {
        names
            .iter()
            .fold(text, |text, (id, name)| text.replace(id.as_str(), name))
    };
    let mut said = String::new();
    for id in [&done, &failed, &waiting, &behind, &parent, &broken] {
        let finished = scene.run(&[id]);
        said.push_str(&format!(
            "{} {}{}",
            finished.code.unwrap(),
            finished.stdout,
            finished.stderr
        ));
        let shown = scene.run(&[id, "--dry-run"]);
        assert_eq!(shown.code, Some(3), "{shown}");
        let why = finished.stdout.trim_end();
        assert!(
            shown.stdout.starts_with(&format!("Task    none is ready: {why}\n")),
            "{shown}"
        );
        assert!(!shown.stdout.contains("\nModel "), "no task has no model: {shown}");
        assert_eq!(shown.stderr, finished.stderr, "what helps is told as well");
    }
    assert_snapshot!(named(said), @"
    3 DONE is already done.
    Hint: Run `ralph task reset DONE` to reopen it.
    4 FAILED has failed.
    Hint: Run `ralph task show FAILED` to see what happened, or `ralph task reset FAILED` to reopen it.
    4 WAITING waits for FIRST (first).
    Hint: Run `ralph run` to work on the tasks that are ready.
    4 BEHIND waits for FAILED (given up), which needs attention.
    Hint: Run `ralph run` to work on the tasks that are ready.
    4 PARENT waits for FIRST (first).
    Hint: Run `ralph run` to work on the tasks that are ready.
    4 1 task of BROKEN failed, and nothing else in it is ready.
    Hint: Run `ralph task tree BROKEN` to see failures, `ralph task reset BROKEN --all` to reopen them.
    ");
    let shown = named(scene.env.ok(["task", "show", &parent]));
    assert!(shown.contains("\nready: no: it depends on FIRST (first)\n"), "{shown}");
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
