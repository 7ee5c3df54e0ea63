//! `knowledge restore`: brings a deleted entry back, or an earlier version of one.

use clap::Args;
use ralph_memory::capture::{GoneKnowledge, PutBack};
use ralph_model::moment_text;
use serde_json::json;

use super::library::Library;
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;
use crate::table::{Column, Fit};
use crate::ui::showing;

/// Restore a deleted knowledge entry, or an earlier version
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge restore --list
  ralph knowledge restore the-test-database
  ralph knowledge restore the-test-database --version 2  # of show --history")]
pub(crate) struct RestoreArgs {
    /// File of the entry, with or without .md
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// List what can be restored
    #[arg(long, conflicts_with_all = ["name", "version"])]
    list: bool,
    /// Go back to this version
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    version: Option<usize>,
    #[command(flatten)]
    format: FormatArgs,
}

const COLUMNS: [Column; 3] = [
    Column {
        title: "FILE",
        fit: Fit::Whole,
    },
    Column {
        title: "GONE SINCE",
        fit: Fit::Whole,
    },
    Column {
        title: "HOW",
        fit: Fit::Whole,
    },
];

pub(super) fn cmd_restore(context: &Context<'_>, args: &RestoreArgs) -> Result<(), CommandError> {
    let knowledge = context.knowledge();
    knowledge.look(context.clock().now());
    let Some(name) = &args.name else {
        return list(context, &knowledge.gone()?, args.format.get());
    };
    let file = if name.ends_with(".md") {
        name.clone()
    } else {
        format!("{name}.md")
    };
    // A deleted entry is known by its file alone; one that is there also by its title.
    let file = match Library::read(context)?.find(name) {
        Ok(entry) if knowledge.history(&file)?.is_empty() => entry.file.clone(),
        _ => file,
    };
    if knowledge.history(&file)?.is_empty() {
        let error = CommandError::new(format!("Knowledge not found: {name}"));
        return Err(error.hint("`ralph knowledge restore --list` shows what can be restored"));
    }
    let outcome = knowledge.restore(&file, args.version, context.clock().now())?;
    let path = knowledge.path().join(&file);
    let shown = context.project.shown(&path);
    let change = match outcome {
        PutBack::Done => "restored",
        PutBack::Before => "unchanged",
        PutBack::Kept => {
            let error = CommandError::new(format!("{shown} was changed in the meantime, and was left as it is"));
            return Err(error.hint("run the command again"));
        }
    };
    match args.format.get() {
        Format::Json => context.ui.json(&json!({ "file": shown.to_string(), "change": change })),
        Format::Quiet => context.ui.data(&format!("{shown}\n")),
        Format::Table | Format::Markdown => context.ui.result("📝", &format!("Knowledge {change}: {shown}")),
    }
}

fn list(context: &Context<'_>, gone: &[GoneKnowledge], format: Format) -> Result<(), CommandError> {
    match format {
        Format::Json => {
            let gone: Vec<_> = gone
                .iter()
                .map(|gone| {
                    json!({
                        "file": gone.file,
                        "at": moment_text(gone.last.at),
                        "how": gone.last.change.action.word(),
                        "text": gone.last.change.text,
                    })
                })
                .collect();
            context.ui.json(&gone)
        }
        Format::Quiet => context
            .ui
            .data(&gone.iter().map(|gone| format!("{}\n", gone.file)).collect::<String>()),
        Format::Table | Format::Markdown if gone.is_empty() => context.ui.data("Nothing to restore.\n"),
        Format::Table | Format::Markdown => {
            let row = |gone: &GoneKnowledge| {
                vec![
                    gone.file.clone(),
                    format!("{:.0}", gone.last.at),
                    gone.last.change.action.word().replace('_', " "),
                ]
            };
            let rows: Vec<Vec<String>> = gone.iter().map(row).collect();
            context
                .ui
                .table(&COLUMNS, &rows, &showing(rows.len(), "entry", "entries"))
        }
    }
}
