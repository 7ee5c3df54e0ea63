//! `ralph blame`: who wrote and changed a note, a task or a learning.

use clap::Args;
use ralph_model::{AuthorKind, LearningId, TaskId, format_timestamp};
use ralph_store::LoggedChange;
use serde_json::json;

use super::knowledge;
use super::rollback::note_repositories;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

/// Show who changed a note, task or learning
///
/// The note log decides who wrote what; a marker in a file is only a hint. A change made directly in a file has the
/// author "unknown" and the iteration that was open at the time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph blame mem-1737372000-a1b2
  ralph blame .ralph/knowledge/the-test-database.md
  ralph blame t-1a2b3c --json")]
pub(crate) struct BlameArgs {
    /// Id or prefix of a memory, guardrail, task or learning, or file or title of a knowledge entry
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const COLUMNS: [Column; 5] = [
    Column::whole("WHEN"),
    Column::whole("AUTHOR"),
    Column::whole("RUN"),
    Column::whole("ITERATION"),
    Column::cut("WHAT"),
];

pub(crate) fn cmd_blame(context: &Context<'_>, args: &BlameArgs) -> Result<(), CommandError> {
    let changes = changes_of(context, &args.id)?;
    if args.json {
        let rows: Vec<_> = changes.iter().map(as_json).collect();
        return context.ui.json(&rows);
    }
    let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    let id = changes.first().map_or("", |change| change.id.as_str());
    context.ui.table(&COLUMNS, &rows, &format!("History of {id}"))
}

/// The changes of the entry that an id or id prefix names.
fn changes_of(context: &Context<'_>, id: &str) -> Result<Vec<LoggedChange>, CommandError> {
    let not_found = || CommandError::new(format!("no recorded changes for {id}"));
    let id = knowledge::without_folder(id.trim());
    let store = context.facts()?.filter(|_| !id.is_empty()).ok_or_else(not_found)?;
    record_edits(context)?;
    let mut found = store.logged_changes(id)?;
    for prefix in [TaskId::PREFIX, LearningId::PREFIX] {
        if found.is_empty() {
            found = store.logged_changes(&format!("{prefix}{id}"))?;
        }
    }
    let file = format!("{id}.md");
    let exact = found.iter().find(|change| change.id == id || change.id == file);
    if let Some(exact) = exact.map(|change| change.id.clone()) {
        found.retain(|change| change.id == exact);
    } else if let Some(file) = knowledge::file_titled(context, id)? {
        found = store.logged_changes(&file)?;
        found.retain(|change| change.id == file);
    }
    let mut ids: Vec<&str> = found.iter().map(|change| change.id.as_str()).collect();
    ids.dedup();
    match ids.as_slice() {
        [] => Err(not_found()),
        [_] => Ok(found),
        several => Err(CommandError::new(format!(
            "{id} matches several ids: {}",
            several.join(", ")
        ))),
    }
}

/// Records edits made by hand since the last command.
fn record_edits(context: &Context<'_>) -> Result<(), CommandError> {
    for note_repository in note_repositories(context) {
        let findings = note_repository.detect_changes(note_repository.read()?.stamp());
        context.report_findings(&note_repository, &findings);
    }
    context.knowledge().detect_changes(context.clock().now());
    Ok(())
}

fn row(change: &LoggedChange) -> Vec<String> {
    let author = &change.author;
    vec![
        format!("{:.0}", change.at),
        author.kind.word().to_owned(),
        author.run.as_ref().map_or(String::new(), ToString::to_string),
        author.iteration.map_or(String::new(), |number| number.to_string()),
        change.what.replace('_', " "),
    ]
}

fn as_json(change: &LoggedChange) -> serde_json::Value {
    let author = &change.author;
    json!({
        "id": change.id,
        "at": format_timestamp(change.at),
        "what": change.what,
        "author": AuthorKind::word(author.kind),
        "run": author.run,
        "iteration": author.iteration,
    })
}
