//! The time from Ctrl+C to the shell prompt, with an agent and a child process that ignore signals.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::loop_project::PROGRAMS;
use crate::child::Running;
use crate::programs::Programs;

/// Leaves a process in its own session, interrupts the run, which is its parent, and ignores signals.
const DEAF_AGENT: &str = r#"
trap '' TERM INT HUP
setsid sh -c "trap '' TERM INT HUP; while :; do sleep 600; done" &
: > asked
kill -INT $PPID
while :; do sleep 600; done
"#;
/// The exit code of an interrupted run.
const INTERRUPTED: i32 = 130;

/// The time from the signal to the end of the run.
pub(super) fn time_to_prompt(programs: &Programs) -> Result<Duration, String> {
    let failed = |error: std::io::Error| format!("cannot create a project: {error}");
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path(".ralph")).map_err(failed)?;
    fs::create_dir(path("home")).map_err(failed)?;
    File::create(path("agent.sh"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, DEAF_AGENT.as_bytes()))
        .map_err(failed)?;
    let mut run = programs.ralph(folder.path());
    run.args(["run", "--agent", "sh agent.sh", "Wait for ever"])
        .env("PATH", PROGRAMS)
        .env("HOME", path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (status, _) = Running::start(&mut run)?.wait()?;
    File::create(path("ended")).map_err(failed)?;
    if status.code() != Some(INTERRUPTED) {
        return Err(format!("an interrupted run failed: {status}"));
    }
    let (asked, ended) = (modified_at(&path("asked"))?, modified_at(&path("ended"))?);
    Ok(ended.duration_since(asked).unwrap_or_default())
}

/// The modification time of a file, so that both times come from the file system's clock.
fn modified_at(file: &Path) -> Result<SystemTime, String> {
    fs::metadata(file)
        .and_then(|metadata| metadata.modified())
        .map_err(|error| format!("cannot read the time of {}: {error}", file.display()))
}
