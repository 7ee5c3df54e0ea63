//! Checks for files next to a notes file: leftovers of killed processes, and versions that were set aside.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use ralph_notes::{lock_path, resolve};

use super::DoctorContext;
use super::finding::{Finding, Fix, Report};

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report, path: &Path) {
    let project = &doctor.context.project;
    let file = resolve(path).unwrap_or_else(|_| path.to_owned());
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return;
    };
    let name = name.to_string_lossy();
    // An unreadable folder was already reported.
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut beside: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|other| other.contains(&*name))
        .collect();
    beside.sort();
    for other in beside {
        let begins = |what: &str| other.starts_with(&format!("{name}{what}"));
        let place = folder.join(&other);
        let shown = project.shown(&place);
        if other == format!(".{name}.ralph-new") || other == format!(".{name}.ralph-old") {
            if !is_being_changed(&file) {
                let finding = Finding::note("left by a killed process; the next change removes it");
                let finding = finding.at(&shown).remedy("`ralph doctor --fix` removes it now");
                report.add(finding.fixed_by(Fix::ClearLeftovers(path.to_owned())));
            }
        } else if begins(".kept") {
            let what = "a version that another program saved at the same time as ralph; it was not merged";
            let remedy = format!("copy what is missing into {}, then remove it", project.shown(path));
            report.add(Finding::warning(what).at(&shown).remedy(remedy));
        } else if begins(".bak") {
            let finding = Finding::note("a backup from before the file was recreated");
            report.add(finding.at(&shown).remedy("remove it when you no longer need it"));
        }
    }
}

/// Returns true if a process holds the file's lock; then temporary files belong to it.
fn is_being_changed(file: &Path) -> bool {
    File::open(lock_path(file)).is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
