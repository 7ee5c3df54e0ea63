//! The search index: whether it can be trusted, and whether it answers what the files say.

use std::path::Path;

use ralph_memory::catalogue::{Catalogue, Verified};
use ralph_store::index::{Index, Standing};

use super::finding::{Finding, Fix, Report};
use super::{Patient, writable};
use crate::error::CommandError;
use crate::paths::Spelling;

/// Looks at the index.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let project = &patient.context.project;
    let path = project.index();
    let shown = project.shown(&path).to_string();
    if path.exists() && !path.is_file() {
        let finding = Finding::error("it is not a file, so there is no index, and answers take longer");
        report.add(finding.at(&shown).mend("move it away, and ralph makes an index"));
        return Ok(());
    }
    let standing = Index::standing(&path);
    match &standing {
        Standing::Missing => report.ok("there is no index yet; it is made when it is needed"),
        Standing::Sealed => compare(patient, report, &shown),
        Standing::Unsealed => {
            let what = "it was not written to its end, before a restart, or by another version; it will be made anew";
            report.add(Finding::note(what).at(&shown).fixed_by(Fix::RemakeIndex));
        }
        Standing::Foreign => {
            let finding = Finding::error("it belongs to another tool, so there is no index, and answers take longer");
            let remedy = format!("`mv {shown} {shown}.other`, and ralph makes an index");
            report.add(finding.at(&shown).mend(remedy));
        }
        Standing::Unreadable(reason) => {
            let finding = Finding::error(format!("it cannot be read, so answers take longer: {reason}"));
            report.add(finding.at(&shown).mend("remove it; it is made anew"));
        }
    }
    if !matches!(standing, Standing::Foreign | Standing::Unreadable(_)) {
        let folder = path.parent().unwrap_or(Path::new("."));
        let reason = writable::why_file_is_not(&path).or_else(|| writable::why_folder_is_not(folder));
        if let Some(reason) = reason {
            let finding = Finding::warning(format!("it cannot be written, so answers take longer: {reason}"));
            report.add(
                finding
                    .at(&shown)
                    .mend("make it and its folder writable for you, or ask their owner"),
            );
        }
    }
    Ok(())
}

fn compare(patient: &Patient<'_>, report: &mut Report, shown: &str) {
    match Catalogue::verify(&patient.context.catalogue(Spelling::Own)) {
        Ok(Verified::Same) => report.ok(format!("{shown} answers what the files say")),
        Ok(Verified::Behind) => report.ok(format!(
            "{shown} is older than the files; the next question brings it up to date"
        )),
        Ok(Verified::Differs(what)) => {
            let finding = Finding::error(format!("it does not answer what the files say: {what}"));
            let remedy = format!("`ralph doctor --fix`, or remove {shown}; it is made anew");
            report.add(finding.at(&shown).mend(remedy).fixed_by(Fix::RemakeIndex));
        }
        Err(error) => {
            let finding = Finding::note(format!("it could not be compared with the files: {error}"));
            report.add(finding.at(&shown));
        }
    }
}
