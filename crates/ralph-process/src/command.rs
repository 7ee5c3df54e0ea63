//! The only constructor for child process commands.

use std::ffi::OsStr;
use std::process::Command;

#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place that makes a Command")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}
