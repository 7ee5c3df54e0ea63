//! Cargo as the tasks call it: run with its output streaming, and written so that a person can run it again.

use std::fmt;
use std::path::Path;

use ralph_process::command;

/// One call of cargo.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cargo<'a> {
    arguments: &'a str,
    environment: &'a [(&'a str, &'a str)],
}

impl<'a> Cargo<'a> {
    /// Cargo with these arguments, with spaces between them and in none of them.
    pub(crate) const fn new(arguments: &'a str) -> Self {
        Self {
            arguments,
            environment: &[],
        }
    }

    /// The same call with these variables set.
    ///
    /// Never `RUSTFLAGS`: a change of it between two steps builds everything anew.
    pub(crate) const fn with(self, environment: &'a [(&'a str, &'a str)]) -> Self {
        Self { environment, ..self }
    }

    /// Runs it in the root of the workspace and waits.
    pub(crate) fn run(&self, root: &Path) -> Result<(), String> {
        let status = command("cargo")
            .args(self.arguments.split_whitespace())
            .envs(self.environment.iter().copied())
            // A snapshot that differs fails its test; it is not written beside the old one.
            .env("INSTA_UPDATE", "no")
            .current_dir(root)
            .status()
            .map_err(|error| format!("cargo could not be started: {error}"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("`{self}` ended with {status}"))
        }
    }
}

impl fmt::Display for Cargo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.environment {
            write!(f, "{name}={value:?} ")?;
        }
        write!(f, "cargo {}", self.arguments)
    }
}

/// Whether cargo has this subcommand here.
pub(crate) fn has(subcommand: &str, root: &Path) -> bool {
    command("cargo")
        .args([subcommand, "--version"])
        .current_dir(root)
        .output()
        .is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_written_as_one_would_type_it() {
        let call = Cargo::new("doc --no-deps").with(&[("RUSTDOCFLAGS", "-D warnings")]);
        assert_eq!(call.to_string(), "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps");
    }

    #[test]
    fn a_subcommand_is_there_or_not() {
        let here = Path::new(".");
        assert!(has("fmt", here));
        assert!(!has("no-such-subcommand", here));
    }
}
