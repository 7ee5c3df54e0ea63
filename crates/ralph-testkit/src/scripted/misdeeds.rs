//! Hostile behavior: hidden child processes, and agents that ignore signals or close their output.
//!
//! Each process is this program again, called with [`FLAG`], in the agent's working directory, by which tests find
//! leftovers. None lives longer than [`LIFETIME`].

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process, setsid};
use serde::{Deserialize, Serialize};

use super::Action;
use super::builder::{exit, flood, flood_errors, garbage, hang, kill, long_line, misbehave, raw, say};
use super::perform::end_with;
use crate::Seed;

/// The first argument of a misdeed process.
pub(super) const FLAG: &str = "--misdeed";
/// How long a process lives if it is not killed.
const LIFETIME: Duration = Duration::from_secs(300);
/// How often a killed process is restarted.
const MAX_HEADS: u32 = 60;
/// The length of a chain of processes that restart themselves.
const MAX_HOPS: u32 = 150;
/// How many exited children are not reaped.
const ZOMBIES: usize = 5;
const MAX_WRITES: usize = 10_000;

/// Something that only a hostile or badly broken agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misdeed {
    /// Leaves an orphaned process in its own session that keeps the agent's output open and ignores signals.
    Daemon,
    /// Leaves a process with an empty environment.
    ClearedEnv,
    /// Leaves a process under another program name.
    Renamed,
    /// Leaves a stopped process.
    Frozen,
    /// Leaves zombies, its own and those of a daemon.
    Zombies,
    /// Leaves two processes that restart each other.
    Hydra,
    /// Leaves a process that restarts itself and exits, repeatedly.
    Runaway,
    /// Leaves a process that writes a file repeatedly.
    FileWriter,
    /// Ignores termination signals from now on.
    IgnoreSignals,
    /// Closes its output and keeps running.
    CloseOutput,
    StopSelf,
}

impl Misdeed {
    /// The misdeeds after which the agent continues.
    const NON_FATAL: [Self; 9] = [
        Self::Daemon,
        Self::ClearedEnv,
        Self::Renamed,
        Self::Frozen,
        Self::Zombies,
        Self::Hydra,
        Self::Runaway,
        Self::FileWriter,
        Self::IgnoreSignals,
    ];

    pub(super) fn commit(self) {
        match self {
            Self::Daemon => leave("daemon", Environment::Kept),
            Self::ClearedEnv => leave("daemon", Environment::Cleared),
            Self::Renamed => leave("disguise", Environment::Cleared),
            Self::Frozen => leave("frozen", Environment::Kept),
            Self::Zombies => {
                leave_zombies();
                leave("zombies", Environment::Kept);
            }
            Self::Hydra => leave("hydra", Environment::Kept),
            Self::Runaway => leave("runaway", Environment::Kept),
            Self::FileWriter => leave("scribbler", Environment::Kept),
            Self::IgnoreSignals => ignore_signals(),
            Self::CloseOutput => {
                let quiet = role("daemon", 0).stdout(Stdio::null()).stderr(Stdio::null()).exec();
                panic!("cannot become another program: {quiet}");
            }
            Self::StopSelf => stop_self(),
        }
    }
}

/// A random hostile turn: some misdeeds, some noise, and one way or another to end. No output exceeds `bytes`.
#[must_use]
pub fn hostile_turn(seed: &mut Seed, bytes: usize) -> Vec<Action> {
    let mut actions = vec![say("I begin.")];
    for _ in 0..1 + seed.below(3) {
        let misdeed = Misdeed::NON_FATAL[seed.below(Misdeed::NON_FATAL.len())];
        actions.push(misbehave(misdeed));
    }
    actions.extend(match seed.below(10) {
        0 => Some(long_line(bytes)),
        1 => Some(flood(bytes / 4)),
        2 => Some(flood_errors(bytes / 4)),
        3 | 4 => Some(garbage()),
        5 => Some(raw("{\"type\":\"assistant\",\"message\":{\"con")),
        _ => None,
    });
    match seed.below(10) {
        0..=3 => actions.push(say("<task-done>{task}</task-done>")),
        4 => actions.push(exit(0)),
        5 => actions.push(kill(11)),
        6 => actions.push(kill(9)),
        7 => actions.extend([misbehave(Misdeed::IgnoreSignals), hang()]),
        8 => actions.push(misbehave(Misdeed::CloseOutput)),
        _ => actions.extend([misbehave(Misdeed::StopSelf), hang()]),
    }
    actions
}

/// The processes whose working directory is this folder.
#[must_use]
pub fn processes_in(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_there = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    pids.filter(is_there).collect()
}

/// Plays one role of a misdeed, then exits.
pub(super) fn play(mut arguments: impl Iterator<Item = String>) -> ! {
    let name = arguments.next().expect("a role");
    let generation: u32 = arguments.next().expect("a generation").parse().expect("a number");
    if name == "leave" {
        start(&mut role(&arguments.next().expect("a role to leave"), generation));
        end_with(0);
    }
    ignore_signals();
    // Fails for a session leader, which already has its own session.
    let _own_session: bool = setsid().is_ok();
    match name.as_str() {
        "disguise" => {
            let failed = role("daemon", 0).arg0("[kworker/0:1]").exec();
            panic!("cannot become another program: {failed}");
        }
        "frozen" => stop_self(),
        "zombies" => leave_zombies(),
        "hydra" => grow_heads(generation),
        "head" => watch_body(generation),
        "runaway" if generation < MAX_HOPS => {
            start(&mut role("runaway", generation + 1));
            end_with(0);
        }
        "runaway" | "nothing" => end_with(0),
        "scribbler" => write_repeatedly(),
        _ => {}
    }
    stay_alive();
    end_with(0)
}

/// This program in one role of a misdeed.
fn role(name: &str, generation: u32) -> Command {
    let mut command = ralph_process::command(std::env::current_exe().unwrap());
    command.args([FLAG, name, &generation.to_string()]).stdin(Stdio::null());
    command
}

/// Starts a process without waiting for it.
fn start(command: &mut Command) {
    drop(command.spawn().unwrap());
}

/// Whether a process inherits the environment.
#[derive(Clone, Copy)]
enum Environment {
    Kept,
    Cleared,
}

/// Starts a role through an intermediate process, so that it is orphaned.
fn leave(name: &str, environment: Environment) {
    let mut between = role("leave", 0);
    between.arg(name);
    if let Environment::Cleared = environment {
        between.env_clear();
    }
    assert!(between.status().unwrap().success());
}

/// Handles termination signals by setting a flag that is never read.
fn ignore_signals() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        signal_hook::flag::register(signal.as_raw(), Arc::default()).unwrap();
    }
}

fn stop_self() {
    kill_process(getpid(), Signal::STOP).unwrap();
}

/// Starts children that exit immediately and are never reaped.
fn leave_zombies() {
    for _ in 0..ZOMBIES {
        start(&mut role("nothing", 0));
    }
}

/// Restarts the head whenever it ends.
fn grow_heads(generation: u32) {
    for generation in generation..MAX_HEADS {
        let mut head = role("head", generation + 1);
        let mut head = head.stdin(Stdio::piped()).spawn().unwrap();
        // `wait` would close the pipe, whose end tells the head that the body has ended.
        let pipe = head.stdin.take();
        head.wait().unwrap();
        drop(pipe);
    }
}

/// Becomes the body when the body ends, which closes the pipe.
fn watch_body(generation: u32) {
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing).unwrap();
    grow_heads(generation);
}

fn write_repeatedly() {
    for number in 0..MAX_WRITES {
        #[expect(
            clippy::disallowed_methods,
            reason = "the test owns this file, and a careless write is the point"
        )]
        let _written: bool = std::fs::write("scribbled.txt", number.to_string()).is_ok();
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn stay_alive() {
    let begun = Instant::now();
    while let Some(left) = LIFETIME.checked_sub(begun.elapsed()) {
        std::thread::sleep(left);
    }
}
