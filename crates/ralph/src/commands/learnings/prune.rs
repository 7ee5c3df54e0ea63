//! `learnings prune`: retires old and unused learnings, or those that match given conditions.

use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use ralph_memory::learn::prune_rules;
use ralph_model::config::{duration_text, parse_time_with_unit};
use ralph_model::{Learning, count};
use ralph_store::{PruneFilter, Store};
use serde_json::json;

use super::super::task::store_to_write;
use super::query::share;
use super::view;
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

/// Learnings pruned per transaction.
const BATCH: u32 = 1000;

/// Retire learnings that are old and unused, or superseded
///
/// Every run does this when it ends. With --below, --older-than or --unused, retires learnings that match all given
/// conditions instead. Nothing is deleted: undo with `ralph learnings restore`. A later run can also bring a learning
/// back; use `ralph learnings reject` to prevent that.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings prune --dry-run
  ralph learnings prune
  ralph learnings prune --below 0.4 --older-than 90d --unused --dry-run
  ralph learnings restore --list           # retired learnings")]
pub(crate) struct PruneArgs {
    /// Only learnings with a confidence below X, or, except for anti-patterns, a success rate below X
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = share)]
    below: Option<f64>,
    /// Only learnings unchanged for this long, as in `90d` or `12h`
    #[arg(long, value_name = "TIME", value_parser = time)]
    older_than: Option<Duration>,
    /// Only learnings that no agent got
    #[arg(long)]
    unused: bool,
    /// Show what would be pruned, and why
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: FormatArgs,
}

const COLUMNS: [Column; 4] = [
    Column::whole("ID"),
    Column::optional("CREATED"),
    Column::optional("WHY"),
    view::TEXT,
];

pub(super) fn cmd_prune(context: &Context<'_>, args: &PruneArgs) -> Result<(), CommandError> {
    let now = context.clock().now();
    // A missing database is not created.
    let found = match (context.facts()?, args.filter(now)) {
        (None, _) => Vec::new(),
        (Some(store), None) if args.dry_run => store.learnings_to_prune(&prune_rules(now))?,
        (Some(_), None) => pruned(&mut store_to_write(context)?, context)?,
        (Some(store), Some(filter)) => {
            let reasons = args.reasons();
            let pruned = format!("A person pruned it: {reasons}.");
            let (found, why) = if args.dry_run {
                (store.learnings_matching(&filter)?, format!("Matches: {reasons}."))
            } else {
                (store_to_write(context)?.prune_matching(&filter, &pruned, now)?, pruned)
            };
            found.into_iter().map(|learning| (learning, why.clone())).collect()
        }
    };
    let nothing = if args.dry_run {
        "Nothing would be pruned."
    } else {
        "Nothing was pruned."
    };
    match args.format.get() {
        Format::Json => {
            let found: Vec<_> = found
                .iter()
                .map(|(learning, why)| json!({ "why": why, "learning": learning }))
                .collect();
            context.ui.json(&found)
        }
        Format::Table if found.is_empty() => context.ui.data(&format!("{nothing}\n")),
        Format::Table => {
            let rows: Vec<Vec<String>> = found.iter().map(row).collect();
            let learnings = count(found.len(), "learning", "learnings");
            let closing = if args.dry_run {
                format!("{learnings} would be pruned")
            } else {
                format!("{learnings} pruned; see `ralph learnings restore --list`")
            };
            context.ui.table(&COLUMNS, &rows, &closing)
        }
        other => view::plain(context, found.iter().map(|(learning, _)| learning), other),
    }
}

impl PruneArgs {
    /// The filter from the flags; none if the usual rules apply.
    fn filter(&self, now: Timestamp) -> Option<PruneFilter> {
        let filter = PruneFilter {
            below: self.below,
            unchanged_since: self
                .older_than
                .map(|time| now.checked_sub(time).unwrap_or(Timestamp::MIN)),
            only_unused: self.unused,
        };
        (filter != PruneFilter::default()).then_some(filter)
    }

    fn reasons(&self) -> String {
        let below = self
            .below
            .map(|below| format!("confidence or success rate below {below}"));
        let old = self
            .older_than
            .map(|time| format!("unchanged for {}", duration_text(time)));
        let unused = self.unused.then(|| "no agent got it".to_owned());
        let reasons: Vec<String> = [below, old, unused].into_iter().flatten().collect();
        reasons.join(", ")
    }
}

fn time(text: &str) -> Result<Duration, String> {
    parse_time_with_unit(text).ok_or_else(|| "expected a time with a unit, as in `90d`, `12h` or `1d12h`".to_owned())
}

/// Prunes in batches, so that no transaction is long.
fn pruned(store: &mut Store, context: &Context<'_>) -> Result<Vec<(Learning, String)>, CommandError> {
    let now = context.clock().now();
    let rules = prune_rules(now);
    let mut all = Vec::new();
    loop {
        let batch = store.prune_learnings(&rules, BATCH, now)?;
        let is_last = batch.len() < BATCH as usize;
        all.extend(batch);
        if is_last {
            return Ok(all);
        }
    }
}

fn row((learning, why): &(Learning, String)) -> Vec<String> {
    vec![
        learning.id.to_string(),
        learning.created_at.strftime("%F").to_string(),
        why.clone(),
        view::text(learning),
    ]
}
