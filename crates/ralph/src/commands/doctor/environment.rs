//! What ralph takes from the environment beside its configuration.

use super::Patient;
use super::finding::{Finding, Report};
use crate::env;
use crate::error::CommandError;
use crate::surroundings::{ProgramClock, ProgramEntropy};

/// Looks at the variables that concern every command.
pub(super) fn check(_patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let before = report.findings.len();
    let faults = [
        ("RALPH_NOW", ProgramClock::from_environment().err()),
        ("RALPH_SEED", ProgramEntropy::from_environment().err()),
    ];
    for (name, fault) in &faults {
        if let Some((message, _)) = fault.as_ref().and_then(CommandError::lines) {
            let finding = Finding::error(message.replacen(name, "it", 1)).at(name);
            report.add(finding.mend(format!("unset {name}; until then nearly every command fails")));
        }
    }
    for (name, value, what) in [
        ("RALPH_NOW", env::now(), "every note gets this date"),
        ("RALPH_SEED", env::seed(), "ids are not random"),
    ] {
        let is_wrong = faults.iter().any(|(other, fault)| *other == name && fault.is_some());
        if let Some(value) = value.filter(|_| !is_wrong) {
            let finding = Finding::warning(format!("it is set to {value:?}, which is for tests: {what}"));
            report.add(finding.at(name).mend(format!("unset {name}")));
        }
    }
    if !env::has_home() {
        let finding = Finding::note("it is not set, so git and agents do not find their settings");
        report.add(finding.at("HOME").mend("set it to your folder"));
    }
    if report.findings.len() == before {
        report.ok("no variable is in the way");
    }
    Ok(())
}
