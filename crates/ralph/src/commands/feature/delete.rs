//! `feature delete`: deletes a feature, but never files that a person wrote.

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

/// Delete a feature, but keep its tasks
///
/// A specification or plan that was edited is kept; unchanged templates are deleted. The journal is not changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph feature delete search
  ralph feature delete search --with-tasks")]
pub(crate) struct DeleteArgs {
    /// Name, id, or a unique prefix of the id
    #[arg(value_name = "NAME")]
    feature: String,
    /// Also delete its tasks and their subtasks
    #[arg(long)]
    with_tasks: bool,
}

pub(super) fn cmd_delete(context: &Context<'_>, args: &DeleteArgs) -> Result<(), CommandError> {
    let (mut store, feature) = find_to_change(context, &args.feature)?;
    let reach = if args.with_tasks {
        TasksOfFeature::Delete
    } else {
        TasksOfFeature::Keep
    };
    let deleted = store.delete_feature(&feature.id, reach, context.clock().now())?;
    let tasks = deleted.tasks.len();
    if tasks > 0 {
        context.ui.status(&match reach {
            TasksOfFeature::Delete => format!("Also deleted {}.", count(tasks, "task", "tasks")),
            TasksOfFeature::Keep => {
                let tasks = count(tasks, "task", "tasks");
                format!("Kept {tasks}, without a feature.")
            }
        });
    }
    let name = &deleted.feature.name;
    if let Err(error) = remove_unwritten(context, name) {
        let (why, _) = error.lines().unwrap_or_default();
        context
            .ui
            .warning(&format!("Could not delete its template files: {why}."));
    }
    let folder = context.features().folder_of(name);
    if folder.exists() {
        let shown = context.features().shown_folder(name);
        context.ui.status(&format!("Kept the files in {shown}."));
    }
    context.ui.result("🗑️ ", &format!("Feature deleted: {}", feature.id))
}

/// Deletes unchanged template files, and the folder if it is empty.
fn remove_unwritten(context: &Context<'_>, name: &FeatureName) -> Result<(), CommandError> {
    let features = context.features();
    for file in FeatureFile::ALL {
        let path = features.file(name, file);
        // ralph creates no symlinks, so this one is the user's.
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
