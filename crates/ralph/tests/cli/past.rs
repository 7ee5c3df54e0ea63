//! Creates projects with a history: tasks with iterations, as a run records them.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{Captured, Difficulty, Injection, LearningId, NewJournalRow, Outcome, RunId, Signature, Usage};
use ralph_search::task_type_of;
use ralph_store::{Claim, ClaimAnswer, ClaimRequest, NewRun, RunProcess, Scope, Settlement, Start, Store, TaskChange};
use ralph_testkit::{TestEnv, journal_row};

use crate::DATABASE;

/// The properties of an iteration.
pub(crate) struct Worked<'a> {
    pub(crate) task: &'a str,
    pub(crate) outcome: Outcome,
    pub(crate) reason: &'a str,
    pub(crate) notes: Option<&'a str>,
    /// The entries in the prompt and those left out.
    pub(crate) injections: &'a [Injection],
    /// The entries the agent relied on.
    pub(crate) used: &'a [&'a str],
    pub(crate) captured: Captured,
    /// Identifies equal failures.
    pub(crate) signature: Option<u64>,
    /// The requested model.
    pub(crate) model: &'a str,
    /// The difficulty reported by the agent.
    pub(crate) difficulty: Option<Difficulty>,
    /// How often an unfinished task may be retried.
    pub(crate) max_retries: u32,
}

impl Default for Worked<'_> {
    fn default() -> Self {
        Self {
            task: "",
            outcome: Outcome::Done,
            reason: "",
            notes: None,
            injections: &[],
            used: &[],
            captured: Captured::default(),
            signature: None,
            model: "sonnet",
            difficulty: None,
            max_retries: 3,
        }
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_737_367_200 + second).unwrap()
}

/// Records one iteration for each task in one run, and returns the database.
pub(crate) fn work(env: &TestEnv, run: u64, iterations: &[Worked<'_>]) -> Store {
    let (mut store, run) = begin(env, run, "here");
    for (iteration, worked) in (1..).zip(iterations) {
        iterate(&mut store, &run, iteration, worked);
    }
    store
}

/// Claims a task for a run whose process has ended, on this host.
pub(crate) fn claim(env: &TestEnv, run: u64, task: &str, host: &str) {
    let (mut store, run) = begin(env, run, host);
    claimed(&mut store, &run, 1, task);
}

/// Begins a run without iterations.
pub(crate) fn begin(env: &TestEnv, run: u64, host: &str) -> (Store, RunId) {
    let mut store = Store::open_or_create(&env.path(DATABASE)).unwrap();
    let run = RunId::new(run);
    let begun = NewRun {
        id: run.clone(),
        agent: "command".to_owned(),
        goal: "all tasks".to_owned(),
        worktree: String::new(),
        branch: None,
        commit: None,
        process: RunProcess {
            host: host.to_owned(),
            pid: 7,
            started: 1,
        },
        started_at: at(0),
    };
    store.begin_run(&begun).unwrap();
    (store, run)
}

fn claimed(store: &mut Store, run: &RunId, iteration: u32, task: &str) -> Claim {
    let request = ClaimRequest {
        run,
        iteration,
        scope: &Scope::Task(store.find_task(task).unwrap()),
        worktree: "",
        commits_here: &BTreeSet::new(),
        marker: "word",
        lease: Duration::from_secs(1 << 30),
        verifier: None,
        pause_policy: ralph_store::PausePolicy::Respect,
        now: at(1),
    };
    let ClaimAnswer::Claimed(claim) = store.claim_next(&request).unwrap() else {
        panic!("{task} cannot be claimed")
    };
    *claim
}

fn iterate(store: &mut Store, run: &RunId, iteration: u32, worked: &Worked<'_>) {
    let claim = claimed(store, run, iteration, worked.task);
    let start = Start {
        model: Some(worked.model),
        rationale: "the middle of the ladder",
        before: "{}",
        prompt_sha256: None,
        dirty: None,
        injections: worked.injections,
        at: at(2),
    };
    store.record_start(run, &start).unwrap();
    let title = claim.task.title;
    let row = NewJournalRow {
        task: Some(claim.task.id),
        task_title: title.clone(),
        attempt: claim.attempt,
        outcome: worked.outcome,
        reason: worked.reason.to_owned(),
        model: Some(worked.model.to_owned()),
        model_rationale: "the middle of the ladder".to_owned(),
        duration_ms: 83_450,
        usage: Usage {
            cost_usd: 0.25,
            input_tokens: 1000,
            output_tokens: 20,
        },
        files_modified: vec![format!("src/part_{iteration}.rs")],
        notes: worked.notes.map(str::to_owned),
        difficulty: worked.difficulty,
        task_type: task_type_of(&title, ""),
        malformed_sigils: worked.captured.malformed,
        created_at: at(i64::from(iteration) * 86_400),
        ..journal_row(run.clone(), iteration)
    };
    let settlement = Settlement {
        task: match worked.outcome {
            Outcome::Done => TaskChange::Done {
                commit: None,
                unverified: None,
            },
            _ => TaskChange::Attempt {
                max_retries: worked.max_retries,
            },
        },
        quoted: worked
            .reason
            .split_once('\n')
            .map_or("", |(_, output)| output)
            .to_owned(),
        report: worked.captured.failure.clone(),
        signature: worked.signature.map(Signature::new),
        suggestion: worked.captured.retry_suggestion.clone(),
        learnings: (1..)
            .map(LearningId::new)
            .zip(worked.captured.learnings.clone())
            .collect(),
        knowledge: worked.captured.knowledge.clone(),
        memory_used: worked.used.iter().map(|id| (*id).to_owned()).collect(),
        ..Settlement::new(row, claim.fence)
    };
    store.settle(&settlement).unwrap();
}

/// Adds a task and returns its id.
#[track_caller]
pub(crate) fn task(env: &TestEnv, title: &str) -> String {
    env.ok(["task", "add", title]).trim_end().to_owned()
}
