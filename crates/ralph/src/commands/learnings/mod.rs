//! `ralph learnings …`: what iterations teach, one file a verb.

mod add;
mod clear;
mod conflicts;
mod delete;
mod export;
mod extract;
pub(crate) mod foreign;
mod handed_in;
mod import;
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

pub(crate) use handed_in::content as learning_text;
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
    /// The learnings that the command names and would change.
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

/// Runs one of the commands about learnings.
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

/// Learnings that must be there already, each once, in a database to change them in. Where there is none, none is made for
/// a question that has no answer.
fn find_to_change(context: &Context<'_>, ids: &[String]) -> Result<(Store, Vec<LearningId>), CommandError> {
    if let Some(first) = ids.first().filter(|_| !Store::is_there(&context.project.database())) {
        // What is there instead may be another tool's, which is the better answer.
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

/// Asks before something is done that cannot be taken back.
fn confirmed(context: &Context<'_>, question: &str) -> Result<(), CommandError> {
    match context.ui.confirm(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("nothing was deleted, as you said")),
        None => Err(CommandError::new("nothing was deleted: there is no terminal to ask at")
            .hint("--yes deletes without asking")),
    }
}

/// A task that learnings may be of. They outlive their tasks, so a whole id is taken as it is.
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
        .try_map(|word| TaskType::parse(&word).ok_or_else(|| format!("there is no kind of work {word}")))
}

/// How the categories of learnings are compared: agents write them in any case.
fn category(text: &str) -> String {
    text.trim().to_lowercase()
}
