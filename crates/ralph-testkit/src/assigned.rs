//! Finds the task that a prompt assigns.

use ralph_model::TaskId;

/// The heading of the section that assigns the task.
pub(crate) const HEADING: &str = "## Assigned Task";

/// The first line of a verifier's prompt.
pub(crate) const VERIFICATION: &str = "# Verification\n";

/// The task that a verifier's prompt is about.
pub(crate) fn verified_task(prompt: &str) -> Option<TaskId> {
    task_below(prompt.split_once(VERIFICATION)?.1, "## Task")
}

/// The first task id in the section that assigns the task.
pub(crate) fn assigned_task(prompt: &str) -> Option<TaskId> {
    task_below(prompt, HEADING)
}

fn task_below(prompt: &str, heading: &str) -> Option<TaskId> {
    let section = prompt.lines().skip_while(|line| line.trim_end() != heading);
    section
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'))
        .find_map(TaskId::parse)
}
