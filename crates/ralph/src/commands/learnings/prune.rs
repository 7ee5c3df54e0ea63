//! `learnings prune`: takes out what is old and unused, now.

use clap::Args;
use ralph_memory::learn::prune_rules;
use ralph_model::{Learning, count};
use ralph_store::Store;
use serde_json::json;

use super::super::task::store_to_write;
use super::view;
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};

/// How many go in one piece of work.
const PIECE: u32 = 1000;

/// Take out the learnings that are old and unused, or that another has taken the place of
///
/// Every run does so at its end. Nothing is deleted: `ralph learnings restore` brings them back.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings prune --dry-run
  ralph learnings prune
  ralph learnings restore --list           # what was taken out")]
pub(crate) struct PruneArgs {
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
    let rules = prune_rules(now);
    // Where there is no database there is nothing to prune, and none is made.
    let found = match context.facts()? {
        None => Vec::new(),
        Some(store) if args.dry_run => store.learnings_to_prune(&rules)?,
        Some(_) => pruned(&mut store_to_write(context)?, context)?,
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
                format!("{learnings} pruned; `ralph learnings restore` brings {them} back")
            };
            context.ui.table(&COLUMNS, &rows, &closing)
        }
        other => view::plain(context, found.iter().map(|(learning, _)| learning), other),
    }
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
