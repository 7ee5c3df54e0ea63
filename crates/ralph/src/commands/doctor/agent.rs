//! The agents, and `ralph` as they find it.

use ralph_agent::{agents_by_command, known_agents};
use ralph_model::config::CommandLine;

use super::Patient;
use super::finding::{Finding, Report};
use crate::error::CommandError;
use crate::programs::{Program, find_program, find_ralph, on_path};

/// Looks for the agents. Nothing is run.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let config = &patient.context.configured;
    match &config.agent.command {
        Some(command) => look_for(patient, report, "agent.command", command),
        None => look_for_known(report),
    }
    if let Some(command) = &config.verify.verifier {
        look_for(patient, report, "verify.verifier", command);
    }
    look_for_ralph(report);
    Ok(())
}

fn look_for_known(report: &mut Report) {
    let installed = |program: &&str| on_path(program).is_some();
    let started = known_agents().iter().map(|agent| agent.program);
    let started: Vec<&str> = started.filter(installed).collect();
    let by_command: Vec<&str> = agents_by_command().iter().copied().filter(installed).collect();
    if !started.is_empty() {
        report.ok(format!("on PATH: {}", started.join(", ")));
    }
    match (started.as_slice(), by_command.as_slice()) {
        (_, [_, ..]) => {
            let what = format!(
                "on PATH, and not started unless .ralph.toml says how: {}",
                by_command.join(", ")
            );
            report.add(Finding::note(what).mend("to use one, write its command line: [agent] command = \"…\""));
        }
        ([], []) => {
            let finding = Finding::note("no coding agent that ralph knows by its name is on PATH");
            report.add(finding.mend("install one, or name yours in .ralph.toml: [agent] command = \"…\""));
        }
        _ => {}
    }
}

fn look_for(patient: &Patient<'_>, report: &mut Report, key: &str, command: &CommandLine) {
    let Some(program) = command.words().and_then(|words| words.into_iter().next()) else {
        let finding = Finding::error(format!("{key} names no program, or has a quote that nobody closes"));
        report.add(finding.mend("mend the key"));
        return;
    };
    match find_program(&program, &patient.context.project.root) {
        Ok(file) => report.ok(format!("{key} is {}", file.display())),
        Err(why) => {
            let finding = Finding::error(format!("{key} cannot be started: {why}"));
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
