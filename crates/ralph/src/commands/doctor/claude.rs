//! Checks what `ralph setup claude` installed, and reports failures of its hook.

use ralph_model::{count, preview};
use ralph_notes::read_file;

use super::DoctorContext;
use super::finding::{Finding, Report};
use crate::commands::hook::trouble::Trouble;
use crate::commands::setup::claude::{Part, SetupState, setup_state};
use crate::error::CommandError;
use crate::paths;

const REASON_COLUMNS: usize = 200;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let before = report.findings.len();
    report_hook_failures(doctor, report);
    match setup_state(&doctor.context.project) {
        Ok(setup_state) if setup_state.hook == Part::Missing && setup_state.skill == Part::Missing => {
            if report.findings.len() == before {
                report.ok("Claude Code is not set up here; run `ralph setup claude` to do so");
            }
        }
        Ok(setup_state) => {
            report_parts(report, &setup_state);
            if report.findings.len() == before {
                report.ok("the hook and the skill are in place");
            }
        }
        Err(error) => {
            let finding = Finding::error(error.what).at(&error.place);
            report.add(finding.remedy("fix the file; Claude Code cannot read it either"));
        }
    }
    Ok(())
}

fn report_parts(report: &mut Report, setup_state: &SetupState) {
    for (what, place, part) in [
        ("the hook", paths::CLAUDE_SETTINGS, setup_state.hook),
        ("the skill", paths::CLAUDE_SKILL, setup_state.skill),
    ] {
        let finding = match part {
            Part::InPlace => continue,
            Part::Missing => Finding::warning(format!("{what} is missing, but the other part is there"))
                .remedy("`ralph setup claude` adds it, `ralph setup claude --remove` removes the other part"),
            Part::Outdated => Finding::warning(format!("an earlier version of ralph wrote {what}"))
                .remedy("`ralph setup claude` updates it"),
            Part::Changed => Finding::note(format!(
                "{what} was written or changed by hand, so ralph does not touch it"
            )),
        };
        report.add(finding.at(place));
    }
    if !setup_state.is_strict {
        let what = "Claude Code does not accept comments or trailing commas in its settings, so the hook does not run";
        let finding = Finding::error(what).at(paths::CLAUDE_SETTINGS);
        report.add(finding.remedy("remove them; nothing else in the file has to change"));
    }
}

/// A failing hook prints nothing, so its record is the only evidence.
fn report_hook_failures(doctor: &DoctorContext<'_>, report: &mut Report) {
    let path = doctor.context.project.root.join(paths::HOOK_TROUBLE);
    let Ok(Some(text)) = read_file(&path) else { return };
    let finding = match Trouble::parse(&text.bytes) {
        Some(trouble) => {
            let times = usize::try_from(trouble.count).unwrap_or(usize::MAX);
            let times = count(times, "time", "times");
            Finding::warning(format!(
                "the hook failed {times}, last at {}: {}",
                preview(&trouble.last, REASON_COLUMNS),
                preview(&trouble.message, REASON_COLUMNS)
            ))
            .remedy(
                "fix that; this record is removed when the hook works again (`ralph hook session-start < /dev/null`)",
            )
        }
        None => Finding::note("the record of hook failures cannot be read").remedy("remove it"),
    };
    report.add(finding.at(paths::HOOK_TROUBLE));
}
