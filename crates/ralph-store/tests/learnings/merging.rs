//! Tests of merging learnings and undoing it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proptest::prelude::*;
use ralph_model::{Learning, LearningId, LearningStatus};
use ralph_store::{AddedLearning, Judgement, MergeGroup, Merged, NewLearning, Store, Wait};

use crate::{Bench, day, learning};

/// Three active learnings with evidence, two of them from an agent, and the group of all.
fn three() -> (Bench, [LearningId; 3], MergeGroup) {
    let mut bench = Bench::new();
    bench.learn(1, &["first"]);
    bench.learn(2, &["second"]);
    let third = bench.add(&learning("pitfall", "third", &["compose"]), 3).id;
    let (first, second) = (LearningId::new(16), LearningId::new(32));
    let all = [first.clone(), second.clone(), third.clone()];
    bench.store.judge_learnings(&all, Judgement::Promote, day(4)).unwrap();
    bench.sql(&format!(
        "UPDATE learnings SET confidence = 0.8, use_count = 3, successes = 2, last_used_at = '{:.3}' WHERE content = 'first';
         UPDATE learnings SET use_count = 4, successes = 1 WHERE content = 'third';",
        day(4)
    ));
    let group = MergeGroup {
        newest: third.clone(),
        others: vec![second.clone(), first.clone(), third.clone(), LearningId::new(0xfff)],
    };
    (bench, all, group)
}

#[test]
fn merge_unites_the_evidence_of_all() {
    let (mut bench, [first, _, third], group) = three();
    let merged = bench.store.merge_learnings(&[group], day(5)).unwrap();
    assert_eq!(merged, Merged { merged: 2, into: 1 });
    let one = bench.get(&third);
    assert_eq!(
        (one.content.as_str(), one.examples.as_slice()),
        ("third", ["second".to_owned(), "first".to_owned()].as_slice())
    );
    assert_eq!(one.tags, ["compose", "docker"]);
    assert_eq!((one.use_count, one.successes, one.confidence), (7, 3, 0.8));
    assert_eq!(one.source_loops, ["run-00000001"]);
    assert_eq!(one.last_used_at, Some(day(4)));
    let gone = bench.get(&first);
    assert_eq!(
        (gone.status, gone.superseded_by.as_ref()),
        (LearningStatus::Pruned, Some(&third))
    );
    let reason = format!("Merged into {third}.");
    assert_eq!(gone.reason.as_deref(), Some(reason.as_str()));
    let taught: Vec<i64> = bench
        .store
        .learning_evidence(&third)
        .unwrap()
        .taught
        .iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(taught, [1, 2]);
    let [candidate] = bench.store.merge_candidates(9).unwrap().try_into().unwrap();
    assert_eq!((candidate.id, candidate.examples.len()), (third, 2));
}

#[test]
fn restore_separates_a_merged_learning() {
    let (mut bench, [first, second, third], group) = three();
    let before = bench.get(&first);
    bench
        .store
        .merge_learnings(std::slice::from_ref(&group), day(5))
        .unwrap();
    assert_eq!(
        bench.store.merge_learnings(&[group], day(6)).unwrap(),
        Merged::default(),
        "once"
    );
    let again = bench
        .store
        .add_learning(&learning("pitfall", "Second!", &[]), &mut bench.bits, day(6));
    assert!(
        matches!(again, Ok(AddedLearning::Known(known)) if known.id == third),
        "a merged one is known"
    );
    bench.store.restore_learnings(&[first.clone(), second], day(7)).unwrap();
    let one = bench.get(&third);
    assert_eq!((one.examples.len(), one.use_count, one.successes), (0, 4, 1));
    assert_eq!(without_update_time(&bench.get(&first)), without_update_time(&before));
    assert_eq!(bench.mergeable(), [third], "restored learnings are not merged again");
}

#[test]
fn promoted_merged_learning_is_not_merged_again() {
    let (mut bench, [first, _, third], group) = three();
    bench.store.merge_learnings(&[group], day(5)).unwrap();
    bench
        .store
        .judge_learnings(std::slice::from_ref(&first), Judgement::Promote, day(6))
        .unwrap();
    assert_eq!(bench.get(&first).status, LearningStatus::Promoted);
    assert_eq!(bench.mergeable(), [third]);
}

#[test]
fn merged_tags_are_limited() {
    let mut bench = Bench::new();
    let tags = |letter: &str| -> Vec<String> { (0..30).map(|number| format!("{letter}{number}")).collect() };
    let [older, newer] = ["older", "newer"].map(|content| {
        let new = NewLearning {
            tags: tags(content),
            ..learning("pitfall", content, &[])
        };
        bench.add(&new, 1).id
    });
    let group = MergeGroup {
        newest: newer.clone(),
        others: vec![older],
    };
    bench.store.merge_learnings(&[group], day(2)).unwrap();
    let merged = bench.get(&newer).tags;
    assert_eq!(merged.len(), 40);
    assert_eq!(merged[..30], tags("newer"), "its own come first");
    let again = NewLearning {
        tags: tags("again"),
        ..learning("pitfall", "newer", &[])
    };
    bench.store.add_learning(&again, &mut bench.bits, day(3)).unwrap();
    assert_eq!(bench.get(&newer).tags, merged);
}

/// A learning without its last change.
fn without_update_time(learning: &Learning) -> Learning {
    Learning {
        updated_at: Timestamp::UNIX_EPOCH,
        ..learning.clone()
    }
}

#[test]
fn iterations_are_counted_since_the_last_merge() {
    let mut bench = Bench::new();
    assert_eq!(bench.store.iterations_since_merge().unwrap(), None);
    bench.learn(1, &["a"]);
    bench.store.record_merge(day(1)).unwrap();
    assert_eq!(bench.store.iterations_since_merge().unwrap(), Some(0));
    bench.learn(2, &["b"]);
    bench.learn(3, &[]);
    assert_eq!(bench.store.iterations_since_merge().unwrap(), Some(2));
    bench.store.record_merge(day(3)).unwrap();
    assert_eq!(bench.store.iterations_since_merge().unwrap(), Some(0));
    assert_eq!(bench.store.active_learnings().unwrap(), 2);
}

#[test]
fn concurrent_merge_and_restore_keep_learnings_whole() {
    let mut bench = Bench::new();
    let contents: Vec<String> = (0..40).map(|number| format!("learning {number}")).collect();
    let ids: Vec<LearningId> = contents
        .iter()
        .zip(1..)
        .map(|(content, at)| bench.add(&learning("other", content, &["a"]), at).id)
        .collect();
    let path = bench.folder.path().join("progress.db");
    let groups: Vec<MergeGroup> = ids
        .chunks(4)
        .map(|part| MergeGroup {
            newest: part[3].clone(),
            others: part[..3].iter().rev().cloned().collect(),
        })
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
                for group in &groups {
                    store.merge_learnings(std::slice::from_ref(group), day(50)).unwrap();
                }
            });
        }
        scope.spawn(|| {
            let mut store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
            for id in &ids {
                // It is not merged yet, or it is the one that remains.
                drop(store.restore_learnings(std::slice::from_ref(id), day(51)));
            }
        });
    });
    assert_eq!(active_texts(&bench.store), contents.iter().cloned().collect());
    for learning in bench.store.learnings().unwrap() {
        let members = learning.examples.len();
        assert!(members <= 3, "{learning:?}");
        assert_eq!(
            learning.status == LearningStatus::Pruned,
            learning.superseded_by.is_some()
        );
    }
}

/// All texts of learnings that are not pruned.
fn active_texts(store: &Store) -> BTreeSet<String> {
    let all = store.learnings().unwrap().into_iter();
    let standing = all.filter(|learning| learning.status != LearningStatus::Pruned);
    standing
        .flat_map(|learning| learning.examples.into_iter().chain([learning.content]))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn merge_and_restore_lose_nothing(
        drawn in proptest::collection::vec((proptest::collection::vec("[a-e]", 0..4), 0_u32..5), 2..14),
        rounds in proptest::collection::vec(proptest::collection::vec(0_usize..14, 2..6), 1..5),
        order in any::<u64>(),
    ) {
        let mut bench = Bench::new();
        let mut ids = Vec::new();
        for (number, (tags, uses)) in (0..).zip(&drawn) {
            let tags: BTreeSet<&str> = tags.iter().map(String::as_str).collect();
            let new = learning("other", &format!("learning number {number}"), &tags.into_iter().collect::<Vec<_>>());
            let id = bench.add(&new, number).id;
            bench.sql(&format!("UPDATE learnings SET use_count = {uses}, successes = {uses} / 2 WHERE id = '{id}'"));
            ids.push(id);
        }
        let before: Vec<Learning> = ids.iter().map(|id| bench.get(id)).collect();
        for round in &rounds {
            let members: BTreeSet<usize> = round.iter().copied().filter(|at| *at < ids.len()).collect();
            let mut members = members.into_iter().rev().map(|at| ids[at].clone());
            let Some(newest) = members.next() else { continue };
            let group = MergeGroup { newest, others: members.collect() };
            bench.store.merge_learnings(&[group], day(100)).unwrap();
        }
        let contents: BTreeSet<String> = before.iter().map(|learning| learning.content.clone()).collect();
        prop_assert_eq!(active_texts(&bench.store), contents.clone());
        let standing: Vec<Learning> = ids.iter().map(|id| bench.get(id)).filter(|learning| learning.status != LearningStatus::Pruned).collect();
        let uses = |learnings: &[Learning]| learnings.iter().map(|learning| learning.use_count).sum::<u32>();
        prop_assert_eq!(uses(&standing), uses(&before));
        for learning in &standing {
            let texts: Vec<&String> = learning.examples.iter().chain([&learning.content]).collect();
            let parts = before.iter().filter(|part| texts.contains(&&part.content));
            let tags: BTreeSet<&String> = parts.flat_map(|part| &part.tags).collect();
            prop_assert_eq!(learning.tags.iter().collect::<BTreeSet<_>>(), tags);
        }
        let mut pruned: Vec<LearningId> = ids.iter().filter(|id| bench.get(id).status == LearningStatus::Pruned).cloned().collect();
        let by = usize::try_from(order % 7).unwrap() % pruned.len().max(1);
        pruned.rotate_left(by);
        for id in &pruned {
            bench.store.restore_learnings(std::slice::from_ref(id), day(101)).unwrap();
        }
        prop_assert_eq!(active_texts(&bench.store), contents);
        for (id, before) in ids.iter().zip(&before) {
            let after = bench.get(id);
            let told = |learning: &Learning| (learning.content.clone(), learning.examples.clone(), learning.use_count, learning.successes, learning.status, learning.superseded_by.clone());
            prop_assert_eq!(told(&after), told(before));
        }
    }
}
