//! How iterations affect the learnings in their prompts, and those that warn of their failures.

use ralph_model::{Learning, LearningStatus, Signature};

use super::*;

struct Iteration<'a> {
    outcome: Outcome,
    /// The injected learnings.
    injected: &'a [&'a LearningId],
    /// Equal for failures that are the same.
    signature: Option<u64>,
    evidence: Evidence,
    /// Category and text of a learning that it reports.
    reports: Option<(&'a str, &'a str)>,
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

    fn turn(&mut self, turn: &Iteration<'_>) {
        self.iteration += 1;
        let fence = self.bench.claim(&run_id(), self.iteration);
        let injected: Vec<Injection> = turn
            .injected
            .iter()
            .map(|id| Injection {
                kind: EntryKind::Learning,
                id: id.to_string(),
                ..injections().remove(0)
            })
            .collect();
        self.bench.store.record_start(&run_id(), &start(&injected)).unwrap();
        let mut settlement = settlement(turn.outcome, fence);
        settlement.row.iteration = self.iteration;
        settlement.task = TaskChange::Again;
        settlement.row.evidence = turn.evidence;
        settlement.signature = turn.signature.map(Signature::new);
        settlement.report = full(fence).report.filter(|_| turn.signature.is_some());
        let id = LearningId::new(u64::from(self.iteration));
        settlement.learnings.extend(turn.reports.map(|(category, content)| {
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

    /// Reports a learning, from done work or from a failure.
    fn report(&mut self, learning: (&str, &str), signature: Option<u64>) -> LearningId {
        let outcome = if signature.is_some() {
            Outcome::Failed
        } else {
            Outcome::Done
        };
        self.turn(&Iteration {
            outcome,
            injected: &[],
            signature,
            evidence: Evidence::Gates,
            reports: Some(learning),
        });
        LearningId::new(u64::from(self.iteration))
    }

    fn inject(&mut self, id: &LearningId, outcome: Outcome, signature: Option<u64>) {
        self.inject_with(Evidence::Gates, id, outcome, signature);
    }

    fn inject_with(&mut self, evidence: Evidence, id: &LearningId, outcome: Outcome, signature: Option<u64>) {
        self.turn(&Iteration {
            outcome,
            injected: &[id],
            signature,
            evidence,
            reports: None,
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
    let id = story.report(("tool_usage", "Look first."), None);
    about(story.get(&id).success_rate, 1.0);
    for (outcome, expected) in [
        (Outcome::Failed, 5.0 / 6.0),
        (Outcome::Done, 6.0 / 7.0),
        (Outcome::Interrupted, 6.0 / 7.0),
        (Outcome::Retried, 6.0 / 8.0),
        (Outcome::Blocked, 6.0 / 9.0),
    ] {
        story.inject(&id, outcome, None);
        about(story.get(&id).success_rate, expected);
    }
    let learning = story.get(&id);
    assert_eq!((learning.use_count, learning.successes), (4, 1));
    assert_eq!(story.bench.store.verify_learnings().unwrap(), []);
}

#[test]
fn done_work_without_evidence_does_not_affect_learnings() {
    let mut story = Story::new();
    let way = story.report(("tool_usage", "Look first."), None);
    let warning = story.report(("pitfall", "The cache lies."), Some(7));
    story.inject(&way, Outcome::Failed, None);
    let before = story.bench.store.learnings().unwrap();
    for id in [&way, &warning] {
        story.inject_with(Evidence::None, id, Outcome::Done, None);
    }
    assert_eq!(story.bench.store.learnings().unwrap(), before);
    assert_eq!(story.bench.number("SELECT sum(quiet_showings) FROM learnings"), 0);
    assert_eq!(story.bench.store.verify_learnings().unwrap(), []);
    // A failure counts without evidence.
    story.inject_with(Evidence::None, &way, Outcome::Failed, None);
    assert_eq!(story.get(&way).use_count, 2);
    assert_eq!(story.bench.store.verify_learnings().unwrap(), []);
}

#[test]
fn promotion_resets_the_rate_of_a_failing_strategy() {
    let mut story = Story::new();
    let id = story.report(("tool_usage", "Look first."), None);
    for _ in 0..8 {
        story.inject(&id, Outcome::Failed, None);
    }
    let failing = story.get(&id);
    assert!(!failing.is_eligible(), "{failing:?}");
    assert_eq!(failing.status, LearningStatus::Promoted);
    let promoted = story
        .bench
        .store
        .judge_learnings(std::slice::from_ref(&id), Judgement::Promote, at(99));
    assert_eq!(promoted.unwrap(), std::slice::from_ref(&id));
    let again = story.get(&id);
    assert!(again.is_eligible(), "{again:?}");
    about(again.success_rate, 1.0);
    assert_eq!((again.use_count, again.first_use_count, again.successes), (8, 8, 0));
    // By any command.
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
        assert!(promoted.is_eligible(), "{promoted:?}");
    }
    story.inject(&id, Outcome::Failed, None);
    about(story.get(&id).success_rate, 5.0 / 6.0);
    assert_eq!(story.bench.store.verify_learnings().unwrap(), []);
}

#[test]
fn warning_gains_confidence_when_its_failure_recurs() {
    let mut story = Story::new();
    let id = story.report(("pitfall", "The cache lies."), Some(7));
    about(story.get(&id).confidence, 0.5);
    // Injected or not.
    story.inject(&id, Outcome::Failed, Some(7));
    about(story.get(&id).confidence, 0.55);
    story.inject(&LearningId::new(99), Outcome::Retried, Some(7));
    about(story.get(&id).confidence, 0.6);
    // Another failure, done work, an interruption.
    story.inject(&id, Outcome::Failed, Some(8));
    story.inject(&id, Outcome::Done, None);
    story.inject(&id, Outcome::Interrupted, None);
    about(story.get(&id).confidence, 0.6);
    for _ in 0..9 {
        story.inject(&id, Outcome::Failed, Some(7));
    }
    let sure = story.get(&id);
    about(sure.confidence, 0.8);
    about(sure.success_rate, 0.0);
    // A higher confidence stays.
    story.bench.sql("UPDATE learnings SET confidence = 0.9");
    story.inject(&id, Outcome::Failed, Some(7));
    about(story.get(&id).confidence, 0.9);
    let rejected = Judgement::Reject("no");
    story.bench.sql("UPDATE learnings SET confidence = 0.5");
    story
        .bench
        .store
        .judge_learnings(std::slice::from_ref(&id), rejected, at(99))
        .unwrap();
    story.inject(&LearningId::new(99), Outcome::Failed, Some(7));
    about(story.get(&id).confidence, 0.5);
}

#[test]
fn unconfirmed_warning_loses_confidence() {
    let mut story = Story::new();
    let id = story.report(("pitfall", "The cache lies."), Some(7));
    let quiet = |story: &Story| story.bench.number("SELECT quiet_showings FROM learnings");
    for _ in 0..19 {
        story.inject(&id, Outcome::Done, None);
    }
    about(story.get(&id).confidence, 0.5);
    story.inject(&id, Outcome::Failed, Some(7));
    assert_eq!(quiet(&story), 0);
    for _ in 0..20 {
        story.inject(&id, Outcome::Failed, Some(8));
    }
    about(story.get(&id).confidence, 0.5);
    assert_eq!(quiet(&story), 0);
    story
        .bench
        .sql("UPDATE learnings SET confidence = 0.3, quiet_showings = 19");
    story.inject(&id, Outcome::Done, None);
    about(story.get(&id).confidence, 0.3);
}

/// Without a signature, recurrence cannot be detected.
#[test]
fn warning_without_signature_keeps_its_confidence() {
    let mut story = Story::new();
    let id = story.report(("pitfall", "The cache lies."), None);
    for _ in 0..40 {
        story.inject(&id, Outcome::Done, None);
    }
    about(story.get(&id).confidence, 0.5);
}

#[test]
fn merged_warning_inherits_signatures() {
    let mut story = Story::new();
    let older = story.report(("pitfall", "The cache lies."), Some(7));
    let newer = story.report(("pitfall", "The cache does not tell the truth."), Some(8));
    let group = MergeGroup {
        newest: newer.clone(),
        others: vec![older],
    };
    story.bench.store.merge_learnings(&[group], at(50)).unwrap();
    story.inject(&LearningId::new(99), Outcome::Failed, Some(7));
    about(story.get(&newer).confidence, 0.55);
}
