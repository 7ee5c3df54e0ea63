//! A run killed after any effect: the next one finishes its work, and nothing is lost or done twice.

use std::collections::BTreeSet;

use ralph_loop::state::{Effect, Place};
use ralph_model::config::Commit;
use ralph_model::{JournalRow, LearningSource, Outcome, RunId, TaskStatus};
use ralph_testkit::scripted::{if_prompt_contains, run, say, write};
use ralph_testkit::{Seed, count};

use crate::bench::{Dialect, Probe, Project, RunResult};

/// Leaves a process behind in its own session.
const STRAY: &str = "setsid sleep 600 >/dev/null 2>&1 &";

/// Two tasks: one leaves a knowledge entry, the other is refused once by the gate and reports a learning. The verifier
/// leaves a process behind too. The agent's behavior depends only on its prompt, not on how many were killed before it.
fn project(place: Place) -> Project {
    let learning = r#"<learning category="pitfall" tags="port">Port {task} is taken.</learning>"#;
    let note = r#"<knowledge tags="build" title="How it is built">With make.</knowledge>"#;
    let trap = if_prompt_contains(
        "The gate `! ls bad.txt` failed",
        [run("rm -f bad.txt"), write("good.txt", "x"), say(learning)],
        [write("bad.txt", "x")],
    );
    let turn = vec![
        run(STRAY),
        if_prompt_contains("**Note**", [write("note.txt", "x"), say(note)], [trap]),
        say("<journal>what {task} took</journal>"),
        say("<task-done>{task}</task-done>"),
    ];
    let mut project = Project::new(Dialect::Claude, [turn]).in_git().gated(&["! ls bad.txt"]);
    project
        .agent
        .set_verifications([vec![run(STRAY), say("<verify-pass/>")]]);
    project.config.git.commit = Commit::Task;
    project.isolated = place == Place::Checkout;
    for title in ["Note", "Trap"] {
        project.task(title);
    }
    project
}

/// Checks that nothing is done twice, nothing is stranded, and each note exists once.
#[track_caller]
fn check(project: &Project, crashes: &str, last: &RunResult) {
    let story = || format!("{crashes}: {:#?}, {last:?}", project.story());
    // If everything was settled before the crash, there is nothing left to do.
    let expected = if last.seen.settled.is_empty() { 3 } else { 0 };
    assert_eq!((last.code(), last.seen.warnings.len()), (expected, 0), "{}", story());
    let rows = project.journal();
    for task in project.tasks() {
        assert_eq!((task.status, task.claimed_by), (TaskStatus::Done, None), "{}", story());
        let its: Vec<&JournalRow> = rows
            .iter()
            .filter(|row| row.row.task == Some(task.id.clone()))
            .collect();
        let done = its.iter().filter(|row| row.row.outcome == Outcome::Done).count();
        assert_eq!(done, 1, "{}", story());
        let attempts: BTreeSet<u32> = its.iter().map(|row| row.row.attempt).collect();
        assert_eq!(attempts.len(), its.len(), "an attempt has two rows, {}", story());
    }
    let retried = rows.iter().filter(|row| row.row.outcome == Outcome::Retried).count();
    assert_eq!(retried, 1, "{}", story());
    for (run, iteration, marker) in project.calls() {
        let is_its = |row: &&JournalRow| row.row.run.as_str() == run && row.row.iteration.to_string() == iteration;
        assert_eq!(rows.iter().filter(is_its).count(), 1, "{run} {iteration}, {}", story());
        let alive = ralph_process::kill_leftovers(&marker, None);
        assert_eq!(alive, 0, "{run} {iteration} left a process, {}", story());
    }
    check_stored_state(project, &story);
}

#[track_caller]
fn check_stored_state(project: &Project, story: &dyn Fn() -> String) {
    let store = project.store();
    let overview = store.overview(0, "").unwrap();
    let mut learnings = store.learnings().unwrap();
    learnings.retain(|learning| learning.source == LearningSource::Sigil);
    assert_eq!((learnings.len(), overview.knowledge), (1, 1), "{}", story());
    assert_eq!(store.unfinished("", &RunId::new(0)).unwrap(), [], "{}", story());
    assert_eq!(store.outbox("").unwrap(), [], "{}", story());
    assert_eq!(overview.open_runs, [], "they look alive, {}", story());
    let notes = project.names(".ralph/knowledge");
    let notes: Vec<&String> = notes.iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(notes, ["how-it-is-built.md"], "{}", story());
    // Each task is committed once, with exactly its own files.
    let log = project.git(&["log", "--format=%s", "--name-only", "main"]);
    let mut lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    let expected = [".gitignore", "Begin", "Note", "Trap", "good.txt", "note.txt"];
    assert_eq!(lines, expected, "{}", story());
    assert_eq!(project.git(&["status", "--porcelain"]), "", "{}", story());
    if project.isolated {
        assert_eq!(
            project.git(&["for-each-ref", "refs/ralph", "refs/heads/ralph"]),
            "",
            "{}",
            story()
        );
        let left: Vec<_> = std::fs::read_dir(project.checkouts()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}, {}", story());
        assert_eq!(store.checkouts().unwrap(), [], "{}", story());
    }
}

/// Runs once with a crash after this many effects, then to the end. Returns whether the first run crashed.
fn crash_after(place: Place, effects: usize) -> bool {
    let project = project(place);
    let first = project.run_with(Probe::dying_after(effects));
    let has_crashed = first.end.is_none();
    let last = if has_crashed { project.run() } else { first };
    check(
        &project,
        &format!("dead after {effects} effects in the {place:?}"),
        &last,
    );
    has_crashed
}

/// Crashes after every third effect, starting with this one.
fn crash_after_every_third_from(first: usize) {
    for place in [Place::Project, Place::Checkout] {
        let crashes = (first..).step_by(3);
        let crashes = crashes.take_while(|effects| crash_after(place, *effects)).count();
        assert!(crashes > 6, "only {crashes} crashes");
    }
}

#[test]
fn crash_after_every_third_effect_from_the_first() {
    crash_after_every_third_from(1);
}

#[test]
fn crash_after_every_third_effect_from_the_second() {
    crash_after_every_third_from(2);
}

#[test]
fn crash_after_every_third_effect_from_the_third() {
    crash_after_every_third_from(3);
}

#[test]
fn several_crashes_in_a_row() {
    let mut seed = Seed::announced("several_crashes_in_a_row");
    for _ in 0..count("RALPH_SOAK_LOOP_DEATHS", 3) {
        let place = [Place::Project, Place::Checkout][seed.below(2)];
        let project = project(place);
        let mut crashes = Vec::new();
        let last = loop {
            crashes.push(1 + seed.below(14));
            let ran = project.run_with(Probe::dying_after(*crashes.last().unwrap()));
            match ran.end {
                Some(_) => break ran,
                None if crashes.len() == 4 => break project.run(),
                None => {}
            }
        };
        check(
            &project,
            &format!("dead after {crashes:?} effects in the {place:?}"),
            &last,
        );
    }
}

#[test]
fn files_written_after_a_crash_are_not_committed() {
    let mut project = Project::plain([vec![write("work.txt", "x"), say("<task-done>{task}</task-done>")]]).in_git();
    project.config.git.commit = Commit::Task;
    let task = project.task("Work");
    let died = project.run_with(Probe::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    assert_eq!(died.end, None);
    project.write("mine.txt", "x");
    // Long after the run's last heartbeat, by any clock.
    let later = std::time::SystemTime::from(project.now()) + std::time::Duration::from_secs(3600 * 24 * 365);
    let mine = std::fs::File::options()
        .write(true)
        .open(project.root().join("mine.txt"))
        .unwrap();
    mine.set_modified(later).unwrap();
    let ran = project.run();
    assert_eq!(project.status(&task), TaskStatus::Done, "{ran:?}");
    assert_eq!(
        project.git(&["show", "--format=%s", "--name-only"]),
        "Work\n\nwork.txt\n"
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "?? mine.txt\n");
    assert_eq!(project.journal()[0].row.files_modified, ["work.txt"]);
    let warning = "Changed after the run was killed, so not counted as the attempt's work: mine.txt";
    assert!(ran.seen.warnings.iter().any(|other| other == warning), "{ran:?}");
}

#[test]
fn checkout_work_is_discarded_by_an_in_place_run() {
    let turn = vec![write("work.txt", "x"), say("<task-done>{task}</task-done>")];
    let mut project = Project::plain([turn]).in_git();
    project.isolated = true;
    let task = project.task("Work");
    let died = project.run_with(Probe::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    assert_eq!(died.end, None);
    project.isolated = false;
    let ran = project.run();
    assert_eq!(project.status(&task), TaskStatus::Done, "{ran:?}");
    assert_eq!(
        project.story(),
        ["Work interrupted: ralph_died", "Work done: task_done"]
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "?? work.txt\n");
}
