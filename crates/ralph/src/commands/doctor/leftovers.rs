//! What stands beside a file of notes: what killed processes left, and texts that were put aside.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use ralph_notes::{lock_path, resolve};

use super::Patient;
use super::finding::{Finding, Fix, Report};

/// Looks beside a file.
pub(super) fn look(patient: &Patient<'_>, report: &mut Report, path: &Path) {
    let project = &patient.context.project;
    let file = resolve(path).unwrap_or_else(|_| path.to_owned());
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return;
    };
    let name = name.to_string_lossy();
    // A folder that cannot be read was named before.
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
                let finding = Finding::note("a process that was killed left this; the next change clears it away");
                let finding = finding.at(&shown).mend("`ralph doctor --fix` does so now");
                report.add(finding.fixed_by(Fix::ClearLeftovers(path.to_owned())));
            }
        } else if begins(".kept") {
            let what = "this is what somebody saved at the same time as ralph, and nobody has merged it";
            let remedy = format!(
                "take over into {} what is missing there, and remove it",
                project.shown(path)
            );
            report.add(Finding::warning(what).at(&shown).mend(remedy));
        } else if begins(".bak") {
            let finding = Finding::note("this is the file as it was before it was made anew");
            report.add(finding.at(&shown).mend("remove it when you do not need it any more"));
        }
    }
}

/// Whether some process holds the file's lock; then what stands beside it is its own.
fn is_being_changed(file: &Path) -> bool {
    File::open(lock_path(file)).is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
