//! Runs, settlement and the outbox, through the store's methods on a database on disk.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use jiff::Timestamp;
use proptest::prelude::*;
use ralph_model::{
    CapturedKnowledge, CapturedLearning, Entropy, EntryKind, ErrorCategory, FailureReport, Injection, InjectionReason,
    LearningId, NewJournalRow, NewTask, Outcome, RunId, StopReason, TaskId, TaskStatus, Tokens, Usage,
};

const RUN: u64 = 0xabc;
const LEASE: Duration = Duration::from_secs(120);

/// A database of its own, with one task.
struct Bench {
    _folder: tempfile::TempDir,
    store: Store,
    tasks: u64,
}

/// The same bits again and again.
struct Same(u64);

impl Entropy for Same {
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
        self.store.add_task(&new, &mut Same(self.tasks), at(0)).unwrap().id
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

    /// Claims the task for a run; the fence is the answer.
    fn claim(&mut self, run: &RunId, iteration: u32) -> u64 {
        let request = ClaimRequest {
            run,
            iteration,
            scope: &Scope::Task(task()),
            worktree: "",
            commits_here: &BTreeSet::new(),
            marker: "word",
            lease: LEASE,
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

    /// Status, retries and whether anybody holds the task.
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
        injections,
        at: at(2),
    }
}

fn settlement(outcome: Outcome, fence: u64) -> Settlement {
    Settlement {
        row: NewJournalRow {
            run: run_id(),
            iteration: 1,
            task: Some(task()),
            task_title: "Parse the colours".to_owned(),
            feature: None,
            attempt: 1,
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
            changed_nothing: false,
            notes: None,
            difficulty: None,
            error_category: None,
            malformed_sigils: 0,
            created_at: at(10),
        },
        fence,
        worktree: String::new(),
        task: TaskChange::Attempt { max_retries: 1 },
        report: None,
        suggestion: None,
        learnings: Vec::new(),
        knowledge: Vec::new(),
        memory_used: Vec::new(),
        baseline: None,
    }
}

fn learning(category: &str) -> CapturedLearning {
    CapturedLearning {
        category: category.to_owned(),
        tags: vec!["colour".to_owned()],
        content: format!("about {category}"),
    }
}

/// A settlement with everything that an agent can leave.
fn full(fence: u64) -> Settlement {
    Settlement {
        report: Some(FailureReport {
            what_tried: "a table".to_owned(),
            why_failed: "too slow".to_owned(),
            category: ErrorCategory::TestFailure,
            relevant_files: vec!["src/a.rs".to_owned()],
            error_output: None,
        }),
        suggestion: Some("try a map".to_owned()),
        learnings: ["pitfall", "code_structure", "tool_usage", "never heard of"]
            .into_iter()
            .map(|category| (LearningId::new(5), learning(category)))
            .collect(),
        knowledge: vec![CapturedKnowledge {
            title: "Colours".to_owned(),
            tags: vec!["colour".to_owned()],
            body: "They are hex.".to_owned(),
        }],
        memory_used: vec!["mem-2-bbbb".to_owned(), "mem-9-none".to_owned()],
        baseline: Some("[1]".to_owned()),
        ..settlement(Outcome::Failed, fence)
    }
}

/// A commit is on disk before it is done again, whatever became of one that need not be.
#[test]
fn what_need_not_be_on_disk_leaves_nothing_else_so() {
    const FULL: i64 = 2;
    let mut bench = Bench::new();
    let safety = |bench: &Bench| bench.number("PRAGMA synchronous");
    assert_eq!(safety(&bench), FULL);
    assert!(bench.store.record_agent(&run_id(), 99, 1).is_err());
    assert_eq!(safety(&bench), FULL);
    bench.start(&run_id(), 1);
    assert_eq!(safety(&bench), FULL);
}

#[test]
fn everything_that_an_iteration_leaves_is_kept_at_once() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let settled = bench.store.settle(&full(fence)).unwrap();
    assert_eq!(settled.task, Some(TaskStatus::Pending));
    assert_eq!(bench.task(), (TaskStatus::Pending, 1, false));
    assert_eq!(bench.number("SELECT count(*) FROM iterations"), 0);
    let left = full(fence);
    assert_eq!(
        bench.store.captures(settled.journal).unwrap(),
        RowCaptures {
            report: left.report,
            suggestion: left.suggestion,
            learnings: left.learnings.into_iter().map(|(_, learning)| learning).collect(),
            knowledge: left.knowledge,
        }
    );
    assert_eq!(bench.store.captures(99).unwrap(), RowCaptures::default());
    assert_eq!(
        bench.texts("SELECT what_tried || ', ' || category || ', ' || suggestion FROM failure_reports"),
        ["a table, test_failure, try a map"]
    );
    assert_eq!(
        bench.texts(
            "SELECT id || ' ' || kind || ' ' || success_rate || ' ' || confidence || ' ' || status || ' ' || source_loops
             FROM learnings ORDER BY seq"
        ),
        [
            "learn-00000005 antipattern 0.0 0.5 pending [\"run-00000abc\"]",
            "learn-00000006 convention 1.0 0.5 pending [\"run-00000abc\"]",
            "learn-00000007 strategy 1.0 0.5 pending [\"run-00000abc\"]",
            "learn-00000008 strategy 1.0 0.5 pending [\"run-00000abc\"]",
        ],
        "an id that is taken gives way"
    );
    assert_eq!(
        bench.texts("SELECT entry || ' ' || digest || ' ' || reason || ' ' || used FROM injections ORDER BY rowid"),
        ["mem-1-aaaa -1 shown 0", "mem-2-bbbb -1 shown 1"]
    );
    assert_eq!(bench.texts("SELECT baseline FROM runs"), ["[1]"]);
    assert_eq!(
        bench.texts("SELECT text FROM task_log ORDER BY seq DESC LIMIT 1"),
        ["Attempt 1 (run-00000abc): failed: the agent said nothing about the task. It is tried again: retry 1 of 1."]
    );
    let [file] = bench.store.outbox("").unwrap().try_into().unwrap();
    assert_eq!(file.knowledge, full(fence).knowledge[0]);
    assert_eq!((file.staged, file.created_at), (false, at(10)));
    assert_eq!(bench.store.outbox("another").unwrap(), []);
}

#[test]
fn an_iteration_is_settled_once() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let first = bench.store.settle(&full(fence)).unwrap();
    let mut again = full(fence);
    again.row.outcome = Outcome::Done;
    again.task = TaskChange::Done { commit: None };
    let second = bench.store.settle(&again).unwrap();
    assert_eq!((second.journal, second.task), (first.journal, None));
    assert_eq!(bench.task().0, TaskStatus::Pending);
    for table in ["journal", "failure_reports", "outbox"] {
        assert_eq!(bench.number(&format!("SELECT count(*) FROM {table}")), 1, "{table}");
    }
}

#[test]
fn a_settlement_that_fails_leaves_everything_as_it_was() {
    for table in [
        "journal",
        "failure_reports",
        "learnings",
        "injections",
        "outbox",
        "task_log",
    ] {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        bench.sql(&format!(
            "CREATE TRIGGER no BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        ));
        let error = bench.store.settle(&full(fence)).unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        assert_eq!(bench.task(), (TaskStatus::InProgress, 0, true));
        assert_eq!(bench.number("SELECT count(*) FROM iterations"), 1, "{table}");
        for other in [
            "journal",
            "journal_fts",
            "failure_reports",
            "learnings",
            "injections",
            "outbox",
        ] {
            assert_eq!(
                bench.number(&format!("SELECT count(*) FROM {other}")),
                0,
                "{other} after {table}"
            );
        }
        let log = "SELECT count(*) FROM task_log WHERE text LIKE 'Attempt%: failed%'";
        assert_eq!(bench.number(log), 0);
        bench.sql("DROP TRIGGER no");
        bench.store.settle(&full(fence)).unwrap();
    }
}

#[test]
fn a_claim_that_is_no_longer_the_runs_leaves_the_task_alone_and_still_tells_its_story() {
    // Another run has claimed the task since; a person has reset it, or given it up; it is deleted.
    let other = |change: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        bench.store.free_dead_claims(&|_| Some(false), at(3)).unwrap();
        change(&mut bench);
        let before = bench.texts("SELECT status || retries_used || coalesce(claimed_by, '') || fence FROM tasks");
        let settled = bench.store.settle(&full(fence)).unwrap();
        assert_eq!(settled.task, None);
        assert_eq!(
            bench.texts("SELECT status || retries_used || coalesce(claimed_by, '') || fence FROM tasks"),
            before
        );
        assert_eq!(bench.number("SELECT count(*) FROM journal"), 1);
        assert_eq!(bench.store.outbox("").unwrap().len(), 1);
        assert_eq!(bench.number("SELECT count(*) FROM injections"), 2);
        assert_eq!(
            bench.number("SELECT count(*) FROM iterations WHERE run = 'run-00000abc'"),
            0
        );
    };
    other(&|bench| {
        bench.begin(&RunId::new(2), "w");
        bench.claim(&RunId::new(2), 1);
    });
    other(&|bench| drop(bench.store.reset_task(&task(), Reach::Itself, at(3)).unwrap()));
    other(&|bench| drop(bench.store.fail_task(&task(), "no", at(3)).unwrap()));
    other(&|bench| drop(bench.store.delete_task(&task(), at(3)).unwrap()));
}

#[test]
fn a_dead_runs_iteration_is_settled_as_long_as_nobody_else_has_begun_the_task() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    assert_eq!(bench.store.free_dead_claims(&|_| Some(false), at(3)).unwrap(), [task()]);
    let settled = bench.store.settle(&full(fence)).unwrap();
    assert_eq!(settled.task, Some(TaskStatus::Pending));
    assert_eq!(bench.task(), (TaskStatus::Pending, 1, false));
}

#[test]
fn a_task_that_is_done_opens_what_waits_for_it() {
    let mut bench = Bench::new();
    bench.tasks += 1;
    let mut later = NewTask::titled("Use the colours");
    later.after = vec![task()];
    let later = bench.store.add_task(&later, &mut Same(bench.tasks), at(0)).unwrap();
    assert_eq!(later.status, TaskStatus::Blocked);
    let fence = bench.start(&run_id(), 1);
    let mut done = settlement(Outcome::Done, fence);
    done.task = TaskChange::Done { commit: None };
    bench.store.settle(&done).unwrap();
    assert_eq!(
        bench.store.task(&later.id).unwrap().unwrap().status,
        TaskStatus::Pending
    );
}

#[test]
fn attempts_count_until_the_retries_are_used_up() {
    let mut bench = Bench::new();
    let go = |bench: &mut Bench, iteration: u32, outcome, task: TaskChange| {
        let fence = bench.start(&run_id(), iteration);
        let mut settlement = settlement(outcome, fence);
        settlement.row.iteration = iteration;
        settlement.task = task;
        let settled = bench.store.settle(&settlement).unwrap().task.unwrap();
        assert_eq!(settled, bench.task().0);
        assert!(!bench.task().2);
        (settled, bench.task().1)
    };
    let attempt = TaskChange::Attempt { max_retries: 1 };
    assert_eq!(
        go(&mut bench, 1, Outcome::Retried, attempt.clone()),
        (TaskStatus::Pending, 1)
    );
    assert_eq!(
        go(&mut bench, 2, Outcome::Interrupted, TaskChange::Again),
        (TaskStatus::Pending, 1)
    );
    assert_eq!(
        go(&mut bench, 3, Outcome::Blocked, attempt.clone()),
        (TaskStatus::Failed, 2)
    );
    bench.store.reset_task(&task(), Reach::Itself, at(11)).unwrap();
    let commit = Some("c0ffee".to_owned());
    assert_eq!(
        go(&mut bench, 4, Outcome::Done, TaskChange::Done { commit }),
        (TaskStatus::Done, 0)
    );
    assert_eq!(
        bench.texts("SELECT done_worktree || done_commit FROM tasks"),
        ["c0ffee"]
    );
    bench.store.reset_task(&task(), Reach::Itself, at(11)).unwrap();
    let never = TaskChange::Attempt { max_retries: 0 };
    assert_eq!(go(&mut bench, 5, Outcome::Failed, never), (TaskStatus::Failed, 1));
    let log = bench.texts(
        "SELECT substr(text, instr(text, 'task') + 6) FROM task_log
         WHERE text LIKE 'Attempt%' ORDER BY seq",
    );
    assert_eq!(
        log,
        [
            "It is tried again: retry 1 of 1.",
            "It is open as before; the attempt does not count.",
            "Its retries are used up, so it waits for a person.",
            "Done in commit c0ffee.",
            "Its retries are used up, so it waits for a person.",
        ]
    );
}

#[test]
fn a_report_is_kept_however_the_attempt_ended_and_a_suggestion_unless_it_is_done() {
    for (outcome, report, suggestion, kept) in [
        (Outcome::Done, true, true, 1),
        (Outcome::Done, false, true, 0),
        (Outcome::Failed, false, false, 0),
        (Outcome::Retried, true, false, 1),
        (Outcome::Blocked, false, true, 1),
        (Outcome::Interrupted, true, true, 1),
    ] {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        let mut settlement = full(fence);
        settlement.row.outcome = outcome;
        settlement.report = settlement.report.filter(|_| report);
        settlement.suggestion = settlement.suggestion.filter(|_| suggestion);
        bench.store.settle(&settlement).unwrap();
        assert_eq!(bench.number("SELECT count(*) FROM failure_reports"), kept, "{outcome}");
    }
}

#[test]
fn fault_1_every_outcome_is_journaled_and_an_interrupted_ones_words_are_found() {
    for outcome in Outcome::ALL {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        let mut settlement = settlement(*outcome, fence);
        settlement.row.notes = Some("Use the rgb() form, please: größer?".to_owned());
        let settled = bench.store.settle(&settlement).unwrap();
        let found = |words: &str| {
            bench.texts(&format!(
                "SELECT outcome FROM journal WHERE id IN (SELECT rowid FROM journal_fts('{words}'))"
            ))
        };
        assert_eq!(found(&journal_terms("rgb forms")), [outcome.word()]);
        assert_eq!(found(&journal_terms("größer")), [outcome.word()]);
        assert_eq!(
            found(&journal_terms("colour")),
            [outcome.word()],
            "the title is searched too"
        );
        assert_eq!(found("absent"), [""; 0]);
        assert_eq!(bench.number("SELECT max(id) FROM journal"), settled.journal);
    }
}

#[test]
fn a_row_is_found_by_why_it_failed() {
    for (outcome, suggestion_is_found) in [(Outcome::Failed, 1), (Outcome::Done, 0)] {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        let mut settlement = settlement(outcome, fence);
        settlement.row.reason = "The gate `make` was red.\nlinker not found".to_owned();
        settlement.suggestion = Some("Vendor the archive.".to_owned());
        bench.store.settle(&settlement).unwrap();
        let holding = |word: &str| bench.store.journal_rows_holding(&journal_terms(word)).unwrap();
        assert_eq!(["linker", "gates", "spoon"].map(holding), [1, 1, 0]);
        assert_eq!(holding("vendoring"), suggestion_is_found, "{outcome}");
    }
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let mut settlement = settlement(Outcome::Done, fence);
    settlement.suggestion = Some("Vendor the archive.".to_owned());
    settlement.report = Some(FailureReport {
        what_tried: "Upgraded openssl".to_owned(),
        why_failed: "Certificates expired".to_owned(),
        category: ErrorCategory::Unknown,
        relevant_files: Vec::new(),
        error_output: Some("handshake refused".to_owned()),
    });
    bench.store.settle(&settlement).unwrap();
    for word in ["openssl", "certificate", "handshake", "vendor"] {
        let holding = bench.store.journal_rows_holding(&journal_terms(word)).unwrap();
        assert_eq!(holding, 1, "{word}");
    }
}

#[test]
fn the_record_of_an_iteration_grows_with_it() {
    let mut bench = Bench::new();
    let (run, next) = (run_id(), RunId::new(2));
    assert!(
        bench.store.record_start(&run, &start(&[])).is_err(),
        "nothing is claimed"
    );
    let fence = bench.claim(&run, 1);
    assert!(bench.store.record_agent(&run, 1, 1).is_err(), "nothing is started");
    assert!(bench.store.record_end(&run, "{}", None).is_err(), "nothing is started");
    let [record] = bench.store.unfinished("", &next).unwrap().try_into().unwrap();
    assert_eq!(
        (record.phase, record.fence, record.agent),
        (Phase::Claimed, fence, None)
    );
    assert_eq!(bench.store.unfinished("", &run).unwrap(), [], "not one's own");
    assert_eq!(bench.store.unfinished("elsewhere", &next).unwrap(), []);

    bench.store.put_baseline(&run, "[]").unwrap();
    bench.store.record_start(&run, &start(&injections())).unwrap();
    bench.store.record_agent(&run, 99, u64::MAX).unwrap();
    bench.store.record_end(&run, "{\"a\":1}", Some("session-1")).unwrap();
    assert_eq!(bench.texts("SELECT agent_session FROM runs"), ["session-1"]);
    bench.store.record_end(&run, "{\"a\":2}", None).unwrap();
    let [record] = bench.store.unfinished("", &next).unwrap().try_into().unwrap();
    let expected = IterationRecord {
        run: run.clone(),
        iteration: 1,
        task: task(),
        task_title: "Parse the colours".to_owned(),
        feature: None,
        attempt: 1,
        fence,
        phase: Phase::Ended {
            at: at(2),
            end: "{\"a\":1}".to_owned(),
        },
        model: Some("small".to_owned()),
        rationale: "the middle of the ladder".to_owned(),
        marker: "word".to_owned(),
        process: RunProcess {
            host: "here".to_owned(),
            pid: 7,
            started: u64::MAX,
        },
        agent: Some((99, u64::MAX)),
        before: Some("{}".to_owned()),
        baseline: Some("[]".to_owned()),
        injections: injections(),
    };
    assert_eq!(record, expected);
    bench.store.abandon_claim(&run, at(3)).unwrap();
    assert_eq!(
        bench.store.unfinished("", &next).unwrap(),
        [expected],
        "a turn that has ended is settled"
    );
}

#[test]
fn a_claim_without_an_agent_is_taken_back_and_a_run_that_ends_holds_nothing() {
    let mut bench = Bench::new();
    let run = run_id();
    bench.claim(&run, 1);
    bench.store.abandon_claim(&run, at(3)).unwrap();
    assert_eq!(bench.task(), (TaskStatus::Pending, 0, false));
    assert_eq!(bench.number("SELECT count(*) FROM iterations"), 0);
    bench.claim(&run, 1);
    bench.store.heartbeat(&run, LEASE, at(100)).unwrap();
    assert_eq!(
        bench.texts("SELECT lease_until FROM tasks"),
        [rows::moment(at(220))],
        "the claim holds for another lease"
    );
    bench.store.end_run(&run, "The limit was reached.", 4, at(200)).unwrap();
    assert_eq!(bench.task(), (TaskStatus::Pending, 0, false));
    assert_eq!(bench.number("SELECT count(*) FROM iterations"), 0);
    assert_eq!(bench.number("SELECT count(*) FROM journal"), 0);
    let ended = bench.store.run(&run).unwrap().unwrap();
    assert_eq!(ended.ended, Some((at(200), "The limit was reached.".to_owned())));
    assert_eq!(bench.store.recent_runs(5).unwrap(), [ended]);
    assert_eq!(bench.number("SELECT end_code FROM runs"), 4);
}

#[test]
fn a_run_that_ends_in_the_middle_of_a_turn_leaves_it_to_the_next() {
    let mut bench = Bench::new();
    bench.start(&run_id(), 1);
    bench
        .store
        .end_run(&run_id(), "The disk was full.", 1, at(200))
        .unwrap();
    assert_eq!(bench.task(), (TaskStatus::InProgress, 0, true));
    assert_eq!(bench.store.unfinished("", &RunId::new(2)).unwrap().len(), 1);
}

#[test]
fn runs_that_were_killed_are_ended_by_the_next_of_their_worktree() {
    let mut bench = Bench::new();
    bench.start(&run_id(), 1);
    bench.store.heartbeat(&run_id(), LEASE, at(100)).unwrap();
    let (next, elsewhere) = (RunId::new(2), RunId::new(3));
    bench.begin(&next, "");
    bench.begin(&elsewhere, "beside");
    bench.store.end_dead_runs("", &next).unwrap();
    let ended = |run: &RunId| bench.store.run(run).unwrap().unwrap().ended;
    assert_eq!(ended(&run_id()), Some((at(100), "It was killed.".to_owned())));
    assert_eq!((ended(&next), ended(&elsewhere)), (None, None));
    assert_eq!(
        bench.store.unfinished("", &next).unwrap().len(),
        1,
        "what it left is still to be settled"
    );
}

#[test]
fn what_the_gates_could_say_is_known_of_work_that_goes_on() {
    let mut bench = Bench::new();
    let (next, elsewhere) = (RunId::new(2), "beside");
    bench.store.put_baseline(&run_id(), "{}").unwrap();
    let known = |bench: &Bench, worktree: &str, run: &RunId| bench.store.baseline_of_unfinished(worktree, run).unwrap();
    assert_eq!(known(&bench, "", &next), None, "nothing was tried");
    for (iteration, expected) in [(1, Some("{}".to_owned())), (2, None)] {
        let fence = bench.start(&run_id(), iteration);
        let mut settled = settlement(Outcome::Retried, fence);
        (settled.row.iteration, settled.row.attempt) = (iteration, iteration);
        bench.store.settle(&settled).unwrap();
        // With its second attempt it has failed, and waits for a person.
        assert_eq!(known(&bench, "", &next), expected);
        assert_eq!(
            (known(&bench, "", &run_id()), known(&bench, elsewhere, &next)),
            (None, None)
        );
    }
}

#[test]
fn the_outbox_forgets_what_is_written() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    bench.store.settle(&full(fence)).unwrap();
    let id = bench.store.outbox("").unwrap()[0].id;
    bench.store.outbox_staged(id).unwrap();
    assert!(bench.store.outbox("").unwrap()[0].staged);
    bench.store.outbox_done(id).unwrap();
    bench.store.outbox_staged(id).unwrap();
    assert_eq!(bench.store.outbox("").unwrap(), []);
}

#[test]
fn an_overview_tells_what_is_new_since_a_look() {
    let mut bench = Bench::new();
    assert_eq!(bench.store.last_look("").unwrap(), None);
    let fence = bench.start(&run_id(), 1);
    let first = bench.store.settle(&full(fence)).unwrap().journal;
    let seen = Look {
        journal: first,
        at: at(11),
    };
    bench.store.put_look("", &seen).unwrap();
    bench.store.put_look("", &seen).unwrap();
    assert_eq!(bench.store.last_look("").unwrap(), Some(seen));
    assert_eq!(bench.store.last_look("w").unwrap(), None);

    let fence = bench.start(&run_id(), 2);
    let mut second = settlement(Outcome::Blocked, fence);
    second.row.iteration = 2;
    let second = bench.store.settle(&second).unwrap().journal;
    bench.sql("UPDATE tasks SET priority = 1");
    bench.add_task("Given up");
    bench
        .store
        .fail_task(&TaskId::new(2), "Nobody wants it.", at(12))
        .unwrap();
    bench
        .store
        .end_run(&run_id(), "A task waits for a person.", 4, at(20))
        .unwrap();
    bench.begin(&RunId::new(2), "w");

    let news = |id, title: &str, reason: &str, attempts| TaskNews {
        id: TaskId::new(id),
        title: title.to_owned(),
        reason: reason.to_owned(),
        attempts,
    };
    let failed = news(1, "Parse the colours", "the agent said nothing about the task.", 2);
    let overview = bench.store.overview(first, "").unwrap();
    assert_eq!(
        overview,
        Overview {
            last_journal: second,
            outcomes: [(Outcome::Blocked, 1)].into(),
            done: vec![],
            failed: vec![failed.clone()],
            learnings: 0,
            knowledge: 0,
            spent: settlement(Outcome::Done, 0).row.usage,
            duration_ms: 1500,
            open_runs: vec![bench.store.run(&RunId::new(2)).unwrap().unwrap()],
            at_work: vec![],
            last_run: bench.store.run(&run_id()).unwrap(),
            waiting: vec![failed, news(2, "Given up", "Failed: Nobody wants it.", 0)],
            tasks: [(TaskStatus::Failed, 2)].into(),
        }
    );
    let all = bench.store.overview(0, "w").unwrap();
    assert_eq!((all.learnings, all.knowledge, all.spent.tokens()), (4, 1, 240));
    assert_eq!(all.last_run, None, "of another worktree");
}

#[test]
fn an_overview_counts_what_is_said_again_once() {
    let mut bench = Bench::new();
    for (iteration, title) in [(1, "Colours"), (2, "colours "), (3, "Forms")] {
        let fence = bench.start(&run_id(), iteration);
        let mut settlement = settlement(Outcome::Done, fence);
        settlement.row.iteration = iteration;
        settlement.task = TaskChange::Again;
        settlement.learnings = vec![(LearningId::new(u64::from(iteration)), learning("pitfall"))];
        settlement.knowledge = vec![CapturedKnowledge {
            title: title.to_owned(),
            tags: vec!["css".to_owned()],
            body: format!("as of {iteration}"),
        }];
        bench.store.settle(&settlement).unwrap();
    }
    let overview = bench.store.overview(0, "").unwrap();
    assert_eq!((overview.learnings, overview.knowledge), (1, 2));
}

#[test]
fn an_overview_tells_what_a_run_is_at_until_that_is_settled() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let at_work = AtWork {
        run: run_id(),
        task: task(),
        title: "Parse the colours".to_owned(),
        since: at(1),
    };
    assert_eq!(bench.store.overview(0, "").unwrap().at_work, [at_work]);
    bench.store.settle(&settlement(Outcome::Done, fence)).unwrap();
    assert_eq!(bench.store.overview(0, "").unwrap().at_work, []);
}

#[test]
fn a_task_that_was_done_and_deleted_is_still_told_of() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let mut done = settlement(Outcome::Done, fence);
    done.task = TaskChange::Done { commit: None };
    let journal = bench.store.settle(&done).unwrap().journal;
    let titles = |bench: &Bench, since| {
        let done = bench.store.overview(since, "").unwrap().done;
        done.into_iter().map(|news| news.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(&bench, 0), ["Parse the colours"]);
    assert_eq!(titles(&bench, journal), [""; 0]);
    bench.sql("UPDATE tasks SET status = 'pending'");
    assert_eq!(titles(&bench, 0), [""; 0], "it is open again");
    bench.sql("DELETE FROM tasks");
    assert_eq!(titles(&bench, 0), ["Parse the colours"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn what_an_agent_says_is_kept_as_it_is(text in "\\PC*|(\\p{Any}){0,60}", tokens in any::<u64>()) {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        let mut settlement = full(fence);
        settlement.row.notes = Some(text.clone());
        settlement.row.reason.clone_from(&text);
        settlement.row.usage.input_tokens = tokens;
        settlement.knowledge[0].body.clone_from(&text);
        settlement.learnings[0].1.content.clone_from(&text);
        bench.store.settle(&settlement).unwrap();
        prop_assert_eq!(&bench.texts("SELECT notes FROM journal")[0], &text);
        prop_assert_eq!(&bench.texts("SELECT content FROM learnings LIMIT 1")[0], &text);
        prop_assert_eq!(&bench.store.outbox("").unwrap()[0].knowledge.body, &text);
        bench.store.overview(0, "").unwrap();
    }
}
