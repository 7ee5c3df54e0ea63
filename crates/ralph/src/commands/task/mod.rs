//! `ralph task …`, one file per verb.

mod add;
mod attempts;
mod delete;
mod deps;
mod done;
mod fail;
mod import;
mod list;
mod log;
mod reset;
mod restore;
mod show;
mod tree;
mod update;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use clap::Subcommand;
use ralph_loop::changes::{ProjectFiles, commits_in_head};
use ralph_memory::capture::{SecretPolicy, accept};
use ralph_model::{Actor, Task, TaskId, TaskStatus, preview};
use ralph_store::{DoneIn, ImportItem, RunProcess, Store, TaskError};

pub(crate) use attempts::{attempts_in_short, in_short};
pub(crate) use tree::{Placed, place};
pub(crate) use view::task_row;

use super::notes::text_argument;
use super::run::own_files;
use crate::commands::run::confirm::remember_checks;
use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    Add(add::AddArgs),
    Import(import::ImportArgs),
    List(list::ListArgs),
    Tree(tree::TreeArgs),
    Show(show::ShowArgs),
    Update(update::UpdateArgs),
    Deps(deps::DepsArgs),
    Done(done::DoneArgs),
    Fail(fail::FailArgs),
    Reset(reset::ResetArgs),
    Delete(delete::DeleteArgs),
    Restore(restore::RestoreArgs),
    Log(log::LogArgs),
}

pub(crate) fn run(context: &Context<'_>, command: TaskCommand) -> Result<(), CommandError> {
    match command {
        TaskCommand::Add(args) => add::cmd_add(context, args),
        TaskCommand::Import(args) => import::cmd_import(context, &args),
        TaskCommand::List(args) => list::cmd_list(context, &args),
        TaskCommand::Tree(args) => tree::cmd_tree(context, &args),
        TaskCommand::Show(args) => show::cmd_show(context, &args),
        TaskCommand::Update(args) => update::cmd_update(context, args),
        TaskCommand::Deps(args) => deps::cmd_deps(context, &args),
        TaskCommand::Done(args) => done::cmd_done(context, &args),
        TaskCommand::Fail(args) => fail::cmd_fail(context, &args),
        TaskCommand::Reset(args) => reset::cmd_reset(context, &args),
        TaskCommand::Delete(args) => delete::cmd_delete(context, &args),
        TaskCommand::Restore(args) => restore::cmd_restore(context, &args),
        TaskCommand::Log(args) => log::cmd_log(context, &args),
    }
}

/// Opens the database for writing, creating it if necessary.
pub(crate) fn store_to_write(context: &Context<'_>) -> Result<Store, CommandError> {
    let path = context.project.database();
    if let Some(folder) = path.parent() {
        context.project.env().prepare_database_folder(folder)?;
    }
    let mut store = Store::open_or_create(&context.project.fact_store())?;
    // Claims of dead runs are released here, so that their tasks can be changed.
    store.free_dead_claims(&RunProcess::is_alive, context.clock().now())?;
    store.act_as(context.actor.author());
    Ok(store)
}

/// Opens the database for writing and finds an existing task.
fn find_to_change(context: &Context<'_>, id: &str) -> Result<(Store, TaskId), CommandError> {
    refuse_without_database(context, Some(id))?;
    let store = store_to_write(context)?;
    let task = store.find_task(id)?;
    Ok((store, task))
}

/// Fails if a task is named but there is no database, instead of creating one.
fn refuse_without_database(context: &Context<'_>, id: Option<&str>) -> Result<(), CommandError> {
    let Some(id) = id.filter(|_| !Store::exists(&context.project.database())) else {
        return Ok(());
    };
    // The file may be another tool's database, which is the better error.
    context.facts()?;
    Err(TaskError::Unknown { text: id.to_owned() }.into())
}

/// Opens the database for reading and finds an existing task.
pub(super) fn find_to_read(context: &Context<'_>, id: &str) -> Result<(Store, TaskId), CommandError> {
    let store = context
        .facts()?
        .ok_or_else(|| TaskError::Unknown { text: id.to_owned() })?;
    let task = store.find_task(id)?;
    Ok((store, task))
}

/// Validates checks. They run on the user's machine, so agents cannot add them.
fn checks(context: &Context<'_>, commands: Vec<String>, policy: SecretPolicy) -> Result<Vec<String>, CommandError> {
    if !commands.is_empty() && context.actor != Actor::Person {
        return Err(CommandError::new("`--check` is refused inside an iteration")
            .hint("put the command in the description; a person can add it as a check"));
    }
    for command in &commands {
        accept(command, policy)?;
    }
    remember_checks(context, &commands)?;
    Ok(commands)
}

fn find_all(store: &Store, ids: &[String]) -> Result<Vec<TaskId>, CommandError> {
    let found = ids.iter().map(|id| store.find_task(id));
    Ok(found.collect::<Result<_, _>>()?)
}

/// Where a task counts as done that a person marks done here. HEAD contains the work only if nothing is uncommitted;
/// otherwise other worktrees must not count the task as done by that commit.
pub(crate) fn done_here(context: &Context<'_>) -> DoneIn {
    let project = &context.project;
    let files = ProjectFiles::new(&project.root, &project.root, own_files(context));
    let all_committed = files.dirty_files().is_ok_and(|files| files.is_empty());
    let head = project.worktree.as_ref().filter(|_| all_committed);
    DoneIn {
        worktree: project.worktree_name().to_owned(),
        commit: head.and_then(crate::git::Worktree::commit),
    }
}

/// Where the ticked items of a list count as done. Runs git only if there are any.
pub(crate) fn ticked_here(context: &Context<'_>, items: &[ImportItem]) -> DoneIn {
    if items.iter().any(|item| item.done) {
        return done_here(context);
    }
    DoneIn {
        worktree: context.project.worktree_name().to_owned(),
        commit: None,
    }
}

/// Commits of tasks done in other worktrees that are in HEAD here. Runs git only if there are such tasks.
pub(crate) fn commits_of_others_here(context: &Context<'_>, store: &Store) -> Result<BTreeSet<String>, CommandError> {
    let commits = store.commits_of_other_worktrees(context.project.worktree_name())?;
    if commits.is_empty() {
        return Ok(commits);
    }
    commits_in_head(&context.project.root, &commits).map_err(|error| CommandError::new(error.to_string()))
}

/// Columns of a task title in a message about it.
pub(crate) const MENTION_COLUMNS: usize = 60;

/// The dependencies that block a task or its subtasks, except on each other, as id and title.
pub(crate) fn blockers(store: &Store, task: &Task) -> Result<Vec<String>, CommandError> {
    let (mut inside, mut found) = (BTreeSet::new(), BTreeMap::new());
    let mut queue = vec![(task.id.clone(), task.status)];
    while let Some((id, status)) = queue.pop() {
        if status != TaskStatus::Done && inside.insert(id.clone()) {
            let waits = store.waits_for(&id)?.into_iter();
            found.extend(waits.map(|blocker| (blocker.task, blocker.needs_person)));
            queue.extend(store.children(&id)?.into_iter().map(|part| (part.id, part.status)));
        }
    }
    let mut named = Vec::new();
    for (id, needs_person) in found.into_iter().filter(|(id, _)| !inside.contains(id)) {
        let title = store.task(&id)?.map(|task| preview(&task.title, MENTION_COLUMNS));
        let person = if needs_person { ", which needs attention" } else { "" };
        named.push(format!("{id} ({}){person}", title.unwrap_or_default()));
    }
    Ok(named)
}

fn title(text: &str, policy: SecretPolicy) -> Result<String, CommandError> {
    let title = accept(text, policy)?.trim().to_owned();
    if title.contains('\n') {
        return Err(CommandError::usage("a title must be one line")
            .hint("put the rest into --description; `-` reads standard input"));
    }
    Ok(title)
}

/// The description of a task, which may be empty; `-` reads standard input.
fn description(context: &Context<'_>, text: String, policy: SecretPolicy) -> Result<String, CommandError> {
    let text = text_argument(context, text)?;
    if text.trim().is_empty() {
        return Ok(String::new());
    }
    Ok(accept(text.trim_end(), policy)?.into_owned())
}
