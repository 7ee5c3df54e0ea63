//! Learnings that are reported again in other words.

use ralph_model::{Learning, LearningStatus, MAX_EXAMPLES};

use super::*;

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

    /// Settles an iteration with these learnings, each with its id and its features.
    fn report(&mut self, reported: &[(u64, &str, TextFeatures)]) {
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
        settlement.features = reported.iter().map(|(_, _, features)| features.clone()).collect();
        self.bench.store.settle(&settlement).unwrap();
    }

    fn all(&self) -> Vec<Learning> {
        assert_eq!(self.bench.store.verify_learnings().unwrap(), []);
        self.bench.store.learnings().unwrap()
    }
}

/// The features of a text about leaping.
fn leap() -> TextFeatures {
    TextFeatures::new(1..9, 0)
}

#[test]
fn paraphrase_raises_confidence_and_is_kept_as_example() {
    let mut story = Story::new();
    story.report(&[(1, "Look before you leap.", leap())]);
    story.report(&[(2, "Before leaping, look.", leap())]);
    story.report(&[(3, "before LEAPING look", leap())]);
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
    let count = u64::try_from(MAX_EXAMPLES).unwrap() + 5;
    for number in 0..count {
        story.report(&[(10 + number, &format!("look, then leap {number}"), leap())]);
    }
    let [only] = story.all().try_into().unwrap();
    assert_eq!(only.examples.len(), MAX_EXAMPLES);
}

#[test]
fn near_duplicates_of_one_iteration_are_merged() {
    let mut story = Story::new();
    story.report(&[(1, "Keep the lock short.", TextFeatures::default())]);
    // The id of the first is taken.
    story.report(&[
        (1, "Look before you leap.", leap()),
        (7, "Before leaping, look.", leap()),
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
        "category = 'other'",
        "task_type = 'refactor'",
    ] {
        let mut story = Story::new();
        story.report(&[(1, "Look before you leap.", leap())]);
        story.bench.sql(&format!("UPDATE learnings SET {change}"));
        story.report(&[(2, "Before leaping, look.", leap())]);
        let learnings = story.bench.store.learnings().unwrap();
        assert_eq!(learnings.len(), 2, "{change}");
        let new = learnings.last().unwrap();
        assert_eq!(
            (new.status, new.content.as_str()),
            (LearningStatus::Promoted, "Before leaping, look.")
        );
    }
}

#[test]
fn near_duplicate_of_several_is_the_surest_then_the_oldest() {
    let mut story = Story::new();
    // Both are near to the second text, but not to each other.
    let (low, middle, high) = (
        TextFeatures::new(0..10, 7),
        TextFeatures::new(1..11, 7),
        TextFeatures::new(2..12, 7),
    );
    story.report(&[(1, "low", low), (2, "high", high)]);
    story.report(&[(3, "middle", middle.clone())]);
    story.bench.sql("UPDATE learnings SET confidence = 0.9 WHERE seq = 2");
    story.report(&[(4, "in the middle", middle.clone())]);
    let examples: Vec<Vec<String>> = story.all().into_iter().map(|learning| learning.examples).collect();
    assert_eq!(examples, [["middle"], ["in the middle"]]);
    let facts = TextFeatures::new(1..11, 8);
    story.report(&[(5, "the middle 8", facts)]);
    assert_eq!(story.all().len(), 3, "other numbers make another learning");
}

#[test]
fn changed_text_is_compared_by_its_new_words() {
    let mut story = Story::new();
    story.report(&[(1, "Look before you leap.", leap())]);
    let lock = TextFeatures::new(20..29, 0);
    let update = crate::LearningUpdate {
        content: Some("Keep the lock short.".to_owned()),
        features: lock.clone(),
        ..crate::LearningUpdate::default()
    };
    story
        .bench
        .store
        .update_learning(&LearningId::new(1), &update, at(9))
        .unwrap();
    let tags = crate::LearningUpdate {
        tags: Some(vec!["lock".to_owned()]),
        ..crate::LearningUpdate::default()
    };
    story
        .bench
        .store
        .update_learning(&LearningId::new(1), &tags, at(9))
        .unwrap();
    story.report(&[
        (2, "The lock: keep it short", lock),
        (3, "Before leaping, look.", leap()),
    ]);
    let all: Vec<(String, usize)> = story
        .all()
        .into_iter()
        .map(|it| (it.content, it.examples.len()))
        .collect();
    assert_eq!(
        all,
        [
            ("Keep the lock short.".to_owned(), 1),
            ("Before leaping, look.".to_owned(), 0)
        ]
    );
    assert_eq!(story.bench.number("SELECT count(*) FROM learning_prefixes"), 4);
}
