//! `feature delete`: takes a feature away, and never what a person wrote about it.

use std::path::Path;

use clap::Args;
use ralph_memory::inject::{FeatureFile, FeatureFileText};
use ralph_model::{FeatureName, count};
use ralph_notes::read_file;
use ralph_store::TasksOfFeature;

use super::find_to_change;
use crate::changed_file::remove_file;
use crate::context::Context;
use crate::error::CommandError;

/// Delete a feature; its tasks stay, and what was tried stays on record
///
/// What a person wrote in its specification and plan is never deleted. Files as ralph made them go with the feature.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph feature delete search
  ralph feature delete search --with-tasks")]
pub(crate) struct DeleteArgs {
    /// Its name, its id, or the beginning of it
    #[arg(value_name = "NAME")]
    feature: String,
    /// Delete its tasks too, with everything below them
    #[arg(long)]
    with_tasks: bool,
}

pub(super) fn cmd_delete(context: &Context<'_>, args: &DeleteArgs) -> Result<(), CommandError> {
    let (mut store, feature) = find_to_change(context, &args.feature)?;
    let reach = if args.with_tasks {
        TasksOfFeature::Go
    } else {
        TasksOfFeature::Stay
    };
    let deleted = store.delete_feature(&feature.id, reach, context.clock().now())?;
    let tasks = deleted.tasks.len();
    if tasks > 0 {
        context.ui.status(&match reach {
            TasksOfFeature::Go => format!("With {} of it.", count(tasks, "task", "tasks")),
            TasksOfFeature::Stay => {
                let tasks = count(tasks, "task of it stays and belongs", "tasks of it stay and belong");
                format!("{tasks} to no feature.")
            }
        });
    }
    let name = &deleted.feature.name;
    if let Err(error) = remove_unwritten(context, name) {
        let (why, _) = error.lines().unwrap_or_default();
        context
            .ui
            .warning(&format!("What ralph made for it is still there: {why}."));
    }
    let folder = context.features().folder_of(name);
    if folder.exists() {
        let shown = context.features().shown_folder(name);
        context
            .ui
            .status(&format!("What is written about it stays in {shown}."));
    }
    context.ui.result("🗑️ ", &format!("Feature deleted: {}", feature.id))
}

/// Takes away the files in which nobody has written anything, and the folder when nothing else is in it.
fn remove_unwritten(context: &Context<'_>, name: &FeatureName) -> Result<(), CommandError> {
    let features = context.features();
    for file in FeatureFile::ALL {
        let path = features.file(name, file);
        // A link is somebody's own doing.
        if path.is_symlink() || !path.is_file() {
            continue;
        }
        let Some(found) = read_file(&path)? else { continue };
        if features.text(name, file) == FeatureFileText::Unwritten {
            remove_file(&path, &context.patience(), &found.bytes)?;
        }
    }
    remove_if_empty(&features.folder_of(name))
}

fn remove_if_empty(folder: &Path) -> Result<(), CommandError> {
    let is_empty = std::fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_none());
    if is_empty && !folder.is_symlink() {
        std::fs::remove_dir(folder)
            .map_err(|error| CommandError::new(format!("cannot remove {}: {error}", folder.display())))?;
    }
    Ok(())
}
