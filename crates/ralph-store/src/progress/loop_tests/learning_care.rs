//! Tests of user actions on learnings: update, delete, clear, prune and validate.

use ralph_model::{Facts, Learning, LearningKind, LearningStatus, TaskType};

use super::learnings::{Story, Told};
use super::*;

fn id(number: u64) -> LearningId {
    LearningId::new(number)
}

/// Active learnings, the first injected three times, with the second merged into it.
fn story() -> Story {
    let learnings = vec![
        ("tool_usage", "Use one thread.", "cargo"),
        ("tool_usage", "Use two threads.", "cargo"),
        ("pitfall", "The cache lies.", "cache"),
    ];
    let iteration = Told {
        learnings,
        ..Told::once(Outcome::Done, "")
    };
    let mut story = Story::of(&[iteration]);
    for (outcome, shown) in [(Outcome::Done, 1), (Outcome::Failed, 1), (Outcome::Failed, 2)] {
        story.tell(&Told {
            learnings: Vec::new(),
            shown: vec![id(shown)],
            ..Told::once(outcome, "")
        });
    }
    let group = MergeGroup {
        newest: id(1),
        others: vec![id(2)],
    };
    story.bench.store.merge_learnings(&[group], at(20)).unwrap();
    story
}

impl Story {
    fn get(&self, number: u64) -> Learning {
        self.bench.store.learning(&id(number)).unwrap().unwrap()
    }

    #[track_caller]
    fn assert_sound(&self) {
        assert_eq!(self.bench.store.verify_learnings().unwrap(), []);
    }
}

#[test]
fn update_keeps_the_old_version_and_search_data() {
    let mut story = story();
    let before = story.get(3);
    let update = LearningUpdate {
        content: Some("Clear the cache first.".to_owned()),
        category: Some("tool_usage".to_owned()),
        tags: Some(vec!["redis".to_owned()]),
        task_type: Some(TaskType::Performance),
        confidence: Some(0.9),
        ..LearningUpdate::default()
    };
    let changed = story.bench.store.update_learning(&id(3), &update, at(30)).unwrap();
    let expected = Learning {
        kind: LearningKind::Strategy,
        category: "tool_usage".to_owned(),
        content: "Clear the cache first.".to_owned(),
        tags: vec!["redis".to_owned()],
        task_type: Some(TaskType::Performance),
        confidence: 0.9,
        // The success rate of a warning does not apply to advice.
        success_rate: 1.0,
        first_success_rate: 1.0,
        updated_at: at(30),
        ..before.clone()
    };
    assert_eq!(changed, expected);
    story.assert_sound();
    let versions = story.bench.store.learning_versions(&id(3)).unwrap();
    let [version] = versions.try_into().unwrap();
    assert_eq!(
        (version.kind, version.content, version.tags, version.until),
        (before.kind, before.content, before.tags, at(30))
    );
    // A change of numbers alone creates no version.
    let surer = LearningUpdate {
        confidence: Some(0.2),
        ..LearningUpdate::default()
    };
    story.bench.store.update_learning(&id(3), &surer, at(31)).unwrap();
    assert_eq!(story.bench.store.learning_versions(&id(3)).unwrap().len(), 1);
}

#[test]
fn derived_kind_follows_the_category() {
    let mut story = story();
    let kind = |story: &mut Story, update: LearningUpdate| {
        let changed = story.bench.store.update_learning(&id(1), &update, at(30)).unwrap();
        changed.kind
    };
    let category = |category: &str| LearningUpdate {
        category: Some(category.to_owned()),
        ..LearningUpdate::default()
    };
    assert_eq!(kind(&mut story, category("code_structure")), LearningKind::Convention);
    let named = LearningUpdate {
        kind: Some(LearningKind::Strategy),
        ..LearningUpdate::default()
    };
    assert_eq!(kind(&mut story, named), LearningKind::Strategy);
    assert_eq!(kind(&mut story, category("pitfall")), LearningKind::Strategy);
    story.assert_sound();
}

#[test]
fn user_rate_restarts_counting() {
    let mut story = story();
    assert_eq!((story.get(1).use_count, story.get(1).successes), (3, 1));
    let update = LearningUpdate {
        success_rate: Some(0.4),
        ..LearningUpdate::default()
    };
    let rated = story.bench.store.update_learning(&id(1), &update, at(30)).unwrap();
    assert!((rated.success_rate - 0.4).abs() < 1e-9, "{rated:?}");
    assert_eq!((rated.use_count, rated.uses_here(), rated.successes), (3, 0, 0));
    story.assert_sound();
    story.tell(&Told {
        learnings: Vec::new(),
        shown: vec![id(1)],
        ..Told::once(Outcome::Done, "")
    });
    story.assert_sound();
    let used = story.get(1);
    assert_eq!((used.use_count, used.uses_here(), used.successes), (4, 1, 1));
    assert!((used.success_rate - 0.5).abs() < 1e-9, "(5 · 0.4 + 1) / 6: {used:?}");
    // A restored learning takes its counts with it.
    story.bench.store.restore_learnings(&[id(2)], at(40)).unwrap();
    assert_eq!((story.get(1).use_count, story.get(1).uses_here()), (3, 1));
    story.assert_sound();
}

#[test]
fn update_to_a_duplicate_or_other_numbers_is_refused() {
    let mut story = story();
    let with_content = |content: &str| LearningUpdate {
        content: Some(content.to_owned()),
        ..LearningUpdate::default()
    };
    let store = &mut story.bench.store;
    let as_pitfall = LearningUpdate {
        kind: Some(LearningKind::Strategy),
        ..with_content("use ONE thread!")
    };
    let refused = store.update_learning(&id(3), &as_pitfall, at(30)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "learn-00000003 would be a duplicate of learn-00000001, which is promoted"
    );
    // A learning merged into it is not a duplicate.
    store
        .update_learning(&id(1), &with_content("use two threads"), at(30))
        .unwrap();
    let facts = Facts::Antipattern {
        occurrences: 2,
        impact: "high".to_owned(),
        error: None,
    };
    let facts = serde_json::to_string(&facts).unwrap();
    story
        .bench
        .sql(&format!("UPDATE learnings SET facts = '{facts}' WHERE seq = 3"));
    let named = LearningUpdate {
        kind: Some(LearningKind::Convention),
        ..LearningUpdate::default()
    };
    let before = story.get(3);
    let refused = story.bench.store.update_learning(&id(3), &named, at(30)).unwrap_err();
    assert!(refused.to_string().contains("the numbers"), "{refused}");
    assert_eq!(story.get(3), before);
    let unknown = story.bench.store.update_learning(&id(9), &named, at(30)).unwrap_err();
    assert_eq!(unknown.to_string(), "Learning not found: learn-00000009");
}

#[test]
fn delete_removes_derived_rows_and_releases_superseded() {
    let mut story = story();
    let refused = story.bench.store.delete_learnings(&[id(3), id(9)], at(30)).unwrap_err();
    assert_eq!(refused.to_string(), "Learning not found: learn-00000009");
    assert_eq!(story.learnings().len(), 3);
    let deleted = story.bench.store.delete_learnings(&[id(1)], at(30)).unwrap();
    assert_eq!((deleted.deleted, deleted.freed), (vec![id(1)], vec![id(2)]));
    story.assert_sound();
    assert_eq!(
        (story.get(2).status, story.get(2).superseded_by),
        (LearningStatus::Pruned, None)
    );
    let shown = "SELECT count(*) FROM injections WHERE entry = 'learn-00000001'";
    assert_eq!(story.bench.number(shown), 2, "what was shown stays on record");
    for table in ["learning_sources", "learning_versions"] {
        let rows = format!("SELECT count(*) FROM {table} WHERE learning = 1");
        assert_eq!(story.bench.number(&rows), 0, "{table}");
    }
}

#[test]
fn deleting_a_successor_rejects_the_superseded_learning() {
    for clears in [false, true] {
        let mut story = story();
        let store = &mut story.bench.store;
        store.supersede_learning(&id(3), &id(1), at(30)).unwrap();
        if clears {
            store
                .judge_learnings(&[id(1)], Judgement::Reject("Wrong."), at(31))
                .unwrap();
            store.clear_learnings(Clearing::Staged, at(32)).unwrap().unwrap();
        } else {
            let done = store.delete_learnings(&[id(1)], at(32)).unwrap();
            assert_eq!((done.rejected, done.freed), (vec![id(3)], vec![id(2)]));
        }
        let replaced = story.get(3);
        assert_eq!(
            (replaced.status, replaced.reason.as_deref(), replaced.superseded_by),
            (
                LearningStatus::Rejected,
                Some("learn-00000001 superseded it and was deleted"),
                None
            )
        );
        assert_eq!(story.get(2).status, LearningStatus::Pruned);
        story.assert_sound();
    }
}

#[test]
fn deleted_merged_learning_is_removed_from_the_survivor() {
    let mut story = story();
    assert_eq!(story.get(1).examples, ["Use two threads."]);
    story.bench.store.delete_learnings(&[id(2)], at(30)).unwrap();
    assert_eq!(story.get(1).examples, [""; 0]);
    assert_eq!(story.get(1).use_count, 2);
    story.assert_sound();
}

#[test]
fn clear_keeps_a_copy_of_the_database() {
    let mut story = story();
    story
        .bench
        .sql("UPDATE learnings SET status = 'validated' WHERE seq = 3");
    let cleared = story
        .bench
        .store
        .clear_learnings(Clearing::Staged, at(30))
        .unwrap()
        .unwrap();
    assert_eq!(cleared.learnings, 1);
    assert_eq!(story.learnings().len(), 2);
    story.assert_sound();
    let copy = Store::open_existing(&cleared.copy, Wait::Long).unwrap().unwrap();
    assert_eq!(copy.learnings().unwrap().len(), 3);
    assert_eq!(copy.verify_learnings().unwrap(), []);
    assert_eq!(
        story.bench.store.clear_learnings(Clearing::Staged, at(30)).unwrap(),
        None
    );
    let all = story
        .bench
        .store
        .clear_learnings(Clearing::All, at(30))
        .unwrap()
        .unwrap();
    assert_eq!(all.learnings, 2);
    assert_ne!(all.copy, cleared.copy, "no copy is written over");
    assert_eq!(story.learnings(), []);
    story.assert_sound();
}

#[test]
fn clear_without_a_copy_changes_nothing() {
    let mut story = story();
    let path = story.bench.store.path.clone();
    // A folder in place of the temporary copy cannot be replaced.
    let name = format!("db.cleared-{}", at(30).strftime("%Y%m%dT%H%M%SZ"));
    let copy = path.with_extension(name);
    let unfinished = path.with_file_name("progress.db.unfinished");
    std::fs::create_dir_all(unfinished.join("in the way")).unwrap();
    assert!(story.bench.store.clear_learnings(Clearing::All, at(30)).is_err());
    assert_eq!(story.learnings().len(), 3);
    assert!(!copy.exists());
    story.assert_sound();
}

#[test]
fn prune_filters_are_combined() {
    let mut story = story();
    story.bench.sql(
        "UPDATE learnings SET confidence = 0.3 WHERE seq = 3;
         UPDATE learnings SET updated_at = '2020-01-01T00:00:00.000Z' WHERE seq IN (1, 3)",
    );
    let fits = |story: &Story, filter: PruneFilter| {
        let found = story.bench.store.learnings_matching(&filter).unwrap();
        found.into_iter().map(|learning| learning.id).collect::<Vec<_>>()
    };
    let below = |below: f64| PruneFilter {
        below: Some(below),
        ..PruneFilter::default()
    };
    assert_eq!(fits(&story, below(0.4)), [id(3)]);
    // The success rate of a warning does not matter.
    assert_eq!(fits(&story, below(0.3)), []);
    assert_eq!(fits(&story, below(0.8)), [id(1), id(3)]);
    let unused = PruneFilter {
        only_unused: true,
        ..below(0.8)
    };
    assert_eq!(fits(&story, unused), [id(3)]);
    let old = PruneFilter {
        unchanged_since: Some(at(0)),
        ..PruneFilter::default()
    };
    assert_eq!(fits(&story, old), [id(1), id(3)]);
    let pruned = story.bench.store.prune_matching(&old, "Too old.", at(30)).unwrap();
    assert_eq!(pruned.len(), 2);
    assert_eq!(
        (story.get(3).status, story.get(3).reason.as_deref()),
        (LearningStatus::Pruned, Some("Too old."))
    );
    story.bench.store.restore_learnings(&[id(3)], at(31)).unwrap();
    assert_eq!(story.get(3).status, LearningStatus::Promoted);
    story.assert_sound();
}

#[test]
fn repeated_learning_does_not_promote_one_under_review() {
    let mut story = story();
    story
        .bench
        .sql("UPDATE learnings SET status = 'pending', source = 'imported', confidence = 0.1 WHERE seq = 3");
    for outcome in [Outcome::Failed, Outcome::Done] {
        story.tell(&Told {
            run: 2,
            learnings: vec![("pitfall", "The cache lies.", "cache")],
            ..Told::once(outcome, "")
        });
        assert_eq!(story.get(3).status, LearningStatus::Pending, "{outcome:?}");
    }
    assert_eq!(story.learnings().len(), 3);
}

#[test]
fn pending_learnings_are_validated_on_request() {
    let mut story = story();
    story.bench.sql(
        "UPDATE learnings SET status = 'pending', source = 'imported' WHERE seq IN (1, 3);
         UPDATE learnings SET confidence = 0.2 WHERE seq = 3",
    );
    // The end of an iteration does not validate them.
    story.tell(&Told::once(Outcome::Done, "Something else."));
    assert_eq!(story.get(1).status, LearningStatus::Pending);
    let judged = story.bench.store.validate_learnings(&[], at(30)).unwrap().judged;
    let standing = |learning: &Learning| (learning.status, learning.reason.clone());
    assert_eq!(
        judged.iter().map(standing).collect::<Vec<_>>(),
        [
            (LearningStatus::Validated, None),
            (LearningStatus::Rejected, Some("Confidence too low (< 0.3)".to_owned()))
        ]
    );
    assert_eq!(story.get(1), judged[0]);
    assert_eq!(story.get(3), judged[1]);
    let again = story.bench.store.validate_learnings(&[id(1)], at(31)).unwrap_err();
    assert!(
        again
            .to_string()
            .starts_with("learn-00000001 is validated, not pending"),
        "{again}"
    );
    let promoted = story.bench.store.promote_validated(at(32)).unwrap().judged;
    assert_eq!(promoted, [story.get(1)]);
    assert_eq!(story.get(1).status, LearningStatus::Promoted);
}

#[test]
fn stats_cover_active_learnings_and_all_statuses() {
    let mut story = story();
    let stats = story.bench.store.learning_stats().unwrap();
    assert_eq!(stats.held, 2);
    assert_eq!(stats.most_used, Some(story.get(1)));
    assert_eq!(stats.by_kind[&LearningKind::Antipattern], 1);
    assert_eq!(stats.by_task_type[&Some(TaskType::BugFix)], 2);
    assert_eq!(stats.of_status(LearningStatus::Pruned), 1);
    assert!((stats.average_confidence.unwrap() - 0.5).abs() < 1e-9);
    // The mean of (5 + 1) / 8 and 0.
    assert!((stats.average_success_rate.unwrap() - 0.375).abs() < 1e-9, "{stats:?}");
    assert_eq!(stats.last_updated, Some(at(20)));
    story.bench.store.clear_learnings(Clearing::All, at(30)).unwrap();
    assert_eq!(story.bench.store.learning_stats().unwrap(), LearningStats::default());
}
