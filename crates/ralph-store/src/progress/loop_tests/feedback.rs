//! What iterations say about the lessons that stood in their prompts, and about those that warned of how they failed.

use ralph_model::{Learning, LearningStatus, Signature};

use super::*;

/// An iteration.
struct Turn<'a> {
    outcome: Outcome,
    /// The lessons that stood in its prompt.
    shown: &'a [&'a LearningId],
    /// What makes its failure the same as another.
    signature: Option<u64>,
    evidence: Evidence,
    /// Category and text of a lesson that it tells.
    tells: Option<(&'a str, &'a str)>,
}

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

    fn turn(&mut self, turn: &Turn<'_>) {
        self.iteration += 1;
        let fence = self.bench.claim(&run_id(), self.iteration);
        let shown: Vec<Injection> = turn
            .shown
            .iter()
            .map(|id| Injection {
                kind: EntryKind::Learning,
                id: id.to_string(),
                ..injections().remove(0)
            })
            .collect();
        self.bench.store.record_start(&run_id(), &start(&shown)).unwrap();
        let mut settlement = settlement(turn.outcome, fence);
        settlement.row.iteration = self.iteration;
        settlement.task = TaskChange::Again;
        settlement.row.evidence = turn.evidence;
        settlement.signature = turn.signature.map(Signature::new);
        settlement.report = full(fence).report.filter(|_| turn.signature.is_some());
        let id = LearningId::new(u64::from(self.iteration));
        settlement.learnings.extend(turn.tells.map(|(category, content)| {
            let tags = vec!["a".to_owned()];
            (
                id,
                CapturedLearning {
                    category: category.to_owned(),
                    tags,
                    content: content.to_owned(),
                },
            )
        }));
        self.bench.store.settle(&settlement).unwrap();
    }

    /// Tells a lesson, in work that is done or in a failure.
    fn tell(&mut self, lesson: (&str, &str), signature: Option<u64>) -> LearningId {
        let outcome = if signature.is_some() {
            Outcome::Failed
        } else {
            Outcome::Done
        };
        self.turn(&Turn {
            outcome,
            shown: &[],
            signature,
            evidence: Evidence::Gates,
            tells: Some(lesson),
        });
        LearningId::new(u64::from(self.iteration))
    }

    fn show(&mut self, id: &LearningId, outcome: Outcome, signature: Option<u64>) {
        self.show_under(Evidence::Gates, id, outcome, signature);
    }

    fn show_under(&mut self, evidence: Evidence, id: &LearningId, outcome: Outcome, signature: Option<u64>) {
        self.turn(&Turn {
            outcome,
            shown: &[id],
            signature,
            evidence,
            tells: None,
        });
    }

    fn get(&self, id: &LearningId) -> Learning {
        self.bench.store.learning(id).unwrap().unwrap()
    }
}

#[track_caller]
fn about(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
}

#[test]
fn fault_27_success_rates_change_with_every_use() {
    let mut story = Story::new();
    let id = story.tell(("tool_usage", "Look first."), None);
    about(story.get(&id).success_rate, 1.0);
    for (outcome, expected) in [
        (Outcome::Failed, 5.0 / 6.0),
        (Outcome::Done, 6.0 / 7.0),
        (Outcome::Interrupted, 6.0 / 7.0),
        (Outcome::Retried, 6.0 / 8.0),
        (Outcome::Blocked, 6.0 / 9.0),
    ] {
        story.show(&id, outcome, None);
        about(story.get(&id).success_rate, expected);
    }
    let learning = story.get(&id);
    assert_eq!((learning.use_count, learning.successes), (4, 1));
    assert_eq!(story.bench.store.verify_learnings().unwrap(), []);
}

#[test]
fn work_that_is_done_without_evidence_says_nothing_about_lessons() {
    let mut story = Story::new();
    let way = story.tell(("tool_usage", "Look first."), None);
    let warning = story.tell(("pitfall", "The cache lies."), Some(7));
    story.show(&way, Outcome::Failed, None);
    let before = story.bench.store.learnings().unwrap();
    for id in [&way, &warning] {
        story.show_under(Evidence::None, id, Outcome::Done, None);
    }
    assert_eq!(story.bench.store.learnings().unwrap(), before);
    assert_eq!(story.bench.number("SELECT sum(quiet_showings) FROM learnings"), 0);
    assert_eq!(story.bench.store.verify_learnings().unwrap(), []);
    // That it failed is known, whatever the gates say.
    story.show_under(Evidence::None, &way, Outcome::Failed, None);
    assert_eq!(story.get(&way).use_count, 2);
    assert_eq!(story.bench.store.verify_learnings().unwrap(), []);
}

#[test]
fn a_person_gives_a_strategy_that_kept_failing_another_chance() {
    let mut story = Story::new();
    let id = story.tell(("tool_usage", "Look first."), None);
    for _ in 0..8 {
        story.show(&id, Outcome::Failed, None);
    }
    let failing = story.get(&id);
    assert!(!failing.may_be_shown(), "{failing:?}");
    assert_eq!(failing.status, LearningStatus::Promoted);
    let promoted = story
        .bench
        .store
        .judge_learnings(std::slice::from_ref(&id), Judgement::Promote, at(99));
    assert_eq!(promoted.unwrap(), std::slice::from_ref(&id));
    let again = story.get(&id);
    assert!(again.may_be_shown(), "{again:?}");
    about(again.success_rate, 1.0);
    assert_eq!((again.use_count, again.first_use_count, again.successes), (8, 8, 0));
    // Whichever way they say it.
    for promote in [
        |store: &mut Store, _: &Learning| drop(store.promote_validated(at(99)).unwrap()),
        |store: &mut Store, seen: &Learning| drop(store.judge_as_seen(seen, Verdict::Promote, at(99)).unwrap()),
    ] {
        let rate = "status = 'validated', success_rate = 0.33, first_success_rate = 0.33";
        story.bench.sql(&format!("UPDATE learnings SET {rate}"));
        let waiting = story.get(&id);
        promote(&mut story.bench.store, &waiting);
        let promoted = story.get(&id);
        assert_eq!(promoted.status, LearningStatus::Promoted);
        assert!(promoted.may_be_shown(), "{promoted:?}");
    }
    story.show(&id, Outcome::Failed, None);
    about(story.get(&id).success_rate, 5.0 / 6.0);
    assert_eq!(story.bench.store.verify_learnings().unwrap(), []);
}

#[test]
fn a_warning_is_surer_when_what_it_warns_of_comes_back_and_not_by_its_own_word() {
    let mut story = Story::new();
    let id = story.tell(("pitfall", "The cache lies."), Some(7));
    about(story.get(&id).confidence, 0.5);
    // Whether it stood in the prompt or not.
    story.show(&id, Outcome::Failed, Some(7));
    about(story.get(&id).confidence, 0.55);
    story.show(&LearningId::new(99), Outcome::Retried, Some(7));
    about(story.get(&id).confidence, 0.6);
    // Another failure, work that is done, an end that says nothing.
    story.show(&id, Outcome::Failed, Some(8));
    story.show(&id, Outcome::Done, None);
    story.show(&id, Outcome::Interrupted, None);
    about(story.get(&id).confidence, 0.6);
    for _ in 0..9 {
        story.show(&id, Outcome::Failed, Some(7));
    }
    let sure = story.get(&id);
    about(sure.confidence, 0.8);
    about(sure.success_rate, 0.0);
    // One that is surer already keeps it.
    story.bench.sql("UPDATE learnings SET confidence = 0.9");
    story.show(&id, Outcome::Failed, Some(7));
    about(story.get(&id).confidence, 0.9);
    let rejected = Judgement::Reject("no");
    story.bench.sql("UPDATE learnings SET confidence = 0.5");
    story
        .bench
        .store
        .judge_learnings(std::slice::from_ref(&id), rejected, at(99))
        .unwrap();
    story.show(&LearningId::new(99), Outcome::Failed, Some(7));
    about(story.get(&id).confidence, 0.5);
}

#[test]
fn a_warning_that_nothing_bears_out_is_less_sure_with_time() {
    let mut story = Story::new();
    let id = story.tell(("pitfall", "The cache lies."), Some(7));
    let quiet = |story: &Story| story.bench.number("SELECT quiet_showings FROM learnings");
    for _ in 0..19 {
        story.show(&id, Outcome::Done, None);
    }
    about(story.get(&id).confidence, 0.5);
    story.show(&id, Outcome::Failed, Some(7));
    assert_eq!(quiet(&story), 0);
    for _ in 0..20 {
        story.show(&id, Outcome::Failed, Some(8));
    }
    about(story.get(&id).confidence, 0.5);
    assert_eq!(quiet(&story), 0);
    story
        .bench
        .sql("UPDATE learnings SET confidence = 0.3, quiet_showings = 19");
    story.show(&id, Outcome::Done, None);
    about(story.get(&id).confidence, 0.3);
}

/// Whether what it warns of came back cannot be seen, so that it did not says nothing.
#[test]
fn a_warning_that_no_failure_is_known_by_stays_as_sure_as_it_is() {
    let mut story = Story::new();
    let id = story.tell(("pitfall", "The cache lies."), None);
    for _ in 0..40 {
        story.show(&id, Outcome::Done, None);
    }
    about(story.get(&id).confidence, 0.5);
}

#[test]
fn what_is_merged_into_a_warning_warns_with_it() {
    let mut story = Story::new();
    let older = story.tell(("pitfall", "The cache lies."), Some(7));
    let newer = story.tell(("pitfall", "The cache does not tell the truth."), Some(8));
    let group = MergeGroup {
        newest: newer.clone(),
        others: vec![older],
    };
    story.bench.store.merge_learnings(&[group], at(50)).unwrap();
    story.show(&LearningId::new(99), Outcome::Failed, Some(7));
    about(story.get(&newer).confidence, 0.55);
}
