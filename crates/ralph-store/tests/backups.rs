//! Backups: when they are made, how many are kept, and restoring a lost or damaged database.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use ralph_model::{NewTask, SplitMix64};
use ralph_store::{Backup, Backups, DatabasePlace, Store, StoreError, TaskFilter, Wait};

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("progress.db")
    }

    fn backups_folder(&self) -> PathBuf {
        self.folder.path().join("state/ralph/id/backups")
    }

    fn backups(&self) -> Backups {
        Backups::in_folder(&self.backups_folder())
    }

    fn place(&self) -> DatabasePlace {
        DatabasePlace {
            path: self.database(),
            backups: Some(self.backups_folder()),
        }
    }

    /// Adds a task to the database.
    fn with_task(&self, title: &str) -> Store {
        let mut store = Store::open_or_create(&self.place()).unwrap();
        let mut entropy = SplitMix64::new(title.len() as u64);
        store
            .add_task(&NewTask::titled(title), &mut entropy, moment(0))
            .unwrap();
        store
    }

    fn names(&self) -> Vec<String> {
        self.backups().list().unwrap().iter().map(Backup::name).collect()
    }
}

fn titles(path: &Path) -> Vec<String> {
    let store = Store::open_existing(path, Wait::Long).unwrap().unwrap();
    let tasks = store.tasks(&TaskFilter::default()).unwrap();
    tasks.into_iter().map(|task| task.title).collect()
}

/// A time this many hours after a fixed noon.
fn moment(hours: i64) -> Timestamp {
    let noon: Timestamp = "2025-01-20T12:00:00Z".parse().unwrap();
    noon + SignedDuration::from_hours(hours)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Overwrites the pages of two tables of a database, which can still be opened.
#[expect(clippy::disallowed_methods, reason = "another client")]
fn damage(path: &Path) {
    let pages: Vec<u64> = {
        let database = rusqlite::Connection::open(path).unwrap();
        let mut roots = database
            .prepare("SELECT rootpage FROM sqlite_master WHERE name IN ('journal', 'task_log')")
            .unwrap();
        let roots = roots.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        roots.map(|root| root.unwrap().cast_unsigned()).collect()
    };
    let mut file = File::options().write(true).open(path).unwrap();
    for page in pages {
        file.seek(SeekFrom::Start((page - 1) * 4096)).unwrap();
        file.write_all(&[0x5a; 4096]).unwrap();
    }
}

#[test]
fn backups_are_daily_and_seven_are_kept() {
    let scene = Scene::new();
    let store = scene.with_task("one");
    let back_up = |hours| store.back_up_if_due(&scene.backups(), moment(hours)).unwrap().is_some();
    assert_eq!([0, 1, 23, 24, 30].map(back_up), [true, false, false, true, false]);
    assert_eq!(
        scene.names(),
        ["progress-20250120T120000Z.db", "progress-20250121T120000Z.db"]
    );
    for day in 2..10 {
        assert!(back_up(day * 24));
    }
    let names = scene.names();
    assert_eq!((names.len(), names[0].as_str()), (7, "progress-20250123T120000Z.db"));
    let newest = scene.backups().newest().unwrap().unwrap();
    assert_eq!(newest.made_at, moment(9 * 24));
    // The backup includes what was only in the log.
    assert_eq!(titles(&newest.path), ["one"]);
    assert_eq!((mode(&newest.path), mode(&scene.backups_folder())), (0o600, 0o700));
}

#[test]
fn backup_from_the_future_does_not_block_new_ones() {
    let scene = Scene::new();
    let store = scene.with_task("one");
    let back_up = |hours| store.back_up_if_due(&scene.backups(), moment(hours)).unwrap().is_some();
    assert_eq!([1000, 0, 1].map(back_up), [true, true, false]);
}

#[test]
fn damaged_database_is_not_backed_up_and_old_backups_stay() {
    let scene = Scene::new();
    let store = scene.with_task("one");
    for day in 0..7 {
        store.back_up_if_due(&scene.backups(), moment(day * 24)).unwrap();
    }
    store.close_into_one_file().unwrap();
    let before = scene.names();
    damage(&scene.database());
    let store = Store::open_existing(&scene.place(), Wait::Long).unwrap().unwrap();
    let error = store.back_up_if_due(&scene.backups(), moment(1000)).unwrap_err();
    assert!(
        matches!(error, StoreError::Damaged { .. } | StoreError::Sql { .. }),
        "{error}"
    );
    assert_eq!(scene.names(), before);
    let files = fs::read_dir(scene.backups_folder()).unwrap().count();
    assert_eq!(files, before.len() + 1, "they and their lock");
}

#[test]
fn restored_backup_is_not_mixed_with_the_old_log() {
    let scene = Scene::new();
    let store = scene.with_task("one");
    let backup = store.back_up_if_due(&scene.backups(), moment(0)).unwrap().unwrap();
    // A reader prevents truncation of the log.
    let reader = store.snapshot().unwrap();
    store.record_counts().unwrap();
    drop(scene.with_task("another"));
    drop(reader);
    drop(store);
    let log = scene.folder.path().join("progress.db-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0);
    let kept = Backups::restore(&backup, &scene.database(), moment(1))
        .unwrap()
        .unwrap();
    assert_eq!(kept, scene.folder.path().join("progress.db.replaced-20250120T130000Z"));
    assert_eq!(titles(&scene.database()), ["one"]);
    assert_eq!(titles(&kept), ["one", "another"]);
    assert_eq!(mode(&scene.database()), 0o600);
    let health = Store::open_read_only(&scene.database())
        .unwrap()
        .unwrap()
        .health()
        .unwrap();
    assert_eq!((health.faults, health.write_ahead), (vec![], true));
}

#[test]
fn restoring_keeps_the_damaged_database() {
    let scene = Scene::new();
    let store = scene.with_task("one");
    let backup = store.back_up_if_due(&scene.backups(), moment(0)).unwrap().unwrap();
    store.close_into_one_file().unwrap();
    for what in [&b"not a database"[..], &[0; 100]] {
        File::create(scene.database())
            .and_then(|mut file| file.write_all(what))
            .unwrap();
        let kept = Backups::restore(&backup, &scene.database(), moment(1))
            .unwrap()
            .unwrap();
        assert_eq!(fs::read(kept).unwrap(), what);
        assert_eq!(titles(&scene.database()), ["one"]);
    }
}

#[test]
fn damaged_backup_or_database_in_use_changes_nothing() {
    let scene = Scene::new();
    let store = scene.with_task("one");
    let backup = store.back_up_if_due(&scene.backups(), moment(0)).unwrap().unwrap();
    drop(scene.with_task("another"));
    let error = Backups::restore(&backup, &scene.database(), moment(1)).unwrap_err();
    assert!(error.to_string().ends_with("is locked by another process"), "{error}");
    assert!(!scene.folder.path().join("progress.db.restoring").exists());
    drop(store);
    damage(&backup.path);
    let error = Backups::restore(&backup, &scene.database(), moment(1)).unwrap_err();
    assert!(error.to_string().contains(&backup.name()), "{error}");
    assert_eq!(titles(&scene.database()), ["one", "another"]);
}

#[test]
fn restoring_a_missing_database_keeps_its_log() {
    let scene = Scene::new();
    let store = scene.with_task("one");
    let backup = store.back_up_if_due(&scene.backups(), moment(0)).unwrap().unwrap();
    store.close_into_one_file().unwrap();
    fs::remove_file(scene.database()).unwrap();
    let restore = || Backups::restore(&backup, &scene.database(), moment(1)).unwrap();
    assert_eq!(restore(), None);
    fs::remove_file(scene.database()).unwrap();
    let log = scene.folder.path().join("progress.db-wal");
    File::create(&log).and_then(|mut log| log.write_all(b"frames")).unwrap();
    let kept = restore().unwrap();
    assert_eq!(fs::read(kept).unwrap(), b"frames");
    assert_eq!(titles(&scene.database()), ["one"]);
}

#[test]
fn finished_write_survives_loss_of_the_log() {
    let scene = Scene::new();
    let store = scene.with_task("one");
    for ending in ["-wal", "-shm"] {
        fs::remove_file(scene.folder.path().join(format!("progress.db{ending}"))).unwrap();
    }
    drop(store);
    assert_eq!(titles(&scene.database()), ["one"]);
}

#[test]
fn a_missing_table_is_damage() {
    let scene = Scene::new();
    let mut store = scene.with_task("one");
    let counts = store.record_counts().unwrap();
    assert_eq!((counts.tasks, counts.journal_entries), (1, 0));
    let backup = store.back_up_if_due(&scene.backups(), moment(0)).unwrap().unwrap();
    assert_eq!(backup.record_counts().unwrap(), counts);
    #[expect(clippy::disallowed_methods, reason = "another client")]
    let other = rusqlite::Connection::open(scene.database()).unwrap();
    other.execute_batch("DROP TABLE journal").unwrap();
    store = Store::open_existing(&scene.place(), Wait::Long).unwrap().unwrap();
    let faults = store.health().unwrap().faults;
    assert_eq!(faults[0], "table journal is missing");
    let error = store.back_up_if_due(&scene.backups(), moment(48)).unwrap_err();
    assert!(error.to_string().contains("table journal is missing"), "{error}");
}

#[test]
fn missing_database_with_backup_is_not_recreated() {
    let scene = Scene::new();
    let place = scene.place();
    assert!(Store::open_existing(&place, Wait::Long).unwrap().is_none());
    let store = scene.with_task("one");
    let backup = store.back_up_if_due(&scene.backups(), moment(0)).unwrap().unwrap();
    store.close_into_one_file().unwrap();
    for state in ["missing", "empty"] {
        fs::remove_file(&place.path).unwrap();
        if state == "empty" {
            File::create(&place.path).unwrap();
        }
        for opened in [
            Store::open_or_create(&place).map(drop),
            Store::open_existing(&place, Wait::Long).map(drop),
            Store::open_for_reading(&place, Wait::Brief).map(drop),
            Store::open_read_only(&place).map(drop),
        ] {
            let expected = format!(
                "{} is {state}, but there is a backup: {}",
                place.path.display(),
                backup.path.display()
            );
            assert_eq!(opened.unwrap_err().to_string(), expected);
        }
        Backups::restore(&backup, &place.path, moment(1)).unwrap();
        assert_eq!(titles(&place.path), ["one"]);
    }
    fs::remove_file(&place.path).unwrap();
    fs::remove_dir_all(scene.backups_folder()).unwrap();
    drop(Store::open_or_create(&place).unwrap());
}

#[test]
fn new_database_files_are_private_to_their_owner() {
    let scene = Scene::new();
    let _store = scene.with_task("one");
    for name in ["progress.db", "progress.db-wal", "progress.db-shm", "progress.db.lock"] {
        assert_eq!(mode(&scene.folder.path().join(name)), 0o600, "{name}");
    }
}
