//! What a person says who stops a turn, with a real store and an agent that follows a script; also when the run is killed
//! on the way.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ralph_loop::state::{Effect, End};
use ralph_loop::{Asked, Guide, Guided, WhatNext};
use ralph_model::{TaskStatus, split_guidance};
use ralph_process::StopHandle;
use ralph_store::Store;
use ralph_testkit::scripted::{hang, say, write};

use crate::bench::{Deed, IsSo, Project, Seen, presses};

const GUIDANCE: &str = "use the other parser";

/// Somebody who always says the same, and wants to go on.
struct Says(&'static str);

impl Guide for Says {
    fn ask(&self, _about: &Asked, _given_up: &StopHandle) -> Guided {
        Guided {
            text: Some(self.0.to_owned()),
            next: WhatNext::GoOn,
        }
    }
}

/// Somebody who looks at what is on record of the runs while they are asked.
struct LooksUp {
    database: PathBuf,
    asks: Arc<Mutex<Vec<Option<String>>>>,
}

impl Guide for LooksUp {
    fn ask(&self, about: &Asked, given_up: &StopHandle) -> Guided {
        let store = Store::open_or_create(&self.database).unwrap();
        let runs = store.recent_runs(9).unwrap();
        self.asks.lock().unwrap().extend(runs.into_iter().map(|run| run.asks));
        Says(GUIDANCE).ask(about, given_up)
    }
}

/// An agent that gets stuck once, and a person who says something about it.
fn project(said: &'static str) -> Project {
    let stuck = vec![say("<journal>at the parser</journal>"), write("half.txt", "x"), hang()];
    let mut project = Project::plain([stuck, vec![say("<task-done>{task}</task-done>")]]);
    project.guide = Some(Arc::new(Says(said)));
    project
}

/// Interrupts the first agent when it is stuck, and lets the run die at the first effect after that which is so.
fn interrupting(project: &Project, dies_at: impl Fn(&Effect) -> bool + Send + 'static) -> Seen {
    let is_interrupted = AtomicBool::new(false);
    let half = project.root().join("half.txt");
    Seen::doing(move |effect| match effect {
        Effect::Spawn if !is_interrupted.swap(true, Ordering::SeqCst) => {
            while !half.exists() {
                std::thread::yield_now();
            }
            Some(Deed::Interrupt)
        }
        effect if is_interrupted.load(Ordering::SeqCst) && dies_at(effect) => Some(Deed::Die),
        _ => None,
    })
}

#[test]
fn the_run_goes_on_with_the_same_task_and_what_was_said_stands_in_its_prompt() {
    let project = project(GUIDANCE);
    let first = project.task("A");
    project.task("B");
    let ran = project.run_with(interrupting(&project, |_| false));
    assert_eq!(ran.end, Some(End::Complete), "{ran:?}");
    assert_eq!(
        project.story(),
        ["A interrupted: cancelled", "A done: task_done", "B done: task_done"]
    );
    assert!(project.agent.prompt(2).contains(GUIDANCE));
    assert!(!project.agent.prompt(3).contains("Guidance from the user"));
    let task = project.store().task(&first).unwrap().unwrap();
    assert_eq!(task.retries_used, 0);
}

#[test]
fn that_the_run_waits_for_an_answer_is_on_record_until_it_has_one() {
    let mut project = project(GUIDANCE);
    let task = project.task("A");
    let asks = Arc::new(Mutex::new(Vec::new()));
    project.guide = Some(Arc::new(LooksUp {
        database: project.database(),
        asks: Arc::clone(&asks),
    }));
    let after = Arc::new(Mutex::new(Vec::new()));
    let (told, database) = (Arc::clone(&after), project.database());
    project.run_with(interrupting(&project, move |effect| {
        if matches!(effect, Effect::GoOn) {
            let store = Store::open_or_create(&database).unwrap();
            let runs = store.recent_runs(9).unwrap();
            told.lock().unwrap().extend(runs.into_iter().map(|run| run.asks));
        }
        false
    }));
    let question = format!("what should be done differently on {task} (A)");
    assert_eq!(*asks.lock().unwrap(), [Some(question)]);
    assert_eq!(*after.lock().unwrap(), [None]);
}

#[test]
fn what_a_terminal_would_obey_and_secrets_are_not_kept_and_all_else_is() {
    let project = project("a key: AKIAQWZX4TR2VNB7JH5K\u{1b}[2J\u{7}\r\n\n  grün 🦀\u{202e}");
    let task = project.task("A");
    project.run_with(interrupting(&project, |_| false));
    let task = project.store().task(&task).unwrap().unwrap();
    let (_, guidance) = split_guidance(&task.description);
    assert_eq!(guidance[0].text, "a key: [secret: aws]\n\n  grün 🦀");
}

#[test]
fn what_was_said_is_not_lost_when_the_run_is_killed_at_whatever_moment() {
    let moments: [(IsSo, bool); 8] = [
        (|effect| matches!(effect, Effect::StopAgent), false),
        (|effect| matches!(effect, Effect::RecordEnd(_)), false),
        (|effect| matches!(effect, Effect::Examine { .. }), false),
        (|effect| matches!(effect, Effect::Ask(_)), false),
        // The first that comes of an answer.
        (|effect| matches!(effect, Effect::RecordGuidance(_)), true),
        (|effect| matches!(effect, Effect::GoOn), true),
        (|effect| matches!(effect, Effect::Settle(_)), true),
        (|effect| matches!(effect, Effect::FinishOutbox), true),
    ];
    for (at, (is_moment, is_kept)) in moments.into_iter().enumerate() {
        let project = project(GUIDANCE);
        let task = project.task("A");
        let died = project.run_with(interrupting(&project, is_moment));
        assert_eq!(died.end, None, "moment {at}");
        let ran = project.run();
        assert_eq!(project.status(&task), TaskStatus::Done, "moment {at}: {ran:?}");
        let outcomes: Vec<String> = project.story();
        assert_eq!(outcomes.len(), 2, "moment {at}: {outcomes:?}");
        assert!(outcomes[0].starts_with("A interrupted: "), "moment {at}: {outcomes:?}");
        let task = project.store().task(&task).unwrap().unwrap();
        let kept: Vec<&str> = split_guidance(&task.description)
            .1
            .iter()
            .map(|said| said.text)
            .collect();
        let expected: &[&str] = if is_kept { &[GUIDANCE] } else { &[] };
        assert_eq!(kept, expected, "moment {at}");
        let notes = project.journal()[0].row.notes.clone().unwrap_or_default();
        let is_in_journal = notes == format!("{GUIDANCE}\n\nThe agent's own notes: at the parser");
        assert_eq!(is_in_journal, is_kept, "moment {at}: {notes}");
        assert_eq!(project.agent.prompt(2).contains(GUIDANCE), is_kept, "moment {at}");
    }
}

#[test]
fn a_wish_for_guidance_that_stops_the_turn_counts_as_a_ctrl_c_until_the_run_goes_on() {
    let project = project(GUIDANCE);
    project.task("A");
    let half = project.root().join("half.txt");
    let mut is_guided = false;
    let counted = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&counted);
    let ran = project.run_with(Seen::doing(move |effect| {
        let name = match effect {
            Effect::Spawn => "spawned",
            Effect::Ask(_) => "asked",
            Effect::GoOn => "goes on",
            // Nobody works by now, so nobody can be asked.
            Effect::EndRun(_) => return Some(Deed::Guide),
            _ => return None,
        };
        told.lock().unwrap().push((name, presses()));
        if name != "spawned" || std::mem::replace(&mut is_guided, true) {
            return None;
        }
        while !half.exists() {
            std::thread::yield_now();
        }
        Some(Deed::Guide)
    }));
    assert_eq!(ran.end, Some(End::Complete), "{ran:?}");
    let expected = [("spawned", 0), ("asked", 1), ("goes on", 0), ("spawned", 0)];
    assert_eq!(*counted.lock().unwrap(), expected);
}

/// Somebody who says something and wants to stop.
struct SaysAndStops;

impl Guide for SaysAndStops {
    fn ask(&self, _about: &Asked, _given_up: &StopHandle) -> Guided {
        Guided {
            text: Some(GUIDANCE.to_owned()),
            next: WhatNext::Stop,
        }
    }
}

#[test]
fn what_was_said_waits_for_room_on_the_disk_also_when_the_run_is_to_stop() {
    let guides: [Arc<dyn Guide>; 2] = [Arc::new(Says(GUIDANCE)), Arc::new(SaysAndStops)];
    for guide in guides {
        let mut project = project("");
        project.guide = Some(guide);
        let task = project.task("A");
        let mut seen = interrupting(&project, |_| false);
        seen.full_for = Some((|effect| matches!(effect, Effect::RecordGuidance(_)), 3));
        let ran = project.run_with(seen);
        assert_eq!(ran.seen.pauses.len(), 2, "{ran:?}");
        let task = project.store().task(&task).unwrap().unwrap();
        assert_eq!(split_guidance(&task.description).1[0].text, GUIDANCE);
    }
}

#[test]
fn what_was_said_is_given_back_where_nobody_waits_for_room() {
    let mut project = project(GUIDANCE);
    project.guide = Some(Arc::new(SaysAndStops));
    project.task("A");
    let mut seen = interrupting(&project, |_| false);
    seen.full_for = Some((|effect| matches!(effect, Effect::RecordGuidance(_)), usize::MAX));
    seen.stops_when_paused = true;
    let ran = project.run_with(seen);
    let given_back = format!("What you said is not on record. It was:\n{GUIDANCE}");
    assert!(ran.seen.warnings.contains(&given_back), "{ran:?}");
}

#[test]
fn a_run_that_is_to_end_after_this_iteration_ends_then() {
    let project = Project::plain([vec![say("<task-done>{task}</task-done>")]]);
    let tasks = ["A", "B"].map(|title| project.task(title));
    let ran = project.run_with(Seen::doing(|effect| {
        matches!(effect, Effect::Spawn).then_some(Deed::FinishIteration)
    }));
    assert!(matches!(ran.end, Some(End::AsWished(_))), "{ran:?}");
    assert_eq!((ran.code(), ran.iterations), (0, 1));
    assert_eq!(
        tasks.map(|task| project.status(&task)),
        [TaskStatus::Done, TaskStatus::Pending]
    );
}
