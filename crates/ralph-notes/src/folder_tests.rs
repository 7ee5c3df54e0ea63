//! Crash tests: a writer is killed between any two steps of replacing a file.

use std::cell::RefCell;
use std::time::Duration;

use ralph_model::FileStamp;

use super::*;

const STAGED: &str = ".ralph-outbox-1";

/// A folder with `a.md` ("old") and a staged, announced replacement ("new").
fn announced(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    crate::write_new_file(&folder.join("a.md"), b"old").unwrap();
    with_lock(folder, |locked| {
        locked.stage(STAGED, b"new", None).unwrap();
        let stamp = |name: &str| FileStamp::of(&fs::metadata(folder.join(name)).unwrap());
        let names = Staged {
            staged: STAGED.to_owned(),
            name: "a.md".to_owned(),
        };
        locked
            .lock
            .announce_staged(&stamp("a.md"), &stamp(STAGED), names)
            .unwrap();
    });
}

/// Locks a folder and returns the notices that were reported.
fn with_lock(folder: &Path, act: impl FnOnce(&mut LockedFolder<'_>)) -> Vec<String> {
    let notices = RefCell::new(Vec::new());
    let notice = |notice: Notice<'_>| notices.borrow_mut().push(format!("{notice:?}"));
    let patience = Patience {
        notice_after: Duration::from_secs(10),
        limit: Duration::from_secs(20),
        notice: &notice,
    };
    act(&mut LockedFolder::lock(folder, &patience).unwrap());
    notices.take()
}

fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name != LOCK {
            texts.push((name, fs::read_to_string(entry.path()).unwrap()));
        }
    }
    texts.sort();
    texts
}

#[track_caller]
fn check(folder: &Path, expected: &[(&str, &str)]) {
    let texts = texts(folder);
    let texts: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(texts, expected);
}

#[test]
fn kill_before_swap_keeps_the_file_staged() {
    let folder = tempfile::tempdir().unwrap();
    announced(folder.path());
    assert_eq!(with_lock(folder.path(), |_| {}), [""; 0]);
    check(folder.path(), &[(STAGED, "new"), ("a.md", "old")]);
}

#[test]
fn kill_after_swap_removes_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    announced(folder.path());
    sys::exchange(&folder.path().join(STAGED), &folder.path().join("a.md")).unwrap();
    assert_eq!(with_lock(folder.path(), |_| {}), [""; 0]);
    check(folder.path(), &[("a.md", "new")]);
}

#[test]
fn kill_after_swap_keeps_a_concurrent_save() {
    let folder = tempfile::tempdir().unwrap();
    announced(folder.path());
    let mine = folder.path().join("mine");
    crate::write_new_file(&mine, b"saved by rename").unwrap();
    fs::rename(&mine, folder.path().join("a.md")).unwrap();
    sys::exchange(&folder.path().join(STAGED), &folder.path().join("a.md")).unwrap();
    assert_eq!(with_lock(folder.path(), |_| {}).len(), 1);
    check(folder.path(), &[("a.md", "new"), ("a.md.kept", "saved by rename")]);
}

#[test]
fn restaged_file_does_not_match_old_announcement() {
    let folder = tempfile::tempdir().unwrap();
    announced(folder.path());
    with_lock(folder.path(), |locked| locked.stage(STAGED, b"newer", None).unwrap());
    with_lock(folder.path(), |_| {});
    check(folder.path(), &[(STAGED, "newer"), ("a.md", "old")]);
}

#[test]
fn kill_without_swap_support_removes_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    announced(folder.path());
    let [staged, target, aside] = [STAGED, "a.md", ".a.md.ralph-old"].map(|name| folder.path().join(name));
    fs::hard_link(&target, &aside).unwrap();
    with_lock(folder.path(), |_| {});
    check(folder.path(), &[(STAGED, "new"), ("a.md", "old")]);
    fs::hard_link(&target, &aside).unwrap();
    fs::rename(&staged, &target).unwrap();
    with_lock(folder.path(), |_| {});
    check(folder.path(), &[("a.md", "new")]);
}
