//! Lessons of other stores: nothing is there twice, nothing that a person said is undone.

use jiff::Timestamp;
use ralph_model::config::Promote;
use ralph_model::{EstimateFigures, Facts, LearningKind, LearningSource, LearningStatus, MOST_EXAMPLES, TaskType};
use ralph_store::{
    ForeignLearning, ForeignStanding, Judgement, LearningUpdate, NewLearning, Retold, Taken, TakenLearning,
};

use super::{Bench, day};

fn foreign(id: &str, content: &str) -> ForeignLearning {
    ForeignLearning {
        id: Some(id.to_owned()),
        kind: LearningKind::Strategy,
        category: "strategy".to_owned(),
        task_type: Some(TaskType::BugFix),
        content: content.to_owned(),
        tags: vec!["cargo".to_owned()],
        facts: Some(Facts::Strategy {
            effectiveness: 0.85,
            iterations: 12,
        }),
        confidence: 0.85,
        success_rate: 0.9,
        use_count: 5,
        source_loops: vec!["loop-1".to_owned()],
        standing: ForeignStanding::Promoted,
        original: Some(format!("{{\"id\":\"{id}\"}}")),
        created_at: day(-100),
        updated_at: day(-90),
        retold: None,
    }
}

impl Bench {
    fn import(&mut self, lessons: &[ForeignLearning], promote: Promote, at: Timestamp) -> Vec<TakenLearning> {
        self.store
            .import_learnings(lessons, promote, &mut self.bits, at)
            .unwrap()
    }

    /// What becomes of one.
    fn take(&mut self, lesson: &ForeignLearning) -> (Taken, LearningStatus, Option<String>) {
        let taken = self
            .import(std::slice::from_ref(lesson), Promote::Auto, day(0))
            .pop()
            .unwrap();
        (taken.taken, taken.status, taken.reason)
    }
}

/// Before the one that says the same comes in, a newer edition of that one has made another lesson of it; or a person has.
#[test]
fn what_another_lesson_no_longer_says_is_not_told_by_it() {
    let emulator = "Start the emulator before the suite";
    let reworded = foreign("two", "Before the suite, start the emulator");
    let mut bench = Bench::new();
    bench.take(&foreign("one", emulator));
    let [known] = bench.store.learnings().unwrap().try_into().unwrap();
    let newer = ForeignLearning {
        updated_at: day(1),
        ..foreign("one", "Compile the parser with the nightly toolchain")
    };
    let other = ForeignLearning {
        retold: Some(Retold::known(known.id, emulator)),
        ..reworded.clone()
    };
    let taken = bench.import(&[newer, other], Promote::Auto, day(1));
    let became: Vec<Taken> = taken.iter().map(|taken| taken.taken).collect();
    assert_eq!(became, [Taken::Updated, Taken::Added]);

    let mut bench = Bench::new();
    bench.take(&foreign("one", emulator));
    let [known] = bench.store.learnings().unwrap().try_into().unwrap();
    let other_words = LearningUpdate {
        content: Some("Compile the parser with the nightly toolchain".to_owned()),
        ..LearningUpdate::default()
    };
    bench.store.update_learning(&known.id, &other_words, day(1)).unwrap();
    let first = foreign("one", "Start the emulator before the whole suite");
    let second = ForeignLearning {
        retold: Some(Retold::earlier(0, &first.content)),
        ..reworded
    };
    bench.import(&[first, second], Promote::Auto, day(2));
    let learnings = bench.store.learnings().unwrap();
    assert!(
        learnings.iter().all(|learning| learning.examples.is_empty()),
        "{learnings:?}"
    );
    assert!(
        learnings
            .iter()
            .any(|learning| learning.foreign_id.as_deref() == Some("two")),
        "{learnings:?}"
    );
}

#[test]
fn what_is_said_in_other_words_makes_the_known_one_surer_and_once() {
    let mut bench = Bench::new();
    bench.take(&ForeignLearning {
        confidence: 0.6,
        ..foreign("one", "Start the emulator before the suite")
    });
    let [known] = bench.store.learnings().unwrap().try_into().unwrap();
    let other = ForeignLearning {
        retold: Some(Retold::known(known.id.clone(), &known.content)),
        ..foreign("two", "Before the suite, start the emulator")
    };
    let third = ForeignLearning {
        retold: other.retold.clone(),
        ..foreign("three", "The emulator: start it before the suite")
    };
    let both = [other, third];
    let taken = bench.import(&both, Promote::Auto, day(1));
    assert!(taken.iter().all(|taken| taken.taken == Taken::Reworded), "{taken:?}");
    let all = bench.store.learnings().unwrap();
    let [after, parts @ ..] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!((&after.id, &after.content), (&known.id, &known.content));
    assert_eq!((after.confidence, after.foreign_id.as_deref()), (0.85, Some("one")));
    assert_eq!(after.examples, [both[0].content.as_str(), both[1].content.as_str()]);
    assert_eq!(after.use_count, 15, "each brings its uses once");
    // What was said of them there is kept, under their own ids.
    for (part, lesson) in parts.iter().zip(&both) {
        assert_eq!(
            (part.status, &part.superseded_by),
            (LearningStatus::Pruned, &Some(known.id.clone()))
        );
        assert_eq!((&part.foreign_id, &part.content), (&lesson.id, &lesson.content));
    }
    let originals = bench.store.learnings_with_originals().unwrap();
    assert_eq!(originals[2].1, both[1].original);
    let again = bench.import(&both, Promote::Auto, day(2));
    assert!(again.iter().all(|taken| taken.taken == Taken::Unchanged), "{again:?}");
    assert_eq!(bench.store.verify_learnings().unwrap(), []);
    // Handed in to be judged it is known, and supports nothing.
    let staged = bench.store.stage_learnings(&both, &mut bench.bits, day(3)).unwrap();
    assert!(
        staged.iter().all(|staged| staged.taken == Taken::Unchanged),
        "{staged:?}"
    );
    // It can be undone like any merge.
    let part = std::slice::from_ref(&parts[0].id);
    bench.store.restore_learnings(part, day(4)).unwrap();
    let left = bench.get(&known.id);
    assert_eq!((left.use_count, left.examples.len()), (10, 1));
    assert_eq!(bench.store.verify_learnings().unwrap(), []);
}

#[test]
fn what_says_the_same_in_other_words_is_kept_also_where_it_supports_nothing_or_has_no_room() {
    let mut bench = Bench::new();
    bench.take(&foreign("known", "Start the emulator before the suite"));
    let [known] = bench.store.learnings().unwrap().try_into().unwrap();
    let reworded = |number: usize, standing: ForeignStanding| ForeignLearning {
        standing,
        retold: Some(Retold::known(known.id.clone(), &known.content)),
        ..foreign(
            &format!("other {number}"),
            &format!("Before suite {number}, start the emulator"),
        )
    };
    let unproven = [
        reworded(1, ForeignStanding::Pending),
        reworded(2, ForeignStanding::Rejected("no".to_owned())),
    ];
    let taken = bench.import(&unproven, Promote::Auto, day(1));
    let became: Vec<_> = taken.iter().map(|taken| (taken.taken, taken.status)).collect();
    assert_eq!(
        became,
        [
            (Taken::Added, LearningStatus::Pending),
            (Taken::Added, LearningStatus::Rejected)
        ]
    );
    assert_eq!(bench.get(&known.id), known);
    let many: Vec<_> = (10..25)
        .map(|number| reworded(number, ForeignStanding::Promoted))
        .collect();
    bench.import(&many, Promote::Auto, day(2));
    let learnings = bench.store.learnings().unwrap();
    assert_eq!(learnings.len(), 3 + many.len(), "none is lost");
    assert_eq!(learnings[0].examples.len(), MOST_EXAMPLES);
    assert_eq!(bench.store.verify_learnings().unwrap(), []);
    let again = bench.import(&many, Promote::Auto, day(3));
    assert!(again.iter().all(|taken| taken.taken == Taken::Unchanged), "{again:?}");
    assert_eq!(bench.store.learnings().unwrap(), learnings);
}

#[test]
fn a_lesson_is_taken_over_with_all_that_is_known_of_it() {
    let mut bench = Bench::new();
    let lesson = foreign("learn-abc", "Run cargo first");
    let taken = bench.import(std::slice::from_ref(&lesson), Promote::Auto, day(0));
    let id = taken.first().unwrap().id.clone();
    let learning = bench.get(&id);
    assert_eq!(
        (learning.source, learning.status),
        (LearningSource::Imported, LearningStatus::Promoted)
    );
    assert_eq!(
        (learning.use_count, learning.first_use_count, learning.successes),
        (5, 5, 0)
    );
    assert_eq!(
        (learning.success_rate, learning.first_success_rate, learning.confidence),
        (0.9, 0.9, 0.85)
    );
    assert_eq!((learning.created_at, learning.updated_at), (day(-100), day(0)));
    assert_eq!(
        (learning.foreign_id, learning.facts),
        (lesson.id.clone(), lesson.facts.clone())
    );
    let whole = bench.store.learnings_with_originals().unwrap();
    assert_eq!(whole.first().unwrap().1, lesson.original);
    // Once more, it is known.
    assert_eq!(bench.take(&lesson), (Taken::Unchanged, LearningStatus::Promoted, None));
    assert_eq!(bench.get(&id).updated_at, day(0));
}

#[test]
fn what_changed_elsewhere_is_brought_up_to_date_and_counted_once() {
    let mut bench = Bench::new();
    let lesson = foreign("learn-abc", "Run cargo first");
    let id = bench
        .import(std::slice::from_ref(&lesson), Promote::Auto, day(0))
        .pop()
        .unwrap()
        .id;
    let newer = ForeignLearning {
        content: "Run cargo check first".to_owned(),
        confidence: 0.5,
        use_count: 9,
        source_loops: vec!["loop-2".to_owned()],
        updated_at: day(1),
        ..lesson.clone()
    };
    assert_eq!(bench.take(&newer).0, Taken::Updated);
    assert_eq!(bench.take(&newer).0, Taken::Unchanged);
    let learning = bench.get(&id);
    assert_eq!(learning.content, "Run cargo check first");
    assert_eq!(
        (learning.use_count, learning.first_use_count, learning.confidence),
        (9, 9, 0.85)
    );
    assert_eq!(learning.source_loops, ["loop-1", "loop-2"]);
    // An older telling does not bring the old text back.
    assert_eq!(bench.take(&lesson).0, Taken::Unchanged);
    assert_eq!(bench.get(&id).content, "Run cargo check first");
    assert_eq!(bench.store.learnings().unwrap().len(), 1);
}

#[test]
fn the_same_lesson_is_made_surer_and_not_stored_twice() {
    let mut bench = Bench::new();
    let own = NewLearning {
        category: "tool_usage".to_owned(),
        content: "run `cargo` first!".to_owned(),
        tags: vec!["rust".to_owned()],
        task_type: Some(TaskType::BugFix),
        retold: None,
    };
    let own = bench.add(&own, 0);
    let lessons = [
        foreign("learn-abc", "Run cargo first"),
        foreign("learn-def", "RUN CARGO FIRST."),
    ];
    let taken = bench.import(&lessons, Promote::Auto, day(1));
    let what: Vec<Taken> = taken.iter().map(|taken| taken.taken).collect();
    assert_eq!(what, [Taken::Strengthened, Taken::Unchanged]);
    let learning = bench.get(&own.id);
    assert_eq!(
        (learning.source, learning.content),
        (LearningSource::Human, own.content)
    );
    assert_eq!(
        (learning.confidence, learning.use_count, learning.first_use_count),
        (0.85, 5, 5)
    );
    assert_eq!(
        (learning.tags, learning.source_loops),
        (vec!["rust".to_owned(), "cargo".to_owned()], vec!["loop-1".to_owned()])
    );
    assert_eq!(learning.foreign_id.as_deref(), Some("learn-abc"));
    assert_eq!(bench.store.learnings().unwrap().len(), 1);
    // At other work it is another lesson.
    let elsewhere = ForeignLearning {
        task_type: Some(TaskType::Feature),
        ..foreign("learn-ghi", "Run cargo first")
    };
    assert_eq!(bench.take(&elsewhere).0, Taken::Added);
}

#[test]
fn what_cannot_be_true_is_rejected_with_the_reason_and_kept_within_bounds() {
    for (lesson, reason) in [
        (
            ForeignLearning {
                task_type: None,
                ..foreign("a", "x")
            },
            "Missing required fields",
        ),
        (foreign("a", "?!"), "Missing required fields"),
        (
            ForeignLearning {
                confidence: 1.5,
                ..foreign("a", "x")
            },
            "Confidence must be between 0 and 1",
        ),
        (
            ForeignLearning {
                confidence: f64::NAN,
                ..foreign("a", "x")
            },
            "Confidence must be between 0 and 1",
        ),
        (
            ForeignLearning {
                success_rate: -1.0,
                ..foreign("a", "x")
            },
            "Success rate must be between 0 and 1",
        ),
        (
            ForeignLearning {
                confidence: 0.0,
                ..foreign("a", "x")
            },
            "Confidence too low (< 0.3)",
        ),
        (
            ForeignLearning {
                success_rate: 0.4,
                ..foreign("a", "x")
            },
            "Strategies should have success rate >= 0.5",
        ),
        (
            ForeignLearning {
                kind: LearningKind::Antipattern,
                ..foreign("a", "x")
            },
            "Anti-patterns should have low success rate",
        ),
    ] {
        let mut bench = Bench::new();
        let expected = (Taken::Added, LearningStatus::Rejected, Some(reason.to_owned()));
        assert_eq!(bench.take(&lesson), expected, "{lesson:?}");
        let learning = bench.store.learnings().unwrap().pop().unwrap();
        let is_share = |number: f64| (0.0..=1.0).contains(&number);
        assert!(is_share(learning.confidence) && is_share(learning.success_rate));
    }
}

#[test]
fn how_far_a_lesson_has_come_is_kept_and_never_less() {
    let mut bench = Bench::new();
    let staged = |standing: ForeignStanding| ForeignLearning {
        standing,
        ..foreign("stage-1", "Draw it first")
    };
    assert_eq!(bench.take(&staged(ForeignStanding::Pending)).1, LearningStatus::Pending);
    assert_eq!(
        bench.take(&staged(ForeignStanding::Validated)),
        (Taken::Updated, LearningStatus::Validated, None)
    );
    let promoted = foreign("learn-1", "Draw it first");
    assert_eq!(bench.take(&promoted).1, LearningStatus::Promoted);
    assert_eq!(
        bench.take(&staged(ForeignStanding::Pending)).1,
        LearningStatus::Promoted
    );
    assert_eq!(bench.store.learnings().unwrap().len(), 1);
    let rejected = ForeignLearning {
        standing: ForeignStanding::Rejected("Confidence too low (< 0.3)".to_owned()),
        ..foreign("stage-2", "Hope")
    };
    let expected = Some("Confidence too low (< 0.3)".to_owned());
    assert_eq!(
        bench.take(&rejected),
        (Taken::Added, LearningStatus::Rejected, expected)
    );
    // A person decides where people review.
    let reviewed = bench.import(&[foreign("learn-9", "Look twice")], Promote::Review, day(0));
    assert_eq!(reviewed.first().unwrap().status, LearningStatus::Validated);
}

#[test]
fn what_a_person_rejected_stays_rejected() {
    let mut bench = Bench::new();
    let lesson = foreign("learn-abc", "Run cargo first");
    let id = bench
        .import(std::slice::from_ref(&lesson), Promote::Auto, day(0))
        .pop()
        .unwrap()
        .id;
    bench
        .store
        .judge_learnings(std::slice::from_ref(&id), Judgement::Reject("no"), day(1))
        .unwrap();
    let newer = ForeignLearning {
        updated_at: day(2),
        ..lesson
    };
    assert_eq!(bench.take(&newer).1, LearningStatus::Rejected);
    assert_eq!(bench.get(&id).reason.as_deref(), Some("no"));
}

#[test]
fn an_id_of_our_form_is_kept_and_known_again() {
    let mut bench = Bench::new();
    let lesson = foreign("learn-0123abcd", "Run cargo first");
    let id = bench
        .import(std::slice::from_ref(&lesson), Promote::Auto, day(0))
        .pop()
        .unwrap()
        .id;
    assert_eq!(id.as_str(), "learn-0123abcd");
    // And what was learned here comes back under the id that it has here.
    let own = bench.add(&super::lesson("other", "Keep calm", &[]), 0);
    let back = ForeignLearning {
        use_count: 0,
        confidence: 0.5,
        source_loops: Vec::new(),
        tags: Vec::new(),
        ..foreign(own.id.as_str(), "Keep calm")
    };
    assert_eq!(bench.take(&back).0, Taken::Unchanged);
}

#[test]
fn estimates_of_the_same_complexity_are_one_whatever_they_say() {
    let mut bench = Bench::new();
    let estimate = |id: &str, content: &str, complexity: &str| ForeignLearning {
        kind: LearningKind::Estimate,
        facts: Some(Facts::Estimate {
            avg_iteration_time: 45000.0,
            total_iterations: 3.0,
            complexity: complexity.to_owned(),
            success_rate: 0.5,
            sampled: 0,
        }),
        source_loops: vec![format!("loop-{id}")],
        ..foreign(id, content)
    };
    assert_eq!(
        bench.take(&estimate("a", "bug-fix tasks of low complexity", "low")).0,
        Taken::Added
    );
    assert_eq!(bench.take(&estimate("b", "Small faults", "low")).0, Taken::Strengthened);
    assert_eq!(bench.take(&estimate("c", "Large faults", "high")).0, Taken::Added);
    let loops: Vec<Vec<String>> = bench
        .store
        .learnings()
        .unwrap()
        .into_iter()
        .map(|learning| learning.source_loops)
        .collect();
    assert_eq!(
        loops,
        [
            vec!["loop-a".to_owned(), "loop-b".to_owned()],
            vec!["loop-c".to_owned()]
        ]
    );
}

#[test]
fn figures_that_a_person_has_corrected_stay_when_the_estimate_comes_in_again() {
    let mut bench = Bench::new();
    let estimate = |iterations: f64, runs: &[&str]| ForeignLearning {
        kind: LearningKind::Estimate,
        facts: Some(Facts::Estimate {
            avg_iteration_time: 45000.0,
            total_iterations: iterations,
            complexity: "low".to_owned(),
            success_rate: 0.5,
            sampled: 0,
        }),
        source_loops: runs.iter().map(|run| (*run).to_owned()).collect(),
        ..foreign("a", "bug-fix tasks of low complexity")
    };
    bench.take(&estimate(3.0, &["loop-a"]));
    let figures = |bench: &Bench| {
        let learning = bench.store.learnings().unwrap().remove(0);
        learning.facts.unwrap().figures().unwrap()
    };
    let id = bench.store.learnings().unwrap().remove(0).id;
    let corrected = LearningUpdate {
        figures: EstimateFigures {
            iterations: Some(9),
            time: None,
        },
        ..LearningUpdate::default()
    };
    bench.store.update_learning(&id, &corrected, day(1)).unwrap();
    assert_eq!(figures(&bench), "about 9 iterations, 45 s each");
    bench.take(&estimate(4.0, &["loop-a", "loop-b"]));
    assert_eq!(figures(&bench), "about 9 iterations, 45 s each");
}

#[test]
fn a_lesson_that_another_one_stands_for_keeps_its_id_and_can_be_imported_again() {
    let mut bench = Bench::new();
    let lesson = foreign("learn-abc", "Run cargo first");
    let old = bench
        .import(std::slice::from_ref(&lesson), Promote::Auto, day(0))
        .remove(0)
        .id;
    let new = bench.add(&super::lesson("strategy", "Run cargo check first", &[]), 1);
    // Merged: what the one said stands among the examples of the other.
    bench.sql(&format!(
        "UPDATE learnings SET status = 'pruned', pruned_from = 'promoted', superseded_by = '{0}' WHERE id = '{old}';
         UPDATE learnings SET examples = '[\"Run cargo first\"]' WHERE id = '{0}';",
        new.id
    ));
    assert_eq!(bench.take(&lesson).0, Taken::Strengthened);
    assert_eq!(bench.get(&new.id).foreign_id, None);
    assert_eq!(bench.get(&old).foreign_id, lesson.id);
    assert_eq!(bench.take(&lesson).0, Taken::Unchanged);
    // Nor does another id with the same words change that.
    assert_eq!(bench.take(&foreign("learn-def", "Run cargo first")).0, Taken::Unchanged);
    assert_eq!(bench.get(&new.id).foreign_id, None);
}

/// A lesson as it is told some days later, with all that it says of itself.
fn told_on(at: i64, lesson: &ForeignLearning) -> ForeignLearning {
    let updated_at = day(at);
    let original = format!(
        r#"{{"successRate":{},"createdAt":"{}","updatedAt":"{updated_at}"}}"#,
        lesson.success_rate, lesson.created_at
    );
    ForeignLearning {
        original: Some(original),
        updated_at,
        ..lesson.clone()
    }
}

#[test]
fn what_a_person_put_in_place_of_what_was_taken_over_stays() {
    let mut bench = Bench::new();
    let lesson = told_on(-90, &foreign("learn-abc", "Run cargo first"));
    let id = bench
        .import(std::slice::from_ref(&lesson), Promote::Auto, day(0))
        .remove(0)
        .id;
    let update = LearningUpdate {
        content: Some("My own careful words".to_owned()),
        success_rate: Some(0.7),
        ..LearningUpdate::default()
    };
    bench.store.update_learning(&id, &update, day(1)).unwrap();
    let newer = ForeignLearning {
        use_count: 9,
        ..foreign("learn-abc", "Run cargo check first")
    };
    bench.take(&told_on(2, &newer));
    let learning = bench.get(&id);
    assert_eq!(
        (learning.content.as_str(), learning.first_success_rate),
        ("My own careful words", 0.7)
    );
    assert_eq!(
        learning.use_count, 9,
        "what is counted there is still brought up to date"
    );
}

#[test]
fn what_a_person_said_first_is_not_said_otherwise_by_another_store() {
    let mut bench = Bench::new();
    let own = NewLearning {
        task_type: Some(TaskType::BugFix),
        ..super::lesson("tool_usage", "Run cargo first", &[])
    };
    let own = bench.add(&own, 0);
    bench.take(&told_on(1, &foreign("learn-abc", "Run cargo first")));
    bench.take(&told_on(9, &foreign("learn-abc", "Run make first")));
    let learning = bench.get(&own.id);
    assert_eq!(
        (learning.content, learning.first_success_rate),
        (own.content, own.first_success_rate)
    );
}

#[test]
fn a_lesson_that_comes_to_say_what_another_says_makes_that_one_surer() {
    let mut bench = Bench::new();
    let lessons = [
        told_on(-90, &foreign("learn-abc", "Run cargo first")),
        told_on(-90, &foreign("learn-def", "Look twice")),
    ];
    let taken = bench.import(&lessons, Promote::Auto, day(0));
    let newer = ForeignLearning {
        confidence: 0.95,
        ..foreign("learn-abc", "Look twice!")
    };
    assert_eq!(bench.take(&told_on(2, &newer)).0, Taken::Strengthened);
    let told = taken.iter().map(|taken| bench.get(&taken.id));
    let told: Vec<(String, f64)> = told.map(|learning| (learning.content, learning.confidence)).collect();
    assert_eq!(
        told,
        [("Run cargo first".to_owned(), 0.85), ("Look twice".to_owned(), 0.95)]
    );
    assert_eq!(bench.take(&told_on(2, &newer)).0, Taken::Unchanged);
}

#[test]
fn uses_that_were_counted_here_are_not_counted_again_when_they_come_back() {
    let mut bench = Bench::new();
    let lesson = foreign("learn-abc", "Run cargo first");
    let id = bench
        .import(std::slice::from_ref(&lesson), Promote::Auto, day(0))
        .remove(0)
        .id;
    bench.sql("UPDATE learnings SET use_count = use_count + 10, successes = 10, success_rate = 0.96");
    for at in 1..4 {
        let back = ForeignLearning {
            use_count: bench.get(&id).use_count,
            success_rate: bench.get(&id).success_rate,
            ..lesson.clone()
        };
        assert_eq!(
            bench.take(&told_on(at, &back)).0,
            Taken::Updated,
            "its time is another one"
        );
        let learning = bench.get(&id);
        assert_eq!(
            (learning.use_count, learning.first_use_count, learning.successes),
            (15, 5, 10)
        );
        assert_eq!(learning.first_success_rate, lesson.success_rate);
    }
    let used_there = ForeignLearning {
        use_count: 17,
        ..lesson
    };
    bench.take(&used_there);
    assert_eq!((bench.get(&id).use_count, bench.get(&id).first_use_count), (17, 7));
}

#[test]
fn what_does_not_hold_elsewhere_makes_nothing_surer_here() {
    let mut bench = Bench::new();
    let own = NewLearning {
        task_type: Some(TaskType::BugFix),
        ..super::lesson("tool_usage", "Run cargo first", &[])
    };
    let own = bench.add(&own, 0);
    let same = || ForeignLearning {
        confidence: 0.95,
        ..foreign("learn-abc", "Run cargo first")
    };
    for lesson in [
        ForeignLearning {
            standing: ForeignStanding::Pending,
            ..same()
        },
        ForeignLearning {
            standing: ForeignStanding::Rejected("It is wrong".to_owned()),
            ..same()
        },
        ForeignLearning {
            confidence: 7.0,
            ..same()
        },
    ] {
        assert_eq!(
            bench.take(&lesson),
            (Taken::Unchanged, LearningStatus::Promoted, None),
            "{lesson:?}"
        );
        assert_eq!(bench.get(&own.id), own, "{lesson:?}");
    }
    assert_eq!(bench.take(&same()).0, Taken::Strengthened);
}

#[test]
fn two_lessons_that_two_stores_gave_the_same_id_are_both_kept() {
    let mut bench = Bench::new();
    let here = told_on(-90, &foreign("a2", "Bisect the history"));
    let id = bench
        .import(std::slice::from_ref(&here), Promote::Auto, day(0))
        .remove(0)
        .id;
    let warning = ForeignLearning {
        kind: LearningKind::Antipattern,
        success_rate: 0.1,
        confidence: 0.9,
        ..foreign("a2", "Avoid: Deleting the lock file")
    };
    let other = ForeignLearning {
        created_at: day(-80),
        ..foreign("a2", "Look twice")
    };
    for lesson in [warning, told_on(9, &other)] {
        assert_eq!(bench.take(&lesson).0, Taken::Added, "{lesson:?}");
        assert_eq!(bench.take(&lesson).0, Taken::Unchanged, "{lesson:?}");
    }
    let learning = bench.get(&id);
    assert_eq!(
        (learning.content.as_str(), learning.confidence),
        ("Bisect the history", 0.85)
    );
    let ids = bench
        .store
        .learnings()
        .unwrap()
        .into_iter()
        .map(|learning| learning.foreign_id);
    assert_eq!(ids.collect::<Vec<_>>(), [Some("a2".to_owned()), None, None]);
}

#[test]
fn a_text_that_changed_there_before_anything_happened_here_is_taken_over() {
    let mut bench = Bench::new();
    let lesson = told_on(-90, &foreign("learn-abc", "Run cargo first"));
    let id = bench
        .import(std::slice::from_ref(&lesson), Promote::Auto, day(0))
        .remove(0)
        .id;
    let newer = told_on(-80, &foreign("learn-abc", "Run cargo check first"));
    assert_eq!(bench.take(&newer).0, Taken::Updated);
    assert_eq!(bench.get(&id).content, "Run cargo check first");
    assert_eq!(
        bench.take(&lesson).0,
        Taken::Unchanged,
        "an older telling changes nothing"
    );
}
