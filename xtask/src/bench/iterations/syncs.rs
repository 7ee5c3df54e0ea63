//! How often an iteration waits for the disk, and for which of its steps, as strace sees it.

use std::fs;

use ralph_process::command;

use super::workplace::{Leaves, Workplace, measure_run};
use crate::child::is_installed;

/// The calls that wait for the disk, and those by which the files of an iteration are made, which tell its steps apart.
const CALLS: &str = "trace=fsync,fdatasync,openat";

/// A step of an iteration, as far as it can be seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Until the prompt is written: the claim.
    Claim,
    /// Until the agent's first words are written down: the record that an agent is about to start.
    Start,
    /// Until the result is written: the agent's process, the end of its turn, the settlement.
    Turn,
    /// Until the next claim: the files that the settlement wants written.
    Outbox,
}

impl Step {
    /// All of them, in their order.
    pub(super) const ALL: [Self; 4] = [Self::Claim, Self::Start, Self::Turn, Self::Outbox];

    /// What its syncs are for.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Start => "start",
            Self::Turn => "end of turn and settlement",
            Self::Outbox => "outbox",
        }
    }
}

/// The syncs of one iteration, by the step that they belong to, with the file.
pub(super) type Syncs = Vec<(Step, String)>;

/// Traces a run of two iterations, and takes the second, which neither the beginning of the run nor its end disturbs much.
/// Nothing where there is no strace.
pub(super) fn of_an_iteration(place: &Workplace<'_>, leaves: Leaves) -> Result<Option<Syncs>, String> {
    if !is_installed("strace") {
        return Ok(None);
    }
    let run = place.run(ITERATIONS, leaves);
    let log = place.path(".ralph/strace.log");
    let mut strace = command("strace");
    strace
        .args(["-f", "-y", "-s", "0", "-e", CALLS, "-o"])
        .arg(&log)
        .arg("--")
        .arg(run.get_program())
        .args(run.get_args())
        .env_clear()
        .current_dir(place.path(""))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    for (name, value) in run.get_envs() {
        if let Some(value) = value {
            strace.env(name, value);
        }
    }
    measure_run(&mut strace)?;
    let text = fs::read_to_string(&log).map_err(|error| format!("cannot read what strace wrote: {error}"))?;
    Ok(Some(syncs(&text, MEASURED)))
}

/// So many iterations are traced …
const ITERATIONS: usize = 4;
/// … and this one is looked at.
const MEASURED: usize = 2;

/// The syncs of one iteration of a trace, from 1. A line is `PID call(FD<path>, …) = result`.
fn syncs(trace: &str, iteration: usize) -> Syncs {
    // The first claim is found with what a run does before: its second iteration begins where the first is settled.
    let (mut step, mut settled) = (Step::Claim, 0);
    let mut found = Vec::new();
    for line in trace.lines() {
        let (_, call) = line.trim_start().split_once(' ').unwrap_or_default();
        let (verb, rest) = call.trim_start().split_once('(').unwrap_or_default();
        if verb == "openat" && rest.contains("O_CREAT") {
            let made = |name: &str| rest.contains(&format!("/{name}\""));
            step = match step {
                _ if made("prompt.md") => Step::Start,
                Step::Start if made("transcript.jsonl") => Step::Turn,
                Step::Turn if made("result.json") => {
                    settled += 1;
                    Step::Outbox
                }
                step => step,
            };
        } else if matches!(verb, "fsync" | "fdatasync") {
            let path = rest.split_once('<').and_then(|(_, path)| path.split_once('>'));
            let path = path.map(|(path, _)| path).unwrap_or_default();
            found.push((settled, step, path.rsplit('/').next().unwrap_or(path).to_owned()));
        }
    }
    named(&found, iteration)
}

/// Between a settlement and the next prompt stand the outbox and the next claim, which is the last sync before the prompt.
fn named(found: &[(usize, Step, String)], iteration: usize) -> Syncs {
    let in_step = |settled: usize, step: Step| {
        let of_step = found.iter().filter(move |(at, of, _)| (*at, *of) == (settled, step));
        of_step.map(|(_, _, file)| file.clone()).collect::<Vec<_>>()
    };
    let claim = in_step(iteration - 1, Step::Outbox).into_iter().next_back();
    let mut outbox = in_step(iteration, Step::Outbox);
    outbox.pop();
    let all = [
        (Step::Claim, claim.into_iter().collect()),
        (Step::Start, in_step(iteration - 1, Step::Start)),
        (Step::Turn, in_step(iteration - 1, Step::Turn)),
        (Step::Outbox, outbox),
    ];
    all.into_iter()
        .flat_map(|(step, files)| files.into_iter().map(move |file| (step, file)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_belong_to_the_step_before_the_file_that_ends_it() {
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
            log(Step::Claim),
            log(Step::Start),
            log(Step::Turn),
            log(Step::Turn),
            (Step::Outbox, "knowledge".to_owned()),
        ];
        assert_eq!(syncs(&trace, 2), expected);
        assert_eq!(syncs("", 2), []);
    }
}
