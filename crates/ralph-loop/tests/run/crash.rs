//! A run that is killed after any effect: the next one ends what it left, nothing is done twice, nothing is lost.

use std::collections::BTreeSet;

use ralph_loop::state::{Effect, Place};
use ralph_model::config::Commit;
use ralph_model::{JournalRow, LearningSource, Outcome, RunId, TaskStatus};
use ralph_testkit::scripted::{if_prompt_holds, run, say, write};
use ralph_testkit::{Seed, count};

use crate::bench::{Project, Ran, Seen, Speaks};

/// What every agent of these tests leaves behind: a process that no group reaches.
const STRAY: &str = "setsid sleep 600 >/dev/null 2>&1 &";

/// Two tasks: one leaves a long note, one is refused by the gate once and learns a lesson. All work is looked at by a second
/// session, which leaves something running too. What an agent does depends on
/// its prompt alone, so it does not matter how many were killed before it.
fn project(place: Place) -> Project {
    let lesson = r#"<learning category="pitfall" tags="port">Port {task} is taken.</learning>"#;
    let note = r#"<knowledge tags="build" title="How it is built">With make.</knowledge>"#;
    let trap = if_prompt_holds(
        "The gate `! ls bad.txt` failed",
        [run("rm -f bad.txt"), write("good.txt", "x"), say(lesson)],
        [write("bad.txt", "x")],
    );
    let turn = vec![
        run(STRAY),
        if_prompt_holds("**Note**", [write("note.txt", "x"), say(note)], [trap]),
        say("<journal>what {task} took</journal>"),
        say("<task-done>{task}</task-done>"),
    ];
    let mut project = Project::new(Speaks::Claude, [turn]).in_git().gated(&["! ls bad.txt"]);
    project.agent.look([vec![run(STRAY), say("<verify-pass/>")]]);
    project.config.git.commit = Commit::Task;
    project.isolated = place == Place::Checkout;
    for title in ["Note", "Trap"] {
        project.task(title);
    }
    project
}

/// Nothing is done twice, nothing is stranded, each note is there once.
#[track_caller]
fn check(project: &Project, deaths: &str, last: &Ran) {
    let story = || format!("{deaths}: {:#?}, {last:?}", project.story());
    // When all was settled before the death, there is nothing left to do.
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
        assert_eq!(attempts.len(), its.len(), "no attempt has two rows, {}", story());
    }
    let retried = rows.iter().filter(|row| row.row.outcome == Outcome::Retried).count();
    assert_eq!(retried, 1, "{}", story());
    for (run, iteration, marker) in project.calls() {
        let is_its = |row: &&JournalRow| row.row.run.as_str() == run && row.row.iteration.to_string() == iteration;
        assert_eq!(rows.iter().filter(is_its).count(), 1, "{run} {iteration}, {}", story());
        let alive = ralph_process::kill_leftovers(&marker, None);
        assert_eq!(alive, 0, "{run} {iteration} has left something, {}", story());
    }
    check_what_is_kept(project, &story);
}

#[track_caller]
fn check_what_is_kept(project: &Project, story: &dyn Fn() -> String) {
    let store = project.store();
    let overview = store.overview(0, "").unwrap();
    let mut told = store.learnings().unwrap();
    told.retain(|lesson| lesson.source == LearningSource::Sigil);
    assert_eq!((told.len(), overview.knowledge), (1, 1), "{}", story());
    assert_eq!(store.unfinished("", &RunId::new(0)).unwrap(), [], "{}", story());
    assert_eq!(store.outbox("").unwrap(), [], "{}", story());
    assert_eq!(overview.open_runs, [], "they look alive, {}", story());
    let notes = project.names(".ralph/knowledge");
    let notes: Vec<&String> = notes.iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(notes, ["how-it-is-built.md"], "{}", story());
    // Each task is committed once, with its files and no others.
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

/// A run that dies after so many effects, if it has as many, and one that comes to its end. Whether it died.
fn die_after(place: Place, effects: usize) -> bool {
    let project = project(place);
    let first = project.run_with(Seen::dying_after(effects));
    let has_died = first.end.is_none();
    let last = if has_died { project.run() } else { first };
    check(
        &project,
        &format!("dead after {effects} effects in the {place:?}"),
        &last,
    );
    has_died
}

/// Every third effect from this one on.
fn die_after_every_third_from(first: usize) {
    for place in [Place::Project, Place::Checkout] {
        let deaths = (first..).step_by(3);
        let deaths = deaths.take_while(|effects| die_after(place, *effects)).count();
        assert!(deaths > 6, "only {deaths} deaths");
    }
}

#[test]
fn a_death_after_any_effect_from_the_first() {
    die_after_every_third_from(1);
}

#[test]
fn a_death_after_any_effect_from_the_second() {
    die_after_every_third_from(2);
}

#[test]
fn a_death_after_any_effect_from_the_third() {
    die_after_every_third_from(3);
}

#[test]
fn several_deaths_in_a_row() {
    let mut seed = Seed::announced("several_deaths_in_a_row");
    for _ in 0..count("RALPH_SOAK_LOOP_DEATHS", 3) {
        let place = [Place::Project, Place::Checkout][seed.below(2)];
        let project = project(place);
        let mut deaths = Vec::new();
        let last = loop {
            deaths.push(1 + seed.below(14));
            let ran = project.run_with(Seen::dying_after(*deaths.last().unwrap()));
            match ran.end {
                Some(_) => break ran,
                None if deaths.len() == 4 => break project.run(),
                None => {}
            }
        };
        check(
            &project,
            &format!("dead after {deaths:?} effects in the {place:?}"),
            &last,
        );
    }
}

#[test]
fn what_a_person_wrote_after_the_death_is_not_committed_with_the_task() {
    let mut project = Project::plain([vec![write("work.txt", "x"), say("<task-done>{task}</task-done>")]]).in_git();
    project.config.git.commit = Commit::Task;
    let task = project.task("Work");
    let died = project.run_with(Seen::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    assert_eq!(died.end, None);
    project.write("mine.txt", "x");
    // Long after the last sign of the run, by whatever clock.
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
fn work_in_a_checkout_does_not_count_for_a_run_that_works_in_the_project_itself() {
    let turn = vec![write("work.txt", "x"), say("<task-done>{task}</task-done>")];
    let mut project = Project::plain([turn]).in_git();
    project.isolated = true;
    let task = project.task("Work");
    let died = project.run_with(Seen::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
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
