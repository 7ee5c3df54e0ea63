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

/// List iterations, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph journal list
  ralph journal list --since 7d            # the last seven days
  ralph journal list --outcome failed --since 2025-01-20
  ralph journal list --file src/parser.rs  # a file, a file's name or a folder
  ralph journal list --run run-1a2b3c4d --json")]
pub(crate) struct ListArgs {
    /// Only iterations of this run (id or id prefix)
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only iterations of this task, even if it was deleted
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only iterations with this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = outcomes())]
    outcome: Option<Outcome>,
    /// Only iterations that changed this file, a file of this name, or a file in this folder
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Only iterations since this UTC date or time, or this long ago: 12h, 7d, 2w
    #[arg(long, value_name = "WHEN", value_parser = beginning)]
    since: Option<When>,
    /// Only iterations until the end of this UTC date, or before this time or this long ago
    #[arg(long, value_name = "WHEN", value_parser = end)]
    until: Option<When>,
    /// Maximum number of iterations; 0 lists all
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    limit: u32,
    /// Print JSON
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
    view::table(context, &rows, "No iterations found")
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

/// The journal outlives its tasks, so a complete id need not exist.
fn find_task(store: &Store, text: &str) -> Result<TaskId, CommandError> {
    match TaskId::parse(text) {
        Some(task) => Ok(task),
        None => Ok(store.find_task(text)?),
    }
}

fn outcomes() -> impl TypedValueParser<Value = Outcome> {
    let words = Outcome::ALL.iter().map(|outcome| outcome.word());
    PossibleValuesParser::new(words)
        .try_map(|word| Outcome::parse(&word).ok_or_else(|| format!("unknown outcome {word}")))
}
