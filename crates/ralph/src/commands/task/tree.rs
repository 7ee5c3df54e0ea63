//! `task tree`: shows tasks as a tree.

use std::collections::{HashMap, HashSet};

use clap::Args;
use ralph_model::{Task, TaskId, TaskStatus};
use ralph_store::{TaskFilter, Which};
use serde::Serialize;

use super::{find_to_read, view};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Line;

/// Show tasks as a tree: ○ pending, ▶ in progress, ✓ done, ◌ blocked, ✗ failed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task tree
  ralph task tree t-1a2b3c
  ralph task tree --all --json")]
pub(crate) struct TreeArgs {
    /// Only this task and its subtasks
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Include top-level tasks that are done
    #[arg(long)]
    all: bool,
    /// Print as a JSON list, each task with its depth
    #[arg(long)]
    json: bool,
}

/// A task with its position in the tree.
#[derive(Serialize)]
pub(crate) struct Placed<'a> {
    pub(crate) depth: usize,
    #[serde(flatten)]
    pub(crate) task: &'a Task,
    /// The line art in front of it.
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

/// Unverified tasks and their ancestors.
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

/// Orders each task after its parent, with its line art.
pub(crate) fn place<'a>(tasks: &'a [Task], tops: Vec<&'a Task>) -> Vec<Placed<'a>> {
    let mut parts: HashMap<&TaskId, Vec<&Task>> = HashMap::new();
    for task in tasks {
        if let Some(parent) = &task.parent {
            parts.entry(parent).or_default().push(task);
        }
    }
    let mut placed = Vec::new();
    // A stack of tasks to visit: depth, prefix of the parent, own branch, task.
    let mut stack: Vec<(usize, String, &str, &Task)> = Vec::new();
    stack.extend(tops.into_iter().rev().map(|task| (0, String::new(), "", task)));
    while let Some((depth, before, branch, task)) = stack.pop() {
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
            stack.push((depth + 1, below.clone(), branch, child));
        }
        placed.push(Placed {
            depth,
            task,
            branch: before + branch,
        });
    }
    placed
}
