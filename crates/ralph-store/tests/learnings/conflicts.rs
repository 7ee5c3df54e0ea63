//! Tests of conflicts between learnings.

use ralph_model::ExtractedLearning;
use ralph_model::config::Promote;

use super::extraction::strategy;
use super::*;

fn two(bench: &mut Bench) -> (LearningId, LearningId) {
    let four = bench.add(&learning("tool_usage", "Build with -j 4", &["make"]), 1);
    let eight = bench.add(&learning("tool_usage", "Build with -j 8", &["make"]), 2);
    (four.id, eight.id)
}

#[test]
fn settled_conflict_is_recorded_once_in_either_order() {
    let mut bench = Bench::new();
    let (four, eight) = two(&mut bench);
    assert!(bench.store.settle_conflict(&eight, &four, day(3)).unwrap());
    assert!(!bench.store.settle_conflict(&four, &eight, day(4)).unwrap());
    let (lower, higher) = if four < eight { (four, eight) } else { (eight, four) };
    assert_eq!(bench.store.settled_conflicts().unwrap(), [(lower.clone(), higher)]);
    let itself = bench.store.settle_conflict(&lower, &lower, day(4));
    assert!(matches!(itself, Err(LearningError::SettlesItself { .. })), "{itself:?}");
    let unknown = bench.store.settle_conflict(&lower, &LearningId::new(99), day(4));
    assert!(matches!(unknown, Err(LearningError::Unknown { .. })), "{unknown:?}");
}

#[test]
fn supersede_is_recorded_once_and_promote_reverts_it() {
    let mut bench = Bench::new();
    let (four, eight) = two(&mut bench);
    assert!(bench.store.supersede_learning(&four, &eight, day(3)).unwrap());
    assert!(!bench.store.supersede_learning(&four, &eight, day(4)).unwrap());
    let old = bench.get(&four);
    assert_eq!((old.superseded_by, old.updated_at), (Some(eight.clone()), day(3)));
    assert_eq!(old.status, LearningStatus::Promoted);
    assert_eq!(bench.mergeable(), [eight]);
    let back = bench
        .store
        .judge_learnings(std::slice::from_ref(&four), Judgement::Promote, day(5));
    assert_eq!(back.unwrap(), std::slice::from_ref(&four));
    assert_eq!(bench.get(&four).superseded_by, None);
}

#[test]
fn only_active_and_proposed_learnings_are_compared() {
    let mut bench = Bench::new();
    let (four, eight) = two(&mut bench);
    assert_eq!(bench.store.learnings_to_compare().unwrap(), 2);
    bench.store.supersede_learning(&four, &eight, day(3)).unwrap();
    assert_eq!(bench.store.learnings_to_compare().unwrap(), 1);
    let ids = [eight];
    bench
        .store
        .judge_learnings(&ids, Judgement::Reject("no"), day(3))
        .unwrap();
    assert_eq!(bench.store.learnings_to_compare().unwrap(), 0);
}

#[test]
fn superseding_learning_is_promoted() {
    let mut bench = Bench::new();
    let (four, eight) = two(&mut bench);
    bench.sql(&format!(
        "UPDATE learnings SET status = 'validated' WHERE id = '{eight}'"
    ));
    bench.store.supersede_learning(&four, &eight, day(3)).unwrap();
    assert_eq!(bench.get(&eight).status, LearningStatus::Promoted);
}

#[test]
fn decision_on_changed_learnings_is_refused() {
    let mut bench = Bench::new();
    let (four, eight) = two(&mut bench);
    bench.sql(&format!(
        "UPDATE learnings SET status = 'validated' WHERE id = '{eight}'"
    ));
    let seen = [bench.get(&four), bench.get(&eight)];
    let [one, other] = &seen;
    let ids = std::slice::from_ref(&eight);
    bench
        .store
        .judge_learnings(ids, Judgement::Reject("no"), day(3))
        .unwrap();
    for decision in [Holds::One, Holds::Other, Holds::Both] {
        let settled = bench.store.settle_as_seen([one, other], decision, day(4)).unwrap();
        let standing = [bench.get(&four), bench.get(&eight)];
        assert_eq!(
            standing
                .clone()
                .map(|learning| (learning.status, learning.superseded_by)),
            [(LearningStatus::Promoted, None), (LearningStatus::Rejected, None)],
            "a rejected learning is not promoted by {decision:?}"
        );
        assert_eq!(settled, ConflictDecision::ChangedMeanwhile(Box::new(standing)));
    }
    assert_eq!(bench.store.settled_conflicts().unwrap(), []);
}

#[test]
fn decision_on_unchanged_learnings_is_applied() {
    for (decision, expected) in [
        (Holds::One, [None, Some(0)]),
        (Holds::Other, [Some(1), None]),
        (Holds::Both, [None, None]),
    ] {
        let mut bench = Bench::new();
        let (four, eight) = two(&mut bench);
        bench.sql("UPDATE learnings SET status = 'validated'");
        let seen = [bench.get(&four), bench.get(&eight)];
        let ids = [four, eight];
        let [one, other] = &seen;
        let settled = bench.store.settle_as_seen([one, other], decision, day(4)).unwrap();
        assert_eq!(settled, ConflictDecision::AsSaid);
        let by = expected.map(|place| place.map(|place: usize| ids[place].clone()));
        assert_eq!(ids.each_ref().map(|id| bench.get(id).superseded_by), by, "{decision:?}");
        let promoted = ids.iter().filter(|id| bench.get(id).status == LearningStatus::Promoted);
        assert_eq!(
            promoted.count(),
            usize::from(decision != Holds::Both),
            "the chosen one is active"
        );
        if decision == Holds::Both {
            let again = bench.store.settle_as_seen([one, other], Holds::One, day(5)).unwrap();
            assert_eq!(again, ConflictDecision::BothHold, "already settled");
        }
    }
}

#[test]
fn invalid_supersede_requests_are_refused() {
    let mut bench = Bench::new();
    let (four, eight) = two(&mut bench);
    let sixteen = bench.add(&learning("tool_usage", "Build with -j 16", &["make"]), 3).id;
    let out = bench.add(&learning("tool_usage", "Build with -j 32", &["make"]), 3).id;
    let reject = Judgement::Reject("no");
    bench
        .store
        .judge_learnings(std::slice::from_ref(&out), reject, day(3))
        .unwrap();
    bench.store.supersede_learning(&four, &eight, day(4)).unwrap();
    bench.store.supersede_learning(&eight, &sixteen, day(4)).unwrap();
    let unknown = LearningId::new(99);
    let before = bench.store.learnings().unwrap();
    for (old, new, expected) in [
        (&four, &four, format!("{four} cannot supersede itself")),
        (
            &sixteen,
            &four,
            format!("{sixteen} supersedes {four}, so {four} cannot supersede {sixteen}"),
        ),
        (&four, &eight, format!("{eight} is superseded by {sixteen}")),
        (
            &sixteen,
            &out,
            format!("{out} is rejected; only active and proposed learnings can supersede or be superseded"),
        ),
        (&unknown, &four, format!("Learning not found: {unknown}")),
    ] {
        let refused = bench.store.supersede_learning(old, new, day(5)).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    assert_eq!(bench.store.learnings().unwrap(), before);
}

/// Returns a learning that was superseded and then pruned, and the one that supersedes it.
fn superseded_and_pruned(bench: &mut Bench) -> (LearningId, LearningId) {
    let four = bench.add(&learning("pitfall", "Never build with -j 4", &[]), 1).id;
    let eight = bench.add(&learning("pitfall", "Never build with -j 8", &[]), 2).id;
    bench.store.supersede_learning(&four, &eight, day(3)).unwrap();
    bench.store.prune_learnings(&rules(), 1, day(50)).unwrap();
    assert_eq!(bench.get(&four).status, LearningStatus::Pruned);
    (four, eight)
}

#[test]
fn repeating_a_superseded_learning_does_not_support_its_successor() {
    let mut bench = Bench::new();
    let (four, eight) = superseded_and_pruned(&mut bench);
    let replacement = bench.get(&eight);
    let gone = bench.get(&four);
    bench.learn(4, &[&gone.content]);
    assert_eq!(
        bench.get(&four).status,
        LearningStatus::Pruned,
        "agents cannot reactivate it"
    );
    assert_eq!(bench.get(&four).superseded_by.as_ref(), Some(&eight));
    assert_eq!(bench.get(&eight), replacement);
    assert!(bench.store.learning_evidence(&eight).unwrap().taught.is_empty());
    let again = learning(&gone.category, &gone.content, &[]);
    let Ok(AddedLearning::Known(back)) = bench.store.add_learning(&again, &mut bench.bits, day(51)) else {
        panic!("it is known");
    };
    assert_eq!((back.id, back.superseded_by), (four.clone(), None), "users can");
    assert_eq!(bench.get(&eight), replacement);
}

#[test]
fn superseded_learning_adds_nothing_to_its_successor() {
    let mut bench = Bench::new();
    let (four, eight) = superseded_and_pruned(&mut bench);
    let before = (bench.get(&four), bench.get(&eight));
    let drawn = [ExtractedLearning {
        kind: before.0.kind,
        ..strategy(&before.0.content, 1.0, 2)
    }];
    let done = bench.teach("run-1", &drawn, Promote::Auto);
    assert_eq!((done.extracted, done.skipped), (1, 1));
    assert_eq!((bench.get(&four), bench.get(&eight)), before);
}
