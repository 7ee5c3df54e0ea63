//! Reports the disk space of run folders.

use ralph_loop::RunsSize;
use ralph_model::{count, size};

use super::DoctorContext;
use super::finding::Report;
use crate::error::CommandError;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let found = RunsSize::of(&doctor.context.project.runs());
    if found.iterations > 0 {
        let folders = usize::try_from(found.iterations).unwrap_or(usize::MAX);
        let folders = count(folders, "iteration", "iterations");
        report.ok(format!("files of {folders} take {}", size(found.bytes)));
    }
    Ok(())
}
