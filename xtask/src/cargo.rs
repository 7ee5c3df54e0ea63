//! Cargo calls that stream their output and can be printed for a person to run again.

use std::fmt;
use std::path::Path;

use ralph_process::command;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cargo<'a> {
    arguments: &'a str,
    environment: &'a [(&'a str, &'a str)],
}

impl<'a> Cargo<'a> {
    /// Cargo with these space-separated arguments, none of which contains a space.
    pub(crate) const fn new(arguments: &'a str) -> Self {
        Self {
            arguments,
            environment: &[],
        }
    }

    /// Sets these variables. Never use `RUSTFLAGS`: changing it between two steps rebuilds everything.
    pub(crate) const fn with(self, environment: &'a [(&'a str, &'a str)]) -> Self {
        Self { environment, ..self }
    }

    /// Runs in the workspace root and waits.
    pub(crate) fn run(&self, root: &Path) -> Result<(), String> {
        let status = command("cargo")
            .args(self.arguments.split_whitespace())
            .envs(self.environment.iter().copied())
            // A changed snapshot fails its test instead of writing a new file.
            .env("INSTA_UPDATE", "no")
            .current_dir(root)
            .status()
            .map_err(|error| format!("cannot start cargo: {error}"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("`{self}` failed: {status}"))
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

/// Whether this cargo subcommand is installed.
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
    fn call_is_displayed_as_typed() {
        let call = Cargo::new("doc --no-deps").with(&[("RUSTDOCFLAGS", "-D warnings")]);
        assert_eq!(call.to_string(), "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps");
    }

    #[test]
    fn subcommands_are_detected() {
        let here = Path::new(".");
        assert!(has("fmt", here));
        assert!(!has("no-such-subcommand", here));
    }
}
