//! The step after which lessons are sealed in how they stand as well: what was sealed before stays so.

use ralph_testkit::past_its_types;

use super::compare::texts;
use super::{MIGRATIONS, SEMANTIC_MEMORY, database_in, migrate};
use crate::open::connect_for_test;
use crate::{Judgement, LearningFaultKind, Store, Wait};

/// The hash of what a lesson of the database from before says, as a program from before the step has written it.
const SEALED_BEFORE: &str = "UPDATE learnings SET hash = '0000' WHERE id = 'learn-00000003'";

/// How many steps there are before this one.
fn steps_before() -> usize {
    let is_this_one = |step: &&'static str| step.contains("learnings_stood_before");
    MIGRATIONS.iter().position(is_this_one).unwrap()
}

/// Whatever is written seals what has no hash.
fn write_anything(store: &mut Store) {
    let now = "2025-01-24T12:00:00Z".parse().unwrap();
    let judged = store.judge_learnings(&[], Judgement::Promote, now).unwrap();
    assert_eq!(judged, []);
}

#[test]
fn what_was_damaged_before_is_told_after_and_everything_else_is_sealed_with_the_next_change() {
    let folder = SEMANTIC_MEMORY.before();
    let path = database_in(folder.path());
    let older = connect_for_test(&path);
    migrate(&older, &path, &MIGRATIONS[..steps_before()]).unwrap();
    older.execute_batch(SEALED_BEFORE).unwrap();
    let mut store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
    let seals = store.learning_seals().unwrap();
    assert_eq!(seals.altered, ["learn-00000003"]);
    assert_eq!(seals.unsealed, seals.learnings - 1, "nobody has sealed them yet");
    write_anything(&mut store);
    let seals = store.learning_seals().unwrap();
    assert_eq!((seals.altered, seals.unsealed), (vec!["learn-00000003".to_owned()], 0));
}

/// The table allows no text there, so that nothing of the row can be written any more.
#[test]
fn one_row_that_cannot_be_written_keeps_nobody_from_writing_others() {
    let folder = SEMANTIC_MEMORY.before();
    let path = database_in(folder.path());
    let older = connect_for_test(&path);
    migrate(&older, &path, MIGRATIONS).unwrap();
    past_its_types(
        &older,
        "learnings",
        "UPDATE learnings SET confidence = 'sure' WHERE id = 'learn-00000003'",
    );
    let mut store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
    write_anything(&mut store);
    let unsealed = "SELECT id FROM learnings WHERE standing_hash IS NULL";
    assert_eq!(texts(&older, unsealed), ["learn-00000003"]);
    let mut faults = store.verify_learnings().unwrap().into_iter();
    let named = faults.find(|fault| fault.kind == LearningFaultKind::Unreadable);
    assert_eq!(named.unwrap().id.as_deref(), Some("learn-00000003"));
}

#[test]
fn a_program_from_before_that_has_it_open_breaks_no_seal() {
    let folder = SEMANTIC_MEMORY.before();
    let path = database_in(folder.path());
    let older = connect_for_test(&path);
    older.pragma_update(None, "foreign_keys", true).unwrap();
    migrate(&older, &path, &MIGRATIONS[..steps_before()]).unwrap();
    let judge = "UPDATE learnings SET status = 'rejected', confidence = 0.25 WHERE id = 'learn-00000001'";
    let mut judge = older.prepare(judge).unwrap();
    let mut store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
    let mut touch = || {
        write_anything(&mut store);
        store.learning_seals().unwrap()
    };
    let sealed = touch();
    assert_eq!((sealed.altered.len(), sealed.unsealed), (0, 0));
    assert_eq!(judge.execute([]), Ok(1));
    let unsealed = "SELECT id FROM learnings WHERE standing_hash IS NULL";
    assert_eq!(texts(&older, unsealed), ["learn-00000001"]);
    assert_eq!(touch(), sealed);
}
