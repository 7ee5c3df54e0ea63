//! What a person says of lessons that contradict each other.

use super::*;

fn two(bench: &mut Bench) -> (LearningId, LearningId) {
    let four = bench.add(&lesson("tool_usage", "Build with -j 4", &["make"]), 1);
    let eight = bench.add(&lesson("tool_usage", "Build with -j 8", &["make"]), 2);
    (four.id, eight.id)
}

#[test]
fn that_both_hold_is_noted_once_whichever_is_named_first() {
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
fn the_place_of_a_lesson_is_taken_once_and_promoting_gives_it_back() {
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
fn what_takes_the_place_of_another_holds_from_then_on() {
    let mut bench = Bench::new();
    let (four, eight) = two(&mut bench);
    bench.sql(&format!(
        "UPDATE learnings SET status = 'validated' WHERE id = '{eight}'"
    ));
    bench.store.supersede_learning(&four, &eight, day(3)).unwrap();
    assert_eq!(bench.get(&eight).status, LearningStatus::Promoted);
}

#[test]
fn no_lesson_takes_a_place_that_would_lead_nowhere() {
    let mut bench = Bench::new();
    let (four, eight) = two(&mut bench);
    let sixteen = bench.add(&lesson("tool_usage", "Build with -j 16", &["make"]), 3).id;
    let out = bench.add(&lesson("tool_usage", "Build with -j 32", &["make"]), 3).id;
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
        (&four, &four, format!("{four} cannot take its own place")),
        (
            &sixteen,
            &four,
            format!("{sixteen} has taken the place of {four}, so {four} cannot take that of {sixteen}"),
        ),
        (&four, &eight, format!("{sixteen} has taken the place of {eight}")),
        (
            &sixteen,
            &out,
            format!("{out} is rejected; only learnings that hold or wait take the place of others, or give up theirs"),
        ),
        (&unknown, &four, format!("Learning not found: {unknown}")),
    ] {
        let refused = bench.store.supersede_learning(old, new, day(5)).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    assert_eq!(bench.store.learnings().unwrap(), before);
}
