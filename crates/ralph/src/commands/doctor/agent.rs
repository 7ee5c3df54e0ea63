//! Checks the agents, and the `ralph` that they find.

use ralph_agent::{agents_by_command, known_agents};
use ralph_model::config::CommandLine;

use super::DoctorContext;
use super::finding::{Finding, Report};
use crate::error::CommandError;
use crate::programs::{Program, find_program, find_ralph, on_path};

/// Looks for the agents without starting them.
pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let config = &doctor.context.configured;
    match &config.agent.command {
        Some(command) => check_command(doctor, report, "agent.command", command),
        None => check_known_agents(report),
    }
    if let Some(command) = &config.verify.verifier {
        check_command(doctor, report, "verify.verifier", command);
    }
    check_ralph(report);
    Ok(())
}

fn check_known_agents(report: &mut Report) {
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
                "on PATH, but only used if .ralph.toml has the command: {}",
                by_command.join(", ")
            );
            report.add(Finding::note(what).remedy("to use one, set its command line: [agent] command = \"…\""));
        }
        ([], []) => {
            let finding = Finding::note("no known coding agent is on PATH");
            report.add(finding.remedy("install one, or set yours in .ralph.toml: [agent] command = \"…\""));
        }
        _ => {}
    }
}

fn check_command(doctor: &DoctorContext<'_>, report: &mut Report, key: &str, command: &CommandLine) {
    let Some(program) = command.words().and_then(|words| words.into_iter().next()) else {
        let finding = Finding::error(format!("{key} names no program, or has an unclosed quote"));
        report.add(finding.remedy("fix the key"));
        return;
    };
    match find_program(&program, &doctor.context.project.root) {
        Ok(file) => report.ok(format!("{key} is {}", file.display())),
        Err(why) => {
            let finding = Finding::error(format!("{key} cannot be started: {why}"));
            report.add(finding.remedy("install it, add its folder to PATH, or fix the key"));
        }
    }
}

fn check_ralph(report: &mut Report) {
    match find_ralph() {
        Program::This => report.ok("`ralph` on PATH is this program"),
        Program::Other(other) => {
            let what = format!("`ralph` on PATH is {}, not this program", other.display());
            let finding = Finding::warning(what);
            report.add(finding.remedy("hooks and git call that one; put this program's folder first in PATH"));
        }
        Program::NotFound => {
            let finding = Finding::warning("`ralph` is not on PATH, so hooks and git cannot find it");
            report.add(finding.remedy("add this program's folder to PATH"));
        }
    }
}
