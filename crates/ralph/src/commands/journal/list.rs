//! `ralph journal list`.

use clap::{Args, builder::PossibleValuesParser, builder::TypedValueParser};
use ralph_model::{Outcome, TaskId};
use ralph_store::{JournalFilter, Store};

use super::view;
use super::which::find_run;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;
use crate::when::{When, beginning, end};

/// List iterations, the newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph journal list
  ralph journal list --since 7d            # of the last seven days
  ralph journal list --outcome failed --since 2025-01-20
  ralph journal list --file src/parser.rs  # a file, a file's name or a folder
  ralph journal list --run run-1a2b3c4d --json")]
pub(crate) struct ListArgs {
    /// Only those of this run, by its id or the beginning of it
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only those of this task, which may have been deleted since
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only those that ended so
    #[arg(long, value_name = "OUTCOME", value_parser = outcomes())]
    outcome: Option<Outcome>,
    /// Only those that changed this file, one of this name, or one in this folder
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Only those from this day or moment on, in UTC, or from so long ago: 12h, 7d, 2w
    #[arg(long, value_name = "WHEN", value_parser = beginning)]
    since: Option<When>,
    /// Only those up to this day, which counts, or before this moment, in UTC, or before so long ago
    #[arg(long, value_name = "WHEN", value_parser = end)]
    until: Option<When>,
    /// At most so many; 0 is all
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    limit: u32,
    /// Write them as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_list(context: &Context<'_>, args: &ListArgs) -> Result<(), CommandError> {
    let rows = match context.facts()? {
        Some(store) => store.journal_list(&filter(context, &store, args)?)?,
        None => Vec::new(),
    };
    if args.json {
        return context.ui.json(&rows);
    }
    if rows.is_empty() {
        return context.ui.data("No iterations found\n");
    }
    view::table(context, &rows)
}

fn filter(context: &Context<'_>, store: &Store, args: &ListArgs) -> Result<JournalFilter, CommandError> {
    let now = context.clock().now();
    Ok(JournalFilter {
        run: args.run.as_deref().map(|run| find_run(store, run)).transpose()?,
        task: args.task.as_deref().map(|task| find_task(store, task)).transpose()?,
        outcome: args.outcome,
        file: args.file.clone(),
        since: args.since.map(|when| when.moment(now)),
        until: args.until.map(|when| when.moment(now)),
        limit: (args.limit > 0).then_some(args.limit),
    })
}

/// The journal outlives its tasks, so a whole id is taken as it is.
fn find_task(store: &Store, text: &str) -> Result<TaskId, CommandError> {
    match TaskId::parse(text) {
        Some(task) => Ok(task),
        None => Ok(store.find_task(text)?),
    }
}

fn outcomes() -> impl TypedValueParser<Value = Outcome> {
    let words = Outcome::ALL.iter().map(|outcome| outcome.word());
    PossibleValuesParser::new(words)
        .try_map(|word| Outcome::parse(&word).ok_or_else(|| format!("there is no outcome {word}")))
}
