//! The note log through the store's methods, with a real database on disk.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use jiff::civil::date;
use ralph_model::{Author, AuthorKind, Extra, FileStamp, Note, NoteId, NoteKind, RunId, Tags};
use ralph_store::{FileRecord, NoteAction, NoteChange, NoteFile, Store, StoreError, Wait};

fn note(id: &str, content: &str) -> Note {
    let mut extra = Extra::default();
    extra.set("reason", "because; \"quoted\"\nlines");
    Note {
        id: NoteId::parse(id, &NoteId::PREFIXES).unwrap(),
        kind: NoteKind::Fix,
        content: content.to_owned(),
        tags: Tags::parse("a, b").unwrap(),
        created: date(2025, 1, 20),
        extra,
    }
}

fn record(size: u64) -> FileRecord {
    FileRecord {
        stamp: FileStamp {
            inode: u64::MAX,
            size,
            mtime_ns: -5,
            ctime_ns: 7,
        },
        head: Some("abc".to_owned()),
    }
}

fn file(path: &str) -> NoteFile {
    NoteFile {
        worktree: String::new(),
        path: path.to_owned(),
    }
}

fn change(action: NoteAction, note: Note) -> NoteChange {
    NoteChange {
        action,
        note,
        author: Author::HUMAN,
    }
}

#[test]
fn changes_and_file_state_are_recorded_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    assert!(Store::open_existing(&path, Wait::Long).unwrap().is_none());
    assert!(!path.exists(), "opening must not create a database");

    let here = file("memories.md");
    let at = "2025-01-20T12:00:00.5Z".parse().unwrap();
    let mut store = Store::open_or_create(&path).unwrap();
    assert_eq!(store.note_file(&here).unwrap(), None);
    let first = [
        change(NoteAction::Added, note("mem-1-0000", "one")),
        change(NoteAction::Adopted, note("mem-2-0000", "two")),
    ];
    store.record_notes(&here, &record(1), &first, at).unwrap();
    let second = [
        change(NoteAction::Edited, note("mem-1-0000", "one, again")),
        change(NoteAction::Deleted, note("mem-2-0000", "two")),
    ];
    store.record_notes(&here, &record(2), &second, at).unwrap();
    store
        .record_notes(
            &file("other.md"),
            &record(9),
            &[change(NoteAction::Added, note("mem-1-0000", "there"))],
            at,
        )
        .unwrap();
    drop(store);

    let store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
    assert_eq!(store.note_file(&here).unwrap(), Some(record(2)));
    let known: Vec<_> = store
        .known_notes(&here)
        .unwrap()
        .into_iter()
        .map(|known| (known.action, known.note))
        .collect();
    assert_eq!(
        known,
        [
            (NoteAction::Edited, note("mem-1-0000", "one, again")),
            (NoteAction::Deleted, note("mem-2-0000", "two")),
        ]
    );
    let history: Vec<_> = store
        .note_history("mem-1")
        .unwrap()
        .into_iter()
        .map(|v| (v.number, v.at, v.action, v.note.content, v.file.path))
        .collect();
    assert_eq!(
        history,
        [
            (1, at, NoteAction::Added, "one".to_owned(), "memories.md".to_owned()),
            (
                2,
                at,
                NoteAction::Edited,
                "one, again".to_owned(),
                "memories.md".to_owned()
            ),
            (3, at, NoteAction::Added, "there".to_owned(), "other.md".to_owned()),
        ]
    );
    assert!(store.knows_note(&note("mem-2-0000", "").id).unwrap());
    assert!(!store.knows_note(&note("mem-3-0000", "").id).unwrap());
}

#[test]
fn database_of_another_tool_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    // The header of a database with application_id 0 and user_version 4, as another tool leaves it.
    let mut bytes = vec![0; 4096];
    bytes[..16].copy_from_slice(b"SQLite format 3\0");
    // Pages of 4096 bytes, a rollback journal, and an empty list of tables.
    bytes[16..24].copy_from_slice(&[16, 0, 1, 1, 0, 64, 32, 32]);
    bytes[100..108].copy_from_slice(&[13, 0, 0, 0, 0, 16, 0, 0]);
    bytes[63] = 4;
    std::fs::File::create(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
        .unwrap();
    for refused in [
        Store::open_or_create(&path).unwrap_err(),
        Store::open_existing(&path, Wait::Long).unwrap_err(),
    ] {
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no file was made beside it"
    );
}

#[test]
fn text_file_is_refused_and_empty_file_is_initialized() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    let put = |text: &str| {
        std::fs::File::create(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
            .unwrap();
    };
    put("not a database, however long the text in this file may be");
    assert!(matches!(
        Store::open_or_create(&path).unwrap_err(),
        StoreError::NotADatabase { .. }
    ));
    put("");
    Store::open_or_create(&path).unwrap();
    assert!(Store::open_existing(&path, Wait::Long).unwrap().is_some());
}

#[test]
fn rollback_journal_mode_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    drop(Store::open_or_create(&path).unwrap());
    // The format versions say that there is no write-ahead log, as on a network file system.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[18..20].copy_from_slice(&[1, 1]);
    std::fs::File::create(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
        .unwrap();
    let at = "2025-01-20T12:00:00Z".parse().unwrap();
    let mut store = Store::open_or_create(&path).unwrap();
    let added = change(NoteAction::Added, note("mem-1-0000", "x"));
    store
        .record_notes(&file("memories.md"), &record(1), &[added], at)
        .unwrap();
    assert_eq!(std::fs::read(&path).unwrap()[18..20], [1, 1]);
}

#[test]
fn concurrent_threads_create_one_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    std::thread::scope(|scope| {
        for number in 0..16 {
            let path = &path;
            scope.spawn(move || {
                let mut store = Store::open_or_create(path).unwrap();
                let added = change(NoteAction::Added, note(&format!("mem-{number}-0000"), "x"));
                let at = "2025-01-20T12:00:00Z".parse().unwrap();
                store
                    .record_notes(&file("memories.md"), &record(1), &[added], at)
                    .unwrap();
            });
        }
    });
    let store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
    assert_eq!(store.known_notes(&file("memories.md")).unwrap().len(), 16);
}

#[test]
fn write_ahead_log_stays_short_across_reopens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    let at = "2025-01-20T12:00:00Z".parse().unwrap();
    let text = "x".repeat(10_000);
    for number in 0..300 {
        let mut store = Store::open_or_create(&path).unwrap();
        let added = change(NoteAction::Added, note(&format!("mem-{number}-0000"), &text));
        store
            .record_notes(&file("memories.md"), &record(number), &[added], at)
            .unwrap();
    }
    let log = std::fs::metadata(folder.path().join("progress.db-wal")).unwrap().len();
    assert!(log < 1 << 20, "{log} bytes");
    let store = Store::open_existing(&path, Wait::Long).unwrap().unwrap();
    assert_eq!(store.known_notes(&file("memories.md")).unwrap().len(), 300);
}

#[test]
fn each_version_has_its_author() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
    let at = "2025-01-20T12:00:00Z".parse().unwrap();
    let agent = Author::in_iteration(AuthorKind::Agent, RunId::new(7), 3);
    let by_agent = |action, note| NoteChange {
        author: agent.clone(),
        ..change(action, note)
    };
    let here = file("memories.md");
    let first = [by_agent(NoteAction::Added, note("mem-1-0000", "one"))];
    store.record_notes(&here, &record(1), &first, at).unwrap();
    assert!(store.is_written_by_agents("mem-1-0000").unwrap());
    let by_agents = store.notes_by_agents(&RunId::new(7)).unwrap();
    let [one] = by_agents.as_slice() else {
        panic!("{by_agents:?}");
    };
    assert_eq!((one.id.as_str(), one.text.as_str()), ("mem-1-0000", "one"));
    assert_eq!((one.action, one.iteration), (NoteAction::Added, Some(3)));
    let second = [
        change(NoteAction::Edited, note("mem-1-0000", "one, by a person")),
        by_agent(NoteAction::Added, note("mem-2-0000", "two")),
    ];
    store.record_notes(&here, &record(2), &second, at).unwrap();
    assert!(!store.is_written_by_agents("mem-1-0000").unwrap());
    assert!(
        !store.is_written_by_agents("mem-3-0000").unwrap(),
        "without logged changes the author is unknown"
    );
    let authors: Vec<Author> = store
        .note_history("mem-1")
        .unwrap()
        .into_iter()
        .map(|version| version.author)
        .collect();
    assert_eq!(authors, [agent.clone(), Author::HUMAN]);
    let blamed = store.logged_changes("mem-2").unwrap();
    let blamed: Vec<_> = blamed
        .iter()
        .map(|row| (row.id.as_str(), row.what.as_str(), &row.author))
        .collect();
    assert_eq!(blamed, [("mem-2-0000", "added", &agent)]);
}
