//! `learnings conflicts`: which learnings contradict each other.

use clap::Args;
use ralph_memory::inject::prompt::lesson_item;
use ralph_memory::learn::{Conflict, conflicts, contradiction};
use ralph_model::Learning;
use ralph_store::LearningError;
use serde_json::json;

use super::super::review::drawn;
use super::{find_to_change, view};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};
use crate::ui::{Line, showing};

/// Show the learnings that contradict each other
///
/// Two do that are about the same in nearly the same words, where one says no to what the other says, or names another number.
/// Of such two an agent sees the one that fits its task better, until you say which of them holds.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings conflicts
  ralph learnings supersede 1a2b 3c4d  # 3c4d holds, and 1a2b does not any more
  ralph learnings conflicts --both-hold 1a2b 3c4d
  ralph review                         # asks about each of them")]
pub(crate) struct ConflictsArgs {
    /// Say that both of two learnings hold; they are not shown here any more
    #[arg(long, num_args = 2, value_names = ["ONE", "OTHER"])]
    both_hold: Option<Vec<String>>,
    #[command(flatten)]
    format: FormatArgs,
}

impl ConflictsArgs {
    /// Whether it changes something.
    pub(crate) fn changes(&self) -> bool {
        self.both_hold.is_some()
    }
}

const COLUMNS: [Column; 5] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "STATUS",
        fit: Fit::Optional,
    },
    Column {
        title: "USED",
        fit: Fit::Optional,
    },
    Column {
        title: "WHY",
        fit: Fit::Optional,
    },
    view::TEXT,
];

/// From so many columns on a table has room for why they contradict each other.
const WIDE: usize = 120;

pub(super) fn cmd_conflicts(context: &Context<'_>, args: &ConflictsArgs) -> Result<(), CommandError> {
    if let Some(both) = &args.both_hold {
        return settle(context, both);
    }
    let found = match context.facts()? {
        Some(store) => {
            let found = conflicts(&store)?;
            context.tell_unreadable(&store);
            found
        }
        None => Vec::new(),
    };
    match args.format.get() {
        Format::Json => {
            let found: Vec<_> = found.iter().map(as_json).collect();
            context.ui.json(&found)
        }
        Format::Table if found.is_empty() => context.ui.data("No learnings contradict each other.\n"),
        Format::Table => {
            let closing = showing(found.len(), "conflict", "conflicts");
            if context.ui.width() >= WIDE {
                let rows: Vec<Vec<String>> = found.iter().flat_map(rows).collect();
                context.ui.table(&COLUMNS, &rows, &closing)?;
            } else {
                let each = |conflict| drawn::conflict(conflict, context.ui.width());
                let mut lines: Vec<Line> = found.iter().flat_map(each).collect();
                lines.extend([(None, String::new()), (None, closing)]);
                context.ui.lines(&lines)?;
            }
            context.ui.hint(
                "`ralph learnings supersede OLD NEW` settles one; `ralph learnings conflicts --both-hold ONE OTHER` says that \
                 both hold",
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

/// A person says that both hold.
fn settle(context: &Context<'_>, both: &[String]) -> Result<(), CommandError> {
    let (mut store, ids) = find_to_change(context, both)?;
    let [one, other] = ids.as_slice() else {
        // Two beginnings may be those of the same id.
        return match ids.first() {
            Some(id) => Err(LearningError::SettlesItself { id: id.clone() }.into()),
            None => Ok(()),
        };
    };
    if let (Some(first), Some(second)) = (store.learning(one)?, store.learning(other)?)
        && contradiction(&first, &second).is_none()
    {
        return Err(
            CommandError::new(format!("{one} and {other} do not contradict each other"))
                .hint("`ralph learnings conflicts` shows those that do"),
        );
    }
    if store.settle_conflict(one, other, context.clock().now())? {
        context.ui.result("✅", &format!("Both hold: {one} and {other}"))
    } else {
        context
            .ui
            .status(&format!("That {one} and {other} both hold was known already."));
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
    format!("{}{}\n", lesson_item(&conflict.one), lesson_item(&conflict.other))
}
