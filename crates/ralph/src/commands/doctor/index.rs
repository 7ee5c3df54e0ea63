//! Checks the search index: whether it is intact and matches the files.

use std::path::Path;

use ralph_memory::note_index::{NoteIndex, Verified};
use ralph_store::index::{Index, IndexState};

use super::finding::{Finding, Fix, Report};
use super::{DoctorContext, writable};
use crate::error::CommandError;
use crate::paths::Spelling;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let project = &doctor.context.project;
    let path = project.index();
    let shown = project.shown(&path).to_string();
    if path.exists() && !path.is_file() {
        let finding = Finding::error("not a file, so there is no index and searches are slower");
        report.add(finding.at(&shown).remedy("move it away; ralph creates a new index"));
        return Ok(());
    }
    let standing = Index::state(&path);
    match &standing {
        IndexState::Missing => report.ok("there is no index yet; it is created when needed"),
        IndexState::Sealed => compare(doctor, report, &shown),
        IndexState::Unsealed => {
            let what = "written incompletely, before a restart, or by another version; it will be rebuilt";
            report.add(Finding::note(what).at(&shown).fixed_by(Fix::RebuildIndex));
        }
        IndexState::Foreign => {
            let finding = Finding::error("it belongs to another tool, so there is no index and searches are slower");
            let remedy = format!("`mv {shown} {shown}.other`; ralph then creates a new index");
            report.add(finding.at(&shown).remedy(remedy));
        }
        IndexState::Unreadable(reason) => {
            let finding = Finding::error(format!("not readable, so searches are slower: {reason}"));
            report.add(finding.at(&shown).remedy("remove it; ralph rebuilds it"));
        }
    }
    if !matches!(standing, IndexState::Foreign | IndexState::Unreadable(_)) {
        let folder = path.parent().unwrap_or(Path::new("."));
        let reason = writable::why_file_is_not(&path).or_else(|| writable::why_folder_is_not(folder));
        if let Some(reason) = reason {
            let finding = Finding::warning(format!("not writable, so searches are slower: {reason}"));
            report.add(
                finding
                    .at(&shown)
                    .remedy("make it and its folder writable, or ask their owner"),
            );
        }
    }
    Ok(())
}

fn compare(doctor: &DoctorContext<'_>, report: &mut Report, shown: &str) {
    match NoteIndex::verify(&doctor.context.note_index(Spelling::Own)) {
        Ok(Verified::Same) => report.ok(format!("{shown} matches the files")),
        Ok(Verified::Behind) => report.ok(format!("{shown} is older than the files; the next search updates it")),
        Ok(Verified::Differs(what)) => {
            let finding = Finding::error(format!("it does not match the files: {what}"));
            let remedy = format!("`ralph doctor --fix`, or remove {shown}; ralph rebuilds it");
            report.add(finding.at(&shown).remedy(remedy).fixed_by(Fix::RebuildIndex));
        }
        Err(error) => {
            let finding = Finding::note(format!("it could not be compared with the files: {error}"));
            report.add(finding.at(&shown));
        }
    }
}
