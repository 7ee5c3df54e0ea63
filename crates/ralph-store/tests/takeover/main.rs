//! Importing the database of RefoundAI's ralph, with real databases of each of its formats.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod here_since;
mod odd_databases;
mod refusals;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_model::{Outcome, TaskId, TaskStatus, TaskType};
use ralph_store::{
    FactKind, ForeignDatabase, ForeignHistory, ImportedHistory, JournalFilter, Store, Tally, TaskFilter, Which,
};
use rusqlite::Connection;

const FORMAT_3: &str = include_str!("refound_3.sql");
const FORMAT_4: &str = include_str!("refound_4.sql");
const FORMAT_5: &str = include_str!("refound_5.sql");
const ROWS: &str = include_str!("refound_rows.sql");

/// A folder with the other tool's database and ours.
fn general(_: &str, _: &str) -> TaskType {
    TaskType::General
}

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// A database of this format with the sample rows.
    fn new(format: usize) -> Self {
        let scene = Self::empty(format);
        scene.sql(ROWS);
        scene
    }

    /// A database of this format without any rows.
    fn empty(format: usize) -> Self {
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let steps = [FORMAT_3, FORMAT_4, FORMAT_5];
        scene.sql("PRAGMA journal_mode = WAL");
        for step in steps.iter().take(format - 2) {
            scene.sql(step);
        }
        scene
    }

    fn theirs(&self) -> PathBuf {
        self.folder.path().join("theirs.db")
    }

    fn ours(&self) -> PathBuf {
        self.folder.path().join("ours.db")
    }

    /// A connection like the other tool's.
    fn connect(&self) -> Connection {
        connect(&self.theirs())
    }

    /// Runs SQL on the other tool's database.
    fn sql(&self, sql: &str) {
        self.connect().execute_batch(sql).unwrap();
    }

    fn read(&self) -> ForeignHistory {
        ForeignDatabase::open(&self.theirs()).unwrap().read().unwrap()
    }

    fn import(&self) -> ImportedHistory {
        self.store().import_history(&self.read(), general, now()).unwrap()
    }

    fn store(&self) -> Store {
        Store::open_or_create(&self.ours()).unwrap()
    }

    /// The bytes of every file in the folder.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        let mut files: Vec<_> = files
            .map(|file| file.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

#[expect(clippy::disallowed_methods, reason = "the other tool opens its own database")]
fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    // Dangling references come from clients that do not enable these checks.
    connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    connection
}

/// Writes a file.
fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    fs::File::create(path).unwrap().write_all(bytes.as_ref()).unwrap();
}

fn now() -> Timestamp {
    "2026-03-01T00:00:00Z".parse().unwrap()
}

fn id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

/// The remarks as lines.
fn remarks(imported: &ImportedHistory) -> Vec<String> {
    let lines = imported
        .remarks
        .iter()
        .map(|remark| format!("{}: {}", remark.about, remark.text));
    lines.collect()
}

fn tally(added: usize, known: usize) -> Tally {
    Tally { added, known }
}

#[test]
fn every_format_is_imported_completely() {
    for format in [3, 4, 5] {
        let scene = Scene::new(format);
        let before = scene.files();
        let imported = scene.import();
        assert_eq!(imported.features, tally(1, 0));
        assert_eq!(imported.tasks, tally(5, 0));
        assert_eq!(imported.iterations, tally(4, 0));
        assert_eq!((imported.dependencies, imported.log_lines), (2, 2));
        assert_eq!(
            remarks(&imported),
            ["tasks: 2 tasks were in progress: imported as pending"]
        );
        assert_eq!(
            imported.renamed.into_iter().collect::<Vec<_>>(),
            [("t-1a2b3c4d".to_owned(), id("t-1a2b3c"))]
        );
        let theirs: Vec<_> = scene.files().into_iter().filter(|file| before.contains(file)).collect();
        assert_eq!(theirs, before, "reading changes nothing, format {format}");
    }
}

#[test]
fn database_without_journal_is_imported() {
    let scene = Scene::new(3);
    scene.sql("DROP TABLE journal_fts; DROP TABLE journal; PRAGMA user_version = 2");
    let imported = scene.import();
    assert_eq!((imported.features, imported.tasks), (tally(1, 0), tally(5, 0)));
    assert_eq!(imported.iterations, tally(0, 0));
}

#[test]
fn database_without_features_is_imported() {
    // The first format's version of the same tables.
    let (tasks, _) = FORMAT_3.split_once("CREATE TABLE features").unwrap();
    let scene = Scene {
        folder: tempfile::tempdir().unwrap(),
    };
    scene.sql(&format!("{tasks}PRAGMA user_version = 1"));
    scene.sql(
        "INSERT INTO tasks (id, title, status, priority, created_at, updated_at)
         VALUES ('t-aaaaaa', 'one', 'done', 1, '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z'),
                ('t-bbbbbb', 'two', 'blocked', 2, '2026-02-18T09:00:00Z', '2026-02-18T09:00:00Z');
         INSERT INTO dependencies VALUES ('t-aaaaaa', 't-bbbbbb');
         INSERT INTO task_logs (task_id, message, timestamp) VALUES ('t-aaaaaa', 'done', '2026-02-18 09:00:00')",
    );
    let imported = scene.import();
    assert_eq!((imported.features, imported.tasks), (tally(0, 0), tally(2, 0)));
    assert_eq!((imported.dependencies, imported.log_lines), (1, 1));
    assert_eq!(remarks(&imported), Vec::<String>::new());
    let task = scene.store().task(&id("t-bbbbbb")).unwrap().unwrap();
    assert_eq!(
        (task.retries_used, task.max_retries, task.after),
        (0, None, vec![id("t-aaaaaa")])
    );
}

#[test]
fn task_keeps_its_own_retry_limit() {
    let scene = Scene::new(5);
    scene.sql("UPDATE tasks SET max_retries = 7 WHERE id = 't-cccccc'");
    scene.import();
    let retries = |task: &str| scene.store().task(&id(task)).unwrap().unwrap().max_retries;
    // 3 is the other tool's default.
    assert_eq!((retries("t-cccccc"), retries("t-aaaaaa")), (Some(7), None));
}

#[test]
fn task_fields_are_kept_and_status_is_recomputed() {
    let scene = Scene::new(5);
    scene.import();
    let store = scene.store();
    let all = TaskFilter {
        which: Which::All,
        ..TaskFilter::default()
    };
    let tasks = store.tasks(&all).unwrap();
    let statuses: Vec<(&str, TaskStatus, u32, u32)> = tasks
        .iter()
        .map(|task| (task.id.as_str(), task.status, task.priority.0, task.retries_used))
        .collect();
    assert_eq!(
        statuses,
        [
            ("t-dddddd", TaskStatus::Blocked, 0, 0),
            ("t-aaaaaa", TaskStatus::Pending, 1, 0),
            ("t-bbbbbb", TaskStatus::Done, 1, 1),
            ("t-cccccc", TaskStatus::Pending, 2, 2),
            ("t-1a2b3c", TaskStatus::Failed, 3, 3),
        ]
    );
    let part = store.task(&id("t-cccccc")).unwrap().unwrap();
    assert_eq!(part.parent, Some(id("t-aaaaaa")));
    assert_eq!(part.after, [id("t-bbbbbb")]);
    assert_eq!(
        part.feature.map(|feature| feature.to_string()).as_deref(),
        Some("f-0a0b0c")
    );
    assert_eq!(part.created_at.to_string(), "2026-02-18T09:03:00Z");
    assert_eq!(part.claimed_by, None);
    assert_eq!(part.attempts, 2, "attempt numbers are not reused");
    let log: Vec<String> = store
        .task_log(&id("t-cccccc"))
        .unwrap()
        .into_iter()
        .map(|line| format!("{} {}", line.at, line.text))
        .collect();
    assert_eq!(
        log,
        [
            "2026-02-18T09:25:00Z User guidance: use BM25",
            "2026-03-01T00:00:00Z Imported from RefoundAI's ralph, where its id was t-cccccc."
        ]
    );
}

#[test]
fn journal_fields_are_kept_and_searchable() {
    let scene = Scene::new(5);
    scene.import();
    let store = scene.store();
    let mut rows = store.journal_list(&JournalFilter::default()).unwrap();
    rows.reverse();
    let seen: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.row.run.as_str(),
                row.row.iteration,
                row.row.outcome,
                row.row.attempt,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("run-1a2b3c4d", 1, Outcome::Retried, 1),
            ("run-1a2b3c4d", 2, Outcome::Done, 2),
            ("run-1a2b3c4d", 3, Outcome::Failed, 1),
            ("run-5e6f7a8b", 1, Outcome::Blocked, 1),
        ]
    );
    let first_id = rows.first().unwrap().id;
    let first = &rows.first().unwrap().row;
    assert_eq!(first.model.as_deref(), Some("sonnet"));
    assert_eq!((first.duration_ms, first.usage.cost_usd), (12500, 0.0042));
    assert_eq!(first.files_modified, ["src/words.rs"]);
    assert_eq!(first.notes.as_deref(), Some("The tokenizer splits at dashes."));
    assert_eq!(first.task_title, "Cut words");
    assert_eq!(first.created_at.to_string(), "2026-02-18T09:15:00Z");
    let texts = scene.store().search_texts(FactKind::Journal, &[first_id]).unwrap();
    assert!(texts[0].text.contains("splits at dashes"), "{texts:?}");
}

#[test]
fn repeated_import_adds_only_new_records() {
    let scene = Scene::new(5);
    scene.import();
    let before = scene.read();
    let again = scene.import();
    assert!(again.is_nothing_new());
    assert_eq!(
        (again.features, again.tasks, again.iterations),
        (tally(0, 1), tally(0, 5), tally(0, 4))
    );
    assert_eq!((again.dependencies, again.log_lines), (0, 0));
    assert_eq!(scene.read(), before);
    scene.sql(
        "INSERT INTO tasks (id, title, status, created_at, updated_at) VALUES
             ('t-eeeeee', 'One more', 'pending', '2026-02-25T09:00:00Z', '2026-02-25T09:00:00Z');
         INSERT INTO dependencies VALUES ('t-1a2b3c4d', 't-eeeeee');
         INSERT INTO journal (run_id, iteration, task_id, outcome, created_at) VALUES
             ('run-5e6f7a8b', 2, 't-1a2b3c4d', 'done', '2026-02-25T09:10:00Z');",
    );
    let more = scene.import();
    assert_eq!(
        (more.tasks, more.iterations, more.dependencies),
        (tally(1, 5), tally(1, 4), 1)
    );
    let store = scene.store();
    let task = store.task(&id("t-eeeeee")).unwrap().unwrap();
    assert_eq!((task.after, task.status), (vec![id("t-1a2b3c")], TaskStatus::Blocked));
    let last = store.journal_last().unwrap().unwrap().row;
    assert_eq!((last.task, last.attempt), (Some(id("t-1a2b3c")), 2));
}

#[test]
fn changes_made_here_survive_a_repeated_import() {
    let scene = Scene::new(5);
    scene.import();
    scene
        .store()
        .reset_task(&id("t-1a2b3c"), ralph_store::Reach::Itself, now())
        .unwrap();
    assert!(scene.import().is_nothing_new());
    let task = scene.store().task(&id("t-1a2b3c")).unwrap().unwrap();
    assert_eq!(task.status, TaskStatus::Pending);
}

#[test]
fn taken_id_is_replaced_consistently() {
    let scene = Scene::new(5);
    let database = connect(&scene.ours());
    drop(scene.store());
    database
        .execute_batch(
            "INSERT INTO tasks (id, title, description, status, kind, priority, created_at, updated_at) VALUES
                 ('t-aaaaaa', 'Ours', '', 'pending', 'once', 5, '2025-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z')",
        )
        .unwrap();
    drop(database);
    let imported = scene.import();
    assert_eq!(imported.tasks, tally(5, 0));
    let moved = imported.renamed.get("t-aaaaaa").unwrap().clone();
    let store = scene.store();
    assert_eq!(store.task(&id("t-aaaaaa")).unwrap().unwrap().title, "Ours");
    assert_eq!(store.task(&moved).unwrap().unwrap().title, "Search the notes");
    assert_eq!(store.task(&id("t-bbbbbb")).unwrap().unwrap().parent, Some(moved));
    drop(store);
    assert!(scene.import().is_nothing_new());
}

#[test]
fn write_ahead_log_is_read_and_unchanged() {
    let scene = Scene::empty(5);
    // A process that was killed leaves its log; a copy of both files is what it would have left.
    let open = scene.connect();
    open.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    open.execute_batch(ROWS).unwrap();
    let (killed, log) = (
        scene.folder.path().join("killed.db"),
        scene.folder.path().join("killed.db-wal"),
    );
    fs::copy(scene.theirs(), &killed).unwrap();
    fs::copy(scene.folder.path().join("theirs.db-wal"), &log).unwrap();
    drop(open);
    let before = scene.files();
    let history = ForeignDatabase::open(&killed).unwrap().read().unwrap();
    assert_eq!((history.tasks.len(), history.iterations.len()), (5, 4));
    assert_eq!(scene.files(), before);
    let mut held = ForeignDatabase::hold(&killed).unwrap();
    assert_eq!(held.read().unwrap(), history);
    held.gather_into_one_file().unwrap();
    assert!(!log.exists());
    drop(held);
    assert_eq!(ForeignDatabase::open(&killed).unwrap().read().unwrap(), history);
    assert_eq!(
        fs::read_dir(scene.folder.path()).unwrap().count(),
        2,
        "no other files remain"
    );
}

#[test]
fn closing_into_one_file_is_complete() {
    let scene = Scene::new(5);
    let mut store = scene.store();
    store.import_history(&scene.read(), general, now()).unwrap();
    store.close_into_one_file().unwrap();
    let names: Vec<_> = scene.files().into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, [scene.ours(), scene.theirs()]);
    let moved = scene.folder.path().join("moved.db");
    fs::rename(scene.ours(), &moved).unwrap();
    let store = Store::open_existing(&moved, ralph_store::Wait::Long).unwrap().unwrap();
    assert_eq!(store.journal_list(&JournalFilter::default()).unwrap().len(), 4);
    assert!(store.health().unwrap().faults.is_empty());
}

#[test]
fn copy_to_try_is_complete_and_independent() {
    let scene = Scene::new(5);
    let copy = scene.folder.path().join("copy.db");
    assert_eq!(
        Store::copy_to_try(&scene.ours(), &copy)
            .unwrap()
            .import_history(&scene.read(), general, now())
            .unwrap()
            .tasks,
        tally(5, 0)
    );
    Store::remove_unused(&copy).unwrap();
    assert!(!copy.exists() && !scene.ours().exists());
    scene.import();
    let before = fs::read(scene.ours()).unwrap();
    let mut tried = Store::copy_to_try(&scene.ours(), &copy).unwrap();
    assert_eq!(
        tried.import_history(&scene.read(), general, now()).unwrap().tasks,
        tally(0, 5)
    );
    assert_eq!(fs::read(scene.ours()).unwrap(), before);
}
