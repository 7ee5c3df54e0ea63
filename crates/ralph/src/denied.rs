//! Formats denied actions of agents, with the line that permits them.

use ralph_model::{Denial, first_line, preview};

/// Columns of a command.
const ABOUT_COLUMNS: usize = 60;

/// A denial, with the line that permits it below.
pub(crate) fn lines(denial: &Denial) -> Vec<String> {
    let permit = denial.permit.iter().map(|line| format!("  to permit it: {line}"));
    std::iter::once(denied(denial)).chain(permit).collect()
}

/// A denial on one line.
pub(crate) fn line(denial: &Denial) -> String {
    let permit = denial.permit.as_deref().map(|line| format!("; to permit it: {line}"));
    format!("{}{}", denied(denial), permit.unwrap_or_default())
}

fn denied(denial: &Denial) -> String {
    let about = preview(first_line(&denial.about), ABOUT_COLUMNS);
    match about.as_str() {
        "" => denial.tool.clone(),
        about => format!("{}: {about}", denial.tool),
    }
}
