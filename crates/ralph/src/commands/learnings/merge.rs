//! `learnings merge`: brings the learnings of another project into this one.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_memory::exchange::handed_over;
use ralph_store::{ForeignLearning, LearningFilter, Store};

use super::super::task::store_to_write;
use super::foreign::{Incoming, Tally, Trust, copy_to_try, files_at};
use super::list::STANDING;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Project;

/// Bring the learnings of another project into this one
///
/// OTHER is the folder of a project, its .ralph/progress.db, or a JSON store; it stays as it is. Learnings with the same id,
/// or that say the same, become one. What was rejected or taken out there does not come along.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings merge ../other-project
  ralph learnings merge ../other-project/.ralph/progress.db
  ralph learnings merge ~/backup/ralph-learnings.json")]
pub(crate) struct MergeArgs {
    /// The other project, its database, or a JSON store
    #[arg(value_name = "OTHER")]
    other: PathBuf,
    /// Write what was done as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_merge(context: &Context<'_>, args: &MergeArgs) -> Result<(), CommandError> {
    let path = std::path::absolute(&args.other)
        .map_err(|error| CommandError::usage(format!("{}: {error}", args.other.display())))?;
    let incoming = match database_at(context, &path)? {
        Some(database) => Incoming::of(context, &database, lessons_in(&database)?),
        None => Incoming::read(context, &files_at(context, &path)?, Trust::Checksum)?,
    };
    // Beside another tool's database nothing is made, not even a folder.
    context.facts()?;
    let mut store = store_to_write(context)?;
    let before = standing(&store)?;
    let taken = incoming.take_over(context, &mut store)?;
    let after = standing(&store)?;
    if args.json {
        let mut told = incoming.json(&taken);
        if let Some(told) = told.as_object_mut() {
            told.insert("before".to_owned(), before.into());
            told.insert("after".to_owned(), after.into());
        }
        return context.ui.json(&told);
    }
    incoming.tell_remarks(context);
    let line = format!("Merged {before} + {} = {after} learnings", incoming.lessons.len());
    context.ui.result("📝", &line)?;
    let told = Tally::of(&taken).told();
    if !told.is_empty() {
        context.ui.status(&format!("Of those that came: {told}."));
    }
    incoming.tell_rejected(context, &taken);
    Ok(())
}

/// The database that a path means: itself, or that of the project in the folder; none where there is none of ours.
fn database_at(context: &Context<'_>, path: &Path) -> Result<Option<PathBuf>, CommandError> {
    let database = if path.is_dir() {
        Project::at(path.to_owned()).database()
    } else {
        path.to_owned()
    };
    if !Store::is_there(&database) {
        return Ok(None);
    }
    let is_same = |one: &Path, other: &Path| {
        one.canonicalize()
            .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
    };
    if is_same(&database, &context.project.database()) {
        let shown = path.display();
        return Err(CommandError::usage(format!(
            "{shown} is this project, so there is nothing to merge"
        )));
    }
    Ok(Some(database))
}

/// What another project has learned. Its database may be older than this program, so a copy is read.
fn lessons_in(database: &Path) -> Result<Vec<ForeignLearning>, CommandError> {
    let (_folder, copy) = copy_to_try(database)?;
    let learnings = copy.learnings_with_originals()?;
    let lessons = learnings
        .iter()
        .filter_map(|(learning, original)| handed_over(learning, original.as_deref()));
    Ok(lessons.collect())
}

/// How many learnings hold here, or wait to.
fn standing(store: &Store) -> Result<usize, CommandError> {
    let filter = LearningFilter {
        statuses: STANDING.to_vec(),
        ..LearningFilter::default()
    };
    Ok(store.learning_list(&filter, None)?.len())
}
