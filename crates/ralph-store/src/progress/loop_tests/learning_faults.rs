//! Tests of verifying and repairing learnings.

use ralph_model::Learning;

use super::learnings::{Story, Told};
use super::*;

/// Three learnings, two of them injected: one is merged into another, and one is superseded.
fn story() -> Story {
    let tells = |learnings: &[&'static str]| Told {
        learnings: learnings
            .iter()
            .map(|text| ("tool_usage", *text, "cargo test"))
            .collect(),
        ..Told::once(Outcome::Done, "")
    };
    let mut story = Story::of(&[tells(&["Use one thread.", "Use two threads.", "Use no thread at all."])]);
    for (outcome, shown) in [
        (Outcome::Done, &[1, 2][..]),
        (Outcome::Failed, &[1]),
        (Outcome::Interrupted, &[1, 2]),
        (Outcome::Retried, &[2]),
    ] {
        story.tell(&Told {
            outcome,
            shown: shown.iter().map(|id| LearningId::new(*id)).collect(),
            ..tells(&[])
        });
    }
    let group = MergeGroup {
        newest: LearningId::new(1),
        others: vec![LearningId::new(2)],
    };
    let merged = story.bench.store.merge_learnings(&[group], at(20)).unwrap();
    assert_eq!(merged.merged, 1);
    story
}

fn faults(story: &Story) -> Vec<String> {
    let found = story.bench.store.verify_learnings().unwrap();
    let line = |fault: &LearningFault| {
        let id = fault.id.as_ref().map_or("database", |id| id.as_str());
        format!("{id}: {}", fault.what)
    };
    found.iter().map(line).collect()
}

#[test]
fn store_operations_cause_no_faults() {
    let mut story = story();
    assert_eq!(faults(&story), [""; 0]);
    let store = &mut story.bench.store;
    let (one, two) = (LearningId::new(1), LearningId::new(2));
    let counts = |learning: &Learning| (learning.use_count, learning.successes);
    assert_eq!(counts(&store.learning(&one).unwrap().unwrap()), (4, 2));
    store.restore_learnings(std::slice::from_ref(&two), at(21)).unwrap();
    assert_eq!(faults(&story), [""; 0]);
    let store = &mut story.bench.store;
    assert_eq!(counts(&store.learning(&one).unwrap().unwrap()), (2, 1));
    store
        .judge_learnings(std::slice::from_ref(&one), Judgement::Reject("no"), at(22))
        .unwrap();
    store.delete_learnings(&[two], at(23)).unwrap();
    assert_eq!(faults(&story), [""; 0]);
}

/// Changes counts, checks the reported problem, and that the repair brings the old counts back.
#[track_caller]
fn check(broken: &str, expected: &[&str]) {
    let mut story = story();
    let before = story.learnings();
    story.bench.sql(broken);
    assert_eq!(faults(&story), expected, "{broken}");
    let recounted = story.bench.store.recount_learnings().unwrap();
    assert_eq!(recounted.len(), expected.len(), "{broken}");
    assert_eq!(faults(&story), [""; 0], "{broken}");
    assert_eq!(story.learnings(), before, "{broken}");
}

#[test]
fn counts_are_recomputed_from_the_journal() {
    check(
        "UPDATE learnings SET use_count = 9 WHERE seq = 1",
        &[
            "learn-00000001: it counts 9 uses, 2 of them done, and a success rate of 0.778; the journal says 4, 2 \
           and 0.778",
        ],
    );
    check(
        "UPDATE learnings SET success_rate = 0.1 WHERE seq = 2",
        &[
            "learn-00000002: it counts 2 uses, 1 of them done, and a success rate of 0.100; the journal says 2, 1 \
           and 0.857",
        ],
    );
    check(
        "UPDATE learnings SET last_used_at = NULL WHERE seq = 2",
        &[
            "learn-00000002: it counts 2 uses, 1 of them done, and a success rate of 0.857; the journal says 2, 1 \
           and 0.857; and it was last injected 2025-06-15T15:06:50.000Z",
        ],
    );
}

#[test]
fn values_of_another_shape_are_refused() {
    let story = story();
    let connection = story.bench.store.connection();
    for broken in [
        "tags = 'none'",
        "source_loops = ''",
        "examples = '['",
        "facts = '{'",
        "status = 'lost'",
        "kind = 7",
    ] {
        let refused = connection.execute_batch(&format!("UPDATE learnings SET {broken} WHERE seq = 3"));
        assert!(refused.is_err(), "{broken}");
    }
    assert_eq!(faults(&story), [""; 0]);
}

#[test]
fn damage_of_the_database_is_reported() {
    let mut story = story();
    story.bench.sql(
        "PRAGMA writable_schema = ON;
         DELETE FROM sqlite_schema WHERE name = 'learnings_by_task';
         PRAGMA writable_schema = RESET",
    );
    let found = story.bench.store.verify_learnings().unwrap();
    assert!(found.iter().any(|fault| fault.id.is_none()), "{found:?}");
    assert_eq!(story.bench.store.recount_learnings().unwrap(), []);
}
