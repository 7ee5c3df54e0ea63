//! Checks the search index: whether it is intact.

use std::path::Path;

use ralph_search::{Index, IndexFileState};

use super::finding::{Finding, Fix, Report};
use super::{DoctorContext, writable};
use crate::error::CommandError;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let project = &doctor.context.project;
    let path = project.index();
    let shown = project.shown(&path).to_string();
    if path.exists() && !path.is_file() {
        let finding = Finding::error("not a file, so there is no index and searches are slower");
        report.add(finding.at(&shown).remedy("move it away; ralph creates a new index"));
        return Ok(());
    }
    let state = Index::state(&path);
    match &state {
        IndexFileState::Missing => report.ok("there is no index yet; it is created when needed"),
        IndexFileState::Intact => report.ok(format!("{shown} is intact")),
        IndexFileState::Outdated => {
            let what = "written incompletely, before a restart, or by another version; it will be rebuilt";
            report.add(Finding::note(what).at(&shown).fixed_by(Fix::RebuildIndex));
        }
        IndexFileState::Foreign => {
            let finding = Finding::error("it belongs to another tool, so there is no index and searches are slower");
            let remedy = format!("`mv {shown} {shown}.other`; ralph then creates a new index");
            report.add(finding.at(&shown).remedy(remedy));
        }
        IndexFileState::Unreadable(reason) => {
            let finding = Finding::error(format!("not readable, so searches are slower: {reason}"));
            report.add(finding.at(&shown).remedy("remove it; ralph rebuilds it"));
        }
    }
    if !matches!(state, IndexFileState::Foreign | IndexFileState::Unreadable(_)) {
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
