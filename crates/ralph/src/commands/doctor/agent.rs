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
    let Some(program) = command.words().and_then(|words| words.into_iter().next()) else {
        let finding = Finding::error(format!("{key} names no program, or has a quote that nobody closes"));
        report.add(finding.mend("mend the key"));
        return;
    };
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
