//! `ralph journal list`.

use clap::{Args, builder::PossibleValuesParser, builder::TypedValueParser};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use ralph_model::{Outcome, TaskId};
use ralph_store::{JournalFilter, Store};

use super::view;
use super::which::find_run;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// List iterations, the newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph journal list
  ralph journal list --outcome failed --since 2025-01-20
  ralph journal list --file src/parser.rs            # a file, a file's name or a folder
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
    /// Only those from this day or moment on, in UTC
    #[arg(long, value_name = "TIME", value_parser = beginning)]
    since: Option<Timestamp>,
    /// Only those up to this day, which counts, or before this moment, in UTC
    #[arg(long, value_name = "TIME", value_parser = end)]
    until: Option<Timestamp>,
    /// At most so many; 0 is all
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    limit: u32,
    /// Write them as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_list(context: &Context<'_>, args: &ListArgs) -> Result<(), CommandError> {
    let rows = match context.facts()? {
        Some(store) => store.journal_list(&filter(&store, args)?)?,
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

fn filter(store: &Store, args: &ListArgs) -> Result<JournalFilter, CommandError> {
    Ok(JournalFilter {
        run: args.run.as_deref().map(|run| find_run(store, run)).transpose()?,
        task: args.task.as_deref().map(|task| find_task(store, task)).transpose()?,
        outcome: args.outcome,
        file: args.file.clone(),
        since: args.since,
        until: args.until,
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

/// A moment, or the beginning of a day.
pub(crate) fn beginning(text: &str) -> Result<Timestamp, String> {
    moment(text, 0)
}

fn end(text: &str) -> Result<Timestamp, String> {
    moment(text, 1)
}

/// A moment, or the beginning of a day so many days later than the one that is given.
fn moment(text: &str, days_later: i32) -> Result<Timestamp, String> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let beginning = |day: Date| day.checked_add(days_later.days())?.to_zoned(TimeZone::UTC);
    match text.parse::<Date>().map(beginning) {
        Ok(Ok(beginning)) => Ok(beginning.timestamp()),
        _ => Err("give a day, as in 2025-01-20, or a moment, as in 2025-01-20T10:30:00Z".to_owned()),
    }
}
