//! A child process that does not outlive the task that started it.

use std::process::{Child, Command, ExitStatus};

use crate::sys::{self, Usage};

/// A running child; it is killed and waited for when this value is dropped before it ended.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    /// Starts a child.
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let child = command
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", shown(command)))?;
        Ok(Self { child, ended: false })
    }

    /// Waits until it ends.
    pub(crate) fn wait(mut self) -> Result<(ExitStatus, Usage), String> {
        let answer = sys::wait(&self.child).map_err(|error| format!("cannot wait for a child: {error}"));
        self.ended = answer.is_ok();
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // It may have ended by itself meanwhile; either way it is gone after the wait.
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Runs a child that must succeed, and says what it used.
pub(crate) fn measure(command: &mut Command) -> Result<Usage, String> {
    let (status, usage) = Running::start(command)?.wait()?;
    if status.success() {
        Ok(usage)
    } else {
        Err(format!("{} ended with {status}", shown(command)))
    }
}

/// Runs a child that must succeed, and gives what it wrote to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{} could not be started: {error}", shown(command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let why = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "{} ended with {}: {}",
            shown(command),
            output.status,
            why.trim()
        ))
    }
}

/// Whether a program of this name is to be found.
pub(crate) fn is_installed(program: &str) -> bool {
    let asked = ralph_process::command("sh")
        .args(["-c", "command -v \"$0\"", program])
        .output();
    asked.is_ok_and(|output| output.status.success())
}

/// A command as a person reads it.
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
    fn a_child_that_is_not_waited_for_is_gone_all_the_same() {
        let running = Running::start(command("sleep").arg("1000")).unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}", running.child.id()));
        drop(running);
        assert!(!process.exists());
    }

    #[test]
    fn what_a_child_used_is_known() {
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
    fn what_a_childs_children_used_is_told_apart() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let inside = measure(command("sh").args(["-c", &format!("({busy}) & wait")])).unwrap();
        assert!(inside.own_processor * 2 < inside.processor, "{inside:?}");
        let itself = measure(command("sh").args(["-c", busy])).unwrap();
        assert!(itself.own_processor * 2 > itself.processor, "{itself:?}");
    }

    #[test]
    fn a_failure_is_told_with_its_command() {
        let failing = &["-c", "echo no >&2; exit 3"];
        let message = measure(command("sh").args(&failing[..1]).arg("exit 3")).unwrap_err();
        assert_eq!(message, "`sh -c exit 3` ended with exit status: 3");
        let message = output(command("sh").args(failing)).unwrap_err();
        assert_eq!(message, "`sh -c echo no >&2; exit 3` ended with exit status: 3: no");
        assert_eq!(output(command("echo").arg("yes")), Ok("yes".to_owned()));
        assert!(is_installed("sh") && !is_installed("no-such-program"));
    }
}
