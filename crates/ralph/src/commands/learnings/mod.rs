//! `ralph learnings …`, one file per verb.

mod add;
mod clear;
mod conflicts;
mod delete;
mod export;
mod extract;
mod import;
pub(crate) mod incoming;
mod input;
mod judge;
mod list;
mod merge;
mod prune;
mod query;
mod ranked;
mod restore;
mod show;
mod stage;
mod stats;
mod supersede;
mod update;
mod validate;
mod verify;
mod view;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ralph_model::{LearningId, LearningKind, TaskId, TaskType};
use ralph_store::{LearningError, Store};

pub(crate) use extract::known;
pub(crate) use input::content as learning_text;
pub(crate) use judge::NO_REASON;
pub(crate) use show::iteration_as_json;

use super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum LearningsCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Query(query::QueryArgs),
    Extract(extract::ExtractArgs),
    Promote(judge::PromoteArgs),
    Reject(judge::RejectArgs),
    Prune(prune::PruneArgs),
    Restore(restore::RestoreArgs),
    Stage(stage::StageArgs),
    Validate(validate::ValidateArgs),
    Update(update::UpdateArgs),
    Delete(delete::DeleteArgs),
    Clear(clear::ClearArgs),
    Stats(stats::StatsArgs),
    Conflicts(conflicts::ConflictsArgs),
    Supersede(supersede::SupersedeArgs),
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Merge(merge::MergeArgs),
}

impl LearningsCommand {
    /// Ids of the learnings that the command would change.
    pub(crate) fn targets(&self) -> Vec<&str> {
        match self {
            Self::Promote(args) => args.ids(),
            Self::Reject(args) => args.ids(),
            Self::Restore(args) => args.ids(),
            Self::Update(args) => vec![args.id()],
            Self::Delete(args) => args.ids(),
            Self::Supersede(args) => args.ids(),
            _ => Vec::new(),
        }
    }
}

pub(crate) fn run(context: &Context<'_>, command: LearningsCommand) -> Result<(), CommandError> {
    match command {
        LearningsCommand::Add(args) => add::cmd_add(context, args),
        LearningsCommand::List(args) => list::cmd_list(context, &args),
        LearningsCommand::Show(args) => show::cmd_show(context, &args),
        LearningsCommand::Query(args) => query::cmd_query(context, &args),
        LearningsCommand::Extract(args) => extract::cmd_extract(context, &args),
        LearningsCommand::Promote(args) => judge::cmd_promote(context, &args),
        LearningsCommand::Reject(args) => judge::cmd_reject(context, &args),
        LearningsCommand::Prune(args) => prune::cmd_prune(context, &args),
        LearningsCommand::Restore(args) => restore::cmd_restore(context, &args),
        LearningsCommand::Stage(args) => stage::cmd_stage(context, &args),
        LearningsCommand::Validate(args) => validate::cmd_validate(context, &args),
        LearningsCommand::Update(args) => update::cmd_update(context, args),
        LearningsCommand::Delete(args) => delete::cmd_delete(context, &args),
        LearningsCommand::Clear(args) => clear::cmd_clear(context, &args),
        LearningsCommand::Stats(args) => stats::cmd_stats(context, &args),
        LearningsCommand::Conflicts(args) => conflicts::cmd_conflicts(context, &args),
        LearningsCommand::Supersede(args) => supersede::cmd_supersede(context, &args),
        LearningsCommand::Verify(args) => verify::cmd_verify(context, &args),
        LearningsCommand::Export(args) => export::cmd_export(context, &args),
        LearningsCommand::Import(args) => import::cmd_import(context, &args),
        LearningsCommand::Merge(args) => merge::cmd_merge(context, &args),
    }
}

/// Opens the database for writing and finds existing learnings, without duplicates. A missing database is not created.
fn find_to_change(context: &Context<'_>, ids: &[String]) -> Result<(Store, Vec<LearningId>), CommandError> {
    if let Some(first) = ids.first().filter(|_| !Store::exists(&context.project.database())) {
        // The file may be another tool's database, which is the better error.
        context.facts()?;
        return Err(LearningError::Unknown { text: first.clone() }.into());
    }
    let store = store_to_write(context)?;
    let mut found: Vec<LearningId> = Vec::new();
    for id in ids {
        let id = store.find_learning(id)?;
        if !found.contains(&id) {
            found.push(id);
        }
    }
    Ok((store, found))
}

/// Asks before an action that cannot be undone.
fn confirmed(context: &Context<'_>, question: &str) -> Result<(), CommandError> {
    match context.ui.confirm(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("nothing was deleted")),
        None => {
            Err(CommandError::new("nothing was deleted: no terminal to ask on")
                .hint("pass --yes to delete without asking"))
        }
    }
}

/// Resolves a task id. Learnings outlive their tasks, so a full id need not exist.
fn task_of(store: &Store, text: &str) -> Result<TaskId, CommandError> {
    match TaskId::parse(text) {
        Some(task) => Ok(task),
        None => Ok(store.find_task(text)?),
    }
}

fn kinds() -> impl TypedValueParser<Value = LearningKind> {
    PossibleValuesParser::new(LearningKind::ALL.iter().map(|kind| kind.word()))
        .try_map(|word| LearningKind::parse(&word).ok_or_else(|| format!("there is no kind {word}")))
}

fn task_types() -> impl TypedValueParser<Value = TaskType> {
    PossibleValuesParser::new(TaskType::ALL.iter().map(|kind| kind.word()))
        .try_map(|word| TaskType::parse(&word).ok_or_else(|| format!("there is no task type {word}")))
}

/// Normalises a category for comparison: agents write them in any case.
fn category(text: &str) -> String {
    text.trim().to_lowercase()
}
