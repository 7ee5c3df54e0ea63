//! Learnings that are reported again in other words.

use ralph_model::{Learning, LearningStatus, MAX_EXAMPLES};

use super::*;
use crate::Paraphrase;

struct Story {
    bench: Bench,
    iteration: u32,
}

impl Story {
    fn new() -> Self {
        Self {
            bench: Bench::new(),
            iteration: 0,
        }
    }

    /// Settles an iteration with these learnings, each with its id and its near-duplicate.
    fn report(&mut self, reported: &[(u64, &str, Option<Paraphrase>)]) {
        self.iteration += 1;
        let fence = self.bench.claim(&run_id(), self.iteration);
        let mut settlement = settlement(Outcome::Done, fence);
        settlement.row.iteration = self.iteration;
        settlement.task = TaskChange::Again;
        settlement.learnings = reported
            .iter()
            .map(|(id, content, _)| {
                let learning = CapturedLearning {
                    category: "tool_usage".to_owned(),
                    tags: vec![format!("tag{}", self.iteration)],
                    content: (*content).to_owned(),
                };
                (LearningId::new(*id), learning)
            })
            .collect();
        settlement.paraphrase = reported.iter().map(|(_, _, paraphrase)| paraphrase.clone()).collect();
        self.bench.store.settle(&settlement).unwrap();
    }

    fn all(&self) -> Vec<Learning> {
        assert_eq!(self.bench.store.verify_learnings().unwrap(), []);
        self.bench.store.learnings().unwrap()
    }
}

/// A near-duplicate of the first learning.
fn the_first() -> Option<Paraphrase> {
    Some(Paraphrase::known(LearningId::new(1), "Look before you leap."))
}

#[test]
fn paraphrase_raises_confidence_and_is_kept_as_example() {
    let mut story = Story::new();
    story.report(&[(1, "Look before you leap.", None)]);
    story.report(&[(2, "Before leaping, look.", the_first())]);
    story.report(&[(3, "before LEAPING look", the_first())]);
    let [only] = story.all().try_into().unwrap();
    assert_eq!(only.content, "Look before you leap.");
    assert_eq!(only.examples, ["Before leaping, look.", "before LEAPING look"]);
    assert_eq!(only.tags, ["tag1", "tag2", "tag3"]);
    assert!((only.confidence - 0.595).abs() < 1e-9, "{}", only.confidence);
    assert_eq!(
        story.bench.number("SELECT count(*) FROM learning_sources"),
        3,
        "every iteration that reported it is on record"
    );
    // It is also found by those words.
    assert_eq!(
        story
            .bench
            .number("SELECT count(*) FROM learnings_fts WHERE terms MATCH 'leap'"),
        1
    );
    let count = u64::try_from(MAX_EXAMPLES).unwrap() + 5;
    for number in 0..count {
        story.report(&[(10 + number, &format!("look, then leap {number}"), the_first())]);
    }
    let [only] = story.all().try_into().unwrap();
    assert_eq!(only.examples.len(), MAX_EXAMPLES);
}

#[test]
fn near_duplicates_of_one_iteration_are_merged() {
    let mut story = Story::new();
    story.report(&[(1, "Keep the lock short.", None)]);
    // The id of the first is taken.
    story.report(&[
        (1, "Look before you leap.", None),
        (
            7,
            "Before leaping, look.",
            Some(Paraphrase::earlier(0, "Look before you leap.")),
        ),
    ]);
    let [lock, leap] = story.all().try_into().unwrap();
    assert_eq!(
        (lock.content.as_str(), lock.examples.len()),
        ("Keep the lock short.", 0)
    );
    assert_eq!(
        (leap.id, leap.examples),
        (LearningId::new(2), vec!["Before leaping, look.".to_owned()])
    );
    assert!((leap.confidence - 0.5).abs() < 1e-9, "one iteration counts once");
}

#[test]
fn near_duplicate_of_inactive_learning_is_new() {
    for change in [
        "status = 'rejected'",
        "status = 'pruned'",
        "superseded_by = 'learn-000000ff'",
        "kind = 'convention'",
        "content = 'Keep the lock short.'",
        "task_type = 'refactor'",
        "id = 'learn-00000099'",
    ] {
        let mut story = Story::new();
        story.report(&[(1, "Look before you leap.", None)]);
        story.bench.sql(&format!("UPDATE learnings SET {change}"));
        story.report(&[(2, "Before leaping, look.", the_first())]);
        let learnings = story.bench.store.learnings().unwrap();
        assert_eq!(learnings.len(), 2, "{change}");
        let new = learnings.last().unwrap();
        assert_eq!(
            (new.status, new.content.as_str()),
            (LearningStatus::Promoted, "Before leaping, look.")
        );
    }
}
