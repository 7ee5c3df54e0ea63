//! Checks whether git merges notes entry by entry: the attributes of the files and the driver in its configuration.

use ralph_model::NoteFileKind;

use super::DoctorContext;
use super::finding::{Finding, Fix, Report};
use crate::error::CommandError;
use crate::merge_setup::{ATTRIBUTES, MergeSetup, attributes_is_not_a_file};
use crate::paths::Spelling;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let context = &doctor.context;
    let there = |file_kind: &NoteFileKind| context.note_repository(*file_kind, Spelling::Own).path.exists();
    if ![NoteFileKind::Memories, NoteFileKind::Guardrails].iter().any(there) {
        return Ok(());
    }
    if attributes_is_not_a_file(&context.project) {
        report.add(Finding::error("it is not a file").at(ATTRIBUTES).remedy("move it away"));
        return Ok(());
    }
    let setup = match MergeSetup::inspect(context) {
        Ok(Some(setup)) => setup,
        Ok(None) => return Ok(()),
        Err(reason) => {
            report.add(Finding::note(format!("git's merge setup was not checked: {reason}")));
            return Ok(());
        }
    };
    if setup.is_complete() {
        report.ok("git merges notes entry by entry");
        return Ok(());
    }
    for other in setup.other_attributes() {
        let finding = Finding::warning(format!(
            "git's attributes say `{other}`, so notes are not merged entry by entry"
        ));
        report.add(finding.at(ATTRIBUTES).remedy("change it to merge=ralph"));
    }
    if let Some(other) = setup.other_driver() {
        let finding = Finding::warning(format!("merge.ralph.driver is {other:?}, which is not ralph's own"));
        report.add(finding.remedy("`git config --unset merge.ralph.driver`, then `ralph doctor --fix`"));
    }
    let missing = setup.missing_lines();
    if !missing.is_empty() {
        report.add(fixable(doctor, missing_attributes(&setup, &missing)));
    }
    if setup.needs_registering() {
        let what = "git's configuration has no merge.ralph.driver, or an outdated one; clones do not copy it";
        // If nothing is set up at all, one finding is enough.
        if missing.is_empty() {
            report.add(fixable(doctor, Finding::warning(what)));
        }
    }
    Ok(())
}

fn missing_attributes(setup: &MergeSetup, missing: &[String]) -> Finding {
    let what = format!("git merges notes as plain text: missing {}", missing.join(", "));
    // Either merging was never set up, or only half of it is.
    let finding = if setup.needs_registering() {
        Finding::note(what)
    } else {
        Finding::warning(what)
    };
    finding.at(ATTRIBUTES)
}

/// With a broken configuration, the lines could name the wrong files.
fn fixable(doctor: &DoctorContext<'_>, finding: Finding) -> Finding {
    let finding = finding.remedy("`ralph doctor --fix`, or `ralph init`, sets it up");
    if doctor.config_is_valid() {
        finding.fixed_by(Fix::MergeDriver)
    } else {
        finding
    }
}
