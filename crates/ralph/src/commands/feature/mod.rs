//! `ralph feature …`, one file per verb.

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

pub(crate) fn run(context: &Context<'_>, command: &FeatureCommand) -> Result<(), CommandError> {
    match command {
        FeatureCommand::Create(args) => create::cmd_create(context, args),
        FeatureCommand::List(args) => list::cmd_list(context, args),
        FeatureCommand::Show(args) => show::cmd_show(context, args),
        FeatureCommand::Delete(args) => delete::cmd_delete(context, args),
    }
}

/// Fails if a feature is named but there is no database, instead of creating one.
pub(crate) fn refuse_without_database(context: &Context<'_>, feature: Option<&str>) -> Result<(), CommandError> {
    let Some(feature) = feature.filter(|_| !Store::exists(&context.project.database())) else {
        return Ok(());
    };
    // The file may be another tool's database, which is the better error.
    context.facts()?;
    Err(unknown(context, feature))
}

/// Opens the database for reading and finds an existing feature.
fn find_to_read(context: &Context<'_>, text: &str) -> Result<(Store, Feature), CommandError> {
    let store = context.facts()?.ok_or_else(|| unknown(context, text))?;
    let feature = named(context, &store, text)?;
    Ok((store, feature))
}

/// Opens the database for writing and finds an existing feature.
fn find_to_change(context: &Context<'_>, text: &str) -> Result<(Store, Feature), CommandError> {
    refuse_without_database(context, Some(text))?;
    let store = store_to_write(context)?;
    let feature = named(context, &store, text)?;
    Ok((store, feature))
}

/// The feature with a name or id.
pub(crate) fn named(context: &Context<'_>, store: &Store, text: &str) -> Result<Feature, CommandError> {
    store.feature(text).map_err(|error| match error {
        FeatureError::Unknown { .. } => unknown(context, text),
        error => error.into(),
    })
}

/// The error for an unknown feature, with a hint if its files exist, as in a fresh clone.
pub(crate) fn unknown(context: &Context<'_>, text: &str) -> CommandError {
    let error = CommandError::from(FeatureError::Unknown { text: text.to_owned() });
    match written_only(context, text) {
        Some(name) => {
            let folder = context.features().shown_folder(&name);
            error.hint(format!(
                "adopt the files in {folder} with `ralph feature create {name}`"
            ))
        }
        None => error,
    }
}

/// The feature with files but no database record that matches a name, ignoring case.
pub(crate) fn written_only(context: &Context<'_>, text: &str) -> Option<FeatureName> {
    unrecorded(context, &[]).into_iter().find(|name| name.is(text))
}

/// Features with files but no database record: files are in git, the database is not.
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

fn status(feature: &Feature) -> String {
    match feature.status {
        FeatureStatus::Done if feature.tasks.unverified > 0 => format!("{}, unverified", feature.status),
        status => status.word().replace('_', " "),
    }
}

/// Progress in words.
pub(crate) fn progress(tasks: &TaskCounts) -> String {
    match tasks.total() {
        0 => "no tasks yet".to_owned(),
        total if tasks.unverified > 0 => format!("{} of {total} done, {} unverified", tasks.done, tasks.unverified),
        total => format!("{} of {total} done", tasks.done),
    }
}
