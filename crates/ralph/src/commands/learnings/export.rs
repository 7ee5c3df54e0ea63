//! `learnings export`: writes learnings as the JSON store of another tool, as CSV or as Markdown.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ralph_memory::exchange::{ForeignFile, Kept, csv, exported, markdown, save};
use ralph_model::{Learning, LearningStatus, count};
use ralph_notes::write_new_file;

use crate::context::Context;
use crate::error::CommandError;

/// Export active learnings as JSON, CSV or Markdown
///
/// JSON is another tool's learning store, with its checksum; learnings imported from such a store keep their original
/// fields. With JSON, an existing store at FILE becomes its backup, and any other file there is kept next to it. With
/// the other formats FILE must not exist.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings export json --to .aiwg/knowledge/ralph-learnings.json
  ralph learnings export csv > learnings.csv
  ralph learnings export markdown --all --to LEARNINGS.md")]
pub(crate) struct ExportArgs {
    /// The format to write
    #[arg(value_enum, value_name = "FORM")]
    form: Form,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Include pending, validated and rejected learnings; pruned and superseded ones are never exported
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Another tool's learning store
    Json,
    /// Spreadsheet
    Csv,
    /// Markdown page
    Markdown,
}

pub(super) fn cmd_export(context: &Context<'_>, args: &ExportArgs) -> Result<(), CommandError> {
    let mut learnings = match context.facts()? {
        Some(store) => store.learnings_with_originals()?,
        None => Vec::new(),
    };
    learnings.retain(|(learning, _)| is_wanted(learning, args.all));
    let file = || {
        let values = learnings
            .iter()
            .map(|(learning, original)| exported(learning, original.as_deref()));
        ForeignFile::store(values.collect(), context.clock().now())
    };
    let wanted = || learnings.iter().map(|(learning, _)| learning);
    let Some(to) = &args.to else {
        return match args.form {
            Form::Json => context.ui.data(&format!("{}\n", file().text())),
            Form::Csv => context.ui.data(&csv(wanted())),
            Form::Markdown => context.ui.text(&markdown(&wanted().collect::<Vec<_>>())),
        };
    };
    let path = std::path::absolute(to).map_err(|error| CommandError::usage(format!("{}: {error}", to.display())))?;
    match args.form {
        Form::Json => write_store(context, &file(), &path)?,
        Form::Csv => write_new(context, &csv(wanted()), &path)?,
        Form::Markdown => write_new(context, &markdown(&wanted().collect::<Vec<_>>()), &path)?,
    }
    let learnings = count(learnings.len(), "learning", "learnings");
    let line = format!("Exported {learnings} to {}", context.project.shown(&path));
    context.ui.result("📝", &line)
}

/// Whether to export a learning: pruned and superseded ones are left out.
fn is_wanted(learning: &Learning, all: bool) -> bool {
    let is_current = match learning.status {
        LearningStatus::Promoted => true,
        LearningStatus::Pending | LearningStatus::Validated | LearningStatus::Rejected => all,
        LearningStatus::Pruned => false,
    };
    is_current && learning.superseded_by.is_none()
}

fn write_store(context: &Context<'_>, file: &ForeignFile, path: &Path) -> Result<(), CommandError> {
    let shown = |path: &Path| context.project.shown(path).to_string();
    match save(file, path, &context.patience())? {
        Kept::Nothing => {}
        Kept::AsBackup(backup) => {
            let line = format!("Moved the existing store to its backup: {}.", shown(&backup));
            context.ui.status(&line);
        }
        Kept::AsBroken(aside) => {
            let line = format!("The existing file was not a valid store; kept it as {}.", shown(&aside));
            context.ui.warning(&line);
        }
    }
    Ok(())
}

fn write_new(context: &Context<'_>, text: &str, path: &Path) -> Result<(), CommandError> {
    write_new_file(path, text.as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let shown = context.project.shown(path);
            CommandError::new(format!("{shown} already exists")).hint("choose another file, or remove this one")
        }
        _ => error.into(),
    })
}
