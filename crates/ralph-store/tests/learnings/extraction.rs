//! Tests of extracting learnings from whole runs.

use ralph_model::config::Promote;
use ralph_model::{
    CapturedLearning, Complexity, EndKind, ErrorCategory, Evidence, ExtractedLearning, Extraction, Facts,
    FailureReport, Learning, LearningId, LearningKind, LearningSource, LearningStatus, NewJournalRow, Outcome, PastEnd,
    PastError, ReportOrigin, RunId, Signature, StopReason, TaskType, TextFeatures, estimate_of,
};
use ralph_store::{Judgement, LearningUpdate, NewRun, RunProcess, Settlement, Taught};
use ralph_testkit::journal_row;

use super::{Bench, day, leap};

pub(crate) fn strategy(content: &str, effectiveness: f64, iterations: u32) -> ExtractedLearning {
    let facts = Facts::Strategy {
        effectiveness,
        iterations,
    };
    ExtractedLearning {
        kind: LearningKind::Strategy,
        task_type: TaskType::TestFix,
        content: content.to_owned(),
        tags: Vec::new(),
        confidence: facts.confidence().unwrap(),
        facts,
        success_rate: effectiveness,
        journal: Vec::new(),
        signatures: Vec::new(),
    }
}

fn antipattern(content: &str, occurrences: u32) -> ExtractedLearning {
    let facts = Facts::Antipattern {
        occurrences,
        impact: Facts::impact_of(occurrences).to_owned(),
        error: None,
    };
    ExtractedLearning {
        kind: LearningKind::Antipattern,
        confidence: facts.confidence().unwrap(),
        facts,
        success_rate: 0.0,
        signatures: vec![Signature::new(7)],
        ..strategy(content, 1.0, 1)
    }
}

fn estimate(sampled: u32) -> ExtractedLearning {
    let facts = Facts::Estimate {
        avg_iteration_time: 45_000.0,
        total_iterations: 1.0,
        complexity: "low".to_owned(),
        success_rate: 1.0,
        sampled,
    };
    ExtractedLearning {
        kind: LearningKind::Estimate,
        confidence: facts.confidence().unwrap(),
        facts,
        ..strategy(&estimate_of(TaskType::TestFix, Complexity::Low.word()), 1.0, 1)
    }
}

fn counts(extracted: u32, validated: u32, rejected: u32, promoted: u32, skipped: u32) -> Extraction {
    Extraction {
        extracted,
        validated,
        rejected,
        promoted,
        known: 0,
        skipped,
    }
}

/// The same with learnings that were promoted before.
fn known(known: u32, counts: Extraction) -> Extraction {
    Extraction { known, ..counts }
}

impl Bench {
    pub(crate) fn teach(&mut self, run: &str, drawn: &[ExtractedLearning], promote: Promote) -> Extraction {
        self.teach_with_features(run, drawn, &[], promote)
    }

    fn teach_with_features(
        &mut self,
        run: &str,
        drawn: &[ExtractedLearning],
        features: &[TextFeatures],
        promote: Promote,
    ) -> Extraction {
        let taught = Taught {
            run,
            drawn,
            features,
            promote,
        };
        self.store.store_extracted(&taught, &mut self.bits, day(1)).unwrap()
    }

    fn only(&self) -> Learning {
        let mut all = self.store.learnings().unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    fn run(&mut self, id: u64) -> RunId {
        let id = RunId::new(id);
        let run = NewRun {
            id: id.clone(),
            agent: "command".to_owned(),
            goal: "Fix the tests".to_owned(),
            worktree: String::new(),
            branch: None,
            commit: None,
            process: RunProcess {
                host: "here".to_owned(),
                pid: 1,
                started: 1,
            },
            started_at: day(1),
        };
        self.store.begin_run(&run).unwrap();
        id
    }
}

#[test]
fn fault_21_repeated_extraction_strengthens_without_duplicates() {
    let mut bench = Bench::new();
    let drawn = [
        strategy("Test-driven development approach", 0.75, 3),
        antipattern("Avoid: Syntax errors - check code carefully before execution", 2),
        estimate(3),
    ];
    assert_eq!(bench.teach("run-1", &drawn, Promote::Auto), counts(3, 3, 0, 3, 0));
    let first = bench.store.learnings().unwrap();
    let again = [
        ExtractedLearning {
            content: "test-driven DEVELOPMENT approach!".to_owned(),
            ..strategy("", 1.0, 6)
        },
        antipattern("Avoid: Syntax errors - check code carefully before execution", 2),
        estimate(1),
    ];
    assert_eq!(
        bench.teach("run-2", &again, Promote::Auto),
        known(3, counts(3, 3, 0, 3, 0))
    );
    assert_eq!(
        bench.teach("run-3", &drawn, Promote::Auto),
        known(3, counts(3, 3, 0, 3, 0))
    );
    let third = bench.store.learnings().unwrap();
    assert_eq!(third.len(), 3, "{third:?}");
    for (before, after) in first.iter().zip(&third) {
        assert_eq!((&before.id, &before.content), (&after.id, &after.content));
        assert!(after.confidence > before.confidence, "{after:?}");
        assert_eq!(after.source_loops, ["run-1", "run-2", "run-3"]);
    }
    assert_eq!(
        third[0].facts,
        Some(Facts::Strategy {
            effectiveness: 12.0 / 14.0,
            iterations: 12
        })
    );
    assert!((third[0].success_rate - 12.0 / 14.0).abs() < 1e-9);
    assert!(third[0].confidence <= 0.9 && third[2].confidence <= 0.9);
    assert!((third[1].confidence - 0.8).abs() < 1e-9, "the most of an anti-pattern");
    assert_eq!(third[1].success_rate, 0.0);
    assert_eq!(bench.teach("run-2", &again, Promote::Auto), counts(3, 0, 0, 0, 3));
    assert_eq!(bench.store.learnings().unwrap(), third, "each run counts once");
}

#[test]
fn rejected_estimate_is_known_by_its_subject() {
    let mut bench = Bench::new();
    bench.teach("run-1", &[estimate(5)], Promote::Auto);
    bench.sql(
        "UPDATE learnings SET content = 'Small fixes', normalized = 'small fixes', status = 'rejected', reason = 'no'",
    );
    assert_eq!(
        bench.teach("run-2", &[estimate(5)], Promote::Auto),
        counts(1, 0, 0, 0, 1)
    );
    assert_eq!(bench.only().status, LearningStatus::Rejected);
}

#[test]
fn extracted_paraphrase_strengthens_the_known_learning() {
    let mut bench = Bench::new();
    let before = [strategy("Start the emulator before the suite", 1.0, 2)];
    bench.teach_with_features("run-1", &before, &[leap()], Promote::Auto);
    let known = bench.only();
    let again = [
        strategy("Before the suite, start the emulator", 1.0, 3),
        strategy("The emulator: start it before the suite", 1.0, 3),
    ];
    assert_eq!(
        bench.teach_with_features("run-2", &again, &[leap(), leap()], Promote::Auto),
        Extraction {
            known: 1,
            ..counts(2, 1, 0, 1, 1)
        },
        "each run counts once"
    );
    let after = bench.only();
    assert_eq!((&after.id, &after.content), (&known.id, &known.content));
    assert_eq!(after.examples, ["Before the suite, start the emulator"]);
    assert_eq!(after.source_loops, ["run-1", "run-2"]);
    assert_eq!(
        after.facts,
        Some(Facts::Strategy {
            effectiveness: 1.0,
            iterations: 5
        })
    );
    assert_eq!(bench.store.verify_learnings().unwrap(), []);
    // A learning that is not active is not repeated.
    let no = Judgement::Reject("No.");
    bench
        .store
        .judge_learnings(std::slice::from_ref(&known.id), no, day(2))
        .unwrap();
    bench.teach_with_features("run-3", &again[1..], &[leap()], Promote::Auto);
    assert_eq!(bench.store.learnings().unwrap().len(), 2);
}

#[test]
fn invalid_learning_is_rejected_and_may_be_promoted_later() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.teach("run-1", &[estimate(1)], Promote::Auto),
        counts(1, 0, 1, 0, 0)
    );
    let rejected = bench.only();
    assert_eq!(rejected.status, LearningStatus::Rejected);
    assert_eq!(rejected.reason.as_deref(), Some("Confidence too low (< 0.3)"));
    assert_eq!(rejected.source, LearningSource::Extracted);
    assert_eq!(
        bench.teach("run-2", &[estimate(1)], Promote::Auto),
        counts(1, 1, 0, 1, 0)
    );
    let held = bench.only();
    assert_eq!((held.status, held.reason), (LearningStatus::Promoted, None));
    assert!((held.confidence - 0.4).abs() < 1e-9, "two of five samples");
}

#[test]
fn learning_rejected_by_a_user_stays_rejected() {
    let mut bench = Bench::new();
    let learning = [strategy("Look at the log first", 1.0, 2)];
    bench.teach("run-1", &learning, Promote::Auto);
    let id = bench.only().id;
    bench
        .store
        .judge_learnings(&[id], Judgement::Reject("It never helps."), day(2))
        .unwrap();
    let before = bench.only();
    assert_eq!(bench.teach("run-2", &learning, Promote::Auto), counts(1, 0, 0, 0, 1));
    assert_eq!(bench.only(), before);
}

#[test]
fn user_update_of_extracted_learning_survives_the_next_run() {
    for learning in [strategy("Look at the log first", 1.0, 2), estimate(5)] {
        let mut bench = Bench::new();
        let learning = [learning];
        bench.teach("run-1", &learning, Promote::Auto);
        let update = LearningUpdate {
            success_rate: Some(0.3),
            confidence: Some(0.4),
            ..LearningUpdate::default()
        };
        let id = bench.only().id;
        bench.store.update_learning(&id, &update, day(2)).unwrap();
        assert_eq!(
            bench.teach("run-2", &learning, Promote::Auto),
            known(1, counts(1, 1, 0, 1, 0))
        );
        let after = bench.only();
        assert_eq!((after.success_rate, after.first_success_rate), (0.3, 0.3));
        assert!((after.confidence - 0.46).abs() < 1e-9, "one step: {}", after.confidence);
        assert_eq!(after.source_loops, ["run-1", "run-2"]);
        assert_eq!(bench.store.verify_learnings().unwrap(), []);
    }
}

#[test]
fn superseded_learnings_stay_and_pruned_ones_return() {
    let mut bench = Bench::new();
    let learning = [strategy("Look at the log first", 1.0, 2)];
    bench.teach("run-1", &learning, Promote::Auto);
    bench.sql("UPDATE learnings SET superseded_by = 'learn-00000001'");
    assert_eq!(bench.teach("run-2", &learning, Promote::Auto), counts(1, 0, 0, 0, 1));
    bench.sql("UPDATE learnings SET superseded_by = NULL, pruned_from = 'promoted', status = 'pruned', reason = 'old'");
    assert_eq!(bench.teach("run-3", &learning, Promote::Auto), counts(1, 1, 0, 1, 0));
    let back = bench.only();
    assert_eq!((back.status, back.reason), (LearningStatus::Promoted, None));
    assert_eq!(back.source_loops, ["run-1", "run-3"]);
}

#[test]
fn promote_review_leaves_learnings_for_a_user() {
    let mut bench = Bench::new();
    let learning = [strategy("Look at the log first", 1.0, 2)];
    assert_eq!(bench.teach("run-1", &learning, Promote::Review), counts(1, 1, 0, 0, 0));
    assert_eq!(bench.only().status, LearningStatus::Validated);
    let id = bench.only().id;
    bench.store.judge_learnings(&[id], Judgement::Promote, day(2)).unwrap();
    assert_eq!(
        bench.teach("run-2", &learning, Promote::Review),
        known(1, counts(1, 1, 0, 1, 0))
    );
    assert_eq!(bench.only().status, LearningStatus::Promoted, "a user promoted it");
}

#[test]
fn fault_26_zero_success_rate_is_stored_as_zero() {
    let mut bench = Bench::new();
    bench.teach(
        "run-1",
        &[antipattern("Avoid: Timeout errors - break into smaller steps", 3)],
        Promote::Auto,
    );
    let kept = bench.only();
    assert_eq!((kept.success_rate, kept.first_success_rate), (0.0, 0.0));
    assert_eq!(kept.confidence, 0.75);
}

fn row(run: &RunId, iteration: u32, outcome: Outcome) -> NewJournalRow {
    NewJournalRow {
        outcome,
        task_title: "Fix the tests".to_owned(),
        task_type: TaskType::TestFix,
        duration_ms: 1_000,
        files_modified: vec!["src/a.rs".to_owned()],
        ..journal_row(run.clone(), iteration)
    }
}

#[test]
fn run_history_includes_learnings_and_notes() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    let captured = |category: &str, content: &str| CapturedLearning {
        category: category.to_owned(),
        tags: Vec::new(),
        content: content.to_owned(),
    };
    let learnings = vec![
        (LearningId::new(1), captured("tool_usage", "Write tests first")),
        (LearningId::new(2), captured("pitfall", "Never skip the tests")),
    ];
    let noted = NewJournalRow {
        notes: Some("All green.".to_owned()),
        ..row(&run, 1, Outcome::Done)
    };
    let done = Settlement {
        learnings,
        ..Settlement::new(noted, 0)
    };
    bench.store.settle(&done).unwrap();
    let history = bench.store.run_history(&run).unwrap();
    assert_eq!(history.loop_id, "run-00000001");
    assert_eq!(history.objective, "Fix the tests");
    let first = &history.iterations[0];
    assert_eq!(first.learned, ["Write tests first"], "pitfalls are not listed");
    assert_eq!(first.notes.as_deref(), Some("All green."));
    assert_eq!((first.number, first.journal, first.progress_made), (1, Some(1), true));
    assert_eq!((first.end, first.duration_ms), (PastEnd::Completed, 1_000.0));
    assert_eq!(
        (first.task_type, first.files.as_slice()),
        (TaskType::TestFix, &["src/a.rs".to_owned()][..])
    );
}

/// A failed iteration; of the sixth the agent says why.
fn failure(
    run: &RunId,
    iteration: u32,
    outcome: Outcome,
    (origin, category, error_output): (ReportOrigin, ErrorCategory, Option<&str>),
) -> Settlement {
    let report = FailureReport {
        what_tried: "This.".to_owned(),
        why_failed: "It broke.".to_owned(),
        category,
        relevant_files: Vec::new(),
        error_output: error_output.map(str::to_owned),
        origin,
        gate: None,
    };
    Settlement {
        report: Some(report),
        quoted: if iteration == 6 {
            "the page is still wrong".to_owned()
        } else {
            String::new()
        },
        signature: Some(Signature::new(u64::from(iteration))),
        ..Settlement::new(
            NewJournalRow {
                stop: if iteration == 6 {
                    StopReason::TaskFailed
                } else {
                    StopReason::NoSigil
                },
                ..row(run, iteration, outcome)
            },
            0,
        )
    }
}

#[test]
fn run_history_includes_errors() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    let (agent, ralph) = (ReportOrigin::Agent, ReportOrigin::Ralph);
    for (iteration, outcome, origin, category, error_output) in [
        (1, Outcome::Failed, agent, ErrorCategory::Unknown, Some("syntax error")),
        (
            2,
            Outcome::Retried,
            ralph,
            ErrorCategory::TestFailure,
            Some("1 of 2 failed"),
        ),
        (3, Outcome::Blocked, ralph, ErrorCategory::Unknown, None),
        (4, Outcome::Failed, ralph, ErrorCategory::Timeout, None),
        (6, Outcome::Failed, ralph, ErrorCategory::Unknown, None),
    ] {
        let failed = failure(&run, iteration, outcome, (origin, category, error_output));
        bench.store.settle(&failed).unwrap();
    }
    let interrupted = Settlement::new(row(&run, 5, Outcome::Interrupted), 0);
    bench.store.settle(&interrupted).unwrap();
    let history = bench.store.run_history(&run).unwrap();
    let error = |category, text: &str, signature: u64| {
        vec![PastError {
            text: text.to_owned(),
            category: Some(category),
            signature: Some(Signature::new(signature)),
        }]
    };
    let read: Vec<(PastEnd, Vec<PastError>)> = history
        .iterations
        .into_iter()
        .map(|iteration| (iteration.end, iteration.errors))
        .collect();
    assert_eq!(
        read,
        [
            (
                PastEnd::Failed,
                error(ErrorCategory::Unknown, "It broke.\nsyntax error", 1)
            ),
            (PastEnd::Failed, error(ErrorCategory::TestFailure, "1 of 2 failed", 2)),
            (PastEnd::Failed, vec![]),
            (PastEnd::Failed, error(ErrorCategory::Timeout, "It broke.", 4)),
            (PastEnd::Other, vec![]),
            // The reason that the agent gave, without the sentence around it.
            (
                PastEnd::Failed,
                error(ErrorCategory::Unknown, "the page is still wrong", 6)
            ),
        ]
    );
}

#[test]
fn done_without_evidence_is_not_a_success() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    for (iteration, evidence) in [(1, Evidence::None), (2, Evidence::Gates)] {
        let mut done = Settlement::new(row(&run, iteration, Outcome::Done), 0);
        done.row.evidence = evidence;
        bench.store.settle(&done).unwrap();
    }
    let history = bench.store.run_history(&run).unwrap();
    let read: Vec<(PastEnd, bool)> = history
        .iterations
        .iter()
        .map(|iteration| (iteration.end, iteration.is_success()))
        .collect();
    assert_eq!(read, [(PastEnd::Unproven, false), (PastEnd::Completed, true)]);
}

#[test]
fn extraction_does_not_recount_reporting_iterations() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    let mut reported = Vec::new();
    for iteration in 1..=2 {
        let captured = CapturedLearning {
            category: "tool_usage".to_owned(),
            tags: Vec::new(),
            content: "Look at the log first".to_owned(),
        };
        let done = Settlement {
            learnings: vec![(LearningId::new(1), captured)],
            ..Settlement::new(row(&run, iteration, Outcome::Done), 0)
        };
        reported.push(bench.store.settle(&done).unwrap().journal);
        if iteration == 1 {
            assert_eq!(bench.only().confidence, 0.5);
        }
    }
    let before = bench.only();
    let silent = bench.store.settle(&Settlement::new(row(&run, 3, Outcome::Done), 0));
    let silent = silent.unwrap().journal;
    let drawn = |journal: Vec<i64>| ExtractedLearning {
        journal,
        ..strategy("Look at the log first", 1.0, 2)
    };
    assert_eq!(
        bench.teach(run.as_str(), &[drawn(reported.clone())], Promote::Auto),
        counts(1, 0, 0, 0, 1)
    );
    assert_eq!(bench.only(), before);
    // Another run, one iteration of which was only a source.
    let both = [reported[0], silent];
    assert_eq!(
        bench.teach("run-0000000b", &[drawn(both.to_vec())], Promote::Auto),
        known(1, counts(1, 1, 0, 1, 0))
    );
    assert!(bench.only().confidence > before.confidence);
}

#[test]
fn report_after_extraction_is_captured() {
    let mut bench = Bench::new();
    let learning = strategy("Look at the log first", 1.0, 2);
    bench.teach("run-of-before", std::slice::from_ref(&learning), Promote::Auto);
    let run = bench.run(1);
    let reported = CapturedLearning {
        category: "strategy".to_owned(),
        tags: Vec::new(),
        content: "Look at the log first".to_owned(),
    };
    let done = Settlement {
        learnings: vec![(LearningId::new(1), reported.clone())],
        ..Settlement::new(row(&run, 1, Outcome::Done), 0)
    };
    let journal = bench.store.settle(&done).unwrap().journal;
    let drawn = ExtractedLearning {
        journal: vec![journal],
        ..learning
    };
    let before = bench.only().confidence;
    bench.teach(run.as_str(), &[drawn], Promote::Auto);
    assert_eq!(bench.only().source, LearningSource::Extracted);
    assert_eq!(bench.only().confidence, before, "it was counted when it was reported");
    assert_eq!(bench.store.captures(journal).unwrap().learnings, [reported]);
    assert_eq!(
        bench.store.run_history(&run).unwrap().iterations[0].learned,
        ["Look at the log first"]
    );
}

#[test]
fn extracted_learning_is_not_a_capture_of_its_rows() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    let journal = bench
        .store
        .settle(&Settlement::new(journal_row(run.clone(), 1), 0))
        .unwrap()
        .journal;
    let learning = ExtractedLearning {
        journal: vec![journal],
        ..strategy("Look at the log first", 1.0, 2)
    };
    bench.teach(run.as_str(), &[learning], Promote::Auto);
    assert_eq!(bench.only().journal, Some(journal));
    assert_eq!(bench.store.captures(journal).unwrap().learnings, []);
    assert_eq!(
        bench.store.run_history(&run).unwrap().iterations[0].learned,
        [] as [String; 0]
    );
    assert_eq!(bench.mergeable(), [], "learnings with facts are not merged");
}

#[test]
fn extraction_adds_no_reporting_rows() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    let reported = bench.learn(1, &["Avoid: Deleting the lock file"]);
    let silent = bench.store.settle(&Settlement::new(row(&run, 2, Outcome::Failed), 0));
    let silent = silent.unwrap().journal;
    let drawn = ExtractedLearning {
        journal: vec![silent],
        task_type: bench.only().task_type.unwrap(),
        ..antipattern("Avoid: Deleting the lock file", 2)
    };
    bench.teach(run.as_str(), &[drawn], Promote::Auto);
    assert!(bench.only().facts.is_some(), "it has facts");
    assert_eq!(bench.store.captures(silent).unwrap().learnings, []);
    let evidence = bench.store.learning_evidence(&bench.only().id).unwrap();
    assert_eq!(evidence.taught.iter().map(|row| row.id).collect::<Vec<_>>(), [reported]);
}

#[test]
fn repeated_learning_is_still_extracted() {
    let mut bench = Bench::new();
    let learning = strategy("Incremental implementation", 1.0, 2);
    bench.teach("run-of-before", std::slice::from_ref(&learning), Promote::Auto);
    let run = bench.run(1);
    let repeated = CapturedLearning {
        category: "tool_usage".to_owned(),
        tags: Vec::new(),
        content: "Incremental implementation".to_owned(),
    };
    let reported = Settlement {
        learnings: vec![(LearningId::new(1), repeated)],
        ..Settlement::new(row(&run, 1, Outcome::Done), 0)
    };
    bench.store.settle(&reported).unwrap();
    assert_eq!(bench.only().source_loops, ["run-of-before", run.as_str()]);
    let three = strategy("Incremental implementation", 1.0, 3);
    let twice = [three.clone(), three];
    assert_eq!(
        bench.teach(run.as_str(), &twice, Promote::Auto),
        known(1, counts(2, 1, 0, 1, 1)),
        "once, and not again"
    );
    let drawn = bench.only();
    assert_eq!(
        drawn.facts,
        Some(Facts::Strategy {
            effectiveness: 1.0,
            iterations: 5
        })
    );
    assert_eq!(drawn.source_loops, ["run-of-before", run.as_str()]);
    assert_eq!(
        bench.teach(run.as_str(), &twice, Promote::Auto),
        counts(2, 0, 0, 0, 2),
        "each run counts once"
    );
    assert_eq!(bench.only(), drawn);
}

#[test]
fn runs_await_extraction_until_it_is_recorded() {
    let mut bench = Bench::new();
    let [one, two, _going] = [1, 2, 3].map(|id| bench.run(id));
    for run in [&one, &two] {
        bench
            .store
            .end_run(run, (EndKind::Complete, 0), "Done.", day(2))
            .unwrap();
    }
    assert_eq!(
        bench.store.runs_without_extraction(9, None).unwrap(),
        [two.clone(), one.clone()]
    );
    assert_eq!(
        bench.store.runs_without_extraction(1, None).unwrap(),
        std::slice::from_ref(&two)
    );
    assert_eq!(
        bench.store.runs_without_extraction(9, Some(&two)).unwrap(),
        std::slice::from_ref(&one)
    );
    assert_eq!(bench.store.runs_without_extraction(9, Some(&one)).unwrap(), []);
    bench.teach(two.as_str(), &[], Promote::Auto);
    assert_eq!(bench.store.runs_without_extraction(9, None).unwrap(), [one]);
}
