//! Tests of pruning with real folders and artificial times.

use super::*;
use ralph_model::config::Bytes;
use std::fs::{File, FileTimes};
use std::io::Write;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

fn day(day: u32) -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * (20_000 + day)
}

fn limits(keep_days: u32, max_bytes: u64) -> Runs {
    Runs {
        keep_days: (keep_days > 0).then_some(keep_days),
        max_bytes: (max_bytes > 0).then_some(Bytes(max_bytes)),
    }
}

fn file(path: &Path, bytes: usize, written: SystemTime) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = File::create(path).unwrap();
    file.write_all(&vec![b'x'; bytes]).unwrap();
    file.set_times(FileTimes::new().set_modified(written)).unwrap();
}

/// A run of ten iterations of a hundred bytes, one a day.
fn ten_days() -> TempDir {
    let runs = TempDir::new().unwrap();
    for number in 1..=10 {
        let folder = runs.path().join("run-0000000a").join(format!("{number:03}"));
        file(&folder.join("prompt.md"), 60, day(number));
        file(&folder.join("deeper/transcript.jsonl"), 40, day(number));
    }
    runs
}

fn over() -> BTreeSet<RunId> {
    ["run-0000000a", "run-0000000b"]
        .into_iter()
        .filter_map(RunId::parse)
        .collect()
}

fn left(runs: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = entries(&runs.path().join("run-0000000a"))
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[track_caller]
fn check(limits: Runs, folders: u64) {
    let runs = ten_days();
    let pruned = prune(runs.path(), &over(), limits, day(11));
    let bytes = folders * 100;
    assert_eq!(
        (pruned.iterations.len() as u64, pruned.bytes, pruned.failures),
        (folders, bytes, vec![]),
        "{limits:?}"
    );
    let kept: Vec<String> = (folders + 1..=10).map(|number| format!("{number:03}")).collect();
    assert_eq!(left(&runs), kept, "{limits:?}");
}

#[test]
fn old_and_excess_folders_are_removed_oldest_first() {
    check(limits(0, 0), 0);
    check(limits(30, 1000), 0);
    check(limits(10, 0), 0);
    check(limits(9, 0), 1);
    check(limits(1, 0), 9);
    check(limits(0, 999), 1);
    check(limits(0, 500), 5);
    check(limits(8, 500), 5);
    check(limits(2, 500), 8);
    check(limits(0, 1), 10);
}

#[test]
fn only_finished_runs_are_pruned() {
    let runs = ten_days();
    let open = runs.path().join("run-0000000c/001/transcript.jsonl");
    file(&open, 5000, day(1));
    let pruned = prune(runs.path(), &over(), limits(5, 5400), day(11));
    assert_eq!((pruned.iterations.len(), open.exists()), (6, true));
    assert_eq!(
        RunsSize::of(runs.path()),
        RunsSize {
            iterations: 5,
            bytes: 5400
        }
    );
}

#[test]
fn empty_run_folder_is_removed() {
    let runs = ten_days();
    let run = runs.path().join("run-0000000a");
    fs::create_dir(run.join("bin")).unwrap();
    symlink("/bin/true", run.join("bin/ralph")).unwrap();
    file(&run.join("scratchpad.md"), 10, day(1));
    assert_eq!(prune(runs.path(), &over(), limits(0, 1), day(11)).iterations.len(), 10);
    assert_eq!(left(&runs), ["scratchpad.md"]);
    file(&run.join("011/prompt.md"), 10, day(1));
    fs::remove_file(run.join("scratchpad.md")).unwrap();
    assert_eq!(prune(runs.path(), &over(), limits(1, 0), day(11)).iterations.len(), 1);
    assert!(!run.exists());
}

#[test]
fn scratch_folders_of_finished_runs_are_removed() {
    let runs = ten_days();
    let [killed, idle, open] = ["a", "b", "c"].map(|id| runs.path().join(format!("run-0000000{id}")));
    for run in [&killed, &idle, &open] {
        file(&run.join("scratch/objects/12/3456"), 5000, day(11));
        fs::create_dir(run.join("bin")).unwrap();
        symlink("/bin/true", run.join("bin/ralph")).unwrap();
    }
    let pruned = prune(runs.path(), &over(), limits(0, 0), day(11));
    assert_eq!(pruned, Pruned::default());
    assert_eq!((left(&runs).len(), killed.join("scratch").exists()), (11, false));
    assert!(!idle.exists(), "it had no iteration");
    assert!(open.join("scratch/objects/12/3456").exists() && open.join("bin/ralph").exists());
    let elsewhere = TempDir::new().unwrap();
    file(&elsewhere.path().join("precious"), 10, day(1));
    symlink(elsewhere.path(), killed.join("scratch")).unwrap();
    drop(prune(runs.path(), &over(), limits(0, 0), day(11)));
    assert!(elsewhere.path().join("precious").exists());
}

#[test]
fn unrelated_files_stay_and_links_are_not_followed() {
    let elsewhere = TempDir::new().unwrap();
    file(&elsewhere.path().join("001/precious"), 10, day(1));
    let runs = TempDir::new().unwrap();
    let unrelated = [
        "notes.txt",
        "run-0000000a/notes.txt",
        "run-0000000c/scratch/objects",
        "run-0000000a/12/prompt.md",
        "run-0000000a/00x/prompt.md",
        "run-0000000A/001/prompt.md",
        "other/001/prompt.md",
    ];
    for name in unrelated {
        file(&runs.path().join(name), 10, day(1));
    }
    symlink(elsewhere.path(), runs.path().join("run-0000000b")).unwrap();
    symlink(elsewhere.path().join("001"), runs.path().join("run-0000000a/001")).unwrap();
    file(&runs.path().join("run-0000000a/002/prompt.md"), 10, day(1));
    symlink(elsewhere.path(), runs.path().join("run-0000000a/002/link")).unwrap();
    let pruned = prune(runs.path(), &over(), limits(1, 1), day(11));
    assert_eq!((pruned.iterations.len(), pruned.failures), (1, vec![]));
    assert!(unrelated.iter().all(|name| runs.path().join(name).exists()));
    assert!(elsewhere.path().join("001/precious").exists());
    let link = elsewhere.path().join("runs");
    symlink(runs.path(), &link).unwrap();
    assert_eq!(RunsSize::of(&link), RunsSize::default());
}

#[test]
fn failed_removals_are_reported() {
    let runs = ten_days();
    let held = runs.path().join("run-0000000a/001");
    let remove = |path: &Path| {
        if path == held {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        fs::remove_dir_all(path)
    };
    let pruned = prune_with(remove, runs.path(), &over(), limits(0, 800), day(11));
    assert_eq!((pruned.iterations.len(), pruned.bytes), (2, 200));
    let failure = pruned.failures.concat();
    assert!(failure.contains("run-0000000a/001: permission denied"), "{failure}");
    let left = left(&runs);
    assert_eq!((left.len(), left[0].as_str(), left[1].as_str()), (8, "001", "004"));
}
