//! What needs a person's attention.

use ralph_model::{Learning, LearningStatus, Signature};

use super::*;

/// Fails the first task once per signature.
fn fail(bench: &mut Bench, signatures: &[Option<u64>]) {
    let retries = u32::try_from(signatures.len()).unwrap() - 1;
    for (iteration, signature) in (1..).zip(signatures) {
        let fence = bench.start(&run_id(), iteration);
        let settlement = Settlement {
            task: TaskChange::Attempt { max_retries: retries },
            report: Some(super::stats::failure("it broke")),
            signature: signature.map(Signature::new),
            row: NewJournalRow {
                task: Some(task()),
                attempt: iteration,
                outcome: Outcome::Failed,
                reason: format!("reason {iteration}"),
                created_at: at(i64::from(iteration) * 10),
                ..journal_row(run_id(), iteration)
            },
            ..Settlement::new(journal_row(run_id(), iteration), fence)
        };
        bench.store.settle(&settlement).unwrap();
    }
}

fn same(signatures: &[Option<u64>]) -> u32 {
    let mut bench = Bench::new();
    fail(&mut bench, signatures);
    bench.store.review().unwrap().failed_tasks[0].same
}

#[test]
fn new_project_needs_no_review() {
    assert_eq!(Bench::new().store.review().unwrap(), Review::default());
}

#[test]
fn failed_task_lists_attempts_and_dependents() {
    let mut bench = Bench::new();
    let after = bench.add_task("Draw the colours");
    bench.sql(&format!("INSERT INTO dependencies VALUES ('{after}', '{}')", task()));
    fail(&mut bench, &[Some(1), Some(2), Some(2)]);
    let review = bench.store.review().unwrap();
    let [failed] = review.failed_tasks.as_slice() else {
        panic!("{review:?}")
    };
    assert_eq!(
        (failed.id.clone(), failed.title.as_str()),
        (task(), "Parse the colours")
    );
    assert_eq!(
        (failed.reason.as_str(), failed.attempts, failed.same),
        ("reason 3", 3, 2)
    );
    assert_eq!(failed.holds_up, std::slice::from_ref(&after));
    assert_eq!(bench.store.failed_task(&task()).unwrap().as_ref(), Some(failed));
    assert_eq!(bench.store.failed_task(&after).unwrap(), None, "it has not failed");
    assert_eq!(failed.failed_attempts, bench.store.failed_attempts(&task()).unwrap());
    assert_eq!(failed.failed_attempts.len(), 3);

    bench.store.reset_task(&task(), Reach::Itself, at(99)).unwrap();
    assert_eq!(bench.store.review().unwrap().failed_tasks, []);
}

#[test]
fn same_failures_must_be_consecutive() {
    assert_eq!(same(&[Some(1), Some(1), Some(1)]), 3);
    assert_eq!(same(&[Some(1), Some(2), Some(1)]), 1);
    assert_eq!(same(&[Some(1), Some(1), None]), 0);
}

#[test]
fn unjudged_learnings_need_review() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let learning = |content: &str| CapturedLearning {
        category: "pitfall".to_owned(),
        tags: vec![],
        content: content.to_owned(),
    };
    let ids: Vec<LearningId> = (1..=5).map(LearningId::new).collect();
    let learnings = ids
        .iter()
        .cloned()
        .zip(["a", "b", "c", "d", "e"].map(learning))
        .collect();
    let settlement = Settlement {
        learnings,
        ..Settlement::new(journal_row(run_id(), 1), fence)
    };
    bench.store.settle(&settlement).unwrap();
    for (id, status) in ids.iter().zip(LearningStatus::ALL) {
        bench.sql(&format!("UPDATE learnings SET status = '{status}' WHERE id = '{id}'"));
    }
    let review = bench.store.review().unwrap();
    let waiting: Vec<&LearningId> = review.learnings.iter().map(|learning| &learning.id).collect();
    assert_eq!(waiting, [&ids[1], &ids[0]], "pending and validated, the newest first");
    assert_eq!(bench.store.overview(0, "").unwrap().waiting_learnings, 2);
}

fn pending_learning(bench: &mut Bench) -> Learning {
    let fence = bench.start(&run_id(), 1);
    let learning = CapturedLearning {
        category: "tool_usage".to_owned(),
        tags: vec!["parser".to_owned()],
        content: "Run it with --locked".to_owned(),
    };
    let settlement = Settlement {
        learnings: vec![(LearningId::new(1), learning)],
        ..Settlement::new(
            NewJournalRow {
                outcome: Outcome::Blocked,
                ..journal_row(run_id(), 1)
            },
            fence,
        )
    };
    bench.store.settle(&settlement).unwrap();
    bench.store.learning(&LearningId::new(1)).unwrap().unwrap()
}

#[test]
fn decision_applies_only_to_the_version_seen() {
    let mut bench = Bench::new();
    let seen = pending_learning(&mut bench);
    let surer = "UPDATE learnings SET confidence = 0.7";
    bench.sql(surer);
    let judged = bench.store.judge_as_seen(&seen, Verdict::Reject("no"), at(9)).unwrap();
    let Judged::AsSaid(rejected) = judged else {
        panic!("{judged:?}")
    };
    assert_eq!(
        (rejected.status, rejected.reason.as_deref(), rejected.updated_at),
        (LearningStatus::Rejected, Some("no"), at(9))
    );
    for verdict in [
        Verdict::Promote,
        Verdict::Reword("Run it with --frozen", &TextFeatures::default()),
        Verdict::Reject("no"),
    ] {
        let judged = bench.store.judge_as_seen(&seen, verdict, at(10)).unwrap();
        assert_eq!(judged, Judged::ChangedMeanwhile(rejected.clone()), "{verdict:?}");
    }
    bench.sql("DELETE FROM learnings");
    let gone = bench
        .store
        .judge_as_seen(&rejected, Verdict::Promote, at(11))
        .unwrap_err();
    assert_eq!(gone.to_string(), "Learning not found: learn-00000001");
}

#[test]
fn learning_without_text_cannot_be_promoted() {
    let mut bench = Bench::new();
    pending_learning(&mut bench);
    bench.sql("UPDATE learnings SET content = ''");
    let untold = bench.store.learning(&LearningId::new(1)).unwrap().unwrap();
    let id = std::slice::from_ref(&untold.id);
    for refused in [
        bench.store.judge_as_seen(&untold, Verdict::Promote, at(9)).map(drop),
        bench.store.judge_learnings(id, Judgement::Promote, at(9)).map(drop),
    ] {
        assert!(matches!(refused, Err(LearningError::NoText { .. })), "{refused:?}");
    }
    assert_eq!(bench.store.promote_validated(at(9)).unwrap().empty, id);
    assert_eq!(bench.store.learning(&untold.id).unwrap().unwrap(), untold);
    let reworded = bench.store.judge_as_seen(
        &untold,
        Verdict::Reword("Build it offline", &TextFeatures::default()),
        at(9),
    );
    let Ok(Judged::AsSaid(reworded)) = reworded else {
        panic!("{reworded:?}")
    };
    assert_eq!((reworded.status, reworded.has_text()), (LearningStatus::Promoted, true));
}

#[test]
fn reworded_learning_is_promoted_unless_duplicate() {
    let mut bench = Bench::new();
    let seen = pending_learning(&mut bench);
    let new = NewLearning {
        category: "tool_usage".to_owned(),
        content: "Run it with --frozen".to_owned(),
        tags: Vec::new(),
        task_type: seen.task_type,
        features: TextFeatures::default(),
    };
    bench.store.add_learning(&new, &mut FixedEntropy(2), at(3)).unwrap();
    let refused = bench.store.judge_as_seen(
        &seen,
        Verdict::Reword("run it with --frozen.", &TextFeatures::default()),
        at(4),
    );
    assert!(matches!(refused, Err(LearningError::SaysTheSame { .. })), "{refused:?}");
    assert_eq!(bench.store.learning(&seen.id).unwrap().unwrap(), seen);

    let judged = bench
        .store
        .judge_as_seen(
            &seen,
            Verdict::Reword("Build it offline", &TextFeatures::default()),
            at(5),
        )
        .unwrap();
    let Judged::AsSaid(reworded) = judged else {
        panic!("{judged:?}")
    };
    assert_eq!(
        (reworded.status, reworded.content.as_str(), &reworded.tags),
        (LearningStatus::Promoted, "Build it offline", &seen.tags)
    );
    assert_eq!(
        bench.store.learning_versions(&seen.id).unwrap()[0].content,
        seen.content
    );
}

#[test]
fn superseded_learning_needs_no_review() {
    let mut bench = Bench::new();
    let seen = pending_learning(&mut bench);
    assert_eq!(bench.store.review().unwrap().learnings, [seen]);
    bench.sql("UPDATE learnings SET superseded_by = 'learn-00000002'");
    assert_eq!(bench.store.review().unwrap().learnings, []);
    assert_eq!(bench.store.overview(0, "").unwrap().waiting_learnings, 0);
}
