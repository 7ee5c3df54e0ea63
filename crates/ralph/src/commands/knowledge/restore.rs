//! `knowledge restore`: restores a deleted entry, or an earlier version.

use clap::Args;
use ralph_memory::capture::{MissingKnowledge, RestoreOutcome};
use ralph_model::format_timestamp;
use serde_json::json;

use super::library::Library;
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;
use crate::table::Column;

/// Restore a deleted knowledge entry, or an earlier version
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge restore --list
  ralph knowledge restore the-test-database
  ralph knowledge restore test-database --version 2  # see show --history")]
pub(crate) struct RestoreArgs {
    /// File, with or without .md
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// List entries that can be restored
    #[arg(long, conflicts_with_all = ["name", "version"])]
    list: bool,
    /// Restore this version
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    version: Option<usize>,
    #[command(flatten)]
    format: FormatArgs,
}

const COLUMNS: [Column; 3] = [Column::whole("FILE"), Column::whole("REMOVED"), Column::whole("HOW")];

pub(super) fn cmd_restore(context: &Context<'_>, args: &RestoreArgs) -> Result<(), CommandError> {
    let knowledge = context.knowledge();
    knowledge.detect_changes(context.clock().now());
    let Some(name) = &args.name else {
        return list(context, &knowledge.missing()?, args.format.get());
    };
    let file = if name.ends_with(".md") {
        name.clone()
    } else {
        format!("{name}.md")
    };
    // A deleted entry can only be found by its file name, an existing one also by its title.
    let file = match Library::read(context)?.find(name) {
        Ok(entry) if knowledge.history(&file)?.is_empty() => entry.file.clone(),
        _ => file,
    };
    if knowledge.history(&file)?.is_empty() {
        let error = CommandError::new(format!("Knowledge not found: {name}"));
        return Err(error.hint("list entries that can be restored with `ralph knowledge restore --list`"));
    }
    let outcome = knowledge.restore(&file, args.version, context.clock().now())?;
    let path = knowledge.path().join(&file);
    let shown = context.project.shown(&path);
    let change = match outcome {
        RestoreOutcome::Done => "restored",
        RestoreOutcome::Unchanged => "unchanged",
        RestoreOutcome::Kept => {
            let error = CommandError::new(format!("{shown} was changed concurrently; nothing was restored"));
            return Err(error.hint("run the command again"));
        }
    };
    let object = json!({ "file": shown.to_string(), "change": change });
    let line = format!("Knowledge {change}: {shown}");
    context
        .ui
        .acknowledge(args.format.get(), (&object, &shown), ("📝", &line))
}

fn list(context: &Context<'_>, missing: &[MissingKnowledge], format: Format) -> Result<(), CommandError> {
    match format {
        Format::Json => {
            let entries: Vec<_> = missing
                .iter()
                .map(|entry| {
                    json!({
                        "file": entry.file,
                        "at": format_timestamp(entry.last.at),
                        "how": entry.last.change.action.word(),
                        "text": entry.last.change.text,
                    })
                })
                .collect();
            context.ui.json(&entries)
        }
        Format::Quiet => context.ui.data(
            &missing
                .iter()
                .map(|entry| format!("{}\n", entry.file))
                .collect::<String>(),
        ),
        Format::Table | Format::Markdown => {
            let row = |entry: &MissingKnowledge| {
                vec![
                    entry.file.clone(),
                    format!("{:.0}", entry.last.at),
                    entry.last.change.action.word().replace('_', " "),
                ]
            };
            let nouns = ("entry", "entries");
            context.ui.list((&COLUMNS, missing), row, nouns, "Nothing to restore.")
        }
    }
}
