//! Tests of other programs that delete, replace or change the database during a run.

use ralph_testkit::Terminal;
use ralph_testkit::scripted::{Script, run, say, write};

use super::{DONE, Scene};

/// The start of the hint that names the backup.
const RESTORE: &str = "Hint: `ralph doctor --restore-backup` restores the backup of 2025-01-20 11:20 UTC ([TMP]/home/";

/// A run whose agent runs this command in one turn and reports all tasks done.
fn run_with(harm: &str, harmful_turn: usize) -> (Scene, ralph_testkit::Finished) {
    let mut script = Script::new();
    for turn in 1..=3 {
        let harm = if turn == harmful_turn { harm } else { "true" };
        script = script.turn([write("{task}.txt", "x"), run(harm), say(DONE)]);
    }
    let scene = Scene::new(&script);
    scene.env.git(["init", "--quiet"]);
    scene.env.write("../plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n");
    let imported = scene.ralph(&["task", "import", "../plan.md"]).run();
    assert_eq!(imported.code, Some(0), "{imported}");
    let finished = scene.run(&[]);
    (scene, finished)
}

#[test]
fn deleted_or_replaced_database_stops_the_run() {
    for (harm, change) in [
        ("rm -rf .ralph", "deleted"),
        ("git clean -fdxq", "deleted"),
        (
            "cp .ralph/progress.db other.db && mv other.db .ralph/progress.db",
            "replaced by another file",
        ),
    ] {
        let (scene, finished) = run_with(harm, 2);
        assert_eq!(finished.code, Some(1), "{harm}: {finished}");
        let said = format!(".ralph/progress.db was {change} while ralph was using it\n{RESTORE}");
        assert!(finished.stderr.contains(&said), "{harm}: {finished}");
        assert!(!finished.stdout.contains("Everything is done"), "{harm}: {finished}");
        assert_eq!(scene.agent.turns(), 2, "{harm}: {finished}");
    }
}

#[test]
fn emptied_database_stops_the_run() {
    let (scene, finished) = run_with(": > .ralph/progress.db", 2);
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(finished.stderr.contains(RESTORE), "{finished}");
    assert_eq!(scene.agent.turns(), 2, "{finished}");
}

#[test]
fn lost_log_keeps_everything_settled() {
    for (turn, outcomes) in [(1, &[][..]), (2, &["done"])] {
        for ending in ["wal", "shm"] {
            let (scene, finished) = run_with(&format!("rm .ralph/progress.db-{ending}"), turn);
            assert_eq!(finished.code, Some(1), "{finished}");
            let said = format!(
                ".ralph/progress.db-{ending} was deleted while ralph was using it; recent records may be missing \
                 (run `ralph doctor`)"
            );
            assert!(finished.stderr.contains(&said), "{finished}");
            assert_eq!(
                (scene.agent.turns(), scene.outcomes()),
                (turn, outcomes.iter().map(|word| (*word).to_owned()).collect())
            );
            let again = scene.run(&[]);
            assert_eq!(again.code, Some(0), "{again}");
            assert_eq!(scene.open_tasks(), []);
        }
    }
}

#[test]
fn foreign_status_change_is_not_trusted() {
    let harm = crate::other_client("update tasks set status = 'done'");
    let (scene, finished) = run_with(&harm, 1);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(
        (scene.open_tasks(), scene.outcomes()),
        (vec![], vec!["done".to_owned()]),
        "{finished}"
    );
    assert!(
        !finished.stderr.contains("no longer belonged to this run"),
        "{finished}"
    );
}

#[test]
fn deleted_tasks_are_not_reported_done() {
    let harm = crate::other_client("delete from tasks");
    let (_, finished) = run_with(&harm, 1);
    assert_eq!(finished.code, Some(1), "{finished}");
    let said = format!("Error: another program deleted 3 open tasks from the database during the run\n{RESTORE}");
    assert!(finished.stderr.contains(&said), "{finished}");
    assert!(!finished.stdout.contains("Everything is done"), "{finished}");
}

#[test]
fn summary_counts_unverified_tasks_from_the_database() {
    let accept = crate::other_client("update tasks set unverified = null");
    let script = Script::new()
        .turn([say(DONE)])
        .turn([write("two.txt", "x"), run(&accept), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write("../plan.md", "- [ ] one\n- [ ] two\n");
    let imported = scene.ralph(&["task", "import", "../plan.md"]).run();
    assert_eq!(imported.code, Some(0), "{imported}");
    let finished = scene.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(finished.stderr.contains("unverified: "), "{finished}");
    assert_eq!(finished.stdout, "Everything is done.\n2 iterations: 2 tasks done\n");
}

#[test]
fn run_waits_for_a_locked_database() {
    let scene = Scene::new(&Script::new().turn([write("one.txt", "x"), say(DONE)]));
    let added = scene.ralph(&["task", "add", "one"]).run();
    assert_eq!(added.code, Some(0), "{added}");
    #[expect(clippy::disallowed_methods, reason = "a client that is not ours")]
    let other = rusqlite::Connection::open(scene.env.path(crate::DATABASE)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let mut terminal = Terminal::start(scene.invocation(&[]), 200);
    terminal
        .shows("progress.db is locked by another process. The run is paused and continues when the lock is released");
    other.execute_batch("COMMIT").unwrap();
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
}
