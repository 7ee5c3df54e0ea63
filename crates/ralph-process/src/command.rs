//! The door through which every child process goes.

use std::ffi::OsStr;
use std::process::Command;

/// A command that runs this program. Nothing is started before its caller says so.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place that makes a Command")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}
