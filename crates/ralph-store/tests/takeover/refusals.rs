//! Databases that are not RefoundAI's or cannot be used now are refused in one line and left unchanged.

use std::fs;

use ralph_store::{ForeignDatabase, Store};

use super::{FORMAT_3, Scene, write};

/// The error for the database, the same for reading and for replacing it.
#[track_caller]
fn refused(scene: &Scene) -> String {
    let before = scene.files();
    let error = ForeignDatabase::open(&scene.theirs()).unwrap_err().to_string();
    assert_eq!(scene.files(), before);
    let hold = ForeignDatabase::hold(&scene.theirs()).unwrap_err().to_string();
    assert_eq!(scene.files(), before);
    assert_eq!(error, hold);
    assert_eq!(error.lines().count(), 1, "{error}");
    error.replace(&format!("{}/", scene.folder.path().display()), "")
}

#[test]
fn unknown_format_is_refused() {
    for (format, expected) in [
        (0, "theirs.db has format 0, but only formats 1 to 5 can be imported"),
        (6, "theirs.db has format 6, but only formats 1 to 5 can be imported"),
    ] {
        let scene = Scene::new(5);
        scene.sql(&format!("PRAGMA user_version = {format}"));
        assert_eq!(refused(&scene), expected);
    }
}

#[test]
fn files_of_other_programs_are_refused() {
    let scene = Scene::new(5);
    scene.sql("DROP TABLE task_logs");
    assert_eq!(
        refused(&scene),
        "theirs.db is not a database of RefoundAI's ralph: it has no table task_logs"
    );
    let scene = Scene::new(5);
    scene.sql("ALTER TABLE tasks DROP COLUMN retry_count");
    assert_eq!(
        refused(&scene),
        "theirs.db is not a database of RefoundAI's ralph: its table tasks has no column retry_count"
    );
    let scene = Scene::new(5);
    scene.sql("PRAGMA application_id = 7");
    assert_eq!(
        refused(&scene),
        "theirs.db is not a database of RefoundAI's ralph: its header names another program"
    );
    for bytes in [
        "",
        "just some text that is no database, and rather longer than a header is, to be read at all",
    ] {
        write(scene.theirs(), bytes);
        assert!(refused(&scene).starts_with("theirs.db is not a database of RefoundAI's ralph: "));
    }
    fs::remove_file(scene.theirs()).unwrap();
    assert_eq!(refused(&scene), "theirs.db does not exist");
    fs::create_dir(scene.theirs()).unwrap();
    let error = ForeignDatabase::open(&scene.theirs()).unwrap_err().to_string();
    assert!(error.ends_with("it is not a file"), "{error}");
    fs::remove_dir(scene.theirs()).unwrap();
    drop(Store::open_or_create(&scene.theirs()).unwrap());
    assert_eq!(refused(&scene), "theirs.db is ralph's own database");
}

#[test]
fn damaged_database_is_refused() {
    let scene = Scene::new(3);
    let whole = fs::read(scene.theirs()).unwrap();
    for from in (4096..whole.len()).step_by(4096) {
        let mut scribbled = whole.clone();
        scribbled.iter_mut().skip(from).take(64).for_each(|byte| *byte = 0x5a);
        write(scene.theirs(), scribbled);
        let message = ForeignDatabase::open(&scene.theirs()).and_then(|database| database.read());
        let message = message.unwrap_err().to_string();
        assert!(
            message.contains("cannot read ") && message.lines().count() == 1,
            "{from}: {message}"
        );
    }
    write(scene.theirs(), whole.get(..whole.len() / 2).unwrap());
    assert!(refused(&scene).starts_with("cannot read theirs.db: "));
}

#[test]
fn database_in_use_is_refused() {
    let scene = Scene::new(5);
    let open = scene.connect();
    open.execute_batch("BEGIN IMMEDIATE; UPDATE tasks SET title = 'x'")
        .unwrap();
    assert_eq!(refused(&scene), "theirs.db is in use by another process");
    open.execute_batch("ROLLBACK").unwrap();
    assert_eq!(
        refused(&scene),
        "theirs.db is in use by another process",
        "also while it only has it open"
    );
    drop(open);
    assert_eq!(scene.read().tasks.len(), 5);
}

#[test]
fn held_database_is_locked_for_others() {
    let scene = Scene::new(5);
    let held = ForeignDatabase::hold(&scene.theirs()).unwrap();
    let open = scene.connect();
    open.busy_timeout(std::time::Duration::ZERO).unwrap();
    let refused = open.query_row("SELECT count(*) FROM tasks", [], |row| row.get::<_, i64>(0));
    assert!(refused.is_err());
    drop(held);
    assert_eq!(
        open.query_row("SELECT count(*) FROM tasks", [], |row| row.get::<_, i64>(0)),
        Ok(5)
    );
}

#[test]
fn database_with_hot_journal_is_refused() {
    let scene = Scene::new(5);
    write(scene.folder.path().join("theirs.db-journal"), "a rollback journal");
    assert_eq!(
        refused(&scene),
        "theirs.db has an unfinished transaction, which theirs.db-journal would roll back"
    );
}

#[test]
fn database_without_write_ahead_log_is_accepted() {
    let scene = Scene::empty(3);
    assert!(FORMAT_3.contains("user_version = 3"));
    scene.sql("PRAGMA journal_mode = DELETE");
    let before = scene.files();
    let mut held = ForeignDatabase::hold(&scene.theirs()).unwrap();
    assert_eq!(held.read().unwrap().tasks, []);
    held.gather_into_one_file().unwrap();
    drop(held);
    assert_eq!(scene.files(), before);
}
