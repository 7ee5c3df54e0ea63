//! Counts the disk syncs of each step of an iteration, with strace.

use std::fs;

use ralph_process::command;

use super::loop_project::{AgentOutput, LoopProject, measure_run};
use crate::child::is_installed;

/// The system calls that sync, and those that create the files which separate the steps.
const CALLS: &str = "trace=fsync,fdatasync,openat";

/// A step of an iteration, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Until the transcript is created: the record that an agent is about to start, and its process.
    Start,
    /// Until the result is written: the end of the turn, the settlement.
    Turn,
    /// Until the next prompt is written: the outbox files of the settlement, and the next claim.
    Outbox,
}

impl Step {
    /// All steps, in order.
    pub(super) const ALL: [Self; 3] = [Self::Start, Self::Turn, Self::Outbox];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start => "start of the agent",
            Self::Turn => "end of its turn and settlement",
            Self::Outbox => "outbox and next claim",
        }
    }
}

/// The syncs of one iteration, with step and file.
pub(super) type Syncs = Vec<(Step, String)>;

/// Traces a short run and returns the syncs of an iteration in its middle, or none without strace.
pub(super) fn of_an_iteration(project: &LoopProject<'_>, output: AgentOutput) -> Result<Option<Syncs>, String> {
    if !is_installed("strace") {
        return Ok(None);
    }
    let run = project.run(ITERATIONS, output);
    let log = project.path(".ralph/strace.log");
    let mut strace = command("strace");
    strace
        .args(["-f", "-y", "-s", "0", "-e", CALLS, "-o"])
        .arg(&log)
        .arg("--")
        .arg(run.get_program())
        .args(run.get_args())
        .env_clear()
        .current_dir(project.path(""))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    for (name, value) in run.get_envs() {
        if let Some(value) = value {
            strace.env(name, value);
        }
    }
    measure_run(&mut strace)?;
    let text = fs::read_to_string(&log).map_err(|error| format!("cannot read the strace log: {error}"))?;
    Ok(Some(syncs(&text, MEASURED)))
}

/// How many iterations are traced.
const ITERATIONS: usize = 4;
/// Which iteration is measured.
const MEASURED: usize = 2;

/// The syncs of one iteration in a trace, from 1. A line is `PID call(FD<path>, …) = result`.
fn syncs(trace: &str, iteration: usize) -> Syncs {
    let (mut step, mut begun) = (Step::Outbox, 0);
    let mut found = Vec::new();
    for line in trace.lines() {
        let (_, call) = line.trim_start().split_once(' ').unwrap_or_default();
        let (verb, rest) = call.trim_start().split_once('(').unwrap_or_default();
        if verb == "openat" && rest.contains("O_CREAT") {
            let made = |name: &str| rest.contains(&format!("/{name}\""));
            if made("prompt.md") {
                begun += 1;
                step = Step::Start;
            } else if made("transcript.jsonl") {
                step = Step::Turn;
            } else if made("result.json") {
                step = Step::Outbox;
            }
        } else if matches!(verb, "fsync" | "fdatasync") && begun == iteration {
            let path = rest.split_once('<').and_then(|(_, path)| path.split_once('>'));
            let path = path.map(|(path, _)| path).unwrap_or_default();
            found.push((step, path.rsplit('/').next().unwrap_or(path).to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_are_assigned_to_steps() {
        let iteration = "\
7 fdatasync(6</p/.ralph/progress.db-wal>) = 0
7 openat(AT_FDCWD</p>, \"/p/.ralph/runs/r/001/prompt.md\", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 7</p/prompt.md>
7 fdatasync(6</p/.ralph/progress.db-wal>) = 0
9 openat(AT_FDCWD</p>, \"/p/.ralph/runs/r/001/prompt.md\", O_RDONLY) = 3</p/prompt.md>
7 openat(AT_FDCWD</p>, \"/p/.ralph/runs/r/001/transcript.jsonl\", O_WRONLY|O_CREAT, 0600) = 8</p/t>
7 fdatasync(6</p/.ralph/progress.db-wal>) = 0
7 fdatasync(6</p/.ralph/progress.db-wal>) = 0
7 openat(AT_FDCWD</p>, \"/p/.ralph/runs/r/001/result.json\", O_WRONLY|O_CREAT, 0600) = 8</p/t>
7 fsync(9</p/.ralph/knowledge>) = 0
";
        let trace = format!("7 fsync(5</p/.ralph/begin>) = 0\n{}", iteration.repeat(3));
        let log = |step| (step, "progress.db-wal".to_owned());
        let expected = vec![
            log(Step::Start),
            log(Step::Turn),
            log(Step::Turn),
            (Step::Outbox, "knowledge".to_owned()),
            log(Step::Outbox),
        ];
        assert_eq!(syncs(&trace, 2), expected);
        assert_eq!(syncs("", 2), []);
    }
}
