//! Tests of pruning: folders of old iterations are removed when a run begins, and the journal is kept.

use std::fs::{File, FileTimes};
use std::time::{Duration, SystemTime};

use super::{Scene, diligent};

/// Long before the clock of the tests.
fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 50)
}

#[test]
fn old_folders_are_removed_and_the_journal_says_so() {
    let scene = Scene::new(&diligent());
    assert_eq!(scene.run(&["one"]).code, Some(0));
    let runs = scene.env.path(".ralph/runs");
    let first = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let folder = first.join("001");
    let doctor = scene.ralph(&["doctor"]).run().stdout;
    assert!(doctor.contains("files of 1 iteration take "), "{doctor}");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let file = File::options().append(true).open(entry.unwrap().path()).unwrap();
        file.set_times(FileTimes::new().set_modified(long_ago())).unwrap();
    }
    scene.env.write(".ralph/runs/notes.txt", "mine");

    scene.env.write(".ralph.toml", "[runs]\nkeep_days = 0\n");
    assert_eq!(scene.run(&["two"]).code, Some(0));
    assert!(folder.exists(), "nothing is too old");

    scene.env.write(".ralph.toml", "");
    let told = scene.run(&["three"]);
    assert_eq!(told.code, Some(0), "{told}");
    assert!(
        told.stderr.contains("Removed the folders of 1 old iteration ("),
        "{told}"
    );
    assert!(!first.exists(), "{told}");
    assert_eq!(scene.env.read(".ralph/runs/notes.txt"), "mine");
    assert_eq!(std::fs::read_dir(&runs).unwrap().count(), 3);

    let shown = scene.ralph(&["journal", "show", "1"]).run();
    assert!(shown.stdout.contains("001 (pruned or in another worktree)"), "{shown}");
    assert_eq!(scene.ralph(&["why", "1"]).run().code, Some(0));
    let warnings = &crate::json(&scene.env, &["status", "--json"])["prompt_warnings"];
    assert_eq!(warnings, &serde_json::json!([]), "what was pruned is not missing");
    assert_eq!(scene.outcomes(), ["done"; 3]);
}
