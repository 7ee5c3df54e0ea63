//! Lessons of whole runs, and lessons that are asked for by what they are: few are taken from many.

use ralph_model::{Facts, Learning, LearningKind, LearningSource, LearningStatus, Signature, TaskType};
use ralph_store::{LearningFilter, LearningQuery, journal_terms};
use ralph_testkit::{known_lesson, put_lessons};

use super::Bench;

impl Bench {
    pub(super) fn with_known(self, lessons: &[Learning]) -> Self {
        let terms = |learning: &Learning| journal_terms(&learning.content);
        let lessons = lessons.iter().map(|learning| (learning, terms(learning)));
        put_lessons(&self.folder.path().join("progress.db"), lessons);
        self
    }

    fn strengths(&self, query: &LearningQuery) -> Vec<i64> {
        let mut numbers = Vec::new();
        self.store
            .learning_strengths(query, &mut |strength| numbers.push(strength.number))
            .unwrap();
        numbers.sort_unstable();
        let outlines = self.store.wanted_outlines(&[1, 2, 3, 4, 5, 6, 7, 8, 9], query).unwrap();
        let outlined: Vec<i64> = outlines.into_iter().map(|outline| outline.number).collect();
        assert_eq!(numbers, outlined, "both ask the same");
        numbers
    }
}

fn changed(number: u64, kind: LearningKind, change: impl FnOnce(&mut Learning)) -> Learning {
    let mut learning = known_lesson(number, kind, TaskType::BugFix, &format!("lesson {number}"));
    change(&mut learning);
    learning
}

use LearningKind::{Antipattern, Convention, Strategy};

#[test]
fn the_surest_of_a_kind_and_a_work_come_first_and_only_what_holds() {
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
            .known_lessons(Strategy, task_type, 0.5, most)
            .unwrap()
            .standing;
        found.into_iter().map(|learning| learning.content).collect()
    };
    assert_eq!(found(Some(TaskType::BugFix), 9), ["lesson 2", "lesson 3", "lesson 1"]);
    assert_eq!(found(Some(TaskType::BugFix), 1), ["lesson 2"]);
    assert_eq!(found(None, 9), ["lesson 8"]);
    let others = |task_type| bench.store.has_lessons_of_other_work(task_type).unwrap();
    assert!(
        others(TaskType::Feature) && !others(TaskType::BugFix),
        "strategies do not count"
    );
}

/// However sure the others are: how sure a strategy is does not fall with its failures.
#[test]
fn strategies_that_may_not_be_shown_take_no_place() {
    let mut lessons = Vec::new();
    for rate in [0.0, 0.39, 0.4, 0.59, 0.6, 1.0] {
        for uses in [(0, 0), (50, 50), (4, 0), (5, 0), (54, 50), (55, 50)] {
            for kind in [Strategy, Convention] {
                let number = u64::try_from(lessons.len()).unwrap() + 1;
                lessons.push(changed(number, kind, |it| {
                    it.success_rate = rate;
                    (it.use_count, it.first_use_count) = uses;
                }));
            }
        }
    }
    let due = |kind| -> Vec<&str> {
        let due = lessons.iter().rev().filter(|it| it.kind == kind && it.may_be_shown());
        due.map(|it| it.content.as_str()).collect()
    };
    let bench = Bench::new().with_known(&lessons);
    for kind in [Strategy, Convention] {
        let found = |most| {
            bench
                .store
                .known_lessons(kind, Some(TaskType::BugFix), 0.5, most)
                .unwrap()
                .standing
        };
        let contents = |found: &[Learning]| -> Vec<String> { found.iter().map(|it| it.content.clone()).collect() };
        assert_eq!(contents(&found(99)), due(kind), "{kind}");
        assert_eq!(contents(&found(3)), due(kind)[..3], "{kind}");
    }
    assert!(due(Strategy).len() < due(Convention).len());
    let failing = |kind| {
        let known = bench.store.known_lessons(kind, Some(TaskType::BugFix), 0.5, 99);
        known.unwrap().failing
    };
    let named = failing(Strategy);
    assert!(
        named.len() == 3 && !named.iter().any(Learning::may_be_shown),
        "{named:?}"
    );
    assert_eq!(failing(Convention), []);
}

#[test]
fn lessons_of_other_work_are_counted_whatever_the_own_work_taught() {
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
fn one_that_cannot_be_read_hides_no_other_and_is_named_once() {
    let mut bench = Bench::new().with_known(&[
        changed(1, Strategy, |it| it.confidence = 0.9),
        changed(2, Strategy, |it| it.confidence = 0.8),
        changed(3, Strategy, |it| it.confidence = 0.7),
        changed(4, Antipattern, |_| ()),
        changed(5, Antipattern, |_| ()),
    ]);
    let signature = Signature::new(7);
    bench.sql(&format!(
        "UPDATE learnings SET tags = 'not json' WHERE seq IN (1, 4);
         INSERT INTO learning_signatures (signature, learning) VALUES ('{signature}', 4), ('{signature}', 5);"
    ));
    let contents = |learnings: Vec<Learning>| -> Vec<String> { learnings.into_iter().map(|it| it.content).collect() };
    let known = bench.store.known_lessons(Strategy, Some(TaskType::BugFix), 0.5, 2);
    assert_eq!(contents(known.unwrap().standing), ["lesson 2", "lesson 3"]);
    assert_eq!(
        contents(bench.store.lessons_warning_of(&signature, 5).unwrap()),
        ["lesson 5"]
    );
    assert_eq!(contents(bench.store.learnings_numbered(&[1, 2]).unwrap()), ["lesson 2"]);
    assert_eq!(bench.listed(&LearningFilter::default()).len(), 3);
    let ids = |bench: &Bench| -> Vec<String> {
        let unreadable = bench.store.newly_unreadable_learnings().into_iter();
        unreadable.map(|lesson| lesson.id).collect()
    };
    let named = [1, 4].map(|number| ralph_model::LearningId::new(number).to_string());
    assert_eq!(ids(&bench), named);
    assert_eq!(contents(bench.store.learnings_numbered(&[1]).unwrap()), [""; 0]);
    assert_eq!(ids(&bench), [""; 0], "told already");
    let error = bench
        .store
        .learning(&ralph_model::LearningId::new(1))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&named[0]) && error.contains("`ralph learnings verify`"),
        "{error}"
    );
    // What is told again is kept, also if the row that has these words cannot be read.
    bench.learn(1, &["lesson 4"]);
    assert!(
        bench
            .listed(&LearningFilter::default())
            .contains(&"lesson 4".to_owned())
    );
}

#[test]
fn warnings_are_found_by_the_failure_that_they_warn_of() {
    let bench = Bench::new().with_known(&[changed(1, Antipattern, |_| ()), changed(2, Antipattern, |_| ())]);
    let signature = Signature::new(7);
    bench.sql(&format!(
        "INSERT INTO learning_signatures (signature, learning) VALUES ('{signature}', 2)"
    ));
    let warnings = bench.store.lessons_warning_of(&signature, 5).unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].content, "lesson 2");
    assert_eq!(bench.store.lessons_warning_of(&Signature::new(8), 5).unwrap(), []);
}

#[test]
fn a_query_asks_for_what_lessons_are() {
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
