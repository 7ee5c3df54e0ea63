//! Runs the gates, one after the other, under the same supervision as an agent.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ralph_memory::capture::clean;
use ralph_process::{HowEnded, RunLimits, Spec, StopHandle, run_to_end};

use super::{GateEnd, GateResult};

/// The most that is kept of what a gate prints, in characters.
const OUTPUT_CHARACTERS: usize = 64 * 1024;

/// The gates of a run, and where they are run.
#[derive(Debug, Clone)]
pub(crate) struct GateRunner {
    pub(crate) commands: Vec<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) marker: String,
}

impl GateRunner {
    /// Runs them all: a person wants to know of every one. One that is broken off ends it.
    pub(crate) fn run(&self, stop: &StopHandle, mut tell: impl FnMut(&GateResult)) -> Vec<GateResult> {
        let mut results = Vec::new();
        for command in &self.commands {
            let result = self.run_one(command, stop);
            tell(&result);
            let stopped = result.end == GateEnd::Stopped;
            results.push(result);
            if stopped {
                break;
            }
        }
        results
    }

    fn run_one(&self, command: &str, stop: &StopHandle) -> GateResult {
        let spec = Spec {
            program: "sh".into(),
            arguments: vec!["-c".into(), command.into()],
            folder: self.folder.clone(),
            environment: self.environment.clone(),
            stdin: Vec::new(),
            marker: self.marker.clone(),
            output_limit: None,
        };
        let limits = RunLimits {
            time: self.timeout,
            ..RunLimits::default()
        };
        let (end, output, duration) = match run_to_end(spec, limits, stop) {
            Ok(finished) => (end_of(finished.how), finished.output, finished.duration),
            Err(error) => (
                GateEnd::Failed("not started".to_owned()),
                format!("sh could not be started: {error}"),
                Duration::ZERO,
            ),
        };
        GateResult {
            command: command.to_owned(),
            end,
            output: clean(&output, OUTPUT_CHARACTERS),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

fn end_of(how: HowEnded) -> GateEnd {
    match how {
        HowEnded::Exited(0) => GateEnd::Passed,
        HowEnded::Exited(code) => GateEnd::Failed(format!("exit code {code}")),
        HowEnded::Signalled(signal) => GateEnd::Failed(format!("signal {signal}")),
        HowEnded::OutputLimit => GateEnd::Failed("it printed too much".to_owned()),
        HowEnded::TimedOut => GateEnd::TimedOut,
        HowEnded::Stopped => GateEnd::Stopped,
    }
}
