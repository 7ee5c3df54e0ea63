//! `ralph feature …`, one file a verb.

mod create;
mod delete;
mod list;
mod show;

use clap::Subcommand;
use ralph_model::{Feature, FeatureStatus, TaskCounts};
use ralph_store::{FeatureError, Store};

use crate::commands::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum FeatureCommand {
    Create(create::CreateArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Delete(delete::DeleteArgs),
}

/// Runs one of the feature commands.
pub(crate) fn run(context: &Context<'_>, command: &FeatureCommand) -> Result<(), CommandError> {
    match command {
        FeatureCommand::Create(args) => create::cmd_create(context, args),
        FeatureCommand::List(args) => list::cmd_list(context, args),
        FeatureCommand::Show(args) => show::cmd_show(context, args),
        FeatureCommand::Delete(args) => delete::cmd_delete(context, args),
    }
}

/// Without a database there is no feature, and none is made for a question that has no answer.
pub(crate) fn refuse_where_nothing_is(context: &Context<'_>, feature: Option<&str>) -> Result<(), CommandError> {
    let Some(feature) = feature.filter(|_| !Store::is_there(&context.project.database())) else {
        return Ok(());
    };
    // What is there instead may be another tool's, which is the better answer.
    context.facts()?;
    Err(unknown(feature).into())
}

/// A feature that must be there already, in a database to look at it.
fn find_to_read(context: &Context<'_>, text: &str) -> Result<(Store, Feature), CommandError> {
    let store = context.facts()?.ok_or_else(|| unknown(text))?;
    let feature = store.feature(text)?;
    Ok((store, feature))
}

/// The same in a database to change it in.
fn find_to_change(context: &Context<'_>, text: &str) -> Result<(Store, Feature), CommandError> {
    refuse_where_nothing_is(context, Some(text))?;
    let store = store_to_write(context)?;
    let feature = store.feature(text)?;
    Ok((store, feature))
}

pub(crate) fn unknown(text: &str) -> FeatureError {
    FeatureError::Unknown { text: text.to_owned() }
}

/// The word for where a feature stands, as a person reads it.
pub(crate) fn status(status: FeatureStatus) -> String {
    status.word().replace('_', " ")
}

/// How much of a feature is done, in words.
pub(crate) fn progress(tasks: &TaskCounts) -> String {
    match tasks.total() {
        0 => "no tasks yet".to_owned(),
        total => format!("{} of {total} done", tasks.done),
    }
}
