//! `cargo xtask`: the gate, generators, benchmarks and soak tests of this repository.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a developer tool that prints to the terminal"
)]

mod agents;
mod bench;
mod cargo;
mod check;
mod child;
mod dist;
mod flags;
mod generate;
mod programs;
mod random;
mod soak;
mod sys;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask <task>

  check          Run the whole gate, exactly as CI does; stops at the first failure
  check --agents Run real agents against a scripted model; installs 2 GB under target/ with npm
                 [--only AGENT,…] [--case CASE,…] [--update]
  tidy           Check module docs, crate layers, names and file sizes
  gen            Generate the reference pages under docs/ from the code
  gen --check    Fail if a reference page is out of date
  dist           Build a tarball, npm packages and a wheel under target/dist, and test each of them
  bench notes    Measure the memory commands against bare programs, as a table and JSON
                 [--quick] [--json FILE]
  bench loop     Measure the overhead of an iteration and its disk syncs, as a table and JSON
                 [--quick] [--knowledge] [--learnings] [--extract] [--live] [--json FILE]
  bench learnings  Measure queries over 100,000 learnings against one FTS5 query, as a table and JSON
                 [--quick] [--json FILE]
  bench recall   Measure recall against other search methods, one table per data set
                 --data DIR [--data DIR …] [--json FILE]
  bench secrets  Measure detected secrets and false positives, as tables and JSON
                 [--data DIR] [--seed N] [--json FILE]
  soak notes     Run the torture and grammar tests with full counts
                 [--seed N] [--writers N] [--mixed N] [--mixed-ops N] [--kills N] [--editor-saves N] [--cases N]
  soak merge     Merge random histories with git, with merge=union and with ralph
                 [--seed N] [--histories N] [--cases N]
  soak exchange  Flip every bit of legacy files, compare random JSON with node, and import concurrently
                 [--seed N] [--bits N] [--on-disk N] [--texts N] [--learners N]
  soak loop      Kill whole runs at any call and any moment, and run in four worktrees at once
                 [--seed N] [--kills N] [--tasks N]
  soak agents    Run hostile agents and check that they leave nothing; kill runs at every transition
                 [--seed N] [--agents N] [--bytes N] [--kills N]
  soak claude    Run the real Claude Code with `ralph setup claude`; installs 500 MB under target/ with npm
                 [--update]
  soak power     Shut a file system down under the memory commands; needs root and loop devices
                 [--seed N] [--rounds N] [--control-rounds N]
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one task. A new task needs an arm here, a line in [`HELP`] and a module.
fn run(words: &[&str]) -> Result<(), String> {
    match words {
        ["check"] => check::run(root()),
        ["check", "--agents", flags @ ..] => agents::run(root(), flags),
        ["tidy"] => tidy::run(root()),
        ["gen"] => generate::WRITE.run(root()),
        ["gen", "--check"] => generate::CHECK.run(root()),
        ["dist"] => dist::run(root()),
        ["bench", "notes", flags @ ..] => bench::notes(root(), flags),
        ["bench", "loop", flags @ ..] => bench::iterations(root(), flags),
        ["bench", "learnings", flags @ ..] => bench::learnings(root(), flags),
        ["bench", "recall", flags @ ..] => bench::recall(root(), flags),
        ["bench", "secrets", flags @ ..] => bench::secrets(flags),
        ["soak", "notes", flags @ ..] => soak::notes::run(root(), flags),
        ["soak", "merge", flags @ ..] => soak::merge::run(root(), flags),
        ["soak", "exchange", flags @ ..] => soak::exchange::run(root(), flags),
        ["soak", "loop", flags @ ..] => soak::loops::run(root(), flags),
        ["soak", "agents", flags @ ..] => soak::agents::run(root(), flags),
        ["soak", "claude", flags @ ..] => soak::claude::run(root(), flags),
        ["soak", "power", flags @ ..] => soak::power::run(root(), flags),
        [] | ["help" | "-h" | "--help"] => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("unknown task `{}`\n\n{HELP}", other.join(" "))),
    }
}

/// The workspace root.
fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_task_prints_the_help() {
        for words in [&["chek"][..], &["tidy", "--fast"], &["gen", "--chek"]] {
            let message = run(words).unwrap_err();
            let first = format!("unknown task `{}`\n", words.join(" "));
            assert!(message.starts_with(&first), "{message}");
            assert!(message.ends_with(HELP), "{message}");
        }
        assert_eq!(run(&["--help"]), Ok(()));
    }
}
