//! Lessons that are told in other words.

use ralph_model::{Learning, LearningStatus, MOST_EXAMPLES};

use super::*;
use crate::Retold;

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

    /// Settles an iteration that tells these, each with its id and the lesson that says nearly the same.
    fn tell(&mut self, told: &[(u64, &str, Option<Retold>)]) {
        self.iteration += 1;
        let fence = self.bench.claim(&run_id(), self.iteration);
        let mut settlement = settlement(Outcome::Done, fence);
        settlement.row.iteration = self.iteration;
        settlement.task = TaskChange::Again;
        settlement.learnings = told
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
        settlement.retold = told.iter().map(|(_, _, retold)| retold.clone()).collect();
        self.bench.store.settle(&settlement).unwrap();
    }

    fn all(&self) -> Vec<Learning> {
        let seals = self.bench.store.learning_seals().unwrap();
        assert_eq!((seals.altered.len(), seals.unsealed), (0, 0));
        assert_eq!(self.bench.store.verify_learnings().unwrap(), []);
        self.bench.store.learnings().unwrap()
    }
}

/// The lesson with the first id.
fn the_first() -> Option<Retold> {
    Some(Retold::known(LearningId::new(1), "Look before you leap."))
}

#[test]
fn what_is_told_in_other_words_makes_the_known_one_surer_and_stands_beside_it() {
    let mut story = Story::new();
    story.tell(&[(1, "Look before you leap.", None)]);
    story.tell(&[(2, "Before leaping, look.", the_first())]);
    story.tell(&[(3, "before LEAPING look", the_first())]);
    let [only] = story.all().try_into().unwrap();
    assert_eq!(only.content, "Look before you leap.");
    assert_eq!(only.examples, ["Before leaping, look.", "before LEAPING look"]);
    assert_eq!(only.tags, ["tag1", "tag2", "tag3"]);
    assert!((only.confidence - 0.595).abs() < 1e-9, "{}", only.confidence);
    assert_eq!(
        story.bench.number("SELECT count(*) FROM learning_sources"),
        3,
        "every iteration that told it is on record"
    );
    // It is found by those words, too.
    assert_eq!(
        story
            .bench
            .number("SELECT count(*) FROM learnings_fts WHERE terms MATCH 'leap'"),
        1
    );
    let told = u64::try_from(MOST_EXAMPLES).unwrap() + 5;
    for number in 0..told {
        story.tell(&[(10 + number, &format!("look, then leap {number}"), the_first())]);
    }
    let [only] = story.all().try_into().unwrap();
    assert_eq!(only.examples.len(), MOST_EXAMPLES);
}

#[test]
fn two_of_one_iteration_become_one_under_whatever_id_it_is_kept() {
    let mut story = Story::new();
    story.tell(&[(1, "Keep the lock short.", None)]);
    // The id of the first is taken; and what is the same in its very words is that.
    story.tell(&[
        (1, "Look before you leap.", None),
        (
            7,
            "Before leaping, look.",
            Some(Retold::earlier(0, "Look before you leap.")),
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
    assert!((leap.confidence - 0.5).abs() < 1e-9, "one iteration is one telling");
}

#[test]
fn what_does_not_stand_any_more_is_not_told_again() {
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
        story.tell(&[(1, "Look before you leap.", None)]);
        story.bench.sql(&format!("UPDATE learnings SET {change}"));
        story.tell(&[(2, "Before leaping, look.", the_first())]);
        let learnings = story.bench.store.learnings().unwrap();
        assert_eq!(learnings.len(), 2, "{change}");
        let new = learnings.last().unwrap();
        assert_eq!(
            (new.status, new.content.as_str()),
            (LearningStatus::Promoted, "Before leaping, look.")
        );
    }
}
