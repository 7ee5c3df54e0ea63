//! What a hostile agent does to stay: processes that nobody is meant to find, and an agent that does not hear.
//!
//! Each of those processes is this program again, called with [`FLAG`]; all stand in the folder that the agent was started
//! in, which is how a test finds those that were forgotten. None lives longer than [`LIFE`].

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

/// The first argument of such a process.
pub(super) const FLAG: &str = "--misdeed";
/// How long one lives that nobody ends.
const LIFE: Duration = Duration::from_secs(300);
/// How often one that was killed is started again.
const MOST_HEADS: u32 = 60;
/// How many processes one after the other run away.
const MOST_HOPS: u32 = 150;
/// How many children end and are not asked how.
const ZOMBIES: usize = 5;
/// How often a file is written.
const MOST_SCRIBBLES: usize = 10_000;

/// Something that only an agent does that means harm, or has great faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misdeed {
    /// Leaves a process in a session of its own whose parent is gone, which holds the agent's output and ignores all requests.
    Daemon,
    /// Leaves one whose environment is empty.
    Stranger,
    /// Leaves one that has become a program of another name.
    Disguise,
    /// Leaves one that is stopped.
    Frozen,
    /// Leaves children that have ended, of its own and of a daemon's.
    Zombies,
    /// Leaves two of which each starts the other again.
    Hydra,
    /// Leaves one that starts itself anew and exits, again and again.
    Runaway,
    /// Leaves one that writes a file again and again.
    Scribbler,
    /// Does not hear any request to end from now on.
    Deafness,
    /// Closes its output, and stays.
    Silence,
    /// Stops itself.
    Faint,
}

impl Misdeed {
    /// Those after which the agent goes on.
    const ON_THE_WAY: [Self; 9] = [
        Self::Daemon,
        Self::Stranger,
        Self::Disguise,
        Self::Frozen,
        Self::Zombies,
        Self::Hydra,
        Self::Runaway,
        Self::Scribbler,
        Self::Deafness,
    ];

    /// Does it, as an agent.
    pub(super) fn commit(self) {
        match self {
            Self::Daemon => leave("daemon", Environment::Kept),
            Self::Stranger => leave("daemon", Environment::Cleared),
            Self::Disguise => leave("disguise", Environment::Cleared),
            Self::Frozen => leave("frozen", Environment::Kept),
            Self::Zombies => {
                forget_children();
                leave("zombies", Environment::Kept);
            }
            Self::Hydra => leave("hydra", Environment::Kept),
            Self::Runaway => leave("runaway", Environment::Kept),
            Self::Scribbler => leave("scribbler", Environment::Kept),
            Self::Deafness => be_deaf(),
            Self::Silence => {
                let quiet = role("daemon", 0).stdout(Stdio::null()).stderr(Stdio::null()).exec();
                panic!("cannot become another program: {quiet}");
            }
            Self::Faint => stop_itself(),
        }
    }
}

/// What an agent of a seed does in a turn: some misdeeds and much noise, and then it ends in one way or another, or does not.
/// No output is longer than so many bytes.
#[must_use]
pub fn hostile_turn(seed: &mut Seed, bytes: usize) -> Vec<Action> {
    let mut actions = vec![say("I begin.")];
    for _ in 0..1 + seed.below(3) {
        let misdeed = Misdeed::ON_THE_WAY[seed.below(Misdeed::ON_THE_WAY.len())];
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
        7 => actions.extend([misbehave(Misdeed::Deafness), hang()]),
        8 => actions.push(misbehave(Misdeed::Silence)),
        _ => actions.extend([misbehave(Misdeed::Faint), hang()]),
    }
    actions
}

/// The processes that stand in a folder, whatever they call themselves.
#[must_use]
pub fn left_in(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let stands_there = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    pids.filter(stands_there).collect()
}

/// Plays a part of a misdeed, and does not return.
pub(super) fn play(mut arguments: impl Iterator<Item = String>) -> ! {
    let part = arguments.next().expect("a part");
    let generation: u32 = arguments.next().expect("a generation").parse().expect("a number");
    if part == "leave" {
        start(&mut role(&arguments.next().expect("a part to leave"), generation));
        end_with(0);
    }
    be_deaf();
    // The first of a session cannot begin another; it has one.
    let _own_session: bool = setsid().is_ok();
    match part.as_str() {
        "disguise" => {
            let failed = role("daemon", 0).arg0("[kworker/0:1]").exec();
            panic!("cannot become another program: {failed}");
        }
        "frozen" => stop_itself(),
        "zombies" => forget_children(),
        "hydra" => grow_heads(generation),
        "head" => watch_the_body(generation),
        "runaway" if generation < MOST_HOPS => {
            start(&mut role("runaway", generation + 1));
            end_with(0);
        }
        "runaway" | "nothing" => end_with(0),
        "scribbler" => scribble(),
        _ => {}
    }
    live_on();
    end_with(0)
}

/// This program in a part of a misdeed.
fn role(part: &str, generation: u32) -> Command {
    let mut command = ralph_process::command(std::env::current_exe().unwrap());
    command.args([FLAG, part, &generation.to_string()]).stdin(Stdio::null());
    command
}

/// Starts a process, and does not ask what becomes of it.
fn start(command: &mut Command) {
    drop(command.spawn().unwrap());
}

/// Whether a process keeps what it was told by its environment.
#[derive(Clone, Copy)]
enum Environment {
    Kept,
    Cleared,
}

/// Starts a part by way of a process that does nothing else, so that its parent is gone.
fn leave(part: &str, environment: Environment) {
    let mut between = role("leave", 0);
    between.arg(part);
    if let Environment::Cleared = environment {
        between.env_clear();
    }
    assert!(between.status().unwrap().success());
}

/// From now on a request to end changes nothing but a flag at which nobody looks.
fn be_deaf() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        signal_hook::flag::register(signal.as_raw(), Arc::default()).unwrap();
    }
}

fn stop_itself() {
    kill_process(getpid(), Signal::STOP).unwrap();
}

/// Children that end at once; nobody asks how.
fn forget_children() {
    for _ in 0..ZOMBIES {
        start(&mut role("nothing", 0));
    }
}

/// Starts a head whenever there is none.
fn grow_heads(generation: u32) {
    for generation in generation..MOST_HEADS {
        let mut head = role("head", generation + 1);
        let mut head = head.stdin(Stdio::piped()).spawn().unwrap();
        // Waiting would close the pipe, by whose end the head is told that the body is gone.
        let pipe = head.stdin.take();
        head.wait().unwrap();
        drop(pipe);
    }
}

/// Becomes a body when the body is gone: then nobody holds the other end of the pipe.
fn watch_the_body(generation: u32) {
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing).unwrap();
    grow_heads(generation);
}

fn scribble() {
    for number in 0..MOST_SCRIBBLES {
        #[expect(
            clippy::disallowed_methods,
            reason = "a file of the test's own, and carelessness is the point"
        )]
        let _written: bool = std::fs::write("scribbled.txt", number.to_string()).is_ok();
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn live_on() {
    let begun = Instant::now();
    while let Some(left) = LIFE.checked_sub(begun.elapsed()) {
        std::thread::sleep(left);
    }
}
