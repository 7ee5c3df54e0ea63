//! Whether git merges notes entry by entry: attributes of the files, and the command in its configuration.

use ralph_model::Shelf;

use super::Patient;
use super::finding::{Finding, Fix, Report};
use crate::error::CommandError;
use crate::merge_setup::{ATTRIBUTES, MergeSetup, attributes_are_no_file};
use crate::paths::Spelling;

/// Asks git how it merges notes.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let context = &patient.context;
    let there = |shelf: &Shelf| context.notebook(*shelf, Spelling::Own).path.exists();
    if ![Shelf::Memories, Shelf::Guardrails].iter().any(there) {
        return Ok(());
    }
    if attributes_are_no_file(&context.project) {
        report.add(Finding::error("it is not a file").at(ATTRIBUTES).mend("move it away"));
        return Ok(());
    }
    let setup = match MergeSetup::look(context) {
        Ok(Some(setup)) => setup,
        Ok(None) => return Ok(()),
        Err(reason) => {
            report.add(Finding::note(format!(
                "how git merges notes was not looked at: {reason}"
            )));
            return Ok(());
        }
    };
    if setup.is_complete() {
        report.ok("git merges notes entry by entry");
        return Ok(());
    }
    for other in setup.other_attributes() {
        let finding = Finding::warning(format!(
            "git's attributes say `{other}`, so it does not merge entry by entry"
        ));
        report.add(finding.at(ATTRIBUTES).mend("make that merge=ralph"));
    }
    if let Some(other) = setup.other_driver() {
        let finding = Finding::warning(format!("merge.ralph.driver is {other:?}, which is not ralph's own"));
        report.add(finding.mend("`git config --unset merge.ralph.driver`, then `ralph doctor --fix`"));
    }
    let missing = setup.missing_lines();
    if !missing.is_empty() {
        report.add(fixable(patient, missing_attributes(&setup, &missing)));
    }
    if setup.needs_registering() {
        let what =
            "git's configuration here has no merge.ralph.driver, or an outdated one; a clone does not bring it along";
        // Where nothing at all is set up, one word about it is enough.
        if missing.is_empty() {
            report.add(fixable(patient, Finding::warning(what)));
        }
    }
    Ok(())
}

fn missing_attributes(setup: &MergeSetup, missing: &[String]) -> Finding {
    let what = format!("git merges notes as text: it lacks {}", missing.join(", "));
    // Nobody has asked for it yet, or something is half done.
    let finding = if setup.needs_registering() {
        Finding::note(what)
    } else {
        Finding::warning(what)
    };
    finding.at(ATTRIBUTES)
}

/// In the places of a broken configuration the lines could be for the wrong files.
fn fixable(patient: &Patient<'_>, finding: Finding) -> Finding {
    let finding = finding.mend("`ralph doctor --fix`, or `ralph init`, sets it up");
    if patient.config_holds() {
        finding.fixed_by(Fix::MergeDriver)
    } else {
        finding
    }
}
