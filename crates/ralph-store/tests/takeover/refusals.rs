//! What is no database of RefoundAI's ralph, or cannot be used now, is refused in one line and left as it is.

use std::fs;

use ralph_store::{ForeignDatabase, Store};

use super::{FORMAT_3, Scene, write};

/// Why the database is refused, whether it is only to be looked at or to be replaced.
#[track_caller]
fn refused(scene: &Scene) -> String {
    let before = scene.files();
    let look = ForeignDatabase::open(&scene.theirs()).unwrap_err().to_string();
    assert_eq!(scene.files(), before);
    let hold = ForeignDatabase::hold(&scene.theirs()).unwrap_err().to_string();
    assert_eq!(scene.files(), before);
    assert_eq!(look, hold);
    assert_eq!(look.lines().count(), 1, "{look}");
    look.replace(&format!("{}/", scene.folder.path().display()), "")
}

#[test]
fn a_format_that_is_not_known_is_refused() {
    for (format, expected) in [
        (0, "theirs.db has format 0, and only formats 1 to 5 can be taken over"),
        (6, "theirs.db has format 6, and only formats 1 to 5 can be taken over"),
    ] {
        let scene = Scene::new(5);
        scene.sql(&format!("PRAGMA user_version = {format}"));
        assert_eq!(refused(&scene), expected);
    }
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let scene = Scene::new(5);
    scene.sql("DROP TABLE task_logs");
    assert_eq!(
        refused(&scene),
        "theirs.db is no database of RefoundAI's ralph: it has no table task_logs"
    );
    let scene = Scene::new(5);
    scene.sql("ALTER TABLE tasks DROP COLUMN retry_count");
    assert_eq!(
        refused(&scene),
        "theirs.db is no database of RefoundAI's ralph: its table tasks has no column retry_count"
    );
    let scene = Scene::new(5);
    scene.sql("PRAGMA application_id = 7");
    assert_eq!(
        refused(&scene),
        "theirs.db is no database of RefoundAI's ralph: its header names another program"
    );
    for bytes in [
        "",
        "just some text that is no database, and rather longer than a header is, to be read at all",
    ] {
        write(scene.theirs(), bytes);
        assert!(refused(&scene).starts_with("theirs.db is no database of RefoundAI's ralph: "));
    }
    fs::remove_file(scene.theirs()).unwrap();
    assert_eq!(refused(&scene), "there is no theirs.db");
    fs::create_dir(scene.theirs()).unwrap();
    let look = ForeignDatabase::open(&scene.theirs()).unwrap_err().to_string();
    assert!(look.ends_with("it is not a file"), "{look}");
    fs::remove_dir(scene.theirs()).unwrap();
    drop(Store::open_or_create(&scene.theirs()).unwrap());
    assert_eq!(refused(&scene), "theirs.db is ralph's own database");
}

#[test]
fn a_damaged_database_is_refused() {
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
fn a_database_that_is_in_use_is_refused() {
    let scene = Scene::new(5);
    let open = scene.connect();
    open.execute_batch("BEGIN IMMEDIATE; UPDATE tasks SET title = 'x'")
        .unwrap();
    assert_eq!(refused(&scene), "another process uses theirs.db");
    open.execute_batch("ROLLBACK").unwrap();
    assert_eq!(
        refused(&scene),
        "another process uses theirs.db",
        "also while it only has it open"
    );
    drop(open);
    assert_eq!(scene.read().tasks.len(), 5);
}

#[test]
fn nobody_else_gets_at_a_database_that_is_held() {
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
fn a_database_in_the_middle_of_a_change_is_refused() {
    let scene = Scene::new(5);
    write(scene.folder.path().join("theirs.db-journal"), "a rollback journal");
    assert_eq!(
        refused(&scene),
        "theirs.db was left in the middle of a change, which theirs.db-journal would undo"
    );
}

#[test]
fn a_database_without_a_write_ahead_log_is_taken_as_well() {
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
