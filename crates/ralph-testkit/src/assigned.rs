//! The task that a prompt assigns.

use ralph_model::TaskId;

/// The heading of the section that assigns it.
pub(crate) const HEADING: &str = "## Assigned Task";

/// How a prompt begins by which somebody is asked to look at finished work.
pub(crate) const VERIFICATION: &str = "# Verification\n";

/// The task whose finished work a prompt asks to look at.
pub(crate) fn verified_task(prompt: &str) -> Option<TaskId> {
    task_below(prompt.split_once(VERIFICATION)?.1, "## Task")
}

/// The first id of a task in the section of the prompt that assigns one.
pub(crate) fn assigned_task(prompt: &str) -> Option<TaskId> {
    task_below(prompt, HEADING)
}

fn task_below(prompt: &str, heading: &str) -> Option<TaskId> {
    let section = prompt.lines().skip_while(|line| line.trim_end() != heading);
    section
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .flat_map(|line| line.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-'))
        .find_map(TaskId::parse)
}
