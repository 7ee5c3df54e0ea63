//! `task tree`: tasks with their parts.

use std::collections::{HashMap, HashSet};

use clap::Args;
use ralph_model::{Task, TaskId, TaskStatus};
use ralph_store::{TaskFilter, Which};
use serde::Serialize;

use super::{find_to_read, view};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Line;

/// Show tasks with their parts: ○ pending, ▶ in progress, ✓ done, ◌ blocked, ✗ failed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task tree
  ralph task tree t-1a2b3c
  ralph task tree --all --json")]
pub(crate) struct TreeArgs {
    /// Only this task with everything below it
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Also those at the top that are done
    #[arg(long)]
    all: bool,
    /// Write a list as JSON, in which every task has its depth
    #[arg(long)]
    json: bool,
}

/// A task in its place.
#[derive(Serialize)]
pub(crate) struct Placed<'a> {
    pub(crate) depth: usize,
    #[serde(flatten)]
    pub(crate) task: &'a Task,
    /// What leads to it in a picture of the tree.
    #[serde(skip)]
    pub(crate) branch: String,
}

pub(super) fn cmd_tree(context: &Context<'_>, args: &TreeArgs) -> Result<(), CommandError> {
    let (store, top) = match &args.id {
        Some(id) => {
            let (store, top) = find_to_read(context, id)?;
            (Some(store), Some(top))
        }
        None => (context.facts()?, None),
    };
    let all = TaskFilter {
        which: Which::All,
        parent: None,
        feature: None,
    };
    let tasks = store.map_or_else(|| Ok(Vec::new()), |store| store.tasks(&all))?;
    let tops: Vec<&Task> = match &top {
        Some(top) => tasks.iter().filter(|task| task.id == *top).collect(),
        None => {
            let needing_review = with_unverified(&tasks);
            let is_open = |task: &Task| task.status != TaskStatus::Done || needing_review.contains(&task.id);
            let is_top = |task: &&Task| task.parent.is_none() && (args.all || is_open(task));
            tasks.iter().filter(is_top).collect()
        }
    };
    let placed = place(&tasks, tops);
    if args.json {
        return context.ui.json(&placed);
    }
    if placed.is_empty() {
        let nothing = if tasks.is_empty() {
            "No tasks yet."
        } else {
            "All tasks are done."
        };
        return context.ui.data(&format!("{nothing}\n"));
    }
    let width = context.ui.width();
    let row = |placed: &Placed<'_>| (None, view::task_row(&placed.branch, placed.task, width));
    context.ui.lines(&placed.iter().map(row).collect::<Vec<Line>>())
}

/// The tasks that are unverified, and everything above them.
fn with_unverified(tasks: &[Task]) -> HashSet<&TaskId> {
    let parents: HashMap<&TaskId, Option<&TaskId>> =
        tasks.iter().map(|task| (&task.id, task.parent.as_ref())).collect();
    let mut found = HashSet::new();
    for task in tasks.iter().filter(|task| task.unverified.is_some()) {
        let mut above = Some(&task.id);
        while let Some(id) = above.filter(|id| found.insert(*id)) {
            above = parents.get(id).copied().flatten();
        }
    }
    found
}

/// Every task after its parent, with the branch that leads to it.
pub(crate) fn place<'a>(tasks: &'a [Task], tops: Vec<&'a Task>) -> Vec<Placed<'a>> {
    let mut parts: HashMap<&TaskId, Vec<&Task>> = HashMap::new();
    for task in tasks {
        if let Some(parent) = &task.parent {
            parts.entry(parent).or_default().push(task);
        }
    }
    let mut placed = Vec::new();
    // What is still to be shown, the next one last: how deep, what stands before its branch, whether others follow it.
    let mut ahead: Vec<(usize, String, &str, &Task)> = Vec::new();
    ahead.extend(tops.into_iter().rev().map(|task| (0, String::new(), "", task)));
    while let Some((depth, before, branch, task)) = ahead.pop() {
        let below = match branch {
            "" => before.clone(),
            "└─ " => format!("{before}   "),
            _ => format!("{before}│  "),
        };
        let children = parts.get(&task.id).map_or(&[][..], Vec::as_slice);
        for (place, child) in children.iter().enumerate().rev() {
            let branch = if place + 1 == children.len() {
                "└─ "
            } else {
                "├─ "
            };
            ahead.push((depth + 1, below.clone(), branch, child));
        }
        placed.push(Placed {
            depth,
            task,
            branch: before + branch,
        });
    }
    placed
}
