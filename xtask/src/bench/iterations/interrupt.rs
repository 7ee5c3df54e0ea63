//! How long a person waits for the prompt after Ctrl+C, when the agent hears nothing and has started others that do not.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::workplace::PROGRAMS;
use crate::child::Running;
use crate::programs::Programs;

/// Leaves a process in a session of its own, interrupts the run, which is its parent, and ignores what comes of it.
const DEAF_AGENT: &str = r#"
trap '' TERM INT HUP
setsid sh -c "trap '' TERM INT HUP; while :; do sleep 600; done" &
: > asked
kill -INT $PPID
while :; do sleep 600; done
"#;
/// The exit code of a run that was interrupted.
const INTERRUPTED: i32 = 130;

/// From the signal to the end of the run.
pub(super) fn time_to_the_prompt(programs: &Programs) -> Result<Duration, String> {
    let failed = |error: std::io::Error| format!("cannot make a project: {error}");
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
        return Err(format!("a run that was interrupted ended with {status}"));
    }
    let (asked, ended) = (written(&path("asked"))?, written(&path("ended"))?);
    Ok(ended.duration_since(asked).unwrap_or_default())
}

/// The file system's clock tells both moments.
fn written(file: &Path) -> Result<SystemTime, String> {
    fs::metadata(file)
        .and_then(|metadata| metadata.modified())
        .map_err(|error| format!("cannot tell when {} was written: {error}", file.display()))
}
