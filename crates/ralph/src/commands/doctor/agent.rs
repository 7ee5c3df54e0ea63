//! The agents, and `ralph` as they find it.

use ralph_model::config::CommandLine;

use super::Patient;
use super::finding::{Finding, Report};
use crate::error::CommandError;
use crate::programs::{Program, can_run, find_ralph, on_path};

/// The programs of coding agents, as a shell calls them.
const AGENTS: [&str; 8] = [
    "claude",
    "codex",
    "gemini",
    "opencode",
    "cursor-agent",
    "goose",
    "aider",
    "amp",
];

/// Looks for the agents. Nothing is run.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let config = &patient.context.config;
    match &config.agent.command {
        Some(command) => look_for(patient, report, "agent.command", command),
        None => {
            let found: Vec<&str> = AGENTS.into_iter().filter(|name| on_path(name).is_some()).collect();
            if found.is_empty() {
                let finding = Finding::note("no coding agent that ralph knows by its name is on PATH");
                report.add(finding.mend("install one, or name yours in .ralph.toml: [agent] command = \"…\""));
            } else {
                report.ok(format!("on PATH: {}", found.join(", ")));
            }
        }
    }
    if let Some(command) = &config.verify.verifier {
        look_for(patient, report, "verify.verifier", command);
    }
    look_for_ralph(report);
    Ok(())
}

fn look_for(patient: &Patient<'_>, report: &mut Report, key: &str, command: &CommandLine) {
    let program = first_word(command);
    let found = if program.contains('/') {
        Some(patient.context.project.root.join(&program)).filter(|file| can_run(file))
    } else {
        on_path(&program)
    };
    match found {
        Some(file) => report.ok(format!("{key} is {}", file.display())),
        None => {
            let finding = Finding::error(format!("{key} starts {program:?}, and there is no such program"));
            report.add(finding.mend("install it, put its folder into PATH, or mend the key"));
        }
    }
}

/// The program of a command line, which may stand in quotes.
fn first_word(command: &CommandLine) -> String {
    match command {
        CommandLine::Words(words) => words.first().cloned().unwrap_or_default(),
        CommandLine::Line(line) => {
            let line = line.trim_start();
            let quoted = line.chars().next().filter(|sign| matches!(sign, '"' | '\''));
            let word = match quoted {
                Some(quote) => line.split(quote).nth(1),
                None => line.split_whitespace().next(),
            };
            word.unwrap_or_default().to_owned()
        }
    }
}

/// Hooks and git call `ralph` by its name.
fn look_for_ralph(report: &mut Report) {
    match find_ralph() {
        Program::This => report.ok("`ralph` on PATH is this program"),
        Program::Other(other) => {
            let what = format!("`ralph` on PATH is {}, not this program", other.display());
            let finding = Finding::warning(what);
            report.add(finding.mend("hooks and git call that one; put this program's folder in front in PATH"));
        }
        Program::NotFound => {
            let finding = Finding::warning("there is no `ralph` on PATH, so hooks and git do not find it");
            report.add(finding.mend("add this program's folder to PATH"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_line_is_its_first_word() {
        for (line, program) in [
            ("claude --print", "claude"),
            ("  ./run.sh", "./run.sh"),
            ("'/opt/my agent/run' -x", "/opt/my agent/run"),
            ("\"a b\"", "a b"),
            ("\"", ""),
            ("", ""),
        ] {
            assert_eq!(first_word(&CommandLine::Line(line.to_owned())), program, "{line}");
        }
    }
}
