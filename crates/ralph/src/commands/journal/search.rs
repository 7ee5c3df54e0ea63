//! `ralph journal search`.

use clap::Args;
use ralph_memory::recall::search_rows;
use ralph_model::JournalRow;
use serde_json::{Value, json};

use super::view;
use crate::commands::notes::found::MoreWords;
use crate::context::Context;
use crate::error::CommandError;

/// Search iterations by task, notes and failure reason
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph journal search \"connection refused\"
  ralph journal search parseConfig --limit 3 --json")]
pub(crate) struct SearchArgs {
    /// Text to search for
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    #[command(flatten)]
    more: MoreWords,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u16,
    /// Print JSON, with scores
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_search(context: &Context<'_>, args: &SearchArgs) -> Result<(), CommandError> {
    let text = args.more.after(&args.text);
    let found = match context.facts()? {
        Some(store) => context.ask_facts(&store, |index| {
            search_rows((index, &store), &text, usize::from(args.limit))
        })?,
        None => Vec::new(),
    };
    if args.json {
        let found: Result<Vec<Value>, serde_json::Error> = found.iter().map(scored).collect();
        return context.ui.json(&found?);
    }
    let rows: Vec<JournalRow> = found.into_iter().map(|(row, _)| row).collect();
    view::table(context, &rows, "No matching iterations found")
}

fn scored((row, score): &(JournalRow, f64)) -> Result<Value, serde_json::Error> {
    let mut object = serde_json::to_value(row)?;
    if let Some(object) = object.as_object_mut() {
        object.insert("score".to_owned(), json!(score));
    }
    Ok(object)
}
