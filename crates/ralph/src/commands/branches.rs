//! `ralph branches`: lists branches with work that has not landed.

use std::collections::BTreeSet;

use clap::Args;
use ralph_loop::BRANCHES;
use ralph_model::TaskId;
use ralph_process::git::Git;
use ralph_store::Store;
use serde::Serialize;

use crate::context::Context;
use crate::error::CommandError;
use crate::git::Worktree;
use crate::table::Column;

/// List branches with work that has not landed
///
/// A task that was given up keeps its work on a branch. A run that could not land on your branch lands on its own
/// branch.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph branches --json")]
pub(crate) struct BranchesArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const COLUMNS: [Column; 4] = [
    Column::whole("BRANCH"),
    Column::whole("AGE"),
    Column::whole("TASK"),
    Column::cut("NEXT"),
];

#[derive(Debug, Serialize)]
struct Branch {
    branch: String,
    /// The relative date of its last commit, as printed by git.
    age: String,
    task: Option<TaskId>,
    task_status: Option<&'static str>,
    /// Whether it is fully merged into the current commit.
    merged: bool,
    /// The suggested next command.
    next: String,
}

pub(crate) fn cmd_branches(context: &Context<'_>, args: &BranchesArgs) -> Result<(), CommandError> {
    let branches = match &context.project.worktree {
        Some(_) => read(context)?,
        None => Vec::new(),
    };
    if args.json {
        return context.ui.json(&branches);
    }
    if branches.is_empty() {
        return context.ui.data("No branches with unlanded work.\n");
    }
    let rows: Vec<Vec<String>> = branches.iter().map(row).collect();
    let title = match branches.len() {
        1 => "Showing 1 branch".to_owned(),
        many => format!("Showing {many} branches"),
    };
    context.ui.table(&COLUMNS, &rows, &title)?;
    context
        .ui
        .hint("Run `git merge BRANCH` to merge a branch, or `git branch -D BRANCH` to delete it.");
    Ok(())
}

fn read(context: &Context<'_>) -> Result<Vec<Branch>, CommandError> {
    let store = context.facts()?;
    let pattern = format!("refs/heads/{BRANCHES}");
    let merged: BTreeSet<String> = match context.project.worktree.as_ref().and_then(Worktree::commit) {
        Some(head) => {
            let merged = format!("--merged={head}");
            let listed = ask(
                context,
                &["for-each-ref", "--format=%(refname:short)", &merged, &pattern],
            )?;
            listed.lines().map(str::to_owned).collect()
        }
        None => BTreeSet::new(),
    };
    let format = "--format=%(refname:short)%09%(committerdate:relative)";
    let listed = ask(context, &["for-each-ref", format, &pattern])?;
    let lines = listed.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(name, age)| branch(store.as_ref(), name, age, merged.contains(name)))
        .collect()
}

fn branch(store: Option<&Store>, name: &str, age: &str, merged: bool) -> Result<Branch, CommandError> {
    let rest = name.strip_prefix(BRANCHES).unwrap_or(name);
    // The name begins with the task's id, such as `t-1a2b3c`.
    let id: Vec<&str> = rest.splitn(3, '-').take(2).collect();
    let task = TaskId::parse(&id.join("-"));
    let status = match (store, &task) {
        (Some(store), Some(task)) => store.task(task)?.map(|task| task.status.word()),
        _ => None,
    };
    let next = if merged {
        format!("git branch -d {name}")
    } else {
        format!("git merge {name}")
    };
    Ok(Branch {
        branch: name.to_owned(),
        age: age.to_owned(),
        task,
        task_status: status,
        merged,
        next,
    })
}

fn row(branch: &Branch) -> Vec<String> {
    vec![
        branch.branch.clone(),
        branch.age.clone(),
        branch.task_status.unwrap_or_default().to_owned(),
        branch.next.clone(),
    ]
}

fn ask(context: &Context<'_>, arguments: &[&str]) -> Result<String, CommandError> {
    let answer = Git::question(&context.project.root).run(arguments);
    let text = answer.and_then(|answer| answer.text());
    text.map_err(|error| CommandError::new(error.to_string()))
}
