//! `ralph status`: what a person reads in the morning. What runs leave is put into the database by hand here.

use insta::assert_snapshot;
use jiff::Timestamp;
use ralph_model::{
    CapturedKnowledge, CapturedLearning, LearningId, NewJournalRow, Outcome, RunId, StopReason, TaskId, Usage,
};
use ralph_store::{ClaimAnswer, ClaimRequest, NewRun, RunProcess, Scope, Settlement, Start, Store, TaskChange, Wait};
use ralph_testkit::TestEnv;

use crate::{DATABASE, env, json, names};

/// The moment of every test, and moments before it.
fn before(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_737_372_000 - seconds).unwrap()
}

fn store(env: &TestEnv) -> Store {
    Store::open_existing(&env.path(DATABASE), Wait::Long).unwrap().unwrap()
}

fn run_id() -> RunId {
    RunId::new(0xabc)
}

fn begin(store: &mut Store) {
    let run = NewRun {
        id: run_id(),
        agent: "claude".to_owned(),
        goal: "all tasks".to_owned(),
        worktree: String::new(),
        branch: None,
        commit: None,
        process: RunProcess {
            host: "here".to_owned(),
            pid: 1,
            started: 1,
        },
        started_at: before(9000),
    };
    store.begin_run(&run).unwrap();
}

/// Works on the next task as a run does; what became of it.
fn iterate(store: &mut Store, iteration: u32, outcome: Outcome, task: TaskChange) -> TaskId {
    let request = ClaimRequest {
        run: &run_id(),
        iteration,
        scope: &Scope::All,
        worktree: "",
        commits_here: &std::collections::BTreeSet::new(),
        marker: "word",
        lease: std::time::Duration::from_secs(120),
        now: before(8000),
    };
    let ClaimAnswer::Claimed(claim) = store.claim_next(&request).unwrap() else {
        panic!("no task is ready");
    };
    let start = Start {
        model: None,
        rationale: "",
        before: "{}",
        dirty: None,
        injections: &[],
        at: before(8000),
    };
    store.record_start(&run_id(), &start).unwrap();
    let is_done = outcome == Outcome::Done;
    let mut settlement = Settlement {
        row: NewJournalRow {
            run: run_id(),
            iteration,
            task: Some(claim.task.id.clone()),
            task_title: claim.task.title.clone(),
            feature: None,
            attempt: claim.attempt,
            outcome,
            stop: StopReason::TaskDone,
            reason: if is_done {
                ""
            } else {
                "The gate `cargo test` refused it:\n1 test failed"
            }
            .to_owned(),
            model: None,
            model_rationale: String::new(),
            duration_ms: 90_500,
            usage: Usage {
                cost_usd: 0.125,
                input_tokens: 1000,
                output_tokens: 10,
            },
            files_modified: Vec::new(),
            changed_nothing: false,
            notes: None,
            difficulty: None,
            error_category: None,
            malformed_sigils: 0,
            created_at: before(7200),
        },
        fence: claim.fence,
        worktree: String::new(),
        task,
        report: None,
        suggestion: None,
        learnings: Vec::new(),
        knowledge: Vec::new(),
        memory_used: Vec::new(),
        baseline: None,
    };
    learn(&mut settlement);
    store.settle(&settlement).unwrap();
    claim.task.id
}

/// What every iteration here teaches.
fn learn(settlement: &mut Settlement) {
    let lesson = CapturedLearning {
        category: "pitfall".to_owned(),
        tags: Vec::new(),
        content: "x".to_owned(),
    };
    settlement.learnings.push((LearningId::new(1), lesson));
    settlement.knowledge.push(CapturedKnowledge {
        title: "Colours".to_owned(),
        tags: vec!["css".to_owned()],
        body: "Hex.".to_owned(),
    });
}

/// A night: one task is done, one has failed, one is left.
fn night() -> TestEnv {
    let env = env();
    env.ok(["init"]);
    env.ok(["remember", "the build takes an hour", "--type", "context"]);
    env.ok(["task", "add", "Parse the colours"]);
    env.ok(["task", "add", "Draw the colours"]);
    env.ok(["task", "add", "Print the colours", "--priority", "9"]);
    let mut store = store(&env);
    begin(&mut store);
    iterate(&mut store, 1, Outcome::Done, TaskChange::Done { commit: None });
    iterate(&mut store, 2, Outcome::Retried, TaskChange::Attempt { max_retries: 0 });
    store
        .end_run(&run_id(), "The limit of 2 iterations was reached.", 4, before(7000))
        .unwrap();
    env
}

#[test]
fn the_morning_after_a_night() {
    let env = night();
    let status = env.ralph(["status"]).run();
    assert_snapshot!(status, @r#"
    exit 0
    --- stdout
    Project  [TMP]/project
    Since    the beginning: 2 iterations
    Run      run-00000abc (all tasks) ended 1 hour ago: The limit of 2 iterations was reached.
    Done     1 task was done
               t-025cc1  Parse the colours
    Failed   1 task has failed
               t-8eec67  Draw the colours
    Learned  1 lesson, 1 long note
    Spent    3 min 1 s, $0.25, 2020 tokens
    Waiting  1 task waits for you
               t-8eec67  Draw the colours
                 The gate `cargo test` refused it:
    Tasks    1 open, 1 failed, 1 done
    Notes    1 memory in .agent/memories.md (1 context)
    Next     ralph task show t-8eec67    # why it failed; `ralph task reset` opens it again
    "#);
    assert_eq!(
        env.ralph([]).run().stdout,
        status.stdout,
        "`ralph` alone says the same, again and again"
    );
    assert!(status.stdout.lines().count() < 24, "one screen");
}

#[test]
fn a_look_moves_the_mark_and_a_program_does_not() {
    let env = night();
    let first = env.ok(["status"]);
    env.ok(["status", "--json"]);
    assert_eq!(env.ok(["status"]), first, "neither a pipe nor a program has seen it");
    assert_eq!(env.ok(["status", "--seen"]), first);
    assert_snapshot!(env.ralph(["status"]).run(), @r#"
    exit 0
    --- stdout
    Project  [TMP]/project
    Since    you last looked, just now: nothing new
    Run      run-00000abc (all tasks) ended 1 hour ago: The limit of 2 iterations was reached.
    Waiting  1 task waits for you
               t-8eec67  Draw the colours
                 The gate `cargo test` refused it:
    Tasks    1 open, 1 failed, 1 done
    Notes    1 memory in .agent/memories.md (1 context)
    Next     ralph task show t-8eec67    # why it failed; `ralph task reset` opens it again
    "#);
    let at_terminal = night();
    let shown = at_terminal
        .sh("script -qec '\"$RALPH\"' /dev/null")
        .env("TERM", "xterm")
        .run();
    assert!(shown.stdout.contains("the beginning: 2 iterations"), "{shown}");
    assert!(
        at_terminal
            .ok(["status"])
            .contains("you last looked, just now: nothing new")
    );
}

#[test]
fn json_has_all_of_it() {
    let env = night();
    let status = json(&env, &["status", "--json"]);
    assert_eq!(status["last_look"], serde_json::Value::Null);
    assert_eq!(status["next"], "ralph task show t-8eec67");
    assert_eq!(
        status["notes"],
        serde_json::json!({ "memories": 1, "guardrails": 0, "knowledge": 0 })
    );
    let runs = &status["runs"];
    assert_eq!(runs["done"][0]["id"], "t-025cc1");
    assert_eq!(
        runs["failed"][0]["reason"],
        "The gate `cargo test` refused it:\n1 test failed"
    );
    assert_eq!(runs["waiting"][0]["attempts"], 1);
    assert_eq!(runs["outcomes"], serde_json::json!({ "done": 1, "retried": 1 }));
    assert_eq!(
        runs["tasks"],
        serde_json::json!({ "pending": 1, "done": 1, "failed": 1 })
    );
    assert_eq!(
        (&runs["cost_usd"], &runs["input_tokens"]),
        (&serde_json::json!(0.25), &serde_json::json!(2000))
    );
    assert_eq!(runs["last"]["end_reason"], "The limit of 2 iterations was reached.");
    assert_eq!(runs["open"], serde_json::json!([]));
}

#[test]
fn a_run_that_goes_on_or_was_cut_off_is_told() {
    let env = env();
    env.ok(["task", "add", "Parse the colours"]);
    begin(&mut store(&env));
    let shown = env.ok(["status"]);
    assert!(
        shown.contains("Run      run-00000abc (all tasks) was cut off; its last sign was 2 hours ago\n"),
        "{shown}"
    );
    store(&env)
        .heartbeat(&run_id(), std::time::Duration::from_secs(1), before(10))
        .unwrap();
    let shown = env.ok(["status"]);
    assert!(
        shown.contains("Run      run-00000abc (all tasks) goes on; it began 2 hours ago\n"),
        "{shown}"
    );
    assert!(
        shown.ends_with("Next     ralph journal list    # what the run has done so far\n"),
        "{shown}"
    );
}

#[test]
fn long_notes_are_counted_where_they_lie() {
    let env = env();
    env.write(".ralph/knowledge/colours.md", "x");
    env.write(".ralph/knowledge/forms.md", "x");
    env.write(".ralph/knowledge/.forms.md.ralph-old", "x");
    env.write(".ralph/knowledge/picture.png", "x");
    let shown = env.ok(["status"]);
    assert!(shown.contains("Notes    2 long notes in .ralph/knowledge\n"), "{shown}");
    assert_eq!(json(&env, &["status", "--json"])["notes"]["knowledge"], 2);
}

#[test]
fn without_a_database_nothing_is_made_and_a_broken_one_is_said() {
    let env = env();
    assert_eq!(
        json(&env, &["status", "--json", "--seen"])["runs"],
        serde_json::Value::Null
    );
    assert_eq!(names(&env), [""; 0]);
    env.write(DATABASE, "no database");
    let shown = env.ralph(["status"]).run();
    assert_snapshot!(shown, @r#"
    exit 0
    --- stdout
    Project  [TMP]/project
    Notes    none yet
    Next     ralph init    # set this project up
    --- stderr
    Warning: What runs have done is not shown: [TMP]/project/.ralph/progress.db is not an SQLite database.
    "#);
}
