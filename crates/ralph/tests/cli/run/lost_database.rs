//! An agent that deletes or replaces the database while it works: the run stops and says what happened.

use ralph_testkit::scripted::{Script, run, say, write};

use super::{DONE, Scene};

/// A run whose agent does its first task, does harm in the second, and says that all are done.
fn run_with(harm: &str) -> (Scene, ralph_testkit::Finished) {
    let script = Script::new()
        .turn([write("one.txt", "x"), say(DONE)])
        .turn([write("two.txt", "x"), run(harm), say(DONE)])
        .turn([write("{task}.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.git(["init", "--quiet"]);
    scene.env.write("../plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n");
    let imported = scene.ralph(&["task", "import", "../plan.md"]).run();
    assert_eq!(imported.code, Some(0), "{imported}");
    let finished = scene.run(&[]);
    (scene, finished)
}

#[test]
fn a_run_whose_database_is_deleted_or_replaced_stops_and_says_so() {
    let restore = "`ralph doctor --restore-backup` restores the latest backup";
    let look = "what was recorded last may be missing: run `ralph doctor`";
    for (harm, file, change, remedy) in [
        ("rm -rf .ralph", "", "deleted", restore),
        ("git clean -fdxq", "", "deleted", restore),
        (
            "cp .ralph/progress.db other.db && mv other.db .ralph/progress.db",
            "",
            "replaced by another file",
            restore,
        ),
        ("rm .ralph/progress.db-wal", "-wal", "deleted", look),
        ("rm .ralph/progress.db-shm", "-shm", "deleted", look),
    ] {
        let (scene, finished) = run_with(harm);
        assert_eq!(finished.code, Some(1), "{harm}: {finished}");
        let said = format!(".ralph/progress.db{file} was {change} while ralph was using it; {remedy}");
        assert!(finished.stderr.contains(&said), "{harm}: {finished}");
        assert!(!finished.stdout.contains("Everything is done"), "{harm}: {finished}");
        assert_eq!(scene.agent.turns(), 2, "{harm}: {finished}");
    }
}

#[test]
fn a_run_that_lost_its_log_has_everything_up_to_the_last_settlement() {
    let (scene, finished) = run_with("rm .ralph/progress.db-wal");
    assert_eq!(finished.code, Some(1), "{finished}");
    assert_eq!(scene.outcomes(), ["done"]);
    let again = scene.run(&[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(scene.open_tasks(), []);
}
