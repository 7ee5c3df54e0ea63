//! Concurrent writers: how much longer the slowest waits than the median.

use std::io::{PipeReader, PipeWriter, Read, pipe};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ralph_process::command;

use super::project::Project;
use crate::child::Running;

/// The number of concurrent writers.
pub(super) const WRITERS: usize = 32;
/// Each writer signals that it is ready, waits for the gate to open, and execs the command.
const WAIT_FOR_GATE: &str = "echo; read gate; exec \"$0\" \"$@\" >/dev/null 2>&1";

/// The wall times of one race.
#[derive(Debug, Clone, Copy)]
pub(super) struct Race {
    pub(super) slowest: Duration,
    pub(super) median: Duration,
}

impl Race {
    /// The time of the slowest writer, relative to the median.
    pub(super) fn ratio(&self) -> f64 {
        self.slowest.as_secs_f64() / self.median.as_secs_f64()
    }
}

/// Starts all writers at the same moment and times each.
pub(super) fn race(project: &Project<'_>) -> Result<Race, String> {
    let failed = |error: std::io::Error| format!("cannot create a pipe: {error}");
    let (gate, opener) = pipe().map_err(failed)?;
    let (mut ready, ready_writer) = pipe().map_err(failed)?;
    let writers = start(project, &gate, &ready_writer)?;
    // Leave these ends to the writers, so that a failing writer is noticed.
    drop((gate, ready_writer));
    let mut lines = [0; WRITERS];
    ready
        .read_exact(&mut lines)
        .map_err(|error| format!("a writer did not start: {error}"))?;
    let begin = Instant::now();
    drop(opener);
    let mut times = std::thread::scope(|scope| {
        let waits: Vec<_> = writers
            .into_iter()
            .map(|writer| scope.spawn(move || writer.wait().map(|(status, _)| (status, begin.elapsed()))))
            .collect();
        waits.into_iter().map(join).collect::<Result<Vec<_>, String>>()
    })?;
    times.sort_unstable();
    match (times.get(WRITERS / 2), times.last()) {
        (Some(&median), Some(&slowest)) => Ok(Race { slowest, median }),
        _ => Err("there were no writers".to_owned()),
    }
}

type Wait<'scope> = std::thread::ScopedJoinHandle<'scope, Result<(std::process::ExitStatus, Duration), String>>;

fn join(wait: Wait<'_>) -> Result<Duration, String> {
    let Ok(answer) = wait.join() else {
        return Err("a thread that waits for a writer panicked".to_owned());
    };
    let (status, time) = answer?;
    if status.success() {
        Ok(time)
    } else {
        Err(format!("one of {WRITERS} concurrent writers failed: {status}"))
    }
}

/// Starts the writers, which share the ends of both pipes.
fn start(project: &Project<'_>, gate: &PipeReader, ready_writer: &PipeWriter) -> Result<Vec<Running>, String> {
    let shared = |error: std::io::Error| format!("cannot share a pipe: {error}");
    let mut writers = Vec::with_capacity(WRITERS);
    for number in 0..WRITERS {
        let add = project.add(number);
        let mut shell = command("sh");
        shell
            .args(["-c", WAIT_FOR_GATE])
            .arg(add.get_program())
            .args(add.get_args())
            .env_clear()
            .current_dir(project.path(""))
            .stdin(Stdio::from(gate.try_clone().map_err(shared)?))
            .stdout(Stdio::from(ready_writer.try_clone().map_err(shared)?));
        writers.push(Running::start(&mut shell)?);
    }
    Ok(writers)
}
