//! The step to what lessons rest on: what was drawn is told apart from what was told, and no gate of before speaks against work.

use super::compare::texts;
use super::{EVIDENCE, database_in};
use crate::open::connect_for_test;
use crate::{Store, Wait};

#[test]
fn what_was_drawn_until_now_nobody_told() {
    let folder = EVIDENCE.before();
    let path = database_in(folder.path());
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    let connection = connect_for_test(&path);
    let sources = "SELECT id || ' ' || learning_sources.journal || ' ' || drawn FROM learning_sources
                   JOIN learnings ON seq = learning WHERE seq IN (1, 7) ORDER BY seq, learning_sources.journal";
    assert_eq!(
        texts(&connection, sources),
        [
            "learn-00000001 1 0",
            "learn-00000001 3 0",
            "learn-00000007 1 1",
            "learn-00000007 4 1",
        ]
    );
    let red = "SELECT count(*) || '' FROM journal WHERE still_red";
    assert_eq!(texts(&connection, red), ["0"]);
}

#[test]
fn an_older_program_that_has_it_open_goes_on_writing() {
    let folder = EVIDENCE.before();
    let path = database_in(folder.path());
    let older = connect_for_test(&path);
    let put =
        "INSERT INTO learning_sources (learning, journal) SELECT seq, 5 FROM learnings WHERE id = 'learn-00000001'
               ON CONFLICT DO NOTHING";
    let mut put = older.prepare(put).unwrap();
    drop(Store::open_existing(&path, Wait::Long).unwrap().unwrap());
    assert_eq!(put.execute([]), Ok(1));
    let told = "SELECT drawn || '' FROM learning_sources WHERE journal = 5 AND learning = 1";
    assert_eq!(texts(&older, told), ["0"]);
}
