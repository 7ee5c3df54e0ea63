//! `learnings merge`: merges learnings of another project into this one.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_memory::exchange::transferred;
use ralph_store::{ForeignLearning, LearningFilter, Store};

use super::super::task::store_to_write;
use super::incoming::{Incoming, Tally, Trust, copy_to_try, files_at};
use super::list::CURRENT;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Project;

/// Merge learnings of another project into this one
///
/// OTHER is a project folder, its .ralph/progress.db, or a JSON store; it is not changed. Learnings with the same id or
/// the same text are merged. Rejected and retired learnings of the other project are skipped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings merge ../other-project
  ralph learnings merge ../other-project/.ralph/progress.db
  ralph learnings merge ~/backup/ralph-learnings.json")]
pub(crate) struct MergeArgs {
    /// Project folder, its database, or a JSON store
    #[arg(value_name = "OTHER")]
    other: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_merge(context: &Context<'_>, args: &MergeArgs) -> Result<(), CommandError> {
    let path = std::path::absolute(&args.other)
        .map_err(|error| CommandError::usage(format!("{}: {error}", args.other.display())))?;
    let incoming = match database_at(context, &path)? {
        Some(database) => Incoming::of(context, &database, learnings_in(&database)?),
        None => Incoming::read(context, &files_at(context, &path)?, Trust::Checksum)?,
    };
    // Fail before creating anything next to another tool's database.
    context.facts()?;
    let mut store = store_to_write(context)?;
    let before = count_current(&store)?;
    let taken = incoming.take_over(context, &mut store)?;
    let after = count_current(&store)?;
    if args.json {
        let mut result = incoming.json(&taken);
        if let Some(result) = result.as_object_mut() {
            result.insert("before".to_owned(), before.into());
            result.insert("after".to_owned(), after.into());
        }
        return context.ui.json(&result);
    }
    incoming.report_remarks(context);
    let line = format!("Merged {before} + {} = {after} learnings", incoming.learnings.len());
    context.ui.result("📝", &line)?;
    let summary = Tally::of(&taken).summary();
    if !summary.is_empty() {
        context.ui.status(&format!("Of the merged ones: {summary}."));
    }
    incoming.report_rejected(context, &taken);
    Ok(())
}

/// The database at a path, or of the project in a folder; none if there is no ralph database.
fn database_at(context: &Context<'_>, path: &Path) -> Result<Option<PathBuf>, CommandError> {
    let database = if path.is_dir() {
        Project::at(path.to_owned()).database()
    } else {
        path.to_owned()
    };
    if !Store::exists(&database) {
        return Ok(None);
    }
    let is_same = |one: &Path, other: &Path| {
        one.canonicalize()
            .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
    };
    if is_same(&database, &context.project.database()) {
        let shown = path.display();
        return Err(CommandError::usage(format!(
            "{shown} is this project; nothing to merge"
        )));
    }
    Ok(Some(database))
}

/// Learnings of another project, read from a copy: the database may be older than this program and need migrating.
fn learnings_in(database: &Path) -> Result<Vec<ForeignLearning>, CommandError> {
    let (_folder, copy) = copy_to_try(database)?;
    let learnings = copy.learnings_with_originals()?;
    let learnings = learnings
        .iter()
        .filter_map(|(learning, original)| transferred(learning, original.as_deref()));
    Ok(learnings.collect())
}

fn count_current(store: &Store) -> Result<usize, CommandError> {
    let filter = LearningFilter {
        statuses: CURRENT.to_vec(),
        ..LearningFilter::default()
    };
    Ok(store.learning_list(&filter, None)?.len())
}
