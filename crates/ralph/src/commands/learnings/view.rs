//! How learnings are shown in lists and tables.

use ralph_memory::inject::prompt::learning_item;
use ralph_model::{Learning, LearningStatus, with_figures};

use super::super::task::in_short;
use crate::cli::Format;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;
use crate::ui::showing;

pub(super) const NOUNS: (&str, &str) = ("learning", "learnings");
pub(super) const NONE_YET: &str = "No learnings yet.";
pub(super) const NONE_MATCH: &str = "No matching learnings found";

const COLUMNS: [Column; 7] = [
    Column::whole("ID"),
    Column::whole("STATUS"),
    Column::optional("CATEGORY"),
    Column::optional("CONFIDENCE"),
    Column::optional("SHOWN"),
    Column::optional("TAGS"),
    TEXT,
];

/// The text of a learning, which takes the remaining width.
pub(super) const TEXT: Column = Column::cut("LEARNING");

/// Marks learnings that are not injected: ineligible by their success rate, or superseded.
const OUT: &str = "out";
pub(super) const SUPERSEDED: &str = "superseded";

/// Shows learnings in a list, or the message `nothing` if there are none.
pub(super) fn list(
    context: &Context<'_>,
    learnings: &[Learning],
    nothing: &str,
    format: Format,
) -> Result<(), CommandError> {
    match format {
        Format::Json => context.ui.json(&learnings),
        Format::Table if learnings.is_empty() => context.ui.data(&format!("{nothing}\n")),
        Format::Table => {
            let rows: Vec<Vec<String>> = learnings.iter().map(row).collect();
            let mut closing = showing(rows.len(), "learning", "learnings");
            let out =
                [OUT, SUPERSEDED].map(|word| learnings.iter().any(|learning| status_text(learning).ends_with(word)));
            let what = match out {
                [true, true] => format!("{OUT} or {SUPERSEDED}"),
                [false, true] => SUPERSEDED.to_owned(),
                _ => OUT.to_owned(),
            };
            if out.contains(&true) {
                let legend = format!("; {what}: not in prompts, see `ralph learnings show ID`");
                closing.push_str(&legend);
            }
            context.ui.table(&COLUMNS, &rows, &closing)
        }
        other => plain(context, learnings.iter(), other),
    }
}

/// Acknowledges a change to a learning.
pub(super) fn acknowledge(
    context: &Context<'_>,
    learning: &Learning,
    done: &str,
    format: Format,
) -> Result<(), CommandError> {
    let line = format!("Learning {done}: {}", learning.id);
    context.ui.acknowledge(format, (learning, &learning.id), ("📝", &line))
}

/// Shows learnings as ids, or in their prompt form with tags.
pub(super) fn plain<'l>(
    context: &Context<'_>,
    learnings: impl Iterator<Item = &'l Learning>,
    format: Format,
) -> Result<(), CommandError> {
    let line = |learning: &Learning| match format {
        Format::Markdown => with_tags(learning),
        _ => format!("{}\n", learning.id),
    };
    let text: String = learnings.map(line).collect();
    match format {
        Format::Markdown => context.ui.text(&text),
        _ => context.ui.data(&text),
    }
}

/// A learning in its prompt form, with its tags.
fn with_tags(learning: &Learning) -> String {
    let item = learning_item(learning);
    match learning.tags.as_slice() {
        [] => item,
        tags => format!("{item}  <!-- tags: {} -->\n", tags.join(", ")),
    }
}

/// The text of a learning on one line.
pub(super) fn text(learning: &Learning) -> String {
    let line = in_short(&with_figures(&learning.content, learning.facts.as_ref()));
    match learning.examples.len() {
        0 => line,
        more => format!("{line} (+{more})"),
    }
}

/// Successes and uses in this project, and uses before: elsewhere, or by an earlier rating.
pub(super) fn uses(learning: &Learning) -> String {
    let here = format!("{}/{}", learning.successes, learning.uses_here());
    match (learning.uses_here(), learning.first_use_count) {
        (_, 0) => here,
        (0, before) => format!("{before} before"),
        (_, before) => format!("{here}, {before} before"),
    }
}

/// Why a promoted or validated learning is not injected; none if it can be.
pub(super) fn why_in_no_prompt(learning: &Learning) -> Option<String> {
    if let Some(other) = learning.superseded_by.as_ref().filter(|_| learning.is_superseded()) {
        return Some(format!("superseded by {other}"));
    }
    let may_be_active = matches!(learning.status, LearningStatus::Promoted | LearningStatus::Validated);
    learning.ineligible_reason().filter(|_| may_be_active)
}

/// The status, marked if the learning is not injected.
fn status_text(learning: &Learning) -> String {
    match why_in_no_prompt(learning) {
        Some(_) if learning.is_superseded() => SUPERSEDED.to_owned(),
        Some(_) => format!("{}, {OUT}", learning.status),
        None => learning.status.to_string(),
    }
}

fn row(learning: &Learning) -> Vec<String> {
    vec![
        learning.id.to_string(),
        status_text(learning),
        learning.category.clone(),
        format!("{:.2}", learning.confidence),
        uses(learning),
        learning.tags.join(","),
        text(learning),
    ]
}
