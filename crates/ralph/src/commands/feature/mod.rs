//! `ralph feature …`, one file a verb.

mod create;
mod delete;
mod list;
mod show;

use clap::Subcommand;
use ralph_memory::inject::FeatureFile;
use ralph_model::{Feature, FeatureName, FeatureStatus, TaskCounts};
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
    Err(unknown(context, feature))
}

/// A feature that must be there already, in a database to look at it.
fn find_to_read(context: &Context<'_>, text: &str) -> Result<(Store, Feature), CommandError> {
    let store = context.facts()?.ok_or_else(|| unknown(context, text))?;
    let feature = named(context, &store, text)?;
    Ok((store, feature))
}

/// The same in a database to change it in.
fn find_to_change(context: &Context<'_>, text: &str) -> Result<(Store, Feature), CommandError> {
    refuse_where_nothing_is(context, Some(text))?;
    let store = store_to_write(context)?;
    let feature = named(context, &store, text)?;
    Ok((store, feature))
}

/// The feature of a name or id.
pub(crate) fn named(context: &Context<'_>, store: &Store, text: &str) -> Result<Feature, CommandError> {
    store.feature(text).map_err(|error| match error {
        FeatureError::Unknown { .. } => unknown(context, text),
        error => error.into(),
    })
}

/// There is no such feature; what is written about one, as in a fresh clone, can be taken up.
pub(crate) fn unknown(context: &Context<'_>, text: &str) -> CommandError {
    let error = CommandError::from(FeatureError::Unknown { text: text.to_owned() });
    match written_only(context, text) {
        Some(name) => {
            let folder = context.features().shown_folder(&name);
            error.hint(format!(
                "`ralph feature create {name}` takes up what is written in {folder}"
            ))
        }
        None => error,
    }
}

/// The name of what is written about, in whatever capitals it is given, where it is asked for because no feature on record
/// has it.
pub(crate) fn written_only(context: &Context<'_>, text: &str) -> Option<FeatureName> {
    unrecorded(context, &[]).into_iter().find(|name| name.is(text))
}

/// The names of what is written about, but is no feature on record here: the files are git's, the record is not.
fn unrecorded(context: &Context<'_>, known: &[Feature]) -> Vec<FeatureName> {
    let folders = std::fs::read_dir(context.features().path)
        .into_iter()
        .flatten()
        .flatten();
    let names = folders.filter_map(|folder| FeatureName::new(folder.file_name().to_str()?).ok());
    let is_known = |name: &FeatureName| known.iter().any(|known| known.name.is(name.as_str()));
    let mut names: Vec<FeatureName> = names
        .filter(|name| !is_known(name) && is_written(context, name))
        .collect();
    names.sort();
    names
}

fn is_written(context: &Context<'_>, name: &FeatureName) -> bool {
    FeatureFile::ALL
        .iter()
        .any(|file| context.features().file(name, *file).is_file())
}

/// The status of a feature, as a person reads it.
fn status(feature: &Feature) -> String {
    match feature.status {
        FeatureStatus::Done if feature.tasks.unverified > 0 => format!("{}, unverified", feature.status),
        status => status.word().replace('_', " "),
    }
}

/// How much of a feature is done, in words.
pub(crate) fn progress(tasks: &TaskCounts) -> String {
    match tasks.total() {
        0 => "no tasks yet".to_owned(),
        total if tasks.unverified > 0 => format!("{} of {total} done, {} unverified", tasks.done, tasks.unverified),
        total => format!("{} of {total} done", tasks.done),
    }
}
