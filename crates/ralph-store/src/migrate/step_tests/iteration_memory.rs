//! The step to iteration memory: what is new is right, and an older program goes on writing.

use super::compare::{assert_sound, texts};
use super::database::TITLES;
use super::{ITERATION_MEMORY, database_in};
use crate::open::connect_for_test;
use crate::{Store, Wait};

#[test]
fn what_is_new_is_right() {
    let folder = ITERATION_MEMORY.before();
    let path = database_in(folder.path());
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let connection = connect_for_test(&path);
    let types = texts(
        &connection,
        "SELECT task_type FROM journal WHERE run_id = 'run-000000ff' ORDER BY iteration",
    );
    let expected: Vec<&str> = TITLES.iter().map(|(_, task_type)| *task_type).collect();
    assert_eq!(types, expected);
    assert_eq!(texts(&connection, "SELECT DISTINCT tags FROM journal"), ["[]"]);
    let origins = "SELECT journal || ' ' || origin || ' ' || (gate IS NULL AND gate_end IS NULL AND signature IS NULL
                                                              AND shortened_at IS NULL) FROM failure_reports ORDER BY 1";
    assert_eq!(texts(&connection, origins), ["2 agent 1", "3 ralph 1", "4 agent 1"]);
    let judged = "SELECT id || ' ' || status || ' ' || coalesce(task_type, '?') || coalesce(
                      (SELECT group_concat(' ' || journal, '') FROM learning_sources WHERE learning = seq), '')
                  FROM learnings ORDER BY seq";
    assert_eq!(
        texts(&connection, judged),
        [
            "learn-00000001 pending general 1",
            "learn-00000002 pending general 2",
            "learn-00000003 pending general 3",
            "learn-00000004 pending general 4",
            "learn-00000005 pending general 5",
            "learn-00000006 pending feature",
            "learn-00000007 validated general 1",
            "learn-00000008 rejected general 1",
            "learn-00000009 promoted bug-fix 2",
            "learn-0000000a pruned general 1",
            "learn-0000000b pending general 1",
            "learn-0000000c pending general 1",
            "learn-0000000d pending general 1",
            "learn-0000000e pending general 1",
            "learn-0000000f pending general 1",
        ]
    );
    let found_by = |id: &str| {
        let by = "SELECT lesson || ' | ' || terms || ' | ' || coalesce((SELECT group_concat(word || '=' || tag, ' ')
                      FROM learning_tags WHERE learning = seq), '') FROM learnings WHERE id = ";
        texts(&connection, &format!("{by}'{id}'")).remove(0)
    };
    assert_eq!(
        found_by("learn-00000001"),
        "run the tests with one thread they share a port | run test one thread share port 0x cargo test port | \
         cargo=cargo test port=port"
    );
    // Tags that nobody can read are none, and stay as they are.
    assert_eq!(found_by("learn-0000000b"), "kept | kept | ");
    let unused = "SELECT count(*) || '' FROM learnings WHERE successes = 0 AND last_used_at IS NULL AND examples = '[]'
                  AND pruned_from IS NULL";
    assert_eq!(texts(&connection, unused), ["15"]);
}

#[test]
fn where_a_title_does_not_tell_the_description_of_a_task_does_if_it_is_still_there() {
    let folder = ITERATION_MEMORY.before();
    let path = database_in(folder.path());
    let connection = connect_for_test(&path);
    let fill = "UPDATE tasks SET description = 'It crashes.' WHERE id = 't-00000b';
                UPDATE journal SET task_title = 'Implement it' WHERE id = 3;
                UPDATE journal SET task_id = 't-ffffff' WHERE id = 4;";
    connection.execute_batch(fill).unwrap();
    drop(connection);
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let types = texts(
        &connect_for_test(&path),
        "SELECT id || ' ' || task_type FROM journal WHERE id <= 6 ORDER BY id",
    );
    assert_eq!(
        types,
        [
            "1 general",
            "2 bug-fix",
            "3 feature",
            "4 general",
            "5 bug-fix",
            "6 general"
        ]
    );
}

#[test]
fn metrics_leave_out_what_was_interrupted_and_what_happened_elsewhere() {
    let folder = ITERATION_MEMORY.before();
    let path = database_in(folder.path());
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let connection = connect_for_test(&path);
    let sql =
        "SELECT id || ' ' || outcome || ' ' || failed FROM strategy_metrics WHERE run_id <> 'run-000000ff' ORDER BY id";
    assert_eq!(
        texts(&connection, sql),
        ["1 done 0", "2 failed 1", "3 retried 1", "4 blocked 1"]
    );
}

#[test]
fn an_older_program_that_has_it_open_goes_on_writing() {
    let folder = ITERATION_MEMORY.before();
    let path = database_in(folder.path());
    let older = connect_for_test(&path);
    older.pragma_update(None, "foreign_keys", true).unwrap();
    let lesson =
        "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, source, source_loops,
                                         task, journal, status, created_at, updated_at)
                  VALUES ('learn-000000aa', 'strategy', 'other', 'late', '[\"x\"]', 0.5, 1.0, 'sigil', '[]', NULL, 1,
                          'pending', '2025-01-23T12:00:00.000Z', '2025-01-23T12:00:00.000Z')";
    let mut late = older.prepare(lesson).unwrap();
    let report = "INSERT INTO failure_reports (journal, task, what_tried, why_failed, category, relevant_files,
                                               error_output, suggestion)
                  VALUES (1, NULL, 'this', 'that', 'unknown', '[]', NULL, NULL)";
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    assert_eq!(late.execute([]), Ok(1));
    assert_eq!(older.execute(report, []), Ok(1));
    assert_sound(&older);
    assert_eq!(
        texts(&older, "SELECT origin FROM failure_reports WHERE journal = 1"),
        ["agent"]
    );
}
