//! Child processes that do not outlive the task that started them.

use std::process::{Child, Command, ExitStatus};

use crate::sys::{self, Usage};

/// A running child, killed and reaped on drop.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let child = command
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", shown(command)))?;
        Ok(Self { child, ended: false })
    }

    pub(crate) fn wait(mut self) -> Result<(ExitStatus, Usage), String> {
        let answer = sys::wait(&self.child).map_err(|error| format!("cannot wait for a child: {error}"));
        self.ended = answer.is_ok();
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // The child may already have ended.
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Runs a child that must succeed, and returns its resource usage.
pub(crate) fn measure(command: &mut Command) -> Result<Usage, String> {
    let (status, usage) = Running::start(command)?.wait()?;
    if status.success() {
        Ok(usage)
    } else {
        Err(format!("{} failed: {status}", shown(command)))
    }
}

/// Runs a child that must succeed, and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot start {}: {error}", shown(command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let why = String::from_utf8_lossy(&output.stderr);
        Err(format!("{} failed: {}: {}", shown(command), output.status, why.trim()))
    }
}

/// Whether this program is on PATH.
pub(crate) fn is_installed(program: &str) -> bool {
    let asked = ralph_process::command("sh")
        .args(["-c", "command -v \"$0\"", program])
        .output();
    asked.is_ok_and(|output| output.status.success())
}

/// A command for messages.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_process::command;

    #[test]
    fn dropped_child_is_killed() {
        let running = Running::start(command("sleep").arg("1000")).unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}", running.child.id()));
        drop(running);
        assert!(!process.exists());
    }

    #[test]
    fn usage_of_a_child_is_measured() {
        let usage = measure(&mut command("true")).unwrap();
        assert!(usage.peak_bytes > 100_000, "{usage:?}");
        let (status, _) = Running::start(command("sh").args(["-c", "exit 3"]))
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(status.code(), Some(3));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn own_processor_time_excludes_grandchildren() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let inside = measure(command("sh").args(["-c", &format!("({busy}) & wait")])).unwrap();
        assert!(inside.own_processor * 2 < inside.processor, "{inside:?}");
        let itself = measure(command("sh").args(["-c", busy])).unwrap();
        assert!(itself.own_processor * 2 > itself.processor, "{itself:?}");
    }

    #[test]
    fn errors_name_the_command() {
        let failing = &["-c", "echo no >&2; exit 3"];
        let message = measure(command("sh").args(&failing[..1]).arg("exit 3")).unwrap_err();
        assert_eq!(message, "`sh -c exit 3` failed: exit status: 3");
        let message = output(command("sh").args(failing)).unwrap_err();
        assert_eq!(message, "`sh -c echo no >&2; exit 3` failed: exit status: 3: no");
        assert_eq!(output(command("echo").arg("yes")), Ok("yes".to_owned()));
        assert!(is_installed("sh") && !is_installed("no-such-program"));
    }
}
