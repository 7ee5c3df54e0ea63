//! The upkeep on a database on disk, with simulated time.

use std::cell::Cell;

use ralph_model::config::Learning as Settings;
use ralph_model::{CapturedLearning, Learning, LearningId, LearningStatus, RunId, SplitMix64, TextFeatures};
use ralph_store::{AddedLearning, NewLearning, Settlement};
use ralph_testkit::journal_row;

use super::*;

struct Bench {
    _folder: tempfile::TempDir,
    store: Store,
    bits: SplitMix64,
    iterations: u32,
}

fn day(day: i64) -> Timestamp {
    Timestamp::from_second(1_750_000_000).unwrap() + SignedDuration::from_hours(24 * day)
}

fn merge_above(above: u32) -> Settings {
    Settings {
        merge_above: Some(above),
        ..Settings::default()
    }
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            _folder: folder,
            store,
            bits: SplitMix64::new(1),
            iterations: 0,
        }
    }

    fn add(&mut self, content: &str, tags: &[&str], at: Timestamp) -> LearningId {
        let new = NewLearning {
            category: "other".to_owned(),
            content: content.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            task_type: None,
            features: TextFeatures::default(),
        };
        match self.store.add_learning(&new, &mut self.bits, at).unwrap() {
            AddedLearning::Stored(learning)
            | AddedLearning::Known(learning)
            | AddedLearning::Widened(learning)
            | AddedLearning::Reworded(learning)
            | AddedLearning::HoldsAgain { learning, .. } => learning.id,
        }
    }

    fn iterate(&mut self, times: u32) {
        for _ in 0..times {
            self.iterations += 1;
            let settlement = Settlement {
                learnings: Vec::<(LearningId, CapturedLearning)>::new(),
                ..Settlement::new(journal_row(RunId::new(1), self.iterations), 0)
            };
            self.store.settle(&settlement).unwrap();
        }
    }

    fn keep_up(&mut self, settings: &Settings, now: Timestamp, has_time: &dyn Fn() -> bool) -> Upkeep {
        let mut done = Upkeep::default();
        keep_up(&mut self.store, settings, now, has_time, &mut done).unwrap();
        done
    }

    fn standing(&self) -> Vec<Learning> {
        let all = self.store.learnings().unwrap().into_iter();
        all.filter(|learning| learning.status != LearningStatus::Pruned)
            .collect()
    }
}

#[test]
fn merge_needs_enough_learnings_and_iterations() {
    let mut bench = Bench::new();
    for number in 0..6 {
        bench.add(&format!("learning {number}"), &["cargo", "tests"], day(number));
    }
    let always = || true;
    assert_eq!(bench.keep_up(&merge_above(6), day(7), &always), Upkeep::default());
    let never = Settings {
        merge_above: None,
        ..Settings::default()
    };
    assert_eq!(bench.keep_up(&never, day(7), &always), Upkeep::default());
    let merged = Upkeep {
        merged: 5,
        into: 1,
        ..Upkeep::default()
    };
    assert_eq!(bench.keep_up(&merge_above(5), day(7), &always), merged);
    let [one] = bench.standing().try_into().unwrap();
    assert_eq!(one.content, "learning 5", "the newest text stays");
    assert_eq!(
        one.examples,
        ["learning 4", "learning 3", "learning 2", "learning 1", "learning 0"]
    );
    bench.add("a later learning", &["cargo", "tests"], day(8));
    bench.iterate(9);
    assert_eq!(
        bench.keep_up(&merge_above(1), day(8), &always),
        Upkeep::default(),
        "too early"
    );
    bench.iterate(1);
    let merged = Upkeep {
        merged: 1,
        into: 1,
        ..Upkeep::default()
    };
    assert_eq!(bench.keep_up(&merge_above(1), day(8), &always), merged);
    let [one] = bench.standing().try_into().unwrap();
    assert_eq!((one.content.as_str(), one.examples.len()), ("a later learning", 6));
}

#[test]
fn unfinished_upkeep_is_left_to_the_next_run() {
    let mut bench = Bench::new();
    for number in 0..600 {
        let tags = [format!("tag {}", number / 10)];
        let part = char::from(b'a' + u8::try_from(number / 10 % 20).unwrap());
        let own: String = number
            .to_string()
            .bytes()
            .map(|digit| char::from(digit - b'0' + b'k'))
            .collect();
        bench.add(&format!("learning x{own} of part{part}"), &[&tags[0]], day(0));
    }
    // Time for the checks before pruning, shortening and merging, and for one batch of the merge.
    let looks = Cell::new(0);
    let little = || {
        looks.set(looks.get() + 1);
        looks.get() <= 4
    };
    let first = bench.keep_up(&merge_above(10), day(1), &little);
    assert_eq!((first.merged, first.into), (225, 25));
    let rest = bench.keep_up(&merge_above(10), day(1), &|| true);
    assert_eq!((rest.merged, rest.into), (315, 35), "the merge was not finished");
    assert_eq!(bench.standing().len(), 60);
    assert_eq!(bench.keep_up(&merge_above(10), day(1), &|| true), Upkeep::default());
    let none = Bench::new().keep_up(&merge_above(0), day(1), &|| false);
    assert_eq!(none, Upkeep::default());
}

#[test]
fn old_unused_learnings_are_pruned() {
    let mut bench = Bench::new();
    bench.add("old", &[], day(0));
    bench.add("old and supported", &[], day(0));
    bench.add("old and supported", &[], day(65));
    bench.add("young", &[], day(1));
    let settings = Settings::default();
    assert_eq!(
        bench.keep_up(&settings, day(90), &|| true).pruned,
        0,
        "not older than 90 days"
    );
    let now = day(90) + SignedDuration::from_secs(1);
    assert_eq!(bench.keep_up(&settings, now, &|| true).pruned, 1);
    let standing: Vec<String> = bench.standing().into_iter().map(|learning| learning.content).collect();
    assert_eq!(standing, ["old and supported", "young"]);
    let many = 2 * PIECE + 1;
    for number in 0..many {
        bench.add(&format!("learning {number}"), &[], day(0));
    }
    assert_eq!(bench.keep_up(&settings, now, &|| true).pruned, many as usize);
    let (old, reason) = (bench.store.learnings().unwrap(), Some(UNUSED_REASON));
    assert_eq!(old[0].reason.as_deref(), reason);
}
