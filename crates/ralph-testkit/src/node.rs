//! Runs JavaScript with node, to check our output against the program it imitates.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Stdio;

/// The output of a script for this input. None, with a message, if node is not installed.
///
/// # Panics
/// When the script fails.
#[must_use]
#[track_caller]
pub fn node(script: &Path, arguments: &[&str], input: &str) -> Option<String> {
    let mut command = ralph_process::command("node");
    command.arg(script).args(arguments);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            #[expect(clippy::print_stderr, reason = "the log should show what was not checked")]
            {
                eprintln!("node is not on PATH: {} was not run", script.display());
            }
            return None;
        }
        Err(error) => panic!("node: {error}"),
    };
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).is_ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{} fails", script.display());
    Some(String::from_utf8(output.stdout).unwrap())
}
