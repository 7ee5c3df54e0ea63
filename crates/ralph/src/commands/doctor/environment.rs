//! Checks the environment variables beside those of the configuration.

use super::DoctorContext;
use super::finding::{Finding, Report};
use crate::env;
use crate::error::CommandError;
use crate::project_env::{ProgramClock, ProgramEntropy};

/// Checks the variables that affect every command.
pub(super) fn check(_patient: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let before = report.findings.len();
    let faults = [
        ("RALPH_NOW", ProgramClock::from_environment().err()),
        ("RALPH_SEED", ProgramEntropy::from_environment().err()),
    ];
    for (name, fault) in &faults {
        if let Some((message, _)) = fault.as_ref().and_then(CommandError::lines) {
            let finding = Finding::error(message.replacen(name, "it", 1)).at(name);
            report.add(finding.remedy(format!("unset {name}; until then most commands fail")));
        }
    }
    for (name, value, what) in [
        ("RALPH_NOW", env::now(), "every note gets this date"),
        ("RALPH_SEED", env::seed(), "ids are not random"),
    ] {
        let is_wrong = faults.iter().any(|(other, fault)| *other == name && fault.is_some());
        if let Some(value) = value.filter(|_| !is_wrong) {
            let finding = Finding::warning(format!("it is set to {value:?}, which is for tests: {what}"));
            report.add(finding.at(name).remedy(format!("unset {name}")));
        }
    }
    if !env::has_home() {
        let finding = Finding::note("not set, so git and agents do not find their settings");
        report.add(finding.at("HOME").remedy("set it to your home folder"));
    }
    if report.findings.len() == before {
        report.ok("environment variables are fine");
    }
    Ok(())
}
