//! Guidance from a person who stops a turn, with a real store and a scripted agent, also across crashes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ralph_loop::state::{Effect, End};
use ralph_loop::{AfterGuidance, GuidanceAnswer, GuidanceQuestion, Guide};
use ralph_model::{TaskStatus, split_guidance};
use ralph_process::StopHandle;
use ralph_store::Store;
use ralph_testkit::scripted::{hang, say, write};

use crate::bench::{EffectFilter, Intervention, Probe, Project, presses};

const GUIDANCE: &str = "use the other parser";

/// Always gives the same answer and continues.
struct Answers(&'static str);

impl Guide for Answers {
    fn ask(&self, _about: &GuidanceQuestion, _given_up: &StopHandle) -> GuidanceAnswer {
        GuidanceAnswer {
            text: Some(self.0.to_owned()),
            next: AfterGuidance::GoOn,
        }
    }
}

/// Records the stored question of each run while being asked.
struct RecordsRuns {
    database: PathBuf,
    asks: Arc<Mutex<Vec<Option<String>>>>,
}

impl Guide for RecordsRuns {
    fn ask(&self, about: &GuidanceQuestion, given_up: &StopHandle) -> GuidanceAnswer {
        let store = Store::open_or_create(&self.database).unwrap();
        let runs = store.recent_runs(9).unwrap();
        self.asks.lock().unwrap().extend(runs.into_iter().map(|run| run.asks));
        Answers(GUIDANCE).ask(about, given_up)
    }
}

/// An agent that hangs once, and a person who gives guidance.
fn project(said: &'static str) -> Project {
    let stuck = vec![say("<journal>at the parser</journal>"), write("half.txt", "x"), hang()];
    let mut project = Project::plain([stuck, vec![say("<task-done>{task}</task-done>")]]);
    project.guide = Some(Arc::new(Answers(said)));
    project
}

/// Interrupts the first agent once it hangs; the run then dies at the first matching effect.
fn interrupting(project: &Project, dies_at: impl Fn(&Effect) -> bool + Send + 'static) -> Probe {
    let is_interrupted = AtomicBool::new(false);
    let half = project.root().join("half.txt");
    Probe::with_hook(move |effect| match effect {
        Effect::Spawn if !is_interrupted.swap(true, Ordering::SeqCst) => {
            while !half.exists() {
                std::thread::yield_now();
            }
            Some(Intervention::Interrupt)
        }
        effect if is_interrupted.load(Ordering::SeqCst) && dies_at(effect) => Some(Intervention::Die),
        _ => None,
    })
}

#[test]
fn run_continues_the_same_task_with_guidance_in_its_prompt() {
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
fn pending_question_is_recorded_until_answered() {
    let mut project = project(GUIDANCE);
    let task = project.task("A");
    let asks = Arc::new(Mutex::new(Vec::new()));
    project.guide = Some(Arc::new(RecordsRuns {
        database: project.database(),
        asks: Arc::clone(&asks),
    }));
    let after = Arc::new(Mutex::new(Vec::new()));
    let (recorded, database) = (Arc::clone(&after), project.database());
    project.run_with(interrupting(&project, move |effect| {
        if matches!(effect, Effect::Resume) {
            let store = Store::open_or_create(&database).unwrap();
            let runs = store.recent_runs(9).unwrap();
            recorded.lock().unwrap().extend(runs.into_iter().map(|run| run.asks));
        }
        false
    }));
    let question = format!("what should be done differently on {task} (A)");
    assert_eq!(*asks.lock().unwrap(), [Some(question)]);
    assert_eq!(*after.lock().unwrap(), [None]);
}

#[test]
fn guidance_drops_control_characters_and_secrets() {
    let project = project("a key: AKIAQWZX4TR2VNB7JH5K\u{1b}[2J\u{7}\r\n\n  grün 🦀\u{202e}");
    let task = project.task("A");
    project.run_with(interrupting(&project, |_| false));
    let task = project.store().task(&task).unwrap().unwrap();
    let (_, guidance) = split_guidance(&task.description);
    assert_eq!(guidance[0].text, "a key: [secret: aws]\n\n  grün 🦀");
}

#[test]
fn guidance_survives_a_kill_at_any_moment() {
    let moments: [(EffectFilter, bool); 8] = [
        (|effect| matches!(effect, Effect::StopAgent), false),
        (|effect| matches!(effect, Effect::RecordEnd(_)), false),
        (|effect| matches!(effect, Effect::Examine { .. }), false),
        (|effect| matches!(effect, Effect::Ask(_)), false),
        // The first effect after an answer.
        (|effect| matches!(effect, Effect::RecordGuidance(_)), true),
        (|effect| matches!(effect, Effect::Resume), true),
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
fn guide_key_counts_as_ctrl_c_until_the_run_continues() {
    let project = project(GUIDANCE);
    project.task("A");
    let half = project.root().join("half.txt");
    let mut is_guided = false;
    let counted = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&counted);
    let ran = project.run_with(Probe::with_hook(move |effect| {
        let name = match effect {
            Effect::Spawn => "spawned",
            Effect::Ask(_) => "asked",
            Effect::Resume => "goes on",
            // No agent is running any more, so there is nothing to ask about.
            Effect::EndRun(_) => return Some(Intervention::Guide),
            _ => return None,
        };
        recorded.lock().unwrap().push((name, presses()));
        if name != "spawned" || std::mem::replace(&mut is_guided, true) {
            return None;
        }
        while !half.exists() {
            std::thread::yield_now();
        }
        Some(Intervention::Guide)
    }));
    assert_eq!(ran.end, Some(End::Complete), "{ran:?}");
    let expected = [("spawned", 0), ("asked", 1), ("goes on", 0), ("spawned", 0)];
    assert_eq!(*counted.lock().unwrap(), expected);
}

/// Gives an answer and stops the run.
struct AnswersAndStops;

impl Guide for AnswersAndStops {
    fn ask(&self, _about: &GuidanceQuestion, _given_up: &StopHandle) -> GuidanceAnswer {
        GuidanceAnswer {
            text: Some(GUIDANCE.to_owned()),
            next: AfterGuidance::Stop,
        }
    }
}

#[test]
fn guidance_waits_for_disk_space_even_when_stopping() {
    let guides: [Arc<dyn Guide>; 2] = [Arc::new(Answers(GUIDANCE)), Arc::new(AnswersAndStops)];
    for guide in guides {
        let mut project = project("");
        project.guide = Some(guide);
        let task = project.task("A");
        let mut seen = interrupting(&project, |_| false);
        seen.faults.full_for = Some((|effect| matches!(effect, Effect::RecordGuidance(_)), 3));
        let ran = project.run_with(seen);
        assert_eq!(ran.seen.pauses.len(), 2, "{ran:?}");
        let task = project.store().task(&task).unwrap().unwrap();
        assert_eq!(split_guidance(&task.description).1[0].text, GUIDANCE);
    }
}

#[test]
fn unsaved_guidance_is_printed_back_when_stopped() {
    let mut project = project(GUIDANCE);
    project.guide = Some(Arc::new(AnswersAndStops));
    project.task("A");
    let mut seen = interrupting(&project, |_| false);
    seen.faults.full_for = Some((|effect| matches!(effect, Effect::RecordGuidance(_)), usize::MAX));
    seen.stops_when_paused = true;
    let ran = project.run_with(seen);
    let given_back = format!("Could not record your guidance. You wrote:\n{GUIDANCE}");
    assert!(ran.seen.warnings.contains(&given_back), "{ran:?}");
}

#[test]
fn finish_iteration_ends_the_run_after_the_current_iteration() {
    let project = Project::plain([vec![say("<task-done>{task}</task-done>")]]);
    let tasks = ["A", "B"].map(|title| project.task(title));
    let ran = project.run_with(Probe::with_hook(|effect| {
        matches!(effect, Effect::Spawn).then_some(Intervention::FinishIteration)
    }));
    assert!(matches!(ran.end, Some(End::StoppedAsRequested(_))), "{ran:?}");
    assert_eq!((ran.code(), ran.iterations), (0, 1));
    assert_eq!(
        tasks.map(|task| project.status(&task)),
        [TaskStatus::Done, TaskStatus::Pending]
    );
}
