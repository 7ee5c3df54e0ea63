//! The gate: every step that CI runs, stopping at the first failure.

use std::path::Path;
use std::time::Instant;

use crate::cargo::{self, Cargo};
use crate::{generate, tidy};

pub(crate) fn run(root: &Path) -> Result<(), String> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !cargo::has(subcommand, root) {
            return Err(format!(
                "{component} is missing; install it with `rustup component add {component}`"
            ));
        }
    }
    let tests = if cargo::has("nextest", root) { NEXTEST } else { TEST };
    run_steps(root, &steps(tests))
}

const FMT: Cargo<'_> = Cargo::new("fmt --all --check");
const CLIPPY: Cargo<'_> = Cargo::new("clippy --workspace --all-targets --locked -- -D warnings");
const NEXTEST: Cargo<'_> = Cargo::new("nextest run --workspace --locked");
const TEST: Cargo<'_> = Cargo::new("test --workspace --locked --lib --bins --tests --examples");
const DOCTEST: Cargo<'_> = Cargo::new("test --workspace --doc --locked");
const RUSTDOC: Cargo<'_> =
    Cargo::new("doc --workspace --no-deps --locked --document-private-items").with(&[("RUSTDOCFLAGS", "-D warnings")]);

struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    Cargo(Cargo<'static>),
    Tidy,
}

impl Work {
    fn run(&self, root: &Path) -> Result<(), String> {
        match self {
            Self::Cargo(call) => call.run(root),
            Self::Tidy => tidy::run(root),
        }
    }

    /// The command that runs this step alone.
    fn command(&self) -> String {
        match self {
            Self::Cargo(call) => call.to_string(),
            Self::Tidy => "cargo xtask tidy".to_owned(),
        }
    }
}

/// The steps, quick ones first. `gen` runs after the tests, which have built the example it uses.
fn steps(tests: Cargo<'static>) -> [Step; 7] {
    let step = |name, call| Step {
        name,
        work: Work::Cargo(call),
    };
    [
        step("fmt", FMT),
        Step {
            name: "tidy",
            work: Work::Tidy,
        },
        step("clippy", CLIPPY),
        step("tests", tests),
        step("gen", generate::CHECK),
        step("doctests", DOCTEST),
        step("rustdoc", RUSTDOC),
    ]
}

fn run_steps(root: &Path, steps: &[Step]) -> Result<(), String> {
    let gate = Instant::now();
    for (number, Step { name, work }) in (1..).zip(steps) {
        println!("check {number}/{}: {name}: {}", steps.len(), work.command());
        let start = Instant::now();
        let result = work.run(root);
        let seconds = start.elapsed().as_secs_f64();
        if let Err(why) = result {
            return Err(format!(
                "check failed at {name} after {seconds:.1} s: {why}\nRun it again with: {}",
                work.command()
            ));
        }
        println!("check {number}/{}: {name}: passed in {seconds:.1} s", steps.len());
    }
    println!("check passed in {:.1} s", gate.elapsed().as_secs_f64());
    // In the form of a test runner's summary, for readers of the last line; doctests print none.
    println!("steps: {} passed, 0 failed", steps.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &'static str, arguments: &'static str) -> Step {
        Step {
            name,
            work: Work::Cargo(Cargo::new(arguments)),
        }
    }

    #[test]
    fn gate_stops_at_the_first_failure_with_a_rerun_command() {
        let steps = [
            call("good", "--version"),
            call("bad", "--no-such-flag"),
            call("never", "--nor-this-one"),
        ];
        let message = run_steps(Path::new("."), &steps).unwrap_err();
        assert!(message.starts_with("check failed at bad after "), "{message}");
        assert!(
            message.ends_with("\nRun it again with: cargo --no-such-flag"),
            "{message}"
        );
    }

    #[test]
    fn gate_without_failures_passes() {
        let steps = [call("good", "--version")];
        assert_eq!(run_steps(Path::new("."), &steps), Ok(()));
    }
}
