//! Damaged files: any damage to a byte of a store or its backup is noticed or harmless, the other file is used instead,
//! and never are both lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_memory::exchange::{FileKind, FileProblem, ForeignFile, Kept, Loaded, backup_of, load, load_bytes, save};
use ralph_notes::{Notice, Patience};
use ralph_testkit::count;

use crate::golden::golden;

/// Bits flipped per byte in the gate.
const BITS: usize = 1;
/// In the gate, only one in this many is tried on disk.
const ON_DISK: usize = 17;

const NOTICE: &dyn Fn(Notice<'_>) = &|_| {};

fn patience() -> Patience<'static> {
    Patience {
        notice_after: Duration::from_secs(1),
        limit: Duration::from_secs(10),
        notice: NOTICE,
    }
}

fn store(name: &str) -> ForeignFile {
    ForeignFile::read(FileKind::Store, &golden(name)).unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn with(standing: &[u8], backup: &[u8]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.put(&folder.path(), standing);
        folder.put(&backup_of(&folder.path()), backup);
        folder
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("ralph-learnings.json")
    }

    fn put(&self, path: &Path, bytes: &[u8]) {
        std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), bytes).unwrap();
    }

    fn backup(&self) -> Vec<u8> {
        std::fs::read(backup_of(&self.path())).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap().map(Result::unwrap);
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Texts as a disk fault could leave them: each byte with flipped bits, and each prefix.
fn damaged(bytes: &[u8]) -> Vec<Vec<u8>> {
    let bits = count("RALPH_SOAK_BITS", BITS).clamp(1, 8);
    let mut all: Vec<Vec<u8>> = (0..bytes.len()).map(|end| bytes[..end].to_vec()).collect();
    for at in 0..bytes.len() {
        for bit in 0..bits {
            let mut flipped = bytes.to_vec();
            // In the gate, a different bit of each byte in turn.
            flipped[at] ^= 1 << ((at + bit) % 8);
            all.push(flipped);
        }
    }
    all
}

#[test]
fn damage_is_noticed_and_the_other_file_is_used() {
    let whole = golden("plain.json");
    let (good, path) = (store("plain.json"), Path::new("a.bak"));
    let mut harmless = 0;
    for broken in damaged(&whole) {
        match load_bytes(FileKind::Store, Some(&broken), (Some(&whole), path)) {
            Some(Loaded::Good(file)) => {
                assert_eq!(file.entries(), good.entries(), "{}", String::from_utf8_lossy(&broken));
                harmless += 1;
            }
            Some(Loaded::Recovered { file, .. }) => assert_eq!(file, good),
            other => panic!("lost: {other:?}"),
        }
        let loaded = load_bytes(FileKind::Store, Some(&whole), (Some(&broken), path));
        assert_eq!(loaded, Some(Loaded::Good(good.clone())));
        let both = load_bytes(FileKind::Store, Some(&broken), (Some(&broken), path));
        let is_reported = match &both {
            Some(Loaded::Bad { backup, .. }) => backup.is_some(),
            Some(Loaded::Good(file)) => file.entries() == good.entries(),
            Some(Loaded::Recovered { .. }) | None => false,
        };
        assert!(is_reported, "{both:?}");
    }
    assert!(harmless > 0, "a blank more or less does no harm");
}

#[test]
fn one_good_file_remains_after_every_save() {
    let (whole, new) = (golden("plain.json"), store("keys.json"));
    let step = count("RALPH_SOAK_ON_DISK", ON_DISK).max(1);
    for broken in damaged(&whole).into_iter().step_by(step) {
        for (standing, backup) in [(&broken, &whole), (&whole, &broken), (&broken, &broken)] {
            let folder = Folder::with(standing, backup);
            save(&new, &folder.path(), &patience()).unwrap();
            assert_eq!(
                load(FileKind::Store, &folder.path()).unwrap(),
                Some(Loaded::Good(new.clone()))
            );
            let was_good = |bytes: &[u8]| ForeignFile::read(FileKind::Store, bytes).is_ok();
            if was_good(standing) || was_good(backup) {
                assert!(was_good(&folder.backup()), "the last good one is gone");
            }
        }
    }
}

#[test]
fn fault_22_a_recovered_store_is_not_copied_over_its_good_backup() {
    let (broken, good) = (b"{\"learnings\": [".to_vec(), golden("plain.json"));
    let folder = Folder::with(&broken, &good);
    let Some(Loaded::Recovered { file, from_backup, .. }) = load(FileKind::Store, &folder.path()).unwrap() else {
        panic!("it is recovered");
    };
    assert_eq!(
        (file.text().as_bytes(), from_backup),
        (&*good, backup_of(&folder.path()))
    );
    assert_eq!(std::fs::read(folder.path()).unwrap(), broken, "reading changes nothing");
    let kept = save(&file, &folder.path(), &patience()).unwrap();
    assert_eq!(folder.backup(), good, "what was broken is no backup");
    let Kept::AsBroken(aside) = kept else {
        panic!("{kept:?}");
    };
    assert_eq!(std::fs::read(aside).unwrap(), broken);
    assert_eq!(
        folder.names(),
        [
            "ralph-learnings.json",
            "ralph-learnings.json.bak",
            "ralph-learnings.json.broken"
        ]
    );
    // From here on there is a good file to keep.
    save(&store("keys.json"), &folder.path(), &patience()).unwrap();
    assert_eq!(folder.backup(), file.text().as_bytes());
}

#[test]
fn fault_23_a_store_that_is_no_json_is_recovered() {
    let good = golden("plain.json");
    for (broken, expected) in [
        (&b""[..], "it is not JSON: EOF while parsing a value at line 1 column 0"),
        (b"\0\0\0\0", "it is not JSON: expected value at line 1 column 1"),
        (b"\xff\xfe", "it is not JSON: expected value at line 1 column 1"),
        (b"[]", "it holds a list instead of an object"),
        (b"{}", "it has no \"learnings\""),
        (
            b"{\"learnings\":{}}",
            "its \"learnings\" is an object instead of a list",
        ),
        (b"{\"learnings\":[]}", "it has no checksum"),
        (b"{\"learnings\":[],\"checksum\":\"\"}", "checksum mismatch"),
        (b"{\"version\":\"2.0.0\",\"learnings\":[]}", "unsupported version 2.0.0"),
    ] {
        let folder = Folder::with(broken, &good);
        let loaded = load(FileKind::Store, &folder.path()).unwrap();
        let Some(Loaded::Recovered { file, why, .. }) = loaded else {
            panic!("{loaded:?}");
        };
        assert_eq!((file, why.to_string().as_str()), (store("plain.json"), expected));
    }
}

#[test]
fn fault_24_a_corrupt_staging_area_is_no_empty_one() {
    let good = golden("staging.json");
    let path = Path::new("staging.json.bak");
    for broken in damaged(&good) {
        match load_bytes(FileKind::Staging, Some(&broken), (None, path)) {
            Some(Loaded::Good(file)) => {
                let meant = ForeignFile::read(FileKind::Staging, &good).unwrap();
                assert_eq!(file.entries(), meant.entries(), "{}", String::from_utf8_lossy(&broken));
            }
            Some(Loaded::Bad { backup, .. }) => assert_eq!(backup, None),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(load_bytes(FileKind::Staging, None, (None, path)), None);
}

#[test]
fn good_store_becomes_backup_and_same_store_is_no_op() {
    let (old, new) = (golden("plain.json"), store("keys.json"));
    let folder = Folder::with(&old, b"whatever");
    let backup = backup_of(&folder.path());
    assert_eq!(
        save(&new, &folder.path(), &patience()).unwrap(),
        Kept::AsBackup(backup.clone())
    );
    assert_eq!(folder.backup(), old);
    assert_eq!(save(&new, &folder.path(), &patience()).unwrap(), Kept::Nothing);
    assert_eq!(folder.backup(), old, "what is the same is no earlier one");
    assert_eq!(folder.names(), ["ralph-learnings.json", "ralph-learnings.json.bak"]);
}

#[test]
fn missing_store_is_loaded_from_its_backup() {
    let folder = Folder::with(b"", &golden("plain.json"));
    std::fs::remove_file(folder.path()).unwrap();
    let loaded = load(FileKind::Store, &folder.path()).unwrap();
    assert!(
        matches!(
            &loaded,
            Some(Loaded::Recovered {
                why: FileProblem::Missing,
                ..
            })
        ),
        "{loaded:?}"
    );
    std::fs::remove_file(backup_of(&folder.path())).unwrap();
    assert_eq!(load(FileKind::Store, &folder.path()).unwrap(), None);
}
