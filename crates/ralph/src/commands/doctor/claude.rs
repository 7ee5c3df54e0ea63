//! What `ralph setup claude` has put in place, and what went wrong in its hook.

use ralph_model::{count, preview};
use ralph_notes::read_file;

use super::Patient;
use super::finding::{Finding, Report};
use crate::commands::hook::trouble::Trouble;
use crate::commands::setup::claude::{Part, Standing, standing};
use crate::error::CommandError;
use crate::paths;

/// How many columns of a reason are shown.
const REASON_COLUMNS: usize = 200;

/// Looks at the set-up, where there is one.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let before = report.findings.len();
    look_at_trouble(patient, report);
    match standing(&patient.context.project) {
        Ok(standing) if standing.hook == Part::Missing && standing.skill == Part::Missing => {
            if report.findings.len() == before {
                report.ok("Claude Code is not set up here; `ralph setup claude` does that");
            }
        }
        Ok(standing) => {
            look_at(report, &standing);
            if report.findings.len() == before {
                report.ok("the hook and the skill are in place");
            }
        }
        Err(error) => {
            let message = error.lines().map_or("it cannot be read", |(message, _)| message);
            let message = message.trim_end_matches("; nothing was changed");
            // Where it names the place itself, the place need not be named again.
            let (place, problem) = match message.split_once(": ") {
                Some((place, rest)) if place.starts_with(paths::CLAUDE_SETTINGS) => (place, rest),
                _ => (paths::CLAUDE_SETTINGS, message),
            };
            let finding = Finding::error(problem).at(place);
            report.add(finding.mend("mend it there; Claude Code does not read it either"));
        }
    }
    Ok(())
}

fn look_at(report: &mut Report, standing: &Standing) {
    for (what, place, part) in [
        ("the hook", paths::CLAUDE_SETTINGS, standing.hook),
        ("the skill", paths::CLAUDE_SKILL, standing.skill),
    ] {
        let finding = match part {
            Part::InPlace => continue,
            Part::Missing => Finding::warning(format!("{what} is missing, though the other part is there"))
                .mend("`ralph setup claude` puts it there, `ralph setup claude --remove` takes the other out"),
            Part::Outdated => Finding::warning(format!("an earlier version of ralph wrote {what}"))
                .mend("`ralph setup claude` brings it up to date"),
            Part::Changed => Finding::note(format!(
                "{what} was written or changed by hand, so ralph leaves it alone"
            )),
        };
        report.add(finding.at(place));
    }
    if let Some(line) = standing.not_strict_from {
        let what = "Claude Code does not read settings with comments or commas at the end, so the hook does not run";
        let finding = Finding::error(what).at(&format!("{}:{line}", paths::CLAUDE_SETTINGS));
        report.add(finding.mend("take them out; nothing else in the file has to change"));
    }
}

/// The hook says nothing when it fails, so its trace is all that there is.
fn look_at_trouble(patient: &Patient<'_>, report: &mut Report) {
    let path = patient.context.project.root.join(paths::HOOK_TROUBLE);
    let Ok(Some(text)) = read_file(&path) else { return };
    let finding = match Trouble::parse(&text.bytes) {
        Some(trouble) => {
            let times = usize::try_from(trouble.count).unwrap_or(usize::MAX);
            let times = count(times, "time", "times");
            Finding::warning(format!(
                "the hook failed {times}, the last time at {}: {}",
                preview(&trouble.last, REASON_COLUMNS),
                preview(&trouble.message, REASON_COLUMNS)
            ))
            .mend("mend that; the trace goes when the hook works again (`ralph hook session-start < /dev/null`)")
        }
        None => Finding::note("the trace of the hook cannot be read").mend("remove it"),
    };
    report.add(finding.at(paths::HOOK_TROUBLE));
}
