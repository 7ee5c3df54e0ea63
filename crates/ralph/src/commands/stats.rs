//! `ralph stats`: statistics from the journal.

mod chart;
mod tables;

use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use ralph_model::{Outcome, Rate, count, duration, serialize_timestamp, short_number};
use ralph_store::{Stats, StatsFilter};
use serde::Serialize;

use super::journal::find_run;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;
use crate::ui::Style;
use crate::when::{When, beginning};
use crate::wrap::wrapped;

/// Show success rate, cost, time and frequent failures
///
/// All figures come from the journal. Interrupted iterations count toward cost and time, but not toward the success
/// rate. Iterations imported from another tool are left out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph stats
  ralph stats --since 7d          # the last seven days
  ralph stats --since 2025-01-20  # since that day
  ralph stats --run run-1a2b3c4d  # one run
  ralph stats --limit 0 --json    # for programs, with every failure")]
pub(crate) struct StatsArgs {
    /// Only iterations since this UTC date or time, or this long ago: 12h, 7d, 2w
    #[arg(long, value_name = "WHEN", value_parser = beginning)]
    since: Option<When>,
    /// Only iterations of this run (id or id prefix)
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Number of failures and tasks to list; 0 lists all
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(serialize_with = "serialize_timestamp")]
    since: Option<Timestamp>,
    run: Option<String>,
    #[serde(flatten)]
    stats: &'a Stats,
}

pub(crate) fn cmd_stats(context: &Context<'_>, args: &StatsArgs) -> Result<(), CommandError> {
    let store = context.facts()?;
    let mut filter = StatsFilter {
        run: None,
        since: args.since.map(|when| when.moment(context.clock().now())),
        most: (args.limit > 0).then_some(args.limit as usize),
    };
    let stats = match &store {
        Some(store) => {
            filter.run = args.run.as_deref().map(|run| find_run(store, run)).transpose()?;
            store.stats(&filter)?
        }
        None => Stats::default(),
    };
    if args.json {
        return context.ui.json(&Whole {
            since: filter.since,
            run: filter.run.map(|run| run.to_string()).or_else(|| args.run.clone()),
            stats: &stats,
        });
    }
    if stats.all.iterations == 0 {
        return context.ui.data(match (&args.run, args.since) {
            (None, None) => "No iterations yet. Run `ralph run` to start.\n",
            _ => "No iterations found\n",
        });
    }
    context.ui.data(&head(context, &stats))?;
    let mut lines = chart::lines(&stats, context.ui.width(), context.ui.data_charset());
    lines.extend(tables::lines(&stats, context.ui.width()));
    context.ui.lines(&lines)
}

/// The totals.
fn head(context: &Context<'_>, stats: &Stats) -> String {
    let all = &stats.all;
    let days: Vec<_> = stats.by_day.iter().map(|day| day.day).collect();
    let days = match days.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        days => days.first().map(ToString::to_string).unwrap_or_default(),
    };
    let outcomes = Outcome::ALL.iter();
    let outcomes: Vec<String> = outcomes
        .map(|outcome| (outcome, stats.outcomes.get(outcome).copied().unwrap_or_default()))
        .filter(|(_, n)| *n > 0)
        .map(|(outcome, n)| format!("{n} {outcome}"))
        .collect();
    let mut spent = vec![duration(Duration::from_millis(all.duration_ms))];
    if all.usage.cost_usd > 0.0 {
        spent.push(format!("${:.2}", all.usage.cost_usd));
    }
    if all.usage.tokens() > 0 {
        spent.push(format!("{} tokens", short_number(all.usage.tokens())));
    }
    let each = stats.cost_per_accepted_task;
    spent.extend(each.map(|cost| format!("${cost:.2} per accepted task")));
    let tasks = count(stats.tasks as usize, "task", "tasks");
    let lines = [
        ("Runs", format!("{} on {tasks}", stats.runs)),
        ("Days", days),
        ("Iterations", format!("{}: {}", all.iterations, outcomes.join(", "))),
        ("Success", success(all.success)),
        ("Spent", spent.join(", ")),
    ];
    lines
        .into_iter()
        .flat_map(|(title, text)| titled(context, title, &text))
        .collect()
}

const TITLE: usize = 12;

/// A text after a title, wrapped.
fn titled(context: &Context<'_>, title: &'static str, text: &str) -> Vec<String> {
    let lines = wrapped(text, context.ui.width().saturating_sub(TITLE)).into_iter();
    let titles = std::iter::once(title).chain(std::iter::repeat(""));
    let line = |(title, text): (&str, String)| {
        let gap = " ".repeat(TITLE.saturating_sub(title.len()));
        let title = match title {
            "" => String::new(),
            title => context.ui.paint(Style::Strong, title),
        };
        format!("{title}{gap}{text}\n")
    };
    titles.zip(lines).map(line).collect()
}

/// Done iterations, with the percentage if there are enough to be meaningful.
fn success(rate: Rate) -> String {
    match percent(rate) {
        Some(percent) => format!("{} of {} done ({percent})", rate.done, rate.of),
        None if rate.of == 0 => "none counted".to_owned(),
        None => format!("{} of {} done", rate.done, rate.of),
    }
}

/// The success rate, such as `74 %`; none if there are too few iterations.
fn percent(rate: Rate) -> Option<String> {
    rate.share().map(|share| format!("{:.0} %", share * 100.0))
}
