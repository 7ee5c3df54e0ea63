//! Agents that mean harm, over every driver: after the iteration no process of theirs is left, and the run has as many
//! descriptors and threads, and not much more memory, than it had before.
//!
//! The gate runs a few; `cargo xtask soak agents` runs a thousand.

use std::time::{Duration, Instant};

use ralph_model::Outcome;
use ralph_testkit::scripted::{Misdeed, hang, hostile_turn, left_in, misbehave, say};
use ralph_testkit::{Seed, count};

use crate::bench::{Project, Ran, Speaks};

/// How much more memory there may be in the end than after the first agent: a line of eight megabytes is kept for a moment,
/// more than once.
const MEMORY_KIB: usize = 96 * 1024;
/// How long threads that have nothing more to do may take to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// What this process has, as the system counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Belongings {
    descriptors: usize,
    threads: usize,
}

impl Belongings {
    fn now() -> Self {
        Self {
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
            threads: from_status("Threads:"),
        }
    }
}

fn from_status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// The children of this process, those that are dead and not reaped among them.
fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    // A thread may end while it is being looked at.
    tasks
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default())
        .collect()
}

/// A project in which an agent may do nothing for only so long.
fn project(speaks: Speaks) -> Project {
    let mut project = Project::new(speaks, [vec![say("<task-done>{task}</task-done>")]]);
    project.config.limits.iterations = Some(1);
    project.config.limits.idle_time = Some(Duration::from_millis(1_200));
    project
}

/// Runs one iteration, and checks that nothing of it is left.
#[track_caller]
fn run_once(project: &Project, about: &dyn std::fmt::Debug) -> Ran {
    project.task("Harm");
    let rows = project.journal().len();
    let ran = project.run();
    assert_eq!(left_in(project.root()), [0; 0], "of {about:?}");
    for (_, _, marker) in project.calls() {
        assert_eq!(ralph_process::kill_leftovers(&marker, None), 0, "of {about:?}");
    }
    assert_eq!(children(), "", "of {about:?}");
    assert_eq!(
        project.journal().len(),
        rows + 1,
        "{about:?}: {:#?}, {ran:?}",
        project.story()
    );
    ran
}

#[expect(clippy::print_stderr, reason = "a long run says what it has seen")]
fn many_hostile_agents(speaks: Speaks) {
    let runs = count("RALPH_SOAK_HOSTILE", 10).div_ceil(4);
    let bytes = count("RALPH_SOAK_HOSTILE_BYTES", 1_000_000);
    let mut seed = Seed::announced(&format!("hostile agents that speak {speaks:?}"));
    let mut project = project(speaks);
    // As `ralph run` does: what was used for a moment is not kept.
    ralph_process::give_memory_back();
    let before = Belongings::now();
    run_once(&project, &"a friendly agent");
    let memory = from_status("VmRSS:");
    let mut done = 0;
    for _ in 0..runs {
        let turn = hostile_turn(&mut seed, bytes);
        project.play([turn.clone()]);
        run_once(&project, &turn);
        let begun = Instant::now();
        while Belongings::now() != before && begun.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        assert_eq!(Belongings::now(), before, "after {turn:?}");
        done += usize::from(project.journal().last().unwrap().row.outcome == Outcome::Done);
    }
    let now = from_status("VmRSS:");
    assert!(now < memory + MEMORY_KIB, "from {memory} KiB to {now} KiB");
    eprintln!(
        "{runs} hostile agents that speak {speaks:?}: {done} did their task; memory from {memory} KiB to {now} KiB"
    );
}

#[test]
fn fault_29_nothing_is_left_of_hostile_agents_that_speak_plainly() {
    many_hostile_agents(Speaks::Plain);
}

#[test]
fn fault_29_nothing_is_left_of_hostile_agents_that_speak_as_claude() {
    many_hostile_agents(Speaks::Claude);
}

#[test]
fn fault_29_nothing_is_left_of_hostile_agents_that_speak_as_codex() {
    many_hostile_agents(Speaks::Codex);
}

#[test]
fn fault_29_nothing_is_left_of_hostile_agents_that_speak_acp() {
    many_hostile_agents(Speaks::Acp);
}

/// Each kind of leftover over one driver, whatever the seeds bring.
#[test]
fn fault_29_nothing_is_left_of_any_misdeed() {
    let mut project = project(Speaks::Claude);
    for misdeed in [
        Misdeed::Daemon,
        Misdeed::Stranger,
        Misdeed::Disguise,
        Misdeed::Frozen,
        Misdeed::Zombies,
        Misdeed::Hydra,
        Misdeed::Runaway,
        Misdeed::Scribbler,
    ] {
        project.play([vec![misbehave(misdeed), say("<task-done>{task}</task-done>")]]);
        let ran = run_once(&project, &misdeed);
        assert_eq!(
            ran.seen.settled[0].ruling.outcome,
            Outcome::Done,
            "{misdeed:?}: {ran:?}"
        );
    }
}

/// An agent that neither ends nor hears, nor can be spoken to.
#[test]
fn fault_29_an_agent_that_is_stopped_or_silent_or_deaf_is_ended() {
    let mut project = project(Speaks::Plain);
    for misdeed in [Misdeed::Deafness, Misdeed::Silence, Misdeed::Faint] {
        project.play([vec![say("I begin."), misbehave(misdeed), hang()]]);
        let ran = run_once(&project, &misdeed);
        assert_eq!(
            ran.seen.settled[0].ruling.outcome,
            Outcome::Failed,
            "{misdeed:?}: {ran:?}"
        );
    }
}
