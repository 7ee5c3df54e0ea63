//! What whole runs teach, as it is read and taken in.

use ralph_model::config::Promote;
use ralph_model::{
    CapturedLearning, Complexity, DrawnLesson, ErrorCategory, Evidence, Extraction, Facts, FailureReport, Learning,
    LearningId, LearningKind, LearningSource, LearningStatus, NewJournalRow, Outcome, PastEnd, PastError, ReportOrigin,
    RunId, Signature, StopReason, TaskType, estimate_of,
};
use ralph_store::{Judgement, LearningUpdate, NewRun, Retold, RunProcess, Settlement, Taught};
use ralph_testkit::journal_row;

use super::{Bench, day};

pub(crate) fn strategy(content: &str, effectiveness: f64, iterations: u32) -> DrawnLesson {
    let facts = Facts::Strategy {
        effectiveness,
        iterations,
    };
    DrawnLesson {
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

fn antipattern(content: &str, occurrences: u32) -> DrawnLesson {
    let facts = Facts::Antipattern {
        occurrences,
        impact: Facts::impact_of(occurrences).to_owned(),
    };
    DrawnLesson {
        kind: LearningKind::Antipattern,
        confidence: facts.confidence().unwrap(),
        facts,
        success_rate: 0.0,
        signatures: vec![Signature::new(7)],
        ..strategy(content, 1.0, 1)
    }
}

fn estimate(sampled: u32) -> DrawnLesson {
    let facts = Facts::Estimate {
        avg_iteration_time: 45_000.0,
        total_iterations: 1.0,
        complexity: "low".to_owned(),
        success_rate: 1.0,
        sampled,
    };
    DrawnLesson {
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

/// The same where so many held before.
fn known(known: u32, counts: Extraction) -> Extraction {
    Extraction { known, ..counts }
}

impl Bench {
    pub(crate) fn teach(&mut self, run: &str, drawn: &[DrawnLesson], promote: Promote) -> Extraction {
        self.teach_retold(run, drawn, &[], promote)
    }

    fn teach_retold(
        &mut self,
        run: &str,
        drawn: &[DrawnLesson],
        retold: &[Option<Retold>],
        promote: Promote,
    ) -> Extraction {
        let taught = Taught {
            run,
            drawn,
            retold,
            promote,
        };
        self.store.take_in_drawn(&taught, &mut self.bits, day(1)).unwrap()
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
fn fault_21_what_runs_teach_again_grows_in_strength_and_not_in_number() {
    let mut bench = Bench::new();
    let drawn = [
        strategy("Test-driven development approach", 0.75, 3),
        antipattern("Avoid: Syntax errors - check code carefully before execution", 2),
        estimate(3),
    ];
    assert_eq!(bench.teach("run-1", &drawn, Promote::Auto), counts(3, 3, 0, 3, 0));
    let first = bench.store.learnings().unwrap();
    let again = [
        DrawnLesson {
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
    assert_eq!(
        bench.store.learnings().unwrap(),
        third,
        "what a run taught it teaches once"
    );
}

#[test]
fn what_a_run_teaches_in_other_words_makes_the_known_one_surer() {
    let mut bench = Bench::new();
    let before = [strategy("Start the emulator before the suite", 1.0, 2)];
    bench.teach("run-1", &before, Promote::Auto);
    let known = bench.only();
    let again = [
        strategy("Before the suite, start the emulator", 1.0, 3),
        strategy("The emulator: start it before the suite", 1.0, 3),
    ];
    let told = Some(Retold::known(known.id.clone(), &known.content));
    let retold = [told.clone(), told.clone()];
    assert_eq!(
        bench.teach_retold("run-2", &again, &retold, Promote::Auto),
        Extraction {
            known: 1,
            ..counts(2, 1, 0, 1, 1)
        },
        "one run is one voice"
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
    // What nobody believes any more is not told by other words.
    let no = Judgement::Reject("No.");
    bench
        .store
        .judge_learnings(std::slice::from_ref(&known.id), no, day(2))
        .unwrap();
    bench.teach_retold("run-3", &again[1..], &[told], Promote::Auto);
    assert_eq!(bench.store.learnings().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_true_is_kept_with_why_and_may_come_to_hold() {
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
fn what_a_person_rejected_stays_rejected() {
    let mut bench = Bench::new();
    let lesson = [strategy("Look at the log first", 1.0, 2)];
    bench.teach("run-1", &lesson, Promote::Auto);
    let id = bench.only().id;
    bench
        .store
        .judge_learnings(&[id], Judgement::Reject("It never helps."), day(2))
        .unwrap();
    let before = bench.only();
    assert_eq!(bench.teach("run-2", &lesson, Promote::Auto), counts(1, 0, 0, 0, 1));
    assert_eq!(bench.only(), before);
}

#[test]
fn what_a_person_says_of_a_drawn_lesson_outlasts_the_next_run() {
    for lesson in [strategy("Look at the log first", 1.0, 2), estimate(5)] {
        let mut bench = Bench::new();
        let lesson = [lesson];
        bench.teach("run-1", &lesson, Promote::Auto);
        let word = LearningUpdate {
            success_rate: Some(0.3),
            confidence: Some(0.4),
            ..LearningUpdate::default()
        };
        let id = bench.only().id;
        bench.store.update_learning(&id, &word, day(2)).unwrap();
        assert_eq!(
            bench.teach("run-2", &lesson, Promote::Auto),
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
fn what_another_took_the_place_of_stays_as_it_is_and_what_was_pruned_comes_back() {
    let mut bench = Bench::new();
    let lesson = [strategy("Look at the log first", 1.0, 2)];
    bench.teach("run-1", &lesson, Promote::Auto);
    bench.sql("UPDATE learnings SET superseded_by = 'learn-00000001'");
    assert_eq!(bench.teach("run-2", &lesson, Promote::Auto), counts(1, 0, 0, 0, 1));
    bench.sql("UPDATE learnings SET superseded_by = NULL, pruned_from = 'promoted', status = 'pruned', reason = 'old'");
    assert_eq!(bench.teach("run-3", &lesson, Promote::Auto), counts(1, 1, 0, 1, 0));
    let back = bench.only();
    assert_eq!((back.status, back.reason), (LearningStatus::Promoted, None));
    assert_eq!(back.source_loops, ["run-1", "run-3"]);
}

#[test]
fn with_review_lessons_wait_for_a_person() {
    let mut bench = Bench::new();
    let lesson = [strategy("Look at the log first", 1.0, 2)];
    assert_eq!(bench.teach("run-1", &lesson, Promote::Review), counts(1, 1, 0, 0, 0));
    assert_eq!(bench.only().status, LearningStatus::Validated);
    let id = bench.only().id;
    bench.store.judge_learnings(&[id], Judgement::Promote, day(2)).unwrap();
    assert_eq!(
        bench.teach("run-2", &lesson, Promote::Review),
        known(1, counts(1, 1, 0, 1, 0))
    );
    assert_eq!(bench.only().status, LearningStatus::Promoted, "a person's word holds");
}

#[test]
fn fault_26_a_rate_of_nothing_is_stored_as_nothing() {
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
fn a_run_is_read_with_what_was_learned_and_noted() {
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
    assert_eq!(first.learned, ["Write tests first"], "a pitfall is no way to work");
    assert_eq!(first.notes.as_deref(), Some("All green."));
    assert_eq!((first.number, first.journal, first.progress_made), (1, Some(1), true));
    assert_eq!((first.end, first.duration_ms), (PastEnd::Completed, 1_000.0));
    assert_eq!(
        (first.task_type, first.files.as_slice()),
        (TaskType::TestFix, &["src/a.rs".to_owned()][..])
    );
}

#[test]
fn a_run_is_read_with_what_went_wrong() {
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
        let report = FailureReport {
            what_tried: "This.".to_owned(),
            why_failed: match iteration {
                6 => "The agent said that it cannot be done: the page is still wrong".to_owned(),
                _ => "It broke.".to_owned(),
            },
            category,
            relevant_files: Vec::new(),
            error_output: error_output.map(str::to_owned),
            origin,
            gate: None,
        };
        let failed = Settlement {
            report: Some(report),
            signature: Some(Signature::new(u64::from(iteration))),
            ..Settlement::new(
                NewJournalRow {
                    stop: if iteration == 6 {
                        StopReason::TaskFailed
                    } else {
                        StopReason::NoSigil
                    },
                    ..row(&run, iteration, outcome)
                },
                0,
            )
        };
        bench.store.settle(&failed).unwrap();
    }
    let interrupted = Settlement::new(row(&run, 5, Outcome::Interrupted), 0);
    bench.store.settle(&interrupted).unwrap();
    let history = bench.store.run_history(&run).unwrap();
    let error = |text: &str, signature: u64| {
        vec![PastError {
            text: text.to_owned(),
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
            (PastEnd::Failed, error("It broke.\nsyntax error", 1)),
            (PastEnd::Failed, error("1 of 2 failed", 2)),
            (PastEnd::Failed, vec![]),
            (PastEnd::Failed, error("It broke.", 4)),
            (PastEnd::Other, vec![]),
            // The agent's own word for it, without the sentence around it.
            (PastEnd::Failed, error("the page is still wrong", 6)),
        ]
    );
}

#[test]
fn work_that_is_done_without_evidence_is_no_success_to_learn_from() {
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
fn who_told_a_lesson_is_not_counted_again_when_it_is_drawn_from_them() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    let mut told = Vec::new();
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
        told.push(bench.store.settle(&done).unwrap().journal);
        if iteration == 1 {
            assert_eq!(bench.only().confidence, 0.5);
        }
    }
    let before = bench.only();
    let silent = bench.store.settle(&Settlement::new(row(&run, 3, Outcome::Done), 0));
    let silent = silent.unwrap().journal;
    let drawn = |journal: Vec<i64>| DrawnLesson {
        journal,
        ..strategy("Look at the log first", 1.0, 2)
    };
    assert_eq!(
        bench.teach(run.as_str(), &[drawn(told.clone())], Promote::Auto),
        counts(1, 0, 0, 0, 1)
    );
    assert_eq!(bench.only(), before);
    // Another run, of which one iteration had merely noted it.
    let both = [told[0], silent];
    assert_eq!(
        bench.teach("run-0000000b", &[drawn(both.to_vec())], Promote::Auto),
        known(1, counts(1, 1, 0, 1, 0))
    );
    assert!(bench.only().confidence > before.confidence);
}

#[test]
fn what_is_told_after_it_was_drawn_stands_among_what_was_told() {
    let mut bench = Bench::new();
    let lesson = strategy("Look at the log first", 1.0, 2);
    bench.teach("run-of-before", std::slice::from_ref(&lesson), Promote::Auto);
    let run = bench.run(1);
    let told = CapturedLearning {
        category: "strategy".to_owned(),
        tags: Vec::new(),
        content: "Look at the log first".to_owned(),
    };
    let done = Settlement {
        learnings: vec![(LearningId::new(1), told.clone())],
        ..Settlement::new(row(&run, 1, Outcome::Done), 0)
    };
    let journal = bench.store.settle(&done).unwrap().journal;
    let drawn = DrawnLesson {
        journal: vec![journal],
        ..lesson
    };
    let before = bench.only().confidence;
    bench.teach(run.as_str(), &[drawn], Promote::Auto);
    assert_eq!(bench.only().source, LearningSource::Extracted);
    assert_eq!(bench.only().confidence, before, "it was counted when it was told");
    assert_eq!(bench.store.captures(journal).unwrap().learnings, [told]);
    assert_eq!(
        bench.store.run_history(&run).unwrap().iterations[0].learned,
        ["Look at the log first"]
    );
}

#[test]
fn what_was_drawn_from_rows_is_no_word_of_theirs() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    let journal = bench
        .store
        .settle(&Settlement::new(journal_row(run.clone(), 1), 0))
        .unwrap()
        .journal;
    let lesson = DrawnLesson {
        journal: vec![journal],
        ..strategy("Look at the log first", 1.0, 2)
    };
    bench.teach(run.as_str(), &[lesson], Promote::Auto);
    assert_eq!(bench.only().journal, Some(journal));
    assert_eq!(bench.store.captures(journal).unwrap().learnings, []);
    assert_eq!(
        bench.store.run_history(&run).unwrap().iterations[0].learned,
        [] as [String; 0]
    );
    assert_eq!(bench.mergeable(), [], "its numbers are its own");
}

#[test]
fn what_somebody_told_was_told_by_no_row_that_it_is_drawn_from() {
    let mut bench = Bench::new();
    let run = bench.run(1);
    let told = bench.learn(1, &["Avoid: Deleting the lock file"]);
    let silent = bench.store.settle(&Settlement::new(row(&run, 2, Outcome::Failed), 0));
    let silent = silent.unwrap().journal;
    let drawn = DrawnLesson {
        journal: vec![silent],
        task_type: bench.only().task_type.unwrap(),
        ..antipattern("Avoid: Deleting the lock file", 2)
    };
    bench.teach(run.as_str(), &[drawn], Promote::Auto);
    assert!(bench.only().facts.is_some(), "it has the numbers");
    assert_eq!(bench.store.captures(silent).unwrap().learnings, []);
    let evidence = bench.store.learning_evidence(&bench.only().id).unwrap();
    assert_eq!(evidence.taught.iter().map(|row| row.id).collect::<Vec<_>>(), [told]);
}

#[test]
fn what_an_agent_repeats_is_drawn_from_its_run_all_the_same() {
    let mut bench = Bench::new();
    let lesson = strategy("Incremental implementation", 1.0, 2);
    bench.teach("run-of-before", std::slice::from_ref(&lesson), Promote::Auto);
    let run = bench.run(1);
    let repeated = CapturedLearning {
        category: "tool_usage".to_owned(),
        tags: Vec::new(),
        content: "Incremental implementation".to_owned(),
    };
    let told = Settlement {
        learnings: vec![(LearningId::new(1), repeated)],
        ..Settlement::new(row(&run, 1, Outcome::Done), 0)
    };
    bench.store.settle(&told).unwrap();
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
        "a run teaches once"
    );
    assert_eq!(bench.only(), drawn);
}

#[test]
fn runs_wait_for_their_lessons_until_these_are_drawn() {
    let mut bench = Bench::new();
    let [one, two, _going] = [1, 2, 3].map(|id| bench.run(id));
    for run in [&one, &two] {
        bench.store.end_run(run, "Done.", 0, day(2)).unwrap();
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

#[test]
fn an_estimate_whose_numbers_are_damaged_keeps_no_run_from_teaching() {
    let mut bench = Bench::new();
    bench.teach("run-1", &[estimate(5)], Promote::Auto);
    bench.sql("UPDATE learnings SET facts = '{', lesson = 'else', content = 'else'");
    let again = bench.teach("run-2", &[estimate(5)], Promote::Auto);
    assert_eq!(again, counts(1, 1, 0, 1, 0));
}
