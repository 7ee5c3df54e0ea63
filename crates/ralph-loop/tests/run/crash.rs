//! A run that is killed after any effect: the next one ends what it left, nothing is done twice, nothing is lost.

use std::collections::BTreeSet;

use ralph_loop::state::Effect;
use ralph_model::config::Commit;
use ralph_model::{Outcome, TaskStatus};
use ralph_testkit::scripted::{Action, if_prompt_holds, run, say, write};
use ralph_testkit::{Seed, count};

use crate::bench::{Project, Ran, Seen};

/// What every agent of these tests leaves behind: a process that no group reaches.
const STRAY: &str = "setsid sleep 600 >/dev/null 2>&1 &";

/// Three tasks: one learns a lesson, one is refused by the gate once, one leaves a long note. What an agent does depends
/// on its prompt alone, so it does not matter how many were killed before it.
fn project() -> Project {
    let done = "<task-done>{task}</task-done>";
    let lesson = r#"<learning category="pitfall" tags="port">Port {task} is taken.</learning>"#;
    let note = "<knowledge tags=\"build\" title=\"How it is built\">With make.</knowledge>";
    let trap = if_prompt_holds(
        "The gate `! ls bad.txt` failed",
        [run("rm -f bad.txt"), write("good.txt", "x")],
        [write("bad.txt", "x")],
    );
    let turn: Vec<Action> = vec![
        run(STRAY),
        if_prompt_holds("**Trap**", [trap], []),
        if_prompt_holds("**Lesson**", [write("lesson.txt", "x"), say(lesson)], []),
        if_prompt_holds("**Note**", [write("note.txt", "x"), say(note)], []),
        say("<journal>what {task} took</journal>"),
        say(done),
    ];
    let mut project = Project::plain([turn]).in_git().gated(&["! ls bad.txt"]);
    project.config.git.commit = Commit::Task;
    for title in ["Lesson", "Trap", "Note"] {
        project.task(title);
    }
    project
}

/// Nothing is done twice, nothing is stranded, each note is there once.
#[track_caller]
fn check(project: &Project, deaths: &str, last: &Ran) {
    assert_eq!(last.end.as_ref().unwrap().code(), 0, "{deaths}: {last:?}");
    let rows = project.journal();
    let story = || format!("{deaths}: {:#?}", project.story());
    for task in project.tasks() {
        assert_eq!((task.status, task.claimed_by), (TaskStatus::Done, None), "{}", story());
        let done = rows
            .iter()
            .filter(|row| row.row.task.as_ref() == Some(&task.id) && row.row.outcome == Outcome::Done);
        assert_eq!(done.count(), 1, "{}", story());
        let attempts: Vec<u32> = rows
            .iter()
            .filter(|row| row.row.task.as_ref() == Some(&task.id))
            .map(|row| row.row.attempt)
            .collect();
        let distinct: BTreeSet<u32> = attempts.iter().copied().collect();
        assert_eq!(attempts.len(), distinct.len(), "no attempt has two rows, {}", story());
    }
    let retried = rows.iter().filter(|row| row.row.outcome == Outcome::Retried).count();
    assert_eq!(retried, 1, "{}", story());
    for (run, iteration, marker) in project.calls() {
        let its_row =
            |row: &&ralph_model::JournalRow| row.row.run.as_str() == run && row.row.iteration.to_string() == iteration;
        assert_eq!(rows.iter().filter(its_row).count(), 1, "{run} {iteration}, {}", story());
        let alive = ralph_process::kill_leftovers(&marker, None);
        assert_eq!(alive, 0, "{run} {iteration} has left something, {}", story());
    }
    let store = project.store();
    let overview = store.overview(0, "").unwrap();
    assert_eq!((overview.learnings, overview.knowledge), (1, 1), "{}", story());
    assert_eq!(
        store.unfinished("", &ralph_model::RunId::new(0)).unwrap(),
        [],
        "{}",
        story()
    );
    assert_eq!(store.outbox("").unwrap(), [], "{}", story());
    let open: Vec<_> = overview.open_runs.iter().map(|run| &run.begun.id).collect();
    assert!(open.is_empty(), "{open:?} look alive, {}", story());
    let notes = project.names(".ralph/knowledge");
    let notes: Vec<&String> = notes.iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(notes, ["how-it-is-built.md"], "{}", story());
    // Each task is committed once, with its files and no others.
    let log = project.git(&["log", "--format=%s", "--name-only", "main"]);
    let mut lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    let expected = [
        "Begin",
        "Lesson",
        "Note",
        "Trap",
        ".gitignore",
        "good.txt",
        "lesson.txt",
        "note.txt",
    ];
    let expected: BTreeSet<&str> = expected.into_iter().collect();
    assert_eq!(lines, expected.into_iter().collect::<Vec<_>>(), "{}", story());
    assert_eq!(project.git(&["status", "--porcelain"]), "", "{}", story());
}

/// Runs until one comes to its end.
fn run_until_it_ends(project: &Project) -> Ran {
    loop {
        let ran = project.run();
        if ran.end.is_some() {
            return ran;
        }
    }
}

/// A run that dies after so many effects, if it has as many; then runs until one comes to its end.
fn die_after(effects: usize) -> bool {
    let project = project();
    let first = project.run_with(Seen::dying_after(effects));
    let has_died = first.end.is_none();
    let last = if has_died { run_until_it_ends(&project) } else { first };
    check(&project, &format!("dead after {effects} effects"), &last);
    has_died
}

/// Every third effect from this one on.
fn die_after_every_third_from(first: usize) {
    let deaths = (first..).step_by(3).take_while(|effects| die_after(*effects)).count();
    assert!(deaths > 8, "only {deaths} deaths");
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
