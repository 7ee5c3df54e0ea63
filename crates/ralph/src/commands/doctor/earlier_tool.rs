//! Checks the learnings of an earlier tool: whether its files are intact and their contents imported.

use ralph_memory::exchange::{FileProblem, Loaded, load};
use ralph_model::count;

use super::DoctorContext;
use super::finding::{Finding, Report};
use crate::commands::learnings::incoming::{count_changes, files_in};
use crate::error::CommandError;
use crate::paths;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let context = &doctor.context;
    let project = &context.project;
    let files = files_in(&project.root.join(paths::EARLIER_KNOWLEDGE));
    if files.is_empty() {
        return Ok(());
    }
    let (mut broken, mut readable) = (0, Vec::new());
    for (kind, path) in files {
        let loaded = load(kind, &path)?;
        if let Some(finding) = loaded.as_ref().and_then(damage) {
            broken += 1;
            report.add(finding.at(&project.shown(&path)));
        }
        if matches!(loaded, Some(Loaded::Good(_) | Loaded::Recovered { .. })) {
            readable.push((kind, path));
        }
    }
    match count_changes(context, &readable)? {
        0 if broken == 0 => report.ok("all learnings of the earlier tool are imported"),
        0 => {}
        number => {
            let number = count(number, "learning that is", "learnings that are");
            let finding = Finding::note(format!("an earlier tool has {number} not imported"));
            let command = format!("`ralph learnings import {}` imports them", paths::EARLIER_KNOWLEDGE);
            report.add(finding.at(paths::EARLIER_KNOWLEDGE).remedy(command));
        }
    }
    Ok(())
}

/// Describes the damage to a file and the remedy.
fn damage(loaded: &Loaded) -> Option<Finding> {
    match loaded {
        Loaded::Good(_) => None,
        Loaded::Recovered { why, .. } => Some(
            Finding::warning(format!("{why}; its backup is good"))
                .remedy("`ralph learnings import` uses the backup; for the earlier tool, copy it over the file"),
        ),
        Loaded::Bad {
            why,
            backup,
            damaged_file,
        } => {
            let finding = Finding::warning(format!("{why}; {}", of_backup(backup.as_ref())));
            let remedy = match damaged_file {
                Some(_) => "check the file; `ralph learnings import FILE --force` imports it as it is",
                None => "restore it from your own copy, or remove it",
            };
            Some(finding.remedy(remedy))
        }
    }
}

fn of_backup(problem: Option<&FileProblem>) -> String {
    match problem {
        Some(problem) => format!("its backup is unusable too ({problem})"),
        None => "it has no backup".to_owned(),
    }
}
