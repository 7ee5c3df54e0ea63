//! `learnings conflicts`: lists pairs of learnings that conflict, and settles them.

use clap::Args;
use ralph_memory::inject::prompt::learning_item;
use ralph_memory::learn::{Conflict, conflict, conflicts};
use ralph_model::Learning;
use ralph_store::LearningError;
use serde_json::json;

use super::super::review::render;
use super::{find_to_change, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;
use crate::ui::{Line, showing};

/// List learnings that conflict with each other
///
/// Two learnings conflict if they say nearly the same but differ in a negation or a number. Until you settle the
/// conflict, an agent gets only the one that matches its task better.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings conflicts
  ralph learnings supersede 1a2b 3c4d  # 3c4d replaces 1a2b
  ralph learnings conflicts --both-hold 1a2b 3c4d
  ralph review                         # asks about each conflict")]
pub(crate) struct ConflictsArgs {
    /// Keep both of two learnings; they are no longer listed as a conflict
    #[arg(long, num_args = 2, value_names = ["ONE", "OTHER"])]
    both_hold: Option<Vec<String>>,
    #[command(flatten)]
    format: FormatArgs,
}

impl ConflictsArgs {
    pub(crate) fn changes(&self) -> bool {
        self.both_hold.is_some()
    }
}

const COLUMNS: [Column; 5] = [
    Column::whole("ID"),
    Column::optional("STATUS"),
    Column::optional("USED"),
    Column::optional("WHY"),
    view::TEXT,
];

/// The narrowest terminal in which the table has room for the reason.
const WIDE: usize = 120;

pub(super) fn cmd_conflicts(context: &Context<'_>, args: &ConflictsArgs) -> Result<(), CommandError> {
    if let Some(both) = &args.both_hold {
        return settle(context, both);
    }
    let found = match context.facts()? {
        Some(store) => conflicts(&store)?,
        None => Vec::new(),
    };
    match args.format.get() {
        Format::Json => {
            let found: Vec<_> = found.iter().map(as_json).collect();
            context.ui.json(&found)
        }
        Format::Table if found.is_empty() => context.ui.data("No learnings conflict.\n"),
        Format::Table => {
            let closing = showing(found.len(), "conflict", "conflicts");
            if context.ui.width() >= WIDE {
                let rows: Vec<Vec<String>> = found.iter().flat_map(rows).collect();
                context.ui.table(&COLUMNS, &rows, &closing)?;
            } else {
                let each = |conflict| render::conflict(conflict, context.ui.width());
                let mut lines: Vec<Line> = found.iter().flat_map(each).collect();
                lines.extend([(None, String::new()), (None, closing)]);
                context.ui.lines(&lines)?;
            }
            context.ui.hint(
                "settle one with `ralph learnings supersede OLD NEW`; keep both with \
                `ralph learnings conflicts --both-hold ONE OTHER`",
            );
            Ok(())
        }
        Format::Markdown => {
            let text: String = found.iter().map(as_markdown).collect();
            context.ui.text(&text)
        }
        Format::Quiet => {
            let line = |conflict: &Conflict| format!("{} {}\n", conflict.one.id, conflict.other.id);
            context.ui.data(&found.iter().map(line).collect::<String>())
        }
    }
}

/// Records a person's decision to keep both.
fn settle(context: &Context<'_>, both: &[String]) -> Result<(), CommandError> {
    let (mut store, ids) = find_to_change(context, both)?;
    let [one, other] = ids.as_slice() else {
        // Two prefixes may match the same id.
        return match ids.first() {
            Some(id) => Err(LearningError::SettlesItself { id: id.clone() }.into()),
            None => Ok(()),
        };
    };
    if let (Some(first), Some(second)) = (store.learning(one)?, store.learning(other)?)
        && conflict(&first, &second).is_none()
    {
        return Err(CommandError::new(format!("{one} and {other} do not conflict"))
            .hint("list conflicts with `ralph learnings conflicts`"));
    }
    if store.settle_conflict(one, other, context.clock().now())? {
        context.ui.result("✅", &format!("Kept both: {one} and {other}"))
    } else {
        context
            .ui
            .status(&format!("{one} and {other} were already marked as compatible."));
        Ok(())
    }
}

fn rows(conflict: &Conflict) -> [Vec<String>; 2] {
    let row = |learning: &Learning, why: String| {
        vec![
            learning.id.to_string(),
            learning.status.word().to_owned(),
            view::uses(learning),
            why,
            view::text(learning),
        ]
    };
    [
        row(&conflict.one, conflict.why.to_string()),
        row(&conflict.other, String::new()),
    ]
}

fn as_json(conflict: &Conflict) -> serde_json::Value {
    json!({
        "why": conflict.why.to_string(),
        "contradiction": conflict.why,
        "one": conflict.one,
        "other": conflict.other,
    })
}

fn as_markdown(conflict: &Conflict) -> String {
    format!("{}{}\n", learning_item(&conflict.one), learning_item(&conflict.other))
}
