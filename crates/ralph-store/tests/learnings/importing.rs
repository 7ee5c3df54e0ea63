//! Tests of importing learnings: no duplicates, and no user decision is undone.

use jiff::Timestamp;
use ralph_model::config::Promote;
use ralph_model::{
    EstimateFigures, Facts, LearningKind, LearningSource, LearningStatus, MAX_EXAMPLES, TaskType, TextFeatures,
};
use ralph_store::{
    ForeignLearning, ForeignLearningStatus, ImportOutcome, ImportedLearning, Judgement, LearningUpdate, NewLearning,
};

use super::{Bench, day, leap};

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
        standing: ForeignLearningStatus::Promoted,
        original: Some(format!("{{\"id\":\"{id}\"}}")),
        created_at: day(-100),
        updated_at: day(-90),
        features: TextFeatures::default(),
    }
}

impl Bench {
    fn import(&mut self, learnings: &[ForeignLearning], promote: Promote, at: Timestamp) -> Vec<ImportedLearning> {
        self.store
            .import_learnings(learnings, promote, &mut self.bits, at)
            .unwrap()
    }

    fn take(&mut self, learning: &ForeignLearning) -> (ImportOutcome, LearningStatus, Option<String>) {
        let taken = self
            .import(std::slice::from_ref(learning), Promote::Auto, day(0))
            .pop()
            .unwrap();
        (taken.taken, taken.status, taken.reason)
    }
}

#[test]
fn updated_learning_is_compared_by_its_new_words() {
    let mut bench = Bench::new();
    let known = ForeignLearning {
        features: leap(),
        ..foreign("one", "Start the emulator before the suite")
    };
    bench.take(&known);
    let newer = ForeignLearning {
        updated_at: day(1),
        features: TextFeatures::new(20..29, 0),
        ..foreign("one", "Compile the parser with the nightly toolchain")
    };
    let other = ForeignLearning {
        features: leap(),
        ..foreign("two", "Before the suite, start the emulator")
    };
    let third = ForeignLearning {
        features: newer.features.clone(),
        ..foreign("three", "With the nightly toolchain, compile the parser")
    };
    let taken = bench.import(&[newer, other, third], Promote::Auto, day(1));
    let became: Vec<ImportOutcome> = taken.iter().map(|taken| taken.taken).collect();
    assert_eq!(
        became,
        [ImportOutcome::Updated, ImportOutcome::Added, ImportOutcome::Reworded]
    );
}

#[test]
fn imported_paraphrase_strengthens_the_known_learning_once() {
    let mut bench = Bench::new();
    bench.take(&ForeignLearning {
        confidence: 0.6,
        features: leap(),
        ..foreign("one", "Start the emulator before the suite")
    });
    let [known] = bench.store.learnings().unwrap().try_into().unwrap();
    let other = ForeignLearning {
        features: leap(),
        ..foreign("two", "Before the suite, start the emulator")
    };
    let third = ForeignLearning {
        features: leap(),
        ..foreign("three", "The emulator: start it before the suite")
    };
    let both = [other, third];
    let taken = bench.import(&both, Promote::Auto, day(1));
    assert!(
        taken.iter().all(|taken| taken.taken == ImportOutcome::Reworded),
        "{taken:?}"
    );
    let all = bench.store.learnings().unwrap();
    let [after, parts @ ..] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!((&after.id, &after.content), (&known.id, &known.content));
    assert_eq!((after.confidence, after.foreign_id.as_deref()), (0.85, Some("one")));
    assert_eq!(after.examples, [both[0].content.as_str(), both[1].content.as_str()]);
    assert_eq!(after.use_count, 15, "each brings its uses once");
    // Their original records are stored under their own ids.
    for (part, learning) in parts.iter().zip(&both) {
        assert_eq!(
            (part.status, &part.superseded_by),
            (LearningStatus::Pruned, &Some(known.id.clone()))
        );
        assert_eq!((&part.foreign_id, &part.content), (&learning.id, &learning.content));
    }
    let originals = bench.store.learnings_with_originals().unwrap();
    assert_eq!(originals[2].1, both[1].original);
    let again = bench.import(&both, Promote::Auto, day(2));
    assert!(
        again.iter().all(|taken| taken.taken == ImportOutcome::Unchanged),
        "{again:?}"
    );
    assert_eq!(bench.store.verify_learnings().unwrap(), []);
    // A learning submitted for review is known, and is not evidence.
    let staged = bench.store.stage_learnings(&both, &mut bench.bits, day(3)).unwrap();
    assert!(
        staged.iter().all(|staged| staged.taken == ImportOutcome::Unchanged),
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
fn paraphrase_without_support_or_space_is_stored() {
    let mut bench = Bench::new();
    bench.take(&ForeignLearning {
        features: leap(),
        ..foreign("known", "Start the emulator before the suite")
    });
    let [known] = bench.store.learnings().unwrap().try_into().unwrap();
    let reworded = |number: usize, standing: ForeignLearningStatus| ForeignLearning {
        standing,
        features: leap(),
        ..foreign(
            &format!("other {number}"),
            &format!("Before suite {number}, start the emulator"),
        )
    };
    let unproven = [
        reworded(1, ForeignLearningStatus::Pending),
        reworded(2, ForeignLearningStatus::Rejected("no".to_owned())),
    ];
    let taken = bench.import(&unproven, Promote::Auto, day(1));
    let became: Vec<_> = taken.iter().map(|taken| (taken.taken, taken.status)).collect();
    assert_eq!(
        became,
        [
            (ImportOutcome::Added, LearningStatus::Pending),
            (ImportOutcome::Added, LearningStatus::Rejected)
        ]
    );
    assert_eq!(bench.get(&known.id), known);
    let many: Vec<_> = (10..25)
        .map(|number| reworded(number, ForeignLearningStatus::Promoted))
        .collect();
    bench.import(&many, Promote::Auto, day(2));
    let learnings = bench.store.learnings().unwrap();
    assert_eq!(learnings.len(), 3 + many.len(), "none is lost");
    assert_eq!(learnings[0].examples.len(), MAX_EXAMPLES);
    assert_eq!(bench.store.verify_learnings().unwrap(), []);
    let again = bench.import(&many, Promote::Auto, day(3));
    assert!(
        again.iter().all(|taken| taken.taken == ImportOutcome::Unchanged),
        "{again:?}"
    );
    assert_eq!(bench.store.learnings().unwrap(), learnings);
}

#[test]
fn learning_is_imported_with_all_fields() {
    let mut bench = Bench::new();
    let given = foreign("learn-abc", "Run cargo first");
    let taken = bench.import(std::slice::from_ref(&given), Promote::Auto, day(0));
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
        (given.id.clone(), given.facts.clone())
    );
    let whole = bench.store.learnings_with_originals().unwrap();
    assert_eq!(whole.first().unwrap().1, given.original);
    // A second import changes nothing.
    assert_eq!(
        bench.take(&given),
        (ImportOutcome::Unchanged, LearningStatus::Promoted, None)
    );
    assert_eq!(bench.get(&id).updated_at, day(0));
}

#[test]
fn changed_learning_is_updated_and_counted_once() {
    let mut bench = Bench::new();
    let given = foreign("learn-abc", "Run cargo first");
    let id = bench
        .import(std::slice::from_ref(&given), Promote::Auto, day(0))
        .pop()
        .unwrap()
        .id;
    let newer = ForeignLearning {
        content: "Run cargo check first".to_owned(),
        confidence: 0.5,
        use_count: 9,
        source_loops: vec!["loop-2".to_owned()],
        updated_at: day(1),
        ..given.clone()
    };
    assert_eq!(bench.take(&newer).0, ImportOutcome::Updated);
    assert_eq!(bench.take(&newer).0, ImportOutcome::Unchanged);
    let learning = bench.get(&id);
    assert_eq!(learning.content, "Run cargo check first");
    assert_eq!(
        (learning.use_count, learning.first_use_count, learning.confidence),
        (9, 9, 0.85)
    );
    assert_eq!(learning.source_loops, ["loop-1", "loop-2"]);
    // An older version does not restore the old text.
    assert_eq!(bench.take(&given).0, ImportOutcome::Unchanged);
    assert_eq!(bench.get(&id).content, "Run cargo check first");
    assert_eq!(bench.store.learnings().unwrap().len(), 1);
}

#[test]
fn duplicate_is_strengthened_and_not_stored_twice() {
    let mut bench = Bench::new();
    let own = NewLearning {
        category: "tool_usage".to_owned(),
        content: "run `cargo` first!".to_owned(),
        tags: vec!["rust".to_owned()],
        task_type: Some(TaskType::BugFix),
        features: TextFeatures::default(),
    };
    let own = bench.add(&own, 0);
    let learnings = [
        foreign("learn-abc", "Run cargo first"),
        foreign("learn-def", "RUN CARGO FIRST."),
    ];
    let taken = bench.import(&learnings, Promote::Auto, day(1));
    let what: Vec<ImportOutcome> = taken.iter().map(|taken| taken.taken).collect();
    assert_eq!(what, [ImportOutcome::Strengthened, ImportOutcome::Unchanged]);
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
    // For another task type it is another learning.
    let elsewhere = ForeignLearning {
        task_type: Some(TaskType::Feature),
        ..foreign("learn-ghi", "Run cargo first")
    };
    assert_eq!(bench.take(&elsewhere).0, ImportOutcome::Added);
}

#[test]
fn invalid_learning_is_rejected_and_clamped() {
    for (given, reason) in [
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
        let expected = (ImportOutcome::Added, LearningStatus::Rejected, Some(reason.to_owned()));
        assert_eq!(bench.take(&given), expected, "{given:?}");
        let learning = bench.store.learnings().unwrap().pop().unwrap();
        let is_share = |number: f64| (0.0..=1.0).contains(&number);
        assert!(is_share(learning.confidence) && is_share(learning.success_rate));
    }
}

#[test]
fn status_is_kept_and_never_lowered() {
    let mut bench = Bench::new();
    let staged = |standing: ForeignLearningStatus| ForeignLearning {
        standing,
        ..foreign("stage-1", "Draw it first")
    };
    assert_eq!(
        bench.take(&staged(ForeignLearningStatus::Pending)).1,
        LearningStatus::Pending
    );
    assert_eq!(
        bench.take(&staged(ForeignLearningStatus::Validated)),
        (ImportOutcome::Updated, LearningStatus::Validated, None)
    );
    let promoted = foreign("learn-1", "Draw it first");
    assert_eq!(bench.take(&promoted).1, LearningStatus::Promoted);
    assert_eq!(
        bench.take(&staged(ForeignLearningStatus::Pending)).1,
        LearningStatus::Promoted
    );
    assert_eq!(bench.store.learnings().unwrap().len(), 1);
    let rejected = ForeignLearning {
        standing: ForeignLearningStatus::Rejected("Confidence too low (< 0.3)".to_owned()),
        ..foreign("stage-2", "Hope")
    };
    let expected = Some("Confidence too low (< 0.3)".to_owned());
    assert_eq!(
        bench.take(&rejected),
        (ImportOutcome::Added, LearningStatus::Rejected, expected)
    );
    // With `Promote::Review` a user decides.
    let reviewed = bench.import(&[foreign("learn-9", "Look twice")], Promote::Review, day(0));
    assert_eq!(reviewed.first().unwrap().status, LearningStatus::Validated);
}

#[test]
fn learning_rejected_by_a_user_stays_rejected() {
    let mut bench = Bench::new();
    let learning = foreign("learn-abc", "Run cargo first");
    let id = bench
        .import(std::slice::from_ref(&learning), Promote::Auto, day(0))
        .pop()
        .unwrap()
        .id;
    bench
        .store
        .judge_learnings(std::slice::from_ref(&id), Judgement::Reject("no"), day(1))
        .unwrap();
    let newer = ForeignLearning {
        updated_at: day(2),
        ..learning
    };
    assert_eq!(bench.take(&newer).1, LearningStatus::Rejected);
    assert_eq!(bench.get(&id).reason.as_deref(), Some("no"));
}

#[test]
fn id_in_our_format_is_kept() {
    let mut bench = Bench::new();
    let learning = foreign("learn-0123abcd", "Run cargo first");
    let id = bench
        .import(std::slice::from_ref(&learning), Promote::Auto, day(0))
        .pop()
        .unwrap()
        .id;
    assert_eq!(id.as_str(), "learn-0123abcd");
    // A learning from here keeps its id when it is imported again.
    let own = bench.add(&super::learning("other", "Keep calm", &[]), 0);
    let back = ForeignLearning {
        use_count: 0,
        confidence: 0.5,
        source_loops: Vec::new(),
        tags: Vec::new(),
        ..foreign(own.id.as_str(), "Keep calm")
    };
    assert_eq!(bench.take(&back).0, ImportOutcome::Unchanged);
}

#[test]
fn estimates_of_equal_complexity_are_duplicates() {
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
        ImportOutcome::Added
    );
    assert_eq!(
        bench.take(&estimate("b", "Small faults", "low")).0,
        ImportOutcome::Strengthened
    );
    assert_eq!(
        bench.take(&estimate("c", "Large faults", "high")).0,
        ImportOutcome::Added
    );
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
fn corrected_figures_survive_a_second_import() {
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
fn merged_learning_can_be_imported_again() {
    let mut bench = Bench::new();
    let learning = foreign("learn-abc", "Run cargo first");
    let old = bench
        .import(std::slice::from_ref(&learning), Promote::Auto, day(0))
        .remove(0)
        .id;
    let new = bench.add(&super::learning("strategy", "Run cargo check first", &[]), 1);
    // Merged: the text of one is among the examples of the other.
    bench.sql(&format!(
        "UPDATE learnings SET status = 'pruned', pruned_from = 'promoted', superseded_by = '{0}' WHERE id = '{old}';
         UPDATE learnings SET examples = '[\"Run cargo first\"]' WHERE id = '{0}';",
        new.id
    ));
    assert_eq!(bench.take(&learning).0, ImportOutcome::Strengthened);
    assert_eq!(bench.get(&new.id).foreign_id, None);
    assert_eq!(bench.get(&old).foreign_id, learning.id);
    assert_eq!(bench.take(&learning).0, ImportOutcome::Unchanged);
    // Another id with the same words does not change that.
    assert_eq!(
        bench.take(&foreign("learn-def", "Run cargo first")).0,
        ImportOutcome::Unchanged
    );
    assert_eq!(bench.get(&new.id).foreign_id, None);
}

/// A version of a learning from some days later, with its original record.
fn version_of_day(at: i64, learning: &ForeignLearning) -> ForeignLearning {
    let updated_at = day(at);
    let original = format!(
        r#"{{"successRate":{},"createdAt":"{}","updatedAt":"{updated_at}"}}"#,
        learning.success_rate, learning.created_at
    );
    ForeignLearning {
        original: Some(original),
        updated_at,
        ..learning.clone()
    }
}

#[test]
fn user_changes_survive_an_import() {
    let mut bench = Bench::new();
    let given = version_of_day(-90, &foreign("learn-abc", "Run cargo first"));
    let id = bench
        .import(std::slice::from_ref(&given), Promote::Auto, day(0))
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
    bench.take(&version_of_day(2, &newer));
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
fn import_does_not_change_a_user_learning() {
    let mut bench = Bench::new();
    let own = NewLearning {
        task_type: Some(TaskType::BugFix),
        ..super::learning("tool_usage", "Run cargo first", &[])
    };
    let own = bench.add(&own, 0);
    bench.take(&version_of_day(1, &foreign("learn-abc", "Run cargo first")));
    bench.take(&version_of_day(9, &foreign("learn-abc", "Run make first")));
    let learning = bench.get(&own.id);
    assert_eq!(
        (learning.content, learning.first_success_rate),
        (own.content, own.first_success_rate)
    );
}

#[test]
fn update_to_a_duplicate_strengthens_the_other() {
    let mut bench = Bench::new();
    let learnings = [
        version_of_day(-90, &foreign("learn-abc", "Run cargo first")),
        version_of_day(-90, &foreign("learn-def", "Look twice")),
    ];
    let taken = bench.import(&learnings, Promote::Auto, day(0));
    let newer = ForeignLearning {
        confidence: 0.95,
        ..foreign("learn-abc", "Look twice!")
    };
    assert_eq!(bench.take(&version_of_day(2, &newer)).0, ImportOutcome::Strengthened);
    let stored = taken.iter().map(|taken| bench.get(&taken.id));
    let stored: Vec<(String, f64)> = stored.map(|learning| (learning.content, learning.confidence)).collect();
    assert_eq!(
        stored,
        [("Run cargo first".to_owned(), 0.85), ("Look twice".to_owned(), 0.95)]
    );
    assert_eq!(bench.take(&version_of_day(2, &newer)).0, ImportOutcome::Unchanged);
}

#[test]
fn local_uses_are_not_counted_twice() {
    let mut bench = Bench::new();
    let given = foreign("learn-abc", "Run cargo first");
    let id = bench
        .import(std::slice::from_ref(&given), Promote::Auto, day(0))
        .remove(0)
        .id;
    bench.sql("UPDATE learnings SET use_count = use_count + 10, successes = 10, success_rate = 0.96");
    for at in 1..4 {
        let back = ForeignLearning {
            use_count: bench.get(&id).use_count,
            success_rate: bench.get(&id).success_rate,
            ..given.clone()
        };
        assert_eq!(
            bench.take(&version_of_day(at, &back)).0,
            ImportOutcome::Updated,
            "its time is another one"
        );
        let learning = bench.get(&id);
        assert_eq!(
            (learning.use_count, learning.first_use_count, learning.successes),
            (15, 5, 10)
        );
        assert_eq!(learning.first_success_rate, given.success_rate);
    }
    let used_there = ForeignLearning { use_count: 17, ..given };
    bench.take(&used_there);
    assert_eq!((bench.get(&id).use_count, bench.get(&id).first_use_count), (17, 7));
}

#[test]
fn inactive_foreign_learning_is_not_evidence() {
    let mut bench = Bench::new();
    let own = NewLearning {
        task_type: Some(TaskType::BugFix),
        ..super::learning("tool_usage", "Run cargo first", &[])
    };
    let own = bench.add(&own, 0);
    let same = || ForeignLearning {
        confidence: 0.95,
        ..foreign("learn-abc", "Run cargo first")
    };
    for learning in [
        ForeignLearning {
            standing: ForeignLearningStatus::Pending,
            ..same()
        },
        ForeignLearning {
            standing: ForeignLearningStatus::Rejected("It is wrong".to_owned()),
            ..same()
        },
        ForeignLearning {
            confidence: 7.0,
            ..same()
        },
    ] {
        assert_eq!(
            bench.take(&learning),
            (ImportOutcome::Unchanged, LearningStatus::Promoted, None),
            "{learning:?}"
        );
        assert_eq!(bench.get(&own.id), own, "{learning:?}");
    }
    assert_eq!(bench.take(&same()).0, ImportOutcome::Strengthened);
}

#[test]
fn colliding_ids_of_two_stores_are_both_kept() {
    let mut bench = Bench::new();
    let here = version_of_day(-90, &foreign("a2", "Bisect the history"));
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
    for given in [warning, version_of_day(9, &other)] {
        assert_eq!(bench.take(&given).0, ImportOutcome::Added, "{given:?}");
        assert_eq!(bench.take(&given).0, ImportOutcome::Unchanged, "{given:?}");
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
fn newer_text_of_an_unused_learning_is_imported() {
    let mut bench = Bench::new();
    let learning = version_of_day(-90, &foreign("learn-abc", "Run cargo first"));
    let id = bench
        .import(std::slice::from_ref(&learning), Promote::Auto, day(0))
        .remove(0)
        .id;
    let newer = version_of_day(-80, &foreign("learn-abc", "Run cargo check first"));
    assert_eq!(bench.take(&newer).0, ImportOutcome::Updated);
    assert_eq!(bench.get(&id).content, "Run cargo check first");
    assert_eq!(
        bench.take(&learning).0,
        ImportOutcome::Unchanged,
        "an older version changes nothing"
    );
}
