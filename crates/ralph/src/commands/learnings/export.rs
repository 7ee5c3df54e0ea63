//! `learnings export`: writes learnings for an earlier tool, for spreadsheets, for people.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ralph_memory::exchange::{ForeignFile, Kept, csv, exported, markdown, save};
use ralph_model::{Learning, LearningStatus, count};
use ralph_notes::write_new_file;

use crate::context::Context;
use crate::error::CommandError;

/// Write the learnings that hold as JSON, CSV or Markdown
///
/// JSON is the store of an earlier tool, with its checksum; learnings that came from there go back as they came, but for what
/// has changed since. Such a store in the place of FILE becomes its backup, and a file that is none is kept beside it; for the
/// other forms there must be no FILE yet.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings export json --to .aiwg/knowledge/ralph-learnings.json
  ralph learnings export csv > learnings.csv
  ralph learnings export markdown --all --to LEARNINGS.md")]
pub(crate) struct ExportArgs {
    /// In which form
    #[arg(value_enum, value_name = "FORM")]
    form: Form,
    /// The file to write; without it the standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Those too that wait for a judgement or were rejected; never what was pruned, or what another one took the place of
    #[arg(long)]
    all: bool,
}

/// In which form learnings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The store of an earlier tool
    Json,
    /// A table for spreadsheets
    Csv,
    /// A page for people
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

/// Whether a learning is wanted: what others have taken the place of, or nobody has needed for long, is not.
fn is_wanted(learning: &Learning, all: bool) -> bool {
    let is_standing = match learning.status {
        LearningStatus::Promoted => true,
        LearningStatus::Pending | LearningStatus::Validated | LearningStatus::Rejected => all,
        LearningStatus::Pruned => false,
    };
    is_standing && learning.superseded_by.is_none()
}

fn write_store(context: &Context<'_>, file: &ForeignFile, path: &Path) -> Result<(), CommandError> {
    let shown = |path: &Path| context.project.shown(path).to_string();
    match save(file, path, &context.patience())? {
        Kept::Nothing => {}
        Kept::AsBackup(backup) => {
            let line = format!("The store that was there is its backup now: {}.", shown(&backup));
            context.ui.status(&line);
        }
        Kept::AsBroken(aside) => {
            let line = format!("What was there was no good store; it is kept as {}.", shown(&aside));
            context.ui.warning(&line);
        }
    }
    Ok(())
}

fn write_new(context: &Context<'_>, text: &str, path: &Path) -> Result<(), CommandError> {
    write_new_file(path, text.as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let shown = context.project.shown(path);
            CommandError::new(format!("{shown} is there already, and was left as it is"))
                .hint("name another file, or remove this one")
        }
        _ => error.into(),
    })
}
