//! Tests of user actions on learnings, and of their maintenance.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

mod conflicts;
mod extraction;
mod importing;
mod known;
mod merging;
mod pruning;

use jiff::{SignedDuration, Timestamp};
use ralph_model::{
    CapturedLearning, Learning, LearningId, LearningSource, LearningStatus, NewJournalRow, Outcome, RunId, SplitMix64,
    TaskId, TaskType, TextFeatures,
};
use ralph_store::{
    AddedLearning, ConflictDecision, Holds, Judgement, LearningError, LearningFilter, NewLearning, Settlement, Store,
};
use ralph_testkit::journal_row;

use pruning::rules;

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
    bits: SplitMix64,
}

fn day(day: i64) -> Timestamp {
    Timestamp::from_second(1_750_000_000).unwrap() + SignedDuration::from_hours(24 * day)
}

fn learning(category: &str, content: &str, tags: &[&str]) -> NewLearning {
    NewLearning {
        category: category.to_owned(),
        content: content.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        task_type: None,
        features: TextFeatures::default(),
    }
}

/// The features of a text, the same for its near-duplicates.
fn leap() -> TextFeatures {
    TextFeatures::new(1..9, 0)
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            folder,
            store,
            bits: SplitMix64::new(7),
        }
    }

    fn add(&mut self, new: &NewLearning, at: i64) -> Learning {
        match self.store.add_learning(new, &mut self.bits, day(at)).unwrap() {
            AddedLearning::Stored(learning) => learning,
            other => panic!("{other:?}"),
        }
    }

    /// Journals an iteration that reported these learnings.
    fn learn(&mut self, iteration: u32, contents: &[&str]) -> i64 {
        let row = NewJournalRow {
            task: Some(TaskId::new(1)),
            created_at: day(i64::from(iteration)),
            ..journal_row(RunId::new(1), iteration)
        };
        let captured = |content: &&str| CapturedLearning {
            category: "pitfall".to_owned(),
            tags: vec!["docker".to_owned()],
            content: (*content).to_owned(),
        };
        let settlement = Settlement {
            learnings: (u64::from(iteration) * 16..)
                .map(LearningId::new)
                .zip(contents.iter().map(captured))
                .collect(),
            ..Settlement::new(row, 0)
        };
        self.store.settle(&settlement).unwrap().journal
    }

    fn get(&self, id: &LearningId) -> Learning {
        self.store.learning(id).unwrap().unwrap()
    }

    /// Ids of learnings that may be merged automatically.
    fn mergeable(&self) -> Vec<LearningId> {
        let candidates = self.store.merge_candidates(9).unwrap();
        candidates.into_iter().map(|candidate| candidate.id).collect()
    }

    fn listed(&self, filter: &LearningFilter) -> Vec<String> {
        let found = self.store.learning_list(filter, None).unwrap();
        found.into_iter().map(|learning| learning.content).collect()
    }

    /// Changes the database without the store.
    #[expect(clippy::disallowed_methods, reason = "what no method of the store does yet")]
    fn sql(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.folder.path().join("progress.db")).unwrap();
        connection.execute_batch(sql).unwrap();
    }
}

#[test]
fn adding_without_a_task_type_widens_a_learning() {
    let mut bench = Bench::new();
    let narrow = NewLearning {
        task_type: Some(TaskType::BugFix),
        ..learning("tool_usage", "Look before you leap.", &[])
    };
    let known = bench.add(&narrow, 0);
    let wide = learning("tool_usage", "Look before you leap!", &[]);
    let Ok(AddedLearning::Widened(wider)) = bench.store.add_learning(&wide, &mut bench.bits, day(1)) else {
        panic!("it is another learning")
    };
    assert_eq!((&wider.id, wider.task_type), (&known.id, None));
    assert!(wider.confidence > known.confidence);
    // A paraphrase has the same effect.
    let known = bench.add(
        &NewLearning {
            content: "Keep the lock short.".to_owned(),
            features: leap(),
            ..narrow
        },
        2,
    );
    let paraphrase = NewLearning {
        features: leap(),
        ..learning("tool_usage", "The lock: keep it short", &[])
    };
    let Ok(AddedLearning::Reworded(wider)) = bench.store.add_learning(&paraphrase, &mut bench.bits, day(3)) else {
        panic!("it is another learning")
    };
    assert_eq!((&wider.id, wider.task_type), (&known.id, None));
    assert_eq!(bench.store.verify_learnings().unwrap(), []);
}

#[test]
fn concurrent_near_duplicates_are_one_learning() {
    let bench = Bench::new();
    let path = bench.folder.path().join("progress.db");
    let texts = [
        "Look before you leap.",
        "Before leaping, look.",
        "Leap? Look before!",
        "First look, then leap",
    ];
    std::thread::scope(|scope| {
        for (place, text) in (0..).zip(texts) {
            let path = &path;
            scope.spawn(move || {
                let mut store = Store::open_or_create(path).unwrap();
                let new = NewLearning {
                    features: leap(),
                    ..learning("tool_usage", text, &[])
                };
                store.add_learning(&new, &mut SplitMix64::new(place), day(1)).unwrap();
            });
        }
    });
    let all = bench.store.learnings().unwrap();
    let [only] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(only.examples.len(), texts.len() - 1);
}

#[test]
fn user_learning_is_active_at_once_and_deduplicated() {
    let mut bench = Bench::new();
    let new = learning("pitfall", "Never run two at once.", &["ci"]);
    let first = bench.add(&new, 1);
    assert_eq!(first.status, LearningStatus::Promoted);
    assert_eq!(first.source, LearningSource::Human);
    assert_eq!(
        (first.confidence, first.success_rate),
        (0.5, 0.0),
        "pitfalls are anti-patterns"
    );
    let again = learning("pitfall", "never run TWO, at once", &["docker", "ci"]);
    let Ok(AddedLearning::Known(known)) = bench.store.add_learning(&again, &mut bench.bits, day(2)) else {
        panic!("it is known");
    };
    assert_eq!(known.id, first.id);
    assert_eq!(known.tags, ["ci", "docker"]);
    assert!((known.confidence - 0.55).abs() < 1e-9);
    assert_eq!((known.created_at, known.updated_at), (day(1), day(2)));
    assert_eq!(bench.store.learnings().unwrap().len(), 1);
    bench.add(&learning("other", "Never run two at once.", &[]), 3);
    let narrow = NewLearning {
        task_type: Some(TaskType::TestFix),
        ..new
    };
    bench.add(&narrow, 4);
    let tagged = LearningFilter {
        tag: Some("docker".to_owned()),
        ..LearningFilter::default()
    };
    assert_eq!(bench.listed(&tagged), ["Never run two at once."], "new tags are found");
}

#[test]
fn texts_without_letters_are_not_duplicates() {
    let mut bench = Bench::new();
    bench.add(&learning("other", "→ ←", &[]), 1);
    bench.add(&learning("other", "!!!", &[]), 1);
    let known = bench
        .store
        .add_learning(&learning("other", "!!!", &[]), &mut bench.bits, day(2));
    assert!(matches!(known, Ok(AddedLearning::Known(_))), "{known:?}");
}

#[test]
fn adding_a_pruned_learning_restores_it() {
    let mut bench = Bench::new();
    let (rejected, pruned) = (learning("other", "one", &[]), learning("other", "two", &[]));
    let ids = [bench.add(&rejected, 1).id, bench.add(&pruned, 1).id];
    bench
        .store
        .judge_learnings(&ids[..1], Judgement::Reject("no"), day(2))
        .unwrap();
    bench.store.prune_learnings(&rules(), 10, day(40)).unwrap();
    assert_eq!(bench.get(&ids[1]).status, LearningStatus::Pruned);
    for (new, id) in [rejected, pruned].iter().zip(&ids) {
        bench.store.add_learning(new, &mut bench.bits, day(41)).unwrap();
        let back = bench.get(id);
        assert_eq!((back.status, back.reason), (LearningStatus::Promoted, None));
    }
    assert_eq!(
        bench.mergeable(),
        ids[..1],
        "what was pruned and brought back is not merged"
    );
}

#[test]
fn ids_are_found_by_any_prefix() {
    let mut bench = Bench::new();
    bench.learn(1, &["a", "b"]);
    bench.learn(2, &["c"]);
    let find = |text: &str| bench.store.find_learning(text).map(|id| id.to_string());
    for text in ["learn-00000020", "LEARN-0000002", " 0000002", "00000020"] {
        assert_eq!(find(text).unwrap(), "learn-00000020", "{text}");
    }
    for text in ["", "  ", "zz", "learn-5", "t-00000020", "000000200"] {
        let error = find(text).unwrap_err();
        assert!(matches!(error, LearningError::Unknown { .. }), "{text}: {error}");
        assert!(error.to_string().starts_with("Learning not found: "), "{error}");
    }
    assert_eq!(
        find("0000001").unwrap_err().to_string(),
        "0000001 matches several ids: learn-00000010 (a), learn-00000011 (b)"
    );
}

#[test]
fn lists_are_filtered_and_newest_first() {
    let mut bench = Bench::new();
    bench.learn(1, &["Mount the socket before docker compose."]);
    bench.add(&learning("code_structure", "One file a command", &["cli"]), 2);
    let typed = NewLearning {
        task_type: Some(TaskType::Performance),
        ..learning("tool_usage", "Tests are failing without --locked", &["cargo"])
    };
    bench.add(&typed, 3);
    let all = LearningFilter::default();
    let (docker, file, tests) = (
        "Mount the socket before docker compose.",
        "One file a command",
        "Tests are failing without --locked",
    );
    assert_eq!(bench.listed(&all), [tests, file, docker]);
    assert_eq!(bench.store.learning_list(&all, Some(1)).unwrap().len(), 1);
    let check = |filter: LearningFilter, found: &[&str]| assert_eq!(bench.listed(&filter), found, "{filter:?}");
    let category = Some("code_structure".to_owned());
    check(
        LearningFilter {
            category,
            ..all.clone()
        },
        &[file],
    );
    let task = Some(TaskId::new(1));
    check(LearningFilter { task, ..all.clone() }, &[docker]);
    let task_type = Some(TaskType::Performance);
    check(
        LearningFilter {
            task_type,
            ..all.clone()
        },
        &[tests],
    );
    let kind = Some(ralph_model::LearningKind::Antipattern);
    check(LearningFilter { kind, ..all.clone() }, &[docker]);
    let statuses = vec![LearningStatus::Rejected];
    check(LearningFilter { statuses, ..all }, &[]);
}

#[test]
fn judgement_applies_to_all_or_none() {
    let mut bench = Bench::new();
    bench.learn(1, &["a", "b"]);
    let ids = [LearningId::new(16), LearningId::new(17)];
    let missing = [ids[0].clone(), LearningId::new(99)];
    let refused = bench.store.judge_learnings(&missing, Judgement::Reject("x"), day(2));
    assert!(matches!(refused, Err(LearningError::Unknown { .. })), "{refused:?}");
    assert_ne!(
        bench.get(&ids[0]).status,
        LearningStatus::Rejected,
        "nothing has changed"
    );
    let reason = Judgement::Reject("it was the cache");
    assert_eq!(bench.store.judge_learnings(&ids, reason, day(2)).unwrap(), ids);
    let rejected = bench.get(&ids[1]);
    assert_eq!(rejected.status, LearningStatus::Rejected);
    assert_eq!(rejected.reason.as_deref(), Some("it was the cache"));
    assert_eq!(
        bench.store.judge_learnings(&ids, reason, day(3)).unwrap(),
        [] as [LearningId; 0]
    );
    bench
        .store
        .judge_learnings(&ids[..1], Judgement::Promote, day(4))
        .unwrap();
    let promoted = bench.get(&ids[0]);
    assert_eq!((promoted.status, promoted.reason), (LearningStatus::Promoted, None));
    assert_eq!(promoted.updated_at, day(4));
}

#[test]
fn evidence_lists_injections_and_outcomes() {
    let mut bench = Bench::new();
    let taught = bench.learn(1, &["a"]);
    let shown = bench.learn(2, &[]);
    bench.sql(&format!(
        "INSERT INTO injections VALUES ({shown}, 'learning', 'learn-00000010', 0, 'Learnings', 1, 5, 0.5, 'shown', 1);
         INSERT INTO injections VALUES ({taught}, 'learning', 'learn-00000010', 0, 'Learnings', 1, 5, 0.5, 'over_budget', 0);"
    ));
    let evidence = bench.store.learning_evidence(&LearningId::new(16)).unwrap();
    assert_eq!(evidence.taught.iter().map(|row| row.id).collect::<Vec<_>>(), [taught]);
    let shown_in: Vec<_> = evidence.shown.iter().map(|shown| (shown.row.id, shown.used)).collect();
    assert_eq!(shown_in, [(shown, true)]);
    assert_eq!(evidence.shown[0].row.row.outcome, Outcome::Done);
}
