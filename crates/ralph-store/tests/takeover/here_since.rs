//! Imports into a database with its own history: imported records come first, and what was deleted here stays deleted.

use ralph_model::{Evidence, NewJournalRow, Outcome, RunId, StopReason, TaskId, Usage};
use ralph_store::{JournalFilter, Settlement, Store, TasksOfFeature};

use super::{Scene, id, now, remarks, tally};

/// Adds our own journal entry of a deleted task.
fn journal(store: &mut Store, task: &TaskId) -> i64 {
    let row = NewJournalRow {
        run: RunId::new(1),
        iteration: 1,
        task: Some(task.clone()),
        task_title: "Ours".to_owned(),
        task_type: ralph_model::TaskType::General,
        tags: Vec::new(),
        feature: None,
        attempt: 3,
        outcome: Outcome::Failed,
        stop: StopReason::TaskFailed,
        reason: "it did not work.".to_owned(),
        model: None,
        model_rationale: String::new(),
        duration_ms: 1000,
        usage: Usage {
            cost_usd: 2.0,
            ..Usage::default()
        },
        files_modified: vec!["ours.rs".to_owned()],
        changed_nothing: false,
        evidence: Evidence::None,
        notes: None,
        difficulty: None,
        error_category: None,
        malformed_sigils: 0,
        denials: Vec::new(),
        created_at: now(),
    };
    store.settle(&Settlement::new(row, 0)).unwrap().journal
}

#[test]
fn imported_entries_are_neither_last_nor_news() {
    let scene = Scene::new(5);
    let ours = journal(&mut scene.store(), &id("t-012345"));
    scene.import();
    let store = scene.store();
    assert_eq!(store.journal_last().unwrap().unwrap().id, ours);
    let listed = store.journal_list(&JournalFilter::default()).unwrap();
    let numbers: Vec<i64> = listed.iter().map(|row| row.id).collect();
    assert_eq!(numbers, [1, 5, 4, 3, 2], "by time, not by when it came here");
    let news = store.overview(0, "").unwrap();
    assert_eq!(news.outcomes, [(Outcome::Failed, 1)].into());
    assert_eq!((news.spent.cost_usd, news.duration_ms), (2.0, 1000));
    assert_eq!((news.done.len(), news.failed.len(), news.last_journal), (0, 0, 5));
    let waits: Vec<String> = news.waiting.into_iter().map(|task| task.title).collect();
    assert_eq!(
        waits,
        ["Mend the build"],
        "a failed task needs attention wherever it failed"
    );
}

#[test]
fn own_entry_is_last_even_if_imported_later() {
    let scene = Scene::new(5);
    scene.import();
    let task = id("t-1a2b3c");
    let ours = journal(&mut scene.store(), &task);
    scene.sql(
        "INSERT INTO journal (run_id, iteration, task_id, outcome, created_at) VALUES
             ('run-5e6f7a8b', 2, 't-1a2b3c4d', 'done', '2026-02-25T09:10:00Z')",
    );
    assert_eq!(scene.import().iterations, tally(1, 4));
    let store = scene.store();
    assert_eq!(store.journal_last_counted(&task).unwrap().unwrap().id, ours);
    assert_eq!(store.journal_of_task(&task).unwrap().last().unwrap().id, ours);
    let news = store.overview(0, "").unwrap();
    assert_eq!((news.done.len(), news.failed.len()), (0, 1));
}

#[test]
fn deleted_records_are_not_reimported() {
    let scene = Scene::new(5);
    scene.import();
    let mut store = scene.store();
    store.delete_task(&id("t-1a2b3c"), now()).unwrap();
    let feature = store.feature("search").unwrap().id;
    store.delete_feature(&feature, TasksOfFeature::Delete, now()).unwrap();
    drop(store);
    assert!(scene.import().is_nothing_new());
    // New records that refer to deleted ones are imported without them.
    scene.sql(
        "INSERT INTO tasks (id, title, parent_id, feature_id, created_at, updated_at) VALUES
             ('t-eeeeee', 'New', 't-aaaaaa', 'f-0a0b0c', '2026-02-25T09:00:00Z', '2026-02-25T09:00:00Z');
         INSERT INTO dependencies VALUES ('t-1a2b3c4d', 't-eeeeee');
         INSERT INTO journal (run_id, iteration, task_id, feature_id, outcome, created_at) VALUES
             ('run-5e6f7a8b', 2, 't-1a2b3c4d', NULL, 'done', '2026-02-25T09:10:00Z');",
    );
    let more = scene.import();
    assert_eq!((more.tasks, more.iterations), (tally(1, 5), tally(1, 4)));
    assert_eq!(
        remarks(&more),
        [
            "t-eeeeee: its feature was deleted here: imported without a feature",
            "t-eeeeee: its parent t-aaaaaa was deleted here: imported as a top-level task",
            "t-eeeeee: its dependency t-1a2b3c4d was deleted here: skipped",
        ]
    );
    let last = scene.store().journal_of_task(&id("t-1a2b3c")).unwrap().pop().unwrap();
    assert_eq!(last.row.attempt, 2, "its history goes on");
}

#[test]
fn id_used_in_the_journal_is_not_reused() {
    let scene = Scene::new(5);
    journal(&mut scene.store(), &id("t-aaaaaa"));
    let imported = scene.import();
    let moved = imported.renamed.get("t-aaaaaa").unwrap().clone();
    let store = scene.store();
    assert_eq!(store.task(&id("t-aaaaaa")).unwrap(), None);
    assert_eq!(store.task(&moved).unwrap().unwrap().title, "Search the notes");
    assert_eq!(store.journal_of_task(&moved).unwrap(), []);
}

#[test]
fn entries_of_a_deleted_task_share_a_fresh_id() {
    let scene = Scene::empty(5);
    journal(&mut scene.store(), &id("t-abcdef"));
    let row = |iteration: u32| {
        scene.sql(&format!(
            "INSERT INTO journal (run_id, iteration, task_id, outcome, created_at) VALUES
                 ('run-00000007', {iteration}, 't-abcdef', 'failed', '2026-02-18T09:00:0{iteration}Z')"
        ));
        scene.import();
        let run = RunId::new(7);
        scene.store().journal_of_iteration(&run, iteration).unwrap()
    };
    let (first, second) = (row(1).unwrap().row, row(2).unwrap().row);
    assert_ne!(first.task, Some(id("t-abcdef")));
    assert_eq!((second.task, second.attempt), (first.task, 2));
}

#[test]
fn renamed_task_is_not_reimported_after_conflicting_one_is_deleted() {
    let scene = Scene::new(5);
    drop(scene.store());
    let database = super::connect(&scene.ours());
    database
        .execute_batch(
            "INSERT INTO tasks (id, title, description, status, kind, priority, created_at, updated_at) VALUES
                 ('t-aaaaaa', 'Ours', '', 'pending', 'once', 5, '2025-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z')",
        )
        .unwrap();
    drop(database);
    assert_eq!(scene.import().tasks, tally(5, 0));
    scene.store().delete_task(&id("t-aaaaaa"), now()).unwrap();
    let again = scene.import();
    assert_eq!(again.tasks, tally(0, 5));
    assert_eq!(scene.store().task(&id("t-aaaaaa")).unwrap(), None);
}
