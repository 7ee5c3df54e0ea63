//! Tests of `ralph prompt`.

use insta::assert_snapshot;
use ralph_model::Outcome;
use ralph_testkit::TestEnv;

use crate::past::{Worked, task, work};
use crate::{GUARDRAILS, env, sample};

/// A project with notes, gates and a task with one failed attempt.
fn tried() -> (TestEnv, String) {
    let env = sample();
    env.write(
        ".ralph.toml",
        "[verify]\ncommands = [\"cargo test\"]\n[memories.filter]\ntypes = [\"fix\"]\n",
    );
    env.write(GUARDRAILS, "## Fixes\n\n### fix-1737372000-a1b2\n> Dates are UTC.\n");
    env.write(".agent/scratchpad.md", "half way\n");
    let dates = task(&env, "Parse dates");
    let refused = Worked {
        task: &dates,
        outcome: Outcome::Retried,
        reason: "The gate `cargo test` failed.",
        notes: Some("Dates have leap years."),
        ..Worked::default()
    };
    work(&env, 1, &[refused]);
    (env, dates)
}

#[test]
fn prompt_has_notes_history_and_gates() {
    let (env, dates) = tried();
    let before = env.tree();
    let ran = env.ralph(["prompt", &dates]).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_snapshot!(ran.stderr, @"
    Memories              54 tokens
    Using Memories       108 tokens
    Instructions         179 tokens
    Guardrails            40 tokens
    Scratchpad            23 tokens
    Assigned Task         33 tokens
    Previous Attempts     86 tokens
    Loop Status           55 tokens
    Retry Information     30 tokens
    Memory               222 tokens
    Total                829 tokens, 559 of them identical in every prompt
    ");
    let start = ran.stdout.find("## Assigned Task").unwrap();
    let (_, task) = ran.stdout.split_at(start);
    for text in [
        "**Parse dates** (t-025cc1)\n",
        "\n```\ncargo test\n```\n",
        "#### Attempt 1 (sonnet, retried)\n- **Outcome**: retried after 1 min 23 s, without a report\n\
         - **Why it failed**: The gate `cargo test` failed.\n",
        "- **Notes**: (by agent) Dates have leap years.\n",
        "- **Attempt at this task**: 2 of 4, 1 previous failure\n",
        "- **Success rate**: 0/1, too few to tell\n",
        "This is attempt 2 of 4.\n",
        "> The gate `cargo test` failed.\n",
    ] {
        assert!(task.contains(text), "{text} in {task}");
    }
    for text in ["ECONNREFUSED", "Dates are UTC", "half way", "<task-done>t-EXAMPLE"] {
        assert!(ran.stdout.contains(text), "{text}");
    }
    assert!(
        !ran.stdout.contains("Chose SQLite"),
        "fault 18: filters of the configuration apply"
    );
    let changed = crate::changes(&before, &env.tree());
    assert!(changed.iter().all(|name| name.contains("index")), "{changed:?}");
}

#[test]
fn prompt_names_the_model_and_limit_of_a_new_run() {
    let (env, dates) = tried();
    env.write(
        ".ralph.toml",
        "[agent]\ncommand = \"cat\"\nmodels = [\"low\", \"high\"]\n[strategy]\nname = \"plan-then-execute\"\n[limits]\niterations = 7\n",
    );
    let prompt = env.ok(["prompt", &dates]);
    assert!(prompt.contains("\n- **Iteration**: 1 of 7\n"), "{prompt}");
    assert!(
        prompt.contains("\n- **Model**: high (plan-then-execute: the first iteration plans)\n"),
        "{prompt}"
    );
    let shown = env.ok(["run", "--dry-run"]);
    assert!(
        shown.contains("high (plan-then-execute: the first iteration plans)"),
        "{shown}"
    );
}

#[test]
fn finished_task_gets_a_warning() {
    let (env, dates) = tried();
    env.write(".ralph.toml", "[execution]\nmax_retries = 0\n");
    let prompt = |warning: &str| {
        let ran = env.ralph(["prompt", &dates]).run();
        assert_eq!(ran.code, Some(0), "{ran}");
        assert_eq!(ran.stderr.lines().next(), Some(warning));
        ran.stdout
    };
    let ended = |state: &str| {
        format!("Warning: {dates} {state}; no agent gets this prompt until you run `ralph task reset {dates}`.")
    };
    env.ok(["task", "fail", &dates]);
    assert!(prompt(&ended("has failed")).contains("\nThis is attempt 1 of 1.\n"));
    env.ok(["task", "done", &dates]);
    prompt(&ended("is done"));
}

#[test]
fn unknown_task_is_refused() {
    let env = env();
    let check_unknown = |id: &str| {
        let refused = env.ralph(["prompt", id]).run();
        refused.refused(1, &[&format!("no task {id}\n"), "ralph task list --all"]);
    };
    check_unknown("t-123456");
    let tea = task(&env, "Make tea");
    check_unknown("zz");
    let beginning: String = tea.chars().take(5).collect();
    assert!(
        env.ok(["prompt", &beginning])
            .contains(&format!("**Make tea** ({tea})"))
    );
}
