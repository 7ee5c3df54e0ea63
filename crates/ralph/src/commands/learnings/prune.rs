//! `learnings prune`: takes out what is old and unused, now, or what a person wants out.

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
use crate::table::{Column, Fit};

/// How many go in one piece of work.
const PIECE: u32 = 1000;

/// Take out the learnings that are old and unused, or that another has taken the place of
///
/// Every run does so at its end. With --below, --older-than or --unused those go that fit all of these instead. Nothing is
/// deleted: `ralph learnings restore` brings them back, and so does a run that teaches them again. What is never to come back is
/// for `ralph learnings reject`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings prune --dry-run
  ralph learnings prune
  ralph learnings prune --below 0.4 --older-than 90d --unused --dry-run
  ralph learnings restore --list           # what was taken out")]
pub(crate) struct PruneArgs {
    /// Only those whose confidence is below this, or, unless they are anti-patterns, whose success rate is
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = share)]
    below: Option<f64>,
    /// Only those that have not changed for so long: `90d`, `12h`
    #[arg(long, value_name = "TIME", value_parser = time)]
    older_than: Option<Duration>,
    /// Only those that were never shown to an agent
    #[arg(long)]
    unused: bool,
    /// Only say which would go, and why
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: FormatArgs,
}

const COLUMNS: [Column; 4] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "CREATED",
        fit: Fit::Optional,
    },
    Column {
        title: "WHY",
        fit: Fit::Optional,
    },
    view::TEXT,
];

pub(super) fn cmd_prune(context: &Context<'_>, args: &PruneArgs) -> Result<(), CommandError> {
    let now = context.clock().now();
    // Where there is no database there is nothing to prune, and none is made.
    let found = match (context.facts()?, args.filter(now)) {
        (None, _) => Vec::new(),
        (Some(store), None) if args.dry_run => store.learnings_to_prune(&prune_rules(now))?,
        (Some(_), None) => pruned(&mut store_to_write(context)?, context)?,
        (Some(store), Some(filter)) => {
            let reasons = args.reasons();
            let pruned = format!("A person pruned it: {reasons}.");
            let (found, why) = if args.dry_run {
                (store.learnings_fitting(&filter)?, format!("It fits: {reasons}."))
            } else {
                (store_to_write(context)?.prune_fitting(&filter, &pruned, now)?, pruned)
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
                let them = if found.len() == 1 { "it" } else { "them" };
                format!(
                    "{learnings} pruned; `ralph learnings restore --list` shows {them}, and how to bring {them} back"
                )
            };
            context.ui.table(&COLUMNS, &rows, &closing)
        }
        other => view::plain(context, found.iter().map(|(learning, _)| learning), other),
    }
}

impl PruneArgs {
    /// Which learnings go; none where nothing is said, and the rules of every run hold.
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

    /// Why they go.
    fn reasons(&self) -> String {
        let below = self
            .below
            .map(|below| format!("its confidence or its success rate is below {below}"));
        let old = self
            .older_than
            .map(|time| format!("it did not change for {}", duration_text(time)));
        let unused = self.unused.then(|| "no agent has seen it".to_owned());
        let reasons: Vec<String> = [below, old, unused].into_iter().flatten().collect();
        reasons.join(", ")
    }
}

/// A time as people write it.
fn time(text: &str) -> Result<Duration, String> {
    parse_time_with_unit(text)
        .ok_or_else(|| "allowed is a time with its unit, such as `90d`, `12h` or `1d12h`".to_owned())
}

/// Prunes all that is to go, piece by piece.
fn pruned(store: &mut Store, context: &Context<'_>) -> Result<Vec<(Learning, String)>, CommandError> {
    let now = context.clock().now();
    let rules = prune_rules(now);
    let mut all = Vec::new();
    loop {
        let piece = store.prune_learnings(&rules, PIECE, now)?;
        let is_last = piece.len() < PIECE as usize;
        all.extend(piece);
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
