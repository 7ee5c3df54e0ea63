//! Many writers at once: how much longer the last one waits than the one in the middle.

use std::io::{PipeReader, PipeWriter, Read, pipe};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ralph_process::command;

use super::project::Project;
use crate::child::Running;

/// How many write at once.
pub(super) const WRITERS: usize = 32;
/// Each says that it is ready, waits for the gate to open, and becomes the command.
const WAIT_AT_THE_GATE: &str = "echo; read gate; exec \"$0\" \"$@\" >/dev/null 2>&1";

/// How the wall times of one race are spread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Race {
    /// The slowest writer's.
    pub(super) slowest: Duration,
    /// The median writer's.
    pub(super) median: Duration,
}

impl Race {
    /// How many times as long as the median the slowest took.
    pub(super) fn ratio(&self) -> f64 {
        self.slowest.as_secs_f64() / self.median.as_secs_f64()
    }
}

/// Lets all writers go at the same moment and times each from then to its end.
pub(super) fn race(project: &Project<'_>) -> Result<Race, String> {
    let failed = |error: std::io::Error| format!("cannot make a pipe: {error}");
    let (gate, opener) = pipe().map_err(failed)?;
    let (mut ready, tell) = pipe().map_err(failed)?;
    let writers = start(project, &gate, &tell)?;
    // Only the writers hold these ends now, so that the end of one that fails is noticed.
    drop((gate, tell));
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
        waits.into_iter().map(ended).collect::<Result<Vec<_>, String>>()
    })?;
    times.sort_unstable();
    match (times.get(WRITERS / 2), times.last()) {
        (Some(&median), Some(&slowest)) => Ok(Race { slowest, median }),
        _ => Err("nobody wrote".to_owned()),
    }
}

type Wait<'scope> = std::thread::ScopedJoinHandle<'scope, Result<(std::process::ExitStatus, Duration), String>>;

fn ended(wait: Wait<'_>) -> Result<Duration, String> {
    let Ok(answer) = wait.join() else {
        return Err("a thread that waits for a writer panicked".to_owned());
    };
    let (status, time) = answer?;
    if status.success() {
        Ok(time)
    } else {
        Err(format!("one of {WRITERS} writers at once ended with {status}"))
    }
}

/// Starts the writers, which share these ends of the pipes.
fn start(project: &Project<'_>, gate: &PipeReader, tell: &PipeWriter) -> Result<Vec<Running>, String> {
    let shared = |error: std::io::Error| format!("cannot share a pipe: {error}");
    let mut writers = Vec::with_capacity(WRITERS);
    for number in 0..WRITERS {
        let add = project.add(number);
        let mut shell = command("sh");
        shell
            .args(["-c", WAIT_AT_THE_GATE])
            .arg(add.get_program())
            .args(add.get_args())
            .env_clear()
            .current_dir(project.path(""))
            .stdin(Stdio::from(gate.try_clone().map_err(shared)?))
            .stdout(Stdio::from(tell.try_clone().map_err(shared)?));
        writers.push(Running::start(&mut shell)?);
    }
    Ok(writers)
}
