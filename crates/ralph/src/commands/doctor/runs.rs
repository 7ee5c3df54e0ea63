//! The folders of runs: how much room they take.

use ralph_loop::RunsSize;
use ralph_model::{count, size};

use super::Patient;
use super::finding::Report;
use crate::error::CommandError;

/// Looks at the folders of runs.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let found = RunsSize::of(&patient.context.project.runs());
    if found.iterations > 0 {
        let folders = usize::try_from(found.iterations).unwrap_or(usize::MAX);
        let folders = count(folders, "iteration", "iterations");
        report.ok(format!("what is kept of {folders} takes {}", size(found.bytes)));
    }
    Ok(())
}
