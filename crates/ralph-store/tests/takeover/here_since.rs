//! Imports into a database that has a history of its own: theirs comes before ours, and what is gone here stays gone.

use ralph_model::{Evidence, NewJournalRow, Outcome, RunId, StopReason, TaskId, Usage};
use ralph_store::{JournalFilter, Settlement, Store, TasksOfFeature};

use super::{Scene, id, now, remarks, tally};

/// A row of ours, of a task that is not there any more.
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
fn what_happened_elsewhere_long_ago_is_neither_the_last_row_nor_news() {
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
        "what waits for a person does so wherever it failed"
    );
}

#[test]
fn the_last_word_about_a_task_is_the_latest_whenever_it_came_here() {
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
fn what_was_deleted_here_does_not_come_back() {
    let scene = Scene::new(5);
    scene.import();
    let mut store = scene.store();
    store.delete_task(&id("t-1a2b3c"), now()).unwrap();
    let feature = store.feature("search").unwrap().id;
    store.delete_feature(&feature, TasksOfFeature::Go, now()).unwrap();
    drop(store);
    assert!(scene.import().is_nothing_new());
    // What came there since and hangs on it stands alone.
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
            "t-eeeeee: its feature was deleted here: it belongs to none",
            "t-eeeeee: it is a part of t-aaaaaa, which was deleted here: it stands alone here",
            "t-eeeeee: it waits for t-1a2b3c4d, which was deleted here: left out",
        ]
    );
    let last = scene.store().journal_of_task(&id("t-1a2b3c")).unwrap().pop().unwrap();
    assert_eq!(last.row.attempt, 2, "its history goes on");
}

#[test]
fn an_id_of_which_the_journal_speaks_is_not_given_to_another_task() {
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
fn a_row_of_a_task_that_was_deleted_there_gets_no_id_of_ours_and_the_next_row_gets_the_same() {
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
fn what_gave_way_to_a_task_of_ours_is_not_imported_again_when_that_is_deleted() {
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
