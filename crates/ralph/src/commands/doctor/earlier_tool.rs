//! The learnings of an earlier tool: whether its files are whole, and whether what they hold was taken over.

use ralph_memory::exchange::{FileProblem, Loaded, load};
use ralph_model::count;

use super::Patient;
use super::finding::{Finding, Report};
use crate::commands::learnings::foreign::{files_in, not_taken_over};
use crate::error::CommandError;
use crate::paths;

pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let context = &patient.context;
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
    match not_taken_over(context, &readable)? {
        0 if broken == 0 => report.ok("what an earlier tool has learned is here"),
        0 => {}
        number => {
            let number = count(number, "learning that is", "learnings that are");
            let finding = Finding::note(format!("an earlier tool has {number} not here"));
            let command = format!("`ralph learnings import {}` takes them over", paths::EARLIER_KNOWLEDGE);
            report.add(finding.at(paths::EARLIER_KNOWLEDGE).mend(command));
        }
    }
    Ok(())
}

/// What is wrong with a file, and what helps.
fn damage(loaded: &Loaded) -> Option<Finding> {
    match loaded {
        Loaded::Good(_) => None,
        Loaded::Recovered { why, .. } => Some(
            Finding::warning(format!("{why}; its backup is good"))
                .mend("`ralph learnings import` takes the backup; the earlier tool needs it copied over the file"),
        ),
        Loaded::Bad {
            why,
            backup,
            as_it_stands,
        } => {
            let finding = Finding::warning(format!("{why}; {}", of_backup(backup.as_ref())));
            let remedy = match as_it_stands {
                Some(_) => "look at it; `ralph learnings import FILE --force` takes it as it stands",
                None => "bring it back from a copy of yours, or remove it",
            };
            Some(finding.mend(remedy))
        }
    }
}

fn of_backup(problem: Option<&FileProblem>) -> String {
    match problem {
        Some(problem) => format!("its backup is no good either ({problem})"),
        None => "it has no backup".to_owned(),
    }
}
