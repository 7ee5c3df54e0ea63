//! Hostile agents over every driver: after the iteration none of their processes is left, and the run's descriptors,
//! threads and memory are back to what they were.
//!
//! The gate runs a few; `cargo xtask soak agents` runs a thousand.

use std::time::{Duration, Instant};

use ralph_model::Outcome;
use ralph_testkit::scripted::{Misdeed, hang, hostile_turn, misbehave, processes_in, say};
use ralph_testkit::{Seed, count};

use crate::bench::{Dialect, Project, RunResult};

/// Allowed memory growth after the first agent: an eight-megabyte line is held briefly, more than once.
const MEMORY_KIB: usize = 96 * 1024;
/// How long idle threads may take to exit.
const THREAD_EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// What this process holds, according to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Resources {
    descriptors: usize,
    threads: usize,
}

impl Resources {
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

/// The children of this process, including zombies.
fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    // A thread may end while it is read.
    tasks
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default())
        .collect()
}

/// A project with a short idle limit.
fn project(dialect: Dialect) -> Project {
    let mut project = Project::new(dialect, [vec![say("<task-done>{task}</task-done>")]]);
    project.config.limits.iterations = Some(1);
    project.config.limits.idle_time = Some(Duration::from_millis(1_200));
    project
}

/// Runs one iteration and checks that it leaves nothing behind.
#[track_caller]
fn run_once(project: &Project, about: &dyn std::fmt::Debug) -> RunResult {
    project.task("Harm");
    let rows = project.journal().len();
    let ran = project.run();
    assert_eq!(processes_in(project.root()), [0; 0], "of {about:?}");
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

#[expect(clippy::print_stderr, reason = "a long run reports its progress")]
fn many_hostile_agents(dialect: Dialect) {
    let runs = count("RALPH_SOAK_HOSTILE", 10).div_ceil(4);
    let bytes = count("RALPH_SOAK_HOSTILE_BYTES", 1_000_000);
    let mut seed = Seed::announced(&format!("hostile agents that speak {dialect:?}"));
    let mut project = project(dialect);
    // As `ralph run` does: return freed memory to the system.
    ralph_process::give_memory_back();
    let before = Resources::now();
    run_once(&project, &"a friendly agent");
    let memory = from_status("VmRSS:");
    let mut done = 0;
    for _ in 0..runs {
        let turn = hostile_turn(&mut seed, bytes);
        project.play([turn.clone()]);
        run_once(&project, &turn);
        let begun = Instant::now();
        while Resources::now() != before && begun.elapsed() < THREAD_EXIT_TIMEOUT {
            std::thread::yield_now();
        }
        assert_eq!(Resources::now(), before, "after {turn:?}");
        done += usize::from(project.journal().last().unwrap().row.outcome == Outcome::Done);
    }
    let now = from_status("VmRSS:");
    assert!(now < memory + MEMORY_KIB, "from {memory} KiB to {now} KiB");
    eprintln!(
        "{runs} hostile agents that speak {dialect:?}: {done} did their task; memory from {memory} KiB to {now} KiB"
    );
}

#[test]
fn fault_29_hostile_plain_agents_leave_nothing_behind() {
    many_hostile_agents(Dialect::Plain);
}

#[test]
fn fault_29_hostile_claude_agents_leave_nothing_behind() {
    many_hostile_agents(Dialect::Claude);
}

#[test]
fn fault_29_hostile_codex_agents_leave_nothing_behind() {
    many_hostile_agents(Dialect::Codex);
}

#[test]
fn fault_29_hostile_acp_agents_leave_nothing_behind() {
    many_hostile_agents(Dialect::Acp);
}

/// Every misdeed once, independent of the seed.
#[test]
fn fault_29_no_misdeed_leaves_anything_behind() {
    let mut project = project(Dialect::Claude);
    for misdeed in [
        Misdeed::Daemon,
        Misdeed::ClearedEnv,
        Misdeed::Renamed,
        Misdeed::Frozen,
        Misdeed::Zombies,
        Misdeed::Hydra,
        Misdeed::Runaway,
        Misdeed::FileWriter,
    ] {
        project.play([vec![misbehave(misdeed), say("<task-done>{task}</task-done>")]]);
        let ran = run_once(&project, &misdeed);
        assert_eq!(
            ran.seen.settled[0].decision.outcome,
            Outcome::Done,
            "{misdeed:?}: {ran:?}"
        );
    }
}

/// Agents that ignore signals, close their output or stop themselves.
#[test]
fn fault_29_unresponsive_agents_are_killed() {
    let mut project = project(Dialect::Plain);
    for misdeed in [Misdeed::IgnoreSignals, Misdeed::CloseOutput, Misdeed::StopSelf] {
        project.play([vec![say("I begin."), misbehave(misdeed), hang()]]);
        let ran = run_once(&project, &misdeed);
        assert_eq!(
            ran.seen.settled[0].decision.outcome,
            Outcome::Failed,
            "{misdeed:?}: {ran:?}"
        );
    }
}
