//! A disk that fills up during an iteration: the run pauses, reports it once, and continues normally.

use std::time::Duration;

use ralph_loop::state::End;
use ralph_model::config::Commit;
use ralph_model::{Outcome, TaskStatus};
use ralph_testkit::scripted::{run, say, write};

use crate::bench::{Probe, Project};

fn project() -> Project {
    let note = r#"<knowledge tags="build" title="How {task} is built">With make.</knowledge>"#;
    let turn = vec![
        write("work-{turn}.txt", "x"),
        say(note),
        say("<task-done>{task}</task-done>"),
    ];
    let mut project = Project::plain([turn]).in_git().gated(&["true"]);
    project.config.git.commit = Commit::Task;
    project.task("A");
    project.task("B");
    project
}

/// Checks the result of a successful run.
fn assert_run_is_complete(project: &Project, seen: &str) {
    assert_eq!(project.story(), ["A done: task_done", "B done: task_done"], "{seen}");
    let tasks = project.tasks();
    let as_it_should = |task: &&ralph_model::Task| task.status == TaskStatus::Done && task.attempts == 1;
    assert_eq!(tasks.iter().filter(as_it_should).count(), 2, "{seen}");
    assert_eq!(
        project
            .names(".ralph/knowledge")
            .iter()
            .filter(|name| name.ends_with(".md"))
            .count(),
        2,
        "{seen}"
    );
    assert_eq!(project.git(&["log", "--format=%s"]), "B\nA\nBegin\n", "{seen}");
    assert_eq!(project.agent.turns(), 2, "{seen}");
}

#[test]
fn full_disk_at_any_effect_pauses_the_run() {
    let effects = project().run().seen.effects;
    assert!(effects > 16);
    for at in 1..=effects {
        let project = project();
        let ran = project.run_with(Probe::full_at(at, 3));
        assert_eq!(ran.end, Some(End::Complete), "at effect {at}");
        let [paused, "over"] = ran.seen.pauses.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
            panic!("at effect {at}: {:?}", ran.seen.pauses)
        };
        assert_eq!(paused, "cannot write the run folder: no storage space");
        assert_eq!(ran.seen.warnings, [""; 0]);
        assert_run_is_complete(&project, &format!("at effect {at}"));
    }
}

#[test]
fn locked_database_at_any_effect_pauses_the_run() {
    let effects = project().run().seen.effects;
    for at in 1..=effects {
        let project = project();
        let mut seen = Probe::full_at(at, 3);
        seen.faults.is_locked = true;
        let ran = project.run_with(seen);
        assert_eq!(ran.end, Some(End::Complete), "at effect {at}");
        let [paused, "over"] = ran.seen.pauses.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
            panic!("at effect {at}: {:?}", ran.seen.pauses)
        };
        assert!(paused.ends_with("progress.db is locked by another process"), "{paused}");
        assert_run_is_complete(&project, &format!("at effect {at}"));
    }
}

#[test]
fn paused_run_can_be_stopped_and_resumed() {
    let effects = project().run().seen.effects;
    for at in 1..=effects {
        let project = project();
        let mut seen = Probe::full_at(at, 0);
        seen.stops_when_paused = true;
        let ran = project.run_with(seen);
        assert_eq!(ran.end, Some(End::Interrupted), "at effect {at}");
        assert_eq!(
            ran.seen.sentence.as_deref(),
            Some("Stopped on request."),
            "at effect {at}"
        );
        let again = project.run();
        let code = again.code();
        assert!(matches!(code, 0 | 3), "at effect {at}: {code}");
        let done = project
            .journal()
            .iter()
            .filter(|row| row.row.outcome == Outcome::Done)
            .count();
        assert_eq!(done, 2, "at effect {at}: {:?}", project.story());
        assert!(
            project
                .tasks()
                .iter()
                .all(|task| task.status == TaskStatus::Done && task.retries_used == 0)
        );
    }
}

#[test]
fn run_that_is_stopped_before_it_begins_reports_its_end() {
    let project = project();
    #[expect(clippy::disallowed_methods, reason = "a client that is not ours")]
    let other = rusqlite::Connection::open(project.database()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let ran = project.run_with(Probe {
        stops_when_paused: true,
        ..Probe::default()
    });
    assert_eq!(ran.end, Some(End::Interrupted));
    assert_eq!(ran.seen.sentence.as_deref(), Some("Stopped on request."));
}

#[test]
fn wall_clock_limit_ends_the_pause() {
    let mut project = project();
    project.config.limits.wall_clock = Some(Duration::from_millis(300));
    for at in [1, 4, 9] {
        let ran = project.run_with(Probe::full_at(at, 0));
        assert_eq!(ran.code(), 4, "{ran:?}");
        let sentence = ran.end.unwrap().sentence();
        assert!(sentence.contains("`[limits] wall_clock = 300ms`"), "{sentence}");
        assert!(
            sentence.ends_with("cannot write the run folder: no storage space."),
            "{sentence}"
        );
    }
    project.config.limits.wall_clock = None;
    assert!(matches!(project.run().code(), 0 | 3));
    assert!(
        project
            .tasks()
            .iter()
            .all(|task| task.status == TaskStatus::Done && task.retries_used == 0)
    );
}

#[test]
fn incomplete_change_detection_is_reported() {
    // The snapshot of the files is missing, as after a full disk.
    let forgets = run("rm -rf .ralph/runs/*/scratch/*");
    let mut project =
        Project::plain([vec![forgets, write("a.txt", "x"), say("<task-done>{task}</task-done>")]]).in_git();
    project.write("before.txt", "not committed");
    project.config.git.commit = Commit::Task;
    project.task("A");
    let ran = project.run();
    let is_warning = |text: &String| text.starts_with("Some changes may have been missed: ");
    let warned = ran.seen.warnings.iter().filter(|text| is_warning(text)).count();
    assert_eq!(warned, 1, "{ran:?}");
    let reason = project.journal().remove(0).row.reason;
    assert!(
        reason.contains("Not committed: some changes may have been missed: "),
        "{reason}"
    );
}
