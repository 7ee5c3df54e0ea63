//! A folder whose writer was killed between any two steps.

use std::cell::RefCell;
use std::time::Duration;

use ralph_model::FileStamp;

use super::*;

const STAGED: &str = ".ralph-outbox-1";

/// A folder in which `a.md` says "old", and "new" stands ready and is announced.
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

/// Locks a folder; says what a person was told of.
fn with_lock(folder: &Path, act: impl FnOnce(&mut LockedFolder<'_>)) -> Vec<String> {
    let told = RefCell::new(Vec::new());
    let notice = |notice: Notice<'_>| told.borrow_mut().push(format!("{notice:?}"));
    let patience = Patience {
        notice_after: Duration::from_secs(10),
        limit: Duration::from_secs(20),
        notice: &notice,
    };
    act(&mut LockedFolder::lock(folder, &patience).unwrap());
    told.take()
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
fn killed_before_the_swap_a_file_still_stands_ready() {
    let folder = tempfile::tempdir().unwrap();
    announced(folder.path());
    assert_eq!(with_lock(folder.path(), |_| {}), [""; 0]);
    check(folder.path(), &[(STAGED, "new"), ("a.md", "old")]);
}

#[test]
fn killed_after_the_swap_the_old_file_is_removed_and_the_name_is_free() {
    let folder = tempfile::tempdir().unwrap();
    announced(folder.path());
    sys::exchange(&folder.path().join(STAGED), &folder.path().join("a.md")).unwrap();
    assert_eq!(with_lock(folder.path(), |_| {}), [""; 0]);
    check(folder.path(), &[("a.md", "new")]);
}

#[test]
fn killed_after_a_swap_with_what_somebody_had_just_saved_that_is_kept_and_said() {
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
fn what_is_staged_anew_is_not_taken_for_what_was_announced() {
    let folder = tempfile::tempdir().unwrap();
    announced(folder.path());
    with_lock(folder.path(), |locked| locked.stage(STAGED, b"newer", None).unwrap());
    with_lock(folder.path(), |_| {});
    check(folder.path(), &[(STAGED, "newer"), ("a.md", "old")]);
}

#[test]
fn killed_where_files_cannot_be_swapped_the_old_file_is_removed() {
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
