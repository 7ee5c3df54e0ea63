//! Conflicting learnings in a database on disk.

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use ralph_model::{LearningKind, SplitMix64, TaskType, TextFeatures};
use ralph_store::{AddedLearning, Judgement, NewLearning};
use ralph_testkit::run_learning;

use super::*;

struct Bench {
    _folder: tempfile::TempDir,
    store: Store,
    bits: SplitMix64,
    day: i64,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            _folder: folder,
            store,
            bits: SplitMix64::new(1),
            day: 0,
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_750_000_000).unwrap() + SignedDuration::from_hours(24 * self.day)
    }

    fn add(&mut self, content: &str) -> LearningId {
        self.day += 1;
        let new = NewLearning {
            category: "tool_usage".to_owned(),
            content: content.to_owned(),
            tags: vec!["make".to_owned()],
            task_type: None,
            features: TextFeatures::default(),
        };
        let now = self.now();
        match self.store.add_learning(&new, &mut self.bits, now).unwrap() {
            AddedLearning::Stored(learning) => learning.id,
            other => panic!("{other:?}"),
        }
    }

    fn found(&self) -> Vec<(String, String)> {
        let conflicts = conflicts(&self.store).unwrap();
        conflicts
            .into_iter()
            .map(|conflict| (conflict.one.content, conflict.other.content))
            .collect()
    }
}

fn pair(one: &str, other: &str) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

#[test]
fn newest_conflict_first_older_learning_first() {
    let mut bench = Bench::new();
    assert_eq!(bench.found(), []);
    bench.add("Build with -j 4");
    bench.add("Keep the lock while you write notes");
    bench.add("Read the log first");
    bench.add("Build with -j 8");
    bench.add("Never keep the lock while you write notes");
    assert_eq!(
        bench.found(),
        [
            pair(
                "Keep the lock while you write notes",
                "Never keep the lock while you write notes"
            ),
            pair("Build with -j 4", "Build with -j 8"),
        ]
    );
}

#[test]
fn settled_or_retired_learnings_do_not_conflict() {
    let mut bench = Bench::new();
    let four = bench.add("Build with -j 4");
    let eight = bench.add("Build with -j 8");
    let both = [pair("Build with -j 4", "Build with -j 8")];
    assert_eq!(bench.found(), both);
    let now = bench.now();
    let promote = |bench: &mut Bench, id: &LearningId| {
        let ids = std::slice::from_ref(id);
        bench.store.judge_learnings(ids, Judgement::Promote, now).unwrap();
    };
    bench.store.supersede_learning(&four, &eight, now).unwrap();
    assert_eq!(bench.found(), []);
    promote(&mut bench, &four);
    assert_eq!(bench.found(), both);
    let reject = Judgement::Reject("no");
    bench
        .store
        .judge_learnings(std::slice::from_ref(&eight), reject, now)
        .unwrap();
    assert_eq!(bench.found(), []);
    promote(&mut bench, &eight);
    assert_eq!(bench.found(), both);
    bench.store.settle_conflict(&eight, &four, now).unwrap();
    assert_eq!(bench.found(), []);
}

#[test]
fn no_conflict_is_missed_among_many() {
    let mut bits = SplitMix64::new(3);
    let words: Vec<String> = (0..60).map(|word| format!("w{word}word")).collect();
    let mut texts = Vec::new();
    for number in 0..150 {
        let length = 3 + number % 6;
        let mut text = if number % 3 == 0 {
            "Never ".to_owned()
        } else {
            String::new()
        };
        // Few first words, so that some are near-duplicates.
        for _ in 0..length {
            let next = usize::try_from(ralph_model::Entropy::next_bits(&mut bits) % 12).unwrap();
            text.push_str(&words[next]);
            text.push(' ');
        }
        texts.push(text);
    }
    let mut bench = Bench::new();
    let learnings: Vec<Learning> = texts
        .iter()
        .map(|text| {
            let id = bench.add(text);
            bench.store.learning(&id).unwrap().unwrap()
        })
        .collect();
    let mut expected: Vec<(String, String)> = Vec::new();
    for (place, one) in learnings.iter().enumerate() {
        for other in &learnings[place + 1..] {
            if crate::similarity::conflict(one, other).is_some() {
                expected.push(pair(&one.content, &other.content));
            }
        }
    }
    let mut found = bench.found();
    found.sort();
    expected.sort();
    assert!(!expected.is_empty());
    assert_eq!(found, expected);
}

proptest! {
    /// Only learnings with common words are compared; this must not miss any conflict.
    #[test]
    fn lookup_by_words_equals_full_comparison(
        texts in vec(
            (
                vec(select(vec![
                    "run", "never", "the", "migrations", "before", "tests", "with", "4", "8", "workers", "build", "not",
                    "cache", ", or it hangs", "because of the lock", ". It breaks.", "parser", "work.txt", "src/a.rs",
                ]), 1..9),
                subsequence(vec!["work.txt".to_owned(), "src/a.rs".to_owned()], 0..=2),
            ),
            2..24,
        )
    ) {
        let (kind, task_type) = (LearningKind::Strategy, TaskType::BugFix);
        let learning = |(number, (words, tags)): (u64, &(Vec<&str>, Vec<String>))| Learning {
            tags: tags.clone(),
            ..run_learning(number, kind, task_type, &words.join(" "))
        };
        let learnings: Vec<Learning> = (1..).zip(&texts).map(learning).collect();
        let mut all = Vec::new();
        for (older, one) in learnings.iter().enumerate() {
            for (newer, other) in learnings.iter().enumerate().take(older) {
                let why = LearningFeatures::of(one).conflict(&LearningFeatures::of(other));
                all.extend(why.map(|why| (newer, older, why)));
            }
        }
        all.sort_by_key(|(newer, older, _)| (*newer, *older));
        prop_assert_eq!(conflicting_pairs(&learnings), all);
    }
}
