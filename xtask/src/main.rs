//! `cargo xtask`: the gate, the generators, and what else is work on this repository rather than work of ralph.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a tool at the terminal of a developer; it has no other output"
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

  check          The whole gate, exactly what CI runs; stops at the first failure
  check --agents The real agents against a scripted model, whole runs of them; installs them under target/, 2 GB, by npm
                 [--only AGENT,…] [--case CASE,…] [--update]
  tidy           What the compiler does not see: module docs, directions of crates, names, sizes
  gen            Writes the reference pages under docs/ from the code
  gen --check    Fails when one of those pages is not what the code says
  dist           What users install, under target/dist: a tarball, npm packages and a wheel, each installed and tried
  bench notes    What the memory commands cost beside bare programs: a table and JSON
                 [--quick] [--json FILE]
  bench loop     What the loop itself costs an iteration, and how often it waits for the disk: a table and JSON
                 [--quick] [--knowledge] [--learnings] [--extract] [--live] [--json FILE]
  bench learnings  What it costs to find a few lessons among 100,000, beside one query of FTS5, and to look at all: a table and JSON
                 [--quick] [--json FILE]
  bench recall   How well recall finds what it should, beside other ways to search: a table a set
                 --data DIR [--data DIR …] [--json FILE]
  bench secrets  How many secrets are found, and how much ordinary text is taken for one: tables and JSON
                 [--data DIR] [--seed N] [--json FILE]
  soak notes     The long runs of the torture and grammar tests
                 [--seed N] [--writers N] [--mixed N] [--mixed-ops N] [--kills N] [--editor-saves N] [--cases N]
  soak merge     Random histories of two branches, merged by git, by merge=union and by ralph
                 [--seed N] [--histories N] [--cases N]
  soak exchange  Every bit of the earlier tool's files flipped, random JSON beside node, and learnings taken over at once
                 [--seed N] [--bits N] [--on-disk N] [--texts N] [--learners N]
  soak loop      Whole runs, killed at any call and any moment, and in four worktrees at once
                 [--seed N] [--kills N] [--tasks N]
  soak agents    Hostile agents, of whom nothing is left, and runs killed at every transition
                 [--seed N] [--agents N] [--bytes N] [--kills N]
  soak claude    The real Claude Code with `ralph setup claude`; installs it under target/, 500 MB, by npm
                 [--update]
  soak power     Cuts a file system off under the memory commands; needs root and loop devices
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

/// Does one task. A new one is an arm here, a line in [`HELP`] and a module.
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
        other => Err(format!("there is no task `{}`\n\n{HELP}", other.join(" "))),
    }
}

/// The folder of the workspace.
fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_task_gets_the_help() {
        for words in [&["chek"][..], &["tidy", "--fast"], &["gen", "--chek"]] {
            let message = run(words).unwrap_err();
            let first = format!("there is no task `{}`\n", words.join(" "));
            assert!(message.starts_with(&first), "{message}");
            assert!(message.ends_with(HELP), "{message}");
        }
        assert_eq!(run(&["--help"]), Ok(()));
    }
}
