//! `ralph stats`: the journal in figures.

mod chart;
mod tables;

use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use ralph_model::{Outcome, Rate, count, duration, serialize_moment, short_number};
use ralph_store::{Stats, StatsFilter};
use serde::Serialize;

use super::journal::find_run;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;
use crate::ui::Style;
use crate::when::{When, beginning};
use crate::wrap::wrapped;

/// Show how the work goes, in figures: success, cost and time, what keeps failing
///
/// Everything is counted from the journal, as it stands now. What was interrupted counts in cost and time, and not in how
/// often work succeeds. Iterations that were taken over from another tool are left out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph stats
  ralph stats --since 7d          # of the last seven days
  ralph stats --since 2025-01-20  # from that day on
  ralph stats --run run-1a2b3c4d  # of one run
  ralph stats --limit 0 --json    # for programs, with every failure")]
pub(crate) struct StatsArgs {
    /// Only iterations from this day or moment on, in UTC, or from so long ago: 12h, 7d, 2w
    #[arg(long, value_name = "WHEN", value_parser = beginning)]
    since: Option<When>,
    /// Only iterations of this run, by its id or the beginning of it
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// How many failures and how many tasks to list; 0 is all
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    limit: u32,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

/// The figures, and what they are of.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(serialize_with = "serialize_moment")]
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
            (None, None) => "No iterations yet: `ralph run` makes the first.\n",
            _ => "No iterations found\n",
        });
    }
    context.ui.data(&head(context, &stats))?;
    let mut lines = chart::lines(&stats, context.ui.width(), context.ui.data_signs());
    lines.extend(tables::lines(&stats, context.ui.width()));
    context.ui.lines(&lines)
}

/// How much there was, all together.
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

/// The columns of the titles.
const TITLE: usize = 12;

/// A text behind a title, on as many lines as it takes.
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

/// How many were done, with the part in the hundred where there are enough to tell.
fn success(rate: Rate) -> String {
    match percent(rate) {
        Some(percent) => format!("{} of {} done ({percent})", rate.done, rate.of),
        None if rate.of == 0 => "none that counts".to_owned(),
        None => format!("{} of {} done", rate.done, rate.of),
    }
}

/// The part that was done, in the hundred, as `74 %`; none while there are too few to tell.
fn percent(rate: Rate) -> Option<String> {
    rate.share().map(|share| format!("{:.0} %", share * 100.0))
}
