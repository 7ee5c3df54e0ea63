//! Databases with odd contents that SQLite allows or that people and crashes leave: they are read as far as possible.

use ralph_model::{Outcome, TaskStatus};
use ralph_store::JournalFilter;

use super::{Scene, id, remarks, tally};

/// Inserts tasks of these ids.
fn tasks(scene: &Scene, ids: &[&str]) {
    for (second, id) in ids.iter().enumerate() {
        scene.sql(&format!(
            "INSERT INTO tasks (id, title, created_at, updated_at) VALUES
                 ('{id}', 'Task {id}', '2026-02-18T09:00:{second:02}Z', '2026-02-18T09:00:{second:02}Z')"
        ));
    }
}

#[test]
fn cycles_and_dangling_references_are_skipped_with_remarks() {
    let scene = Scene::empty(5);
    tasks(
        &scene,
        &["t-000001", "t-000002", "t-000003", "t-000004", "t-000005", "t-000006"],
    );
    scene.sql(
        "INSERT INTO dependencies VALUES ('t-000001', 't-000002'), ('t-000002', 't-000003'), ('t-000003', 't-000001'),
             ('t-999999', 't-000001'), ('t-000001', 't-888888');
         UPDATE tasks SET parent_id = 't-000005' WHERE id = 't-000004';
         UPDATE tasks SET parent_id = 't-000004' WHERE id = 't-000005';
         UPDATE tasks SET parent_id = 't-777777', feature_id = 'f-777777' WHERE id = 't-000006';",
    );
    let imported = scene.import();
    assert_eq!((imported.tasks, imported.dependencies), (tally(6, 0), 2));
    assert_eq!(
        remarks(&imported),
        [
            "t-888888: missing, but listed as depending on t-000001: skipped",
            "t-000006: its feature is missing: imported without a feature",
            "t-000006: its parent t-777777 is missing: imported as a top-level task",
            "t-000004: its parents form a cycle: imported as a top-level task",
            "t-000001: its dependency t-999999 is missing: skipped",
            "t-000002: its dependency t-000001 closes a cycle (t-000002 depends on t-000001, t-000001 depends on \
             t-000003, t-000003 depends on t-000002): skipped",
        ]
    );
    let store = scene.store();
    assert_eq!(
        store.task(&id("t-000005")).unwrap().unwrap().parent,
        Some(id("t-000004"))
    );
    assert_eq!(store.task(&id("t-000001")).unwrap().unwrap().after, [id("t-000003")]);
}

#[test]
fn cycle_through_a_parent_is_detected() {
    let scene = Scene::empty(5);
    tasks(&scene, &["t-000001", "t-000002", "t-000003"]);
    scene.sql(
        "UPDATE tasks SET parent_id = 't-000001' WHERE id = 't-000002';
         INSERT INTO dependencies VALUES ('t-000001', 't-000003'), ('t-000003', 't-000002');",
    );
    let imported = scene.import();
    assert_eq!(imported.dependencies, 1);
    assert_eq!(imported.remarks.len(), 1);
}

#[test]
fn any_text_number_and_time_is_read() {
    let scene = Scene::empty(5);
    scene.sql(
        "INSERT INTO tasks (id, title, description, priority, retry_count, created_at, updated_at) VALUES
             ('t-000001', 'a' || char(0) || 'b', CAST(x'ff41' AS TEXT), -3, 'many', 'yesterday', ''),
             ('Ünfug', x'c3a4', 7.5, 99999999999, NULL, '2026-02-18T09:00:00+02:00', '2026-02-18T08:00:00Z'),
             (NULL, 'nobody', NULL, NULL, NULL, '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z');
         INSERT INTO task_logs (task_id, message, timestamp) VALUES ('t-999999', 'x', 'y');
         INSERT INTO journal (run_id, iteration, outcome, duration_secs, cost_usd, files_modified, notes, created_at) VALUES
             ('nightly', 1, 'done', -1.0, 9e999, 'src/main.rs', NULL, '2026-02-18T09:00:00Z');
         INSERT INTO model_overrides (iteration, strategy_choice, hint, created_at) VALUES (1, 'opus', 'haiku', 'x');",
    );
    let history = scene.read();
    let titles: Vec<&str> = history.tasks.iter().map(|task| task.title.as_str()).collect();
    assert_eq!(titles, ["a\0b", "ä"]);
    let first = history.tasks.first().unwrap();
    assert_eq!(
        (first.description.as_str(), first.priority.0, first.retries_used),
        ("\u{fffd}A", 0, 0)
    );
    assert_eq!(first.created_at.as_second(), 0);
    let second = history.tasks.get(1).unwrap();
    assert_eq!((second.description.as_str(), second.priority.0), ("7.5", u32::MAX));
    assert_eq!(second.created_at.to_string(), "2026-02-18T07:00:00Z");
    let iteration = history.iterations.first().unwrap();
    assert_eq!((iteration.duration_ms, iteration.cost_usd), (0, 0.0));
    let imported = scene.import();
    assert_eq!(
        remarks(&imported),
        [
            "tasks: 1 row has no id: skipped",
            "task_logs: 1 line is about missing tasks: skipped",
            "texts: 1 text is not UTF-8: invalid bytes were replaced by �",
            "times: 2 times cannot be read: set to 1970-01-01",
            "numbers: 3 numbers are out of range: clamped",
            "journal: 1 list of files cannot be read: skipped",
            "model_overrides: 1 model choice was not imported: ralph stores models with iterations",
        ]
    );
    assert_eq!(imported.tasks, tally(2, 0));
    assert!(scene.import().is_nothing_new());
}

#[test]
fn unknown_words_are_counted_and_mapped() {
    let scene = Scene::empty(5);
    tasks(&scene, &["t-000001", "t-000002"]);
    scene.sql(
        "PRAGMA ignore_check_constraints = ON;
         UPDATE tasks SET status = 'paused';
         INSERT INTO journal (run_id, iteration, task_id, outcome, created_at) VALUES
             ('run-00000001', 1, 't-000001', 'skipped', '2026-02-18T09:00:00Z'),
             ('run-00000001', 2, 't-000001', 'interrupted', '2026-02-18T09:00:01Z');",
    );
    let imported = scene.import();
    assert_eq!(
        remarks(&imported),
        [
            "tasks: 2 tasks were \"paused\", an unknown status: imported as pending",
            "journal: 1 iteration ended as \"skipped\", an unknown outcome: imported as interrupted",
        ]
    );
    // Known entries are not counted again.
    scene.sql(
        "PRAGMA ignore_check_constraints = ON;
         INSERT INTO journal (run_id, iteration, task_id, outcome, created_at) VALUES
             ('run-00000001', 3, 't-000001', 'skipped', '2026-02-18T09:00:02Z');",
    );
    assert_eq!(
        remarks(&scene.import()),
        ["journal: 1 iteration ended as \"skipped\", an unknown outcome: imported as interrupted"]
    );
    let store = scene.store();
    assert_eq!(
        store.task(&id("t-000001")).unwrap().unwrap().status,
        TaskStatus::Pending
    );
    let outcomes: Vec<Outcome> = store
        .journal_list(&JournalFilter::default())
        .unwrap()
        .iter()
        .map(|row| row.row.outcome)
        .collect();
    assert_eq!(outcomes, [Outcome::Interrupted; 3]);
}

#[test]
fn duplicate_iterations_and_deleted_tasks_are_kept() {
    let scene = Scene::empty(5);
    scene.sql(
        "INSERT INTO journal (run_id, iteration, task_id, outcome, notes, created_at) VALUES
             ('run-00000001', 1, 't-abcdef', 'retried', 'first', '2026-02-18T09:00:00Z'),
             ('run-00000001', 1, 't-abcdef', 'done', 'second', '2026-02-18T09:00:00Z'),
             ('the first run', 1, NULL, 'done', 'third', '2026-02-18T09:00:00Z');",
    );
    assert_eq!(scene.import().iterations, tally(3, 0));
    assert_eq!(scene.import().iterations, tally(0, 3));
    let mut rows = scene.store().journal_list(&JournalFilter::default()).unwrap();
    rows.reverse();
    let seen: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.row.notes.as_deref().unwrap(),
                row.row.task_title.as_str(),
                row.row.attempt,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("first", "t-abcdef", 1),
            ("second", "t-abcdef", 2),
            ("third", "(no task)", 1)
        ]
    );
    assert_eq!(rows.first().unwrap().row.run.as_str(), "run-00000001");
}

#[test]
fn chain_of_ten_thousand_tasks_is_imported() {
    let scene = Scene::empty(5);
    scene.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO tasks (id, title, created_at, updated_at)
             SELECT printf('t-%06x', i), 'Task', printf('2026-02-18T%02d:%02d:%02dZ', i / 3600, i / 60 % 60, i % 60), 'x' FROM n;
         INSERT INTO dependencies SELECT printf('t-%06x', i), printf('t-%06x', i + 1) FROM (
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) SELECT i FROM n);",
    );
    // A few separate dependency cycles do not matter.
    scene.sql(
        "WITH RECURSIVE n(i) AS (SELECT 10001 UNION ALL SELECT i + 1 FROM n WHERE i < 10006)
         INSERT INTO tasks (id, title, created_at, updated_at)
             SELECT printf('t-%06x', i), 'Task', '2026-02-18T09:00:00Z', 'x' FROM n;
         INSERT INTO dependencies VALUES
             ('t-002711', 't-002712'), ('t-002712', 't-002711'), ('t-002713', 't-002714'), ('t-002714', 't-002715'),
             ('t-002715', 't-002713'), ('t-002713', 't-002715'), ('t-002715', 't-002716'), ('t-002716', 't-002713');",
    );
    let imported = scene.import();
    assert_eq!((imported.tasks, imported.dependencies), (tally(10_006, 0), 10_004));
    let remarks = remarks(&imported);
    assert_eq!(
        remarks
            .iter()
            .filter(|remark| remark.contains("closes a cycle"))
            .count(),
        3
    );
    assert!(scene.store().health().unwrap().faults.is_empty());
}

#[test]
fn feature_gets_a_valid_folder_name() {
    let scene = Scene::empty(5);
    scene.sql(
        "INSERT INTO features (id, name, created_at, updated_at) VALUES
             ('f-000001', 'Search', '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z'),
             ('f-000002', 'log in / log out', '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z'),
             ('f-1a2b3c4d', 'SEARCH', '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z');
         INSERT INTO tasks (id, title, feature_id, created_at, updated_at) VALUES
             ('t-000001', 'x', 'f-1a2b3c4d', '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z');",
    );
    let imported = scene.import();
    assert_eq!(imported.features, tally(3, 0), "two features stay two");
    assert_eq!(
        remarks(&imported),
        [
            "log in / log out: invalid feature name \"log in / log out\": ' ' is not allowed; use letters, digits, \
          `-`, `_` and `.`: imported as log-in---log-out; rename its folder to match",
            "SEARCH: the name SEARCH is taken (names ignore case): imported as SEARCH-2; rename its folder to match",
        ]
    );
    let store = scene.store();
    let names: Vec<String> = store
        .features()
        .unwrap()
        .iter()
        .map(|feature| feature.name.to_string())
        .collect();
    assert_eq!(names, ["SEARCH-2", "Search", "log-in---log-out"]);
    let task = store.task(&id("t-000001")).unwrap().unwrap();
    assert_eq!(task.feature.unwrap().as_str(), "f-1a2b3c");
    drop(store);
    assert_eq!(scene.import().features, tally(0, 3));
}

#[test]
fn feature_with_the_same_name_is_merged() {
    let scene = Scene::empty(5);
    let name = ralph_model::FeatureName::new("search").unwrap();
    let ours = scene
        .store()
        .create_feature(&name, &mut ralph_model::SplitMix64::new(1), super::now())
        .unwrap();
    scene.sql(
        "INSERT INTO features (id, name, created_at, updated_at) VALUES
             ('f-000001', 'Search', '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z'),
             ('f-000002', 'SEARCH', '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z');
         INSERT INTO tasks (id, title, feature_id, created_at, updated_at) VALUES
             ('t-000001', 'x', 'f-000001', '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z');
         INSERT INTO tasks (id, title, feature_id, parent_id, created_at, updated_at) VALUES
             ('t-000002', 'x', 'f-000002', 't-000001', '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z');",
    );
    let imported = scene.import();
    assert_eq!(imported.features, tally(1, 1));
    assert_eq!(
        remarks(&imported),
        [
            "Search: merged with the existing feature search",
            "SEARCH: the name SEARCH is taken (names ignore case): imported as SEARCH-2; rename its folder to match",
            "t-000002: its feature differs from its parent's: moved to the parent's feature",
        ]
    );
    for task in ["t-000001", "t-000002"] {
        assert_eq!(
            scene.store().task(&id(task)).unwrap().unwrap().feature.as_ref(),
            Some(&ours.id)
        );
    }
    let again = scene.import();
    assert_eq!((again.features, again.remarks), (tally(0, 2), vec![]));
}
