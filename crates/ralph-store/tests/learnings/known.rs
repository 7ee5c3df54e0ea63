//! Tests of learnings from runs and of queries that select a few of many.

use ralph_model::{Facts, Learning, LearningKind, LearningSource, LearningStatus, Signature, TaskType};
use ralph_store::{LearningFilter, LearningQuery};
use ralph_testkit::{put_learnings, run_learning};

use super::Bench;

impl Bench {
    pub(super) fn with_known(self, learnings: &[Learning]) -> Self {
        let learnings = learnings.iter();
        put_learnings(&self.folder.path().join("progress.db"), learnings);
        self
    }

    fn strengths(&self, query: &LearningQuery) -> Vec<i64> {
        let mut numbers = Vec::new();
        self.store
            .learning_strengths(query, &mut |strength| numbers.push(strength.number))
            .unwrap();
        numbers.sort_unstable();
        let matching: Vec<i64> = (1..10)
            .filter(|number| self.store.matches_query(*number, query).unwrap())
            .collect();
        assert_eq!(numbers, matching, "both queries match");
        numbers
    }
}

fn changed(number: u64, kind: LearningKind, change: impl FnOnce(&mut Learning)) -> Learning {
    let mut learning = run_learning(number, kind, TaskType::BugFix, &format!("learning {number}"));
    change(&mut learning);
    learning
}

use LearningKind::{Antipattern, Convention, Strategy};

#[test]
fn active_learnings_are_ordered_by_confidence() {
    let bench = Bench::new().with_known(&[
        changed(1, Strategy, |it| it.confidence = 0.6),
        changed(2, Strategy, |it| it.confidence = 0.9),
        changed(3, Strategy, |it| it.confidence = 0.6),
        changed(4, Strategy, |it| it.confidence = 0.4),
        changed(5, Strategy, |it| it.status = LearningStatus::Validated),
        changed(6, Strategy, |it| it.source = LearningSource::Human),
        changed(7, Strategy, |it| it.task_type = Some(TaskType::Feature)),
        changed(8, Strategy, |it| it.task_type = None),
        changed(9, Antipattern, |_| ()),
    ]);
    let found = |task_type, most| -> Vec<String> {
        let found = bench
            .store
            .run_learnings(Strategy, task_type, 0.5, most)
            .unwrap()
            .standing;
        found.into_iter().map(|learning| learning.content).collect()
    };
    assert_eq!(
        found(Some(TaskType::BugFix), 9),
        ["learning 2", "learning 3", "learning 1"]
    );
    assert_eq!(found(Some(TaskType::BugFix), 1), ["learning 2"]);
    assert_eq!(found(None, 9), ["learning 8"]);
    let others = |task_type| bench.store.has_learnings_of_other_work(task_type).unwrap();
    assert!(
        others(TaskType::Feature) && !others(TaskType::BugFix),
        "strategies do not count"
    );
}

/// Even if their confidence is higher: failures do not lower the confidence of a strategy.
#[test]
fn ineligible_strategies_do_not_count_toward_the_limit() {
    let mut learnings = Vec::new();
    for rate in [0.0, 0.39, 0.4, 0.59, 0.6, 1.0] {
        for uses in [(0, 0), (50, 50), (4, 0), (5, 0), (54, 50), (55, 50)] {
            for kind in [Strategy, Convention] {
                let number = u64::try_from(learnings.len()).unwrap() + 1;
                learnings.push(changed(number, kind, |it| {
                    it.success_rate = rate;
                    (it.use_count, it.first_use_count) = uses;
                }));
            }
        }
    }
    let due = |kind| -> Vec<&str> {
        let due = learnings.iter().rev().filter(|it| it.kind == kind && it.is_eligible());
        due.map(|it| it.content.as_str()).collect()
    };
    let bench = Bench::new().with_known(&learnings);
    for kind in [Strategy, Convention] {
        let found = |most| {
            bench
                .store
                .run_learnings(kind, Some(TaskType::BugFix), 0.5, most)
                .unwrap()
                .standing
        };
        let contents = |found: &[Learning]| -> Vec<String> { found.iter().map(|it| it.content.clone()).collect() };
        assert_eq!(contents(&found(99)), due(kind), "{kind}");
        assert_eq!(contents(&found(3)), due(kind)[..3], "{kind}");
    }
    assert!(due(Strategy).len() < due(Convention).len());
    let failing = |kind| {
        let known = bench.store.run_learnings(kind, Some(TaskType::BugFix), 0.5, 99);
        known.unwrap().failing
    };
    let named = failing(Strategy);
    assert!(
        named.len() == 3 && !named.iter().any(Learning::is_eligible),
        "{named:?}"
    );
    assert_eq!(failing(Convention), []);
}

#[test]
fn learnings_of_other_task_types_are_counted() {
    let bench = Bench::new().with_known(&[
        changed(1, Antipattern, |_| ()),
        changed(2, Antipattern, |it| it.task_type = Some(TaskType::Feature)),
        changed(3, Convention, |it| it.task_type = Some(TaskType::Refactor)),
        changed(4, Convention, |it| it.task_type = None),
        changed(5, Strategy, |it| it.task_type = None),
        changed(6, Convention, |_| ()),
    ]);
    let few = |task_type, most| {
        let few = bench.store.few_of_other_work(task_type, most).unwrap()?;
        Some(few.into_iter().collect::<std::collections::BTreeSet<i64>>())
    };
    assert_eq!(few(TaskType::BugFix, 3), Some([2, 3, 4].into()));
    assert_eq!(few(TaskType::Feature, 9), Some([1, 3, 4, 6].into()));
    assert_eq!(few(TaskType::BugFix, 2), None);
}

#[test]
fn warnings_are_found_by_failure_signature() {
    let bench = Bench::new().with_known(&[changed(1, Antipattern, |_| ()), changed(2, Antipattern, |_| ())]);
    let signature = Signature::new(7);
    bench.sql(&format!(
        "INSERT INTO learning_signatures (signature, learning) VALUES ('{signature}', 2)"
    ));
    let warnings = bench.store.learnings_warning_of(&signature, 5).unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].content, "learning 2");
    assert_eq!(bench.store.learnings_warning_of(&Signature::new(8), 5).unwrap(), []);
}

#[test]
fn query_filters_by_fields() {
    let bench = Bench::new().with_known(&[
        changed(1, Strategy, |it| it.confidence = 0.6),
        changed(2, Strategy, |it| it.success_rate = 0.5),
        changed(3, Strategy, |it| it.category = "odd".to_owned()),
        changed(4, Strategy, |it| it.tags = vec!["docker".to_owned()]),
        changed(5, Convention, |it| {
            let examples = vec!["src/größe.rs".to_owned()];
            it.facts = Some(Facts::Convention { examples });
        }),
        changed(6, Convention, |it| it.examples = vec!["lib/a.mjs".to_owned()]),
        changed(7, Antipattern, |it| it.status = LearningStatus::Validated),
        changed(8, Antipattern, |it| it.status = LearningStatus::Pruned),
        changed(9, Antipattern, |it| {
            it.superseded_by = Some(ralph_model::LearningId::new(1));
        }),
    ]);
    let check = |change: &dyn Fn(&mut LearningQuery), expected: &[i64]| {
        let mut query = LearningQuery::default();
        change(&mut query);
        assert_eq!(bench.strengths(&query), expected, "{query:?}");
    };
    check(&|_| (), &[1, 2, 3, 4, 5, 6, 7]);
    check(&|query| query.min_confidence = 0.7, &[2, 3, 4, 5, 6, 7]);
    check(&|query| query.min_success_rate = 0.6, &[1, 3, 4, 5, 6]);
    check(&|query| query.filter.kind = Some(Antipattern), &[7]);
    check(&|query| query.filter.task_type = Some(TaskType::Feature), &[]);
    check(&|query| query.filter.category = Some("odd".to_owned()), &[3]);
    check(&|query| query.filter.tag = Some("docker".to_owned()), &[4]);
    check(&|query| query.files = vec!["größe".to_owned(), "x".to_owned()], &[5]);
    check(
        &|query| query.files = vec![".mjs".to_owned(), ".rs".to_owned()],
        &[5, 6],
    );
    let all = LearningQuery {
        filter: LearningFilter {
            kind: Some(Strategy),
            task_type: Some(TaskType::BugFix),
            ..LearningFilter::default()
        },
        min_confidence: 0.6,
        min_success_rate: 0.6,
        files: Vec::new(),
    };
    assert_eq!(bench.strengths(&all), [1, 3, 4]);
}
