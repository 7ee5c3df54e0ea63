//! Runs, settlement and the outbox, through the store's methods on a database on disk.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use jiff::Timestamp;
use ralph_model::{
    CapturedKnowledge, CapturedLearning, Entropy, EntryKind, ErrorCategory, Evidence, FailureReport, Injection,
    InjectionReason, LearningId, NewJournalRow, NewTask, Outcome, RunId, StopReason, TaskId, TaskStatus, TextFeatures,
    Tokens, Usage,
};
use ralph_testkit::journal_row;

mod feedback;
mod learning_care;
mod learning_faults;
mod learnings;
mod overview;
mod paraphrase;
mod pauses;
mod review;
mod runs;
mod settlement;
mod stats;
mod unverified;

const RUN: u64 = 0xabc;
const LEASE: Duration = Duration::from_secs(120);

/// A test database with one task.
struct Bench {
    _folder: tempfile::TempDir,
    store: Store,
    tasks: u64,
}

/// Entropy that always returns the same bits.
struct FixedEntropy(u64);

impl Entropy for FixedEntropy {
    fn next_bits(&mut self) -> u64 {
        self.0
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_750_000_000 + second).unwrap()
}

fn task() -> TaskId {
    TaskId::new(1)
}

fn run_id() -> RunId {
    RunId::new(RUN)
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        let mut bench = Self {
            _folder: folder,
            store,
            tasks: 0,
        };
        assert_eq!(bench.add_task("Parse the colours"), task());
        bench.begin(&run_id(), "");
        bench
    }

    fn add_task(&mut self, title: &str) -> TaskId {
        self.tasks += 1;
        let new = NewTask::titled(title);
        self.store
            .add_task(&new, &mut FixedEntropy(self.tasks), at(0))
            .unwrap()
            .id
    }

    fn begin(&mut self, run: &RunId, worktree: &str) {
        let run = NewRun {
            id: run.clone(),
            agent: "command".to_owned(),
            goal: "all tasks".to_owned(),
            worktree: worktree.to_owned(),
            branch: Some("main".to_owned()),
            commit: None,
            process: RunProcess {
                host: "here".to_owned(),
                pid: 7,
                started: u64::MAX,
            },
            started_at: at(0),
        };
        self.store.begin_run(&run).unwrap();
        let read = self.store.run(&run.id).unwrap().unwrap();
        assert_eq!((read.begun, read.heartbeat, read.ended), (run, at(0), None));
    }

    /// Claims the task for a run; returns the fencing token.
    fn claim(&mut self, run: &RunId, iteration: u32) -> u64 {
        let request = ClaimRequest {
            run,
            iteration,
            scope: &Scope::Task(task()),
            worktree: "",
            commits_here: &BTreeSet::new(),
            marker: "word",
            lease: LEASE,
            verifier: None,
            pause_policy: PausePolicy::Respect,
            now: at(1),
        };
        match self.store.claim_next(&request).unwrap() {
            ClaimAnswer::Claimed(claim) => claim.fence,
            other => panic!("{other:?}"),
        }
    }

    /// Claims the task and starts an agent on it.
    fn start(&mut self, run: &RunId, iteration: u32) -> u64 {
        let fence = self.claim(run, iteration);
        self.store.record_start(run, &start(&injections())).unwrap();
        self.store.record_agent(run, 99, 1 << 60).unwrap();
        fence
    }

    fn sql(&self, sql: &str) {
        self.store.connection.execute_batch(sql).unwrap();
    }

    fn number(&self, sql: &str) -> i64 {
        self.store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn texts(&self, sql: &str) -> Vec<String> {
        let mut statement = self.store.connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    /// Status, retries and whether the task is claimed.
    fn task(&self) -> (TaskStatus, u32, bool) {
        let task = self.store.task(&task()).unwrap().unwrap();
        (task.status, task.retries_used, task.claimed_by.is_some())
    }
}

fn injections() -> Vec<Injection> {
    ["mem-1-aaaa", "mem-2-bbbb"]
        .map(|id| Injection {
            kind: EntryKind::Memory,
            id: id.to_owned(),
            digest: u64::MAX,
            section: "# Memories".to_owned(),
            rank: 1,
            tokens: Tokens(12),
            score: Some(0.5),
            reason: InjectionReason::Shown,
        })
        .to_vec()
}

fn start(injections: &[Injection]) -> Start<'_> {
    Start {
        model: Some("small"),
        rationale: "the middle of the ladder",
        before: "{}",
        dirty: None,
        prompt_sha256: Some("ab12"),
        injections,
        at: at(2),
    }
}

fn settlement(outcome: Outcome, fence: u64) -> Settlement {
    let row = NewJournalRow {
        task: Some(task()),
        task_title: "Parse the colours".to_owned(),
        outcome,
        stop: StopReason::NoSigil,
        reason: "the agent said nothing about the task.".to_owned(),
        model: Some("small".to_owned()),
        model_rationale: "the middle of the ladder".to_owned(),
        duration_ms: 1500,
        usage: Usage {
            cost_usd: 0.25,
            input_tokens: 100,
            output_tokens: 20,
        },
        files_modified: vec!["src/a \"b\".rs".to_owned()],
        created_at: at(10),
        ..journal_row(run_id(), 1)
    };
    Settlement {
        task: TaskChange::Attempt { max_retries: 1 },
        ..Settlement::new(row, fence)
    }
}

fn done_task() -> TaskChange {
    TaskChange::Done {
        commit: None,
        unverified: None,
    }
}

fn learning(category: &str) -> CapturedLearning {
    CapturedLearning {
        category: category.to_owned(),
        tags: vec!["colour".to_owned()],
        content: format!("about {category}"),
    }
}

/// A settlement with everything that an agent can report.
fn full(fence: u64) -> Settlement {
    Settlement {
        report: Some(FailureReport {
            what_tried: "a table".to_owned(),
            why_failed: "too slow".to_owned(),
            category: ErrorCategory::TestFailure,
            relevant_files: vec!["src/a.rs".to_owned()],
            error_output: None,
            origin: ralph_model::ReportOrigin::Agent,
            gate: None,
        }),
        suggestion: Some("try a map".to_owned()),
        learnings: ["pitfall", "code_structure", "tool_usage", "never heard of"]
            .into_iter()
            .map(|category| (LearningId::new(5), learning(category)))
            .collect(),
        knowledge: vec![CapturedKnowledge {
            title: "Colours".to_owned(),
            tags: vec!["colour".to_owned()],
            feature: None,
            body: "They are hex.".to_owned(),
        }],
        memory_used: vec!["mem-2-bbbb".to_owned(), "mem-9-none".to_owned()],
        baseline: Some("[1]".to_owned()),
        ..settlement(Outcome::Failed, fence)
    }
}
