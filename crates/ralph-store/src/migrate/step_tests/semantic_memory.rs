//! The step to semantic memory: what is new is right, and an older program goes on writing.

use super::compare::{assert_sound, texts};
use super::{SEMANTIC_MEMORY, database_in};
use crate::open::connect_for_test;
use crate::{Store, Wait};

#[test]
fn rates_are_those_of_before_and_of_what_was_counted_since() {
    let folder = SEMANTIC_MEMORY.before();
    let path = database_in(folder.path());
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let connection = connect_for_test(&path);
    let rates = "SELECT id || ' ' || kind || ' ' || first_success_rate || ' ' || round(success_rate, 4) FROM learnings
                 WHERE seq <= 4 ORDER BY seq";
    assert_eq!(
        texts(&connection, rates),
        [
            // (5 · 1 + 1) / (5 + 4)
            "learn-00000001 strategy 1.0 0.6667",
            // What warns of something keeps its rate, however it went with those who were warned.
            "learn-00000002 antipattern 0.0 0.0",
            "learn-00000003 strategy 0.25 0.25",
            "learn-00000004 convention 1.0 1.0",
        ]
    );
    let untouched = "SELECT count(*) || '' FROM learnings
                     WHERE first_use_count = 0 AND facts IS NULL AND foreign_id IS NULL AND original IS NULL
                           AND quiet_showings = 0 AND counted_since = 0";
    assert_eq!(texts(&connection, untouched), ["15"]);
    assert_eq!(texts(&connection, "SELECT DISTINCT coalesce(asks, '') FROM runs"), [""]);
}

#[test]
fn a_warning_is_known_by_the_failures_of_the_iterations_that_taught_it() {
    let folder = SEMANTIC_MEMORY.before();
    let path = database_in(folder.path());
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let known = "SELECT id || ' ' || signature FROM learning_signatures JOIN learnings ON seq = learning";
    assert_eq!(texts(&connect_for_test(&path), known), ["learn-00000002 same-again"]);
}

#[test]
fn an_older_program_that_has_it_open_goes_on_writing() {
    let folder = SEMANTIC_MEMORY.before();
    let path = database_in(folder.path());
    let older = connect_for_test(&path);
    older.pragma_update(None, "foreign_keys", true).unwrap();
    let put =
        "INSERT INTO learnings (id, kind, category, content, tags, confidence, success_rate, source, source_loops,
                                      status, created_at, updated_at, lesson, terms, tag_terms)
               VALUES ('learn-000000aa', 'strategy', 'other', 'late', '[]', 0.5, 1.0, 'sigil', '[]', 'promoted',
                       '2025-01-23T12:00:00.000Z', '2025-01-23T12:00:00.000Z', 'late', 'late', '[]')";
    let mut put = older.prepare(put).unwrap();
    let used = "UPDATE learnings SET use_count = use_count + 1, successes = successes + 1,
                    last_used_at = '2025-01-23T13:00:00.000Z' WHERE id = 'learn-000000aa'";
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    assert_eq!(put.execute([]), Ok(1));
    assert_eq!(older.execute(used, []), Ok(1));
    let said = "UPDATE learnings SET tags = '[\"x\"]' WHERE id = 'learn-00000001'";
    assert_eq!(older.execute(said, []), Ok(1));
    assert_sound(&older);
    // What it writes has no hash until a newer program writes.
    let unsealed =
        "SELECT id FROM learnings WHERE hash IS NULL AND id IN ('learn-000000aa', 'learn-00000001') ORDER BY id";
    assert_eq!(texts(&older, unsealed), ["learn-00000001", "learn-000000aa"]);
}
