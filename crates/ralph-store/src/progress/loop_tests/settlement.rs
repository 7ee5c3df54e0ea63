//! Settlement: everything that an iteration leaves is stored in one transaction, or nothing.

use proptest::prelude::*;

use super::*;
use crate::FactKind;

#[test]
fn settlement_stores_everything() {
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
            signature: left.signature,
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
            "learn-00000005 antipattern 0.0 0.5 validated [\"run-00000abc\"]",
            "learn-00000006 convention 1.0 0.5 validated [\"run-00000abc\"]",
            "learn-00000007 strategy 1.0 0.5 validated [\"run-00000abc\"]",
            "learn-00000008 strategy 1.0 0.5 validated [\"run-00000abc\"]",
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
        ["Attempt 1 (run-00000abc): failed: the agent said nothing about the task. Next: retry 1 of 1."]
    );
    let [file] = bench.store.outbox("").unwrap().try_into().unwrap();
    assert_eq!(file.knowledge, full(fence).knowledge[0]);
    assert_eq!((file.staged, file.created_at), (None, at(10)));
    assert_eq!(bench.store.outbox("another").unwrap(), []);
}

#[test]
fn claimed_task_is_settled_despite_foreign_status_change() {
    for status in ["done", "failed", "pending"] {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        bench
            .store
            .connection
            .execute("UPDATE tasks SET status = ?1", [status])
            .unwrap();
        let settled = bench.store.settle(&full(fence)).unwrap();
        assert_eq!(settled.task, Some(TaskStatus::Pending), "{status}");
        assert_eq!(bench.task(), (TaskStatus::Pending, 1, false), "{status}");
    }
}

#[test]
fn an_iteration_is_settled_once() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let first = bench.store.settle(&full(fence)).unwrap();
    let mut again = full(fence);
    again.row.outcome = Outcome::Done;
    again.task = done_task();
    let second = bench.store.settle(&again).unwrap();
    assert_eq!((second.journal, second.task), (first.journal, None));
    assert_eq!(bench.task().0, TaskStatus::Pending);
    for table in ["journal", "failure_reports", "outbox"] {
        assert_eq!(bench.number(&format!("SELECT count(*) FROM {table}")), 1, "{table}");
    }
}

#[test]
fn failed_settlement_changes_nothing() {
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
            "fact_changes",
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
fn lost_claim_still_writes_the_journal() {
    // Cases: claimed by another run since; reset, failed or deleted by a person.
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
fn iteration_of_dead_run_is_settled_until_task_is_reclaimed() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    assert_eq!(bench.store.free_dead_claims(&|_| Some(false), at(3)).unwrap(), [task()]);
    let settled = bench.store.settle(&full(fence)).unwrap();
    assert_eq!(settled.task, Some(TaskStatus::Pending));
    assert_eq!(bench.task(), (TaskStatus::Pending, 1, false));
}

#[test]
fn done_task_unblocks_its_dependents() {
    let mut bench = Bench::new();
    bench.tasks += 1;
    let mut later = NewTask::titled("Use the colours");
    later.after = vec![task()];
    let later = bench
        .store
        .add_task(&later, &mut FixedEntropy(bench.tasks), at(0))
        .unwrap();
    assert_eq!(later.status, TaskStatus::Blocked);
    let fence = bench.start(&run_id(), 1);
    let mut done = settlement(Outcome::Done, fence);
    done.task = done_task();
    bench.store.settle(&done).unwrap();
    assert_eq!(
        bench.store.task(&later.id).unwrap().unwrap().status,
        TaskStatus::Pending
    );
}

#[test]
fn cut_reason_gets_no_full_stop() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let mut settlement = settlement(Outcome::Failed, fence);
    settlement.row.reason = "word ".repeat(400);
    bench.store.settle(&settlement).unwrap();
    let [log] = bench
        .texts("SELECT text FROM task_log ORDER BY seq DESC LIMIT 1")
        .try_into()
        .unwrap();
    assert!(log.contains("word… Next: "), "{log}");
}

/// Settles an iteration; returns the task's status and used retries.
fn go(bench: &mut Bench, iteration: u32, outcome: Outcome, task: TaskChange) -> (TaskStatus, u32) {
    let fence = bench.start(&run_id(), iteration);
    let mut settlement = settlement(outcome, fence);
    settlement.row.iteration = iteration;
    settlement.task = task;
    let settled = bench.store.settle(&settlement).unwrap().task.unwrap();
    assert_eq!(settled, bench.task().0);
    assert!(!bench.task().2);
    (settled, bench.task().1)
}

#[test]
fn task_overrides_the_retry_limit() {
    let mut bench = Bench::new();
    let update = crate::TaskUpdate {
        max_retries: Some(2),
        ..crate::TaskUpdate::default()
    };
    bench.store.update_task(&task(), &update, at(11)).unwrap();
    for (iteration, expected) in [
        (1, TaskStatus::Pending),
        (2, TaskStatus::Pending),
        (3, TaskStatus::Failed),
    ] {
        let none = TaskChange::Attempt { max_retries: 0 };
        assert_eq!(
            go(&mut bench, iteration, Outcome::Failed, none).0,
            expected,
            "{iteration}"
        );
    }
}

#[test]
fn attempts_count_until_retries_are_used_up() {
    let mut bench = Bench::new();
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
        go(
            &mut bench,
            4,
            Outcome::Done,
            TaskChange::Done {
                commit,
                unverified: None
            }
        ),
        (TaskStatus::Done, 0)
    );
    assert_eq!(
        bench.texts("SELECT done_worktree || done_commit FROM tasks"),
        ["c0ffee"]
    );
    bench.store.reset_task(&task(), Reach::Itself, at(11)).unwrap();
    assert_eq!(
        go(&mut bench, 5, Outcome::Failed, TaskChange::GiveUp),
        (TaskStatus::Failed, 1)
    );
    let log = bench.texts(
        "SELECT substr(text, instr(text, 'task') + 6) FROM task_log
         WHERE text LIKE 'Attempt%' ORDER BY seq",
    );
    assert_eq!(
        log,
        [
            "Next: retry 1 of 1.",
            "Open again; the attempt does not count.",
            "No retries left; needs attention.",
            "Done in commit c0ffee.",
            "No retries left; needs attention.",
        ]
    );
}

#[test]
fn failed_task_with_new_subtasks_stays_open() {
    for max_retries in [0, 3] {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        bench.tasks += 1;
        let mut part = NewTask::titled("Parse red");
        part.parent = Some(task());
        bench
            .store
            .add_task(&part, &mut FixedEntropy(bench.tasks), at(5))
            .unwrap();
        let mut failed = settlement(Outcome::Failed, fence);
        failed.task = TaskChange::Attempt { max_retries };
        assert_eq!(
            bench.store.settle(&failed).unwrap().task,
            Some(TaskStatus::Pending),
            "{max_retries}"
        );
        let log = bench.texts("SELECT text FROM task_log WHERE text LIKE 'Attempt%'");
        assert_eq!(
            log,
            [
                "Attempt 1 (run-00000abc): failed: the agent said nothing about the task. Its status now follows from its subtasks."
            ],
            "{max_retries}"
        );
    }
}

#[test]
fn report_is_always_kept_and_suggestion_unless_done() {
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
        let [text] = bench
            .store
            .search_texts(FactKind::Journal, &[settled.journal])
            .unwrap()
            .try_into()
            .unwrap();
        for words in ["rgb() form", "größer", "colour"] {
            assert!(text.text.contains(words), "{outcome}: {text:?}");
        }
        assert_eq!(bench.number("SELECT max(id) FROM journal"), settled.journal);
    }
}

#[test]
fn fault_1_guidance_is_added_to_the_task_and_its_log_and_never_rewritten() {
    let mut bench = Bench::new();
    let update = crate::TaskUpdate {
        description: Some("All of them.".to_owned()),
        ..crate::TaskUpdate::default()
    };
    bench.store.update_task(&task(), &update, at(0)).unwrap();
    for (iteration, text) in [(1, "use rgb()\nand no names"), (2, "faster")] {
        let fence = bench.start(&run_id(), iteration);
        let mut settlement = settlement(Outcome::Interrupted, fence);
        settlement.row.iteration = iteration;
        settlement.task = TaskChange::Again;
        settlement.guidance = Some(text.to_owned());
        bench.store.settle(&settlement).unwrap();
        // A settled iteration is left unchanged.
        bench.store.settle(&settlement).unwrap();
    }
    let read = bench.store.task(&task()).unwrap().unwrap();
    assert_eq!(
        read.description,
        "All of them.\n\nGuidance (2025-06-15 15:06 UTC):\nuse rgb()\nand no names\n\n\
         Guidance (2025-06-15 15:06 UTC):\nfaster"
    );
    assert_eq!((read.status, read.retries_used), (TaskStatus::Pending, 0));
    let log = bench.store.task_log(&task()).unwrap();
    let said: Vec<&str> = log
        .iter()
        .map(|line| line.text.as_str())
        .filter(|text| text.starts_with("Guidance"))
        .collect();
    assert_eq!(said, ["Guidance: use rgb()\nand no names", "Guidance: faster"]);
}

#[test]
fn guidance_is_kept_even_if_the_claim_is_lost() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    bench.sql("UPDATE tasks SET fence = fence + 1");
    let mut settlement = settlement(Outcome::Interrupted, fence);
    settlement.guidance = Some("use rgb()".to_owned());
    assert_eq!(bench.store.settle(&settlement).unwrap().task, None);
    let read = bench.store.task(&task()).unwrap().unwrap();
    assert_eq!(read.description, "Guidance (2025-06-15 15:06 UTC):\nuse rgb()");
}

#[test]
fn guidance_is_recorded_before_settlement() {
    let mut bench = Bench::new();
    bench.start(&run_id(), 1);
    assert!(
        bench.store.record_guidance(&run_id(), "{}").is_err(),
        "the turn goes on"
    );
    bench.store.record_end(&run_id(), "first", None).unwrap();
    bench.store.record_guidance(&run_id(), "with guidance").unwrap();
    let left = bench.store.unfinished("", &RunId::new(1)).unwrap();
    let Phase::Ended { end, .. } = &left[0].phase else {
        panic!("{left:?}")
    };
    assert_eq!(end, "with guidance");
}

#[test]
fn written_files_leave_the_outbox() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    bench.store.settle(&full(fence)).unwrap();
    let id = bench.store.outbox("").unwrap()[0].id;
    bench.store.outbox_staged(id, "text").unwrap();
    assert_eq!(bench.store.outbox("").unwrap()[0].staged.as_deref(), Some("text"));
    bench.store.outbox_done(id).unwrap();
    bench.store.outbox_staged(id, "text").unwrap();
    assert_eq!(bench.store.outbox("").unwrap(), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn agent_texts_are_stored_unchanged(text in "\\PC*|(\\p{Any}){0,60}", tokens in any::<u64>()) {
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

#[test]
fn entry_is_found_by_its_failure_reason() {
    let text_of = |bench: &Bench, journal: i64| {
        let texts = bench.store.search_texts(FactKind::Journal, &[journal]).unwrap();
        texts.into_iter().map(|text| text.text).collect::<String>()
    };
    for (outcome, suggestion_is_found) in [(Outcome::Failed, true), (Outcome::Done, false)] {
        let mut bench = Bench::new();
        let fence = bench.start(&run_id(), 1);
        let mut settlement = settlement(outcome, fence);
        settlement.row.reason = "The gate `make test:unit` failed (exit code 2):\nlinker not found".to_owned();
        settlement.quoted = "linker not found".to_owned();
        settlement.suggestion = Some("Vendor the archive.".to_owned());
        let journal = bench.store.settle(&settlement).unwrap().journal;
        let text = text_of(&bench, journal);
        // Ralph's own sentence is in many entries and does not find one.
        assert!(text.contains("linker") && !text.contains("gate"), "{text}");
        assert_eq!(text.contains("Vendor"), suggestion_is_found, "{outcome}");
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
        origin: ralph_model::ReportOrigin::Agent,
        gate: None,
    });
    let journal = bench.store.settle(&settlement).unwrap().journal;
    let text = text_of(&bench, journal);
    for word in ["openssl", "Certificates", "handshake", "Vendor"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn repeated_learning_is_stored_once() {
    let mut bench = Bench::new();
    for iteration in [1, 2] {
        let fence = bench.start(&run_id(), iteration);
        let mut settlement = settlement(Outcome::Interrupted, fence);
        settlement.row.iteration = iteration;
        settlement.task = TaskChange::Again;
        settlement.learnings = vec![(LearningId::new(u64::from(iteration)), learning("pitfall"))];
        let settled = bench.store.settle(&settlement).unwrap();
        // Both iterations are sources.
        assert_eq!(
            bench.store.captures(settled.journal).unwrap().learnings.len(),
            1,
            "{iteration}"
        );
        assert_eq!(bench.store.learnings().unwrap().len(), 1, "{iteration}");
    }
}

#[test]
fn settlement_empties_the_log_unless_a_reader_is_open() {
    let mut bench = Bench::new();
    let log = crate::open::log_path(&bench.store.path);
    let length = || std::fs::metadata(&log).unwrap().len();
    let fence = bench.start(&run_id(), 1);
    assert!(length() > 0);
    bench.store.settle(&settlement(Outcome::Blocked, fence)).unwrap();
    assert_eq!(length(), 0);
    let reader = Store::open_existing(&bench.store.path, Wait::Long).unwrap().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert!(reader.run(&run_id()).unwrap().is_some());
    let fence = bench.start(&run_id(), 2);
    bench
        .store
        .settle(&Settlement::new(journal_row(run_id(), 2), fence))
        .unwrap();
    assert!(length() > 0);
    drop(snapshot);
}

#[test]
fn excused_attempt_is_forgotten_on_reset() {
    let mut bench = Bench::new();
    let excused_attempt = |bench: &mut Bench, attempt| {
        let fence = bench.start(&run_id(), attempt);
        let mut excused = settlement(Outcome::Interrupted, fence);
        excused.row.iteration = attempt;
        excused.row.attempt = attempt;
        excused.row.stop = StopReason::TaskDone;
        excused.task = TaskChange::Again;
        bench.store.settle(&excused).unwrap();
    };
    excused_attempt(&mut bench, 1);
    assert!(bench.store.had_excused_attempt(&task()).unwrap());
    bench.store.reset_task(&task(), Reach::Itself, at(2)).unwrap();
    assert!(!bench.store.had_excused_attempt(&task()).unwrap());
    excused_attempt(&mut bench, 2);
    assert!(bench.store.had_excused_attempt(&task()).unwrap());
}
